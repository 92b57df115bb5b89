// The labels of nodes and volumes that say where they are, as Kubernetes names them.
#pragma once

namespace headroom {

inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";

}  // namespace headroom
