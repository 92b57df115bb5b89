#include "tests/engine/random/script.h"

#include <utility>

namespace headroom {

using nlohmann::json;

std::optional<ScriptFailure> play_script(const json& script,
                                         const std::function<std::string(const json&)>& perform) {
  for (std::size_t s = 0; s < script.size(); ++s) {
    std::string wrong = perform(script[s]);
    if (!wrong.empty()) return ScriptFailure{s, std::move(wrong)};
  }
  return std::nullopt;
}

std::string report_failure(const std::function<std::optional<ScriptFailure>(const json&)>& play,
                           const std::string& given, json script) {
  ScriptFailure failure = play(script).value();
  const auto cut = [&] {
    script.erase(script.begin() + static_cast<std::ptrdiff_t>(failure.step) + 1, script.end());
  };
  cut();
  for (std::size_t size = script.size() / 2; size > 0; size /= 2) {
    for (std::size_t first = 0; first + 1 < script.size();) {
      json shorter = json::array();
      for (std::size_t s = 0; s < script.size(); ++s) {
        if (s < first || s >= first + size) shorter.push_back(script[s]);
      }
      if (std::optional<ScriptFailure> its = play(shorter)) {
        script = std::move(shorter);
        failure = std::move(*its);
        cut();
      } else {
        first += size;
      }
    }
  }
  std::string text = failure.text + given + "\n";
  for (const json& step : script) text += step.dump() + "\n";
  return text;
}

}  // namespace headroom
