// Hellos, facts, resyncs, another profile.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_feeding_test {
namespace {

class Hello : public ServiceTest {
 protected:
  std::uint64_t hello(Client& peer, std::uint16_t least, std::uint16_t most,
                      const std::string& name) {
    return peer.ask([&](Builder& builder) {
      return wire::CreateHelloDirect(builder, least, most, name.c_str());
    });
  }
};
class Feeding : public ServiceTest {};
class Resync : public ServiceTest {};
class ChangingProfile : public ServiceTest {};

// --- Hello -------------------------------------------------------------------------------------

TEST_F(Hello, IsAnsweredWithAllThatAClientHasToKnow) {
  Client peer(*service);
  const auto& reply = peer.take<wire::HelloReply>(hello(peer, 0, 9, "who"));
  EXPECT_EQ(reply.version(), 1);
  EXPECT_EQ(reply.server()->str().rfind("headroomd ", 0), 0U) << reply.server()->str();
  EXPECT_EQ(reply.incarnation(), kIncarnation);
  std::map<std::string, std::uint64_t> limits;
  for (const wire::Limit* limit : *reply.limits()) limits[limit->name()->str()] = limit->value();
  EXPECT_EQ(limits.size(), reply.limits()->size()) << "a name comes twice";
  for (const NamedLimit& limit : kNamedLimits) {
    ASSERT_TRUE(limits.contains(limit.name)) << limit.name;
    EXPECT_EQ(limits[limit.name], limit.value) << limit.name;
  }
  // The engine's, which requests run into as well.
  EXPECT_EQ(limits["kTopKMax"], kTopKMax);
  EXPECT_EQ(limits["kNodesMax"], kNodesMax);
  EXPECT_EQ(limits["kPodsMax"], kPodsMax);
  EXPECT_EQ(limits["kElasticQuotasMax"], kElasticQuotasMax);
  EXPECT_EQ(limits["kPodDisruptionBudgetsMax"], kPodDisruptionBudgetsMax);
  EXPECT_EQ(limits["kPriorityClassesMax"], kPriorityClassesMax);
  ASSERT_EQ(reply.plugin_names()->size(), static_cast<std::uint32_t>(kPluginCount));
  for (int p = 0; p < kPluginCount; ++p) {
    EXPECT_EQ(text(reply.plugin_names()->Get(static_cast<std::uint32_t>(p))),
              to_string(static_cast<PluginId>(p)));
  }
  ASSERT_EQ(reply.profiles()->size(), 1U);
  const wire::Profile& profile = *reply.profiles()->Get(0);
  EXPECT_EQ(text(profile.scheduler_name()), "default-scheduler");
  EXPECT_EQ(text(profile.mode()), "Proposal");
  std::string plugins;
  for (const wire::Plugin* plugin : *profile.plugins()) {
    plugins += fmt::format("{} {}, ", text(plugin->name()), plugin->weight());
  }
  EXPECT_EQ(
      plugins,
      "CapacityScheduling 0, NodeUnschedulable 0, NodeName 0, TaintToleration 15, NodeAffinity 10,"
      " NodePorts 0, NodeResourcesFit 5, VolumeRestrictions 0, NodeVolumeLimits 0, VolumeBinding 5,"
      " VolumeZone 0, PodTopologySpread 10, InterPodAffinity 10, NodeDeclaredFeatures 0,"
      " LimitAware 1, LoadAwareScheduling 1, NodeResourcesBalancedAllocation 5, ImageLocality 5, ");
  // All that a profile may leave out but another's scheduler name and resource claims.
  ASSERT_NE(profile.considered(), nullptr);
  EXPECT_EQ(profile.considered()->size(), kNotConsideredCount - 2);
  EXPECT_EQ(profile.considered()->Get(0), wire::NotConsidered::SchedulingGates);
  EXPECT_EQ(peer.name, "who");
  EXPECT_FALSE(peer.closed);
}

TEST_F(Hello, OfAnotherVersionIsRefused) {
  for (const auto& [least, most] : {std::pair{2, 3}, {0, 0}, {65535, 65535}}) {
    Client peer(*service);
    const std::uint64_t id =
        hello(peer, static_cast<std::uint16_t>(least), static_cast<std::uint16_t>(most), "x");
    EXPECT_EQ(peer.error(id),
              fmt::format("Unsupported: version: the client speaks {} to {}, this server 1", least,
                          most));
    EXPECT_TRUE(peer.closed);
    EXPECT_FALSE(peer.greeted);
  }
}

TEST_F(Hello, NameHasALimit) {
  for (const std::size_t below : {kClientNameBytesMax - 1, kClientNameBytesMax}) {
    Client peer(*service);
    peer.take<wire::HelloReply>(hello(peer, 1, 1, std::string(below, 'n')));
    EXPECT_FALSE(peer.closed);
  }
  Client peer(*service);
  EXPECT_EQ(peer.error(hello(peer, 1, 1, std::string(kClientNameBytesMax + 1, 'n'))),
            "LimitExceeded: client_name: 257 bytes: kClientNameBytesMax is 256");
  EXPECT_TRUE(peer.closed);
}

TEST_F(Hello, ComesBeforeEverythingElse) {
  const std::vector<std::pair<const char*, std::function<void(Client&)>>> requests = {
      {"FeedBegin", [](Client& peer) { peer.begin(); }},
      {"Facts", [](Client& peer) { peer.facts({node_of("n", 1)}); }},
      {"FeedEnd", [](Client& peer) { peer.end(); }},
      {"Evaluate", [](Client& peer) { peer.evaluate({pod_of("p", 1)}); }},
      {"Place", [](Client& peer) { peer.place({pod_of("p", 1)}); }},
      {"Stats",
       [](Client& peer) { peer.ask([](Builder& builder) { return wire::CreateStats(builder); }); }},
  };
  for (const auto& [name, request] : requests) {
    Client peer(*service);
    request(peer);
    EXPECT_EQ(peer.error(0), fmt::format("Invalid: body: {} before the Hello", name));
    EXPECT_TRUE(peer.closed);
    EXPECT_FALSE(peer.has_answer());
  }
  EXPECT_FALSE(client.stats().resyncing());
}

TEST_F(Hello, IsSaidOnce) {
  EXPECT_EQ(client.error(hello(client, 1, 1, "again")),
            "Invalid: Hello: a connection says it once");
  EXPECT_TRUE(client.closed);
}

TEST_F(Hello, ConnectionsAreCounted) {
  EXPECT_EQ(client.stats().connections(), 2U);
  {
    Client third(*service);
    EXPECT_EQ(client.stats().connections(), 3U);
  }
  EXPECT_EQ(client.stats().connections(), 2U);
}

// --- Feeding -----------------------------------------------------------------------------------

TEST_F(Feeding, FactsWithoutBeginAreIgnoredAndToldOnce) {
  client.facts({node_of("n1", 8)});
  EXPECT_EQ(client.stopped(), "Gap: facts without a FeedBegin");
  client.facts({node_of("n2", 8)});
  client.end();
  EXPECT_EQ(client.stats().nodes(), 0U);
  EXPECT_FALSE(client.stats().ready());
}

TEST_F(Feeding, AGapStopsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.facts_as(3, {node_of("n3", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 where 2 was due");
  feeder.facts_as(2, {node_of("n2", 8)});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), 1U);
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 2U);
  feeder.facts_as(5, {});  // told again, as it fed again
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 5 where 2 was due");
}

TEST_F(Feeding, ASequenceNumberThatComesTwiceStopsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.facts_as(1, {node_of("n2", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 1 where 2 was due");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Feeding, AGapAtItsEndAbortsTheResync) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.ask([](Builder& builder) { return wire::CreateFeedEnd(builder, 2); });
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 2 where 1 was due");
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

TEST_F(Feeding, ARefusedChangeStopsNoOther) {
  feeder.feed({node_of("n0", 8)});
  Node bad = node_of("n2", 8);
  bad.allocatable = {{"cpu", Quantity::from_value(-1)}};
  const std::uint64_t id = feeder.facts(
      {node_of("n1", 8), Node(), removed_node("n0"), UnknownFact(), bad, node_of("n3", 8)});
  EXPECT_EQ(feeder.error(id), "Invalid: Node: metadata.name is empty (change 1)");
  EXPECT_EQ(feeder.error(id),
            "Unsupported: fact_type: 77 is not known; accepted: 1 to 16 (change 3)");
  const std::string negative = feeder.error(id);
  EXPECT_NE(negative.find("n2"), std::string::npos) << negative;
  EXPECT_NE(negative.find("(change 4)"), std::string::npos) << negative;
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), 2U);
  EXPECT_EQ(client.stats().fed_sequence(), 2U);
  EXPECT_EQ(text_of(*client.evaluated({pod_of("p", 8)}, {.top_k = 4}).decisions()->Get(0))
                .find("0 nodes 2 feasible 2"),
            0U);
  feeder.facts({node_of("n4", 8)});  // goes on
  EXPECT_EQ(client.stats().nodes(), 3U);
}

TEST_F(Feeding, AnUnchangedObjectAfterARefusedOneOfItsName) {
  const Pod pod = pod_of("p", 2);
  feeder.feed({node_of("n1", 8), pod});
  Pod bad = pod;
  bad.labels = {{"a", "1"}, {"a", "2"}};
  EXPECT_EQ(feeder.error(feeder.facts({bad})),
            "Invalid: pod team/p: labels: \"a\" comes twice (change 0)");
  EXPECT_EQ(client.best(pod.uid), "n1");
}

TEST_F(Feeding, RawScoresComeOnlyWhereTheyAreAskedFor) {
  feeder.feed({node_of("n1", 8)});
  const wire::Decision& without =
      *client.evaluated({pod_of("p", 1)}, {.scores = true, .raw_scores = false})
           .decisions()
           ->Get(0);
  ASSERT_NE(without.scores(), nullptr);
  EXPECT_EQ(without.scores()->size(), without.plugins()->size());
  EXPECT_EQ(without.raw_scores(), nullptr);
  EXPECT_EQ(client.evaluated({pod_of("p", 1)}).decisions()->Get(0)->raw_scores(), nullptr);
}

TEST_F(Feeding, AReplacedFeederIsTold) {
  feeder.feed({node_of("n1", 8)});
  client.begin();
  EXPECT_EQ(feeder.stopped(), "Replaced: test feeds now");
  feeder.facts({node_of("n2", 8)});
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  client.facts({node_of("n3", 8)});
  feeder.disconnect();  // not the feeder any more: the resync goes on
  EXPECT_TRUE(client.stats().resyncing());
  client.end();
  EXPECT_EQ(client.best(pod_of("p", 1)), "n3");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Feeding, ChangesHaveALimit) {
  const auto nodes = [](std::uint32_t count) {
    std::vector<Fact> facts;
    for (std::uint32_t n = 0; n < count; ++n) facts.emplace_back(node_of(fmt::format("n{}", n), 1));
    return facts;
  };
  feeder.begin();
  feeder.facts(nodes(kChangesPerFactsMax - 1));
  feeder.facts(nodes(kChangesPerFactsMax));
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
  const std::uint64_t id = feeder.facts(nodes(kChangesPerFactsMax + 1));
  EXPECT_EQ(feeder.error(id), "LimitExceeded: changes: 1025: kChangesPerFactsMax is 1024");
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 was refused as a whole");
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
  feeder.facts_as(4, {node_of("more", 1)});
  EXPECT_EQ(client.stats().nodes(), kChangesPerFactsMax);
}

TEST_F(Feeding, EndWithoutAResyncIsAConflict) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(feeder.error(feeder.end()), "Conflict: FeedEnd: no resync is under way");
  feeder.facts({node_of("n2", 8)});  // and the feeding goes on
  EXPECT_EQ(client.stats().nodes(), 2U);
}

TEST_F(Feeding, AnotherIncarnationIsAConflict) {
  feeder.begin(0, kIncarnation + 1);
  EXPECT_EQ(feeder.error(feeder.begin_id), "Conflict: incarnation: 8; the server's is 7");
  EXPECT_FALSE(client.stats().resyncing());
  feeder.begin(0, kIncarnation);
  EXPECT_TRUE(client.stats().resyncing());
  EXPECT_EQ(client.stats().incarnation(), kIncarnation);
}

// A frame may refer to one long text a thousand times.
TEST_F(Feeding, NamesOfRemovedObjectsHaveALimit) {
  feeder.feed({node_of("n1", 8)});
  const std::string longest(kTextBytesMax, 'x');
  feeder.facts({removed_node(longest), removed_pod(pod_of(longest, 1))});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(feeder.error(feeder.facts({removed_pod(pod_of(longest + "x", 1))})),
            "LimitExceeded: removed pod: name: 1025 bytes: kTextBytesMax is 1024 (change 0)");
  EXPECT_EQ(feeder.error(feeder.facts({removed_node(longest + "x")})),
            "LimitExceeded: removed node: name: 1025 bytes: kTextBytesMax is 1024 (change 0)");
  EXPECT_EQ(
      feeder.error(feeder.facts({removed_metric(longest + "x")})),
      "LimitExceeded: removed nodemetric: name: 1025 bytes: kTextBytesMax is 1024 (change 0)");
}

TEST_F(Feeding, RemovedObjectsAreGone) {
  const Pod bound = pod_of("bound", 6, "n1");
  const Pod pending = pod_of("pending", 4);
  feeder.feed({node_of("n1", 8), node_of("n2", 2), bound, pending});
  EXPECT_EQ(client.best(pending.uid), "");
  feeder.facts({removed_pod(bound)});
  EXPECT_EQ(client.best(pending.uid), "n1");
  feeder.facts({removed_node("n1"), removed_node("unknown"), removed_metric("n2")});
  EXPECT_EQ(client.best(pending.uid), "");
  feeder.facts({removed_pod(pending)});
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.error(client.evaluate({pending.uid})),
            "NotFound: pods[0]: pod: uid uid-pending was not fed as pending");
}

TEST_F(Feeding, TheFeedersTimeCounts) {
  feeder.begin(kNowUs - 100 * kSecondUs);
  feeder.facts({node_of("n1", 8)});
  feeder.end();
  wall_clock_us += 5 * kSecondUs;
  service->tick();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 100 * kSecondUs);
  feeder.facts({}, kNowUs - 90 * kSecondUs);
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  const std::string error = feeder.error(feeder.facts({node_of("n2", 8)}, kNowUs - 95 * kSecondUs));
  EXPECT_EQ(error.rfind("Invalid: ", 0), 0U) << error;
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  EXPECT_EQ(client.stats().nodes(), 2U);
  // Without a time: the server's clock again, for the new state only.
  feeder.begin();
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 90 * kSecondUs);
  feeder.end();
  EXPECT_EQ(service->engine().now_us(), wall_clock_us);
  feeder.begin(kNowUs);
  wall_clock_us += kSecondUs;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), wall_clock_us);
  feeder.end();
  EXPECT_EQ(service->engine().now_us(), kNowUs);
}

TEST_F(Feeding, TheServersClockMovesWithEveryFrameButNotBack) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().now_us(), kNowUs);
  wall_clock_us += 7;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
  wall_clock_us -= 5;
  client.stats();
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
  feeder.facts({}, kNowUs + 100);  // no time was given at FeedBegin
  EXPECT_EQ(service->engine().now_us(), kNowUs + 7);
}

TEST_F(Feeding, MetricsExpireByTheClock) {
  feeder.feed({node_of("n1", 8), node_metric_of("n1", kNowUs, cores(1), 60)});
  const auto answer = [&] {
    return text_of(*client.evaluated({pod_of("p", 1)}, {.reasons = true}).decisions()->Get(0));
  };
  EXPECT_EQ(answer().rfind("0 nodes 1 feasible 1", 0), 0U) << answer();
  wall_clock_us += (LoadAwareArgs().node_metric_expiration_seconds + 1) * kSecondUs;
  EXPECT_NE(answer().find("nodeMetric expired: 1"), std::string::npos) << answer();
  feeder.facts({removed_metric("n1")});
  EXPECT_EQ(answer().rfind("0 nodes 1 feasible 1", 0), 0U) << answer();
}

// --- Resync ------------------------------------------------------------------------------------

TEST_F(Resync, DecidesOnTheOldStateUntilItsEnd) {
  const Pod pending = pod_of("pending", 1);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("gone", 8, "n1"), pending});
  EXPECT_TRUE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  feeder.begin();
  feeder.facts({node_of("n1", 8), node_of("n3", 8), pod_of("new", 8, "n3")});
  EXPECT_TRUE(client.stats().resyncing());
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  EXPECT_EQ(client.best(pending.uid), "n2");
  feeder.end();
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.stats().nodes(), 2U);
  EXPECT_EQ(client.stats().pending_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n1");
  EXPECT_EQ(client.error(client.evaluate({pending.uid})),
            "NotFound: pods[0]: pod: uid uid-pending was not fed as pending");
  const std::vector<Fact> mentioned = {node_of("n1", 8), node_of("n3", 8), pod_of("new", 8, "n3")};
  EXPECT_EQ(client.stats(true).digest(),
            engine_with(Profile::standard(), mentioned, kNowUs).digest());
}

TEST_F(Resync, ANewStateHasTheResourcesOfItsNodesAndNoMore) {
  Node gpus = node_of("gpus", 8);
  gpus.allocatable.emplace_back("vendor.com/gpu", Quantity::from_value(2));
  Pod asks = pod_of("asks", 1), runs = pod_of("runs", 1, "gpus");
  for (Pod* pod : {&asks, &runs}) {
    pod->containers[0].requests.emplace_back("vendor.com/gpu", Quantity::from_value(1));
  }
  std::uint64_t digest = 0;
  for (int feeding = 0; feeding < 3; ++feeding) {
    feeder.feed({node_of("n1", 8), gpus, runs});
    EXPECT_EQ(client.best(asks), "gpus");
    EXPECT_TRUE(service->validate());
    if (feeding > 0) {
      EXPECT_EQ(service->engine().digest(), digest);
    }
    digest = service->engine().digest();
  }
  runs.containers[0].requests.back().second = Quantity::from_value(2);
  feeder.feed({gpus, runs, node_of("n1", 8)});
  EXPECT_EQ(client.best(asks), "");
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(client.best(asks), "");
  feeder.feed({node_of("n1", 8), gpus});
  EXPECT_EQ(client.best(asks), "gpus");
  EXPECT_TRUE(service->validate());
}

TEST_F(Resync, IsNotReadyBeforeItsFirstEnd) {
  EXPECT_FALSE(client.stats().ready());
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  EXPECT_FALSE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 1)), "");
  feeder.end();
  EXPECT_TRUE(client.stats().ready());
}

TEST_F(Resync, AGapAbortsItAndTheOldStateGoesOn) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.facts_as(3, {node_of("n3", 8)});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 3 where 2 was due");
  feeder.end();
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_TRUE(client.stats().ready());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
  EXPECT_EQ(client.stats().nodes(), 1U);
}

TEST_F(Resync, ALostFeederAbortsIt) {
  feeder.feed({node_of("n1", 8)});
  feeder.begin();
  feeder.facts({node_of("n2", 8)});
  feeder.disconnect();
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

// As long as it goes on, however it ends; an aborted one ends on the thread that frees it.
TEST_F(Resync, BesideDecisionsTakesSmallPages) {
  const auto small = [] { return ::prctl(PR_GET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL); };
  const int before = small();
  if (before < 0) GTEST_SKIP() << "this system has no such setting";
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  EXPECT_EQ(small(), before) << "nobody waits beside the first one";
  feeder.end();
  EXPECT_EQ(small(), before);
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  EXPECT_EQ(small(), 1);
  feeder.end();
  EXPECT_EQ(small(), before);
  feeder.begin();
  EXPECT_EQ(small(), 1);
  feeder.disconnect();
  for (int wait = 0; wait < 1000 && small() != before; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(small(), before);
}

TEST_F(Resync, BegunTwiceBeginsAnew) {
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  feeder.feed({node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 1)), "n2");
}

TEST_F(Resync, EpochsNeverGoBack) {
  std::uint64_t last = 0;
  const auto grows = [&] {
    EXPECT_GT(client.stats().epoch(), last);
    const std::uint64_t evaluated = client.evaluated({pod_of("p", 1)}).epoch();
    EXPECT_GT(evaluated, last);
    last = client.stats().epoch();
    EXPECT_GE(last, evaluated);
  };
  std::vector<Fact> many;
  for (int n = 0; n < 100; ++n) many.emplace_back(node_of(fmt::format("n{}", n), 8));
  feeder.feed(many);
  grows();
  EXPECT_GE(last, 100U);
  feeder.feed({node_of("n1", 8)});  // its cluster counts from 0
  grows();
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n1"), "ok");
  grows();
  feeder.feed({});
  grows();
  feeder.feed({});
  grows();
}

TEST_F(Resync, CountersGoOn) {
  feeder.feed({node_of("n1", 8)});
  for (int i = 0; i < 3; ++i) client.best(pod_of("p", 1));
  EXPECT_EQ(client.stats().decisions(), 3U);
  feeder.feed({node_of("n1", 8)});
  client.best(pod_of("p", 1));
  EXPECT_EQ(client.stats().decisions(), 4U);
}

TEST_F(Resync, KeepsReservations) {
  const Pod fed = pod_of("fed", 3), whole = pod_of("whole", 2), left = pod_of("left", 1);
  feeder.feed({node_of("n1", 8), fed, left});
  EXPECT_EQ(client.reserve_text(fed.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(whole, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(left.uid, "n1"), "ok");
  EXPECT_EQ(client.stats().reserved_pods(), 3U);
  feeder.begin();
  feeder.facts({node_of("n1", 8), fed});
  const Pod during = pod_of("during", 1);
  EXPECT_EQ(client.reserve_text(during, "n1"), "ok");
  feeder.end();
  // fed 3, whole 2 and during 1 of 8 cores; left was fed before and is no longer.
  EXPECT_EQ(client.stats().reserved_pods(), 3U);
  EXPECT_EQ(client.best(pod_of("p", 2)), "n1");
  EXPECT_EQ(client.best(pod_of("p", 3)), "");
  client.unreserve(whole, whole.uid, "n1");
  EXPECT_EQ(client.best(pod_of("p", 4)), "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
}

TEST_F(Resync, SettlesReservationsOfBoundAndRemovedPods) {
  const Pod bound = pod_of("bound", 3), ended = pod_of("ended", 2);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), bound, ended});
  EXPECT_EQ(client.reserve_text(bound.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(ended.uid, "n1"), "ok");
  Pod done = ended;
  done.node_name = "n1";
  done.phase = "Succeeded";
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("bound", 3, "n2"), done});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n1");
  EXPECT_EQ(client.best(pod_of("p", 5)), "n1");
}

TEST_F(Resync, APodFedAsBoundAndReservedMeanwhileIsBound) {
  const Pod pending = pod_of("p", 3);
  for (const bool fed : {true, false}) {  // as pending, before
    feeder.feed({node_of("n1", 8), node_of("n2", 8), fed ? pending : pod_of("other", 1)});
    feeder.begin();
    feeder.facts({node_of("n1", 8), node_of("n2", 8), pod_of("p", 3, "n1")});
    EXPECT_EQ(client.reserve_text(pending, "n2"), "ok");  // the old state knows no better
    feeder.end();
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << fed;
    EXPECT_EQ(client.reserve_text(pending, "n2"), "Conflict: pod team/p is bound to node n1")
        << fed;
    feeder.feed({node_of("n1", 8), node_of("n2", 8)});  // gone: it counts nowhere
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << fed;
    EXPECT_EQ(client.place_text({pod_of("q", 8), pod_of("r", 8)}), "n1 n2") << fed;
    client.unreserve(pod_of("q", 8), "uid-q", "n1");
    client.unreserve(pod_of("r", 8), "uid-r", "n2");
  }
}

// Reserved as whole pods, which were never fed as pending.
TEST_F(Resync, WhatHappensDuringItSettlesReservations) {
  const std::vector<Fact> nodes = {node_of("n1", 8), node_of("n2", 8)};
  const Pod pod = pod_of("p", 3);
  Pod done = pod_of("p", 3, "n1"), failed = pod_of("p", 3);
  done.phase = "Succeeded";
  failed.phase = "Failed";
  Pod next = pod;
  next.uid = "next";
  const std::vector<std::pair<const char*, std::vector<Fact>>> cases = {
      {"removed", {removed_pod(pod)}},
      {"bound and removed", {pod_of("p", 3, "n1"), removed_pod(pod)}},
      {"succeeded", {done}},
      {"failed without a node", {failed}},
      {"another pod of its name", {next}},
  };
  for (const auto& [what, facts] : cases) {
    feeder.feed(nodes);
    EXPECT_EQ(client.reserve_text(pod, "n1"), "ok") << what;
    feeder.begin();
    feeder.facts(nodes);
    feeder.facts(facts);
    EXPECT_EQ(client.stats().reserved_pods(), 1U) << what;
    feeder.end();
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << what;
    EXPECT_EQ(client.best(pod_of("q", 8)), "n1") << what;
    feeder.feed(nodes);
    EXPECT_EQ(client.stats().reserved_pods(), 0U) << what;
    EXPECT_EQ(client.best(pod_of("q", 8)), "n1") << what;
    client.unreserve(pod, pod.uid, "n1");  // for the next one
  }
}

TEST_F(Resync, AnAbortedOneSettlesNothing) {
  const Pod pending = pod_of("p", 3);
  feeder.feed({node_of("n1", 8), pending});
  EXPECT_EQ(client.reserve_text(pending.uid, "n1"), "ok");
  feeder.begin();
  feeder.facts({node_of("n1", 8), pending, removed_pod(pending)});
  feeder.facts_as(9, {});
  EXPECT_EQ(feeder.stopped(), "Gap: sequence: 9 where 2 was due");
  // The old state goes on, the reservation with it: it can be undone.
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pending, pending.uid, "n1");
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

// --- Another profile ---------------------------------------------------------------------------

TEST_F(ChangingProfile, TakesAResync) {
  const std::vector<Fact> facts = {node_of("n1", 8), node_of("n2", 4), pod_of("b", 5, "n1")};
  feeder.feed(facts);
  const std::string before = text_of(
      *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0));
  Profile profile = profile_of(PluginId::kNodeResourcesFit);
  profile.fit.strategy = NodeResourcesFitArgs::Strategy::kMostAllocated;
  profile.scheduler_name = "packer";
  ASSERT_TRUE(service->set_profiles({profile}));
  EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
  EXPECT_EQ(
      text_of(
          *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0)),
      before);
  feeder.facts({node_of("n3", 8)});  // not taken
  EXPECT_EQ(client.stats().nodes(), 2U);
  const std::uint64_t epoch = client.stats().epoch();
  EXPECT_FALSE(client.is_greeted_again());
  feeder.feed(facts);
  EXPECT_GT(client.stats().epoch(), epoch);
  // Who is connected hears by what is decided now.
  EXPECT_EQ(text(client.greeted_again().profiles()->Get(0)->scheduler_name()), "packer");
  EXPECT_FALSE(client.is_greeted_again());
  feeder.feed(facts);
  EXPECT_FALSE(client.is_greeted_again());
  Engine engine = engine_with(profile, facts, kNowUs);
  const auto expected = engine.evaluate(pod_of("p", 1), {.top_k = 2});
  ASSERT_TRUE(expected);
  EXPECT_EQ(
      text_of(
          *client.evaluated({pod_of("p", 1)}, {.top_k = 2, .scores = true}).decisions()->Get(0)),
      text_of(engine, *expected, true));
  EXPECT_NE(text_of(engine, *expected, true), before);
  Client next(*service);
  const auto& reply = next.take<wire::HelloReply>(
      next.ask([](Builder& builder) { return wire::CreateHelloDirect(builder, 1, 1, "next"); }));
  EXPECT_EQ(text(reply.profiles()->Get(0)->scheduler_name()), "packer");
}

TEST_F(ChangingProfile, HoldsAtOnceWithoutFacts) {
  const std::uint64_t epoch = client.stats().epoch();
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
  EXPECT_GE(client.stats().epoch(), epoch);
  EXPECT_FALSE(feeder.has_answer());
  EXPECT_EQ(client.greeted_again().profiles()->Get(0)->plugins()->size(), 1U);
}

TEST_F(ChangingProfile, DuringAResyncAbortsIt) {
  feeder.begin();
  feeder.facts({node_of("n1", 8)});
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
  EXPECT_FALSE(client.stats().resyncing());
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
}

TEST_F(ChangingProfile, WithoutAFeederWaitsForOne) {
  feeder.feed({node_of("n1", 8)});
  feeder.disconnect();
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  EXPECT_EQ(service->engine().profile().filters.size(), Profile::standard().filters.size());
  EXPECT_EQ(client.best(pod_of("p", 1)), "n1");
  client.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), 1U);
}

TEST_F(ChangingProfile, ABadOneKeepsTheOld) {
  feeder.feed({node_of("n1", 8)});
  Profile bad = profile_of(PluginId::kNodeResourcesFit);
  bad.scores[0].weight = kPluginWeightMax + 1;
  const Result<void> set = service->set_profiles({bad});
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("10001"), std::string::npos) << set.error().message;
  EXPECT_FALSE(feeder.has_answer());
  feeder.facts({node_of("n2", 8)});
  EXPECT_EQ(client.stats().nodes(), 2U);
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(service->engine().profile().filters.size(), Profile::standard().filters.size());
}

// What was fed is a fact, whether or not a node is among it.
TEST_F(ChangingProfile, LosesNoFactThatWasFed) {
  const auto lost = [&](const std::vector<Fact>& facts) {
    feeder.feed(facts, kNowUs);
    const std::uint64_t before = client.stats(true).digest();
    EXPECT_TRUE(service->set_profiles({Profile::standard()}));
    const bool told = feeder.has_answer();
    if (told) {
      EXPECT_EQ(feeder.stopped(), "NewProfile: the server has another profile: resync");
    }
    return !told && client.stats(true).digest() != before;
  };
  NodeMetric metric;
  metric.name = "n1";
  metric.update_time_us = kNowUs;
  EXPECT_FALSE(lost({node_of("n1", 8)}));
  EXPECT_FALSE(lost({pod_of("p", 1)}));
  EXPECT_FALSE(lost({metric}));
}

TEST_F(ChangingProfile, KeepsTheFeedersTime) {
  feeder.feed({}, kNowUs - 500 * kSecondUs);
  ASSERT_TRUE(service->set_profiles({profile_of(PluginId::kNodeResourcesFit)}));
  if (feeder.has_answer()) return;  // then it resyncs and says the time again
  service->tick();
  EXPECT_EQ(service->engine().now_us(), kNowUs - 500 * kSecondUs);
}

}  // namespace
}  // namespace headroom::in_memory::service_feeding_test
