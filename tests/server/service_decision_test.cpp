// Evaluate, reserve, place, explain, bound volumes and stats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/decode.h"
#include "objects/writing/referred_json_writer.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_decision_test {
namespace {

class Evaluating : public ServiceTest {};
class Reserving : public ServiceTest {};
class Placing : public ServiceTest {};
class Explaining : public ServiceTest {};
class BindingVolumes : public ServiceTest {};
class Stats : public ServiceTest {};

// --- Evaluate ----------------------------------------------------------------------------------

TEST_F(Evaluating, ByUidAndWholeAreTheSame) {
  const Pod pending = pod_of("pending", 2);
  feeder.feed({node_of("n1", 4), node_of("n2", 8), pod_of("b", 3, "n1"), pending});
  const Asked asked{.top_k = 4, .scores = true, .reasons = true};
  const std::string by_uid = text_of(*client.evaluated({pending.uid}, asked).decisions()->Get(0));
  EXPECT_EQ(text_of(*client.evaluated({pending}, asked).decisions()->Get(0)), by_uid);
  EXPECT_EQ(by_uid.find("0 nodes 2 feasible 1\n1 n2 "), 0U) << by_uid;
  EXPECT_NE(by_uid.find("\nInsufficient cpu: 1"), std::string::npos) << by_uid;
}

TEST_F(Evaluating, APodIsKnownByUidAsLongAsItWaits) {
  const Pod pending = pod_of("p", 2);
  const std::string not_found = "NotFound: pods[0]: pod: uid uid-p was not fed as pending";
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(client.error(client.evaluate({pending.uid})), not_found);
  feeder.facts({pending});
  EXPECT_EQ(client.best(pending.uid), "n1");
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  feeder.facts({pod_of("p", 2, "n1")});
  EXPECT_EQ(client.error(client.evaluate({pending.uid})), not_found);
  Pod failed = pod_of("q", 2);
  failed.phase = "Failed";
  feeder.facts({pod_of("q", 2), failed});
  EXPECT_EQ(client.stats().pending_pods(), 0U);
  Pod again = pod_of("r", 2);
  feeder.facts({again});
  again.uid = "another";
  feeder.facts({again});
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.best("another"), "n1");
  EXPECT_EQ(client.error(client.evaluate({"uid-r"})),
            "NotFound: pods[0]: pod: uid uid-r was not fed as pending");
}

TEST_F(Evaluating, AskedWithoutAPod) {
  EXPECT_EQ(client.error(client.evaluate({""})),
            "Invalid: pods[0]: pod: neither uid nor pod is given");
  EXPECT_EQ(client.error(client.evaluate({pod_of("p", 1), "nobody"})),
            "NotFound: pods[1]: pod: uid nobody was not fed as pending");
}

TEST_F(Evaluating, AnswersAsTheEngineDoes) {
  const ClusterGenerator generator({.nodes = 60, .pods = 600, .seed = 3, .bound_permille = 850});
  const std::vector<Fact> facts = generated_facts(generator);
  const std::int64_t now_us = generator.options().now_us;
  feeder.feed(facts, now_us);
  Engine engine = engine_with(Profile::standard(), facts, now_us);
  ASSERT_EQ(client.stats(true).digest(), engine.digest());
  std::vector<PodArg> by_uid, whole;
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    if (generator.is_bound(p)) continue;
    pods.push_back(generator.pod(p));
    by_uid.emplace_back(pods.back().uid);
    whole.emplace_back(pods.back());
  }
  ASSERT_GT(pods.size(), 50U);
  std::size_t feasible = 0, refused = 0;
  for (const bool scores : {false, true}) {
    for (const bool reasons : {false, true}) {
      const EvaluateOptions options{.top_k = 5, .plugin_scores = scores, .reasons = reasons};
      const Asked asked{.top_k = 5, .scores = scores, .reasons = reasons};
      const auto expected = engine.evaluate(pods, options);
      ASSERT_TRUE(expected);
      for (const auto* args : {&by_uid, &whole}) {
        const wire::Evaluated& evaluated = client.evaluated(*args, asked);
        ASSERT_EQ(evaluated.decisions()->size(), pods.size());
        EXPECT_EQ(evaluated.reserved(), nullptr);
        for (std::uint32_t p = 0; p < pods.size(); ++p) {
          const wire::Decision& decision = *evaluated.decisions()->Get(p);
          EXPECT_EQ(text_of(decision), text_of(engine, (*expected)[p], scores)) << pods[p].name;
          EXPECT_EQ(scores && decision.feasible() > 0, decision.plugins() != nullptr);
          EXPECT_EQ(scores && decision.feasible() > 0, decision.scores() != nullptr);
          EXPECT_EQ(scores && decision.feasible() > 0, decision.raw_scores() != nullptr);
          feasible += decision.feasible() > 0;
          refused += decision.reasons() != nullptr;
        }
      }
      for (std::uint32_t p = 0; p < 10; ++p) {  // one by one
        const auto one = engine.evaluate(pods[p], options);
        ASSERT_TRUE(one);
        EXPECT_EQ(text_of(*client.evaluated({by_uid[p]}, asked).decisions()->Get(0)),
                  text_of(engine, *one, scores));
      }
    }
  }
  EXPECT_GT(feasible, 100U);
  EXPECT_GT(refused, 100U);
}

TEST_F(Evaluating, TopKHasALimit) {
  std::vector<Fact> nodes;
  for (std::uint32_t n = 0; n < kTopKMax + 5; ++n) {
    nodes.emplace_back(node_of(fmt::format("n{}", n), 8));
  }
  feeder.feed(nodes);
  const Pod pod = pod_of("p", 1);
  for (const std::uint32_t top_k : {1U, kTopKMax - 1, kTopKMax}) {
    const wire::Decision& decision = *client.evaluated({pod}, {.top_k = top_k}).decisions()->Get(0);
    EXPECT_EQ(decision.node_names()->size(), top_k);
    EXPECT_EQ(decision.node_indices()->size(), top_k);
    EXPECT_EQ(decision.totals()->size(), top_k);
  }
  for (const std::uint32_t top_k : {0U, kTopKMax + 1}) {
    for (const std::vector<PodArg>& pods : {std::vector<PodArg>{pod}, {pod, pod}}) {
      const std::string error = client.error(client.evaluate(pods, {.top_k = top_k}));
      EXPECT_NE(error.find(fmt::format("{}", top_k)), std::string::npos) << error;
      EXPECT_NE(error.find("top_k"), std::string::npos) << error;
    }
  }
  // Of all pods together.
  static_assert(kCandidatesPerRequestMax % kTopKMax == 0);
  std::vector<PodArg> pods(kCandidatesPerRequestMax / kTopKMax, pod);
  EXPECT_EQ(client.evaluated(pods, {.top_k = kTopKMax}).decisions()->size(), pods.size());
  pods.emplace_back(pod);
  EXPECT_EQ(client.evaluated(pods, {.top_k = kTopKMax - 100}).decisions()->size(), pods.size());
  EXPECT_EQ(client.error(client.evaluate(pods, {.top_k = kTopKMax})),
            "LimitExceeded: pods * top_k: 17408: kCandidatesPerRequestMax is 16384");
  EXPECT_EQ(client.error(client.evaluate(pods, {.top_k = 0xFFFFFFFF})),
            "LimitExceeded: pods * top_k: 73014444015: kCandidatesPerRequestMax is 16384");
}

TEST_F(Evaluating, PodsHaveALimit) {
  feeder.feed({node_of("n1", 8)});
  const PodArg pod = pod_of("p", 1);
  for (const std::uint32_t count : {kPodsPerRequestMax - 1, kPodsPerRequestMax}) {
    const std::vector<PodArg> pods(count, pod);
    EXPECT_EQ(client.evaluated(pods).decisions()->size(), count);
  }
  EXPECT_EQ(client.error(client.evaluate(std::vector<PodArg>(kPodsPerRequestMax + 1, pod))),
            "LimitExceeded: pods: 1025: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.error(client.evaluate({})),
            "Invalid: pods: 0: at least 1, and kPodsPerRequestMax is 1024");
}

TEST_F(Evaluating, NodeIndicesStay) {
  feeder.feed({node_of("n1", 2), node_of("n2", 8)});
  const auto index = [&](const std::string& name) -> std::int64_t {
    const wire::Decision& decision =
        *client.evaluated({pod_of("p", 1)}, {.top_k = 9}).decisions()->Get(0);
    for (std::uint32_t c = 0; c < decision.node_names()->size(); ++c) {
      if (text(decision.node_names()->Get(c)) == name) return decision.node_indices()->Get(c);
    }
    return -1;
  };
  const std::int64_t n2 = index("n2");
  EXPECT_NE(n2, index("n1"));
  feeder.facts({removed_node("n1"), node_of("n3", 8)});
  EXPECT_EQ(index("n2"), n2);
  EXPECT_EQ(index("n1"), -1);
}

// --- Reserve -----------------------------------------------------------------------------------

TEST_F(Reserving, OneOfTwoGetsTheLastPlace) {
  feeder.feed({node_of("n1", 8), pod_of("b", 6, "n1")});
  Client other(*service);
  other.greet();
  const Pod mine = pod_of("mine", 2), theirs = pod_of("theirs", 2);
  EXPECT_EQ(client.best(mine), "n1");
  EXPECT_EQ(other.best(theirs), "n1");
  EXPECT_EQ(client.reserve_text(mine, "n1"), "ok");
  const std::string refused = other.reserve_text(theirs, "n1");
  EXPECT_EQ(refused.rfind("Conflict: node n1: Insufficient cpu", 0), 0U) << refused;
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(mine, mine.uid, "n1");
  EXPECT_EQ(other.reserve_text(theirs, "n1"), "ok");
}

TEST_F(Reserving, CountsLikeAnAssumedPod) {
  const Pod pod = pod_of("p", 2);
  const std::vector<Fact> facts = {node_of("n1", 8), node_of("n2", 8), pod};
  feeder.feed(facts);
  Engine engine = engine_with(Profile::standard(), facts, kNowUs);
  const std::uint64_t before = client.stats().epoch();
  const auto& reserved = client.reserve(pod.uid, "n2");
  EXPECT_GT(reserved.epoch(), before);
  EXPECT_EQ(reserved.code(), wire::ErrorCode::None);
  ASSERT_TRUE(engine.assume(pod, "n2"));
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

TEST_F(Reserving, OnWhatIsNotThere) {
  feeder.feed({node_of("n1", 8)});
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n9"), "NotFound: node n9 is not known");
  EXPECT_EQ(client.reserve_text("uid-p", "n1"), "NotFound: pod: uid uid-p was not fed as pending");
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "").rfind("NotFound", 0), 0U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.stats().pods(), 0U);
}

TEST_F(Reserving, ABoundPodIsAConflict) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("p", 1, "n1")});
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n2"), "Conflict: pod team/p is bound to node n1");
  EXPECT_EQ(client.reserve_text(pod_of("p", 1), "n1"), "Conflict: pod team/p is bound to node n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, AgainMoves) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  EXPECT_EQ(client.best(pod_of("q", 6)), "n2");
  EXPECT_EQ(client.reserve_text(pod, "n2"), "ok");
  EXPECT_EQ(client.best(pod_of("q", 6)), "n1");
  EXPECT_EQ(client.reserve_text(pod, "n2"), "ok");  // it does not stand in its own way
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pod, pod.uid, "n1");  // not there any more
  EXPECT_EQ(client.best(pod_of("q", 6)), "n1");
  EXPECT_EQ(client.best(pod_of("r", 8)), "n1");
  client.unreserve(pod, pod.uid, "n2");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, ARefusedMoveChangesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 2)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  EXPECT_EQ(client.reserve_text(pod, "n2").rfind("Conflict: node n2", 0), 0U);
  EXPECT_EQ(client.stats(true).digest(), before);
  client.unreserve(pod, pod.uid, "n1");
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

TEST_F(Reserving, UnreserveOfAnotherChangesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  Pod other = pod;
  client.unreserve(pod, "another", "n1");
  client.unreserve(pod, pod.uid, "n2");
  client.unreserve(pod, pod.uid, "n9");
  other.namespace_name = "elsewhere";
  client.unreserve(other, pod.uid, "n1");
  EXPECT_EQ(client.stats(true).digest(), before);
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

TEST_F(Reserving, EndsWhenThePodIsBoundOrGone) {
  const Pod bound = pod_of("bound", 2), gone = pod_of("gone", 2);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), bound, gone});
  EXPECT_EQ(client.reserve_text(bound.uid, "n1"), "ok");
  EXPECT_EQ(client.reserve_text(gone.uid, "n1"), "ok");
  feeder.facts({bound, gone});  // still waiting: nothing changes
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
  EXPECT_EQ(client.best(pod_of("p", 8)), "n2");
  const std::vector<Fact> after = {node_of("n1", 8), node_of("n2", 8), pod_of("bound", 2, "n2")};
  feeder.facts({after[2], removed_pod(gone)});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.stats(true).digest(), engine_with(Profile::standard(), after, kNowUs).digest());
}

TEST_F(Reserving, EndsWhenAnotherPodHasTheName) {
  Pod pod = pod_of("p", 6);
  feeder.feed({node_of("n1", 8), pod});
  EXPECT_EQ(client.reserve_text(pod.uid, "n1"), "ok");
  pod.uid = "next";
  feeder.facts({pod});
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  feeder.feed({node_of("n1", 8), pod});
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.best(pod_of("q", 8)), "n1");
}

TEST_F(Reserving, AndEvaluateInOne) {
  const Pod first = pod_of("first", 6), second = pod_of("second", 6);
  feeder.feed({node_of("n1", 8), node_of("n2", 7), first, second});
  EXPECT_EQ(client.best(second.uid), "n1");
  {
    const auto& evaluated = client.evaluated({second.uid}, {.reserve = {{first.uid, "n1"}}});
    ASSERT_NE(evaluated.reserved(), nullptr);
    EXPECT_EQ(Client::reserved_text(*evaluated.reserved()), "ok");
    EXPECT_EQ(evaluated.reserved()->epoch(), evaluated.epoch());
    EXPECT_EQ(text(evaluated.decisions()->Get(0)->node_names()->Get(0)), "n2");
  }
  // What is refused is told beside the answer.
  const Pod third = pod_of("third", 6);
  for (const std::vector<PodArg>& pods : {std::vector<PodArg>{second.uid}, {second.uid, second}}) {
    const auto& evaluated = client.evaluated(pods, {.reserve = {{third, "n1"}}});
    EXPECT_EQ(evaluated.reserved()->code(), wire::ErrorCode::Conflict);
    EXPECT_EQ(text(evaluated.decisions()->Get(0)->node_names()->Get(0)), "n2");
  }
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
}

// The client is told nothing of the reservation, so there must be none.
TEST_F(Reserving, WithARefusedEvaluateReservesNothing) {
  feeder.feed({node_of("n1", 8)});
  for (const std::vector<PodArg>& pods : {std::vector<PodArg>{"nobody"}, {"nobody", "nobody"}}) {
    EXPECT_EQ(client.error(client.evaluate(pods, {.reserve = {{pod_of("p", 6), "n1"}}})),
              "NotFound: pods[0]: pod: uid nobody was not fed as pending");
    EXPECT_EQ(client.stats().reserved_pods(), 0U);
  }
  EXPECT_EQ(client
                .error(client.evaluate({pod_of("q", 1)},
                                       {.top_k = 0, .reserve = {{pod_of("p", 6), "n1"}}}))
                .rfind("Invalid: ", 0),
            0U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(Reserving, ARefusedEvaluateMovesNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 6);
  EXPECT_EQ(client.reserve_text(pod, "n1"), "ok");
  const std::uint64_t before = client.stats(true).digest();
  Pod bad = pod_of("bad", 1);
  bad.containers[0].requests = {{"cpu", Quantity::from_value(-1)}};
  const std::vector<std::vector<PodArg>> requests = {{bad}, {pod_of("q", 1), bad}, {"nobody"}};
  for (const std::vector<PodArg>& pods : requests) {
    client.error(client.evaluate(pods, {.reserve = {{pod, "n2"}}}));
    EXPECT_EQ(client.stats(true).digest(), before);
    EXPECT_EQ(client.stats().reserved_pods(), 1U);
  }
  client.unreserve(pod, pod.uid, "n1");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.place_text({pod_of("a", 8), pod_of("b", 8)}), "n1 n2");
}

TEST_F(Reserving, OutlivesTheConnection) {
  feeder.feed({node_of("n1", 8)});
  {
    Client other(*service);
    other.greet();
    EXPECT_EQ(other.reserve_text(pod_of("p", 6), "n1"), "ok");
  }
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  EXPECT_EQ(client.best(pod_of("q", 6)), "");
}

// --- Place -------------------------------------------------------------------------------------

TEST_F(Placing, AnswersAsTheEngineDoes) {
  const ClusterGenerator generator({.nodes = 12, .pods = 300, .seed = 5, .bound_permille = 600});
  const std::vector<Fact> facts = generated_facts(generator);
  const std::int64_t now_us = generator.options().now_us;
  feeder.feed(facts, now_us);
  Engine engine = engine_with(Profile::standard(), facts, now_us);
  std::vector<PodArg> args;
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    if (generator.is_bound(p)) continue;
    pods.push_back(generator.pod(p));
    if (p % 2 == 0) {
      args.emplace_back(pods.back().uid);
    } else {
      args.emplace_back(pods.back());
    }
  }
  Pod large = pod_of("large", 100'000);
  pods.push_back(large);
  args.emplace_back(large);
  const auto expected = engine.place(pods, {.top_k = 1, .plugin_scores = false, .reasons = true});
  ASSERT_TRUE(expected);
  const wire::Placed& placed = client.take<wire::Placed>(client.place(args, true));
  ASSERT_EQ(placed.node_names()->size(), pods.size());
  std::uint32_t failures = 0;
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    const Placement& placement = (*expected)[p];
    EXPECT_EQ(text(placed.node_names()->Get(p)), engine.node_name(placement.node));
    EXPECT_EQ(placed.node_indices()->Get(p), static_cast<std::uint32_t>(placement.node));
    if (placement.node != kNoNode) continue;
    ASSERT_LT(failures, placed.failures()->size());
    EXPECT_EQ(text_of(*placed.failures()->Get(failures++)),
              text_of(engine, placement.decision, false));
  }
  EXPECT_EQ(failures, placed.failures()->size());
  EXPECT_GE(failures, 1U);
  const auto reserved = static_cast<std::uint32_t>(pods.size() - failures);
  EXPECT_GE(reserved, 50U);
  EXPECT_EQ(client.stats().reserved_pods(), reserved);
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
}

TEST_F(Placing, OneAfterTheOther) {
  feeder.feed({node_of("n1", 8), node_of("n2", 5)});
  EXPECT_EQ(client.place_text({pod_of("a", 5), pod_of("b", 5), pod_of("c", 5), pod_of("d", 3)}),
            "n1 n2 - n1");
  const Pod a = pod_of("a", 5);
  client.unreserve(a, a.uid, "n1");
  EXPECT_EQ(client.place_text({pod_of("c", 5)}), "n1");
}

TEST_F(Placing, TwiceInOneRequestEndsOnTheLastNode) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const std::string names = client.place_text({pod_of("a", 5), pod_of("a", 5)});
  EXPECT_EQ(client.stats().reserved_pods(), 1U);
  client.unreserve(pod_of("a", 5), "uid-a", names.substr(names.find(' ') + 1));
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  EXPECT_EQ(client.place_text({pod_of("c", 8), pod_of("d", 8)}), "n1 n2");
}

TEST_F(Placing, AllOrNothing) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("bound", 1, "n2")});
  const std::uint64_t before = client.stats(true).digest();
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), "nobody"})),
            "NotFound: pods[1]: pod: uid nobody was not fed as pending");
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), pod_of("bound", 1)})),
            "Conflict: pod team/bound is bound to node n2");
  Pod bad = pod_of("bad", 1);
  bad.containers[0].requests = {{"cpu", Quantity::from_value(-1)}};
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), bad})).rfind("Invalid: ", 0), 0U);
  Pod nameless = pod_of("", 1);
  EXPECT_EQ(client.error(client.place({pod_of("a", 1), nameless})).rfind("Invalid: ", 0), 0U);
  EXPECT_EQ(client.error(client.place({})),
            "Invalid: pods: 0: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.error(client.place(std::vector<PodArg>(1025, pod_of("a", 1)))),
            "LimitExceeded: pods: 1025: at least 1, and kPodsPerRequestMax is 1024");
  EXPECT_EQ(client.stats(true).digest(), before);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

// --- Explain -----------------------------------------------------------------------------------

TEST_F(Explaining, AnswersAsTheEngineDoes) {
  const Pod pending = pod_of("p", 3);
  const std::vector<Fact> facts = {node_of("n1", 4), node_of("n2", 8), pod_of("b", 2, "n1"),
                                   pending};
  feeder.feed(facts);
  Engine engine = engine_with(Profile::standard(), facts, kNowUs);
  for (const std::string node : {"n1", "n2"}) {
    const wire::Explained& explained = client.take<wire::Explained>(client.ask([&](Builder& b) {
      const auto pod = write_ref(b, pending.uid);
      return wire::CreateExplain(b, pod, write_text(b, node));
    }));
    const auto expected = engine.explain(pending, node);
    ASSERT_TRUE(expected);
    EXPECT_EQ(static_cast<int>(explained.code()), static_cast<int>(expected->code));
    EXPECT_EQ(explained.total(), expected->total);
    ASSERT_EQ(explained.terms()->size(), expected->terms.size());
    EXPECT_GT(expected->terms.size(), 5U);
    for (std::uint32_t t = 0; t < expected->terms.size(); ++t) {
      const wire::ExplainTerm& got = *explained.terms()->Get(t);
      const ExplainTerm& term = expected->terms[t];
      EXPECT_EQ(fmt::format("{} {} {} {} {} {} {} {} {} {}", text(got.plugin()),
                            text(got.extension_point()), text(got.resource()), got.capacity(),
                            got.aggregate(), got.need(), text(got.formula()), got.result(),
                            got.passed(), text(got.note())),
                fmt::format("{} {} {} {} {} {} {} {} {} {}", to_string(term.plugin),
                            term.extension_point, term.resource, term.capacity, term.aggregate,
                            term.need, term.formula, term.result, term.passed, term.note));
    }
  }
}

TEST_F(Explaining, WhatIsNotThere) {
  feeder.feed({node_of("n1", 8)});
  const auto explain = [&](const PodArg& arg, const std::string& node) {
    return client.error(client.ask([&](Builder& builder) {
      const auto pod = write_ref(builder, arg);
      return wire::CreateExplain(builder, pod, write_text(builder, node));
    }));
  };
  EXPECT_EQ(explain(pod_of("p", 1), "n9"), "NotFound: node n9 is not known");
  EXPECT_EQ(explain("nobody", "n1"), "NotFound: pod: uid nobody was not fed as pending");
}

// --- BoundVolumes ------------------------------------------------------------------------------

TEST_F(BindingVolumes, AnswersAsTheEngineDoes) {
  StorageClass fast;
  fast.name = "fast";
  fast.provisioner = "disk.example.com";
  fast.waits_for_first_consumer = true;
  PersistentVolumeClaim claim;
  Pod pending = pod_of("p", 3);
  claim.namespace_name = pending.namespace_name;
  claim.name = "data";
  claim.uid = "7";
  claim.storage_class = "fast";
  claim.access_modes = {"ReadWriteOnce"};
  claim.volume_mode = "Filesystem";  // as an API server has it
  claim.request_bytes = 10;
  pending.volumes.emplace_back().claim = claim.name;
  const std::vector<Fact> facts = {ReferredObject(fast), ReferredObject(claim), node_of("n1", 2),
                                   node_of("n2", 4), pending};
  feeder.feed(facts);
  Engine engine = engine_with(Profile::standard(), facts, kNowUs);
  const auto asking = [](const PodArg& arg, const std::string& node) {
    return [arg, node](Builder& builder) {
      const auto pod = write_ref(builder, arg);
      return wire::CreateBoundVolumes(builder, pod, write_text(builder, node));
    };
  };
  for (const std::string node : {"n1", "n2"}) {
    const auto objects = engine.bound_volumes(pending, node);
    ASSERT_TRUE(objects);
    std::vector<std::string> expected;
    for (const ReferredObject& object : *objects) expected.push_back(to_json(object));
    EXPECT_EQ(expected.size(), node == "n1" ? 0u : 2u) << "the pod has no room on n1";
    EXPECT_EQ(
        decode(client.take<wire::BoundVolumesReply>(client.ask(asking(pending.uid, node)))).objects,
        expected);
  }
  EXPECT_EQ(client.error(client.ask(asking(pending, "n9"))), "NotFound: node n9 is not known");
  EXPECT_EQ(client.error(client.ask(asking("nobody", "n1"))),
            "NotFound: pod: uid nobody was not fed as pending");
}

// --- What is not considered --------------------------------------------------------------------

std::string joined(const flatbuffers::Vector<wire::NotConsidered>* items) {
  std::string all;
  for (std::uint32_t i = 0; items != nullptr && i < items->size(); ++i) {
    all += std::string(all.empty() ? "" : " ") + wire::EnumNameNotConsidered(items->Get(i));
  }
  return all;
}

class NotConsidering : public ServiceTest {
 protected:
  NotConsidering() : ServiceTest(profile()) {}
  static Profile profile() {
    Profile profile = Profile::standard();
    profile.scheduling_gates = false;
    for (const PluginId gone : {PluginId::kTaintToleration, PluginId::kPodTopologySpread}) {
      std::erase_if(profile.scores,
                    [gone](const ScorePlugin& score) { return score.plugin == gone; });
    }
    for (const PluginId gone : {PluginId::kPodTopologySpread, PluginId::kVolumeRestrictions,
                                PluginId::kNodeVolumeLimits, PluginId::kVolumeBinding}) {
      std::erase(profile.filters, gone);
    }
    return profile;
  }
};

TEST_F(NotConsidering, EveryAnswerNamesIt) {
  Pod pending = pod_of("pending", 2);
  pending.not_considered.add(NotConsidered::kHardTopologySpread);
  pending.not_considered.add(NotConsidered::kSchedulingGates);
  pending.scheduler_name = "packer";
  Node tainted = node_of("n1", 4);
  tainted.taints = {{"spot", "", "PreferNoSchedule"}};
  feeder.feed({tainted, pending});
  const std::string expected =
      "SchedulingGates SchedulerName HardTopologySpread PreferNoScheduleTaints";
  for (const PodArg& arg : {PodArg(pending.uid), PodArg(pending)}) {
    EXPECT_EQ(joined(client.evaluated({arg}).decisions()->Get(0)->not_considered()), expected);
    EXPECT_EQ(joined(client.post_filtered(arg).not_considered()), expected);
    EXPECT_EQ(joined(client
                         .take<wire::Explained>(client.ask([&](Builder& builder) {
                           const auto pod = write_ref(builder, arg);
                           return wire::CreateExplain(builder, pod, write_text(builder, "n1"));
                         }))
                         .not_considered()),
              expected);
    EXPECT_EQ(joined(client
                         .take<wire::NodesEvaluated>(client.ask([&](Builder& builder) {
                           return wire::CreateEvaluateNodes(builder, write_ref(builder, arg));
                         }))
                         .not_considered()),
              expected);
  }
  Pod large = pod_of("large", 9);
  large.not_considered.add(NotConsidered::kVolumes);
  const auto& failures = *client.take<wire::Placed>(client.place({large})).failures();
  EXPECT_EQ(joined(failures.Get(0)->not_considered()), "Volumes PreferNoScheduleTaints");
  EXPECT_EQ(client.evaluated({pod_of("plain", 1), pending}).decisions()->size(), 2U);
}

// --- Stats -------------------------------------------------------------------------------------

TEST_F(Stats, CountsAndDigest) {
  const ClusterGenerator generator({.nodes = 30, .pods = 200, .seed = 8});
  const std::vector<Fact> facts = generated_facts(generator);
  std::uint32_t bound = 0;
  for (std::uint32_t p = 0; p < 200; ++p) bound += generator.is_bound(p);
  ASSERT_LT(bound, 200U);
  feeder.feed(facts, generator.options().now_us);
  const Engine engine = engine_with(Profile::standard(), facts, generator.options().now_us);
  EXPECT_EQ(client.stats(true).digest(), engine.digest());
  EXPECT_EQ(client.stats(false).digest(), 0U);
  const wire::StatsReply& stats = client.stats();
  EXPECT_EQ(stats.incarnation(), kIncarnation);
  EXPECT_EQ(stats.fed_sequence(), (facts.size() - 1) / kChangesPerFactsMax + 1);
  EXPECT_EQ(stats.nodes(), 30U);
  EXPECT_EQ(stats.pending_pods(), 200 - bound);
  EXPECT_EQ(stats.shapes(), engine.stats().shapes);
  EXPECT_EQ(stats.reserved_pods(), 0U);
}

TEST_F(Stats, PodsAreAllThatAreKnown) {
  Pod done = pod_of("done", 1, "n1");
  done.phase = "Succeeded";
  feeder.feed(
      {node_of("n1", 8), pod_of("b1", 1, "n1"), pod_of("b2", 1, "n1"), done, pod_of("waits", 1)});
  EXPECT_EQ(client.stats().pods(), 4U);
  EXPECT_EQ(client.reserve_text(pod_of("reserved", 1), "n1"), "ok");
  EXPECT_EQ(client.reserve_text("uid-waits", "n1"), "ok");
  EXPECT_EQ(client.stats().pods(), 5U);
  EXPECT_EQ(client.stats().pending_pods(), 1U);
  EXPECT_EQ(client.stats().reserved_pods(), 2U);
}

TEST_F(Stats, DigestFollowsEveryFact) {
  feeder.feed({node_of("n1", 8)});
  const std::uint64_t one = client.stats(true).digest();
  feeder.facts({pod_of("p", 1, "n1")});
  EXPECT_NE(client.stats(true).digest(), one);
  feeder.facts({removed_pod(pod_of("p", 1))});
  EXPECT_EQ(client.stats(true).digest(), one);
}

}  // namespace
}  // namespace headroom::in_memory::service_decision_test
