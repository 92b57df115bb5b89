// Several profiles over one set of facts: each connection's own decides for it, and all count the
// same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory {
namespace {

// The fullest node, or the emptiest.
Profile by(const std::string& scheduler_name, NodeResourcesFitArgs::Strategy strategy) {
  Profile profile = profile_of(PluginId::kNodeResourcesFit);
  profile.scheduler_name = scheduler_name;
  profile.fit.strategy = strategy;
  return profile;
}
Profile spreads() { return by("spreads", NodeResourcesFitArgs::Strategy::kLeastAllocated); }
// Has quotas and reads namespaces, too.
Profile packs() {
  Profile profile = by("packs", NodeResourcesFitArgs::Strategy::kMostAllocated);
  profile.capacity_scheduling = true;
  profile.filters.push_back(PluginId::kInterPodAffinity);
  return profile;
}

class TwoProfiles : public ServiceTest {
 protected:
  TwoProfiles() : ServiceTest(std::vector{spreads(), packs()}), packing(*service) {
    packing.greet("packing", "packs");
  }

  static std::string first_of(Client& peer, const Pod& pod) {
    return text_of(
        *peer.evaluated({pod}, {.top_k = 4, .scores = true, .reasons = true}).decisions()->Get(0));
  }
  static std::string expected(const Profile& profile, const std::vector<Fact>& facts,
                              const Pod& pod) {
    Engine engine = engine_with(profile, facts, kNowUs);
    const auto decision =
        engine.evaluate(pod, {.top_k = 4, .plugin_scores = true, .reasons = true});
    return decision ? text_of(engine, *decision, true) : decision.error().message;
  }

  in_memory::Client packing;
};

// Half full, and empty.
std::vector<Fact> two_nodes() { return {node_of("n1", 8), node_of("n2", 8), pod_of("b", 4, "n1")}; }

TEST_F(TwoProfiles, EachDecidesForItsScheduler) {
  const std::vector<Fact> facts = two_nodes();
  feeder.feed(facts);
  const Pod pod = pod_of("p", 1);
  EXPECT_EQ(client.best(pod), "n2");
  EXPECT_EQ(packing.best(pod), "n1");
  EXPECT_EQ(first_of(client, pod), expected(spreads(), facts, pod));
  EXPECT_EQ(first_of(packing, pod), expected(packs(), facts, pod));
  Client spreading(*service);
  spreading.greet("spreading", "spreads");
  EXPECT_EQ(first_of(spreading, pod), first_of(client, pod));
  // Many pods, and every node.
  EXPECT_EQ(
      text(packing.evaluated({pod, pod_of("q", 1)}).decisions()->Get(1)->node_names()->Get(0)),
      "n1");
  const auto nodes_of = [&](Client& peer) {
    const auto& reply = peer.take<wire::NodesEvaluated>(peer.ask(
        [&](Builder& builder) { return encode_evaluate_nodes(builder, PodRef(pod), {}); }));
    return std::vector<std::int64_t>(reply.totals()->begin(), reply.totals()->end());
  };
  EXPECT_NE(nodes_of(client), nodes_of(packing));
  const auto total_of = [&](Client& peer) {
    return peer
        .take<wire::Explained>(
            peer.ask([&](Builder& builder) { return encode_explain(builder, PodRef(pod), "n1"); }))
        .total();
  };
  EXPECT_NE(total_of(client), total_of(packing));
}

TEST_F(TwoProfiles, FactsAreTheSameForAll) {
  std::vector<Fact> facts = two_nodes();
  feeder.feed(facts);
  const auto compare = [&] {
    EXPECT_EQ(client.stats(true).digest(), engine_with(spreads(), facts, kNowUs).digest());
    EXPECT_EQ(packing.stats(true).digest(), engine_with(packs(), facts, kNowUs).digest());
  };
  compare();
  const std::vector<Fact> more = {node_of("n3", 4), pod_of("c", 2, "n3"), pod_of("w", 1)};
  feeder.facts(more);
  facts.insert(facts.end(), more.begin(), more.end());
  compare();
  EXPECT_EQ(packing.stats().nodes(), 3U);
  EXPECT_EQ(packing.stats().pods(), 3U);
  EXPECT_EQ(packing.stats().pending_pods(), 1U);
  EXPECT_EQ(packing.best("uid-w"), "n3");
  feeder.facts({removed_node("n3"), removed_pod(pod_of("c", 2)), removed_pod(pod_of("w", 1))});
  facts = two_nodes();
  compare();
  // What some refuse none has.
  Pod bad = pod_of("bad", 1, "n1");
  bad.containers[0].requests = {{"cpu", Quantity::from_value(-1)}};
  const std::uint64_t refused = feeder.facts({bad, pod_of("b", 5, "n1")});
  EXPECT_EQ(feeder.error(refused).substr(0, 8), "Invalid:");
  facts = {node_of("n1", 8), node_of("n2", 8), pod_of("b", 5, "n1")};
  compare();
}

TEST_F(TwoProfiles, CountEachOthersReservations) {
  feeder.feed(two_nodes());
  const Pod large = pod_of("large", 4);
  EXPECT_EQ(packing.reserve_text(large, "n1"), "ok");
  EXPECT_EQ(packing.best(pod_of("p", 4)), "n2");  // n1 is full
  EXPECT_EQ(client.evaluated({pod_of("p", 1)}).decisions()->Get(0)->feasible(), 1U);
  const std::string conflict = client.reserve_text(pod_of("p", 1), "n1");
  EXPECT_EQ(conflict.substr(0, 9), "Conflict:");
  EXPECT_EQ(client.reserve_text(large, "n2").substr(0, 10), "Forbidden:");
  EXPECT_TRUE(service->validate());
  packing.unreserve(large, large.uid, "n1");
  EXPECT_EQ(client.evaluated({pod_of("p", 1)}).decisions()->Get(0)->feasible(), 2U);
  // Of what Place and an Evaluate reserve, and where they end by themselves.
  EXPECT_EQ(packing.place_text({pod_of("q1", 4), pod_of("q2", 4)}), "n1 n2");
  EXPECT_EQ(client.place_text({pod_of("q3", 4), pod_of("q4", 4)}), "n2 -");
  EXPECT_EQ(packing.best(pod_of("p", 1)), "");
  EXPECT_EQ(packing.stats().reserved_pods(), 3U);
  EXPECT_TRUE(service->validate());
  steady += kReservationTime + std::chrono::seconds(1);
  EXPECT_EQ(packing.best(pod_of("p", 1)), "n1");
  EXPECT_EQ(client.best(pod_of("p", 1)), "n2");
  const Asked first{.reserve = std::pair{PodArg(large), std::string("n1")}};
  EXPECT_EQ(
      text(client.evaluated({pod_of("p", 1)}, first).decisions()->Get(0)->node_names()->Get(0)),
      "n2");
  EXPECT_EQ(packing.best(pod_of("p", 1)), "n2");
  EXPECT_TRUE(service->validate());
}

TEST_F(TwoProfiles, AResyncKeepsWhatIsReserved) {
  feeder.feed(two_nodes());
  EXPECT_EQ(packing.reserve_text(pod_of("large", 4), "n1"), "ok");
  feeder.feed(two_nodes());
  EXPECT_EQ(client.evaluated({pod_of("p", 1)}).decisions()->Get(0)->feasible(), 1U);
  EXPECT_EQ(packing.best(pod_of("p", 1)), "n2");
  EXPECT_EQ(client
                .take<wire::StatsReply>(client.ask(
                    [](Builder& builder) { return wire::CreateStats(builder, false, true); }))
                .invalid(),
            nullptr);
  // And one that the facts end: in all.
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("b", 4, "n1"), pod_of("large", 4, "n2")});
  EXPECT_EQ(packing.best(pod_of("p", 5)), "");
  EXPECT_EQ(client.best(pod_of("p", 5)), "");
  EXPECT_EQ(packing.evaluated({pod_of("p", 4)}).decisions()->Get(0)->feasible(), 2U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(TwoProfiles, HelloNamesThatOfTheConnectionFirst) {
  const auto names = [](const wire::HelloReply& reply) {
    std::string all;
    for (const auto* profile : *reply.profiles()) {
      all += text(profile->scheduler_name());
      all += fmt::format(" {} ", profile->referred_kinds()->size());
    }
    return all;
  };
  Client none(*service), first(*service), second(*service);
  EXPECT_EQ(names(none.greet()), "spreads 0 packs 1 ");
  EXPECT_EQ(names(first.greet("first", "spreads")), "spreads 0 packs 1 ");
  EXPECT_EQ(names(second.greet("second", "packs")), "packs 1 spreads 0 ");
}

TEST_F(TwoProfiles, AnotherNameIsRefused) {
  Client other(*service);
  EXPECT_EQ(other.error(other.hello("other", "sprads")),
            "NotFound: scheduler_name: \"sprads\" has no profile here; served: spreads, packs");
  EXPECT_TRUE(other.closed);
  Client long_named(*service);
  const std::string error =
      long_named.error(long_named.hello("long", std::string(kTextBytesMax + 1, 'n').c_str()));
  EXPECT_EQ(error, "LimitExceeded: scheduler_name: 1025 bytes: kTextBytesMax is 1024");
  EXPECT_TRUE(long_named.closed);
}

// Quotas are facts of all; only some profiles heed them.
TEST_F(TwoProfiles, QuotasAreThoseOfTheProfilesThatHaveThem) {
  const ElasticQuota quota = elastic_quota("team", 5, 5);
  feeder.feed({node_of("n1", 8), quota, pod_of("b", 4, "n1")});
  EXPECT_EQ(client.best(pod_of("p", 2)), "n1");
  EXPECT_EQ(packing.best(pod_of("p", 2)), "");
  EXPECT_EQ(client.error(client.post_filter(pod_of("p", 2))).substr(0, 12), "Unsupported:");
  EXPECT_FALSE(packing.post_filtered(pod_of("p", 2)).code() == wire::Code::Success);
  for (Client* const peer : {&client, &packing, &feeder}) {
    ASSERT_EQ(peer->elastic_quota_status().quotas()->size(), 1U);
  }
  EXPECT_EQ(service->state().engine.elastic_quotas, 1U);
}

TEST_F(TwoProfiles, EpochsGrowWithEach) {
  feeder.feed(two_nodes());
  const std::uint64_t before = client.evaluated({pod_of("p", 1)}).epoch();
  EXPECT_EQ(packing.evaluated({pod_of("p", 1)}).epoch(), before);
  packing.reserve(pod_of("r", 1), "n1");
  EXPECT_GT(client.evaluated({pod_of("p", 1)}).epoch(), before);
}

// --- Reload ---

TEST_F(TwoProfiles, AnotherListTakesAResync) {
  feeder.feed(two_nodes());
  Profile third = packs();
  third.scheduler_name = "third";
  ASSERT_TRUE(service->set_profiles({spreads(), third}));
  EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
  const Pod pod = pod_of("p", 1);
  EXPECT_EQ(packing.best(pod), "n1");  // still
  // What will be is known by its name, and its kinds are to be fed.
  Client later(*service);
  const auto& reply = later.greet("later", "third");
  EXPECT_EQ(text(reply.profiles()->Get(0)->scheduler_name()), "third");
  EXPECT_EQ(reply.profiles()->size(), 4U);
  EXPECT_EQ(later.error(later.evaluate({pod})),
            "Internal: not ready: the profile \"third\" waits for a feeder's resync");
  EXPECT_EQ(later.stats().nodes(), 2U);
  feeder.feed(two_nodes());
  EXPECT_EQ(later.best(pod), "n1");
  EXPECT_EQ(client.best(pod), "n2");
  EXPECT_EQ(later.greeted_again().profiles()->size(), 2U);
  EXPECT_EQ(text(client.greeted_again().profiles()->Get(0)->scheduler_name()), "spreads");
  EXPECT_FALSE(packing.is_greeted_again());  // nobody decides for it
  EXPECT_EQ(packing.error(packing.evaluate({pod})),
            "Internal: not ready: scheduler_name: \"packs\" has no profile here; served: spreads,"
            " third");
  EXPECT_FALSE(packing.closed);
  Client next(*service);
  EXPECT_EQ(next.greet("next").profiles()->size(), 2U);
  // Of one profile everybody is decided for by it.
  ASSERT_TRUE(service->set_profiles({spreads()}));
  feeder.stopped();
  feeder.feed(two_nodes());
  EXPECT_EQ(packing.best(pod), "n2");
}

TEST_F(TwoProfiles, ABadOneKeepsTheOld) {
  feeder.feed(two_nodes());
  Profile bad = packs();
  bad.scores[0].weight = kPluginWeightMax + 1;
  EXPECT_FALSE(service->set_profiles({spreads(), bad}));
  EXPECT_FALSE(feeder.has_answer());
  feeder.feed(two_nodes());
  EXPECT_EQ(packing.best(pod_of("p", 1)), "n1");
}

// A request that takes turns, and whose profile goes before its last one.
TEST_F(TwoProfiles, WhoWaitsForATurnWhenTheProfileGoesIsTold) {
  clock_step = kWorkTurnTime;
  feeder.feed(two_nodes());
  ASSERT_TRUE(service->set_profiles({spreads(), by("third", spreads().fit.strategy)}));
  feeder.stopped();
  packing.in_turns = true;
  std::vector<PodArg> pods;
  for (int p = 0; p < 200; ++p) pods.emplace_back(pod_of(fmt::format("p{}", p), 1 + p));
  const std::uint64_t id = packing.evaluate(pods);
  ASSERT_TRUE(packing.waiting());
  feeder.feed(two_nodes());
  while (packing.waiting()) packing.step();
  EXPECT_EQ(packing.error(id).substr(0, 20), "Internal: not ready:");
}

// --- One ---

class OneProfile : public ServiceTest {};

TEST_F(OneProfile, DecidesForEveryName) {
  Client other(*service);
  const auto& reply = other.greet("other", "some-scheduler");
  ASSERT_EQ(reply.profiles()->size(), 1U);
  EXPECT_EQ(text(reply.profiles()->Get(0)->scheduler_name()), "default-scheduler");
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(other.best(pod_of("p", 1)), "n1");
}

// Kinds that only the new profile reads are fed with the resync that it waits for.
TEST_F(OneProfile, HelloTellsWhatTheOneThatWaitsReads) {
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  feeder.feed({node_of("n1", 8)});
  ASSERT_TRUE(service->set_profiles({packs()}));
  Client next(*service);
  const auto& profiles = *next.greet().profiles();
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(text(profiles.Get(0)->scheduler_name()), "default-scheduler");
  EXPECT_EQ(profiles.Get(0)->referred_kinds()->size(), 0U);
  EXPECT_EQ(profiles.Get(1)->referred_kinds()->size(), 1U);
}

}  // namespace
}  // namespace headroom::in_memory
