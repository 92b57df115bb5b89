#include "engine/profile/args/resource_limit_aware_args.h"

#include <fmt/format.h>

#include "engine/profile/args/args_values.h"

namespace headroom {
namespace {

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

void read_args(const ConfigValue& value, const Profile&, ResourceLimitAwareArgs& args) {
  read_fields(
      value, PluginId::kResourceLimitAware,
      {{"resources", into_unless_empty(args.resources, read_resource_weights, kResourceWeightMax)},
       {"defaultLimit", [&](const ConfigValue& v) {
          v.entries([&](const std::string& resource, const ConfigValue& limit) {
            check_resource(limit, resource);
            args.default_limit[resource] = read_default_limit(limit);
          });
        }}});
}

Result<void> check_args(const ResourceLimitAwareArgs& args, const Profile&,
                        ResourceCheck& resources) {
  resources.add(args.resources, "ResourceLimitAware: resources");
  return {};
}

}  // namespace headroom
