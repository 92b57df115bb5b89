// Pods that wait, are reserved, recreated, bound and gone: one small state machine. Who may do what
// with a reservation, and when it ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/service_harness.h"

namespace headroom::in_memory::service_reservation_test {
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
  const auto place = [this](Pod placed, const char* error) {
    return [this, placed, error] {
      EXPECT_EQ(client.error(client.place({placed})).substr(0, std::strlen(error)), error);
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
      // Finished, while a front-end sees it as it was.
      {{"bound", feed(bound_a), "n1", "", 0},
       {"finished", feed(finished), "-", "", 0},
       {"reserved", reserve(pod("A"), "n2", "Conflict: pod team/p (uid A) has ended"), "-", "", 0},
       {"placed", place(pod("A"), "Conflict"), "-", "", 0},
       {"another one is reserved", reserve(pod("B"), "n2"), "n2", "", 1}},
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

// A Place that is cut short leaves what was reserved before as it was: also that facts ended it.
TEST_F(Reservations, EndWithTheResyncThoughTheyWerePlacedAnewMeanwhile) {
  EXPECT_EQ(client.reserve_text(pod("A"), "n1"), "ok");
  feeder.begin();
  feeder.facts({node_of("n1", 8), node_of("n2", 8), removed_pod(pod("A"))});
  Client second(*service);
  second.greet();
  second.in_turns = true;
  clock_step = kWorkTurnTime;
  second.place({pod("A"), pod_of("q", 1), pod_of("r", 1)});
  const std::uint64_t decided = service->state().engine.decisions;
  while (service->state().engine.decisions == decided) second.step();
  ASSERT_TRUE(second.waiting());
  second.disconnect();
  clock_step = {};
  EXPECT_EQ(reserved(), 1U);
  feeder.end();
  EXPECT_EQ(reserved(), 0U);
  EXPECT_EQ(counts(), "-");
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

// --- Owners and time ---------------------------------------------------------------------------

class Owned : public Reservations {
 protected:
  Owned() : other(*service), same(*service) {
    other.greet("other");
    same.greet();
  }
  std::string metric(const std::string& name) {
    service->tick();
    const std::string all = metrics.text();
    const std::size_t at = all.find("\n" + name + " ");
    if (at == std::string::npos) return "none";
    const std::size_t from = at + name.size() + 2;
    return all.substr(from, all.find('\n', from) - from);
  }

  in_memory::Client other, same;  // another owner; another connection of client's
};

TEST_F(Owned, OnlyTheOwnerGivesBackMovesAndPlacesAnew) {
  ASSERT_EQ(client.reserve_text(pod("A"), "n1"), "ok");
  const std::string refusal = "Forbidden: pod team/p is reserved on node n1 by test";
  EXPECT_EQ(other.reserve_text(pod("A"), "n2"), refusal);
  EXPECT_EQ(other.reserve_text(pod("B"), "n1"), refusal);
  EXPECT_EQ(other.error(other.place({pod_of("q", 1), pod("A")})), refusal);
  EXPECT_EQ(service->engine().node_of_pod("team", "q"), kNoNode) << "one of a refused call";
  other.unreserve(pod("A"), "A", "n1");
  EXPECT_EQ(counts(), "n1");
  // In one round trip: refused, and the pods are evaluated all the same.
  EXPECT_EQ(other.reserved_text(
                *other.evaluated({pod_of("q", 1)}, {.reserve = {{pod("A"), "n2"}}}).reserved()),
            refusal);
  EXPECT_EQ(same.reserve_text(pod("A"), "n2"), "ok");
  EXPECT_EQ(counts(), "n2");
  same.unreserve(pod("A"), "A", "n2");
  EXPECT_EQ(counts(), "-");
  EXPECT_EQ(other.reserve_text(pod("A"), "n2"), "ok");
}

TEST_F(Owned, ThePrincipalIsPartOfTheOwner) {
  in_memory::Client twin(*service);
  twin.principal = "uid 7";
  EXPECT_EQ(text(twin.greet().owner()), "uid 7/test");
  ASSERT_EQ(client.reserve_text(pod("A"), "n1"), "ok");
  EXPECT_EQ(twin.reserve_text(pod("A"), "n1"),
            "Forbidden: pod team/p is reserved on node n1 by test");
}

TEST_F(Owned, EndUnlessRenewed) {
  using std::chrono::seconds;
  ASSERT_EQ(client.reserve_text(pod_of("a", 1), "n1"), "ok");
  steady += seconds(100);
  ASSERT_EQ(other.reserve_text(pod_of("b", 1), "n1"), "ok");
  ASSERT_EQ(client.reserve_text(pod_of("c", 1), "n1"), "ok");
  ASSERT_EQ(client.reserve_text(pod_of("d", 1), "n1"), "ok");
  steady += seconds(199);
  EXPECT_EQ(reserved(), 4U);
  EXPECT_EQ(same.renew_reservations(), 3U);
  EXPECT_EQ(other.reserve_text(pod_of("b", 1), "n1"), "ok") << "renews as well";
  steady += seconds(299);
  EXPECT_EQ(reserved(), 4U);
  EXPECT_EQ(metric("headroomd_reservation_oldest_seconds"), "598");
  EXPECT_EQ(metric("headroomd_reservations_expired_total"), "0");
  steady += seconds(1);
  EXPECT_EQ(reserved(), 0U);
  EXPECT_EQ(service->engine().stats().pods, 0U);
  log.clear();
  EXPECT_EQ(metric("headroomd_reservations_expired_total"), "4");
  EXPECT_NE(log.find("reservations expired: neither bound nor renewed in time pods=4 first="
                     "team/"),
            std::string::npos)
      << log;
  EXPECT_EQ(metric("headroomd_reservation_oldest_seconds"), "0");
  EXPECT_EQ(client.renew_reservations(), 0U);
}

TEST_F(Owned, AWallClockThatIsSetEndsNone) {
  ASSERT_EQ(client.reserve_text(pod("A"), "n1"), "ok");
  wall_clock_us += 86'400 * kSecondUs;
  service->tick();
  EXPECT_EQ(reserved(), 1U);
  wall_clock_us -= 2 * 86'400 * kSecondUs;
  service->tick();
  EXPECT_EQ(reserved(), 1U);
}

TEST_F(Owned, KeepOwnerAndTimesInAResync) {
  ASSERT_EQ(client.reserve_text(pod("A"), "n1"), "ok");
  steady += std::chrono::seconds(200);
  feeder.feed({node_of("n1", 8), node_of("n2", 8)});
  EXPECT_EQ(other.reserve_text(pod("A"), "n1").substr(0, 9), "Forbidden");
  steady += std::chrono::seconds(99);
  EXPECT_EQ(counts(), "n1");
  steady += std::chrono::seconds(1);
  EXPECT_EQ(reserved(), 0U);
  EXPECT_EQ(counts(), "-");
}

TEST_F(Owned, AreShownInPages) {
  const std::uint32_t count = kReservationsPerReplyMax + 2;
  feeder.feed({node_of("big", 10'000, 10'000)});
  for (std::uint32_t p = 0; p < count; ++p) {
    ASSERT_EQ(client.reserve_text(pod_of(fmt::format("p{:05}", p), 1), "big"), "ok");
  }
  steady += std::chrono::seconds(10);
  wall_clock_us += 10 * kSecondUs;
  std::string last;
  {
    const auto& first = client.reservations();
    ASSERT_EQ(first.reservations()->size(), kReservationsPerReplyMax);
    EXPECT_TRUE(first.more());
    const wire::Reservation& held = *first.reservations()->Get(0);
    EXPECT_EQ(text(held.name()), "p00000");
    EXPECT_EQ(text(held.namespace_name()), "team");
    EXPECT_EQ(text(held.uid()), "uid-p00000");
    EXPECT_EQ(text(held.node_name()), "big");
    EXPECT_EQ(text(held.owner()), "test");
    EXPECT_EQ(held.reserved_us(), kNowUs);
    EXPECT_EQ(held.expires_us(), kNowUs + 300 * kSecondUs);
    EXPECT_EQ(first.now_us(), wall_clock_us);
    last = text(first.reservations()->Get(kReservationsPerReplyMax - 1)->name());
  }
  const auto& second = client.reservations({"team", last});
  EXPECT_FALSE(second.more());
  ASSERT_EQ(second.reservations()->size(), 2U);
  EXPECT_EQ(text(second.reservations()->Get(1)->name()), fmt::format("p{:05}", count - 1));
}

TEST_F(Owned, ListKeepsItsOrders) {
  // The list alone, against the plainest model: each with an end of its own.
  std::uint64_t seed = 20261122;
  const auto below = [&seed](std::uint64_t n) { return (seed = mix(seed)) % n; };
  PodReservations list(std::chrono::seconds(10));
  std::map<std::string, std::pair<SteadyTime, Owner>> model;
  SteadyTime now{};
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = fmt::format("team/p{}", below(8));
    const Owner owner{"", fmt::format("o{}", below(3))};
    switch (below(5)) {
      case 0:
      case 1:
        list.put(key, {.pod = pod("A"), .node_name = "n", .owner = owner}, now);
        model[key] = {now + std::chrono::seconds(10), owner};
        break;
      case 2:
        list.erase(key);
        model.erase(key);
        break;
      case 3: {
        std::uint32_t held = 0;
        for (auto& [name, of] : model) {
          if (of.second != owner) continue;
          of.first = now + std::chrono::seconds(10);
          ++held;
        }
        ASSERT_EQ(list.renew(owner, now), held);
        break;
      }
      default:
        now += std::chrono::seconds(below(4));
        std::erase_if(model, [now](const auto& held) { return held.second.first <= now; });
        for (std::string_view ended; !(ended = list.ended(now)).empty();) {
          list.erase(std::string(ended));
        }
    }
    ASSERT_EQ(list.size(), model.size()) << step;
    for (const auto& [name, of] : model) {
      ASSERT_NE(list.find(name), nullptr) << step;
      ASSERT_EQ(list.ends(*list.find(name)), of.first) << step;
    }
    ASSERT_TRUE(list.valid()) << step;
  }
}

// --- Roles -------------------------------------------------------------------------------------

class RolesOfPeers : public Reservations {};

TEST_F(RolesOfPeers, EveryRequestTakesItsRole) {
  using Ask = std::function<void(in_memory::Client&)>;
  const Pod p = pod("A");
  const auto create = [](auto make) { return [make](in_memory::Client& peer) { peer.ask(make); }; };
  const std::vector<std::tuple<const char*, Role, Ask>> requests = {
      {"FeedBegin", Role::kFeed, [](auto& peer) { peer.begin(kNowUs + kSecondUs); }},
      {"Facts", Role::kFeed, [](auto& peer) { peer.facts({}, kNowUs + kSecondUs); }},
      {"FeedEnd", Role::kFeed, [](auto& peer) { peer.end(); }},
      {"Evaluate", Role::kLook, [p](auto& peer) { peer.evaluate({p}); }},
      {"Evaluate", Role::kDecide,
       [p](auto& peer) {
         peer.evaluate({p}, {.reserve = {{p, "n1"}}});
       }},
      {"EvaluateNodes", Role::kLook,
       create([p](Builder& builder) { return encode_evaluate_nodes(builder, PodRef(p), {}); })},
      {"Explain", Role::kLook,
       create([p](Builder& builder) { return encode_explain(builder, PodRef(p), "n1"); })},
      {"BoundVolumes", Role::kLook,
       create([p](Builder& builder) { return encode_bound_volumes(builder, PodRef(p), "n1"); })},
      {"PostFilter", Role::kLook, [p](auto& peer) { peer.post_filter(p); }},
      {"ExplainVictims", Role::kLook, [p](auto& peer) { peer.explain_victims(p, "n1"); }},
      {"ElasticQuotaStatus", Role::kLook,
       create([](Builder& builder) { return encode_elastic_quota_status(builder, ""); })},
      {"Stats", Role::kLook, create([](Builder& builder) { return wire::CreateStats(builder); })},
      {"Reserve", Role::kDecide, create([p](Builder& builder) {
         return encode_reserve(builder, {.pod = PodRef(p), .node_name = "n1"});
       })},
      {"Unreserve", Role::kDecide,
       create([p](Builder& builder) { return encode_unreserve(builder, p, "n1"); })},
      {"Place", Role::kDecide, [p](auto& peer) { peer.place({p}); }},
      {"RenewReservations", Role::kDecide,
       create([](Builder& builder) { return wire::CreateRenewReservations(builder); })},
      {"Reservations", Role::kLook,
       create([](Builder& builder) { return wire::CreateReservations(builder); })},
      {"CapacityCheck", Role::kLook,
       [](auto& peer) {
         peer.capacity_check({{node_of("n", 1), 1}});
       }},
      {"CapacityPlan", Role::kLook,
       [](auto& peer) {
         peer.capacity_plan({{node_of("n", 1), 1}}, {});
       }},
      {"CapacityReserve", Role::kDecide,
       [](auto& peer) {
         peer.capacity_reserve("id", {{node_of("n", 1), 1}}, kNowUs * 2);
       }},
      {"CapacityRelease", Role::kDecide,
       create([](Builder& builder) { return encode_capacity_release(builder, "id"); })},
      {"CapacityQuotaStatus", Role::kLook,
       create([](Builder& builder) { return encode_capacity_quota_status(builder, ""); })},
      {"CapacityReservations", Role::kLook,
       create([](Builder& builder) { return encode_capacity_reservations(builder, ""); })},
  };
  // Each body that clients send is in the list.
  std::set<std::string> bodies = {"Hello"};
  for (const auto& request : requests) bodies.insert(std::get<0>(request));
  for (int body = 1; body <= static_cast<int>(wire::Body::MAX); ++body) {
    in_memory::Client peer(*service);
    peer.greet();
    const std::string name = wire::EnumNameBody(static_cast<wire::Body>(body));
    EXPECT_EQ(RequestService::serves(static_cast<wire::Body>(body)), bodies.contains(name)) << name;
  }
  const std::uint64_t digest = client.stats(true).digest();
  for (const Role has : kAllRoles) {
    for (const auto& [name, takes, ask] : requests) {
      if (Roles({has}).contains(takes)) continue;
      in_memory::Client peer(*service);
      peer.roles = {has};
      peer.greet();
      ask(peer);
      // After the greeting ids go on from 2.
      EXPECT_EQ(peer.error(2), fmt::format("Forbidden: {}: it takes the role {}, which this"
                                           " connection does not have",
                                           name, to_string(takes)));
      EXPECT_FALSE(peer.has_answer()) << name;
      EXPECT_FALSE(peer.closed) << name;
    }
  }
  EXPECT_EQ(client.stats(true).digest(), digest);
  EXPECT_FALSE(client.stats().resyncing());
  EXPECT_EQ(client.stats().reserved_pods(), 0U);
  // With its role each is served.
  for (const auto& [name, takes, ask] : requests) {
    in_memory::Client peer(*service);
    peer.roles = {takes};
    peer.greet();
    ask(peer);
    if (!peer.has_answer()) continue;
    EXPECT_FALSE(peer.is_forbidden()) << name;
  }
}

TEST_F(RolesOfPeers, AreToldInTheGreeting) {
  const auto told = [this](Roles roles) {
    in_memory::Client peer(*service);
    peer.roles = roles;
    std::string all;
    const auto& reply = peer.greet("who");
    for (const auto role : *reply.roles()) {
      all += std::string(wire::EnumNameRole(static_cast<wire::Role>(role))) + " ";
    }
    EXPECT_EQ(text(reply.owner()), "who");
    EXPECT_EQ(reply.reservation_seconds(), 300U);
    return all;
  };
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({Role::kLook}), "Look ");
  EXPECT_EQ(told({Role::kDecide}), "Look Decide ") << "who decides looks";
  EXPECT_EQ(told({Role::kFeed}), "Feed ");
  EXPECT_EQ(told(Roles::all()), "Look Decide Feed ");
}

}  // namespace
}  // namespace headroom::in_memory::service_reservation_test
