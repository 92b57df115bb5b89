// Preemption beyond the recorded cases: the bound against no bound on larger clusters, place() with
// preemption against its parts, explanations, limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/engine_facts.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/random.h"

namespace headroom::preemption_test {
namespace {

Profile capacity_profile(Mode mode = Mode::kProposal) {
  Profile profile;
  profile.mode = mode;
  profile.filters = {PluginId::kNodeUnschedulable, PluginId::kTaintToleration,
                     PluginId::kNodeAffinity, PluginId::kNodeResourcesFit, PluginId::kLimitAware};
  profile.scores = {{PluginId::kNodeResourcesFit}};
  profile.capacity_scheduling = true;
  return profile;
}

Engine make_engine(Mode mode = Mode::kProposal, EngineOptions options = {.threads = 1}) {
  return std::move(*Engine::create(capacity_profile(mode), options));
}

Pod pod(const std::string& space, const std::string& name, std::int64_t milli_cpu,
        std::int32_t priority, const std::string& node_name = "") {
  return pod_of(space, name, millicores(milli_cpu),
                {.node_name = node_name, .priority = priority, .uid = pod_key(space, name)});
}

std::string text_of(const Engine& engine, const PostFilter& answer) {
  std::string text = std::string(to_string(answer.code)) + " " +
                     std::string(engine.node_name(answer.nominated_node)) + " " +
                     std::to_string(answer.pdb_violations) + (answer.cross_node ? " across" : "") +
                     (answer.cross_node_would_help ? " would help across" : "");
  for (const Victim& victim : answer.victims) {
    text += " " + victim.namespace_name + "/" + victim.name;
  }
  return text;
}

// A full cluster of several quotas, some of which borrow.
Engine random_engine(std::uint64_t seed, Mode mode, std::uint32_t nodes, std::int32_t threads) {
  Engine engine = make_engine(mode, {.threads = threads});
  Random random({seed});
  const std::vector<std::int32_t> priorities = {0, 1, 5, 5, 100};
  const std::uint32_t spaces = 2 + random.below(12);
  std::optional bulk = engine.bulk();
  std::uint32_t count = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    EXPECT_TRUE(engine.upsert(node_of(name, cores_and_memory(8))));
    for (std::int64_t left = 8000; left > 500;) {
      const std::int64_t size = std::min<std::int64_t>(left, 250 * (1 + random.below(8)));
      left -= size;
      Pod made = pod("s" + std::to_string(random.below(spaces)), "p" + std::to_string(count++),
                     size, priorities[random.below(5)], name);
      made.labels = {{"app", random.below(2) == 0 ? "x" : "y"}};
      if (random.below(4) != 0) made.start_us = random.below(20) * 1'000'000;
      EXPECT_TRUE(engine.upsert(made));
    }
  }
  for (std::uint32_t s = 0; s + 1 < spaces; ++s) {  // the last one has no quota
    EXPECT_TRUE(
        engine.upsert(elastic_quota("s" + std::to_string(s), random.below(2 * nodes * 8 / spaces),
                                    random.below(3 * nodes * 8 / spaces) + 1)));
    if (random.below(3) == 0) {
      EXPECT_TRUE(engine.upsert(
          disruption_budget("s" + std::to_string(s), "budget", "x", random.below(3))));
    }
  }
  bulk.reset();
  return engine;
}

TEST(Preemption, TheBoundChangesNoAnswer) {
  const std::uint64_t seed = test_seed();
  std::uint32_t ruled_out = 0, successes = 0;
  for (std::uint64_t round = 0; round < 12; ++round) {
    const Mode mode = round % 2 == 0 ? Mode::kProposal : Mode::kUpstream;
    Engine engine = random_engine(seed + round, mode, 300, 1 + static_cast<int>(round % 3));
    Random random({seed, round});
    for (int i = 0; i < 25; ++i) {
      const Pod asks = pod("s" + std::to_string(random.below(14)), "new" + std::to_string(i),
                           250 * (1 + random.below(20)), std::int32_t(random.below(8)) - 1);
      const Result<PostFilter> with = engine.post_filter(asks);
      const Result<PostFilter> without = engine.post_filter(asks, {.bound = false});
      const Result<PostFilter> all = engine.post_filter(asks, {.candidates = true});
      ASSERT_TRUE(with && without && all);
      const std::string said = text_of(engine, *with);
      ASSERT_EQ(said, text_of(engine, *without)) << "HEADROOM_SEED=" << seed + round;
      ASSERT_EQ(said, text_of(engine, *all)) << "HEADROOM_SEED=" << seed + round;
      EXPECT_EQ(without->nodes_ruled_out, 0u);
      ruled_out += with->nodes_ruled_out;
      successes += with->code == Code::kSuccess;
      // The columns of the bound follow what changes.
      if (with->code == Code::kSuccess && !with->victims.empty()) {
        for (const Victim& victim : with->victims) {
          engine.remove_pod(victim.namespace_name, victim.name);
        }
        const Result<Decision> decision = engine.evaluate(asks);
        ASSERT_TRUE(decision);
        ASSERT_EQ(decision->code, Code::kSuccess) << "preemption made no room";
        ASSERT_TRUE(engine.assume(asks, engine.node_name(with->nominated_node)));
      }
    }
    ASSERT_TRUE(engine.validate());
  }
  EXPECT_GT(ruled_out, 0u);
  EXPECT_GT(successes, 0u);
}

TEST(Preemption, PlaceIsItsParts) {
  Engine whole = random_engine(7, Mode::kProposal, 40, 1);
  Engine parts = random_engine(7, Mode::kProposal, 40, 2);
  std::vector<Pod> pods;
  for (int i = 0; i < 60; ++i) {
    pods.push_back(
        pod("s" + std::to_string(i % 5), "new" + std::to_string(i), 500 + 250 * (i % 6), i % 7));
  }
  const Result<std::vector<Placement>> placed = whole.place(pods, {}, true);
  ASSERT_TRUE(placed);
  int nominated = 0;
  std::vector<NodeIndex> nodes(pods.size(), kNoNode);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    const Placement& placement = (*placed)[p];
    const Result<Decision> decision = parts.evaluate(pods[p]);
    ASSERT_TRUE(decision);
    if (decision->code == Code::kSuccess) {
      ASSERT_EQ(placement.node, decision->candidates.front().node);
      ASSERT_TRUE(parts.assume(pods[p], parts.node_name(placement.node)));
      continue;
    }
    ASSERT_EQ(placement.node, kNoNode);
    const Result<PostFilter> found = parts.post_filter(pods[p]);
    ASSERT_TRUE(found);
    ASSERT_EQ(placement.victims.size(), found->victims.size());
    if (found->code != Code::kSuccess) continue;
    ++nominated;
    nodes[p] = found->nominated_node;
    for (std::size_t before = 0; before < p; ++before) {
      if (nodes[before] == nodes[p] && *pods[before].priority < *pods[p].priority) {
        nodes[before] = kNoNode;
        ASSERT_TRUE(parts.upsert(pods[before]));
      }
    }
    Pod waits = pods[p];
    waits.nominated_node_name = parts.node_name(found->nominated_node);
    ASSERT_TRUE(parts.upsert(waits));
  }
  EXPECT_GT(nominated, 3);
  for (std::size_t p = 0; p < pods.size(); ++p) EXPECT_EQ((*placed)[p].nominated_node, nodes[p]);
  ASSERT_TRUE(whole.validate());
  // The victims go; then the most important of the pods that wait has its place for certain.
  const Placement* first = nullptr;
  const Pod* most_important = nullptr;
  for (std::size_t p = 0; p < pods.size(); ++p) {
    const Placement& placement = (*placed)[p];
    if (placement.nominated_node != kNoNode &&
        (first == nullptr || *pods[p].priority > *most_important->priority)) {
      first = &placement;
      most_important = &pods[p];
    }
    for (const Victim& victim : placement.victims) {
      whole.remove_pod(victim.namespace_name, victim.name);
    }
  }
  const std::string place(whole.node_name(first->nominated_node));
  const Result<NodeDetail> room = whole.filter(*most_important, place);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->code, Code::kSuccess) << most_important->name;
}

// kube-scheduler's prepareCandidate: who waited there for less important reasons waits no more.
TEST(Preemption, PlaceTakesLesserNominationsAway) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  ASSERT_TRUE(engine.upsert(pod("a", "old", 2000, 0, "n1")));
  const std::vector<Pod> pods = {pod("a", "low", 2000, 1), pod("a", "high", 2000, 2)};
  const Result<std::vector<Placement>> placed = engine.place(pods, {}, true);
  ASSERT_TRUE(placed);
  EXPECT_EQ((*placed)[0].victims.size(), 1u);
  EXPECT_EQ((*placed)[0].nominated_node, kNoNode);
  EXPECT_EQ(engine.node_name((*placed)[1].nominated_node), "n1");
  engine.remove_pod("a", "old");
  EXPECT_EQ(engine.evaluate(pods[0])->code, Code::kUnschedulable) << "high waits there";
  EXPECT_EQ(engine.evaluate(pods[1])->code, Code::kSuccess);
  ASSERT_TRUE(engine.validate());
}

// What place() keeps as terminating is it for spread constraints, too.
TEST(Preemption, PlacesVictimsAreCountedAsTerminating) {
  Engine engine = *Engine::create(Profile::kube_scheduler());
  const auto labelled = [](Pod pod) {
    pod.labels = {{"app", "a"}};
    return pod;
  };
  for (const char* name : {"n1", "n2"}) {
    Node made = node_of(name, cores_and_memory(name == std::string("n1") ? 2 : 16));
    made.labels = {{"topology.kubernetes.io/zone", name}};
    ASSERT_TRUE(engine.upsert(made));
  }
  ASSERT_TRUE(engine.upsert(labelled(pod("a", "old", 2000, 0, "n1"))));
  ASSERT_TRUE(engine.upsert(labelled(pod("a", "other", 100, 0, "n2"))));
  Pod high = pod("a", "high", 2000, 2);
  high.node_selector = {{"topology.kubernetes.io/zone", "n1"}};
  Pod spread = labelled(pod("a", "spread", 100, 0));
  TopologySpreadConstraint& constraint = spread.topology_spread.emplace_back();
  constraint.topology_key = "topology.kubernetes.io/zone";
  constraint.max_skew = 1;
  constraint.hard = true;
  constraint.selector = LabelSelector{{"app", "In", {"a"}}};
  EXPECT_EQ(engine.node_name(engine.evaluate(spread)->candidates.front().node), "n2");
  const std::vector<Pod> pods = {high, spread};
  const Result<std::vector<Placement>> placed = engine.place(pods, {}, true);
  ASSERT_TRUE(placed);
  EXPECT_EQ((*placed)[0].victims.size(), 1u);
  EXPECT_EQ((*placed)[1].node, kNoNode) << "one more than n1 has, which counts nobody";
  ASSERT_TRUE(engine.validate());
}

// kube-scheduler's evaluateNominatedNode: who was promised a node goes there, though another is
// better by now.
TEST(Preemption, PlaceTriesAPodsNominatedNodeFirst) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  ASSERT_TRUE(engine.upsert(pod("a", "old", 2000, 0, "n1")));
  const std::vector<Pod> pods = {pod("a", "high", 2000, 2)};
  const Result<std::vector<Placement>> waits = engine.place(pods, {}, true);
  ASSERT_TRUE(waits);
  ASSERT_EQ(engine.node_name(waits->front().nominated_node), "n1");
  engine.remove_pod("a", "old");
  ASSERT_TRUE(engine.upsert(node_of("n2", cores_and_memory(16))));
  EXPECT_EQ(engine.node_name(engine.evaluate(pods[0])->candidates.front().node), "n2");
  engine.fork();
  const Result<std::vector<Placement>> placed = engine.place(pods);
  ASSERT_TRUE(placed);
  const Placement& first = placed->front();
  EXPECT_EQ(engine.node_name(first.node), "n1");
  EXPECT_EQ(first.decision.nodes, 2u);
  EXPECT_EQ(first.decision.feasible, 1u);
  ASSERT_EQ(first.decision.candidates.size(), 1u);
  EXPECT_EQ(first.decision.candidates.front().total, 0);
  EXPECT_TRUE(first.decision.reasons.empty());
  ASSERT_TRUE(engine.validate());
  engine.rollback();
  // What the pod says itself comes before what is known of it; one by one, too.
  Pod other = pods[0];
  other.nominated_node_name = "n2";
  Placement placement;
  ASSERT_TRUE(engine.place(other, {}, placement));
  EXPECT_EQ(engine.node_name(placement.node), "n2");
  EXPECT_EQ(placement.decision.feasible, 1u);
}

TEST(Preemption, PlaceLooksAtAllNodesWhereTheNominatedOneDoesNotTakeThePod) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  ASSERT_TRUE(engine.upsert(node_of("n2", cores_and_memory(4))));
  ASSERT_TRUE(engine.upsert(pod("a", "old", 1000, 0, "n1")));
  for (const char* nominated : {"n1", "gone"}) {
    Pod waits = pod("a", std::string("waits-") + nominated, 2000, 2);
    waits.nominated_node_name = nominated;
    Placement placement;
    ASSERT_TRUE(engine.place(waits, {}, placement));
    EXPECT_EQ(engine.node_name(placement.node), "n2") << nominated;
    EXPECT_GT(placement.decision.candidates.front().total, 0);
  }
  // No plugin is asked of a pod that its quota rejects.
  ASSERT_TRUE(engine.upsert(elastic_quota("b", 1, 1)));
  Pod over = pod("b", "over", 2000, 2);
  over.nominated_node_name = "n2";
  Placement placement;
  ASSERT_TRUE(engine.place(over, {}, placement));
  EXPECT_EQ(placement.node, kNoNode);
  EXPECT_FALSE(placement.decision.pre_filter.empty());
}

TEST(Preemption, PlaceNeedsThePlugin) {
  Profile profile = capacity_profile();
  profile.capacity_scheduling = false;
  Engine engine = std::move(*Engine::create(profile));
  EXPECT_EQ(engine.place({}, {}, true).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(engine.post_filter(pod("a", "x", 1, 0)).error().code, ErrorCode::kUnsupported);
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(1))));
  EXPECT_EQ(engine.explain_victims(pod("a", "x", 1, 0), "n1").error().code,
            ErrorCode::kUnsupported);
  EXPECT_TRUE(engine.upsert(elastic_quota("a", 1, 2))) << "a fact that nobody asks for";
  EXPECT_TRUE(engine.elastic_quota_status().empty());
}

// kube-scheduler's own preemption may stand instead of the plugin's.
TEST(Preemption, NominatedPodsTakeRoomWithoutThePlugin) {
  Profile profile = capacity_profile();
  profile.capacity_scheduling = false;
  Engine engine = std::move(*Engine::create(profile));
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  ASSERT_TRUE(engine.upsert(priority_class("high", 5)));
  Pod waits = pod("a", "waits", 2000, 5);
  waits.nominated_node_name = "n1";
  ASSERT_TRUE(engine.upsert(waits));
  Pod of_class = pod("a", "of-class", 1000, 0);
  of_class.priority.reset();
  of_class.priority_class_name = "high";
  EXPECT_EQ(engine.evaluate(pod("a", "lower", 1000, 4))->code, Code::kUnschedulable);
  EXPECT_EQ(engine.evaluate(of_class)->code, Code::kUnschedulable);
  EXPECT_EQ(engine.evaluate(pod("a", "higher", 1000, 6))->code, Code::kSuccess);
  EXPECT_EQ(engine.evaluate(waits)->code, Code::kSuccess) << "for itself";
  ASSERT_TRUE(engine.validate());
  engine.remove_priority_class("high");
  EXPECT_EQ(engine.evaluate(of_class)->code, Code::kUnschedulable) << "its priority is 0 then";
  engine.remove_pod("a", "waits");
  EXPECT_EQ(engine.evaluate(of_class)->code, Code::kSuccess);
  ASSERT_TRUE(engine.validate());
}

TEST(Preemption, PlacesNoPodTwice) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(8))));
  const std::uint64_t before = engine.digest();
  const std::vector<Pod> pods = {pod("a", "x", 1, 0), pod("b", "x", 1, 0), pod("a", "x", 1, 0)};
  const Result<std::vector<Placement>> placed = engine.place(pods);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(placed.error().message, "place: pods[0] and pods[2] are one: a/x");
  EXPECT_EQ(engine.digest(), before);
  EXPECT_TRUE(engine.place(std::span(pods).first(2)));
}

TEST(Preemption, ExplainsEveryPod) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(8))));
  ASSERT_TRUE(engine.upsert(elastic_quota("a", 4, 8)));
  ASSERT_TRUE(engine.upsert(elastic_quota("b", 4, 8)));
  ASSERT_TRUE(engine.upsert(pod("a", "large", 4000, 5, "n1")));
  ASSERT_TRUE(engine.upsert(pod("a", "small", 1000, 0, "n1")));
  ASSERT_TRUE(engine.upsert(pod("a", "tiny", 1000, 1, "n1")));
  ASSERT_TRUE(engine.upsert(pod("b", "own", 1000, 0, "n1")));
  ASSERT_TRUE(engine.upsert(pod("c", "free", 500, 0, "n1")));
  const Pod asks = pod("b", "asks", 2000, 0);
  const Result<PostFilter> answer = engine.post_filter(asks);
  ASSERT_TRUE(answer);
  EXPECT_EQ(text_of(engine, *answer), "Success n1 0 a/tiny a/small");
  const Result<std::vector<PodVerdict>> verdicts = engine.explain_victims(asks, "n1");
  ASSERT_TRUE(verdicts);
  std::vector<std::string> lines;
  for (const PodVerdict& verdict : *verdicts) {
    lines.push_back(verdict.pod.name + (verdict.victim ? " goes: " : " stays: ") + verdict.why);
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "large stays: namespace a is back within its min without it",
                       "tiny goes: has to go: with it Insufficient cpu",
                       "small goes: has to go: with it Insufficient cpu",
                       "own stays: of the preemptor's own quota, which takes back from others",
                       "free stays: its namespace has no quota"}));
}

TEST(Preemption, ExplainsTheQuotas) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(8))));
  ASSERT_TRUE(engine.upsert(elastic_quota("a", 2, 4)));
  ASSERT_TRUE(engine.upsert(elastic_quota("b", 4, 8)));
  ASSERT_TRUE(engine.upsert(pod("a", "p1", 3000, 0, "n1")));
  const Pod asks = pod("a", "asks", 2000, 0);
  const Result<PreFilterStatus> status = engine.pre_filter(asks);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, Code::kUnschedulable);
  EXPECT_EQ(status->reasons,
            (std::vector<std::string>{"ElasticQuota a/quota: cpu: used 3 + nominated 0 + "
                                      "requested 2 is more than max 4"}));
  const Result<Decision> decision = engine.evaluate(asks);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->message(), "0/1 nodes are available: " + status->reasons[0] + ".");
  const Result<Explanation> explanation = engine.explain(asks, "n1");
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->code, Code::kUnschedulable);
  std::vector<std::string> notes;
  for (const ExplainTerm& term : explanation->terms) {
    if (term.extension_point == "PreFilter") notes.push_back(term.note);
  }
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "ElasticQuota a/quota: used 3, nominated 0, min 2",
                       "with the pod ElasticQuota a/quota borrows 3 beyond its min 2; min "
                       "not used: b/quota 4"}));
}

// A class that changes changes its pods' place in the order.
TEST(Preemption, PrioritiesOfClasses) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  Pod low = pod("a", "low", 1000, 0, "n1"), high = pod("a", "high", 1000, 0, "n1");
  low.priority = high.priority = std::nullopt;
  low.priority_class_name = "low";
  high.priority_class_name = "high";
  ASSERT_TRUE(engine.upsert(low));
  ASSERT_TRUE(engine.upsert(high));
  ASSERT_TRUE(engine.upsert(priority_class("high", 10)));
  const Pod asks = pod("a", "asks", 1000, 20);
  EXPECT_EQ(text_of(engine, *engine.post_filter(asks)), "Success n1 0 a/low");
  ASSERT_TRUE(engine.upsert(priority_class("low", 15)));
  EXPECT_EQ(text_of(engine, *engine.post_filter(asks)), "Success n1 0 a/high");
  engine.remove_priority_class("low");
  EXPECT_EQ(text_of(engine, *engine.post_filter(asks)), "Success n1 0 a/low");
  ASSERT_TRUE(engine.validate());
  Pod meek = asks;
  meek.preemption_policy = "Never";
  EXPECT_EQ(engine.post_filter(meek)->reasons.front(),
            "not eligible due to preemptionPolicy=Never.");
}

TEST(Preemption, FactsWithoutANameAreRefused) {
  Engine engine = make_engine();
  EXPECT_EQ(engine.upsert(ElasticQuota{}).error().message, "ElasticQuota: metadata.name is empty");
  EXPECT_EQ(engine.upsert(PodDisruptionBudget{}).error().message,
            "PodDisruptionBudget: metadata.name is empty");
  EXPECT_EQ(engine.upsert(PriorityClass{}).error().message,
            "PriorityClass: metadata.name is empty");
  PodDisruptionBudget odd;
  odd.namespace_name = "a";
  odd.name = "odd";
  odd.selector = {{"app", "NotIn", {}}};
  EXPECT_EQ(
      engine.upsert(odd).error().message,
      "PodDisruptionBudget a/odd: spec.selector: key \"app\", operator \"NotIn\" and 0 values "
      "are no requirement");
  odd.selector.clear();
  odd.disruptions_allowed = std::int64_t{1} << 31;
  EXPECT_EQ(engine.upsert(odd).error().message,
            "PodDisruptionBudget a/odd: status.disruptionsAllowed: 2147483648 is beyond int32");
  Pod late = pod("a", "late", 100, 0);
  late.start_us = INT64_MIN;
  EXPECT_EQ(engine.upsert(late).error().message,
            "Pod a/late: status.startTime: -9223372036854775808 us is beyond kTimeMaxUs "
            "(1152921504606846976)");
  EXPECT_EQ(engine.assume(late, "n").error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(engine.advance(INT64_MAX).error().message,
            "advance: 9223372036854775807 us is beyond kTimeMaxUs (1152921504606846976)");
  engine.correct_clock(-1);
  EXPECT_EQ(engine.now_us(), 0);
  ElasticQuota bad = elastic_quota("a", 1, 2);
  bad.max = ResourceList{{"cpu", *Quantity::parse("-1")}};
  EXPECT_EQ(engine.upsert(bad).error().message,
            "ElasticQuota a/quota: spec.max.cpu: -1 is below 0");
}

// A label may have any byte in it.
TEST(Preemption, LabelsThatJoinToTheSameAreOthers) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(2))));
  Pod joined = pod("a", "joined", 1000, 0, "n1"), apart = pod("a", "apart", 1000, 0, "n1");
  joined.labels = {{"a", std::string("b\0c\0d", 5)}};
  apart.labels = {{"a", "b"}, {"c", "d"}};
  ASSERT_TRUE(engine.upsert(joined));
  ASSERT_TRUE(engine.upsert(apart));
  PodDisruptionBudget budget;
  budget.namespace_name = "a";
  budget.name = "of-c";
  budget.selector = {{"c", "In", {"d"}}};
  ASSERT_TRUE(engine.upsert(budget));
  const Result<PostFilter> answer = engine.post_filter(pod("a", "high", 1000, 9), {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(text_of(engine, *answer), "Success n1 0 a/joined");
  ASSERT_TRUE(engine.validate());
}

// Groups of pods and budgets come and go; who counts where is what it would be if they came anew.
TEST(Preemption, BudgetsFollowTheirNamespace) {
  Random random({test_seed()});
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(node_of("n1", cores_and_memory(1'000))));
  const auto draw = [&](const char* what, std::uint32_t count) {
    return what + std::to_string(random.below(count));
  };
  std::map<std::string, Pod> pods;
  std::map<std::string, PodDisruptionBudget> budgets;
  for (int step = 0; step < 2'000; ++step) {
    const std::string space = draw("space-", 3);
    if (random.permille(700)) {
      Pod its = pod(space, draw("pod-", 20), 10, 0, "n1");
      its.labels = {{"app", draw("app-", 6)}};
      if (random.permille(300)) {
        engine.remove_pod(its.namespace_name, its.name);
        pods.erase(pod_key(its));
      } else {
        ASSERT_TRUE(engine.upsert(its));
        pods[pod_key(its)] = its;
      }
      continue;
    }
    PodDisruptionBudget budget;
    budget.namespace_name = space;
    budget.name = draw("budget-", 5);
    budget.selector = {{"app", "In", {draw("app-", 6)}}};
    if (random.permille(300)) {
      engine.remove_pod_disruption_budget(budget.namespace_name, budget.name);
      budgets.erase(pod_key(budget.namespace_name, budget.name));
    } else {
      ASSERT_TRUE(engine.upsert(budget));
      budgets[pod_key(budget.namespace_name, budget.name)] = budget;
    }
    if (step % 100 != 0) continue;
    ASSERT_TRUE(engine.validate());
    Engine anew = make_engine();
    ASSERT_TRUE(anew.upsert(node_of("n1", cores_and_memory(1'000))));
    for (const auto& [key, its] : pods) ASSERT_TRUE(anew.upsert(its));
    for (const auto& [key, its] : budgets) ASSERT_TRUE(anew.upsert(its));
    ASSERT_EQ(engine.digest(), anew.digest()) << step;
    const Pod high = pod(space, "high", 1'000'000, 9);
    ASSERT_EQ(text_of(engine, engine.post_filter(high, {}).value()),
              text_of(anew, anew.post_filter(high, {}).value()))
        << step;
  }
}

}  // namespace
}  // namespace headroom::preemption_test
