#include "engine/profile/args/volume_binding_args.h"

#include <utility>

#include "engine/profile/args/args_values.h"
#include "engine/profile/profile.h"

namespace headroom {

void read_args(const ConfigValue& value, const Profile& profile, VolumeBindingArgs& args) {
  read_fields(value, PluginId::kVolumeBinding,
              {// How long kube-scheduler waits for the volumes of a pod that has its node.
               {"bindTimeoutSeconds", [](const ConfigValue& v) { v.integer(0); }},
               {"shape", [&](const ConfigValue& v) {
                  if (profile.kubernetes_version < KubernetesVersion::k137) {
                    v.fail(ErrorCode::kUnsupported, "needs kubernetesVersion 1.37");
                  }
                  // Without a point kube-scheduler takes its own.
                  if (auto shape = read_shape(v); !shape.empty()) args.shape = std::move(shape);
                }}});
}

Result<void> check_args(const VolumeBindingArgs& args, const Profile&, ResourceCheck&) {
  if (auto checked = check_shape(args.shape, "VolumeBinding: shape"); !checked) return checked;
  if (args.shape.empty()) {
    return fail(ErrorCode::kInvalid, "VolumeBinding: shape: want at least one point");
  }
  return {};
}

}  // namespace headroom
