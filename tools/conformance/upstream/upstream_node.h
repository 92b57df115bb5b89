// What mode Upstream reads of a node, of a node group, and of the limits of the whole cluster.
//
// Quantities are texts, as in the object: tools/conformance/upstream/upstream_quantity.h says what
// cluster-autoscaler makes of them. Plain values, no invariants beyond those stated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "objects/objects.h"

namespace headroom {

struct UpstreamCondition {
  std::string type, status;  // status: True, False, Unknown
  friend bool operator==(const UpstreamCondition&, const UpstreamCondition&) = default;
};

struct UpstreamNode {
  std::string name;
  StringMap labels;
  StringMap capacity, allocatable;  // resource to quantity
  std::string node_group;           // an id; "", or one that is not known: none
  // What upcoming_nodes() reads beside.
  std::vector<UpstreamCondition> conditions;  // status.conditions, in their order
  std::vector<std::string> taint_keys;        // spec.taints
  std::optional<std::int64_t> creation_us;
  bool has_instance = true;  // the cloud provider knows it
  friend bool operator==(const UpstreamNode&, const UpstreamNode&) = default;
};

struct UpstreamNodeGroup {
  std::string id;
  std::optional<UpstreamNode> node_template;  // nullopt: the cloud provider declares none
  // What upcoming_nodes() reads beside.
  std::int64_t target_size = 0;
  std::int64_t long_unregistered = 0;  // instances that failed to register in time
  bool scaling_up = false;             // has an active scale-up request
  bool backed_off = false;
  friend bool operator==(const UpstreamNodeGroup&, const UpstreamNodeGroup&) = default;
};

// Resource to amount.
using UpstreamAmounts = std::map<std::string, std::int64_t, std::less<>>;

}  // namespace headroom
