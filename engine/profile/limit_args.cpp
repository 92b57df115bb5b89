// The arguments of LimitAware and ResourceLimitAware.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"
#include "engine/profile/percent.h"

namespace headroom {
namespace {

constexpr std::int64_t kRatioMax = std::numeric_limits<std::int32_t>::max();

void read_ratio(const ConfigValue& value, Mode mode, LimitAwareArgs& args) {
  ResourcePercents ratio;
  value.entries([&](const std::string& resource, const ConfigValue& percent) {
    check_resource(percent, resource);
    if (percent.is_null() && mode == Mode::kUpstream) {
      ratio[resource] = 0;
    } else if (percent.is_number()) {
      ratio[resource] = percent.integer(mode == Mode::kUpstream ? -kRatioMax - 1 : 0, kRatioMax);
    } else {
      const std::string text = percent.text();
      if (const std::optional<std::int64_t> parsed = parse_percent(text, mode); parsed) {
        ratio[resource] = *parsed;
      } else if (mode == Mode::kUpstream) {
        args.bad_default_ratios[resource] = text;
      } else {
        percent.fail(ErrorCode::kInvalid,
                     fmt::format("{} is no percentage; accepted: 125, \"125%\"", percent.shown()));
      }
    }
  });
  args.default_limit_to_allocatable_ratio = std::move(ratio);
}

std::optional<Quantity> read_default_limit(const ConfigValue& value) {
  const std::string text = value.text();
  if (value.failed() || text == "Allocatable") return std::nullopt;
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) {
    value.fail(quantity.error().code,
               fmt::format("{} is no quantity; accepted: a quantity (500m, 1Gi), or Allocatable",
                           value.shown()));
    return std::nullopt;
  }
  if (*quantity < Quantity()) {
    value.fail(ErrorCode::kInvalid, fmt::format("{} is less than 0", text));
  }
  return *quantity;
}

}  // namespace

LimitAwareArgs read_limit_aware(const ConfigValue& value, Mode mode) {
  LimitAwareArgs args;
  std::vector<ResourceWeight> resources;
  std::vector<ResourceWeight> by_map;
  value.fields(
      {{"apiVersion", read_api_version()},
       {"kind", read_kind(PluginId::kLimitAware)},
       {"resources",
        [&](const ConfigValue& v) { resources = read_resource_weights(v, kResourceWeightMax); }},
       {"scoringResourceWeights",
        [&](const ConfigValue& v) {
          for (const auto& [name, weight] :
               read_by_resource<std::map<std::string, std::int64_t>>(v, 0, kResourceWeightMax)) {
            by_map.push_back({name, std::max<std::int64_t>(1, weight)});
          }
        }},
       {"defaultLimitToAllocatableRatio",
        [&](const ConfigValue& v) { read_ratio(v, mode, args); }}});
  if (!resources.empty()) {
    args.resources = std::move(resources);
  } else if (!by_map.empty()) {
    args.resources = std::move(by_map);
  }
  return args;
}

ResourceLimitAwareArgs read_resource_limit_aware(const ConfigValue& value) {
  ResourceLimitAwareArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kResourceLimitAware)},
                {"resources",
                 [&](const ConfigValue& v) {
                   auto resources = read_resource_weights(v, kResourceWeightMax);
                   if (!resources.empty()) args.resources = std::move(resources);
                 }},
                {"defaultLimit", [&](const ConfigValue& v) {
                   v.entries([&](const std::string& resource, const ConfigValue& limit) {
                     check_resource(limit, resource);
                     args.default_limit[resource] = read_default_limit(limit);
                   });
                 }}});
  return args;
}

}  // namespace headroom
