#include "engine/policies/usage_thresholds.h"

#include <strings.h>

#include <algorithm>

#include "engine/policies/annotation_json.h"
#include "objects/text/time_text.h"
#include "objects/text/trimmed.h"

namespace headroom {

namespace {

bool same_key(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool read_percents(simdjson::dom::element value, Mode mode, ResourcePercents& out) {
  if (value.is_null()) {
    return true;
  }
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (const auto& [key, item] : object) {
    std::int64_t percent = 0;
    if (item.get(percent) != simdjson::SUCCESS && !item.is_null()) {
      return false;
    }
    if (mode == Mode::kProposal && (percent < 0 || item.is_null())) {
      return false;
    }
    out[std::string(key)] = percent;
  }
  return true;
}

bool read_aggregated(simdjson::dom::element value, Mode mode, UsageThresholds& out) {
  if (value.is_null()) {
    return true;
  }
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (const auto& [key, item] : object) {
    std::string_view text;
    if (same_key(key, "usageThresholds")) {
      if (!read_percents(item, mode, out.aggregated)) {
        return false;
      }
    } else if (same_key(key, "usageAggregationType")) {
      if (item.is_null()) {
        continue;
      }
      if (item.get(text) != simdjson::SUCCESS) {
        return false;
      }
      out.aggregation_type = text;
    } else if (same_key(key, "usageAggregatedDuration")) {
      if (item.is_null()) {
        continue;
      }
      if (item.get(text) != simdjson::SUCCESS) {
        return false;
      }
      const auto duration_ns = parse_go_duration_ns(text);
      if (!duration_ns) {
        return false;
      }
      out.aggregated_duration_us = *duration_ns / 1000;
    }
  }
  return true;
}

}  // namespace

std::optional<UsageThresholds> parse_usage_thresholds(std::string_view json, Mode mode) {
  const AnnotationJson annotation(json);
  if (annotation.is_bad()) {
    return std::nullopt;
  }
  UsageThresholds result;
  for (const auto& [key, value] : annotation) {
    const bool good = same_key(key, "usageThresholds") ? read_percents(value, mode, result.usage)
                      : same_key(key, "prodUsageThresholds")
                          ? read_percents(value, mode, result.prod)
                      : same_key(key, "aggregatedUsage") ? read_aggregated(value, mode, result)
                                                         : true;
    if (!good) {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<ResourceList> parse_resource_list(std::string_view json, Mode mode) {
  const AnnotationJson annotation(json);
  if (annotation.is_bad()) {
    return std::nullopt;
  }
  ResourceList result;
  for (const auto& [key, value] : annotation) {
    const bool upstream = mode == Mode::kUpstream;
    std::string_view text;
    std::string number;
    if (value.is_int64() || (upstream && value.is_number())) {
      number = simdjson::minify(value);
      text = number;
    } else if (upstream && value.is_null()) {
      text = "0";
    } else if (value.get(text) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    const auto quantity = Quantity::parse(upstream ? trimmed(text) : text);
    if (!quantity || quantity->nanos() < 0) {
      return std::nullopt;
    }
    std::string name(key);
    std::erase_if(result, [&](const auto& item) { return item.first == name; });
    result.emplace_back(std::move(name), *quantity);
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return result;
}

}  // namespace headroom
