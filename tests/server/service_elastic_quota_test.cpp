// Elastic quotas, budgets, priority classes and preemption through the service.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "server/answers/encode_elastic_quota.h"
#include "tests/support/objects.h"
#include "tests/support/read_back.h"
#include "tests/support/seed.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_elastic_quota_test {
namespace {

class ElasticQuotaFacts : public ServiceTest {};
class PreFiltering : public ServiceTest {};
class PostFiltering : public ServiceTest {};
class Nominating : public ServiceTest {};
class ElasticQuotaStatusOf : public ServiceTest {};
class ExplainingVictims : public ServiceTest {};

Profile without_capacity_scheduling() {
  Profile profile = Profile::standard();
  profile.capacity_scheduling = false;
  return profile;
}
class WithoutCapacityScheduling : public ServiceTest {
 protected:
  WithoutCapacityScheduling() : ServiceTest(without_capacity_scheduling()) {}
};

Pod pod_in(const std::string& namespace_name, const std::string& name, std::int64_t cpu,
           std::int32_t priority, const std::string& node = "") {
  Pod pod = pod_of(name, cpu, node);
  pod.namespace_name = namespace_name;
  pod.priority = priority;
  return pod;
}

PodDisruptionBudget budget_of(const std::string& namespace_name, std::int64_t allowed) {
  return disruption_budget(namespace_name, "budget", "web", allowed);
}

// Blue borrows what red may have: "high" and "low" fill the one node, each half of it.
std::vector<Fact> borrowed() {
  return {node_of("n1", 8), elastic_quota("red", 4, 8), elastic_quota("blue", 4, 8),
          pod_in("blue", "high", 4, 5, "n1"), pod_in("blue", "low", 4, 1, "n1")};
}
const char* const kTotalReason =
    "ElasticQuota red/quota: cpu: of all quotas used 8 + nominated 0 + requested 4 is more"
    " than min 8";

std::string joined(const flatbuffers::Vector<Offset<flatbuffers::String>>* texts) {
  std::string all;
  for (std::uint32_t t = 0; texts != nullptr && t < texts->size(); ++t) {
    all += (t == 0 ? "" : "; ") + texts->Get(t)->str();
  }
  return all;
}

// "Success feasible 1", and what the pre-filter says.
std::string text_of_pre_filter(const wire::Decision& decision) {
  return fmt::format("{} feasible {} {}", wire::EnumNameCode(decision.code()), decision.feasible(),
                     joined(decision.pre_filter()));
}

std::string text_of(const flatbuffers::Vector<Offset<wire::Victim>>* victims) {
  std::string all;
  for (std::uint32_t v = 0; victims != nullptr && v < victims->size(); ++v) {
    const wire::Victim& victim = *victims->Get(v);
    all += fmt::format(" {}/{} {} {} on {}", text(victim.namespace_name()), text(victim.name()),
                       text(victim.uid()), victim.priority(), text(victim.node_name()));
  }
  return all;
}

// "Success n1: blue/low uid-low 1 on n1", or the reasons.
std::string text_of(const wire::PostFiltered& answer) {
  return fmt::format("{} {}:{}{}", wire::EnumNameCode(answer.code()), text(answer.nominated_node()),
                     text_of(answer.victims()), joined(answer.reasons()));
}

// "blue/quota over cpu 4000 8000 8000 0": min, max, used, nominated.
std::string text_of(const wire::ElasticQuotaStatusReply& reply) {
  std::string all;
  for (std::uint32_t q = 0; reply.quotas() != nullptr && q < reply.quotas()->size(); ++q) {
    const wire::ElasticQuotaState& quota = *reply.quotas()->Get(q);
    all += fmt::format("{}{}/{}{}", q == 0 ? "" : ", ", text(quota.namespace_name()),
                       text(quota.name()), quota.over_min() ? " over" : "");
    for (std::uint32_t a = 0; quota.amounts() != nullptr && a < quota.amounts()->size(); ++a) {
      const wire::ElasticQuotaAmount& amount = *quota.amounts()->Get(a);
      all += fmt::format(" {} {} {} {} {}", text(amount.resource()), amount.min(), amount.max(),
                         amount.used(), amount.nominated());
    }
  }
  return all;
}

// --- Facts -------------------------------------------------------------------------------------

std::string decoded(const ElasticQuota& quota) {
  return read_back<wire::ElasticQuota>(quota, elastic_quota("other", 1, 2));
}
std::string decoded(const PodDisruptionBudget& budget) {
  PodDisruptionBudget other = budget_of("other", 7);
  other.disrupted_pods = {"some"};
  return read_back<wire::PodDisruptionBudget>(budget, other);
}
std::string decoded(const PriorityClass& sent) {
  PriorityClass other = priority_class("other", 3);
  other.global_default = true;
  other.preemption_policy = "Never";
  return read_back<wire::PriorityClass>(sent, other);
}

TEST_F(ElasticQuotaFacts, ComeBackAsTheyWere) {
  ElasticQuota quota = elastic_quota("red", 1, 2);
  EXPECT_EQ(decoded(quota), "ok");
  quota.min = ResourceList();  // empty and absent differ
  EXPECT_EQ(decoded(quota), "ok");
  quota.min.reset();
  quota.max.reset();
  EXPECT_EQ(decoded(quota), "ok");
  PodDisruptionBudget budget = budget_of("red", -1);
  EXPECT_EQ(decoded(budget), "ok");
  budget.disrupted_pods = {"a", "b"};
  budget.selector.push_back({"tier", "DoesNotExist", {}});
  EXPECT_EQ(decoded(budget), "ok");
  budget.selector.clear();
  EXPECT_EQ(decoded(budget), "ok");
  PriorityClass low = priority_class("low", -5);
  EXPECT_EQ(decoded(low), "ok");
  low.global_default = true;
  low.preemption_policy = "PreemptLowerPriority";
  EXPECT_EQ(decoded(low), "ok");
}

TEST_F(ElasticQuotaFacts, ErrorsNameTheField) {
  ElasticQuota quota = elastic_quota("", 1, 2);
  EXPECT_EQ(decoded(quota), "Invalid: elasticquota /quota: namespace: is empty");
  quota = elastic_quota("red", 1, 2);
  quota.max = {{"cpu", {}}, {"cpu", {}}};
  EXPECT_EQ(decoded(quota), "Invalid: elasticquota red/quota: max: \"cpu\" comes twice");
  quota = elastic_quota("red", 1, 2);
  quota.min->assign(kResourcesPerListMax + 1, {"r", {}});
  EXPECT_EQ(decoded(quota),
            "LimitExceeded: elasticquota red/quota: min: 65 resources: kResourcesPerListMax is 64");
  PodDisruptionBudget budget = budget_of("", 1);
  EXPECT_EQ(decoded(budget), "Invalid: poddisruptionbudget /budget: namespace: is empty");
  budget = budget_of("red", 1);
  budget.disrupted_pods = {"b", "a", "b"};
  EXPECT_EQ(decoded(budget),
            "Invalid: poddisruptionbudget red/budget: disruptedPods: \"b\" comes twice");
  budget.disrupted_pods = {"a", std::string(kTextBytesMax + 1, 'p')};
  EXPECT_EQ(decoded(budget),
            "LimitExceeded: poddisruptionbudget red/budget: disruptedPods[1]: 1025 bytes:"
            " kTextBytesMax is 1024");
  budget.disrupted_pods.resize(kItemsPerListMax + 1);
  EXPECT_EQ(decoded(budget),
            "LimitExceeded: poddisruptionbudget red/budget: disruptedPods: 4097 items:"
            " kItemsPerListMax is 4096");
  budget = budget_of("red", 1);
  budget.selector[0].values.push_back(std::string(kTextBytesMax + 1, 'v'));
  EXPECT_EQ(decoded(budget),
            "LimitExceeded: poddisruptionbudget red/budget: selector[0].values[1]: 1025 bytes:"
            " kTextBytesMax is 1024");
  PriorityClass low = priority_class("low", 1);
  low.preemption_policy = std::string(kTextBytesMax + 1, 'n');
  EXPECT_EQ(decoded(low),
            "LimitExceeded: priorityclass low: preemptionPolicy: 1025 bytes: kTextBytesMax is"
            " 1024");
  Pod pod = pod_of("p", 1);
  pod.nominated_node_name = std::string(kTextBytesMax + 1, 'n');
  EXPECT_EQ(read_back<wire::Pod>(pod, Pod()),
            "LimitExceeded: pod team/p: nominatedNodeName: 1025 bytes: kTextBytesMax is 1024");
}

TEST_F(ElasticQuotaFacts, ARefusedOneStopsNoOther) {
  feeder.feed({node_of("n1", 8)});
  ElasticQuota nameless = elastic_quota("red", 1, 2), negative = elastic_quota("blue", -1, 2);
  nameless.name.clear();
  PodDisruptionBudget budget = budget_of("red", 1);
  budget.name.clear();
  const std::uint64_t id = feeder.facts({nameless, negative, budget, priority_class("", 1),
                                         elastic_quota("red", 1, 2), priority_class("high", 9)});
  EXPECT_EQ(feeder.error(id), "Invalid: ElasticQuota: metadata.name is empty (change 0)");
  const std::string error = feeder.error(id);
  EXPECT_EQ(error.rfind("Invalid: ElasticQuota blue/quota: spec.min", 0), 0U) << error;
  EXPECT_EQ(feeder.error(id), "Invalid: PodDisruptionBudget: metadata.name is empty (change 2)");
  EXPECT_EQ(feeder.error(id), "Invalid: PriorityClass: metadata.name is empty (change 3)");
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 1000 2000 0 0");
}

TEST_F(ElasticQuotaFacts, TheirNumberHasALimit) {
  if (kThreadSanitizer) GTEST_SKIP() << kManyOfOneThread;
  std::vector<Fact> classes, quotas;
  for (std::uint32_t c = 0; c < kPriorityClassesMax; ++c) {
    classes.emplace_back(priority_class(fmt::format("class-{}", c), static_cast<std::int32_t>(c)));
  }
  feeder.feed(classes);
  std::uint64_t id = feeder.facts({priority_class("class-0", 7), priority_class("one-more", 1)});
  EXPECT_EQ(feeder.error(id),
            "LimitExceeded: PriorityClass one-more: kPriorityClassesMax (10000) are known"
            " (change 1)");
  EXPECT_FALSE(feeder.has_answer());
  // In one namespace, of which the first by name counts.
  ElasticQuota quota = elastic_quota("red", 1, 2);
  for (std::uint32_t q = 0; q < kElasticQuotasMax; ++q) {
    quota.name = fmt::format("quota-{:06}", q);
    quotas.emplace_back(quota);
  }
  feeder.feed(quotas);
  quota.name = "quota-one-more";
  id = feeder.facts({quota});
  EXPECT_EQ(feeder.error(id),
            "LimitExceeded: ElasticQuota red/quota-one-more: kElasticQuotasMax (100000) quotas are"
            " known (change 0)");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota-000000 cpu 1000 2000 0 0");
}

TEST_F(ElasticQuotaFacts, NeedNoOrder) {
  Pod ranked = pod_in("red", "ranked", 1, 0, "n1"), waiting = pod_in("red", "waiting", 2, 3);
  ranked.priority.reset();
  ranked.priority_class_name = "high";
  ranked.labels = {{"app", "web"}};
  ranked.start_us = 5;
  ranked.deleting = true;
  waiting.nominated_node_name = "n1";
  waiting.preemption_policy = "Never";
  ElasticQuota second = elastic_quota("red", 9, 9);
  second.name = "second";
  std::vector<Fact> facts = borrowed();
  facts.insert(facts.end(),
               {ranked, waiting, second, priority_class("high", 9), budget_of("red", 1)});
  const std::uint64_t digest = engine_with(Profile::standard(), facts, kNowUs).digest();
  const std::string status =
      "blue/quota over cpu 4000 8000 8000 0, red/quota cpu 4000 8000 1000 2000";
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 20; ++round) {
    std::shuffle(facts.begin(), facts.end(), random);
    feeder.feed(facts, kNowUs);
    EXPECT_EQ(client.stats(true).digest(), digest);
    EXPECT_EQ(text_of(client.elastic_quota_status()), status);
  }
}

TEST_F(ElasticQuotaFacts, RemovedOnesAreGone) {
  Pod low = pod_in("blue", "low", 4, 0, "n1");
  low.priority.reset();
  low.priority_class_name = "low";
  low.labels = {{"app", "web"}};
  std::vector<Fact> facts = borrowed();
  facts.back() = low;
  facts.insert(facts.end(), {budget_of("blue", 0), priority_class("low", 1)});
  feeder.feed(facts);
  const Pod red = pod_in("red", "r", 4, 0);
  const wire::PostFiltered& before = client.post_filtered(red);
  EXPECT_EQ(text_of(before), "Success n1: blue/high uid-high 5 on n1");  // breaks no budget
  EXPECT_EQ(before.pdb_violations(), 0);
  feeder.facts({removed_budget(budget_of("blue", 0))});
  EXPECT_EQ(text_of(client.post_filtered(red)), "Success n1: blue/low uid-low 1 on n1");
  feeder.facts({removed_class("low")});
  EXPECT_EQ(text_of(client.post_filtered(red)), "Success n1: blue/low uid-low 0 on n1");
  feeder.facts({removed_elastic_quota(elastic_quota("red", 0, 0)),
                removed_elastic_quota(elastic_quota("nobody", 0, 0)), removed_class("nobody"),
                removed_budget(budget_of("nobody", 0))});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(text_of(client.elastic_quota_status()), "blue/quota over cpu 4000 8000 8000 0");
  EXPECT_EQ(text_of_pre_filter(*client.evaluated({red}).decisions()->Get(0)),
            "Unschedulable feasible 0 ");
}

TEST_F(ElasticQuotaFacts, AResyncCarriesThem) {
  const Pod red = pod_in("red", "r", 4, 0);
  const std::vector<Fact> facts = borrowed();
  feeder.feed(facts);
  const std::uint64_t digest = client.stats(true).digest();
  feeder.begin();
  feeder.facts({node_of("n1", 8), elastic_quota("blue", 1, 2)});
  EXPECT_EQ(text_of(client.elastic_quota_status()),
            "blue/quota over cpu 4000 8000 8000 0, red/quota cpu 4000 8000 0 0");
  EXPECT_EQ(text_of_pre_filter(*client.evaluated({red}).decisions()->Get(0)),
            fmt::format("Unschedulable feasible 0 {}", kTotalReason));
  feeder.end();
  EXPECT_EQ(text_of(client.elastic_quota_status()), "blue/quota cpu 1000 2000 0 0");
  EXPECT_EQ(client.best(red), "n1");
  feeder.feed({});
  EXPECT_EQ(text_of(client.elastic_quota_status()), "");
  feeder.feed(facts);
  EXPECT_EQ(client.stats(true).digest(), digest);
}

TEST_F(ElasticQuotaFacts, AResyncForgetsBudgetsAndClasses) {
  std::vector<Fact> facts = borrowed();
  for (Fact& fact : facts) {
    if (auto* pod = std::get_if<Pod>(&fact); pod != nullptr && pod->name == "low") {
      pod->priority.reset();
      pod->priority_class_name = "low";
      pod->labels = {{"app", "web"}};
    }
  }
  const Pod red = pod_in("red", "r", 4, 0);
  std::vector<Fact> all = facts;
  all.insert(all.end(), {budget_of("blue", 0), priority_class("low", 1)});
  feeder.feed(all);
  EXPECT_EQ(text_of(client.post_filtered(red)), "Success n1: blue/high uid-high 5 on n1");
  feeder.feed(facts);
  EXPECT_EQ(text_of(client.post_filtered(red)), "Success n1: blue/low uid-low 0 on n1");
}

// --- Pre-filter --------------------------------------------------------------------------------

TEST_F(PreFiltering, RejectsWithoutLookingAtNodes) {
  const Pod red = pod_in("red", "r", 4, 0);
  std::vector<Fact> facts = borrowed();
  facts.emplace_back(red);
  facts.emplace_back(node_of("n2", 8));
  feeder.feed(facts);
  const std::uint64_t cold_passes = client.stats().cold_passes();
  const std::string rejected = fmt::format("Unschedulable feasible 0 {}", kTotalReason);
  for (const bool reasons : {false, true}) {
    const wire::Decision& decision =
        *client.evaluated({red.uid}, {.scores = true, .reasons = reasons}).decisions()->Get(0);
    EXPECT_EQ(text_of_pre_filter(decision), rejected);
    EXPECT_EQ(decision.nodes(), 2U);
    EXPECT_EQ(decision.reasons(), nullptr);
    EXPECT_EQ(decision.node_names(), nullptr);
  }
  EXPECT_EQ(client.stats().cold_passes(), cold_passes);
  // A pod of no quota: the answer before leaves nothing in it.
  EXPECT_EQ(text_of_pre_filter(*client.evaluated({pod_of("free", 1)}).decisions()->Get(0)),
            "Success feasible 1 ");
  // Of several, each on its own.
  const wire::Evaluated& evaluated =
      client.evaluated({red, pod_of("free", 1), pod_in("red", "much", 9, 0)}, {.reasons = true});
  EXPECT_EQ(text_of_pre_filter(*evaluated.decisions()->Get(0)), rejected);
  EXPECT_EQ(text_of_pre_filter(*evaluated.decisions()->Get(1)), "Success feasible 1 ");
  EXPECT_EQ(text_of_pre_filter(*evaluated.decisions()->Get(2)),
            "Unschedulable feasible 0"
            " ElasticQuota red/quota: cpu: used 0 + nominated 0 + requested 9 is more than max"
            " 8; ElasticQuota red/quota: cpu: of all quotas used 8 + nominated 0 + requested"
            " 9 is more than min 8");
}

// Two front-ends ask for what only one of them can have.
TEST_F(PreFiltering, AReservationLooksAgain) {
  feeder.feed({node_of("n1", 8), elastic_quota("red", 4, 4)});
  const Pod one = pod_in("red", "one", 3, 0), two = pod_in("red", "two", 3, 0);
  Client other(*service);
  other.greet();
  EXPECT_EQ(client.best(one), "n1");
  EXPECT_EQ(other.best(two), "n1");
  EXPECT_EQ(client.reserve_text(one, "n1"), "ok");
  EXPECT_EQ(other.reserve_text(two, "n1"),
            "Conflict: node n1: ElasticQuota red/quota: cpu: used 3 + nominated 0 + requested"
            " 3 is more than max 4, ElasticQuota red/quota: cpu: of all quotas used 3 +"
            " nominated 0 + requested 3 is more than min 4");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 4000 3000 0");
  EXPECT_EQ(client.reserve_text(one, "n1"), "ok");  // it is not counted twice
  client.unreserve(one, one.uid, "n1");
  EXPECT_EQ(other.reserve_text(two, "n1"), "ok");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 4000 3000 0");
  // A resync repeats the reservation.
  feeder.feed({node_of("n1", 8), elastic_quota("red", 4, 4)});
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 4000 3000 0");
}

TEST_F(PreFiltering, ReserveAndEvaluateInOneSeeTheQuota) {
  feeder.feed({node_of("n1", 8), elastic_quota("red", 4, 4)});
  const Pod one = pod_in("red", "one", 3, 0), two = pod_in("red", "two", 3, 0);
  const wire::Evaluated& evaluated = client.evaluated({two}, {.reserve = std::pair{one, "n1"}});
  EXPECT_EQ(Client::reserved_text(*evaluated.reserved()), "ok");
  EXPECT_EQ(evaluated.decisions()->Get(0)->code(), wire::Code::Unschedulable);
  EXPECT_EQ(evaluated.decisions()->Get(0)->pre_filter()->size(), 2U);
}

TEST_F(PreFiltering, PlaceGoesOnWithTheNextPod) {
  feeder.feed({node_of("n1", 8), elastic_quota("red", 4, 4)});
  const std::vector<PodArg> pods = {pod_in("red", "one", 3, 0), pod_in("red", "two", 3, 0),
                                    pod_in("red", "three", 1, 0)};
  const wire::Placed& placed = client.take<wire::Placed>(client.place(pods));
  EXPECT_EQ(joined(placed.node_names()), "n1; ; n1");
  ASSERT_EQ(placed.failures()->size(), 1U);
  EXPECT_EQ(placed.failures()->Get(0)->pre_filter()->size(), 2U);
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 4000 4000 0");
}

// --- Post-filter -------------------------------------------------------------------------------

TEST_F(PostFiltering, NamesTheVictims) {
  const Pod red = pod_in("red", "r", 4, 0);
  std::vector<Fact> facts = borrowed();
  facts.emplace_back(red);
  feeder.feed(facts);
  const std::string expected = "Success n1: blue/low uid-low 1 on n1";
  const wire::PostFiltered& answer = client.post_filtered(red.uid);
  EXPECT_EQ(text_of(answer), expected);
  EXPECT_EQ(answer.pdb_violations(), 0);
  EXPECT_FALSE(answer.cross_node());
  EXPECT_FALSE(answer.cross_node_would_help());
  EXPECT_EQ(answer.candidates(), nullptr);
  EXPECT_EQ(answer.candidates_left_out(), 0U);
  EXPECT_EQ(answer.nodes_dry_run() + answer.nodes_ruled_out(), 1U);
  const std::uint64_t epoch = answer.epoch();
  EXPECT_EQ(epoch, client.evaluated({red.uid}).epoch());
  EXPECT_EQ(text_of(client.post_filtered(red)), expected);
  // Nothing has changed.
  EXPECT_EQ(text_of(client.post_filtered(red)), expected);
  EXPECT_EQ(client.stats().pods(), 3U);
}

TEST_F(PostFiltering, TellsOfEveryCandidate) {
  std::vector<Fact> facts = borrowed();
  facts.emplace_back(node_of("n2", 2));
  facts.emplace_back(pod_of("free", 2, "n2"));
  feeder.feed(facts);
  const wire::PostFiltered& answer = client.post_filtered(pod_in("red", "r", 4, 0), true);
  EXPECT_EQ(text_of(answer), "Success n1: blue/low uid-low 1 on n1");
  ASSERT_EQ(answer.candidates()->size(), 2U);
  const wire::NodeVictims& first = *answer.candidates()->Get(0);
  EXPECT_EQ(text(first.node_name()), "n1");
  EXPECT_EQ(first.code(), wire::Code::Success);
  EXPECT_EQ(first.reasons(), nullptr);
  EXPECT_EQ(text_of(first.victims()), " blue/low uid-low 1 on n1");
  EXPECT_EQ(first.pdb_violations(), 0);
  const wire::NodeVictims& second = *answer.candidates()->Get(1);
  EXPECT_EQ(text(second.node_name()), "n2");
  EXPECT_NE(second.code(), wire::Code::Success);
  EXPECT_NE(joined(second.reasons()), "");
  EXPECT_EQ(second.victims(), nullptr);
}

TEST_F(PostFiltering, CountsBrokenBudgets) {
  std::vector<Fact> facts = {node_of("n1", 4), elastic_quota("red", 4, 4),
                             elastic_quota("blue", 0, 4)};
  Pod victim = pod_in("blue", "only", 4, 5, "n1");
  victim.labels = {{"app", "web"}};
  facts.emplace_back(victim);
  facts.emplace_back(budget_of("blue", 0));
  feeder.feed(facts);
  const Pod red = pod_in("red", "r", 4, 0);
  EXPECT_EQ(text_of(client.post_filtered(red)), "Success n1: blue/only uid-only 5 on n1");
  EXPECT_EQ(client.post_filtered(red).pdb_violations(), 1);
  feeder.facts({budget_of("blue", 1)});
  EXPECT_EQ(client.post_filtered(red).pdb_violations(), 0);
}

TEST_F(PostFiltering, SaysWhyNot) {
  feeder.feed(borrowed());
  Pod never = pod_in("red", "r", 4, 0);
  never.preemption_policy = "Never";
  EXPECT_EQ(text_of(client.post_filtered(never)),
            "Unschedulable :not eligible due to preemptionPolicy=Never.");
  EXPECT_TRUE(client.post_filtered(never).stays_nominated());
  // Blue is over its min, so only its own pods of lower priority would be victims.
  const wire::PostFiltered& lowest = client.post_filtered(pod_in("blue", "b", 4, -1));
  EXPECT_EQ(lowest.code(), wire::Code::Unschedulable);
  EXPECT_EQ(text(lowest.nominated_node()), "");
  EXPECT_EQ(lowest.victims(), nullptr);
  EXPECT_FALSE(lowest.stays_nominated());
  EXPECT_NE(joined(lowest.reasons()), "");
  EXPECT_EQ(client.error(client.post_filter("nobody")),
            "NotFound: pod: uid nobody was not fed as pending");
  EXPECT_EQ(client.error(client.post_filter("")), "Invalid: pod: neither uid nor pod is given");
}

TEST_F(WithoutCapacityScheduling, ThereIsNoPreemption) {
  feeder.feed(borrowed());  // the facts are accepted
  EXPECT_EQ(client.error(client.post_filter(pod_in("red", "r", 4, 0))),
            "Unsupported: post_filter: the profile does not enable CapacityScheduling");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "");
  EXPECT_EQ(text_of_pre_filter(*client.evaluated({pod_in("red", "r", 4, 0)}).decisions()->Get(0)),
            "Unschedulable feasible 0 ");
}

TEST_F(PostFiltering, IsCountedInTheMetrics) {
  feeder.feed(borrowed());
  client.post_filtered(pod_in("red", "r", 4, 0));
  client.elastic_quota_status();
  client.elastic_quota_status();
  client.error(client.explain_victims(pod_in("red", "r", 4, 0), "nowhere"));
  const std::string text = metrics.text();
  for (const char* sample :
       {"post_filter\"} 1\n", "elastic_quota_status\"} 2\n", "explain_victims\"} 1\n"}) {
    EXPECT_NE(
        text.find(fmt::format("headroomd_request_duration_seconds_count{{request=\"{}", sample)),
        std::string::npos)
        << sample;
  }
}

// --- Nominated pods ----------------------------------------------------------------------------

// The flow of schema/README.md.
TEST_F(Nominating, FromTheRejectionToTheBinding) {
  Pod red = pod_in("red", "r", 4, 0);
  std::vector<Fact> facts = borrowed();
  facts.emplace_back(red);
  feeder.feed(facts);
  EXPECT_EQ(client.best(red.uid), "");
  EXPECT_EQ(text_of(client.post_filtered(red.uid)), "Success n1: blue/low uid-low 1 on n1");
  // The front-end nominates the pod and deletes the victim, which terminates for a while.
  red.nominated_node_name = "n1";
  Pod low = pod_in("blue", "low", 4, 1, "n1");
  low.deleting = true;
  feeder.facts({red, low});
  EXPECT_EQ(text_of(client.elastic_quota_status()),
            "blue/quota over cpu 4000 8000 8000 0, red/quota cpu 4000 8000 0 4000");
  EXPECT_EQ(client.best(red.uid), "");
  EXPECT_EQ(text_of(client.post_filtered(red.uid)),
            "Unschedulable :not eligible due to a terminating pod on the nominated node.");
  EXPECT_TRUE(client.post_filtered(red.uid).stays_nominated());
  feeder.facts({removed_pod(low)});
  // The room is kept for it: for others of no higher priority there is none, in quota or on the
  // node.
  EXPECT_EQ(client.best(pod_of("free", 4)), "");
  const wire::Evaluated& late = client.evaluated({pod_in("red", "late", 4, 0)});
  EXPECT_EQ(text_of_pre_filter(*late.decisions()->Get(0)),
            "Unschedulable feasible 0 ElasticQuota red/quota: cpu: of all quotas used 4 +"
            " nominated 4 + requested 4 is more than min 8");
  EXPECT_EQ(client.best(red.uid), "n1");
  EXPECT_EQ(client.reserve_text(red.uid, "n1"), "ok");
  EXPECT_EQ(text_of(client.elastic_quota_status()),
            "blue/quota cpu 4000 8000 4000 0, red/quota cpu 4000 8000 4000 0");
  red.node_name = "n1";
  feeder.facts({red});
  EXPECT_EQ(text_of(client.elastic_quota_status()),
            "blue/quota cpu 4000 8000 4000 0, red/quota cpu 4000 8000 4000 0");
  EXPECT_EQ(client.stats().pending_pods(), 0U);
}

TEST_F(Nominating, EndsWithTheNominationAndWithThePod) {
  Pod red = pod_in("red", "r", 4, 0);
  const Pod plain = red;
  red.nominated_node_name = "n1";
  const std::string nominated = "red/quota cpu 4000 8000 0 4000";
  const std::string not_nominated = "red/quota cpu 4000 8000 0 0";
  feeder.feed({elastic_quota("red", 4, 8), red});
  EXPECT_EQ(text_of(client.elastic_quota_status()), not_nominated);  // its node is not there yet
  feeder.facts({node_of("n1", 8)});
  EXPECT_EQ(text_of(client.elastic_quota_status()), nominated);
  feeder.facts({plain});
  EXPECT_EQ(text_of(client.elastic_quota_status()), not_nominated);
  feeder.facts({red});
  EXPECT_EQ(text_of(client.elastic_quota_status()), nominated);
  EXPECT_EQ(client.best(pod_in("red", "other", 6, 0)), "");
  Pod done = red;
  done.phase = "Failed";
  feeder.facts({done});
  EXPECT_EQ(text_of(client.elastic_quota_status()), not_nominated);
  feeder.facts({red, removed_pod(red)});
  EXPECT_EQ(text_of(client.elastic_quota_status()), not_nominated);
  Pod another = plain;
  another.uid = "uid-another";
  feeder.facts({red, another});
  EXPECT_EQ(text_of(client.elastic_quota_status()), not_nominated);
  EXPECT_EQ(client.stats().pending_pods(), 1U);
}

TEST_F(Nominating, IsCarriedByAResync) {
  Pod red = pod_in("red", "r", 4, 0);
  red.nominated_node_name = "n1";
  const std::vector<Fact> facts = {node_of("n1", 8), elastic_quota("red", 4, 8), red};
  feeder.feed(facts);
  EXPECT_EQ(client.reserve_text(red.uid, "n1"), "ok");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 8000 4000 0");
  feeder.feed(facts);  // pending still, and reserved
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 8000 4000 0");
  client.unreserve(red, red.uid, "n1");
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 8000 0 4000");
  feeder.feed(facts);
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 8000 0 4000");
  feeder.feed({node_of("n1", 8), elastic_quota("red", 4, 8)});
  EXPECT_EQ(text_of(client.elastic_quota_status()), "red/quota cpu 4000 8000 0 0");
}

// --- Quota status ------------------------------------------------------------------------------

TEST_F(ElasticQuotaStatusOf, SaysWhatQuotasNameAndHave) {
  ElasticQuota open = elastic_quota("open", 0, 0);
  open.min = {{"memory", *Quantity::parse("1Gi")}};
  open.max.reset();
  feeder.feed(
      {node_of("n1", 8), open, pod_in("open", "p", 2, 0, "n1"), pod_in("none", "p", 1, 0, "n1")});
  const wire::ElasticQuotaStatusReply& reply = client.elastic_quota_status();
  EXPECT_EQ(text_of(reply),
            "open/quota cpu 0 9223372036854775807 2000 0"
            " memory 1073741824 9223372036854775807 0 0");
  EXPECT_FALSE(reply.more());
  const std::uint64_t epoch = reply.epoch();
  EXPECT_EQ(epoch, client.evaluated({pod_of("p", 1)}).epoch());
}

TEST_F(ElasticQuotaStatusOf, ManyComeInPages) {
  const std::uint32_t count = kQuotasPerReplyMax + 100;
  std::vector<Fact> facts;
  for (std::uint32_t q = 0; q < count; ++q) {
    facts.emplace_back(elastic_quota(fmt::format("team-{:05}", count - q), 1, 2));
  }
  feeder.feed(facts);
  std::string after;
  std::vector<std::string> seen;
  for (const std::uint32_t size : {kQuotasPerReplyMax, 100U, 0U}) {
    const wire::ElasticQuotaStatusReply& page = client.elastic_quota_status(after);
    ASSERT_EQ(page.quotas() == nullptr ? 0 : page.quotas()->size(), size);
    EXPECT_EQ(page.more(), size == kQuotasPerReplyMax);
    for (std::uint32_t q = 0; q < size; ++q) {
      seen.push_back(page.quotas()->Get(q)->namespace_name()->str());
    }
    after = seen.back();
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

// Names and resources as long as they may be, and a page that is full.
TEST_F(ElasticQuotaStatusOf, TheLargestPageFitsAFrame) {
  std::vector<ElasticQuotaStatus> quotas(kQuotasPerReplyMax);
  for (std::size_t q = 0; q < quotas.size(); ++q) {
    quotas[q].namespace_name = quotas[q].name = std::string(kTextBytesMax, 'n');
    quotas[q].over_min = true;
    for (std::uint32_t r = 0; r < kResourcesMax; ++r) {
      quotas[q].amounts.push_back({fmt::format("{:01024}", r), 1, 2, 3, 4});
    }
  }
  Builder builder;
  finish_frame(builder, 1, encode(builder, std::span<const ElasticQuotaStatus>(quotas), 1));
  EXPECT_LE(builder.GetSize(), kFrameBytesMax);
}

// --- Explaining victims ------------------------------------------------------------------------

TEST_F(ExplainingVictims, NeedsAPodAndANode) {
  feeder.feed(borrowed());
  EXPECT_EQ(client.error(client.explain_victims(pod_in("red", "r", 4, 0), "n9")),
            "NotFound: node n9 is not known");
  EXPECT_EQ(client.error(client.explain_victims("nobody", "n1")),
            "NotFound: pod: uid nobody was not fed as pending");
  const wire::ExplainedVictims& explained =
      client.take<wire::ExplainedVictims>(client.explain_victims(pod_in("red", "r", 4, 0), "n1"));
  EXPECT_EQ(explained.left_out(), 0U);
  const std::uint64_t epoch = explained.epoch();
  EXPECT_EQ(epoch, client.evaluated({pod_of("p", 1)}).epoch());
}

// --- Lists have limits ---------------------------------------------------------------------------

TEST(PreemptionAnswers, CarryAllFields) {
  const Engine engine = engine_with(Profile::standard(), {node_of("n1", 8), node_of("n2", 8)}, 0);
  PostFilter answer;
  answer.code = Code::kSuccess;
  answer.nominated_node = engine.find_node("n2");
  answer.victims = {{"a", "p", "u", -3, engine.find_node("n1")}};
  answer.pdb_violations = 2;
  answer.reasons = {"one", "two"};
  answer.cross_node = answer.cross_node_would_help = true;
  answer.victims_at_least = 7;
  answer.nodes_dry_run = 5;
  answer.nodes_ruled_out = 6;
  answer.stays_nominated = true;
  Builder builder;
  const auto& reply = written<wire::PostFiltered>(
      builder, [&] { return encode(builder, answer, engine, std::uint64_t{11}); });
  EXPECT_EQ(text_of(reply), "Success n2: a/p u -3 on n1one; two");
  EXPECT_EQ(reply.pdb_violations(), 2);
  EXPECT_TRUE(reply.cross_node());
  EXPECT_TRUE(reply.cross_node_would_help());
  EXPECT_EQ(reply.victims_at_least(), 7U);
  EXPECT_EQ(reply.nodes_dry_run(), 5U);
  EXPECT_EQ(reply.nodes_ruled_out(), 6U);
  EXPECT_TRUE(reply.stays_nominated());
  EXPECT_EQ(reply.epoch(), 11U);
  const std::vector<PodVerdict> verdicts = {{answer.victims[0], true, "because"}, {{}, false, ""}};
  const auto& explained = written<wire::ExplainedVictims>(
      builder, [&] { return encode(builder, verdicts, engine, std::uint64_t{12}); });
  ASSERT_EQ(explained.pods()->size(), 2U);
  EXPECT_EQ(text(explained.pods()->Get(0)->pod()->node_name()), "n1");
  EXPECT_EQ(text(explained.pods()->Get(0)->why()), "because");
  EXPECT_TRUE(explained.pods()->Get(0)->victim());
  EXPECT_FALSE(explained.pods()->Get(1)->victim());
  EXPECT_EQ(explained.left_out(), 0U);
  EXPECT_EQ(explained.epoch(), 12U);
}

TEST(PreemptionAnswers, LeaveOutWhatIsAboveTheirLimits) {
  const Engine engine = engine_with(Profile::standard(), {node_of("n1", 8)}, 0);
  Builder builder;
  const auto reply = [&](const PostFilter& answer) -> const wire::PostFiltered& {
    return written<wire::PostFiltered>(
        builder, [&] { return encode(builder, answer, engine, std::uint64_t{1}); });
  };
  PostFilter answer;
  answer.reasons.assign(kReasonsPerListMax + 1, "no");
  answer.candidates.resize(kCandidateNodesPerReplyMax);
  EXPECT_EQ(reply(answer).reasons()->size(), kReasonsPerListMax);
  EXPECT_EQ(reply(answer).candidates()->size(), kCandidateNodesPerReplyMax);
  EXPECT_EQ(reply(answer).candidates_left_out(), 0U);
  answer.candidates.resize(kCandidateNodesPerReplyMax + 3);
  answer.candidates[0].reasons = answer.reasons;
  EXPECT_EQ(reply(answer).candidates()->size(), kCandidateNodesPerReplyMax);
  EXPECT_EQ(reply(answer).candidates_left_out(), 3U);
  EXPECT_EQ(reply(answer).candidates()->Get(0)->reasons()->size(), kReasonsPerListMax);
  // A quarter of the victims each: the fifth node is one too many.
  answer.candidates.assign(6, {});
  for (NodeVictims& node : answer.candidates) node.victims.resize(kVictimsPerReplyMax / 4);
  EXPECT_EQ(reply(answer).candidates()->size(), 4U);
  EXPECT_EQ(reply(answer).candidates_left_out(), 2U);
  answer.candidates[0].victims.resize(kVictimsPerReplyMax + 1);
  EXPECT_EQ(reply(answer).candidates(), nullptr);
  EXPECT_EQ(reply(answer).candidates_left_out(), 6U);
  const std::vector<PodVerdict> verdicts(kVictimsPerReplyMax + 2);
  const auto& explained = written<wire::ExplainedVictims>(
      builder, [&] { return encode(builder, verdicts, engine, std::uint64_t{1}); });
  EXPECT_EQ(explained.pods()->size(), kVictimsPerReplyMax);
  EXPECT_EQ(explained.left_out(), 2U);
}

}  // namespace
}  // namespace headroom::in_memory::service_elastic_quota_test
