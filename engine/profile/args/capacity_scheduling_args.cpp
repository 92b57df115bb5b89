#include "engine/profile/args/capacity_scheduling_args.h"

#include "engine/profile/args/args_values.h"
#include "engine/profile/profile.h"

namespace headroom {

void read_args(const ConfigValue& value, const Profile& profile, CapacitySchedulingArgs& args) {
  read_fields(value, PluginId::kCapacityScheduling,
              {{"crossNodePreemption", [&](const ConfigValue& v) {
                  args.cross_node_preemption = v.boolean();
                  if (args.cross_node_preemption && profile.mode == Mode::kUpstream) {
                    v.fail(ErrorCode::kUnsupported, "is not in mode Upstream");
                  }
                }}});
}

Result<void> check_args(const CapacitySchedulingArgs& args, const Profile& profile,
                        ResourceCheck&) {
  if (args.cross_node_preemption && profile.mode == Mode::kUpstream) {
    return fail(ErrorCode::kUnsupported,
                "CapacityScheduling: crossNodePreemption: not in mode Upstream");
  }
  return {};
}

}  // namespace headroom
