// Pods that wait, are reserved, recreated, bound and gone: one small state machine. Who may do what
// with a reservation, and when it ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/service_harness.h"

namespace headroom::in_memory {
namespace {

class Reservations : public ServiceTest {
 protected:
  Reservations() { feeder.feed({node_of("n1", 8), node_of("n2", 8)}); }

  static Pod pod(const std::string& uid, const std::string& node = "", std::int64_t cpu = 2) {
    Pod made = pod_of("p", cpu, node);
    made.uid = uid;
    return made;
  }
  // Where the pod counts: a node, or "-".
  std::string counts() const {
    const NodeIndex node = service->engine().node_of_pod("team", "p");
    return node == kNoNode ? "-" : std::string(service->engine().node_name(node));
  }
  bool waits(const std::string& uid) {
    const std::uint64_t id = client.evaluate({PodArg(uid)});
    return client.is_answer<wire::Evaluated>(id);
  }
  std::uint32_t reserved() { return client.stats().reserved_pods(); }
};

// --- The state machine -------------------------------------------------------------------------

TEST_F(Reservations, EveryTransition) {
  Pod finished = pod("A", "n1");
  finished.phase = "Succeeded";
  const auto feed = [this](Fact fact) { return [this, fact] { feeder.facts({fact}); }; };
  const auto reserve = [this](Pod reserved, const char* node, const char* answer = "ok") {
    return [this, reserved, node, answer] {
      EXPECT_EQ(client.reserve_text(reserved, node).substr(0, std::strlen(answer)), answer);
    };
  };
  const auto unreserve = [this](const char* uid, const char* node) {
    return [this, uid, node] { client.unreserve(pod(uid), uid, node); };
  };
  const auto resync = [this](std::vector<Fact> facts) {
    return [this, facts] {
      std::vector<Fact> all = {node_of("n1", 8), node_of("n2", 8)};
      all.insert(all.end(), facts.begin(), facts.end());
      feeder.feed(all);
    };
  };
  // What is done; then where the pod counts, which uids wait, and how many reservations there are.
  struct Step {
    const char* what;
    std::function<void()> act;
    std::string counts, waits;
    std::uint32_t reserved;
  };
  const Fact pending_a = pod("A"), pending_b = pod("B"), pending_c = pod("C");
  const Fact bound_a = pod("A", "n1"), bound_b = pod("B", "n2"), gone = removed_pod(pod("A"));
  const std::vector<std::vector<Step>> stories = {
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved", reserve(pod("A"), "n2"), "n2", "A", 1},
       {"reserved again", reserve(pod("A"), "n2"), "n2", "A", 1},
       {"fed again", feed(pending_a), "n2", "A", 1},
       {"moved", reserve(pod("A"), "n1"), "n1", "A", 1},
       {"unreserved elsewhere", unreserve("A", "n2"), "n1", "A", 1},
       {"unreserved as another", unreserve("B", "n1"), "n1", "A", 1},
       {"unreserved", unreserve("A", "n1"), "-", "A", 0},
       {"unreserved again", unreserve("A", "n1"), "-", "A", 0}},
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved", reserve(pod("A"), "n1"), "n1", "A", 1},
       {"bound", feed(bound_a), "n1", "", 0},
       {"reserved", reserve(pod("A"), "n1", "Conflict"), "n1", "", 0},
       {"finished", feed(finished), "-", "", 0},
       {"gone", feed(gone), "-", "", 0}},
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved", reserve(pod("A"), "n1"), "n1", "A", 1},
       {"gone", feed(gone), "-", "", 0},
       {"pending", feed(pending_a), "-", "A", 0}},
      {{"reserved before it is fed", reserve(pod("A"), "n1"), "n1", "", 1},
       {"pending", feed(pending_a), "n1", "A", 1},
       {"finished", feed(finished), "-", "", 0}},
      // Recreated: another uid under the name.
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved", reserve(pod("A"), "n1"), "n1", "A", 1},
       {"recreated", feed(pending_b), "-", "B", 0},
       {"unreserved", unreserve("A", "n1"), "-", "B", 0},
       {"reserved", reserve(pod("B"), "n2"), "n2", "B", 1},
       {"bound", feed(bound_b), "n2", "", 0}},
      {{"reserved", reserve(pod("A"), "n1"), "n1", "", 1},
       {"another one is bound", feed(bound_b), "n2", "", 0}},
      // uaf1: reserved as another uid than the one that waits, given back, and recreated.
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved as another", reserve(pod("B"), "n1"), "n1", "A", 1},
       {"unreserved", unreserve("B", "n1"), "-", "A", 0},
       {"recreated", feed(pending_c), "-", "C", 0}},
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved as another", reserve(pod("B"), "n1"), "n1", "A", 1},
       {"fed again", feed(pending_a), "-", "A", 0}},
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved as another", reserve(pod("B"), "n1"), "n1", "A", 1},
       {"the other one", feed(pending_b), "n1", "B", 1}},
      // Resyncs: it holds unless the facts settle it.
      {{"pending", feed(pending_a), "-", "A", 0},
       {"reserved", reserve(pod("A"), "n1"), "n1", "A", 1},
       {"fed as before", resync({pending_a}), "n1", "A", 1},
       {"not mentioned", resync({}), "-", "", 0}},
      {{"reserved", reserve(pod("A"), "n1"), "n1", "", 1},
       {"never mentioned", resync({}), "n1", "", 1},
       {"recreated", resync({pending_b}), "-", "B", 0}},
      {{"reserved", reserve(pod("A"), "n1"), "n1", "", 1},
       {"bound", resync({bound_a}), "n1", "", 0}},
      {{"reserved", reserve(pod("A"), "n1"), "n1", "", 1},
       {"finished", resync({finished}), "-", "", 0}},
      // A pod without a uid.
      {{"reserved", reserve(pod(""), "n1"), "n1", "", 1},
       {"bound", feed(pod("", "n2")), "n2", "", 0}},
  };
  for (std::size_t story = 0; story < stories.size(); ++story) {
    feeder.feed({node_of("n1", 8), node_of("n2", 8), pod("Z", "n1")});  // ends reservations
    feeder.feed({node_of("n1", 8), node_of("n2", 8)});
    ASSERT_EQ(counts(), "-");
    for (const Step& step : stories[story]) {
      SCOPED_TRACE(testing::Message() << "story " << story << ": " << step.what);
      step.act();
      EXPECT_EQ(counts(), step.counts);
      for (const char* uid : {"A", "B", "C"}) {
        EXPECT_EQ(waits(uid), step.waits == uid) << uid;
      }
      EXPECT_EQ(reserved(), step.reserved);
      const Result<void> valid = service->validate();
      EXPECT_TRUE(valid) << valid.error().message;
    }
  }
}

TEST_F(Reservations, LeaveNothingBehind) {
  // Another uid, and other needs than the pod that was fed.
  const Pod fed = pod("A");
  const std::vector<Fact> facts = {node_of("n1", 8), node_of("n2", 8), fed};
  feeder.facts({fed});
  const std::uint64_t digest = engine_with(Profile::standard(), facts, wall_clock_us).digest();
  ASSERT_EQ(client.stats(true).digest(), digest);
  for (const Pod& reserved : {pod("B"), pod("A", "", 5)}) {
    EXPECT_EQ(client.reserve_text(reserved, "n1"), "ok");
    EXPECT_NE(client.stats(true).digest(), digest);
    client.unreserve(reserved, reserved.uid, "n1");
    EXPECT_EQ(client.stats(true).digest(), digest) << reserved.uid;
  }
}

}  // namespace
}  // namespace headroom::in_memory
