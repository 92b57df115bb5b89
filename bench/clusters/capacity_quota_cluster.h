// Clusters of nodes under capacity quotas, and a plain count of what the quotas use, for the rows
// that measure CapacityQuotas.
#pragma once

#include <cstdint>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "objects/objects.h"

namespace headroom {

// Nodes lie in 1,000 classes: 10 zones of 2 regions times 100 pools of 10 machine families. Quotas
// limit all nodes, zones, regions, pools, families, and families within zones; `quotas` of them.
struct CapacityQuotaClusterSpec {
  std::uint32_t nodes = 50'000, quotas = 100;
};

// With ten labels, and a name and host name of its own. `place` chooses zone and pool.
Node capacity_quota_node(std::uint32_t number, std::uint32_t place);
std::vector<CapacityQuota> make_capacity_quotas(std::uint32_t count);
CapacityQuotas make_capacity_quota_cluster(const CapacityQuotaClusterSpec& spec);

// What `check` must allow: every quota's use counted anew over all nodes.
std::int64_t count_allowed(const std::vector<Node>& nodes, const std::vector<CapacityQuota>& quotas,
                           const Node& node_template, std::int64_t count);

}  // namespace headroom
