// UpstreamTracker: what cluster-autoscaler's quota tracker answers, its peculiarities included.
//
//   auto tracker = UpstreamTracker::create(snapshot, UpstreamTracker::Mode::kMax);
//   auto check = tracker->check(node_template, 5);         // check->allowed
//
// Source of every rule: cluster-autoscaler 33c3f97b, pkg/resourcequotas. It differs from
// autoscaling/capacity_quotas.h (mode Proposal) in this:
//  * Only cpu, memory, nodes and GPUs are limited. cpu and memory are status.capacity in whole
//    units, rounded up for each node, never negative. The GPUs' name is the value of the cloud
//    provider's GPU label, their amount the first allocatable of kGpuResources that is not 0, else
//    the first of them that the group's template has in its capacity. A value of cpu, memory or
//    nodes replaces that amount.
//  * The first node of a group fixes the amounts for all of it, and for templates of the group; a
//    template of a group that has no node fixes them too. Selectors see each node's own labels.
//  * A quota counts while its status says that it is valid, whatever generation that was about.
//  * Sums, differences and products wrap around at 64 bits.
//
// Thread safety: one thread at a time; a snapshot of its own, independent of what it was made from.
// Cost: create is O(nodes * quotas), a question O(quotas).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "tools/conformance/upstream/upcoming_nodes.h"
#include "tools/conformance/upstream/upstream_node.h"
#include "tools/conformance/upstream/upstream_status.h"

namespace headroom {

// The extended resources that count as GPUs, first come first.
inline constexpr std::array<std::string_view, 5> kGpuResources = {
    "nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu",
    "microsoft.com/directx"};
// The quota of the cluster's own limits, which is always there and applies to every node.
inline constexpr std::string_view kClusterWideCapacityQuota = "cluster-wide";

struct UpstreamSnapshot {
  // Each in any order.
  std::span<const UpstreamNode> nodes;
  std::span<const UpstreamNodeGroup> node_groups;
  std::span<const UpstreamCapacityQuota> quotas;
  UpcomingNodes upcoming = {};
  UpstreamAmounts min = {}, max = {};  // of the whole cluster, in whole units
  std::string gpu_label = {};
  std::vector<std::string> dra_gpu_types = {};  // values of that label whose GPUs are not counted
};

struct ExceededCapacityQuota {
  std::string quota;                   // cluster-wide, CapacityQuota/name
  std::vector<std::string> resources;  // sorted
  friend bool operator==(const ExceededCapacityQuota&, const ExceededCapacityQuota&) = default;
};

struct UpstreamCheck {
  std::int64_t allowed = 0;
  // Quotas that do not take all of the nodes: cluster-wide first, then by name.
  std::vector<ExceededCapacityQuota> exceeded;
  bool applied = false;  // consume() only
  friend bool operator==(const UpstreamCheck&, const UpstreamCheck&) = default;
};

class UpstreamTracker {
 public:
  enum class Mode : std::uint8_t {
    kMax,  // what may be added: the cluster's maxima and the quotas
    kMin,  // what may be removed: the cluster's minima alone
  };

  // kNotFound, in cluster-autoscaler's words: a node whose GPUs nothing tells, because it has no
  // group or the group no template. kInvalid: a quantity that is none.
  static Result<UpstreamTracker> create(const UpstreamSnapshot& snapshot, Mode mode);

  // May `count` nodes like this be added, or removed? The same errors; kInvalid: count < 0. Asking
  // can fix the amounts of the node's group.
  Result<UpstreamCheck> check(const UpstreamNode& node, std::int64_t count);
  // The same, and takes them off what is left where all of them are allowed.
  Result<UpstreamCheck> consume(const UpstreamNode& node, std::int64_t count);

  struct TrackedCapacityQuota {
    std::string id;
    LabelSelector selector;
    UpstreamAmounts limits;
    UpstreamAmounts usage;  // of all resources that its nodes have, limited or not
    UpstreamAmounts left;   // of those in `limits`; never negative
  };
  // cluster-wide first, then by name.
  const std::vector<TrackedCapacityQuota>& capacity_quotas() const { return quotas_; }

 private:
  UpstreamTracker() = default;

  Result<void> count_nodes(const UpstreamSnapshot& snapshot);
  // Of one node, from its group's first.
  Result<UpstreamAmounts> amounts_of(const UpstreamNode& node);
  Result<UpstreamAmounts> own_amounts(const UpstreamNode& node,
                                      const UpstreamNodeGroup* group) const;
  Result<void> add_gpus(const UpstreamNode& node, const UpstreamNodeGroup* group,
                        UpstreamAmounts& amounts) const;

  std::vector<TrackedCapacityQuota> quotas_;
  std::map<std::string, UpstreamNodeGroup, std::less<>> groups_;
  std::map<std::string, UpstreamAmounts, std::less<>> group_amounts_;
  std::string gpu_label_;
  std::vector<std::string> dra_gpu_types_;
};

}  // namespace headroom
