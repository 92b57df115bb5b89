#include "engine/profile/args/balanced_allocation_args.h"

#include "engine/profile/args/args_values.h"

namespace headroom {

void read_args(const ConfigValue& value, const Profile&, BalancedAllocationArgs& args) {
  read_fields(value, PluginId::kNodeResourcesBalancedAllocation,
              {{"resources", [&](const ConfigValue& v) {
                  read_resource_weights(v, /*weight_max=*/1, args.resources);
                }}});
}

Result<void> check_args(const BalancedAllocationArgs& args, const Profile&,
                        ResourceCheck& resources) {
  resources.add(args.resources, "NodeResourcesBalancedAllocation: resources");
  return {};
}

}  // namespace headroom
