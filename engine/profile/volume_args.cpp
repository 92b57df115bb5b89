// The arguments of VolumeBinding.
#include <utility>

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"

namespace headroom {

VolumeBindingArgs read_volume_binding(const ConfigValue& value, KubernetesVersion version) {
  VolumeBindingArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kVolumeBinding)},
                // How long kube-scheduler waits for the volumes of a pod that has its node.
                {"bindTimeoutSeconds", [](const ConfigValue& v) { v.integer(0); }},
                {"shape", [&](const ConfigValue& v) {
                   if (version < KubernetesVersion::k137) {
                     v.fail(ErrorCode::kUnsupported, "needs kubernetesVersion 1.37");
                   }
                   // Without a point kube-scheduler takes its own.
                   if (auto shape = read_shape(v); !shape.empty()) args.shape = std::move(shape);
                 }}});
  return args;
}

}  // namespace headroom
