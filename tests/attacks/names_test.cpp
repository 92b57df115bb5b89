// Attack "names": namespaces, names of priority classes and taints that come and go by the hundred
// thousand. What nobody has any more leaves nothing behind.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "engine/cluster/cluster.h"
#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::names_test {
namespace {

constexpr std::size_t kMi = std::size_t{1} << 20;

int rounds() { return std::getenv("HEADROOM_LONG") != nullptr ? 400'000 : 20'000; }

Profile profile_of() {
  Profile profile = Profile::standard();
  profile.mode = Mode::kProposal;
  profile.capacity_scheduling = true;
  return profile;
}

Pod pod_of(const std::string& namespace_name, const std::string& node_name = "") {
  return headroom::pod_of(namespace_name, "pod", millicores(100), {.node_name = node_name});
}

std::string tenant(int i) { return "tenant-with-a-long-name-" + std::to_string(i); }

void check(Cluster& cluster) {
  const Result<void> valid = cluster.validate();
  ASSERT_TRUE(valid) << valid.error().message;
}

void expect_no_more_than(std::size_t bytes) {
#ifdef HEADROOM_SANITIZED
  (void)bytes;
#else
  EXPECT_LE(mallinfo2().uordblks, bytes);
#endif
}

// In one tenant's namespace, for a class of its own.
void come(Cluster& cluster, int i) {
  Pod pod = pod_of(tenant(i), i % 3 == 0 ? "" : "n1");
  pod.priority_class_name = "class-with-a-long-name-" + std::to_string(i);
  pod.labels = {{"tenant", tenant(i)}};
  ASSERT_TRUE(cluster.upsert(pod));
  if (i % 4 == 0) {
    ElasticQuota quota;
    quota.namespace_name = tenant(i);
    quota.name = "quota";
    quota.min = quota.max = ResourceList{{"cpu", Quantity::from_value(i % 100)}};
    ASSERT_TRUE(cluster.upsert(quota));
  }
  if (i % 5 == 0) {
    PodDisruptionBudget budget;
    budget.namespace_name = tenant(i);
    budget.name = "budget";
    budget.selector = {{"tenant", "Exists", {}}};
    ASSERT_TRUE(cluster.upsert(budget));
    ASSERT_TRUE(cluster.upsert(budget));
  }
}

// In another order for each.
void go(Cluster& cluster, int i) {
  if (i % 2 == 0) cluster.remove_pod(tenant(i) + "/pod");
  cluster.remove_elastic_quota(tenant(i), "quota");
  cluster.remove_pod_disruption_budget(tenant(i) + "/budget");
  if (i % 2 != 0) cluster.remove_pod(tenant(i) + "/pod");
}

TEST(NamesAttack, NamespacesAndClassesGoWithWhoNamesThem) {
  constexpr int kThere = 50;
  Cluster cluster(profile_of());
  ASSERT_TRUE(cluster.upsert(node_of("n1", cores(64))));
  const std::uint64_t digest = cluster.digest();
  std::size_t bytes = 0;
  for (int i = 0; i < rounds(); ++i) {
    come(cluster, i);
    if (i >= kThere) go(cluster, i - kThere);
    if (i % 1'000 == 999) {
      // What is taken back, and what is kept, holds names for as long.
      cluster.fork();
      for (int other = 0; other < kThere; ++other) {
        go(cluster, i - other);
        come(cluster, rounds() + other);
      }
      check(cluster);
      i % 2'000 == 999 ? cluster.rollback() : cluster.commit();
      check(cluster);
      for (int other = 0; other < kThere; ++other) go(cluster, rounds() + other);
    }
    if (i == rounds() / 4) bytes = mallinfo2().uordblks;
  }
  EXPECT_LE(cluster.capacity_scheduling()->elastic_quotas().namespace_count(), 3 * kThere);
  EXPECT_LE(cluster.priorities().name_count(), 3 * kThere);
  expect_no_more_than(bytes + kMi / 4);
  check(cluster);
  for (int i = 0; i < kThere; ++i) go(cluster, rounds() - 1 - i);
  EXPECT_EQ(cluster.digest(), digest);
  EXPECT_EQ(cluster.capacity_scheduling()->elastic_quotas().find(tenant(0)), kNoNamespace);
  check(cluster);
}

// What is removed without ever having been there leaves nothing either.
TEST(NamesAttack, RemovingWhatIsNotThereNamesNothing) {
  Cluster cluster(profile_of());
  for (int i = 0; i < 1'000; ++i) go(cluster, i);
  EXPECT_EQ(cluster.capacity_scheduling()->elastic_quotas().namespace_count(), 0u);
  check(cluster);
}

TEST(NamesAttack, TaintsGoWithTheirClasses) {
  Cluster cluster(profile_of());
  const Pod pod = pod_of("team");
  std::size_t bytes = 0;
  std::uint32_t most = 0;
  for (int i = 0; i < rounds(); ++i) {
    Node node = node_of("n" + std::to_string(i % 4), cores(64));
    node.taints = {{"taint-with-a-long-name", "value-" + std::to_string(i), "NoSchedule"}};
    ASSERT_TRUE(cluster.upsert(node));
    const Result<PodShape*> shape = cluster.shapes().for_decision(pod);
    ASSERT_TRUE(shape);
    cluster.prepare(**shape);
    ASSERT_LE(cluster.rejections().count(), 1'100u);
    most = std::max(most, cluster.rejections().count());
    if (i == 8'000) bytes = mallinfo2().uordblks;
  }
  EXPECT_GT(most, 100u);
  // Texts of reasons stay for a while (kUnusedReasonsMax).
  expect_no_more_than(bytes + std::min(rounds(), 65'536) * std::size_t{300});
  check(cluster);
}

// ... and an answer's texts stay, and what a node says is its own taint.
TEST(NamesAttack, AnswersOutliveTheTaintsTheyName) {
  Engine engine = *Engine::create(profile_of(), {.threads = 1});
  const Pod pod = pod_of("team");
  const auto taint = [&](int i) {
    Node node = node_of("n1", cores(64));
    node.taints = {{"key", "value-" + std::to_string(i), "NoSchedule"}};
    ASSERT_TRUE(engine.upsert(node));
  };
  taint(0);
  const Decision first = engine.evaluate(pod).value();
  for (int i = 1; i < 5'000; ++i) {
    taint(i);
    const Decision decision = engine.evaluate(pod).value();
    ASSERT_EQ(decision.reasons.size(), 1u);
    ASSERT_EQ(decision.reasons[0].reason,
              "node(s) had untolerated taint {key: value-" + std::to_string(i) + "}");
  }
  EXPECT_EQ(first.reasons[0].reason, "node(s) had untolerated taint {key: value-0}");
  ASSERT_TRUE(engine.validate());
}

// Claims that are not there yet: a text for each pod that is asked for, without any event.
TEST(NamesAttack, ClaimsThatPodsWaitForHaveNumbersForEver) {
  Engine engine = *Engine::create(Profile::kube_scheduler(), {.threads = 1});
  ASSERT_TRUE(engine.upsert(node_of("n1", cores(64))));
  Pod pod = pod_of("team");
  Volume& volume = pod.volumes.emplace_back();
  volume.name = "v";
  volume.claim = "";
  for (std::uint32_t i = 0; i < kMadeRejectionsMax + 1'000; ++i) {
    pod.name = pod.uid = "pod-" + std::to_string(i);
    pod.volumes[0].claim = pod.name + "-data";
    const Result<NodeDetail> detail = engine.filter(pod, "n1");
    ASSERT_TRUE(detail);
    ASSERT_EQ(detail->code, Code::kUnschedulableAndUnresolvable);
    ASSERT_EQ(detail->reasons.size(), 1u);
    ASSERT_NE(detail->reasons[0].find(*pod.volumes[0].claim), std::string::npos)
        << pod.name << ": " << detail->reasons[0];
  }
  ASSERT_TRUE(engine.validate());
}

}  // namespace
}  // namespace headroom::names_test
