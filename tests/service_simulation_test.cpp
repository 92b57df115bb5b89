// A deterministic simulation of what surrounds headroomd: a cluster that changes, a feeder that
// loses its connection, two schedulers that race, crash and come back, a viewer who tries what he
// may not, a clock, and a daemon that is killed. No sockets, no threads: the seed gives the run.
//
// A model keeps what the service has been told, and an engine of its own beside it. After every
// step:
// * the service is valid;
// * its digest is the model's: no pod counts twice, no reservation is lost or held for ever, a
// resync
//   equals the facts;
// * its list of reservations is the model's: who holds what, where;
// * what it answered is what the model's engine would.
//
// HEADROOM_SEED repeats a run; without it the seed is the time, and printed. HEADROOM_STEPS is how
// long it is (CONTRIBUTING.md has the long command).
#include <gtest/gtest.h>

#include <ctime>
#include <deque>
#include <map>
#include <set>

#include "tests/draws.h"
#include "tests/service_harness.h"

namespace headroom::in_memory {
namespace {

#ifdef HEADROOM_SANITIZED
constexpr std::uint64_t kSteps = 2'000;
#else
constexpr std::uint64_t kSteps = 20'000;
#endif
constexpr std::uint32_t kNodes = 6, kPodNames = 24;
constexpr std::chrono::seconds kLifetime = kReservationTime;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What one daemon knows: facts as they came, and an engine that was told the same.
struct Known {
  explicit Known(const Profile& profile)
      : engine(std::make_unique<Engine>(std::move(*Engine::create(profile, {.threads = 1})))) {}

  std::unique_ptr<Engine> engine;
  std::map<std::string, Pod> pending;  // fed as waiting, by key
  std::set<std::string> settled;       // in a resync: reservations that its facts end

  // A clock that was set back by more than a minute is followed; by less it is waited for.
  void advance(std::int64_t now_us) {
    if (engine->now_us() - now_us > 60 * kSecondUs) {
      engine->correct_clock(now_us);
    } else if (now_us > engine->now_us()) {
      ASSERT_TRUE(engine->advance(now_us));
    }
  }
};

struct Held {
  Pod pod;
  std::string node, owner;
  SteadyTime due;
};

class ServiceSimulation : public testing::Test {
 protected:
  explicit ServiceSimulation() : draws_(seed_) {
    std::printf("HEADROOM_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    for (std::uint32_t n = 0; n < kNodes; ++n) add_node(n);
    start();
  }

  void run(std::uint64_t steps) {
    for (step_ = 0; step_ < steps && !HasFailure(); ++step_) {
      SCOPED_TRACE(testing::Message() << "HEADROOM_SEED=" << seed_ << ", step " << step_);
      step();
      if (!HasFatalFailure()) check();
    }
    // What a run was made of: one that did nothing would show here.
    std::printf("%llu resyncs, %llu reservations, %llu refused, %llu expired, %llu crashes\n",
                count(resyncs_), count(reserved_), count(refused_), count(expired_),
                count(crashes_));
    if (steps >= 2'000) {
      EXPECT_GT(resyncs_, 5);
      EXPECT_GT(reserved_, 20);
      EXPECT_GT(refused_, 5);
    }
  }

 private:
  static unsigned long long count(std::uint64_t number) { return number; }
  static std::string key_of(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

  // --- The cluster, as the API server has it ---

  void add_node(std::uint32_t n) {
    const std::string name = fmt::format("n{}", n);
    nodes_[name] = node_of(name, 4 + static_cast<std::int64_t>(draws_.below(8)), 8);
    changes_.emplace_back(nodes_[name]);
  }

  void cluster_changes() {
    const std::string name = fmt::format("p{}", draws_.below(kPodNames));
    const std::string key = pod_key("team", name);
    const auto found = pods_.find(key);
    if (found == pods_.end()) {
      create(name);
    } else if (draws_.one_in(3)) {
      changes_.emplace_back(removed_pod(found->second));
      pods_.erase(found);
      if (draws_.one_in(2)) create(name);  // recreated at once
    } else if (!found->second.node_name.empty() && draws_.one_in(2)) {
      found->second.phase = "Succeeded";
      changes_.emplace_back(found->second);
    } else {
      found->second.labels = {{"touched", std::to_string(step_)}};
      changes_.emplace_back(found->second);
    }
    if (draws_.one_in(20)) {
      const auto n = static_cast<std::uint32_t>(draws_.below(kNodes));
      const std::string node = fmt::format("n{}", n);
      if (nodes_.contains(node) && draws_.one_in(3)) {
        nodes_.erase(node);
        changes_.emplace_back(removed_node(node));
      } else {
        add_node(n);
      }
    }
  }

  void create(const std::string& name) {
    Pod pod = pod_of(name, 1 + static_cast<std::int64_t>(draws_.below(3)));
    // Seldom two pods claim one uid, as no API server lets them.
    pod.uid = draws_.one_in(50) ? "uid-shared" : fmt::format("uid-{}", ++uids_);
    pod.creation_us = wall_us_;
    changes_.emplace_back(pod);
    pods_[key_of(pod)] = std::move(pod);
  }

  // --- The daemon ---

  void start() {
    ServiceOptions options;
    options.engine.threads = 1;
    options.incarnation = ++incarnation_;
    options.wall_clock = [this] { return wall_us_; };
    options.steady_clock = [this] { return steady_; };
    auto made = Service::create(std::move(options), metrics_);
    ASSERT_TRUE(made) << made.error().message;
    service_ = std::move(*made);
    known_ = std::make_unique<Known>(Profile::standard());
    known_->advance(wall_us_);
    next_.reset();
    held_.clear();
    viewer_ = std::make_unique<Client>(*service_);
    viewer_->roles = {Role::kLook};
    viewer_->greet("viewer");
  }

  // Nothing of it is left; who was connected notices, and what was under way is lost.
  void crash() {
    feeder_.reset();
    for (auto& scheduler : schedulers_) scheduler.reset();
    viewer_.reset();
    service_.reset();
    start();
    ++crashes_;
  }

  // --- Time ---

  void time_passes() {
    const auto seconds =
        std::chrono::seconds(draws_.one_in(10) ? 20 + draws_.below(200) : draws_.below(3));
    steady_ += seconds;
    wall_us_ += std::chrono::microseconds(seconds).count();
    // Somebody sets the clock: by seconds, or by hours.
    if (draws_.one_in(40)) wall_us_ += draws_.between(-30, 30) * kSecondUs;
    if (draws_.one_in(40)) wall_us_ += draws_.between(-30, 30) * 3600 * kSecondUs;
    service_->tick();
  }

  // Before each request the service looks at its clocks; so does the model.
  void clocks() {
    known_->advance(wall_us_);
    if (next_ != nullptr) next_->advance(wall_us_);
    for (auto it = held_.begin(); it != held_.end();) {
      if (it->second.due <= steady_) {
        give_back(it->second);
        it = held_.erase(it);
        ++expired_;
      } else {
        ++it;
      }
    }
  }

  void give_back(const Held& held) {
    known_->engine->forget(held.pod.namespace_name, held.pod.name, held.pod.uid, held.node);
    const auto fed = known_->pending.find(key_of(held.pod));
    if (fed != known_->pending.end()) {
      ASSERT_TRUE(known_->engine->upsert(fed->second));
    }
  }

  // --- The feeder ---

  void apply(Known& known, const Fact& fact) {
    if (const auto* removed = std::get_if<Removed>(&fact)) {
      if (removed->kind == wire::Fact::RemovedNode) {
        known.engine->remove_node(removed->name);
      } else {
        known.engine->remove_pod(removed->namespace_name, removed->name);
        known.pending.erase(pod_key(removed->namespace_name, removed->name));
        settle(known, pod_key(removed->namespace_name, removed->name), nullptr);
      }
      return;
    }
    tell(*known.engine, fact);
    if (const auto* pod = std::get_if<Pod>(&fact)) {
      const bool waits = pod->node_name.empty() && !pod->terminal();
      if (waits) {
        known.pending[key_of(*pod)] = *pod;
      } else {
        known.pending.erase(key_of(*pod));
      }
      settle(known, key_of(*pod), waits ? pod : nullptr);
    }
  }

  // A reservation ends when its pod is bound, ends, goes, or is another one.
  void settle(Known& known, const std::string& key, const Pod* waiting) {
    const auto found = held_.find(key);
    if (found == held_.end() || (waiting != nullptr && waiting->uid == found->second.pod.uid))
      return;
    if (&known == next_.get()) {
      known.settled.insert(key);
    } else {
      held_.erase(found);
    }
  }

  void feeder_acts() {
    if (feeder_ == nullptr) {
      feeder_ = std::make_unique<Client>(*service_);
      feeder_->greet("feeder");
      feeding_ = false;
      return;
    }
    if (draws_.one_in(60)) {  // its connection is lost, with what was on the way
      feeder_.reset();
      next_.reset();
      return;
    }
    if (!feeding_ || draws_.one_in(100)) {
      begin_resync();
    } else if (next_ != nullptr && snapshot_.empty()) {
      end_resync();
    } else {
      send_some(next_ != nullptr && !snapshot_.empty() ? snapshot_ : changes_);
    }
  }

  void begin_resync() {
    clocks();
    feeder_->begin(0, incarnation_);
    next_ = std::make_unique<Known>(Profile::standard());
    feeding_ = true;
    changes_.clear();  // the snapshot has them
    snapshot_.clear();
    for (const auto& [name, node] : nodes_) snapshot_.emplace_back(node);
    for (const auto& [key, pod] : pods_) snapshot_.emplace_back(pod);
  }

  void send_some(std::deque<Fact>& from) {
    std::vector<Fact> batch;
    for (std::uint64_t most = 1 + draws_.below(12); most > 0 && !from.empty(); --most) {
      batch.push_back(std::move(from.front()));
      from.pop_front();
    }
    clocks();
    feeder_->facts(batch);
    EXPECT_FALSE(feeder_->has_answer());
    for (const Fact& fact : batch) apply(next_ != nullptr ? *next_ : *known_, fact);
  }

  void end_resync() {
    clocks();
    feeder_->end();
    EXPECT_FALSE(feeder_->has_answer());
    for (auto it = held_.begin(); it != held_.end();) {
      const Held& held = it->second;
      const auto fed = next_->pending.find(it->first);
      bool holds = !next_->settled.contains(it->first);
      if (fed != next_->pending.end()) {
        holds = holds && fed->second.uid == held.pod.uid;
      } else {
        const auto before = known_->pending.find(it->first);
        const bool was_fed = before != known_->pending.end() && before->second.uid == held.pod.uid;
        holds = holds && !was_fed &&
                next_->engine->node_of_pod(held.pod.namespace_name, held.pod.name) == kNoNode;
      }
      if (holds && next_->engine->assume(held.pod, held.node)) {
        ++it;
      } else {
        it = held_.erase(it);
      }
    }
    known_ = std::move(next_);
    known_->settled.clear();
    ++resyncs_;
  }

  // --- Schedulers ---

  void scheduler_acts(std::size_t which) {
    std::unique_ptr<Client>& scheduler = schedulers_[which];
    const std::string owner = which == 0 ? "red" : "blue";
    if (scheduler == nullptr) {
      scheduler = std::make_unique<Client>(*service_);
      scheduler->greet(owner.c_str());
      return;
    }
    if (draws_.one_in(80)) {  // it crashes; what it holds stays until it renews or time ends it
      scheduler.reset();
      return;
    }
    clocks();
    switch (draws_.below(8)) {
      case 0:
        renew(*scheduler, owner);
        break;
      case 1:
        unreserve(*scheduler, owner);
        break;
      case 2:
        place(*scheduler, owner);
        break;
      case 3:
        bind(owner);
        break;
      default:
        reserve(*scheduler, owner);
    }
  }

  // A pod that it has seen: as the API server has it, which may be later than what the daemon has.
  const Pod* seen() {
    if (pods_.empty()) return nullptr;
    auto it = pods_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(draws_.below(pods_.size())));
    return it->second.terminal() ? nullptr : &it->second;
  }

  // Whether the owner may reserve it, by the model: "" or the error's code.
  std::string refusal(const Pod& pod, const std::string& owner) {
    if (const auto held = held_.find(key_of(pod)); held != held_.end()) {
      return held->second.owner == owner ? "" : "Forbidden";
    }
    return known_->engine->node_of_pod(pod.namespace_name, pod.name) == kNoNode ? "" : "Conflict";
  }

  void hold(const Pod& pod, const std::string& node, const std::string& owner) {
    ++reserved_;
    ASSERT_TRUE(known_->engine->assume(pod, node));
    if (next_ != nullptr) next_->settled.erase(key_of(pod));
    held_.insert_or_assign(key_of(pod), Held{pod, node, owner, steady_ + kLifetime});
  }

  void reserve(Client& scheduler, const std::string& owner) {
    const Pod* known = seen();
    if (known == nullptr) return;
    Pod pod = *known;
    pod.node_name.clear();
    std::string node = scheduler.best(pod);
    const auto decision = known_->engine->evaluate(pod);
    ASSERT_TRUE(decision);
    ASSERT_EQ(node, decision->candidates.empty()
                        ? ""
                        : std::string(known_->engine->node_name(decision->candidates[0].node)));
    // Now and then another node than the best, full or unknown.
    if (node.empty() || draws_.one_in(5)) node = fmt::format("n{}", draws_.below(kNodes + 1));
    const std::string refused = refusal(pod, owner);
    const auto detail = known_->engine->filter(pod, node);
    const std::string due = !refused.empty()                 ? refused
                            : !detail                        ? "NotFound"
                            : detail->code != Code::kSuccess ? "Conflict"
                                                             : "ok";
    const std::string answer = scheduler.reserve_text(pod, node);
    ASSERT_EQ(answer.substr(0, answer.find(':')), due) << answer;
    if (answer == "ok") {
      hold(pod, node, owner);
    } else {
      ++refused_;
    }
  }

  void place(Client& scheduler, const std::string& owner) {
    const Pod* known = seen();
    if (known == nullptr) return;
    Pod pod = *known;
    pod.node_name.clear();
    if (!refusal(pod, owner).empty()) return;
    const std::string node = scheduler.place_text({pod});
    const auto decision = known_->engine->evaluate(pod);
    ASSERT_TRUE(decision);
    ASSERT_EQ(node, decision->candidates.empty()
                        ? "-"
                        : std::string(known_->engine->node_name(decision->candidates[0].node)));
    if (node != "-") hold(pod, node, owner);
  }

  // Also what others hold, which changes nothing.
  void unreserve(Client& scheduler, const std::string& owner) {
    if (held_.empty()) return;
    auto it = held_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(draws_.below(held_.size())));
    const Held held = it->second;
    scheduler.unreserve(held.pod, held.pod.uid, held.node);
    if (held.owner != owner) return;
    held_.erase(it);
    give_back(held);
  }

  void renew(Client& scheduler, const std::string& owner) {
    std::uint32_t renewed = 0;
    for (auto& [key, held] : held_) {
      if (held.owner != owner) continue;
      held.due = steady_ + kLifetime;
      ++renewed;
    }
    EXPECT_EQ(scheduler.renew_reservations(), renewed);
  }

  // What it holds is bound at the API server, if it is still that pod; the feeder will hear of it.
  void bind(const std::string& owner) {
    for (const auto& [key, held] : held_) {
      const auto found = pods_.find(key);
      if (held.owner != owner || found == pods_.end() || found->second.uid != held.pod.uid ||
          !found->second.node_name.empty() || draws_.one_in(3)) {
        continue;
      }
      found->second.node_name = held.node;
      changes_.emplace_back(found->second);
      return;
    }
  }

  // --- Who may only look ---

  void viewer_tries() {
    const Pod* pod = seen();
    if (pod == nullptr) return;
    clocks();
    switch (draws_.below(4)) {
      case 0:
        viewer_->begin();
        break;
      case 1:
        viewer_->facts({removed_node("n0")});
        break;
      case 2:
        viewer_->place({*pod});
        break;
      default:
        viewer_->ask([&](Builder& builder) { return write_reserve(builder, *pod, "n1"); });
    }
    EXPECT_TRUE(viewer_->is_forbidden());
  }

  // --- One step, and what must hold after it ---

  void step() {
    switch (draws_.below(16)) {
      case 0:
        time_passes();
        break;
      case 1:
        if (draws_.one_in(150)) crash();
        break;
      case 2:
        viewer_tries();
        break;
      case 3:
      case 4:
      case 5:
        cluster_changes();
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        feeder_acts();
        break;
      default:
        scheduler_acts(draws_.below(schedulers_.size()));
    }
  }

  void check() {
    clocks();
    std::map<std::string, std::string> listed, due;
    for (const auto* reservation : *viewer_->reservations().reservations()) {
      listed[pod_key(text(reservation->namespace_name()), text(reservation->name()))] =
          fmt::format("{} on {} of {}", text(reservation->uid()), text(reservation->node_name()),
                      text(reservation->owner()));
    }
    for (const auto& [key, held] : held_) {
      due[key] = fmt::format("{} on {} of {}", held.pod.uid, held.node, held.owner);
    }
    ASSERT_EQ(listed, due);
    const Result<void> valid = service_->validate();
    ASSERT_TRUE(valid) << valid.error().message;
    ASSERT_EQ(service_->engine().digest(), known_->engine->digest());
    ASSERT_EQ(service_->state().pending_pods, known_->pending.size());
  }

  const std::uint64_t seed_ =
      number_of("HEADROOM_SEED", static_cast<std::uint64_t>(std::time(nullptr)));
  Draws draws_;
  std::uint64_t step_ = 0, uids_ = 0, incarnation_ = 0;
  std::uint64_t resyncs_ = 0, reserved_ = 0, refused_ = 0, expired_ = 0, crashes_ = 0;
  std::int64_t wall_us_ = kNowUs;
  SteadyTime steady_{std::chrono::hours(1)};
  std::map<std::string, Node> nodes_;
  std::map<std::string, Pod> pods_;
  std::deque<Fact> changes_, snapshot_;  // not sent yet
  Metrics metrics_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> feeder_, viewer_;
  std::array<std::unique_ptr<Client>, 2> schedulers_;
  bool feeding_ = false;
  std::unique_ptr<Known> known_,
      next_;                          // what the service knows, and what a resync will make of it
  std::map<std::string, Held> held_;  // by pod key
};

TEST_F(ServiceSimulation, WhatTheModelSaysHoldsAfterEveryStep) {
  run(number_of("HEADROOM_STEPS", kSteps));
}

}  // namespace
}  // namespace headroom::in_memory
