// Mode Upstream of CapacityQuota: the tables of cluster-autoscaler's own unit tests, by their names
// and rows, what those leave out, and quantities beyond int64 as Kubernetes' library says them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seed.h"
#include "tools/conformance/upstream/upcoming_nodes.h"
#include "tools/conformance/upstream/upstream_quantity.h"
#include "tools/conformance/upstream/upstream_status.h"
#include "tools/conformance/upstream/upstream_tracker.h"

namespace headroom::upstream_capacity_quota_test {
namespace {

using Mode = UpstreamTracker::Mode;
using Amounts = UpstreamAmounts;
using Exceeded = std::vector<ExceededCapacityQuota>;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr const char* kGpuLabel = "gpu-type";

// --- Building facts ---

UpstreamNode node(std::string name, std::string cpu, std::string memory, StringMap labels = {}) {
  UpstreamNode result;
  result.name = std::move(name);
  result.capacity = {{"cpu", std::move(cpu)}, {"memory", std::move(memory)}};
  result.labels = std::move(labels);
  return result;
}

UpstreamNode with_gpus(UpstreamNode result, const std::string& count) {
  result.labels = {{kGpuLabel, "gpu"}};
  result.allocatable = {{"nvidia.com/gpu", count}};
  return result;
}

UpstreamNode in_group(UpstreamNode result, std::string group) {
  result.node_group = std::move(group);
  return result;
}

LabelSelector selects(std::string key, std::string value) {
  return {{std::move(key), "In", {std::move(value)}}};
}

UpstreamCapacityQuotaStatus marked(const char* valid) {
  UpstreamCapacityQuotaStatus status;
  status.conditions = {
      {"cluster-autoscaler.kubernetes.io/valid", valid, "ValidationSucceeded", "", 1}};
  return status;
}

UpstreamCapacityQuota upstream_capacity_quota(std::string name, StringMap limits,
                                              LabelSelector selector = {}) {
  UpstreamCapacityQuota result;
  result.spec.name = std::move(name);
  result.spec.generation = 1;
  result.spec.limits = std::move(limits);
  result.spec.selector = std::move(selector);
  result.status = marked("True");
  return result;
}

std::vector<UpstreamNodeGroup> groups(std::initializer_list<const char*> ids) {
  std::vector<UpstreamNodeGroup> result;
  for (const char* id : ids) {
    result.emplace_back().id = id;
    result.back().node_template = in_group(node("template", "1", "1Gi"), id);
  }
  return result;
}

// Everything that a tracker is made from.
struct Cluster {
  std::vector<UpstreamNode> nodes = {};
  std::vector<UpstreamCapacityQuota> quotas = {};
  Amounts min = {}, max = {};
  std::vector<UpstreamNodeGroup> node_groups = {};
  Amounts upcoming = {};
  std::vector<std::string> not_started = {};
  std::vector<std::string> dra_gpu_types = {};

  Result<UpstreamTracker> try_track(Mode mode = Mode::kMax) const {
    return UpstreamTracker::create(
        {nodes, node_groups, quotas, {upcoming, not_started}, min, max, kGpuLabel, dra_gpu_types},
        mode);
  }
  UpstreamTracker track(Mode mode = Mode::kMax) const {
    Result<UpstreamTracker> tracker = try_track(mode);
    if (!tracker) ADD_FAILURE() << tracker.error().message;
    return std::move(*tracker);
  }
};

const UpstreamTracker::TrackedCapacityQuota& find_capacity_quota(const UpstreamTracker& tracker,
                                                                 const std::string& id) {
  const auto found = std::find_if(
      tracker.capacity_quotas().begin(), tracker.capacity_quotas().end(),
      [&](const UpstreamTracker::TrackedCapacityQuota& tracked) { return tracked.id == id; });
  if (found == tracker.capacity_quotas().end()) throw std::out_of_range("no quota " + id);
  return *found;
}

std::vector<std::string> ids(const UpstreamTracker& tracker) {
  std::vector<std::string> result;
  for (const UpstreamTracker::TrackedCapacityQuota& tracked : tracker.capacity_quotas())
    result.push_back(tracked.id);
  return result;
}

// "delta fits within limits" to "delta_fits_within_limits".
std::string test_name(std::string text) {
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

Exceeded over(std::string id, std::vector<std::string> resources) {
  return {{std::move(id), std::move(resources)}};
}

const Exceeded kNone;

Exceeded operator+(Exceeded a, const Exceeded& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- TestCheckQuota, TestNewMaxQuotasTracker, TestNewMinQuotasTracker ---

struct CheckRow {
  const char* name;
  Cluster cluster;
  UpstreamNode asked;
  std::int64_t count;
  std::int64_t allowed;
  Exceeded exceeded = {};
  Mode mode = Mode::kMax;
};

class CheckTable : public testing::TestWithParam<CheckRow> {};

TEST_P(CheckTable, Row) {
  const CheckRow& row = GetParam();
  UpstreamTracker tracker = row.cluster.track(row.mode);
  const Result<UpstreamCheck> check = tracker.check(row.asked, row.count);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->allowed, row.allowed);
  EXPECT_EQ(check->exceeded, row.exceeded);
  EXPECT_FALSE(check->applied);
}

std::string row_name(const testing::TestParamInfo<CheckRow>& row) {
  return test_name(row.param.name);
}

Cluster with_capacity_quotas(std::vector<UpstreamCapacityQuota> quotas,
                             std::vector<UpstreamNode> nodes = {}) {
  return {.nodes = std::move(nodes), .quotas = std::move(quotas)};
}

// A cluster without nodes: the limits are what is left.
Cluster limited(const std::string& cpu, const std::string& memory, const std::string& nodes) {
  return {.quotas = {upstream_capacity_quota(
              "limiter1", {{"cpu", cpu}, {"memory", memory}, {"nodes", nodes}})}};
}

// What may be removed of five nodes that have 10 cpu and 1000 of memory together.
Cluster removable(Amounts min) {
  Cluster cluster{.min = std::move(min), .max = {{"cpu", 100}, {"memory", 10000}, {"nodes", 100}}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    cluster.nodes.push_back(node(name, "2", "200"));
  }
  return cluster;
}

const UpstreamNode kSmall = node("n1", "1", "200", {{"pool", "a"}});

INSTANTIATE_TEST_SUITE_P(
    TestCheckQuota, CheckTable,
    testing::Values(
        CheckRow{"delta fits within limits", limited("10", "1000", "5"), kSmall, 2, 2},
        CheckRow{"delta exceeds one resource limit", limited("1", "1000", "5"), kSmall, 2, 1,
                 over("CapacityQuota/limiter1", {"cpu"})},
        CheckRow{"delta exceeds multiple resource limits", limited("1", "300", "5"), kSmall, 2, 1,
                 over("CapacityQuota/limiter1", {"cpu", "memory"})},
        CheckRow{
            "delta exceeds multiple quotas",
            with_capacity_quotas(
                {upstream_capacity_quota("q1", {{"cpu", "1"}, {"memory", "2000"}, {"nodes", "5"}}),
                 upstream_capacity_quota("q2",
                                         {{"cpu", "10"}, {"memory", "300"}, {"nodes", "5"}})}),
            kSmall, 2, 1, over("CapacityQuota/q1", {"cpu"}) + over("CapacityQuota/q2", {"memory"})},
        CheckRow{"delta exceeds one out of multiple quotas",
                 with_capacity_quotas({upstream_capacity_quota("q1", {{"cpu", "1"}}),
                                       upstream_capacity_quota("q2", {{"memory", "1"}},
                                                               selects("pool", "b"))}),
                 kSmall, 2, 1, over("CapacityQuota/q1", {"cpu"})},
        CheckRow{"no matching quotas",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"cpu", "1"}},
                                                               selects("pool", "b"))}),
                 kSmall, 2, 2},
        CheckRow{"resource in limits but not in the node",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"gpu", "2"}})}), kSmall, 2,
                 2},
        CheckRow{"resource in the node but not in the limits", limited("10", "1000", "5"),
                 with_gpus(kSmall, "1"), 2, 2},
        CheckRow{"min enforcement scale down fits", removable({}), kSmall, 2, 2, kNone, Mode::kMin},
        CheckRow{"min enforcement scale down exceeds limits", removable({{"cpu", 9}}), kSmall, 2, 1,
                 over("cluster-wide", {"cpu"}), Mode::kMin},
        // What upstream does not test.
        CheckRow{"zero nodes", limited("0", "0", "0"), kSmall, 0, 0},
        CheckRow{"limit of zero",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"nodes", "0"}})}), kSmall, 1,
                 0, over("CapacityQuota/q", {"nodes"})},
        CheckRow{"no limits", with_capacity_quotas({upstream_capacity_quota("q", {})}), kSmall,
                 1000, 1000},
        CheckRow{"extended resources are not enforced",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"nvidia.com/gpu", "0"},
                                                                     {"pods", "0"}})}),
                 with_gpus(kSmall, "1"), 5, 5},
        CheckRow{"over the limit already",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"cpu", "4"}})},
                                      {node("n", "8", "0")}),
                 kSmall, 1, 0, over("CapacityQuota/q", {"cpu"})},
        CheckRow{"over the limit on what the node has not",
                 with_capacity_quotas({upstream_capacity_quota("q", {{"cpu", "4"}})},
                                      {node("n", "8", "0")}),
                 node("t", "0", "200"), 1, 1},
        CheckRow{"the need wraps around", limited("1000", "1000", "1000"),
                 node("t", "4611686018427387904", "0"), 4, 4}),
    row_name);

// 6 cpu and 14Gi.
std::vector<UpstreamNode> three_nodes() {
  return {node("n1", "1", "2Gi"), node("n2", "2", "4Gi"), node("n3", "3", "8Gi")};
}

std::vector<UpstreamNode> one_virtual(std::vector<UpstreamNode> nodes) {
  nodes.back().labels = {{"type", "virtual-kubelet"}};
  return nodes;
}

constexpr std::int64_t kGi = std::int64_t{1} << 30;

Cluster with_max(Amounts max, std::vector<UpstreamNode> nodes = three_nodes()) {
  return {.nodes = std::move(nodes), .max = std::move(max)};
}
Cluster with_min(Amounts min, std::vector<UpstreamNode> nodes) {
  return {.nodes = std::move(nodes), .min = std::move(min)};
}

INSTANTIATE_TEST_SUITE_P(
    TestNewMaxQuotasTracker, CheckTable,
    testing::Values(
        CheckRow{"default allowed", with_max({{"cpu", 12}, {"memory", 32 * kGi}}),
                 node("t", "2", "4Gi"), 2, 2},
        CheckRow{"default exceeded", with_max({{"cpu", 6}, {"memory", 16 * kGi}}),
                 node("t", "2", "4Gi"), 2, 0, over("cluster-wide", {"cpu", "memory"})},
        CheckRow{"default partially allowed", with_max({{"cpu", 7}, {"memory", 16 * kGi}}),
                 node("t", "2", "4Gi"), 2, 0, over("cluster-wide", {"cpu", "memory"})},
        CheckRow{"custom resource allowed", with_max({{"gpu", 6}}), node("t", "1", "2Gi"), 2, 2},
        CheckRow{"custom resource exceeded",
                 with_max({{"gpu", 1}}, {with_gpus(node("n1", "1", "2Gi"), "1")}),
                 with_gpus(node("t", "1", "2Gi"), "1"), 2, 0, over("cluster-wide", {"gpu"})},
        CheckRow{"node filter allowed",
                 with_max({{"cpu", 4}, {"memory", 8 * kGi}}, one_virtual(three_nodes())),
                 node("t", "1", "2Gi"), 1, 1},
        CheckRow{"node filter exceeded",
                 with_max({{"cpu", 3}, {"memory", 6 * kGi}}, one_virtual(three_nodes())),
                 node("t", "1", "2Gi"), 1, 0, over("cluster-wide", {"cpu", "memory"})}),
    row_name);

// 3 cpu and 6Gi.
std::vector<UpstreamNode> two_nodes() { return {node("n1", "1", "2Gi"), node("n2", "2", "4Gi")}; }

INSTANTIATE_TEST_SUITE_P(
    TestNewMinQuotasTracker, CheckTable,
    testing::Values(
        CheckRow{"allowed", with_min({{"cpu", 1}, {"memory", 2 * kGi}}, two_nodes()),
                 node("t", "1", "2Gi"), 1, 1, kNone, Mode::kMin},
        CheckRow{"exceeded", with_min({{"cpu", 3}, {"memory", 6 * kGi}}, two_nodes()),
                 node("t", "1", "2Gi"), 1, 0, over("cluster-wide", {"cpu", "memory"}), Mode::kMin},
        CheckRow{"partially allowed",
                 with_min({{"cpu", 2}}, {node("a", "1", "0"), node("b", "1", "0"),
                                         node("c", "1", "0"), node("d", "1", "0")}),
                 node("t", "1", "0"), 3, 2, over("cluster-wide", {"cpu"}), Mode::kMin},
        CheckRow{"custom resource allowed",
                 with_min({{"gpu", 1}}, {with_gpus(node("n1", "1", "2Gi"), "1")}),
                 node("t", "1", "2Gi"), 1, 1, kNone, Mode::kMin},
        CheckRow{"custom resource exceeded",
                 with_min({{"gpu", 2}}, {with_gpus(node("n1", "1", "2Gi"), "2")}),
                 with_gpus(node("t", "1", "2Gi"), "1"), 1, 0, over("cluster-wide", {"gpu"}),
                 Mode::kMin},
        CheckRow{
            "node filter allowed",
            with_min({{"cpu", 2}}, one_virtual({node("n1", "3", "2Gi"), node("n2", "2", "0")})),
            node("t", "1", "2Gi"), 1, 1, kNone, Mode::kMin},
        CheckRow{
            "node filter exceeded",
            with_min({{"cpu", 3}}, one_virtual({node("n1", "3", "2Gi"), node("n2", "2", "0")})),
            node("t", "1", "2Gi"), 1, 0, over("cluster-wide", {"cpu"}), Mode::kMin}),
    row_name);

TEST(TestCheckQuota, NegativeNodeDeltaReturnsError) {
  UpstreamTracker tracker = limited("10", "1000", "5").track();
  const Result<UpstreamCheck> check = tracker.check(kSmall, -1);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(check.error().message, "negative nodeDelta received");
}

// --- TestConsumeQuota ---

struct ConsumeRow {
  const char* name;
  Cluster cluster;
  const char* quota;
  UpstreamNode asked;
  std::int64_t count;
  std::int64_t allowed;
  Exceeded exceeded;
  Amounts left;
  Mode mode = Mode::kMax;
};

class TestConsumeQuota : public testing::TestWithParam<ConsumeRow> {};

TEST_P(TestConsumeQuota, Row) {
  const ConsumeRow& row = GetParam();
  UpstreamTracker tracker = row.cluster.track(row.mode);
  const Result<UpstreamCheck> consumed = tracker.consume(row.asked, row.count);
  ASSERT_TRUE(consumed) << consumed.error().message;
  EXPECT_EQ(consumed->allowed, row.allowed);
  EXPECT_EQ(consumed->exceeded, row.exceeded);
  EXPECT_EQ(consumed->applied, row.allowed == row.count);
  EXPECT_EQ(find_capacity_quota(tracker, row.quota).left, row.left);
}

Amounts left(std::int64_t cpu, std::int64_t memory, std::int64_t nodes) {
  return {{"cpu", cpu}, {"memory", memory}, {"nodes", nodes}};
}

constexpr const char* kLimiter = "CapacityQuota/limiter1";

INSTANTIATE_TEST_SUITE_P(
    Upstream, TestConsumeQuota,
    testing::Values(ConsumeRow{"delta applied successfully", limited("10", "1000", "5"), kLimiter,
                               kSmall, 2, 2, kNone, left(8, 600, 3)},
                    ConsumeRow{"partial delta calculated nothing applied",
                               limited("3", "1000", "5"), kLimiter, node("t", "2", "200"), 2, 1,
                               over(kLimiter, {"cpu"}), left(3, 1000, 5)},
                    ConsumeRow{"delta not applied because it exceeds limits",
                               limited("1", "100", "5"), kLimiter, node("t", "2", "200"), 1, 0,
                               over(kLimiter, {"cpu", "memory"}), left(1, 100, 5)},
                    ConsumeRow{"applied delta results in zero limit", limited("2", "500", "10"),
                               kLimiter, kSmall, 2, 2, kNone, left(0, 100, 8)},
                    ConsumeRow{"min enforcement scale down applied successfully", removable({}),
                               "cluster-wide", kSmall, 2, 2, kNone, left(8, 600, 3), Mode::kMin},
                    // What upstream does not test.
                    ConsumeRow{"nothing is applied", limited("0", "0", "0"), kLimiter, kSmall, 0, 0,
                               kNone, left(0, 0, 0)},
                    // 3 * 2^62 wraps to -2^62: more is left than before.
                    ConsumeRow{"an overflow raises what is left", limited("5", "1000", "9"),
                               kLimiter, node("t", "4611686018427387904", "0"), 3, 3, kNone,
                               left(4611686018427387909, 1000, 6)}),
    [](const testing::TestParamInfo<ConsumeRow>& row) { return test_name(row.param.name); });

TEST(TestConsumeQuotaErrors, NegativeNodeDeltaReturnsError) {
  UpstreamTracker tracker = limited("10", "1000", "5").track();
  EXPECT_FALSE(tracker.consume(kSmall, -1));
  EXPECT_EQ(find_capacity_quota(tracker, kLimiter).left, left(10, 1000, 5));
}

TEST(TestConsumeQuotaNested, TakesFromEveryQuotaThatMatches) {
  UpstreamTracker tracker =
      Cluster{.quotas = {upstream_capacity_quota("all", {{"nodes", "9"}}),
                         upstream_capacity_quota("other", {{"nodes", "9"}}, selects("pool", "b")),
                         upstream_capacity_quota("pool", {{"nodes", "3"}}, selects("pool", "a"))}}
          .track();
  EXPECT_TRUE(tracker.consume(kSmall, 2)->applied);
  EXPECT_FALSE(tracker.consume(kSmall, 2)->applied);
  EXPECT_EQ(find_capacity_quota(tracker, "CapacityQuota/all").left, (Amounts{{"nodes", 7}}));
  EXPECT_EQ(find_capacity_quota(tracker, "CapacityQuota/other").left, (Amounts{{"nodes", 9}}));
  EXPECT_EQ(find_capacity_quota(tracker, "CapacityQuota/pool").left, (Amounts{{"nodes", 1}}));
}

// --- TestCalculateUsages ---

struct UsageRow {
  const char* name;
  Cluster cluster;
  std::vector<std::pair<const char*, Amounts>> usages;
};

class TestCalculateUsages : public testing::TestWithParam<UsageRow> {};

TEST_P(TestCalculateUsages, Row) {
  const UpstreamTracker tracker = GetParam().cluster.track();
  for (const auto& [id, usage] : GetParam().usages) {
    EXPECT_EQ(find_capacity_quota(tracker, id).usage, usage) << id;
  }
}

std::vector<UpstreamNode> pool_nodes() {
  return {node("n1", "1", "2000", {{"pool", "a"}}), node("n2", "2", "4000", {{"pool", "b"}}),
          node("n3", "3", "8000", {{"pool", "a"}})};
}

std::vector<UpstreamNode> filtered_pool_nodes() {
  std::vector<UpstreamNode> nodes = pool_nodes();
  nodes[1].labels.emplace_back("type", "virtual-kubelet");
  return nodes;
}

std::vector<UpstreamCapacityQuota> pool_capacity_quotas() {
  return {upstream_capacity_quota("a", {}, selects("pool", "a")),
          upstream_capacity_quota("b", {}, selects("pool", "b"))};
}

INSTANTIATE_TEST_SUITE_P(
    Upstream, TestCalculateUsages,
    testing::Values(
        UsageRow{"cluster wide limiter no node filter",
                 {.nodes = pool_nodes()},
                 {{"cluster-wide", {{"cpu", 6}, {"memory", 14000}, {"nodes", 3}}}}},
        UsageRow{"multiple quotas",
                 {.nodes = pool_nodes(), .quotas = pool_capacity_quotas()},
                 {{"CapacityQuota/a", {{"cpu", 4}, {"memory", 10000}, {"nodes", 2}}},
                  {"CapacityQuota/b", {{"cpu", 2}, {"memory", 4000}, {"nodes", 1}}}}},
        UsageRow{"with node filter",
                 {.nodes = filtered_pool_nodes()},
                 {{"cluster-wide", {{"cpu", 4}, {"memory", 10000}, {"nodes", 2}}}}},
        UsageRow{"limiter doesnt match any node",
                 {.nodes = pool_nodes(),
                  .quotas = {upstream_capacity_quota("c", {}, selects("pool", "c"))}},
                 {{"CapacityQuota/c", {}}}},
        UsageRow{"with custom resources",
                 {.nodes = {with_gpus(node("n1", "1", "2000"), "2"), node("n2", "2", "4000")}},
                 {{"cluster-wide", {{"cpu", 3}, {"gpu", 2}, {"memory", 6000}, {"nodes", 2}}}}},
        UsageRow{"multiple quotas and node filter",
                 {.nodes = filtered_pool_nodes(), .quotas = pool_capacity_quotas()},
                 {{"CapacityQuota/a", {{"cpu", 4}, {"memory", 10000}, {"nodes", 2}}},
                  {"CapacityQuota/b", {}}}},
        // What upstream does not test.
        UsageRow{"sums wrap around",
                 {.nodes = {node("n1", "4Ei", "0"), node("n2", "4Ei", "0")}},
                 {{"cluster-wide", {{"cpu", kInt64Min}, {"memory", 0}, {"nodes", 2}}}}},
        UsageRow{"nothing but cpu and memory of capacity",
                 {.nodes = {[] {
                    UpstreamNode odd = node("n1", "-2", "-1500m");
                    odd.capacity.emplace_back("nodes", "7");
                    odd.capacity.emplace_back("nvidia.com/gpu", "8");
                    odd.capacity.emplace_back("pods", "110");
                    odd.allocatable = {{"cpu", "64"}};
                    return odd;
                  }()}},
                 {{"cluster-wide", {{"cpu", 0}, {"memory", 0}, {"nodes", 1}}}}}),
    [](const testing::TestParamInfo<UsageRow>& row) { return test_name(row.param.name); });

// --- TestVirtualKubeletNodeFilter ---

TEST(TestVirtualKubeletNodeFilter, OtherType) {
  EXPECT_FALSE(is_virtual_node(node("n", "1", "1")));
  EXPECT_FALSE(is_virtual_node(node("n", "1", "1", {{"type", "physical"}})));
}

TEST(TestVirtualKubeletNodeFilter, VirtualKubelet) {
  EXPECT_TRUE(is_virtual_node(node("n", "1", "1", {{"type", "virtual-kubelet"}})));
}

TEST(TestVirtualKubeletNodeFilter, TemplatesAreNotFiltered) {
  UpstreamTracker tracker =
      Cluster{.quotas = {upstream_capacity_quota("q", {{"nodes", "1"}})}}.track();
  const UpstreamNode asked = node("t", "1", "1", {{"type", "virtual-kubelet"}});
  EXPECT_EQ(tracker.check(asked, 2)->allowed, 1);
}

// --- TestNodeResourcesCache ---

Amounts cluster_usage(const Cluster& cluster) {
  return find_capacity_quota(cluster.track(), "cluster-wide").usage;
}

TEST(TestNodeResourcesCache, CacheHit) {
  // The first by name, wherever it stands.
  const Cluster cluster{
      .nodes = {in_group(node("n2", "5", "50"), "ng"), in_group(node("n1", "1", "10"), "ng"),
                in_group(node("n3", "7", "70"), "ng")},
      .node_groups = groups({"ng"})};
  EXPECT_EQ(cluster_usage(cluster), (Amounts{{"cpu", 3}, {"memory", 30}, {"nodes", 3}}));
}

TEST(TestNodeResourcesCache, CacheMissOnDifferentNodeGroup) {
  const Cluster cluster{
      .nodes = {in_group(node("n1", "1", "10"), "a"), in_group(node("n2", "5", "50"), "b")},
      .node_groups = groups({"a", "b"})};
  EXPECT_EQ(cluster_usage(cluster), (Amounts{{"cpu", 6}, {"memory", 60}, {"nodes", 2}}));
}

TEST(TestNodeResourcesCache, NoNodeGroupBypassesCache) {
  const Cluster cluster{.nodes = {node("n1", "1", "10"), in_group(node("n2", "5", "50"), "unknown"),
                                  in_group(node("n3", "7", "70"), "unknown")}};
  EXPECT_EQ(cluster_usage(cluster), (Amounts{{"cpu", 13}, {"memory", 130}, {"nodes", 3}}));
}

TEST(TestNodeResourcesCache, ExcludedNodesDoNotFillIt) {
  Cluster cluster{
      .nodes = {in_group(node("n1", "9", "90", {{"type", "virtual-kubelet"}}), "ng"),
                in_group(node("n2", "1", "10"), "ng"), in_group(node("n3", "2", "20"), "ng")},
      .node_groups = groups({"ng"})};
  EXPECT_EQ(cluster_usage(cluster), (Amounts{{"cpu", 2}, {"memory", 20}, {"nodes", 2}}));
}

TEST(TestNodeResourcesCache, TemplatesTakeTheAmountsOfTheirGroup) {
  const Cluster cluster{.nodes = {in_group(node("n1", "3", "0"), "ng")},
                        .quotas = {upstream_capacity_quota("q", {{"cpu", "9"}})},
                        .node_groups = groups({"ng"})};
  UpstreamTracker tracker = cluster.track();
  EXPECT_EQ(tracker.check(in_group(node("t", "1", "0"), "ng"), 9)->allowed, 2);
  EXPECT_EQ(tracker.check(node("t", "1", "0"), 9)->allowed, 6);
}

TEST(TestNodeResourcesCache, AQuestionFillsIt) {
  const Cluster cluster{.quotas = {upstream_capacity_quota("q", {{"cpu", "9"}})},
                        .node_groups = groups({"ng"})};
  UpstreamTracker tracker = cluster.track();
  EXPECT_FALSE(tracker.check(in_group(node("t", "9", "0"), "ng"), -1));
  EXPECT_EQ(tracker.check(in_group(node("t", "3", "0"), "ng"), 0)->allowed, 0);
  EXPECT_EQ(tracker.check(in_group(node("t", "1", "0"), "ng"), 9)->allowed, 3);
}

// --- TestNodeResources ---

TEST(TestNodeResources, CpuAndMemoryOnly) {
  EXPECT_EQ(cluster_usage({.nodes = {node("n", "1", "2048")}}),
            (Amounts{{"cpu", 1}, {"memory", 2048}, {"nodes", 1}}));
}

TEST(TestNodeResources, MilliCoresRoundedUp) {
  EXPECT_EQ(cluster_usage({.nodes = {node("n", "2500m", "2048500m")}}),
            (Amounts{{"cpu", 3}, {"memory", 2049}, {"nodes", 1}}));
}

TEST(TestNodeResources, CustomResourcesAdded) {
  EXPECT_EQ(cluster_usage({.nodes = {with_gpus(node("n", "1", "2048"), "4")}}),
            (Amounts{{"cpu", 1}, {"gpu", 4}, {"memory", 2048}, {"nodes", 1}}));
}

// --- GPUs ---

UpstreamNode gpu_node(std::string type, StringMap allocatable) {
  UpstreamNode result = node("n", "1", "10", {{kGpuLabel, std::move(type)}});
  result.allocatable = std::move(allocatable);
  return result;
}

TEST(GpuTargets, FirstAllocatableThatIsNotZero) {
  const UpstreamNode both =
      gpu_node("t4", {{"amd.com/gpu", "2"}, {"habana.ai/gaudi", "3"}, {"nvidia.com/gpu", "0"}});
  EXPECT_EQ(cluster_usage({.nodes = {both}}).at("t4"), 3);
}

TEST(GpuTargets, AmountsThatAreNotPositiveAreNone) {
  EXPECT_FALSE(
      cluster_usage({.nodes = {gpu_node("t4", {{"nvidia.com/gpu", "-1"}})}}).contains("t4"));
  // Not zero, but Value() says so: the next resource is not asked.
  EXPECT_FALSE(
      cluster_usage({.nodes = {gpu_node("t4", {{"amd.com/gpu", "2"}, {"nvidia.com/gpu", "10E"}})}})
          .contains("t4"));
}

TEST(GpuTargets, ElseFirstInTheTemplatesCapacity) {
  Cluster cluster{.nodes = {in_group(gpu_node("t4", {}), "ng")}, .node_groups = groups({"ng"})};
  EXPECT_FALSE(cluster_usage(cluster).contains("t4"));
  cluster.node_groups[0].node_template->capacity = {{"amd.com/gpu", "2"},
                                                    {"gpu.intel.com/xe", "0"}};
  EXPECT_FALSE(cluster_usage(cluster).contains("t4"));
  cluster.node_groups[0].node_template->capacity = {{"amd.com/gpu", "2"}};
  EXPECT_EQ(cluster_usage(cluster).at("t4"), 2);
}

TEST(GpuTargets, ErrorsWithoutGroupOrTemplate) {
  Cluster cluster{.nodes = {gpu_node("t4", {})}};
  EXPECT_EQ(cluster.try_track().error().message,
            "failed to get custom resources: node without with gpu label, without capacity not "
            "belonging to autoscaled node group");
  cluster.nodes[0].node_group = "ng";
  cluster.node_groups = groups({"ng"});
  cluster.node_groups[0].node_template.reset();
  EXPECT_EQ(cluster.try_track().error().message,
            "failed to get custom resources: no template declared for ng");
  EXPECT_EQ(cluster.try_track(Mode::kMin).error().code, ErrorCode::kNotFound);
  // A failed question leaves the group's amounts open.
  cluster.nodes.clear();
  cluster.quotas = {upstream_capacity_quota("q", {{"cpu", "9"}})};
  UpstreamTracker tracker = cluster.track();
  EXPECT_FALSE(tracker.check(in_group(gpu_node("t4", {}), "ng"), 1));
  EXPECT_EQ(tracker.check(in_group(node("t", "3", "0"), "ng"), 9)->allowed, 3);
}

TEST(GpuTargets, AreNotCountedThroughDra) {
  const Cluster cluster{.nodes = {gpu_node("t4", {{"nvidia.com/gpu", "2"}}), gpu_node("dra", {})},
                        .dra_gpu_types = {"dra"}};
  EXPECT_EQ(cluster_usage(cluster), (Amounts{{"cpu", 2}, {"memory", 20}, {"nodes", 2}, {"t4", 2}}));
}

TEST(GpuTargets, EmptyTypeIsIgnoredAndBuiltInNamesAreReplaced) {
  EXPECT_EQ(cluster_usage({.nodes = {gpu_node("", {{"nvidia.com/gpu", "2"}})}}),
            (Amounts{{"cpu", 1}, {"memory", 10}, {"nodes", 1}}));
  EXPECT_EQ(cluster_usage({.nodes = {gpu_node("nodes", {{"nvidia.com/gpu", "2"}})}}),
            (Amounts{{"cpu", 1}, {"memory", 10}, {"nodes", 2}}));
}

// --- Providers ---

TEST(TestCloudLimitersProvider, OneQuotaWithTheMaxima) {
  const UpstreamTracker tracker = Cluster{.max = {{"cpu", 5}, {"gpu", 0}}}.track();
  EXPECT_EQ(ids(tracker), (std::vector<std::string>{"cluster-wide"}));
  EXPECT_EQ(tracker.capacity_quotas()[0].limits, (Amounts{{"cpu", 5}, {"gpu", 0}}));
}

TEST(TestCombinedQuotasProvider, ClusterWideFirstThenByName) {
  const Cluster cluster{.quotas = {upstream_capacity_quota("b", {}),
                                   upstream_capacity_quota("cluster-wide", {}),
                                   upstream_capacity_quota("a", {})}};
  EXPECT_EQ(ids(cluster.track()),
            (std::vector<std::string>{"cluster-wide", "CapacityQuota/a", "CapacityQuota/b",
                                      "CapacityQuota/cluster-wide"}));
}

TEST(TestMinQuotaAdapter, UnionOfNames) {
  const Cluster cluster{.quotas = {upstream_capacity_quota("q", {{"cpu", "1"}})},
                        .min = {{"cpu", 2}, {"gpu", 0}, {"memory", -5}},
                        .max = {{"memory", 7}, {"nodes", 3}}};
  const UpstreamTracker tracker = cluster.track(Mode::kMin);
  EXPECT_EQ(ids(tracker), (std::vector<std::string>{"cluster-wide"}));
  EXPECT_EQ(tracker.capacity_quotas()[0].limits,
            (Amounts{{"cpu", 2}, {"memory", 0}, {"nodes", 0}}));
}

TEST(TestProvider_Quotas, NoCapacityQuotas) {
  EXPECT_EQ(Cluster{}.track().capacity_quotas().size(), 1U);
}

TEST(TestProvider_Quotas, Single) {
  EXPECT_EQ(ids(Cluster{.quotas = {upstream_capacity_quota("cq1", {})}}.track()),
            (std::vector<std::string>{"cluster-wide", "CapacityQuota/cq1"}));
}

TEST(TestProvider_Quotas, Multiple) {
  EXPECT_EQ(ids(Cluster{
                .quotas = {upstream_capacity_quota("cq1", {}), upstream_capacity_quota("cq2", {})}}
                    .track()),
            (std::vector<std::string>{"cluster-wide", "CapacityQuota/cq1", "CapacityQuota/cq2"}));
}

TEST(TestProvider_Quotas, InvalidSelectorIsSkipped) {
  const Cluster cluster{
      .quotas = {upstream_capacity_quota("q", {}, {{"invalidKey!!!!", "Exists", {}}})}};
  EXPECT_EQ(cluster.track().capacity_quotas().size(), 1U);
}

TEST(TestProvider_Quotas, InvalidConditionIsSkipped) {
  Cluster cluster{.quotas = {upstream_capacity_quota("q", {})}};
  for (const char* valid : {"False", "Unknown"}) {
    cluster.quotas[0].status = marked(valid);
    EXPECT_EQ(cluster.track().capacity_quotas().size(), 1U) << valid;
  }
  cluster.quotas[0].status = {};
  EXPECT_EQ(cluster.track().capacity_quotas().size(), 1U);
}

TEST(TestProvider_Quotas, StaleConditionIsTrusted) {
  Cluster cluster{.quotas = {upstream_capacity_quota("q", {{"cpu", "3"}})}};
  cluster.quotas[0].spec.generation = 9;
  EXPECT_EQ(find_capacity_quota(cluster.track(), "CapacityQuota/q").limits, (Amounts{{"cpu", 3}}));
}

TEST(TestCapacityQuota_Selector, MatchLabelsMatches) {
  const Cluster cluster{.nodes = pool_nodes(),
                        .quotas = {upstream_capacity_quota("q", {}, selects("pool", "a"))}};
  EXPECT_EQ(find_capacity_quota(cluster.track(), "CapacityQuota/q").usage.at("nodes"), 2);
}

TEST(TestCapacityQuota_Selector, MatchLabelsDoesNotMatch) {
  const Cluster cluster{.nodes = pool_nodes(),
                        .quotas = {upstream_capacity_quota("q", {}, selects("pool", "z"))}};
  EXPECT_TRUE(find_capacity_quota(cluster.track(), "CapacityQuota/q").usage.empty());
}

TEST(TestCapacityQuota_Selector, NilSelectorMatchesEverything) {
  const Cluster cluster{.nodes = pool_nodes(), .quotas = {upstream_capacity_quota("q", {})}};
  EXPECT_EQ(find_capacity_quota(cluster.track(), "CapacityQuota/q").usage.at("nodes"), 3);
}

TEST(TestCapacityQuota_Selector, Operators) {
  const std::vector<UpstreamNode> nodes = {node("n1", "1", "0"), node("n2", "1", "0", {{"k", ""}}),
                                           node("n3", "1", "0", {{"k", "v"}})};
  const auto matched = [&](NodeSelectorRequirement asked) {
    const Cluster cluster{.nodes = nodes,
                          .quotas = {upstream_capacity_quota("q", {}, {std::move(asked)})}};
    const Amounts usage = find_capacity_quota(cluster.track(), "CapacityQuota/q").usage;
    return usage.empty() ? 0 : usage.at("nodes");
  };
  EXPECT_EQ(matched({"k", "In", {"", "w"}}), 1);
  EXPECT_EQ(matched({"k", "NotIn", {"v"}}), 2);
  EXPECT_EQ(matched({"k", "Exists", {}}), 2);
  EXPECT_EQ(matched({"k", "DoesNotExist", {}}), 1);
}

TEST(TestCapacityQuota_Limits, CpuAndMemory) {
  const Cluster cluster{
      .quotas = {upstream_capacity_quota("q", {{"cpu", "5"}, {"memory", "10Gi"}})}};
  EXPECT_EQ(find_capacity_quota(cluster.track(), "CapacityQuota/q").limits,
            (Amounts{{"cpu", 5}, {"memory", 10 * kGi}}));
}

TEST(TestCapacityQuota_Limits, EmptyLimits) {
  EXPECT_TRUE(find_capacity_quota(Cluster{.quotas = {upstream_capacity_quota("q", {})}}.track(),
                                  "CapacityQuota/q")
                  .left.empty());
}

TEST(TestCapacityQuota_Limits, WhatIsNoQuantityIsAnError) {
  const Cluster cluster{.quotas = {upstream_capacity_quota("q", {{"cpu", "4x"}})}};
  EXPECT_EQ(cluster.try_track().error().message,
            "CapacityQuota q: spec.limits.resources.cpu: \"4x\" is not a quantity");
  EXPECT_EQ(Cluster{.nodes = {node("n", "4x", "1")}}.try_track().error().message,
            "Node n: status.capacity.cpu: \"4x\" is not a quantity");
}

// --- Placeholders ---

TEST(UpcomingPlaceholders, StandForNodesThatAreExpected) {
  Cluster cluster{
      .nodes = {in_group(node("n1", "1", "0"), "b"), in_group(node("n2", "5", "0"), "c")},
      .quotas = {upstream_capacity_quota("q", {{"nodes", "9"}}, selects("from", "template"))},
      .node_groups = groups({"a", "b", "c", "d", "e"})};
  for (UpstreamNodeGroup& group : cluster.node_groups) {
    group.node_template->labels = {{"from", "template"}};
    group.node_template->node_group.clear();
  }
  cluster.node_groups[3].node_template.reset();
  cluster.node_groups[4].node_template->labels.emplace_back("type", "virtual-kubelet");
  cluster.upcoming = {{"a", 2}, {"b", 3}, {"d", 4}, {"e", 5}, {"gone", 6}};
  cluster.not_started = {"n2"};
  const UpstreamTracker tracker = cluster.track();
  // n1; two of a's template; three like n1, with their template's labels.
  EXPECT_EQ(find_capacity_quota(tracker, "cluster-wide").usage,
            (Amounts{{"cpu", 6}, {"memory", 2 * kGi}, {"nodes", 6}}));
  EXPECT_EQ(find_capacity_quota(tracker, "CapacityQuota/q").usage.at("nodes"), 5);
}

// --- Upcoming nodes ---

constexpr std::int64_t kNowUs = 1'000'000'000'000;

UpstreamNode starting(std::string name, std::int64_t age_us,
                      std::vector<UpstreamCondition> conditions) {
  UpstreamNode result = in_group(node(std::move(name), "1", "1"), "ng");
  result.creation_us = kNowUs - age_us;
  result.conditions = std::move(conditions);
  return result;
}

std::vector<UpstreamNodeGroup> scaling_group(std::int64_t target_size) {
  std::vector<UpstreamNodeGroup> result = groups({"ng"});
  result[0].target_size = target_size;
  result[0].scaling_up = true;
  return result;
}

// The one group's count, and who of `nodes` is not started.
UpcomingNodes expected(std::int64_t count, std::vector<std::string> not_started) {
  return {{{"ng", count}}, std::move(not_started)};
}

TEST(UpcomingNodes, CountsWhatIsNotThereYet) {
  const std::vector<UpstreamNode> nodes = {
      starting("young", 1, {{"Ready", "False"}}),
      starting("older", kNodeStartupMaxUs - 1, {{"Ready", "Unknown"}}),
      starting("unready", kNodeStartupMaxUs, {{"Ready", "False"}}),
      starting("ready", 1, {{"Ready", "True"}}),
      starting("unknown", 1, {}),
      starting("pressed", 1, {{"DiskPressure", "True"}, {"Ready", "True"}}),
      starting("offline", 1, {{"Ready", "True"}, {"NetworkUnavailable", "True"}}),
      starting("fine", 1, {{"DiskPressure", "False"}, {"Ready", "True"}}),
      starting("suspended", 1, {{"Suspended", "True"}, {"Ready", "False"}}),
      starting("resumed", 1, {{"Suspended", "False"}, {"Suspended", "True"}, {"Ready", "False"}}),
      node("other", "1", "1")};
  EXPECT_EQ(upcoming_nodes(nodes, scaling_group(10), kNowUs),
            expected(6, {"offline", "older", "pressed", "resumed", "unknown", "young"}));
}

TEST(UpcomingNodes, TaintsMakeUnready) {
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure",
                            "node.kubernetes.io/network-unavailable"}) {
    std::vector<UpstreamNode> nodes = {starting("n", 1, {{"Ready", "True"}})};
    nodes[0].taint_keys = {"other", taint};
    EXPECT_EQ(upcoming_nodes(nodes, scaling_group(1), kNowUs), expected(1, {"n"})) << taint;
    nodes[0].taint_keys = {"node.kubernetes.io/unreachable"};
    EXPECT_EQ(upcoming_nodes(nodes, scaling_group(1), kNowUs), UpcomingNodes{});
  }
}

TEST(UpcomingNodes, NodesWithoutAnInstanceAreBeingDeleted) {
  std::vector<UpstreamNode> nodes = {starting("n", 1, {{"Ready", "True"}})};
  nodes[0].has_instance = false;
  EXPECT_EQ(upcoming_nodes(nodes, scaling_group(1), kNowUs), expected(1, {}));
}

TEST(UpcomingNodes, NodesOfUnknownAgeHaveStarted) {
  std::vector<UpstreamNode> nodes = {starting("n", 1, {})};
  nodes[0].creation_us.reset();
  EXPECT_EQ(upcoming_nodes(nodes, scaling_group(2), kNowUs), expected(1, {}));
}

TEST(UpcomingNodes, GroupsThatAreLeftOut) {
  const std::vector<UpstreamNode> nodes = {starting("n", 1, {})};
  std::vector<UpstreamNodeGroup> group = scaling_group(3);
  group[0].long_unregistered = 2;
  EXPECT_EQ(upcoming_nodes(nodes, group, kNowUs), expected(1, {"n"}));
  group[0].long_unregistered = 3;
  EXPECT_EQ(upcoming_nodes(nodes, group, kNowUs), UpcomingNodes{});
  group = scaling_group(3);
  group[0].scaling_up = false;
  EXPECT_EQ(upcoming_nodes(nodes, group, kNowUs), UpcomingNodes{});
  group = scaling_group(3);
  group[0].backed_off = true;
  EXPECT_EQ(upcoming_nodes(nodes, group, kNowUs), UpcomingNodes{});
  group[0].node_template.reset();
  EXPECT_EQ(upcoming_nodes(nodes, group, kNowUs), expected(3, {"n"}));
}

// --- Status: the integration tests of the controller ---

std::vector<UpstreamNode> status_nodes() {
  return {node("n1", "2", "8Gi", {{"pool", "test-pool"}}),
          node("n2", "4", "16Gi", {{"pool", "test-pool"}}),
          node("n3", "8", "32Gi", {{"pool", "other-pool"}})};
}

UpstreamCapacityQuota unreported(StringMap limits, LabelSelector selector = {}) {
  UpstreamCapacityQuota result =
      upstream_capacity_quota("cq", std::move(limits), std::move(selector));
  result.status = {};
  return result;
}

StringMap used(const UpstreamCapacityQuota& of, const std::vector<UpstreamNode>& nodes) {
  const Result<UpstreamCapacityQuotaStatus> status = reconciled(of, nodes);
  if (!status) ADD_FAILURE() << status.error().message;
  return status->used.value_or(StringMap{{"used", "absent"}});
}

TEST(CapacityQuotaController, NilSelectorSumsAllNodes) {
  EXPECT_EQ(used(unreported({{"cpu", "1"}}), status_nodes()), (StringMap{{"cpu", "14"}}));
}

TEST(CapacityQuotaController, SumsMatchingNodes) {
  const UpstreamCapacityQuota of =
      unreported({{"cpu", "1"}, {"memory", "1"}, {"nodes", "1"}, {"nvidia.com/gpu", "1"}},
                 selects("pool", "test-pool"));
  const Result<UpstreamCapacityQuotaStatus> status = reconciled(of, status_nodes());
  EXPECT_EQ(status->used,
            (StringMap{{"cpu", "6"}, {"memory", "24Gi"}, {"nodes", "2"}, {"nvidia.com/gpu", "0"}}));
  EXPECT_EQ(status->observed_generation, 1);
  EXPECT_EQ(status->conditions, (std::vector<UpstreamCapacityQuotaCondition>{
                                    {"cluster-autoscaler.kubernetes.io/valid", "True",
                                     "ValidationSucceeded", "CapacityQuota is valid", 1},
                                    {"Reconciled", "True", "ReconciliationSucceeded",
                                     "CapacityQuota successfully reconciled", 1}}));
}

TEST(CapacityQuotaController, FollowsNodesAndLabels) {
  const UpstreamCapacityQuota of = unreported({{"cpu", "1"}}, selects("pool", "test-pool"));
  std::vector<UpstreamNode> nodes = status_nodes();
  nodes.push_back(node("n4", "2", "8Gi", {{"pool", "test-pool"}}));
  EXPECT_EQ(used(of, nodes), (StringMap{{"cpu", "8"}}));
  nodes.erase(nodes.begin());
  EXPECT_EQ(used(of, nodes), (StringMap{{"cpu", "6"}}));
  nodes[0].labels.clear();
  EXPECT_EQ(used(of, nodes), (StringMap{{"cpu", "2"}}));
}

TEST(CapacityQuotaController, VirtualNodesAreExcluded) {
  std::vector<UpstreamNode> nodes = status_nodes();
  nodes.push_back(node("v", "1000", "1Ti", {{"type", "virtual-kubelet"}}));
  EXPECT_EQ(used(unreported({{"cpu", "1"}, {"nodes", "1"}}), nodes),
            (StringMap{{"cpu", "14"}, {"nodes", "3"}}));
}

TEST(CapacityQuotaController, InvalidSelectorKeepsUsed) {
  UpstreamCapacityQuota of =
      upstream_capacity_quota("cq", {{"cpu", "1"}}, {{"pool", "Equals", {"a"}}});
  of.spec.generation = 7;
  of.status.used = StringMap{{"gone", "7"}};
  of.status.conditions.insert(of.status.conditions.begin(), {"Other", "True", "Why", "Because", 1});
  Result<UpstreamCapacityQuotaStatus> status = reconciled(of, status_nodes());
  ASSERT_EQ(status->conditions.size(), 3U);
  EXPECT_EQ(status->conditions[0], of.status.conditions[0]);
  EXPECT_EQ(status->conditions[1].type, "cluster-autoscaler.kubernetes.io/valid");
  EXPECT_EQ(status->conditions[1].status, "False");
  EXPECT_EQ(status->conditions[1].reason, "ValidationFailed");
  EXPECT_EQ(status->conditions[1].observed_generation, 7);
  EXPECT_EQ(status->conditions[2],
            (UpstreamCapacityQuotaCondition{"Reconciled", "False", "ReconciliationFailed",
                                            "Validation failed", 7}));
  EXPECT_EQ(status->observed_generation, 7);
  EXPECT_EQ(status->used, (StringMap{{"gone", "7"}}));
  EXPECT_FALSE(is_marked_valid(*status));
  of.status.used.reset();
  EXPECT_EQ(reconciled(of, status_nodes())->used, std::nullopt);
}

TEST(CapacityQuotaController, UsedHasTheLimitsNames) {
  UpstreamCapacityQuota of = unreported({});
  of.status.used = StringMap{{"gone", "7"}};
  EXPECT_EQ(used(of, status_nodes()), StringMap{});
}

TEST(CapacityQuotaController, SumsAreExactAndBeyondInt64) {
  const UpstreamCapacityQuota of = unreported({{"cpu", "1"}, {"memory", "1"}, {"nodes", "1"}});
  std::vector<UpstreamNode> nodes = {node("n1", "-1500m", "4Ei"), node("n2", "0.1", "4Ei"),
                                     node("n3", "1n", "4Ei")};
  nodes[0].capacity.emplace_back("nodes", "100");
  EXPECT_EQ(used(of, nodes),
            (StringMap{{"cpu", "-1399999999n"}, {"memory", "12Ei"}, {"nodes", "3"}}));
}

TEST(CapacityQuotaController, AddsWhatTheTextsBecameInTheApiServer) {
  const std::vector<UpstreamNode> nodes = {node("n1", "1", "1000E"), node("n2", "1", "1")};
  EXPECT_EQ(used(unreported({{"memory", "1"}}), nodes), (StringMap{{"memory", "2"}}));
}

TEST(CapacityQuotaController, TheTextsOfEqualAmountsStay) {
  UpstreamCapacityQuota of = unreported({{"memory", "1"}});
  of.status = *reconciled(of, {});
  EXPECT_EQ(of.status.used, (StringMap{{"memory", "0"}}));
  of.status.used = StringMap{{"memory", "1024"}};
  const std::vector<UpstreamNode> nodes = {node("n", "1", "1Ki")};
  EXPECT_EQ(used(of, nodes), (StringMap{{"memory", "1024"}}));
  of.spec.generation = 2;
  EXPECT_EQ(used(of, nodes), (StringMap{{"memory", "1Ki"}}));
}

TEST(CapacityQuotaController, WhatIsNoQuantityIsAnError) {
  const Result<UpstreamCapacityQuotaStatus> status =
      reconciled(unreported({{"cpu", "1"}}), std::vector{node("n", "4x", "1")});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "Node n: status.capacity.cpu: \"4x\" is not a quantity");
}

// --- Quantities; the expectations are those of apimachinery ---

struct ValueRow {
  const char* text;
  std::int64_t units;
};

class UpstreamValues : public testing::TestWithParam<ValueRow> {};

TEST_P(UpstreamValues, AreThoseOfTheLibrary) {
  const Result<UpstreamValue> value = upstream_value(GetParam().text);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->units, GetParam().units);
  EXPECT_EQ(value->is_zero, UpstreamQuantity::parse(GetParam().text)->is_zero());
}

INSTANTIATE_TEST_SUITE_P(
    Table, UpstreamValues,
    testing::Values(
        // As anyone would expect.
        ValueRow{"2500m", 3}, ValueRow{"0.1", 1}, ValueRow{"1n", 1}, ValueRow{"0.0000000001", 1},
        ValueRow{"-1.5", -2}, ValueRow{"1.5Gi", 1610612736}, ValueRow{"-0", 0}, ValueRow{" 7\n", 7},
        ValueRow{"9223372036854775807", kInt64Max},
        // Short decimals: 0, or what one multiplication leaves.
        ValueRow{"10E", 0}, ValueRow{"1e30", 0}, ValueRow{"999999999999999999T", 0},
        ValueRow{"999999999999999999k", 3875820019684211736},
        ValueRow{"999999999999999999M", 2003764205205896640},
        ValueRow{"999999999999999999G", -6930898828444486144},
        ValueRow{"999999999999999999e1", -8446744073709551626},
        ValueRow{"-999999999999999999e1", 8446744073709551626}, ValueRow{"1000E", 0},
        // Long ones: the low 64 bits.
        ValueRow{"9223372036854775808", kInt64Min}, ValueRow{"18446744073709551616", 0},
        ValueRow{"1234567890123456789e30", -6994426159689629696},
        ValueRow{"1234567890123456789e100", 0}, ValueRow{"-1000000000000000000000", -5076944269},
        ValueRow{"-1.0000000001", 0},
        // Binary suffixes: capped.
        ValueRow{"8Ei", kInt64Max}, ValueRow{"9Ei", kInt64Max}, ValueRow{"-8Ei", -kInt64Max},
        ValueRow{"-16.5Gi", 730003978}, ValueRow{"-10000000000Ki", -10240000000000},
        ValueRow{"-100000000000Ki", -2123646837},
        // Exponents have 32 bits.
        ValueRow{"1e4294967296", 1}, ValueRow{"1e4294967299", 1000}),
    [](const testing::TestParamInfo<ValueRow>& row) {
      std::string name = row.param.text;
      for (char& c : name) c = c == '-' ? 'n' : c;
      return "v" + std::to_string(row.index) + "_" + test_name(name.substr(0, 12));
    });

TEST(UpstreamQuantities, InvalidTexts) {
  for (const char* text : {"", " ", "4x", "1e", "1.5.0", "1KiB", "1e9999999999999999999"}) {
    ASSERT_FALSE(upstream_value(text)) << text;
    EXPECT_EQ(upstream_value(text).error().code, ErrorCode::kInvalid) << text;
    EXPECT_FALSE(UpstreamQuantity::parse(text)) << text;
  }
}

TEST(UpstreamQuantities, TooManyDigits) {
  const Result<UpstreamQuantity> quantity = UpstreamQuantity::parse("1e1000");
  ASSERT_FALSE(quantity);
  EXPECT_EQ(quantity.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(quantity.error().message, "\"1e1000\" has more than 1000 digits");
  EXPECT_TRUE(UpstreamQuantity::parse("1e999"));
  EXPECT_TRUE(UpstreamQuantity::parse("0e2000000000"));
  EXPECT_TRUE(UpstreamQuantity::parse("1e-2000000000"));
}

std::string sum(std::initializer_list<const char*> texts) {
  UpstreamQuantity total;
  for (const char* text : texts) total += *UpstreamQuantity::parse(text);
  return total.canonical();
}

TEST(UpstreamQuantities, SumsAndTheirTexts) {
  EXPECT_EQ(sum({}), "0");
  EXPECT_EQ(sum({"1023Ki", "1Ki"}), "1Mi");
  EXPECT_EQ(sum({"4Ei", "4Ei", "4Ei"}), "12Ei");
  EXPECT_EQ(sum({"8Ei", "8Ei"}), "18446744073709551614");
  EXPECT_EQ(sum({"999", "1Gi"}), "1073742823");
  EXPECT_EQ(sum({"1Gi", "500m"}), "1073741824500m");
  EXPECT_EQ(sum({"512Ki", "-511.5Ki"}), "512");
  // The format of what comes while the sum is 0.
  EXPECT_EQ(sum({"0Gi", "1e3"}), "1e3");
  EXPECT_EQ(sum({"5Mi", "-5Mi", "3k"}), "3k");
  EXPECT_EQ(sum({"1e3", "1"}), "1001");
  EXPECT_EQ(sum({"1e1"}), "10");
  EXPECT_EQ(sum({"0.0001Ki"}), "102400u");
  // Any size, any sign.
  EXPECT_EQ(sum({"-3", "5", "-9"}), "-7");
  EXPECT_EQ(sum({"1e30", "1"}), "1000000000000000000000000000001");
  EXPECT_EQ(sum({"1e30", "-1e30", "1Ki"}), "1Ki");
  EXPECT_EQ(sum({"-1", "1e30"}), "999999999999999999999999999999");
  // Without a suffix for it the exponent is lost.
  EXPECT_EQ(sum({"1000E"}), "1");
  EXPECT_EQ(sum({"-1000000000000000000000"}), "-1");
}

// Within int64 there is nothing odd: what objects/quantity.h says.
TEST(UpstreamQuantities, AgreeWithinInt64) {
  std::mt19937_64 random(test_seed());
  const std::vector<std::string> suffixes = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                             "P", "E", "Ki", "Mi", "Gi", "Ti", "e2", "e-3"};
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  int compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = std::to_string(random() >> pick(64));
    if (pick(3) == 0) text += "." + std::to_string(random() >> pick(64));
    text += suffixes[pick(suffixes.size())];
    const Result<Quantity> plain = Quantity::parse(text);
    if (!plain) continue;
    ++compared;
    EXPECT_EQ(upstream_value(text)->units, *plain->value()) << text;
    EXPECT_EQ(UpstreamQuantity::parse(text)->canonical(), plain->canonical()) << text;
  }
  EXPECT_GT(compared, 5'000);
}

}  // namespace
}  // namespace headroom::upstream_capacity_quota_test
