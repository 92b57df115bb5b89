#include "engine/policies/limit_ratio.h"

#include "engine/policies/annotation_json.h"
#include "engine/profile/percent.h"

namespace headroom {

std::optional<LimitRatio> parse_limit_ratio(std::string_view json, Mode mode) {
  const bool upstream = mode == Mode::kUpstream;
  const AnnotationJson annotation(json);
  if (annotation.is_bad() || (annotation.is_null() && !upstream)) {
    return std::nullopt;
  }
  LimitRatio ratio;
  for (const auto& [key, value] : annotation) {
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
