// ConfiguredEngines: an engine in every configuration, for scripts that tell all of them the same
// and hold their answers against each other. What a script's steps do with any profile is here.
//
// Each function returns what is wrong, "" for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/random/configurations.h"
#include "workloads/temporary_directory.h"

namespace headroom {

class ConfiguredEngines {
 protected:
  ConfiguredEngines(const Profile& profile, const std::vector<Configuration>& configurations);

  std::string apply(const nlohmann::json& event);
  // {"pod", "pieces"}: every other engine begins with the classes of a shape, some pieces of work
  // each; what follows comes between its turns.
  std::string prepare(const nlohmann::json& step);
  // Many pods at once answer as one by one.
  std::string evaluate(const nlohmann::json& pods);
  // Pods of which one is there twice are not placed. Leaves the first of each.
  std::string refuse_twice(nlohmann::json& pods);
  // Each engine, but every third from that one on, becomes what is loaded of its state file.
  std::string save(std::size_t but);
  // What all engines say of themselves; and, of all or of some in their turn, everything derived
  // anew.
  std::string check_state(bool all = false);

  const Configuration& configuration_of(const Engine& engine) const {
    return configurations_[static_cast<std::size_t>(&engine - engines_.data())];
  }

  // How many candidates a script's decisions ask for, each in its turn.
  static constexpr std::uint32_t kTopKs[] = {1, 5, 16, 40};

  const std::vector<Configuration>& configurations_;
  std::vector<Engine> engines_;  // by configuration

 private:
  void begin_bulk(std::size_t e);

  std::vector<std::optional<Engine::Bulk>> bulks_;  // by engine
  std::size_t next_validated_ = 0;
  const TemporaryDirectory directory_ = TemporaryDirectory::make("headroom-script").value();
};

}  // namespace headroom
