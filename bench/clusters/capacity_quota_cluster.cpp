#include "bench/clusters/capacity_quota_cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/checks.h"
#include "bench/clusters/zoned_nodes.h"
#include "objects/labels.h"

namespace headroom {

namespace {

constexpr std::uint32_t kQuotaZones = 10, kRegions = 2, kPools = 100, kFamilies = 10;

std::string zone_of(std::uint32_t place) { return zone_name(place % kQuotaZones); }
std::string pool_of(std::uint32_t place) {
  return fmt::format("pool-{:02}", place / kQuotaZones % kPools);
}
std::string family_of(std::uint32_t place) {
  return fmt::format("family-{}", place / kQuotaZones % kPools % kFamilies);
}
std::string region_of(std::uint32_t place) {
  return fmt::format("region-{}", place % kQuotaZones % kRegions);
}

constexpr const char* kRegionLabel = "topology.kubernetes.io/region";
constexpr const char* kPoolLabel = "example.com/node-pool";
constexpr const char* kFamilyLabel = "example.com/machine-family";

}  // namespace

Node capacity_quota_node(std::uint32_t number, std::uint32_t place) {
  Node node;
  node.name = fmt::format("node-{:06}", number);
  node.labels = {{"beta.kubernetes.io/arch", "amd64"},
                 {kFamilyLabel, family_of(place)},
                 {kPoolLabel, pool_of(place)},
                 {"kubernetes.io/arch", "amd64"},
                 {kHostnameLabel, node.name},
                 {"kubernetes.io/os", "linux"},
                 {"node.kubernetes.io/instance-type", fmt::format("{}-16", family_of(place))},
                 {"node.kubernetes.io/lifecycle", "normal"},
                 {kRegionLabel, region_of(place)},
                 {kZoneLabel, zone_of(place)}};
  node.capacity = {{"cpu", Quantity::from_value(16)},
                   {"ephemeral-storage", Quantity::from_value(100ll << 30)},
                   {"hugepages-1Gi", Quantity()},
                   {"hugepages-2Mi", Quantity()},
                   {"memory", Quantity::from_value((64ll << 30) - (place % 64 << 12))},
                   {"pods", Quantity::from_value(110)}};
  return node;
}

std::vector<CapacityQuota> make_capacity_quotas(std::uint32_t count) {
  std::vector<CapacityQuota> quotas;
  for (std::uint32_t i = 0; i < count; ++i) {
    CapacityQuota& quota = quotas.emplace_back();
    quota.name = fmt::format("quota-{:04}", i);
    quota.generation = 1;
    quota.limits = {{"cpu", fmt::format("{}", 900'000 + i)},
                    {"memory", fmt::format("{}Gi", 4'000'000 + i)},
                    {"nodes", fmt::format("{}", 60'000 + i)}};
    const std::uint32_t place = i * 7;
    switch (i % 5) {
      case 0:
        quota.selector = {{kPoolLabel, "In", {pool_of(place)}}};
        break;
      case 1:
        quota.selector = {{kZoneLabel, "In", {zone_of(place)}},
                          {kFamilyLabel, "In", {family_of(place)}}};
        break;
      case 2:
        quota.selector = {{kPoolLabel, "In", {pool_of(place), pool_of(place + 10 * kQuotaZones)}},
                          {kRegionLabel, "In", {region_of(place)}}};
        break;
      case 3:
        quota.selector = {{kFamilyLabel, "In", {family_of(place)}},
                          {kZoneLabel, "NotIn", {zone_of(place), zone_of(place + 1)}}};
        break;
      default:
        // One in fifty limits all nodes; the others a zone's.
        if (i % 50 != 4) quota.selector = {{kZoneLabel, "In", {zone_of(place)}}};
    }
  }
  return quotas;
}

CapacityQuotas make_capacity_quota_cluster(const CapacityQuotaClusterSpec& spec) {
  CapacityQuotas cluster;
  for (const CapacityQuota& quota : make_capacity_quotas(spec.quotas))
    check_done(cluster.upsert(quota));
  for (std::uint32_t n = 0; n < spec.nodes; ++n)
    check_done(cluster.upsert(capacity_quota_node(n, n)));
  return cluster;
}

std::int64_t count_allowed(const std::vector<Node>& nodes, const std::vector<CapacityQuota>& quotas,
                           const Node& node_template, std::int64_t count) {
  const auto amount = [](const Node& node, const std::string& resource) -> std::int64_t {
    if (resource == "nodes") return 1;
    const Quantity* had = find(node.capacity, resource);
    if (had == nullptr) return 0;
    return value_of(resource == "cpu" ? had->milli_value() : had->value());
  };
  std::int64_t allowed = count;
  for (const CapacityQuota& quota : quotas) {
    if (!matches(quota.selector, node_template.labels)) continue;
    for (const auto& [resource, text] : quota.limits) {
      const std::int64_t need = amount(node_template, resource);
      if (need == 0) continue;
      const Quantity limit = value_of(Quantity::parse(text));
      std::int64_t left = value_of(resource == "cpu" ? limit.milli_value() : limit.value());
      for (const Node& node : nodes) {
        if (matches(quota.selector, node.labels)) left -= amount(node, resource);
      }
      allowed = std::min(allowed, left <= 0 ? 0 : left / need);
    }
  }
  return allowed;
}

}  // namespace headroom
