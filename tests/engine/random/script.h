// Scripts of property tests: steps that are played one after the other until one is wrong. One that
// fails is made as short as it can be.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headroom {

struct ScriptFailure {
  std::size_t step = 0;
  std::string text;
};

// perform(step) says what is wrong after it; "" for nothing.
std::optional<ScriptFailure> play_script(
    const nlohmann::json& script, const std::function<std::string(const nlohmann::json&)>& perform);

// For a script that fails where it is played: what is wrong, what was given to it, and the steps
// that are left when as many as possible are taken out, a line each.
std::string report_failure(
    const std::function<std::optional<ScriptFailure>(const nlohmann::json&)>& play,
    const std::string& given, nlohmann::json script);

}  // namespace headroom
