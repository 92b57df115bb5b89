// The bytes that two pods have in common when they are of one shape: every field of a pod that a
// policy or a filter reads, and no other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kept/host_ports.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

enum class ShapeUse : std::uint8_t {
  kCounting,  // what a pod adds to its node: pods that differ in selectors and tolerations are one
  kDecision,  // where it may run as well
};

// What the pod asks of a node's class: node selector, required node affinity, tolerations.
bool has_class_constraint(const Pod& pod);

// Overwrites `key`. Costs a copy of those fields; does not allocate once `key` has grown. A pod
// without a constraint and `ports` has one key for both uses. `ports`: of a decision, those that
// the pod's node must have free.
void write_shape_key(const Pod& pod, ShapeUse use, const HostPorts& ports, std::string& key);
// A pod of the shape, but for selectors, tolerations and ports.
Pod pod_of_shape_key(std::string_view key);
// A pod of the shape that counts by this key. kInvalid for bytes that are no such key.
Result<Pod> pod_of_counting_key(std::string_view key);

}  // namespace headroom
