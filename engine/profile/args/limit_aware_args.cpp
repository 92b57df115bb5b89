#include "engine/profile/args/limit_aware_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/profile/args/args_values.h"
#include "engine/profile/percent.h"
#include "engine/profile/profile.h"

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

}  // namespace

void read_args(const ConfigValue& value, const Profile& profile, LimitAwareArgs& args) {
  std::vector<ResourceWeight> resources;
  std::vector<ResourceWeight> by_map;
  read_fields(value, PluginId::kLimitAware,
              {{"resources", into(resources, read_resource_weights, kResourceWeightMax)},
               {"scoringResourceWeights",
                [&](const ConfigValue& v) {
                  for (const auto& [name, weight] : read_by_resource(v, 0, kResourceWeightMax)) {
                    by_map.push_back({name, std::max<std::int64_t>(1, weight)});
                  }
                }},
               {"defaultLimitToAllocatableRatio",
                [&](const ConfigValue& v) { read_ratio(v, profile.mode, args); }}});
  if (!resources.empty()) {
    args.resources = std::move(resources);
  } else if (!by_map.empty()) {
    args.resources = std::move(by_map);
  }
}

Result<void> check_args(const LimitAwareArgs& args, const Profile&, ResourceCheck& resources) {
  resources.add(args.resources, "LimitAware: resources");
  resources.add(args.default_limit_to_allocatable_ratio.value_or(ResourcePercents()));
  return {};
}

}  // namespace headroom
