// What a pod's limits add up to, as LimitAware and ResourceLimitAware define a container's limit.
//
// Mode Proposal (proposal-rules, Common): containers and sidecars summed, the peak of ordinary init
// containers with the sidecars started before them, pod-level limits override, overhead always
// added; exact, rounded once. Mode Upstream: koordinator #1486 getPodResourceLimit, rounded per
// container, sidecars and pod-level resources not known.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/policies/policy.h"
#include "engine/table/pod_shape.h"

namespace headroom {

// A default for containers that state neither limit nor request; no Quantity: the node's
// allocatable.
using DefaultLimits = std::map<std::string, std::optional<Quantity>>;

// Whether a container's request counts where it exceeds its limit (LimitAware), or only where there
// is no limit (ResourceLimitAware).
enum class ContainerLimit { kLargerOfBoth, kLimitElseRequest };

struct PodLimit {
  std::string resource;
  // The greatest of these: constants exact, and how often the node's allocatable comes in.
  struct Line {
    Quantity constant;
    std::int64_t allocatables = 0;
  };
  std::vector<Line> lines;
};

// By resource, sorted by name. `defaults` may be empty.
std::vector<PodLimit> pod_limits_of(const Pod& pod, ContainerLimit container_limit,
                                    const DefaultLimits& defaults);

// Mode Upstream. `scored`: cpu and memory with 100m and 200Mi for containers without the key.
// `has_scalars`: some scalar resource is named, be it with 0.
struct UpstreamLimits {
  std::map<std::string, std::int64_t> amounts;  // cpu in milli
  bool has_scalars = false;
};
UpstreamLimits upstream_limits_of(const Pod& pod, bool scored);

}  // namespace headroom
