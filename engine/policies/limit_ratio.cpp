#include "engine/policies/limit_ratio.h"

#include <simdjson.h>

#include "engine/profile/percent.h"

namespace headroom {

std::optional<LimitRatio> parse_limit_ratio(std::string_view json, Mode mode) {
  const bool upstream = mode == Mode::kUpstream;
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(simdjson::padded_string(json)).get(document) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  LimitRatio ratio;
  if (document.is_null()) {
    return upstream ? std::optional(ratio) : std::nullopt;
  }
  simdjson::dom::object object;
  if (document.get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  for (const auto& [key, value] : object) {
    std::string name(key);
    std::optional<std::int64_t> percent;
    if (std::int64_t number = 0; value.get(number) == simdjson::SUCCESS) {
      if (number > INT32_MAX || number < (upstream ? INT32_MIN : 0)) {
        return std::nullopt;
      }
      percent = number;
    } else if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
      percent = parse_percent(text, mode);
      if (!percent && !upstream) {
        return std::nullopt;
      }
    } else if (value.is_null() && upstream) {
      percent = 0;
    } else {
      return std::nullopt;
    }
    std::erase(ratio.bad, name);  // of two values for one key the last counts
    if (percent) {
      ratio.percents[name] = *percent;
    } else {
      ratio.percents.erase(name);
      ratio.bad.push_back(name);
    }
  }
  return ratio;
}

}  // namespace headroom
