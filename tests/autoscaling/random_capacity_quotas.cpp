// See random_capacity_quotas.h.
#include "tests/autoscaling/random_capacity_quotas.h"

#include <algorithm>
#include <array>
#include <limits>

#include "objects/annotations.h"

namespace headroom {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr Int128 kNano = 1'000'000'000;
constexpr std::uint64_t kNodeNames = 12, kCapacityQuotaNames = 4, kReservationIds = 4;

std::string name_of(const char* prefix, std::uint64_t number) {
  return prefix + std::to_string(number);
}

}  // namespace

RandomCapacityQuotas::RandomCapacityQuotas(Draws& draws)
    : draws_(draws),
      scale_(draws.pick(
          std::array{Scale::kWhole, Scale::kWhole, Scale::kFraction, Scale::kHuge, Scale::kEqual})),
      few_labels_(draws.one_in(2)) {
  options_.ignore_deleting = draws_.one_in(3);
  if (draws_.one_in(3)) {
    options_.aliases = {{"cores", "cpu"}, {"gpu", "nvidia.com/gpu"}, {"machines", "nodes"}};
  }
}

std::string RandomCapacityQuotas::node_name() { return name_of("n", draws_.below(kNodeNames)); }
std::string RandomCapacityQuotas::capacity_quota_name() {
  return name_of("q", draws_.below(kCapacityQuotaNames));
}
std::string RandomCapacityQuotas::reservation_id() {
  return name_of("r", draws_.below(kReservationIds));
}

CapacityQuotaClass RandomCapacityQuotas::capacity_quota_class() {
  using enum CapacityQuotaClass;
  return draws_.pick(std::array{kCapacityQuota, kCapacityQuota, kCapacityQuota, kNodeGroup,
                                kClusterWide, kMaxNodes});
}

StringMap RandomCapacityQuotas::labels(const std::string& hostname) {
  StringMap labels;
  if (!few_labels_ && draws_.one_in(2)) labels.emplace_back("kubernetes.io/hostname", hostname);
  if (!draws_.one_in(3)) labels.emplace_back("pool", draws_.pick(std::array{"x", "y"}));
  if (!few_labels_ && draws_.one_in(2)) labels.emplace_back("team", draws_.one_in(3) ? "" : "a");
  if (draws_.one_in(8)) {
    labels.emplace_back("type", draws_.one_in(3) ? "bare" : "virtual-kubelet");
  }
  if (!draws_.one_in(3)) labels.emplace_back("zone", draws_.pick(std::array{"a", "b", "c"}));
  return labels;
}

ResourceList RandomCapacityQuotas::capacity() {
  const auto whole = [&](Int128 units) { return Quantity::from_nanos(units * kNano); };
  ResourceList list;
  switch (scale_) {
    case Scale::kEqual:
      return {{"cpu", whole(2)}, {"memory", whole(4)}};
    case Scale::kWhole:
      list.emplace_back("cpu", whole(draws_.between(0, 4)));
      if (!draws_.one_in(4)) list.emplace_back("memory", whole(draws_.between(1, 3) * 7));
      if (draws_.one_in(3)) list.emplace_back("nvidia.com/gpu", whole(draws_.between(1, 2)));
      if (draws_.one_in(5)) list.emplace_back("pods", whole(110));
      break;
    case Scale::kFraction:
      // One billionth rounds up to 1, 1.5 cpu and 1,500,000,001 billionths differ by 1m.
      list.emplace_back(
          "cpu", Quantity::from_nanos(draws_.pick(std::array<std::int64_t, 6>{
                     1, 250'000'000, 500'000'000, 999'999'999, 1'500'000'000, 1'500'000'001})));
      list.emplace_back("memory", Quantity::from_nanos(draws_.pick(std::array<std::int64_t, 4>{
                                      1, 500'000'000, 2'000'000'000, 2'000'000'001})));
      if (draws_.one_in(3)) list.emplace_back("nvidia.com/gpu", Quantity::from_milli(500));
      break;
    case Scale::kHuge: {
      const std::array<std::int64_t, 5> amounts = {kMax, kMax - 1, std::int64_t{1} << 62,
                                                   (std::int64_t{1} << 53) + 1, 1};
      list.emplace_back("cpu", Quantity::from_milli(draws_.pick(amounts)));
      list.emplace_back("memory", whole(draws_.pick(amounts)));
      // In thousandths this many cores do not fit.
      if (draws_.one_in(30)) list[0].second = whole(kMax);
      break;
    }
  }
  if (draws_.one_in(10)) list.emplace_back("nodes", whole(5));
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return list;
}

Node RandomCapacityQuotas::node() {
  Node node;
  node.name = node_name();
  node.labels = labels(node.name);
  node.capacity = capacity();
  node.deleting = draws_.one_in(10);
  if (draws_.one_in(10)) {
    node.taints.push_back({draws_.pick(std::array{"ToBeDeletedByClusterAutoscaler",
                                                  "karpenter.sh/disrupted", "another"}),
                           "", "NoSchedule"});
  }
  if (draws_.one_in(3))
    node.annotations = {{std::string(kReservationAnnotation), reservation_id()}};
  return node;
}

Node RandomCapacityQuotas::node_template() {
  Node node;
  node.name = name_of("t", draws_.below(3));
  node.labels = labels("template");
  node.capacity = capacity();
  return node;
}

NodeSelectorRequirement RandomCapacityQuotas::requirement() {
  if (draws_.one_in(15)) {
    // None of these can be used.
    return draws_.pick(std::array<NodeSelectorRequirement, 8>{{
        {"pool", "In", {}},
        {"pool", "NotIn", {}},
        {"pool", "Exists", {"x"}},
        {"pool", "DoesNotExist", {"x"}},
        {"pool", "Gt", {"1"}},
        {"a/b/c", "Exists", {}},
        {"pool", "In", {"not valid!"}},
        {"", "Exists", {}},
    }});
  }
  const std::string op = draws_.pick(std::array{"In", "In", "NotIn", "Exists", "DoesNotExist"});
  const std::string key = draws_.pick(
      std::array{"zone", "pool", "zone", "pool", "team", "type", "kubernetes.io/hostname"});
  NodeSelectorRequirement asked{key, op, {}};
  if (op != "In" && op != "NotIn") return asked;
  for (std::uint64_t left = 1 + draws_.below(2); left > 0; --left) {
    asked.values.push_back(key == "zone"   ? draws_.pick(std::array{"a", "b"})
                           : key == "pool" ? draws_.pick(std::array{"x", "y"})
                           : key == "team" ? draws_.pick(std::array{"a", ""})
                                           : draws_.pick(std::array{"n1", "bare", "template"}));
  }
  return asked;
}

LabelSelector RandomCapacityQuotas::selector() {
  LabelSelector selector;
  for (std::uint64_t left = draws_.below(3); left > 0; --left) selector.push_back(requirement());
  return selector;
}

std::string RandomCapacityQuotas::limit(const std::string& resource) {
  if (draws_.one_in(40))
    return draws_.pick(std::array{"", "x", "-1", "9223372036854775808", "-1n"});
  if (draws_.one_in(20)) return "0";
  if (scale_ == Scale::kHuge && resource != "nodes") {
    return draws_.pick(std::array{"9223372036854775807", "9223372036854775806", "8Ei", "7Ei", "4Ei",
                                  "9223372036854775807m", "9007199254740993", "1"});
  }
  const std::int64_t most = scale_ == Scale::kFraction ? 12 : resource == "memory" ? 120 : 24;
  const std::string units = std::to_string(draws_.between(0, most));
  if (!draws_.one_in(4)) return units;
  return units + draws_.pick(std::array{".5", ".0009", "e0", "001m", ".999999999"});
}

CapacityQuota RandomCapacityQuotas::capacity_quota() {
  CapacityQuota quota;
  quota.name = capacity_quota_name();
  quota.generation = ++generation_;
  quota.selector = selector();
  for (const char* resource : {"cores", "cpu", "gpu", "machines", "memory", "nodes",
                               "nvidia.com/gpu", "pods", "unknown.example/thing"}) {
    if (draws_.one_in(3)) quota.limits.emplace_back(resource, limit(resource));
  }
  if (draws_.one_in(60)) {
    quota.limits.clear();
    for (std::uint64_t i = 0; i < 20 + draws_.below(2); ++i) {
      quota.limits.emplace_back(name_of("r", 100 + i), "1");
    }
  }
  if (draws_.one_in(60)) quota.limits = {{std::string(63 + draws_.below(2), 'r'), "1"}};
  return quota;
}

std::int64_t RandomCapacityQuotas::count() {
  return draws_.pick(std::array<std::int64_t, 8>{0, 1, 1, 2, 3, 5, 8, 1'000});
}

std::vector<oracle::CapacityQuotaItem> RandomCapacityQuotas::items(std::uint64_t count_max) {
  std::vector<oracle::CapacityQuotaItem> items(draws_.below(count_max + 1));
  for (oracle::CapacityQuotaItem& item : items) {
    item.node = node_template();
    item.count = count();
  }
  if (!items.empty() && draws_.one_in(6)) {
    items[draws_.below(items.size())].count = draws_.pick(std::array{kMax, kMax - 1, kMax / 2});
  }
  return items;
}

std::vector<std::string> RandomCapacityQuotas::some_nodes() {
  std::vector<std::string> names;
  for (std::uint64_t left = draws_.below(4); left > 0; --left) names.push_back(node_name());
  return names;
}

std::vector<CapacityQuotaChange> RandomCapacityQuotas::changes() {
  std::vector<CapacityQuotaChange> changes;
  for (std::uint64_t left = 1 + draws_.below(3); left > 0; --left) {
    switch (draws_.below(4)) {
      case 0:
        changes.emplace_back(CapacityQuotaRemoval{capacity_quota_name(), capacity_quota_class()});
        break;
      case 1:
        changes.emplace_back(NodeUpsert{node()});
        break;
      default:
        changes.emplace_back(CapacityQuotaUpsert{capacity_quota(), capacity_quota_class()});
    }
  }
  return changes;
}

ReserveStep RandomCapacityQuotas::reservation() {
  ReserveStep step;
  step.id = draws_.one_in(60) ? "" : reservation_id();
  step.items = items(3);
  // What may be held at once is limited (kCapacityQuotaNodesMax).
  for (oracle::CapacityQuotaItem& item : step.items)
    item.count = std::min<std::int64_t>(item.count, 1'000);
  step.expires_us = now_us_ + draws_.between(draws_.one_in(20) ? 0 : 1, 40);
  step.mode = draws_.one_in(2) ? ReserveMode::kAll : ReserveMode::kUpTo;
  return step;
}

CapacityQuotaStep RandomCapacityQuotas::change() {
  const std::uint64_t kind = draws_.below(100);
  if (kind < 38) return NodeStep{node()};
  if (kind < 48) return NodeGoneStep{node_name()};
  if (kind < 64) return CapacityQuotaEditStep{capacity_quota(), capacity_quota_class()};
  if (kind < 68) return CapacityQuotaGoneStep{capacity_quota_name(), capacity_quota_class()};
  if (kind < 80) return reservation();
  if (kind < 83) return ReleaseStep{reservation_id()};
  if (kind < 89) {
    if (draws_.one_in(10)) return AdvanceStep{now_us_ - 1};
    now_us_ += draws_.between(0, 15);
    return AdvanceStep{now_us_};
  }
  if (kind < 91) {
    const std::int64_t later_us = draws_.between(0, 10);
    now_us_ += later_us;
    AdoptStep step{some_nodes(), {}, later_us};
    for (std::uint64_t left = draws_.below(3); left > 0; --left) step.added.push_back(node());
    return step;
  }
  if (kind < 92) {
    using enum Churn;
    return ChurnStep{draws_.pick(std::array{kKeys, kClasses, kResources, kLabelSets})};
  }
  if (kind < 95) return ForkStep{};
  if (kind < 97) return RollbackStep{};
  return CommitStep{};
}

CapacityQuotaStep RandomCapacityQuotas::question() {
  switch (draws_.below(8)) {
    case 0:
    case 1: {
      CheckStep step{items(4)};
      if (!step.items.empty() && draws_.one_in(20)) step.items[0].count = -1;
      return step;
    }
    case 2: {
      PlanStep step{items(3), some_nodes()};
      if (draws_.one_in(20) && !step.add.empty()) step.add[0].count = -1;
      return step;
    }
    case 3:
      return HeadroomStep{{node_template(), node_template()}};
    case 4:
      return MaxTotalStep{items(4)};
    case 5:
      return WhatIfStep{changes(), draws_.one_in(2) ? std::vector{node_template(), node_template()}
                                                    : std::vector<Node>{}};
    case 6:
      return CarryOutStep{items(3), some_nodes(), draws_.below(1'000'000)};
    default:
      return ReplayStep{draws_.below(1'000'000)};
  }
}

CapacityQuotaScript random_capacity_quota_script(Draws& draws, int changes) {
  RandomCapacityQuotas world(draws);
  CapacityQuotaScript script{world.options(), {}};
  for (int i = 0; i < changes; ++i) {
    script.steps.push_back(world.change());
    while (draws.one_in(2)) script.steps.push_back(world.question());
  }
  return script;
}

}  // namespace headroom
