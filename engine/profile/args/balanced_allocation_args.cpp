#include "engine/profile/args/balanced_allocation_args.h"

#include "engine/profile/args/args_values.h"

namespace headroom {

void read_args(const ConfigValue& value, const Profile&, BalancedAllocationArgs& args) {
  read_fields(
      value, PluginId::kNodeResourcesBalancedAllocation,
      {{"resources", into_unless_empty(args.resources, read_resource_weights, /*weight_max=*/1)}});
}

Result<void> check_args(const BalancedAllocationArgs& args, const Profile&,
                        ResourceCheck& resources) {
  resources.add(args.resources, "NodeResourcesBalancedAllocation: resources");
  return {};
}

}  // namespace headroom
