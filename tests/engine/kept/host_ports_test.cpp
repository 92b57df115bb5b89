// NodePorts, story by story: who is in whose way, until when, and who has to go. The property tests
// compare the same with the oracle.
#include "engine/kept/host_ports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/objects.h"

namespace headroom::host_ports_test {
namespace {

constexpr const char* kReason = "node(s) didn't have free ports for the requested pod ports";
const ContainerPort kWeb{.host_port = 8080, .protocol = PortProtocol::kTcp, .host_ip = {}};

Profile profile_of(Mode mode) {
  Profile profile;
  profile.mode = mode;
  // In any order: NodePorts comes right after the class filters.
  profile.filters = {PluginId::kNodeResourcesFit, PluginId::kNodePorts, PluginId::kNodeName,
                     PluginId::kNodeAffinity};
  profile.scores = {{PluginId::kNodeResourcesFit}};
  profile.capacity_scheduling = true;
  return profile;
}

Engine make_engine(const Profile& profile = profile_of(Mode::kProposal), int nodes = 1) {
  Result<Engine> engine = Engine::create(profile, {.threads = 1});
  if (!engine) throw std::invalid_argument(engine.error().message);
  for (int n = 1; n <= nodes; ++n) {
    EXPECT_TRUE(engine->upsert(node_of("n" + std::to_string(n), cores(8))));
  }
  return std::move(*engine);
}

Pod pod_of(const std::string& name, std::vector<ContainerPort> ports,
           const std::string& node_name = "", std::int32_t priority = 0) {
  Pod pod = headroom::pod_of("team", name, millicores(100),
                             {.node_name = node_name, .priority = priority});
  pod.containers[0].ports = std::move(ports);
  return pod;
}

// What n1 says: "ok", or its code and reasons.
std::string answer_of(Engine& engine, const Pod& pod, const std::string& node = "n1") {
  const Result<NodeDetail> detail = engine.filter(pod, node);
  if (!detail) return detail.error().message;
  EXPECT_TRUE(engine.validate());
  if (detail->code == Code::kSuccess) return "ok";
  std::string text = std::string(to_string(detail->code)) + " " + to_string(detail->rejected_by);
  for (const std::string& reason : detail->reasons) text += " | " + reason;
  return text;
}
const std::string kTaken = std::string("Unschedulable NodePorts | ") + kReason;

TEST(HostPorts, TwoPodsOfOnePortNeedTwoNodes) {
  Engine engine = make_engine(profile_of(Mode::kProposal), 2);
  const std::vector<Pod> pods = {pod_of("a", {kWeb}), pod_of("b", {kWeb}), pod_of("c", {kWeb}),
                                 pod_of("d", {})};
  const Result<std::vector<Decision>> together = engine.evaluate(pods);
  ASSERT_TRUE(together);
  for (const Decision& decision : *together) EXPECT_EQ(decision.feasible, 2u);
  const Result<std::vector<Placement>> placed = engine.place(pods);
  ASSERT_TRUE(placed);
  EXPECT_EQ(engine.node_name((*placed)[0].node), "n1");
  EXPECT_EQ(engine.node_name((*placed)[1].node), "n2");
  EXPECT_EQ((*placed)[2].node, kNoNode);
  EXPECT_EQ((*placed)[2].decision.message(),
            std::string("0/2 nodes are available: 2 ") + kReason + ".");
  EXPECT_EQ(engine.node_name((*placed)[3].node), "n1");
  EXPECT_TRUE(engine.validate());
}

TEST(HostPorts, ProtocolAndAddressDecide) {
  using enum PortProtocol;
  const struct {
    ContainerPort taken, asked;
    bool conflict;
  } cases[] = {
      {{80, kTcp, ""}, {80, kTcp, ""}, true},
      {{80, kTcp, ""}, {81, kTcp, ""}, false},
      {{53, kUdp, ""}, {53, kTcp, ""}, false},
      {{53, kUdp, ""}, {53, kSctp, ""}, false},
      {{80, kTcp, ""}, {80, kTcp, "10.0.0.1"}, true},
      {{80, kTcp, "10.0.0.1"}, {80, kTcp, "0.0.0.0"}, true},
      {{80, kTcp, "0.0.0.0"}, {80, kTcp, "10.0.0.1"}, true},
      {{80, kTcp, "10.0.0.1"}, {80, kTcp, "10.0.0.1"}, true},
      {{80, kTcp, "10.0.0.1"}, {80, kTcp, "10.0.0.2"}, false},
      {{80, kTcp, "::"}, {80, kTcp, "10.0.0.2"}, false},  // text, as kube-scheduler compares it
  };
  for (const auto& [taken, asked, conflict] : cases) {
    Engine engine = make_engine();
    ASSERT_TRUE(engine.upsert(pod_of("holder", {taken, {9999, kTcp, "10.9.9.9"}}, "n1")));
    EXPECT_EQ(answer_of(engine, pod_of("new", {{1, kTcp, ""}, asked})), conflict ? kTaken : "ok")
        << taken.host_port << to_string(taken.protocol) << taken.host_ip << " and "
        << asked.host_port << to_string(asked.protocol) << asked.host_ip;
  }
}

TEST(HostPorts, SidecarsCountAndOtherInitContainersDoNot) {
  for (const bool sidecar : {true, false}) {
    Engine engine = make_engine();
    Pod holder = pod_of("holder", {}, "n1");
    holder.init_containers = {pod_of("", {kWeb}).containers.front()};
    holder.init_containers.front().restart_always = sidecar;
    ASSERT_TRUE(engine.upsert(holder));
    EXPECT_EQ(answer_of(engine, pod_of("new", {kWeb})), sidecar ? kTaken : "ok");
  }
}

TEST(HostPorts, APodIsNotInItsOwnWay) {
  Engine engine = make_engine();
  Pod twice = pod_of("twice", {kWeb, kWeb});
  twice.containers.push_back(twice.containers.front());
  EXPECT_EQ(answer_of(engine, twice), "ok");
  ASSERT_TRUE(engine.assume(twice, "n1"));
  EXPECT_EQ(answer_of(engine, twice), "ok");
  EXPECT_EQ(answer_of(engine, pod_of("other", {kWeb})), kTaken);
  engine.remove_pod("team", "twice");
  EXPECT_EQ(answer_of(engine, pod_of("other", {kWeb})), "ok");
}

TEST(HostPorts, TakenAsLongAsAPodCounts) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(profile_of(mode));
    const std::uint64_t empty = engine.digest();
    const Pod asks = pod_of("new", {kWeb});
    const Pod holder = pod_of("holder", {kWeb});
    ASSERT_TRUE(engine.assume(holder, "n1"));
    EXPECT_EQ(answer_of(engine, asks), kTaken);
    EXPECT_NE(engine.digest(), empty);
    engine.forget("team", "holder", "holder", "n1");
    EXPECT_EQ(answer_of(engine, asks), "ok");
    EXPECT_EQ(engine.digest(), empty);
    // Bound; its port changes; it ends.
    Pod bound = pod_of("holder", {kWeb}, "n1");
    ASSERT_TRUE(engine.upsert(bound));
    EXPECT_EQ(answer_of(engine, asks), kTaken);
    const std::uint64_t with_web = engine.digest();
    bound.containers.front().ports.front().host_port = 81;
    ASSERT_TRUE(engine.upsert(bound));
    EXPECT_EQ(answer_of(engine, asks), "ok");
    EXPECT_NE(engine.digest(), with_web);
    bound.containers.front().ports.front().host_port = 8080;
    ASSERT_TRUE(engine.upsert(bound));
    EXPECT_EQ(engine.digest(), with_web);
    // Two that the scheduler would not have put together: each holds it.
    ASSERT_TRUE(engine.upsert(pod_of("second", {kWeb}, "n1")));
    bound.phase = "Succeeded";
    ASSERT_TRUE(engine.upsert(bound));
    EXPECT_EQ(answer_of(engine, asks), kTaken);
    engine.remove_pod("team", "second");
    EXPECT_EQ(answer_of(engine, asks), "ok");
    // The node goes and comes; its pods stay.
    ASSERT_TRUE(engine.upsert(pod_of("second", {kWeb}, "n1")));
    engine.remove_node("n1");
    ASSERT_TRUE(engine.upsert(node_of("n1", cores(8))));
    EXPECT_EQ(answer_of(engine, asks), kTaken);
  }
}

TEST(HostPorts, ComeAfterAffinityAndBeforeResources) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(pod_of("holder", {kWeb}, "n1")));
  Pod asks = pod_of("new", {kWeb});
  asks.containers.front().requests = {{"cpu", Quantity::from_value(9)}};
  EXPECT_EQ(answer_of(engine, asks), kTaken);
  asks.node_selector = {{"zone", "a"}};
  EXPECT_EQ(answer_of(engine, asks),
            "UnschedulableAndUnresolvable NodeAffinity | node(s) didn't match Pod's node "
            "affinity/selector");
  engine.remove_pod("team", "holder");
  asks.node_selector.clear();
  EXPECT_EQ(answer_of(engine, asks),
            "UnschedulableAndUnresolvable NodeResourcesFit | Insufficient cpu");
}

TEST(HostPorts, NothingWithoutThePlugin) {
  Profile profile = profile_of(Mode::kProposal);
  std::erase(profile.filters, PluginId::kNodePorts);
  Engine engine = make_engine(profile), portless = make_engine(profile);
  ASSERT_TRUE(engine.upsert(pod_of("holder", {kWeb}, "n1")));
  ASSERT_TRUE(portless.upsert(pod_of("holder", {}, "n1")));
  EXPECT_EQ(answer_of(engine, pod_of("new", {kWeb})), "ok");
  EXPECT_EQ(engine.digest(), portless.digest());
  EXPECT_EQ(*engine.shape_of(pod_of("a", {kWeb})), *engine.shape_of(pod_of("b", {})));
}

TEST(HostPorts, OfADaemonSetsPod) {
  Engine engine = make_engine(profile_of(Mode::kProposal), 100);
  const auto agent = [](const std::string& node) {
    Pod pod = pod_of("agent-" + node, {kWeb});
    pod.required_node_affinity = {{{}, {{"metadata.name", "In", {node}}}}};
    return pod;
  };
  ASSERT_TRUE(engine.upsert(pod_of("holder", {kWeb}, "n7")));
  const Result<Decision> free = engine.evaluate(agent("n8")), taken = engine.evaluate(agent("n7"));
  ASSERT_TRUE(free && taken);
  ASSERT_EQ(free->candidates.size(), 1u);
  EXPECT_EQ(engine.node_name(free->candidates.front().node), "n8");
  EXPECT_EQ(taken->message(), std::string("0/100 nodes are available: 1 ") + kReason +
                                  ", 99 node(s) didn't satisfy plugin(s) [NodeAffinity].");
  // Only what is in the way goes.
  Pod important = agent("n7");
  important.priority = 5;
  ASSERT_TRUE(engine.upsert(pod_of("bystander", {}, "n7")));
  const Result<PostFilter> preemption = engine.post_filter(important);
  ASSERT_TRUE(preemption);
  ASSERT_EQ(preemption->victims.size(), 1u);
  EXPECT_EQ(preemption->victims.front().name, "holder");
}

TEST(HostPorts, ShapesTellDecisionsApartAndCountAsOne) {
  Engine engine = make_engine(profile_of(Mode::kProposal), 2);
  for (std::uint16_t port = 1; port <= 50; ++port) {
    const Pod pod = pod_of("p" + std::to_string(port), {{port, PortProtocol::kUdp, ""}});
    ASSERT_TRUE(engine.evaluate(pod));
    ASSERT_TRUE(engine.assume(pod, "n1"));
  }
  EXPECT_EQ(engine.stats().shapes, 1u);
  const ShapeIndex free = *engine.shape_of(pod_of("a", {kWeb}));
  const ShapeIndex taken = *engine.shape_of(pod_of("b", {{7, PortProtocol::kUdp, ""}}));
  EXPECT_NE(free, taken);
  EXPECT_EQ(*engine.shape_of(pod_of("c", {kWeb, kWeb})), free);
  Decision decision;
  ASSERT_TRUE(engine.evaluate(free, {}, decision));
  EXPECT_EQ(decision.feasible, 2u);
  ASSERT_TRUE(engine.evaluate(taken, {}, decision));
  EXPECT_EQ(decision.feasible, 1u);
  // Kept now, and asked among many.
  const Result<std::vector<Decision>> many = engine.evaluate(
      std::vector<Pod>{pod_of("b", {{7, PortProtocol::kUdp, ""}}), pod_of("d", {})});
  ASSERT_TRUE(many);
  EXPECT_EQ((*many)[0].feasible, 1u);
  EXPECT_EQ((*many)[1].feasible, 2u);
}

TEST(HostPorts, ANominatedPodHoldsThemForNoMoreImportantOne) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(profile_of(mode));
    Pod waits = pod_of("waits", {kWeb}, "", 5);
    waits.nominated_node_name = "n1";
    ASSERT_TRUE(engine.upsert(waits));
    EXPECT_EQ(answer_of(engine, pod_of("less", {kWeb}, "", 4)), kTaken);
    EXPECT_EQ(answer_of(engine, pod_of("equal", {kWeb}, "", 5)), kTaken);
    EXPECT_EQ(answer_of(engine, pod_of("more", {kWeb}, "", 6)), "ok");
    EXPECT_EQ(answer_of(engine, pod_of("else", {}, "", 4)), "ok");
    EXPECT_EQ(answer_of(engine, waits), "ok");
    const Result<Explanation> why = engine.explain(pod_of("less", {kWeb}, "", 4), "n1");
    ASSERT_TRUE(why);
    const auto line = std::find_if(why->terms.begin(), why->terms.end(), [](const auto& term) {
      return term.plugin == PluginId::kNodePorts;
    });
    ASSERT_NE(line, why->terms.end());
    EXPECT_EQ(line->note,
              std::string(kReason) + ": 8080/TCP: taken by pod team/waits, which is nominated");
  }
}

TEST(HostPorts, PreemptionTakesTheHolder) {
  for (const Mode mode : {Mode::kProposal, Mode::kUpstream}) {
    Engine engine = make_engine(profile_of(mode), 2);
    const ContainerPort one_address{8080, PortProtocol::kTcp, "10.0.0.1"};
    ASSERT_TRUE(engine.upsert(pod_of("holder", {one_address, {81, PortProtocol::kTcp, ""}}, "n1")));
    ASSERT_TRUE(engine.upsert(pod_of("other", {{8080, PortProtocol::kUdp, ""}}, "n1")));
    ASSERT_TRUE(engine.upsert(pod_of("bystander", {}, "n1")));
    ASSERT_TRUE(engine.upsert(pod_of("important", {kWeb}, "n2", 9)));
    const Pod asks = pod_of("new", {kWeb}, "", 5);
    for (const bool candidates : {false, true}) {
      const Result<PostFilter> answer = engine.post_filter(asks, {.candidates = candidates});
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->code, Code::kSuccess);
      EXPECT_EQ(engine.node_name(answer->nominated_node), "n1");
      ASSERT_EQ(answer->victims.size(), 1u);
      EXPECT_EQ(answer->victims.front().name, "holder");
    }
    const Result<std::vector<PodVerdict>> verdicts = engine.explain_victims(asks, "n1");
    ASSERT_TRUE(verdicts);
    for (const PodVerdict& verdict : *verdicts) {
      EXPECT_EQ(verdict.victim, verdict.pod.name == "holder") << verdict.pod.name;
      if (verdict.victim) {
        EXPECT_EQ(verdict.why, std::string("has to go: with it ") + kReason);
      }
    }
    // Nobody less important holds it.
    const Result<PostFilter> none = engine.post_filter(pod_of("new", {kWeb}, "", 0));
    ASSERT_TRUE(none);
    EXPECT_EQ(none->nominated_node, kNoNode);
    // A pod that waits there holds it as well, whoever goes.
    Pod waits = pod_of("waits", {kWeb}, "", 5);
    waits.nominated_node_name = "n1";
    ASSERT_TRUE(engine.upsert(waits));
    const Result<PostFilter> blocked = engine.post_filter(asks);
    ASSERT_TRUE(blocked);
    EXPECT_EQ(blocked->nominated_node, kNoNode);
  }
}

TEST(HostPorts, PlaceWithPreemptionHoldsThem) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(pod_of("holder", {kWeb}, "n1")));
  const std::vector<Pod> pods = {pod_of("first", {kWeb}, "", 5), pod_of("second", {kWeb}, "", 5)};
  const Result<std::vector<Placement>> placed = engine.place(pods, {}, true);
  ASSERT_TRUE(placed);
  EXPECT_EQ(engine.node_name((*placed)[0].nominated_node), "n1");
  EXPECT_EQ((*placed)[1].nominated_node, kNoNode);
  engine.remove_pod("team", "holder");
  EXPECT_EQ(answer_of(engine, pods[0]), "ok");
  EXPECT_EQ(answer_of(engine, pods[1]), kTaken);
}

TEST(HostPorts, ExplainNamesPortAndPod) {
  Engine engine = make_engine();
  ASSERT_TRUE(engine.upsert(pod_of("a", {{53, PortProtocol::kUdp, ""}}, "n1")));
  ASSERT_TRUE(engine.upsert(pod_of("holder", {kWeb}, "n1")));
  const auto line_of = [&](const Pod& pod) -> std::string {
    const Result<Explanation> why = engine.explain(pod, "n1");
    EXPECT_TRUE(why);
    bool resources = false;
    std::string text;
    for (const ExplainTerm& term : why->terms) {
      resources |= term.plugin == PluginId::kNodeResourcesFit;
      if (term.plugin != PluginId::kNodePorts) continue;
      EXPECT_FALSE(resources) << "it comes before";
      text += std::string(to_string(why->code)) + (term.passed ? " passed " : " failed ") +
              term.extension_point + ": " + term.note;
    }
    EXPECT_TRUE(resources);
    return text;
  };
  EXPECT_EQ(line_of(pod_of("p", {{81, PortProtocol::kTcp, ""}, {8080, PortProtocol::kTcp, "::1"}})),
            std::string("Unschedulable failed Filter: ") + kReason +
                ": ::1:8080/TCP: taken by pod team/holder");
  EXPECT_EQ(line_of(pod_of("p", {{81, PortProtocol::kTcp, ""}})),
            "Success passed Filter: free: 81/TCP");
  EXPECT_EQ(line_of(pod_of("p", {{81, PortProtocol::kTcp, ""}, {82, PortProtocol::kTcp, ""}})),
            "Success passed Filter: free: 81/TCP and 1 more");
  EXPECT_EQ(line_of(pod_of("p", {})), "");
}

}  // namespace
}  // namespace headroom::host_ports_test
