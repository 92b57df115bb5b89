// See node_declared_features.h. default-plugins.md names the plugin only; this is 1.37's list of
// features that scheduling asks for (k8s.io/component-helpers/nodedeclaredfeatures). No case has
// one.
#include "oracle/default/node_declared_features.h"

#include <algorithm>

namespace oracle::defaults {

std::set<std::string> NodeDeclaredFeaturesPlugin::required() const {
  std::set<std::string> features;
  const Json& spec = child(*pod().object, "spec");
  if (child(spec, "hostNetwork") == true && child(spec, "hostUsers") == false) {
    features.insert("UserNamespacesHostNetworkSupport");
  }
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : child(spec, list)) {
      for (const Json& rule : child(container, "restartPolicyRules")) {
        // Ephemeral containers have no such rules.
        if (text(rule, "action") == "RestartAllContainers") {
          features.insert("RestartAllContainersOnContainerExits");
        }
      }
      for (const Json& mount : child(container, "volumeMounts")) {
        if (!child(mount, "bindMountOptions").empty()) features.insert("VolumeBindMountOptions");
      }
    }
  }
  return features;
}

// Alpha and off in 1.35.
PreFilterAnswer NodeDeclaredFeaturesPlugin::pre_filter() {
  if (version() == Version::k135 || required().empty()) return {{Code::kSkip, {}}, {}};
  return {};
}

Status NodeDeclaredFeaturesPlugin::filter(const Node& node) {
  const Json& declared = child(*node.object, "status", "declaredFeatures");
  for (const std::string& feature : required()) {
    if (std::find(declared.begin(), declared.end(), feature) == declared.end()) {
      return unresolvable("node(s) didn't match Pod's required features");
    }
  }
  return {};
}

}  // namespace oracle::defaults
