// Requests that take turns: who is answered in between, what the turns see of it, what is undone.
// A turn is one piece of work here, so that every interleaving is the test's own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_turns_test {
namespace {

class Turns : public ServiceTest {
 protected:
  explicit Turns(Profile profile = Profile::standard())
      : ServiceTest(std::move(profile)), other(*service) {
    other.greet();
  }

  // From now on a turn is a piece, and `client` waits for its own.
  void in_turns() {
    clock_step = kWorkTurnTime;
    client.in_turns = true;
  }
  // Until the client is answered.
  int steps() {
    int count = 0;
    for (; client.waiting(); ++count) client.step();
    return count;
  }
  // A feeder's event at once, whatever is under way.
  void fact(const Fact& fact) {
    feeder.facts({fact});
    EXPECT_FALSE(feeder.has_answer());
  }

  Client other;
};

constexpr int kNodes = 40;

Node hostname_node(int number) {
  Node node = node_of("n" + std::to_string(number), 8);
  node.labels = {{"kubernetes.io/hostname", node.name}};
  return node;
}

// By every other node's name, so that each is a class of its own.
Pod selecting(const std::string& name, const std::string& node) {
  NodeSelectorRequirement others{"kubernetes.io/hostname", "NotIn", {}};
  for (int n = 0; n < kNodes; ++n) {
    if (hostname_node(n).name != node) others.values.push_back(hostname_node(n).name);
  }
  Pod pod = pod_of(name, 1);
  pod.required_node_affinity = {NodeSelectorTerm{{others}, {}}};
  return pod;
}

std::vector<PodArg> pods_of(int count, std::int64_t cpu) {
  std::vector<PodArg> pods;
  for (int p = 0; p < count; ++p) pods.emplace_back(pod_of("p" + std::to_string(p), cpu));
  return pods;
}

std::string best_of(const wire::Decision& decision) {
  return decision.node_names() == nullptr ? "" : decision.node_names()->Get(0)->str();
}

std::vector<Fact> hostname_nodes() {
  std::vector<Fact> facts;
  for (int n = 0; n < kNodes; ++n) facts.emplace_back(hostname_node(n));
  return facts;
}

// --- Shapes ---

TEST_F(Turns, AKnownShapeIsAnsweredWhileANewOneIsPrepared) {
  feeder.feed(hostname_nodes());
  ASSERT_NE(other.best(pod_of("known", 1)), "");
  in_turns();
  const std::uint64_t asked = client.evaluate({selecting("new", "n7")});
  int count = 0;
  for (; client.waiting(); ++count) {
    EXPECT_FALSE(client.has_answer());
    // At once: nothing of the other's work is done for it.
    EXPECT_NE(other.best(pod_of("known", 1)), "");
    client.step();
  }
  EXPECT_GE(count, kNodes) << "nodes are told apart, and then each class is asked";
  EXPECT_EQ(best_of(*client.take<wire::Evaluated>(asked).decisions()->Get(0)), "n7");
  client.evaluate({selecting("again", "n7")});
  EXPECT_FALSE(client.waiting()) << "by now the shape is known";
  EXPECT_TRUE(client.has_answer());
}

TEST_F(Turns, EveryQuestionAboutAPodTakesThem) {
  feeder.feed(hostname_nodes());
  in_turns();
  const std::uint64_t explained = client.ask([](Builder& builder) {
    const auto ref = write_ref(builder, selecting("a", "n7"));
    return wire::CreateExplain(builder, ref, write_text(builder, "n7"));
  });
  EXPECT_GE(steps(), kNodes);
  EXPECT_EQ(client.take<wire::Explained>(explained).code(), wire::Code::Success);
  const std::uint64_t all = client.ask([](Builder& builder) {
    return wire::CreateEvaluateNodes(builder, write_ref(builder, selecting("b", "n8")));
  });
  EXPECT_GE(steps(), kNodes - 2);
  EXPECT_EQ(client.take<wire::NodesEvaluated>(all).node_names()->size(), std::size_t{kNodes});
  // With a reservation first, which waits as well.
  const std::uint64_t both =
      client.evaluate({selecting("c", "n9")}, {.reserve = {{pod_of("r", 8), "n9"}}});
  EXPECT_EQ(other.stats().reserved_pods(), 0U);
  EXPECT_GE(steps(), kNodes - 2);
  EXPECT_EQ(best_of(*client.take<wire::Evaluated>(both).decisions()->Get(0)), "");
  EXPECT_EQ(other.stats().reserved_pods(), 1U);
}

// Each row is looked at by itself; what changes behind the turns is looked at again.
TEST_F(Turns, APodWithHostPortsSeesTheFactsOfItsLastTurn) {
  feeder.feed(hostname_nodes());
  const auto with_port = [](const std::string& name, std::uint16_t port, const std::string& node) {
    Pod pod = pod_of(name, 1, node);
    pod.containers[0].ports.push_back(
        {.host_port = port, .protocol = PortProtocol::kTcp, .host_ip = {}});
    return pod;
  };
  const auto text_of_reply = [](const wire::Evaluated& reply) {
    const wire::Decision& decision = *reply.decisions()->Get(0);
    std::string text = fmt::format("{} of {}:", decision.feasible(), decision.nodes());
    for (const auto* node : *decision.node_names()) text += " " + node->str();
    for (const std::int64_t total : *decision.totals()) text += fmt::format(" {}", total);
    return text;
  };
  in_turns();
  const std::uint64_t asked =
      client.evaluate({with_port("asks", 80, "")}, {.top_k = 64, .scores = true});
  for (int turn = 0; turn < 30; ++turn) {
    ASSERT_TRUE(client.waiting());
    fact(with_port("p" + std::to_string(turn), turn % 2 == 0 ? 80 : 81,
                   "n" + std::to_string(turn % 20)));
    if (turn % 4 == 0) fact(removed_node("n" + std::to_string(turn)));
    if (turn == 9) fact(node_of("late", 64));
    client.step();
  }
  steps();
  const std::string in_turns = text_of_reply(client.take<wire::Evaluated>(asked));
  clock_step = {};
  EXPECT_EQ(in_turns, text_of_reply(other.evaluated({with_port("asks", 80, "")},
                                                    {.top_k = 64, .scores = true})));
  // And the same as one that was never asked in turns.
  Engine& engine = const_cast<Engine&>(service->engine());
  engine.drop_shape_cache();
  EXPECT_EQ(in_turns, text_of_reply(other.evaluated({with_port("asks", 80, "")},
                                                    {.top_k = 64, .scores = true})));
}

// More at a time than the engine keeps looks for: each is answered all the same.
TEST_F(Turns, ManyPodsWithHostPortsAreAllAnswered) {
  feeder.feed(hostname_nodes());
  in_turns();
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint16_t c = 0; c < 12; ++c) {
    clients.push_back(std::make_unique<Client>(*service));
    clients.back()->greet();
    clients.back()->in_turns = true;
    Pod pod = pod_of("asks" + std::to_string(c), 1);
    pod.containers[0].ports.push_back({.host_port = static_cast<std::uint16_t>(80 + c),
                                       .protocol = PortProtocol::kTcp,
                                       .host_ip = {}});
    clients.back()->evaluate({pod});
  }
  int count = 0;
  while (service->step()) ASSERT_LT(++count, 12 * 3 * kNodes);
  for (const auto& asks : clients) EXPECT_TRUE(asks->has_answer());
}

TEST_F(Turns, OfSeveralEachHasItsTurn) {
  feeder.feed(hostname_nodes());
  in_turns();
  other.in_turns = true;
  client.evaluate({selecting("a", "n1")});
  other.evaluate({selecting("b", "n2")});
  int count = 0;
  for (; client.waiting() && other.waiting(); ++count) client.step();
  EXPECT_GE(count, kNodes);
  for (; client.waiting() || other.waiting(); ++count) client.step();
  EXPECT_LE(count, 6 * kNodes) << "the nodes are told apart once for both";
  EXPECT_TRUE(client.has_answer() && other.has_answer());
  EXPECT_FALSE(service->step());
}

// --- Batches ---

TEST_F(Turns, ABatchSeesWhatChangesBetweenItsPods) {
  feeder.feed({node_of("n1", 8), node_of("n2", 4)});
  in_turns();
  const std::uint64_t asked = client.evaluate(pods_of(12, 2));
  EXPECT_TRUE(client.waiting());
  EXPECT_EQ(other.best(pod_of("known", 3)), "n1") << "answered first";
  fact(removed_node("n1"));
  steps();
  const wire::Evaluated& reply = client.take<wire::Evaluated>(asked);
  ASSERT_EQ(reply.decisions()->size(), 12U);
  EXPECT_EQ(best_of(*reply.decisions()->Get(0)), "n1");
  EXPECT_EQ(best_of(*reply.decisions()->Get(11)), "n2");
  EXPECT_EQ(reply.epoch(), other.stats().epoch()) << "of the last pod";
}

TEST_F(Turns, RepliesComeInTheOrderOfTheRequests) {
  feeder.feed({node_of("n1", 8)});
  ASSERT_EQ(client.best(pod_of("p0", 2)), "n1");
  in_turns();
  const std::uint64_t batch = client.evaluate(pods_of(9, 2));
  const std::uint64_t single = client.evaluate({pod_of("p0", 2)});
  const std::uint64_t last =
      client.ask([](Builder& builder) { return wire::CreateStats(builder); });
  EXPECT_FALSE(client.has_answer());
  steps();
  EXPECT_EQ(client.take<wire::Evaluated>(batch).decisions()->size(), 9U);
  EXPECT_EQ(client.take<wire::Evaluated>(single).decisions()->size(), 1U);
  client.take<wire::StatsReply>(last);
}

TEST_F(Turns, ABatchThatFailsLaterUndoesItsReservation) {
  feeder.feed({node_of("n1", 8), pod_of("fed", 1)});
  in_turns();
  std::vector<PodArg> pods = pods_of(9, 2);
  pods.emplace_back("uid-fed");
  const std::uint64_t asked = client.evaluate(pods, {.reserve = {{pod_of("r", 3), "n1"}}});
  client.step();  // a new shape is a piece of its own,
  client.step();  // and so is what it reads
  EXPECT_TRUE(client.waiting());
  EXPECT_EQ(other.stats().reserved_pods(), 1U) << "the first pods have been decided";
  fact(removed_pod(pod_of("fed", 1)));
  steps();
  EXPECT_EQ(client.error(asked), "NotFound: pods[9]: pod: uid uid-fed was not fed as pending");
  EXPECT_EQ(other.stats().reserved_pods(), 0U);
}

TEST_F(Turns, APeerThatGoesTakesItsWorkAlong) {
  feeder.feed(hostname_nodes());
  in_turns();
  {
    Client gone(*service);
    gone.greet();
    gone.in_turns = true;
    gone.evaluate(pods_of(9, 2), {.reserve = {{pod_of("r", 3), "n1"}}});
    gone.step();  // a new shape is a piece of its own,
    gone.step();  // and so is what it reads
    EXPECT_TRUE(gone.waiting());
    EXPECT_EQ(other.stats().reserved_pods(), 1U);
    gone.disconnect();
    EXPECT_EQ(other.stats().reserved_pods(), 0U);
  }
  EXPECT_FALSE(service->step());
  EXPECT_NE(other.best(pod_of("known", 1)), "");
}

// --- Place ---

TEST_F(Turns, PlaceIsTheSameInTurns) {
  feeder.feed({node_of("n1", 4), node_of("n2", 8)});
  const std::vector<PodArg> pods = pods_of(8, 2);
  const std::string at_once = client.place_text(pods);
  for (const PodArg& pod : pods) {
    for (const char* node : {"n1", "n2"}) {
      client.unreserve(std::get<Pod>(pod), std::get<Pod>(pod).uid, node);
    }
  }
  ASSERT_EQ(other.stats().reserved_pods(), 0U);
  in_turns();
  const std::uint64_t asked = client.place(pods, true);
  EXPECT_GE(steps(), 14) << "each pod is checked, and then placed";
  const wire::Placed& placed = client.take<wire::Placed>(asked);
  std::string names;
  for (const auto* node : *placed.node_names()) {
    names += (names.empty() ? "" : " ") + (node->size() == 0 ? "-" : node->str());
  }
  EXPECT_EQ(names, at_once);
  ASSERT_EQ(placed.failures()->size(), 2U);
  EXPECT_EQ(text(placed.failures()->Get(0)->reasons()->Get(0)->reason()), "Insufficient cpu");
  EXPECT_EQ(other.stats().reserved_pods(), 6U);
}

TEST_F(Turns, WhatCanBeRefusedIsRefusedBeforeTheFirstIsPlaced) {
  feeder.feed({node_of("n1", 8), pod_of("p7", 1, "n1")});
  in_turns();
  const std::uint64_t asked = client.place(pods_of(8, 1));
  while (client.waiting()) {
    EXPECT_EQ(other.stats().reserved_pods(), 0U);
    client.step();
  }
  EXPECT_EQ(client.error(asked), "Conflict: pod team/p7 is bound to node n1");
}

TEST_F(Turns, WhatFailsOnlyThenUndoesTheOthers) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  ASSERT_EQ(client.reserve_text(pod_of("p0", 1), "n2"), "ok");
  const std::uint64_t digest = client.stats(true).digest();
  in_turns();
  const std::uint64_t asked = client.place(pods_of(6, 1));
  while (client.waiting() && other.stats().reserved_pods() < 3) client.step();
  ASSERT_TRUE(client.waiting());
  fact(pod_of("p5", 1, "n1"));
  steps();
  EXPECT_EQ(client.error(asked), "Conflict: pod team/p5 is bound to node n1");
  EXPECT_EQ(other.stats().reserved_pods(), 1U);
  fact(removed_pod(pod_of("p5", 1)));
  clock_step = {};
  EXPECT_EQ(other.stats(true).digest(), digest) << "p0 is where it was reserved before";
}

TEST_F(Turns, UndoingLeavesWhatOthersHaveChangedSince) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  in_turns();
  client.place(pods_of(6, 1));
  while (client.waiting() && other.stats().reserved_pods() < 3) client.step();
  ASSERT_TRUE(client.waiting());
  fact(pod_of("p0", 1, "n2"));  // bound: no reservation any more
  client.disconnect();
  EXPECT_EQ(other.stats().reserved_pods(), 0U);
  EXPECT_EQ(other.stats().pods(), 1U);
  EXPECT_NE(service->engine().node_of_pod("team", "p0"), kNoNode);
}

// --- Validation ---

TEST_F(Turns, AValidationIsTakenRowByRow) {
  feeder.feed(hostname_nodes());
  in_turns();
  const std::uint64_t asked =
      client.ask([](Builder& builder) { return wire::CreateStats(builder, false, true); });
  for (int turn = 0; turn < 10; ++turn) {
    ASSERT_TRUE(client.waiting());
    // What it has seen, and what it has not.
    fact(pod_of("p" + std::to_string(turn), 1, "n" + std::to_string(2 * turn)));
    fact(removed_node("n" + std::to_string(2 * turn + 1)));
    client.step();
  }
  EXPECT_GE(steps(), kNodes / 2);
  EXPECT_EQ(client.take<wire::StatsReply>(asked).invalid(), nullptr);
}

// Facts of all kinds come between its turns, before what it has seen and behind it.
TEST_F(Turns, ADigestIsThatOfTheFactsAtItsLastTurn) {
  std::vector<Fact> facts = hostname_nodes();
  for (int p = 0; p < 30; ++p) {
    facts.emplace_back(pod_of("p" + std::to_string(p), 1, "n" + std::to_string(p)));
  }
  feeder.feed(facts);
  in_turns();
  const std::uint64_t asked =
      client.ask([](Builder& builder) { return wire::CreateStats(builder, true, true); });
  int count = 0;
  for (; client.waiting(); client.step(), ++count) {
    if (count >= 120 || count % 3 != 0) continue;
    const int n = count / 3;
    fact(pod_of("p" + std::to_string(n % 30), 1, "n" + std::to_string(n % 7)));
    fact(pod_of("q" + std::to_string(n), 1, n % 2 == 0 ? "" : "n1"));
    fact(removed_pod(pod_of("q" + std::to_string(n / 2), 1)));
    if (n % 5 == 0) fact(removed_node("n" + std::to_string(n)));
    Node changed = hostname_node(n / 2);
    changed.labels.emplace_back("zone", std::to_string(n));
    fact(changed);
    ASSERT_EQ(other.reserve_text(pod_of("r" + std::to_string(n), 0), "n39"), "ok");
  }
  EXPECT_GT(count, 120);
  const wire::StatsReply& reply = client.take<wire::StatsReply>(asked);
  EXPECT_EQ(reply.invalid(), nullptr);
  const std::uint64_t digest = reply.digest(), of_quotas = reply.capacity_digest();
  clock_step = {};
  const wire::StatsReply& at_once = other.stats(true);
  EXPECT_EQ(digest, at_once.digest());
  EXPECT_EQ(of_quotas, at_once.capacity_digest());
  EXPECT_EQ(digest, service->engine().digest());
  EXPECT_EQ(of_quotas, service->capacity_quotas().digest());
}

TEST_F(Turns, AResyncAmidADigestMakesItOneOfTheNewState) {
  feeder.feed(hostname_nodes());
  in_turns();
  const std::uint64_t asked =
      client.ask([](Builder& builder) { return wire::CreateStats(builder, true, true); });
  for (int turn = 0; turn < 10; ++turn) client.step();
  ASSERT_TRUE(client.waiting());
  feeder.feed({node_of("m1", 8), pod_of("p", 1, "m1")});
  steps();
  const wire::StatsReply& reply = client.take<wire::StatsReply>(asked);
  EXPECT_EQ(reply.nodes(), 1U);
  EXPECT_EQ(reply.digest(), service->engine().digest());
  EXPECT_EQ(reply.capacity_digest(), service->capacity_quotas().digest());
  EXPECT_EQ(reply.invalid(), nullptr);
}

// --- Preemption ---

std::string text_of_candidates(const wire::PostFiltered& reply) {
  std::string text =
      fmt::format("{} {}:", wire::EnumNameCode(reply.code()),
                  reply.nominated_node() == nullptr ? "" : reply.nominated_node()->str());
  if (reply.candidates() == nullptr) return text;
  for (const wire::NodeVictims* node : *reply.candidates()) {
    text += fmt::format(" {} {} {}", node->node_name()->str(), wire::EnumNameCode(node->code()),
                        node->victims() == nullptr ? 0 : node->victims()->size());
  }
  return text;
}

// Full nodes, each with one pod of priority 0.
std::vector<Fact> full_nodes(const std::string& prefix, int count) {
  std::vector<Fact> facts;
  for (int n = 0; n < count; ++n) {
    const std::string name = prefix + std::to_string(n);
    facts.emplace_back(node_of(name, 4));
    facts.emplace_back(pod_of("low-" + name, 4, name));
  }
  return facts;
}

TEST_F(Turns, PostFilterTellsOfEveryNodeAsItWasAtItsTurn) {
  feeder.feed(full_nodes("n", 1000));
  Pod preemptor = pod_of("high", 4);
  preemptor.priority = 10;
  in_turns();
  const std::uint64_t asked = client.post_filter(preemptor, true);
  ASSERT_TRUE(client.waiting());
  EXPECT_EQ(other.evaluated({pod_of("small", 4)}).decisions()->size(), 1U);  // meanwhile
  Pod higher = pod_of("low-n999", 4, "n999");
  higher.priority = 20;
  fact(higher);
  EXPECT_GE(steps(), 2);
  const wire::PostFiltered& reply = client.take<wire::PostFiltered>(asked);
  ASSERT_EQ(reply.candidates()->size(), 1000U);
  EXPECT_EQ(reply.candidates()->Get(998)->code(), wire::Code::Success);
  EXPECT_NE(reply.candidates()->Get(999)->code(), wire::Code::Success);
  const std::string in_turns = text_of_candidates(reply);
  clock_step = {};
  EXPECT_EQ(in_turns, text_of_candidates(other.post_filtered(preemptor, true)));
}

TEST_F(Turns, AResyncAmidAPostFilterMakesItOneOfTheNewState) {
  feeder.feed(full_nodes("n", 6000));
  Pod preemptor = pod_of("high", 4);
  preemptor.priority = 10;
  in_turns();
  const std::uint64_t asked = client.post_filter(preemptor, true);
  ASSERT_TRUE(client.waiting());
  feeder.feed(full_nodes("m", 3));
  steps();
  const wire::PostFiltered& reply = client.take<wire::PostFiltered>(asked);
  ASSERT_EQ(reply.candidates()->size(), 3U);
  EXPECT_EQ(text_of_candidates(reply), "Success m0: m0 Success 1 m1 Success 1 m2 Success 1");
}

// --- Capacity ---

Node pool_node(const std::string& name, const std::string& pool) {
  Node node = node_of(name, 4);
  node.labels = {{"pool", pool}};
  node.capacity = cores(4);
  return node;
}

// Of all nodes that say their pool.
CapacityQuota cores_quota(const std::string& name, const std::string& cpu) {
  return capacity_quota(name, {{"cpu", cpu}}, {{"pool", "Exists", {}}});
}

// Of a pool each.
NodeCounts templates_of(int count) {
  NodeCounts templates;
  for (int t = 0; t < count; ++t) {
    templates.emplace_back(pool_node("", "new" + std::to_string(t)), 1);
  }
  return templates;
}

std::string text_of_plan(const wire::CapacityPlanned& planned) {
  const auto text_of_break = [](const wire::CapacityBreak* stopped) {
    return stopped == nullptr ? "none" : fmt::format("{} {}", stopped->item(), stopped->fits());
  };
  std::string all = fmt::format("net {} peak {}", text_of_break(planned.net_break()),
                                text_of_break(planned.peak_break()));
  for (const wire::PlanRow* row : *planned.rows()) {
    all += fmt::format("; {} {} of {} {} {} {}", text(row->quota()), row->net(), row->limit(),
                       row->used(), row->added(), row->removed());
  }
  return all;
}

TEST_F(Turns, ACapacityCheckAnswersEachItemAtItsTurn) {
  feeder.feed({cores_quota("q", "10")});
  in_turns();
  const std::uint64_t asked = client.capacity_check(NodeCounts(6, {pool_node("", "new"), 5}));
  ASSERT_TRUE(client.waiting());
  EXPECT_EQ(other.allowed(pool_node("", "other"), 5), 2) << "answered first";
  fact(pool_node("n1", "a"));
  EXPECT_EQ(steps(), 5);
  const wire::CapacityChecked& reply = client.take<wire::CapacityChecked>(asked);
  ASSERT_EQ(reply.answers()->size(), 6U);
  EXPECT_EQ(reply.answers()->Get(0)->allowed(), 2);
  EXPECT_EQ(reply.answers()->Get(5)->allowed(), 1);
  EXPECT_EQ(reply.epoch(), other.stats().epoch()) << "of the last item";
}

TEST_F(Turns, ACapacityPlanIsOfOneMoment) {
  feeder.feed({pool_node("n1", "a"), pool_node("n2", "a"), cores_quota("q", "40"),
               cores_quota("r", "100")});
  const auto& now =
      other.take<wire::CapacityPlanned>(other.capacity_plan(templates_of(10), {"n1"}));
  const std::string at_once = text_of_plan(now);
  const std::uint64_t epoch = now.epoch();
  EXPECT_EQ(at_once,
            "net 9 0 peak 8 0; CapacityQuota/q 44000 of 40000 8000 40000 4000;"
            " CapacityQuota/r 44000 of 100000 8000 40000 4000");
  in_turns();
  const std::uint64_t asked = client.capacity_plan(templates_of(10), {"n1"});
  for (int turn = 0; turn < 12; ++turn) client.step();  // all is read, and the sums are copied
  for (int turn = 0; client.waiting(); ++turn) {
    fact(pool_node("late" + std::to_string(turn), "b"));
    fact(removed_node("n1"));
    fact(cores_quota("q", "40"));  // as it was
    EXPECT_EQ(other.allowed(pool_node("", "other"), 100), turn > 7 ? 0 : 8 - turn)
        << "nothing that is planned is seen";
    ASSERT_LT(turn, 40);
    client.step();
  }
  const auto& reply = client.take<wire::CapacityPlanned>(asked);
  EXPECT_EQ(text_of_plan(reply), at_once);
  EXPECT_EQ(reply.epoch(), epoch);
  const std::uint64_t later = other.capacity_plan(templates_of(1), {});
  EXPECT_GT(other.take<wire::CapacityPlanned>(later).epoch(), epoch);
}

TEST_F(Turns, ACapacityPlanBeginsAgainWhereAQuotaChanges) {
  feeder.feed({pool_node("n1", "a"), cores_quota("q", "40"), cores_quota("r", "100")});
  in_turns();
  for (int before = 1; before < 30; ++before) {
    const std::string limit = std::to_string(10 + before);
    const std::uint64_t asked = client.capacity_plan(templates_of(6), {});
    for (int turn = 1; turn < before && client.waiting(); ++turn) client.step();
    const bool amid = client.waiting();
    EXPECT_EQ(amid, before < 27) << before;
    fact(cores_quota("q", limit));
    if (before % 3 == 0) fact(removed_capacity_quota("r"));
    steps();
    const std::string in_turns = text_of_plan(client.take<wire::CapacityPlanned>(asked));
    const std::string at_once =
        text_of_plan(other.take<wire::CapacityPlanned>(other.capacity_plan(templates_of(6), {})));
    EXPECT_EQ(in_turns == at_once, amid) << in_turns << at_once;
    fact(cores_quota("r", "100"));
  }
}

TEST_F(Turns, AResyncAmidACapacityPlanMakesItOneOfTheNewState) {
  feeder.feed({cores_quota("q", "40")});
  in_turns();
  const std::uint64_t asked = client.capacity_plan(templates_of(6), {"m1"});
  for (int turn = 0; turn < 3; ++turn) client.step();
  feeder.feed({pool_node("m1", "a"), cores_quota("q", "12")});
  steps();
  EXPECT_EQ(text_of_plan(client.take<wire::CapacityPlanned>(asked)),
            "net 3 0 peak 2 0; CapacityQuota/q 24000 of 12000 4000 24000 4000");
}

TEST_F(Turns, NodesAreReservedWholeOrNotAtAll) {
  feeder.feed({cores_quota("q", "24")});
  in_turns();
  const std::int64_t soon_us = kNowUs + 60 * kSecondUs;
  const std::uint64_t asked = client.capacity_reserve("up", templates_of(6), soon_us);
  int count = 0;
  for (; client.waiting(); client.step(), ++count) {
    EXPECT_EQ(other.stats().capacity_reservations(), 0U);
    EXPECT_EQ(other.allowed(pool_node("", "other"), 100), 6);
  }
  EXPECT_GE(count, 20) << "each is read, looked at, walked and given a class";
  EXPECT_TRUE(client.take<wire::CapacityReserved>(asked).accepted());
  EXPECT_EQ(other.stats().capacity_reservations(), 1U);
  EXPECT_EQ(other.allowed(pool_node("", "other"), 100), 0);
  // Who goes before the last turn holds nothing.
  EXPECT_TRUE(client.capacity_released("up"));
  client.capacity_reserve("gone", templates_of(6), soon_us);
  for (int turn = 1; turn < count; ++turn) client.step();
  ASSERT_TRUE(client.waiting());
  client.disconnect();
  EXPECT_EQ(other.stats().capacity_reservations(), 0U);
}

// Whenever a node, a quota or another's reservation takes the room.
TEST_F(Turns, NodesAreNotReservedWhereTheRoomWasTakenMeanwhile) {
  feeder.feed({cores_quota("q", "24")});
  in_turns();
  const std::int64_t soon_us = kNowUs + 60 * kSecondUs;
  int seen = 0;
  for (int before = 0; seen < 3; ++before) {
    for (const int how : {0, 1, 2}) {
      const std::uint64_t asked =
          client.capacity_reserve("up", templates_of(6), soon_us, wire::ReserveMode::UpTo);
      for (int turn = 0; turn < before && client.waiting(); ++turn) client.step();
      const bool amid = client.waiting();
      seen += amid ? 0 : 1;
      if (how == 0) fact(pool_node("late", "b"));
      if (how == 1) fact(cores_quota("q", "20"));
      // `other` waits for its own, so that both have turns.
      const bool side =
          how == 2 &&
          other.capacity_reserved("side", {{pool_node("", "b"), 1}}, soon_us).accepted();
      steps();
      const wire::CapacityReserved& reply = client.take<wire::CapacityReserved>(asked);
      EXPECT_TRUE(reply.accepted());
      std::int64_t nodes = 0;
      for (const std::int64_t allowed : *reply.allowed()) nodes += allowed;
      EXPECT_EQ(nodes, side || (how != 2 && amid) ? 5 : 6) << before << " " << how;
      const auto* quota = other.capacity_quota_status().quotas()->Get(0);
      const auto* cpu = quota->amounts()->Get(0);
      if (amid) {
        EXPECT_LE(cpu->used() + cpu->reserved(), cpu->limit()) << before << " " << how;
      }
      EXPECT_TRUE(client.capacity_released("up"));
      EXPECT_EQ(other.capacity_released("side"), side);
      fact(removed_node("late"));
      fact(cores_quota("q", "24"));
    }
    ASSERT_LT(before, 60);
  }
}

TEST_F(Turns, OfTwoThatReserveUnderOneIdOneDoes) {
  feeder.feed({cores_quota("q", "24")});
  in_turns();
  other.in_turns = true;
  const std::int64_t soon_us = kNowUs + 60 * kSecondUs;
  const std::uint64_t first = client.capacity_reserve("up", templates_of(2), soon_us);
  const std::uint64_t second = other.capacity_reserve("up", templates_of(3), soon_us);
  while (service->step()) {
  }
  EXPECT_TRUE(client.take<wire::CapacityReserved>(first).accepted());
  EXPECT_EQ(other.error(second), "Conflict: reservation up: is live");
}

TEST_F(Turns, CapacityQuotasAreListedOneByOne) {
  std::vector<Fact> facts;
  for (int q = 0; q < 9; ++q) facts.emplace_back(cores_quota("q" + std::to_string(q), "24"));
  feeder.feed(facts);
  in_turns();
  const std::uint64_t asked = client.ask_capacity_quota_status("CapacityQuota/q0");
  client.step();
  fact(removed_capacity_quota("q0"));
  fact(removed_capacity_quota("q8"));
  EXPECT_GE(steps(), 6);
  const wire::CapacityQuotaStatusReply& reply = client.take<wire::CapacityQuotaStatusReply>(asked);
  ASSERT_EQ(reply.quotas()->size(), 7U);
  EXPECT_EQ(text(reply.quotas()->Get(0)->id()), "CapacityQuota/q1");
  EXPECT_EQ(text(reply.quotas()->Get(6)->id()), "CapacityQuota/q7");
  EXPECT_FALSE(reply.more());
}

// --- Facts ---

TEST_F(Turns, FactsAreAppliedInOrderAndTheNextOnesWait) {
  feeder.feed({node_of("n1", 8)});
  ASSERT_EQ(other.best(pod_of("known", 7)), "n1");
  in_turns();
  feeder.in_turns = true;
  feeder.facts({node_of("n2", 8), pod_of("p", 2, "n2"), removed_node("n1")});
  EXPECT_TRUE(feeder.waiting());
  feeder.facts({removed_node("n2"), node_of("n3", 8)});
  EXPECT_EQ(other.stats().nodes(), 2U) << "the first change";
  EXPECT_EQ(other.best(pod_of("q", 7)), "n1");
  while (feeder.waiting()) feeder.step();
  EXPECT_EQ(other.stats().nodes(), 1U);
  EXPECT_EQ(other.best(pod_of("q", 7)), "n3");
  EXPECT_FALSE(feeder.has_answer());
}

TEST_F(Turns, AFeederThatGoesLeavesWholeFacts) {
  feeder.feed({node_of("n1", 8)});
  in_turns();
  feeder.in_turns = true;
  feeder.facts({node_of("n2", 8), node_of("n3", 8), node_of("n4", 8)});
  EXPECT_TRUE(feeder.waiting());
  feeder.disconnect();
  EXPECT_EQ(other.stats().nodes(), 4U);
}

TEST_F(Turns, FactsOfAReplacedFeederEndWithIt) {
  feeder.feed({node_of("n1", 8)});
  in_turns();
  feeder.in_turns = true;
  feeder.begin();
  feeder.facts({node_of("a1", 8), node_of("a2", 8), node_of("a3", 8)});
  EXPECT_TRUE(feeder.waiting());
  other.feed({node_of("b1", 8), node_of("b2", 8)});
  while (feeder.waiting()) feeder.step();
  EXPECT_EQ(feeder.stopped(), "Replaced: test feeds now");
  EXPECT_EQ(other.stats().nodes(), 2U) << "nothing of the one before";
  EXPECT_EQ(other.best(pod_of("q", 1)), "b1");
}

TEST_F(Turns, AResyncEndsInTurnsAndDecisionsGoFromOneStateToTheOther) {
  feeder.feed({node_of("old", 8)});
  ASSERT_EQ(client.reserve_text(pod_of("r", 6), "old"), "ok");
  ASSERT_EQ(other.best(pod_of("known", 7)), "");
  in_turns();
  feeder.in_turns = true;
  feeder.begin();
  feeder.facts({node_of("n1", 8), node_of("n2", 8), node_of("n3", 8), node_of("old", 8)});
  feeder.end();
  int before = 0;
  for (; feeder.waiting(); feeder.step()) {
    if (!other.stats().resyncing()) continue;
    ++before;
    EXPECT_EQ(other.stats().nodes(), 1U);
    EXPECT_EQ(other.best(pod_of("q", 7)), "");
  }
  EXPECT_GE(before, 5) << "four changes, and the rows of the new state";
  EXPECT_EQ(other.stats().nodes(), 4U);
  EXPECT_EQ(other.stats().reserved_pods(), 1U);
  EXPECT_EQ(other.best(pod_of("q", 7)), "n1");
}

TEST_F(Turns, AResyncAmidABatchLeavesTheBatchWhole) {
  feeder.feed({node_of("n1", 8)});
  in_turns();
  const std::uint64_t placing = client.place(pods_of(6, 1));
  while (client.waiting() && other.stats().reserved_pods() < 2) client.step();
  ASSERT_TRUE(client.waiting());
  client.in_turns = true;
  feeder.begin();
  feeder.facts({node_of("n2", 2), node_of("n1", 8)});
  feeder.end();
  steps();
  EXPECT_EQ(client.take<wire::Placed>(placing).node_names()->size(), 6U);
  EXPECT_EQ(other.stats().reserved_pods(), 6U);
}

}  // namespace
}  // namespace headroom::in_memory::service_turns_test
