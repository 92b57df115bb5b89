// The user stories and examples of the seed document granular-resource-limits, with its objects and
// numbers worked out by hand. Each test names its story or example.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "objects/reading/object_reader.h"
#include "tests/support/objects.h"

namespace headroom::capacity_quota_stories_test {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

constexpr std::string_view kClusterWideLimits = R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: cluster-wide-limits
spec:
  limits:
    resources:
      cpu: 128
      memory: 256Gi
)";

constexpr std::string_view kTeamALimits = R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: team-a-limits
spec:
  selector:
    matchLabels:
      team: a
  limits:
    resources:
      cpu: 32
)";

// The quotas of the text, and no nodes.
CapacityQuotas capacity_quotas_of(std::initializer_list<std::string_view> texts) {
  CapacityQuotas quotas;
  for (const std::string_view text : texts) {
    const Result<ObjectFile> file = read_objects(text, "seed");
    if (!file) throw std::invalid_argument(file.error().message);
    for (const CapacityQuota& quota : file->capacity_quotas) {
      if (const auto told = quotas.upsert(quota); !told) {
        throw std::invalid_argument(told.error().message);
      }
    }
  }
  return quotas;
}

Node node_of(StringMap labels, std::int64_t cores, std::int64_t gi) {
  return capacity_node_of("template", cpu_and_memory(cores * 1'000, gi * kGi), std::move(labels));
}

Node with_gpus(Node node, std::int64_t gpus) {
  node.capacity.emplace_back("nvidia.com/gpu", Quantity::from_value(gpus));
  return node;
}

void add(CapacityQuotas& quotas, const std::string& prefix, int count, Node node) {
  for (int i = 0; i < count; ++i) {
    node.name = prefix + std::to_string(i);
    if (const auto told = quotas.upsert(node); !told) {
      throw std::invalid_argument(told.error().message);
    }
  }
}

CapacityCheck check(CapacityQuotas& quotas, const Node& node, std::int64_t count) {
  return quotas.check(node, count).value();
}

std::int64_t allowed(CapacityQuotas& quotas, const Node& node, std::int64_t count) {
  return check(quotas, node, count).allowed;
}

// The one row of that name.
CapacityQuotaRow row_of(const CapacityCheck& answer, std::string_view quota,
                        std::string_view resource) {
  for (const CapacityQuotaRow& row : answer.rows) {
    if (row.quota == quota && row.resource == resource) return row;
  }
  throw std::invalid_argument("no row " + std::string(quota) + " " + std::string(resource));
}

// "quota resource" of each binding row.
std::vector<std::string> binding(const CapacityCheck& answer) {
  std::vector<std::string> names;
  for (const CapacityQuotaRow& row : answer.rows) {
    if (row.binding) names.push_back(std::string(row.quota) + " " + std::string(row.resource));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(CapacityQuotaStories, Story1ClusterWideLimits) {
  CapacityQuotas quotas = capacity_quotas_of({kClusterWideLimits});
  // 14 x 8 cores and 16Gi: 112 of 128 cores, 224 of 256Gi; two more fit.
  add(quotas, "n", 14, node_of({{"pool", "any"}}, 8, 16));
  const Node node = node_of({}, 8, 16);
  EXPECT_EQ(allowed(quotas, node, 2), 2);

  const CapacityCheck three = check(quotas, node, 3);
  EXPECT_EQ(three.allowed, 2);
  EXPECT_EQ(binding(three), (Names{"CapacityQuota/cluster-wide-limits cpu",
                                   "CapacityQuota/cluster-wide-limits memory"}));
  const CapacityQuotaRow cpu = row_of(three, "CapacityQuota/cluster-wide-limits", "cpu");
  EXPECT_TRUE(cpu.limit == 128'000 && cpu.used == 112'000 && cpu.reserved == 0);
  EXPECT_TRUE(cpu.need == 24'000 && cpu.headroom == 16'000 && cpu.shortfall == 8'000);
  const CapacityQuotaRow memory = row_of(three, "CapacityQuota/cluster-wide-limits", "memory");
  EXPECT_TRUE(memory.need == Int128{48} * kGi && memory.headroom == Int128{32} * kGi);
  EXPECT_TRUE(memory.shortfall == Int128{16} * kGi);

  // More memory for each core: memory stands in the way first.
  const CapacityCheck large = check(quotas, node_of({}, 4, 32), 4);
  EXPECT_EQ(large.allowed, 1);
  EXPECT_EQ(binding(large), Names{"CapacityQuota/cluster-wide-limits memory"});
}

TEST(CapacityQuotaStories, Story2LimitsOfATeamOnTopOfClusterWideLimits) {
  CapacityQuotas quotas = capacity_quotas_of({kClusterWideLimits, kTeamALimits});
  const Node team_a = node_of({{"team", "a"}}, 8, 16), team_b = node_of({{"team", "b"}}, 8, 16);
  add(quotas, "a", 3, team_a);
  add(quotas, "b", 5, team_b);
  // Team a: 24 of 32 cores. The cluster: 64 of 128 cores, 128 of 256Gi.
  const CapacityCheck for_a = check(quotas, team_a, 6);
  EXPECT_EQ(for_a.allowed, 1);
  EXPECT_EQ(binding(for_a), Names{"CapacityQuota/team-a-limits cpu"});
  EXPECT_EQ(row_of(for_a, "CapacityQuota/cluster-wide-limits", "cpu").max_nodes, 8);
  EXPECT_EQ(allowed(quotas, team_b, 20), 8);

  // Team a with all that it may have leaves seven nodes to team b.
  add(quotas, "a-more", 1, team_a);
  EXPECT_EQ(allowed(quotas, team_a, 1), 0);
  EXPECT_EQ(allowed(quotas, team_b, 20), 7);
  // The cluster's limit holds for team a, too.
  add(quotas, "b-more", 7, team_b);
  quotas.remove_node("a0");
  add(quotas, "c", 1, node_of({}, 8, 16));
  const CapacityCheck full = check(quotas, team_a, 1);
  EXPECT_EQ(full.allowed, 0);
  EXPECT_EQ(binding(full), (Names{"CapacityQuota/cluster-wide-limits cpu",
                                  "CapacityQuota/cluster-wide-limits memory"}));
  EXPECT_EQ(row_of(full, "CapacityQuota/team-a-limits", "cpu").max_nodes, 1);
}

TEST(CapacityQuotaStories, Story3LessSuitableMachinesUpToALimit) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: max-e2-resources
spec:
  selector:
    matchLabels:
      example.cloud.com/machine-family: e2
  limits:
    resources:
      cpu: 32
      memory: 64Gi
)"});
  const StringMap e2 = {{"example.cloud.com/machine-family", "e2"}};
  add(quotas, "e2-", 3, node_of(e2, 4, 8));
  add(quotas, "n2-", 40, node_of({{"example.cloud.com/machine-family", "n2"}}, 32, 128));
  // 12 of 32 cores, 24 of 64Gi: five more of 4 cores and 8Gi.
  EXPECT_EQ(allowed(quotas, node_of(e2, 4, 8), 10), 5);
  // 40Gi are left: one of 32Gi, of which 8Gi then cannot be used.
  const CapacityCheck high_memory = check(quotas, node_of(e2, 4, 32), 2);
  EXPECT_EQ(high_memory.allowed, 1);
  EXPECT_EQ(binding(high_memory), Names{"CapacityQuota/max-e2-resources memory"});
  const std::vector<Node> templates = {node_of(e2, 4, 32)};
  const auto headroom = quotas.headroom(templates).value();
  EXPECT_EQ(headroom[0].max_nodes, 1);
  EXPECT_TRUE(headroom[0].rows.at(0).stranded == 16'000);
  EXPECT_TRUE(headroom[0].rows.at(1).stranded == Int128{8} * kGi);
  // Better machines are not limited.
  const CapacityCheck better =
      check(quotas, node_of({{"example.cloud.com/machine-family", "n2"}}, 32, 128), 100);
  EXPECT_EQ(better.allowed, 100);
  EXPECT_TRUE(better.rows.empty());
}

TEST(CapacityQuotaStories, Story4NodesInAZone) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: max-nodes-us-central1-b
spec:
  selector:
    matchLabels:
      topology.kubernetes.io/zone: us-central1-b
  limits:
    resources:
      nodes: 64
)"});
  const Node in_b = node_of({{"topology.kubernetes.io/zone", "us-central1-b"}}, 4, 16);
  const Node in_c = node_of({{"topology.kubernetes.io/zone", "us-central1-c"}}, 4, 16);
  add(quotas, "b", 62, in_b);
  add(quotas, "c", 3, in_c);
  const CapacityCheck five = check(quotas, in_b, 5);
  EXPECT_EQ(five.allowed, 2);
  const CapacityQuotaRow row = row_of(five, "CapacityQuota/max-nodes-us-central1-b", "nodes");
  EXPECT_TRUE(row.limit == 64 && row.used == 62 && row.need == 5 && row.shortfall == 3);
  EXPECT_EQ(allowed(quotas, in_c, 500), 500);
  // The zone fills up in one pass: what is accepted counts at once.
  const PlanItem two[] = {{&in_b, 2}};
  ASSERT_TRUE(quotas.reserve("pass-1", two, 1'000).value().accepted);
  EXPECT_EQ(allowed(quotas, in_b, 1), 0);
  quotas.remove_node("b7");
  EXPECT_EQ(allowed(quotas, in_b, 5), 1);
}

// Obsolete in the seed: quotas are upper limits. A removal is never refused.
TEST(CapacityQuotaStories, Story5ABaselineIsNoMatterOfQuotas) {
  CapacityQuotas quotas = capacity_quotas_of({kClusterWideLimits});
  add(quotas, "n", 2, node_of({}, 2, 4));
  const PlanAnswer plan = quotas.plan({{}, {"n0", "n1"}}).value();
  EXPECT_FALSE(plan.net_break);
  EXPECT_FALSE(plan.peak_break);
  ASSERT_EQ(plan.rows.size(), 2u);
  EXPECT_TRUE(plan.rows[0].removed == 4'000 && plan.rows[0].net == 0);
}

// The object that the proposal begins with.
TEST(CapacityQuotaStories, ExampleResourceQuota) {
  constexpr std::string_view kObject = R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: example-resource-quota
spec:
  selector:
    matchLabels:
      example.cloud.com/machine-family: e2
  limits:
    resources:
      cpu: 64
      memory: 256Gi
)";
  CapacityQuotas quotas = capacity_quotas_of({kObject});
  const Node e2 = node_of({{"example.cloud.com/machine-family", "e2"}}, 4, 16);
  add(quotas, "n", 13, e2);
  // 52 of 64 cores, 208 of 256Gi.
  EXPECT_EQ(allowed(quotas, e2, 3), 3);
  const CapacityCheck four = check(quotas, e2, 4);
  EXPECT_EQ(four.allowed, 3);
  EXPECT_TRUE(row_of(four, "CapacityQuota/example-resource-quota", "cpu").shortfall == 4'000);
  EXPECT_TRUE(row_of(four, "CapacityQuota/example-resource-quota", "memory").shortfall ==
              Int128{16} * kGi);

  // The deprecated version of the API says the same.
  std::string alpha(kObject);
  alpha.replace(alpha.find("v1beta1"), 7, "v1alpha1");
  CapacityQuotas older = capacity_quotas_of({alpha});
  EXPECT_EQ(allowed(older, e2, 20), 16);
}

TEST(CapacityQuotaStories, ExampleExistingLimitsRejectToo) {
  CapacityQuotas quotas = capacity_quotas_of({kTeamALimits});
  CapacityQuota cluster_wide;
  cluster_wide.limits = {{"cpu", "40"}};
  ASSERT_TRUE(quotas.upsert(cluster_wide, CapacityQuotaClass::kClusterWide));
  add(quotas, "n", 3, node_of({}, 8, 16));
  // The quota would take four, the cluster-wide limit two.
  const CapacityCheck four = check(quotas, node_of({{"team", "a"}}, 8, 16), 4);
  EXPECT_EQ(four.allowed, 2);
  EXPECT_EQ(binding(four), Names{"cluster-wide cpu"});
  EXPECT_EQ(row_of(four, "CapacityQuota/team-a-limits", "cpu").max_nodes, 4);
}

TEST(CapacityQuotaStories, ExampleStatus) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: q
  generation: 3
spec:
  limits:
    resources:
      cpu: 64
      memory: 256Gi
      nodes: 100
)"});
  // 50 nodes of 640m: 32 cores. 128Gi is 50 x 2,748,779,069 and 22.
  Node node;
  for (int i = 0; i < 50; ++i) {
    node.name = "n" + std::to_string(i);
    node.capacity = {{"cpu", Quantity::from_milli(640)},
                     {"memory", Quantity::from_value(2'748'779'069 + (i < 22 ? 1 : 0))}};
    ASSERT_TRUE(quotas.upsert(node));
  }
  const std::vector<CapacityQuotaStatus> status = quotas.status();
  ASSERT_EQ(status.size(), 1u);
  EXPECT_EQ(status[0].id, "CapacityQuota/q");
  EXPECT_EQ(status[0].generation_in_force, 3);
  EXPECT_EQ(status[0].nodes, 50u);
  ASSERT_EQ(status[0].amounts.size(), 3u);
  EXPECT_EQ(status[0].amounts[0].resource, "cpu");
  EXPECT_TRUE(status[0].amounts[0].used == 32'000);
  EXPECT_EQ(status[0].amounts[1].resource, "memory");
  EXPECT_TRUE(status[0].amounts[1].used == Int128{128} * kGi);
  EXPECT_EQ(status[0].amounts[2].resource, "nodes");
  EXPECT_TRUE(status[0].amounts[2].used == 50);
}

TEST(CapacityQuotaStories, ExampleWindowsNodes) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: max-windows-nodes
spec:
  selector:
    matchLabels:
      kubernetes.io/os: windows
  limits:
    resources:
      nodes: 8
)"});
  const Node windows = node_of({{"kubernetes.io/os", "windows"}}, 4, 16);
  const Node linux_node = node_of({{"kubernetes.io/os", "linux"}}, 4, 16);
  add(quotas, "w", 7, windows);
  add(quotas, "l", 30, linux_node);
  EXPECT_EQ(allowed(quotas, windows, 1), 1);
  EXPECT_EQ(allowed(quotas, windows, 2), 1);
  EXPECT_EQ(allowed(quotas, linux_node, 2), 2);
  // Of both kinds together, two Windows nodes are one too many.
  const Plan plan{{{&linux_node, 10}, {&windows, 2}}, {}};
  const PlanAnswer answer = quotas.plan(plan).value();
  ASSERT_TRUE(answer.net_break);
  EXPECT_EQ(answer.net_break->item, 1u);
  EXPECT_EQ(answer.net_break->fits, 1);
}

TEST(CapacityQuotaStories, ExampleT4Gpus) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: max-t4-gpus
spec:
  selector:
    matchLabels:
      example.cloud.com/gpu-type: nvidia-t4
  limits:
    resources:
      nvidia.com/gpu: 16
)"});
  const StringMap t4 = {{"example.cloud.com/gpu-type", "nvidia-t4"}};
  add(quotas, "t4-", 3, with_gpus(node_of(t4, 8, 32), 4));
  // 12 of 16: one node of four, none of eight, four of one.
  EXPECT_EQ(allowed(quotas, with_gpus(node_of(t4, 8, 32), 4), 5), 1);
  EXPECT_EQ(allowed(quotas, with_gpus(node_of(t4, 8, 32), 8), 5), 0);
  EXPECT_EQ(allowed(quotas, with_gpus(node_of(t4, 8, 32), 1), 5), 4);
  // Without GPUs, or of another type: not limited.
  EXPECT_EQ(allowed(quotas, node_of(t4, 8, 32), 5), 5);
  const StringMap a100 = {{"example.cloud.com/gpu-type", "nvidia-a100"}};
  EXPECT_EQ(allowed(quotas, with_gpus(node_of(a100, 8, 32), 8), 5), 5);
  EXPECT_TRUE(quotas.status()[0].amounts.at(0).used == 12);
}

TEST(CapacityQuotaStories, ExampleNoControlPlane) {
  CapacityQuotas quotas = capacity_quotas_of({R"(
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata:
  name: cluster-limits-no-control-plane
spec:
  selector:
    matchExpressions:
    - key: node-role.kubernetes.io/control-plane
      operator: DoesNotExist
  limits:
    resources:
      cpu: 64
      memory: 128Gi
)"});
  const StringMap control_plane = {{"node-role.kubernetes.io/control-plane", ""}};
  add(quotas, "cp", 3, node_of(control_plane, 16, 64));
  add(quotas, "w", 7, node_of({}, 8, 16));
  // Workers have 56 of 64 cores and 112 of 128Gi.
  EXPECT_EQ(allowed(quotas, node_of({}, 8, 16), 2), 1);
  const CapacityCheck another = check(quotas, node_of(control_plane, 16, 64), 2);
  EXPECT_EQ(another.allowed, 2);
  EXPECT_TRUE(another.rows.empty());
  // A worker that becomes one of the control plane makes room.
  Node promoted = node_of(control_plane, 8, 16);
  promoted.name = "w0";
  ASSERT_TRUE(quotas.upsert(promoted));
  EXPECT_EQ(allowed(quotas, node_of({}, 8, 16), 5), 2);
}

// What is listed is told apart from what is asked for next.
TEST(CapacityQuotaDigest, TellsSelectorsApart) {
  const auto digest_of = [](LabelSelector selector) {
    CapacityQuotas quotas;
    CapacityQuota quota;
    quota.name = "q";
    quota.selector = std::move(selector);
    quota.limits = {{"cpu", "1"}};
    EXPECT_TRUE(quotas.upsert(quota));
    EXPECT_EQ(quotas.amounts(1).at(0).invalid, "");
    return quotas.digest();
  };
  EXPECT_NE(digest_of({{"a", "In", {"x", "b", "In", "y"}}}),
            digest_of({{"a", "In", {"x"}}, {"b", "In", {"y"}}}));
}

}  // namespace
}  // namespace headroom::capacity_quota_stories_test
