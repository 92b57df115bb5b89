// CaseRunner: what every kind of recorded case has: objects, then steps, one after the other until
// something differs; the steps that change engines' facts; and how a difference is named. Each kind
// is a class of it.
//
// One case each. Thread safety: one thread at a time.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "objects/error.h"
#include "objects/objects.h"
#include "tools/conformance/case.h"

namespace headroom {

class CaseRunner {
 protected:
  // Gives the objects to apply(object) and the steps to perform(step), until one differs.
  template <typename Apply, typename Perform>
  std::vector<ConformanceDifference> play(const nlohmann::json& objects,
                                          const nlohmann::json& steps, Apply apply,
                                          Perform perform) {
    std::size_t index = 0;
    for (const nlohmann::json& object : objects) {
      at_ = fmt::format("objects[{}]", index++);
      apply(object);
    }
    index = 0;
    for (const nlohmann::json& step : steps) {
      if (!differences_.empty()) break;
      at_ = fmt::format("steps[{}]", index++);
      perform(step);
    }
    return std::move(differences_);
  }

  void differ(std::string_view field, std::string expected, std::string got);
  void check(std::string_view field, const Result<void>& result);
  // False: it differs.
  bool read_pod(const nlohmann::json& object, Pod& pod);

  // A step that changes facts, in every engine. What is expected of one differs.
  void change(std::span<Engine> engines, const nlohmann::json& step);
  void apply(std::span<Engine> engines, const nlohmann::json& object);
  void advance(std::span<Engine> engines, const std::string& time);

  using Same = bool (*)(const nlohmann::json& want, const nlohmann::json& came);
  // Two objects: every key of either side.
  void compare_keys(const std::string& field, const nlohmann::json& want,
                    const nlohmann::json& came, Same same);

  std::string at_;  // what is performed
  std::vector<ConformanceDifference> differences_;
};

}  // namespace headroom
