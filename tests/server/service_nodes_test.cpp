// EvaluateNodes: every node in pages, single nodes, and one node as it would be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_nodes_test {
namespace {

constexpr std::uint16_t kMayRun = 65535;

std::string joined(const flatbuffers::Vector<Offset<flatbuffers::String>>* texts) {
  std::string all;
  for (std::uint32_t t = 0; texts != nullptr && t < texts->size(); ++t) {
    all += (all.empty() ? "" : "; ") + texts->Get(t)->str();
  }
  return all;
}

// "n1 ok 98\nn2 Unschedulable NodeResourcesFit: Insufficient cpu", totals where there are some.
std::string text_of(const wire::NodesEvaluated& reply) {
  std::string all;
  for (std::uint32_t n = 0; n < reply.node_verdicts()->size(); ++n) {
    all += (n == 0 ? "" : "\n") + reply.node_names()->Get(n)->str();
    const std::uint16_t place = reply.node_verdicts()->Get(n);
    if (place == kMayRun) {
      all += " ok";
    } else {
      const wire::NodeVerdict& verdict = *reply.verdicts()->Get(place);
      all += fmt::format(" {} {}: {}", wire::EnumNameCode(verdict.code()),
                         to_string(static_cast<PluginId>(verdict.plugin())),
                         joined(verdict.reasons()));
    }
    if (reply.totals() != nullptr) all += fmt::format(" {}", reply.totals()->Get(n));
  }
  return all;
}

class EvaluatingNodes : public ServiceTest {
 protected:
  explicit EvaluatingNodes(Profile profile = Profile::standard())
      : ServiceTest(std::move(profile)) {}

  std::uint64_t ask(const PodArg& pod, const EvaluateNodesRequest& request = {}) {
    return client.ask([&](Builder& builder) {
      const auto ref = [](const PodArg& arg) {
        const auto* whole = std::get_if<Pod>(&arg);
        return whole != nullptr ? PodRef(*whole) : PodRef::by_uid(std::get<std::string>(arg));
      };
      return encode_evaluate_nodes(builder, ref(pod), request);
    });
  }
  const wire::NodesEvaluated& told(const PodArg& pod, const EvaluateNodesRequest& request = {}) {
    return client.take<wire::NodesEvaluated>(ask(pod, request));
  }
  // What n1 would say.
  std::string as_if(const Pod& pod, const std::vector<PodName>& without,
                    const std::vector<PodRef>& with) {
    const std::vector<std::string> names = {"n1"};
    return text_of(told(pod, {.node_names = names, .without_pods = without, .with_pods = with}));
  }
};

Profile with_capacity_scheduling() {
  Profile profile = Profile::standard();
  profile.capacity_scheduling = true;
  return profile;
}

class NominatedToNodes : public EvaluatingNodes {
 protected:
  NominatedToNodes() : EvaluatingNodes(with_capacity_scheduling()) {}
};

TEST_F(EvaluatingNodes, AnswersAsTheEngineDoes) {
  const ClusterGenerator generator({.nodes = 60, .pods = 600, .seed = 3, .bound_permille = 850});
  const std::vector<Fact> facts = generated_facts(generator);
  feeder.feed(facts, generator.options().now_us);
  Engine engine = engine_with(Profile::standard(), facts, generator.options().now_us);
  std::size_t feasible = 0, rejected = 0;
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    if (generator.is_bound(p)) continue;
    const Pod pod = generator.pod(p);
    const auto details = engine.evaluate_all(pod);
    ASSERT_TRUE(details);
    std::string with_totals, without;
    std::vector<std::string> names;
    for (const NodeDetail& detail : *details) {
      names.emplace_back(engine.node_name(detail.node));
      std::string said = names.back();
      if (detail.code == Code::kSuccess) {
        said += " ok";
        ++feasible;
      } else {
        said += fmt::format(" {} {}: {}", to_string(detail.code), to_string(detail.rejected_by),
                            fmt::join(detail.reasons, "; "));
        ++rejected;
      }
      without += (without.empty() ? "" : "\n") + said;
      with_totals += (with_totals.empty() ? "" : "\n") + fmt::format("{} {}", said, detail.total);
    }
    const wire::NodesEvaluated& all = told(pod.uid);
    EXPECT_EQ(text_of(all), with_totals) << pod.name;
    EXPECT_EQ(all.nodes(), 60U);
    EXPECT_EQ(all.next(), 0U);
    EXPECT_EQ(all.pre_filter(), nullptr);
    EXPECT_LT(all.verdicts()->size(), 20U);
    EXPECT_EQ(text_of(told(pod, {.node_names = names})), without) << pod.name;
  }
  EXPECT_GT(feasible, 100U);
  EXPECT_GT(rejected, 100U);
}

TEST_F(EvaluatingNodes, ByNameInTheirOrderWithoutThoseUnknown) {
  feeder.feed({node_of("n1", 4), node_of("n2", 8), node_of("n3", 1)});
  const std::string too_small =
      "n3 UnschedulableAndUnresolvable NodeResourcesFit: Insufficient cpu";
  const std::vector<std::string> names = {"n3", "n9", "n1"}, unknown = {"n9", "n9"};
  const wire::NodesEvaluated& some = told(pod_of("p", 2), {.node_names = names});
  EXPECT_EQ(text_of(some), too_small + "\nn1 ok");
  EXPECT_EQ(some.nodes(), 3U);
  EXPECT_EQ(some.totals(), nullptr);
  EXPECT_EQ(text_of(told(pod_of("p", 2), {.node_names = unknown})), "");
  // One node that is not known, as it would be.
  const std::vector<std::string> one = {"n9"};
  const std::vector<PodName> gone = {{"team", "b"}};
  EXPECT_EQ(text_of(told(pod_of("p", 2), {.node_names = one, .without_pods = gone})), "");
}

TEST_F(EvaluatingNodes, EmptyListsAreAbsent) {
  feeder.feed({node_of("n1", 4)});
  const wire::NodesEvaluated& reply =
      client.take<wire::NodesEvaluated>(client.ask([](Builder& builder) {
        const auto pod = write_ref(builder, pod_of("p", 2));
        const std::vector<Offset<flatbuffers::String>> names;
        const std::vector<Offset<wire::PodKey>> keys;
        const std::vector<Offset<wire::PodRef>> pods;
        return wire::CreateEvaluateNodesDirect(builder, pod, &names, 0, &keys, &pods);
      }));
  ASSERT_NE(reply.totals(), nullptr);
  EXPECT_EQ(reply.node_names()->size(), 1U);
}

TEST_F(EvaluatingNodes, BeforeAnyFactThereIsNone) {
  const wire::NodesEvaluated& none = told(pod_of("p", 1));
  EXPECT_EQ(none.nodes(), 0U);
  EXPECT_EQ(none.next(), 0U);
  EXPECT_EQ(text_of(none), "");
}

// --- As it would be ----------------------------------------------------------------------------

TEST_F(EvaluatingNodes, AsIfPodsWereGoneOrThere) {
  const Pod asked = pod_of("p", 4), waits = pod_of("w", 1);
  Pod other = pod_of("b1", 8);
  other.uid = "another";
  feeder.feed({node_of("n1", 8), node_of("n2", 8), pod_of("b1", 3, "n1"), pod_of("b2", 2, "n1"),
               pod_of("b3", 8, "n2"), asked, waits});
  const std::string full = "n1 Unschedulable NodeResourcesFit: Insufficient cpu", ok = "n1 ok";
  const std::uint64_t digest = client.stats(true).digest();
  EXPECT_EQ(as_if(asked, {}, {}), full);
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {}), ok);
  EXPECT_EQ(as_if(asked, {{"team", "b3"}, {"team", "none"}}, {}), full);  // not on n1
  EXPECT_EQ(as_if(asked, {{"team", "b1"}}, {PodRef::by_uid(waits.uid)}), ok);
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {PodRef::by_uid(waits.uid)}), ok);
  const Pod second = pod_of("w2", 1);
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {PodRef::by_uid(waits.uid), second}), full);
  // Of both lists, and one that counts already.
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {pod_of("b2", 2, "n1")}), full);
  EXPECT_EQ(as_if(asked, {{"team", "b1"}}, {pod_of("b2", 8, "n1")}), ok);
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {pod_of("b3", 8)}), ok);  // bound to n2
  EXPECT_EQ(as_if(asked, {{"team", "b2"}}, {other}), full);          // instead of b1
  EXPECT_EQ(as_if(asked, {}, {}), full);
  EXPECT_EQ(client.stats(true).digest(), digest);
  EXPECT_EQ(client.stats().pending_pods(), 2U);
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(EvaluatingNodes, AsIfLeavesReservations) {
  const Pod moved = pod_of("m", 6), asked = pod_of("p", 4);
  feeder.feed({node_of("n1", 8), node_of("n2", 8), moved, asked});
  EXPECT_EQ(client.reserve_text(moved, "n2"), "ok");
  const std::uint64_t digest = client.stats(true).digest();
  EXPECT_EQ(as_if(asked, {}, {moved}), "n1 Unschedulable NodeResourcesFit: Insufficient cpu");
  EXPECT_EQ(as_if(asked, {}, {}), "n1 ok");
  EXPECT_EQ(client.stats(true).digest(), digest);
  EXPECT_EQ(client.best(pod_of("q", 4)), "n1");  // n2 is still taken
  client.unreserve(moved, moved.uid, "n2");
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
}

TEST_F(NominatedToNodes, CountOnceOrNotAtAll) {
  Pod nominated = pod_of("w", 5);
  nominated.nominated_node_name = "n1";
  nominated.priority = 5;
  const Pod asked = pod_of("p", 4), small = pod_of("s", 3);
  feeder.feed({node_of("n1", 8), nominated, asked, small});
  const std::uint64_t digest = client.stats(true).digest();
  const std::string full = "n1 Unschedulable NodeResourcesFit: Insufficient cpu";
  EXPECT_EQ(as_if(asked, {}, {}), full);
  EXPECT_EQ(as_if(asked, {{"team", "w"}}, {}), "n1 ok");
  EXPECT_EQ(as_if(asked, {}, {PodRef::by_uid(nominated.uid)}), full);
  EXPECT_EQ(as_if(small, {}, {PodRef::by_uid(nominated.uid)}), "n1 ok");
  EXPECT_EQ(as_if(small, {{"team", "w"}}, {PodRef::by_uid(nominated.uid)}), "n1 ok");
  EXPECT_EQ(client.stats(true).digest(), digest);
}

TEST_F(NominatedToNodes, ThePreFilterIsTold) {
  feeder.feed({node_of("n1", 8), pod_of("b", 2, "n1"), elastic_quota("team", 4, 4)});
  const wire::NodesEvaluated& all = told(pod_of("p", 3));
  EXPECT_NE(joined(all.pre_filter()).find("is more than max 4"), std::string::npos);
  ASSERT_EQ(all.node_verdicts()->size(), 1U);  // the nodes are looked at all the same
  EXPECT_EQ(all.node_verdicts()->Get(0), kMayRun);
  const std::vector<std::string> names = {"n1"};
  const std::vector<PodName> gone = {{"team", "b"}};
  EXPECT_NE(told(pod_of("p", 3), {.node_names = names}).pre_filter(), nullptr);
  EXPECT_EQ(told(pod_of("p", 3), {.node_names = names, .without_pods = gone}).pre_filter(),
            nullptr);
}

// --- What is refused ---------------------------------------------------------------------------

TEST_F(EvaluatingNodes, RefusesWhatCannotBeMeant) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  const Pod pod = pod_of("p", 1);
  const std::vector<std::string> one = {"n1"}, two = {"n1", "n2"}, twice = {"n2", "n1", "n2"};
  const std::vector<PodName> gone = {{"team", "b"}};
  Pod nameless = pod;
  nameless.name = "";
  const std::vector<PodRef> there = {pod}, unknown = {pod, PodRef::by_uid("nobody")},
                            bad = {nameless};
  EXPECT_EQ(client.error(ask("nobody")), "NotFound: pod: uid nobody was not fed as pending");
  EXPECT_EQ(client.error(ask(pod, {.without_pods = gone})),
            "Invalid: without_pods: 1 pods with 0 node names: they take exactly one");
  EXPECT_EQ(client.error(ask(pod, {.node_names = two, .with_pods = there})),
            "Invalid: with_pods: 1 pods with 2 node names: they take exactly one");
  EXPECT_EQ(client.error(ask(pod, {.node_names = one, .with_pods = unknown})),
            "NotFound: with_pods[1]: pod: uid nobody was not fed as pending");
  EXPECT_EQ(client.error(ask(pod, {.node_names = one, .with_pods = bad})),
            "Invalid: Pod: metadata.name is empty");
  EXPECT_EQ(client.error(ask(pod, {.node_names = twice})), "Invalid: node_names: n2 comes twice");
  EXPECT_EQ(client.error(ask(pod, {.node_names = one, .from = 7})),
            "Invalid: from: 7: it is of all nodes, not of node_names");
}

TEST_F(EvaluatingNodes, ListsHaveALimit) {
  feeder.feed({node_of("n1", 8)});
  const Pod pod = pod_of("p", 1);
  const std::vector<std::string> one = {"n1"};
  std::vector<std::string> names(kItemsPerListMax, "nowhere");
  std::vector<PodName> gone(kItemsPerListMax, {"team", "b"});
  std::vector<PodRef> there(kItemsPerListMax, pod);
  EXPECT_EQ(text_of(told(pod, {.node_names = names})), "");
  EXPECT_EQ(text_of(told(pod, {.node_names = one, .without_pods = gone, .with_pods = there})),
            "n1 ok");
  names.emplace_back("n1");
  gone.push_back(gone.front());
  there.emplace_back(pod);
  const std::string limit = ": 4097 items: kItemsPerListMax is 4096";
  EXPECT_EQ(client.error(ask(pod, {.node_names = names})), "LimitExceeded: node_names" + limit);
  EXPECT_EQ(client.error(ask(pod, {.node_names = one, .without_pods = gone})),
            "LimitExceeded: without_pods" + limit);
  EXPECT_EQ(client.error(ask(pod, {.node_names = one, .with_pods = there})),
            "LimitExceeded: with_pods" + limit);
}

// Nothing long is hashed or copied: a frame may refer to one text many times.
TEST_F(EvaluatingNodes, NamesHaveALimit) {
  feeder.feed({node_of("n1", 8)});
  const Pod pod = pod_of("p", 1);
  const std::string name(kTextBytesMax + 1, 'x');
  const std::vector<std::string> one = {"n1"}, names = {"n1", name};
  const std::vector<PodName> gone = {{"team", name}}, elsewhere = {{name, "b"}};
  const std::string limit = ": 1025 bytes: kTextBytesMax is 1024";
  EXPECT_EQ(client.error(ask(pod, {.node_names = names})), "LimitExceeded: node_names" + limit);
  for (const auto& without : {gone, elsewhere}) {
    EXPECT_EQ(client.error(ask(pod, {.node_names = one, .without_pods = without})),
              "LimitExceeded: without_pods" + limit);
  }
}

TEST_F(EvaluatingNodes, IsCountedInTheMetrics) {
  feeder.feed({node_of("n1", 8)});
  told(pod_of("p", 1));
  EXPECT_NE(
      metrics.text().find("headroomd_request_duration_seconds_count{request=\"evaluate_nodes\"} "
                          "1\n"),
      std::string::npos);
}

// --- Pages -------------------------------------------------------------------------------------

// Every node once, whatever ends a page; a page is one state's answer.
class NodePages : public EvaluatingNodes {
 protected:
  // Names of `bytes` bytes; every third has too little cpu.
  void feed(std::uint32_t count, std::size_t bytes) {
    std::vector<Fact> facts;
    for (std::uint32_t n = 0; n < count; ++n) {
      facts.emplace_back(node_of(name_of(n, bytes), n % 3 == 0 ? 1 : 8));
    }
    feeder.feed(facts);
  }
  static std::string name_of(std::uint32_t n, std::size_t bytes) {
    std::string name = fmt::format("{:06}", n);
    name.resize(std::max(name.size(), bytes), 'x');
    return name;
  }
  // The sizes of the pages.
  std::vector<std::uint32_t> pages(std::uint32_t count, std::size_t bytes) {
    std::vector<std::uint32_t> sizes;
    std::uint32_t n = 0, from = 0;
    do {
      const wire::NodesEvaluated& page = told(pod_of("p", 2), {.from = from});
      sizes.push_back(page.node_names()->size());
      EXPECT_EQ(page.node_verdicts()->size(), sizes.back());
      EXPECT_EQ(page.totals()->size(), sizes.back());
      EXPECT_EQ(page.nodes(), count);
      const std::uint32_t n_before = n;
      for (const flatbuffers::String* name : *page.node_names()) {
        const std::uint16_t place = page.node_verdicts()->Get(n - n_before);
        if (name->str() != name_of(n, bytes) || (n % 3 == 0 && place == kMayRun) ||
            (place != kMayRun && place >= page.verdicts()->size())) {
          ADD_FAILURE() << "node " << n << ": " << name->str() << " verdict " << place;
          return sizes;
        }
        ++n;
      }
      EXPECT_TRUE(page.next() == 0 || page.next() > from);
      from = page.next();
    } while (from != 0 && sizes.size() < 100);
    EXPECT_EQ(n, count);
    return sizes;
  }
};

TEST_F(NodePages, EndByTheNumberOfNodes) {
  if (kThreadSanitizer) GTEST_SKIP() << kManyOfOneThread;
  feed(kNodesPerReplyMax + 1, 6);
  EXPECT_EQ(pages(kNodesPerReplyMax + 1, 6), (std::vector<std::uint32_t>{kNodesPerReplyMax, 1}));
  EXPECT_EQ(text_of(told(pod_of("p", 2), {.from = kNodesPerReplyMax + 1})), "");
  EXPECT_EQ(told(pod_of("p", 2), {.from = 0xFFFFFFFF}).next(), 0U);
}

TEST_F(NodePages, EndWhereAFrameIsFull) {
  if (kThreadSanitizer) GTEST_SKIP() << kManyOfOneThread;
  feed(20'000, 1000);
  const std::vector<std::uint32_t> sizes = pages(20'000, 1000);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_GT(sizes[0] * 1020U, kFrameBytesMax - 32'000U);  // and nearly full
}

// By hand: the taints that it would take are slow to make.
TEST_F(NodePages, EndWhereVerdictsAre16Bits) {
  constexpr std::uint32_t kCount = 65'537;
  NodesDecision decision;
  for (std::uint32_t n = 0; n < kCount; ++n) {
    decision.verdicts.push_back({});
    decision.rows.push_back({NodeIndex{n}, n, 0});
  }
  NodesEncoder encoder;
  std::vector<std::uint32_t> sizes;
  std::uint32_t from = 0;
  do {
    Builder builder;
    finish_frame(builder, 1, encoder.encode_page(builder, decision, service->engine(), 1, from));
    const auto& page =
        *wire::GetSizePrefixedFrame(builder.GetBufferPointer())->body_as_NodesEvaluated();
    sizes.push_back(page.node_names()->size());
    EXPECT_EQ(page.verdicts()->size(), sizes.back());
    EXPECT_EQ(page.node_verdicts()->Get(sizes.back() - 1), sizes.back() - 1);
    from = page.next();
  } while (from != 0);
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{65'535, 2}));
}

TEST_F(NodePages, SkipPlacesWithoutANode) {
  feeder.feed({node_of("n1", 8), node_of("n2", 8), node_of("n3", 8), pod_of("b", 1, "n9")});
  feeder.facts({removed_node("n2")});
  const auto names = [&](std::uint32_t from) {
    return joined(told(pod_of("p", 1), {.from = from}).node_names());
  };
  EXPECT_EQ(names(0), "n1; n3");
  EXPECT_EQ(names(1), "n3");
  EXPECT_EQ(names(2), "n3");
  EXPECT_EQ(names(3), "");
}

}  // namespace
}  // namespace headroom::in_memory::service_nodes_test
