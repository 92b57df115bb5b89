// ServiceSimulation: what surrounds headroomd, step by step: a cluster that changes, a feeder that
// loses its connection, loses facts, repeats old ones and gives way to another, two schedulers that
// race, crash and come back, a viewer who tries what he may not, clocks that jump, and a daemon
// that is killed. No sockets, no threads: the draws give the run, be they a seed's
// (service_simulation_test.cpp) or a fuzzer's bytes (fuzz/service_ops_fuzz.cpp).
//
// A model keeps what the service has been told (known_facts.h) and what is reserved. After every
// step check() may be asked whether
// * the service's digest is the model's: no pod counts twice, no reservation is lost or held for
//   ever, a resync equals the facts;
// * its list of reservations is the model's: who holds what, where;
// * as many pods wait as the model says.
// What a step was answered is held against what the model's engine says. Failures are GoogleTest's.
//
// Thread safety: one thread. Cost: some 100 us a step.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/server/known_facts.h"
#include "tests/support/draws.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory {

class ServiceSimulation {
 public:
  // Everybody is decided for by the standard profile; the others are fed the same beside it.
  explicit ServiceSimulation(Draws draws, const std::vector<Profile>& others = {});

  void step();
  void check();
  // All that the service keeps twice, row by row.
  void validate();
  bool used_up() const { return draws_.used_up(); }

  // What a run was made of: one that did nothing would show here.
  struct Counts {
    std::uint64_t resyncs = 0, reserved = 0, refused = 0, expired = 0, crashes = 0, cut_short = 0,
                  preemptions = 0, feeds_stopped = 0, unknown_uids = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Held {
    Pod pod;
    std::string node, owner;
    SteadyTime due;
  };
  // A pod as a request names it, and as the service should find it; nullopt: no pod has that uid.
  struct Named {
    PodArg arg;
    std::optional<Pod> pod;
  };
  using Scheduler = std::unique_ptr<Client>;

  // The cluster, as the API server has it.
  void add_node(std::uint32_t n);
  void change_node();
  void change_elastic_quota();
  void change_referred_object();
  void ask_for_company(Pod& pod);
  void change_pod();
  void create_pod(const std::string& name);
  void repeat_an_old_fact();
  void keep_former(const Pod& pod);
  void cluster_changes();

  // The daemon, and time.
  void start();
  void crash();
  void time_passes();
  void clocks();
  void give_back(const Held& held);

  // The feeder.
  void feeder_acts();
  void begin_resync();
  void send_some(std::deque<Fact>& from);
  void lose_facts();
  Fact no_fact();
  void send_what_no_server_takes();
  void another_feeds();
  void reload_profile();
  void end_resync();
  void apply(const Fact& fact);
  void settle(const std::string& key, const Pod* waiting);
  void stop_feeding();
  KnownFacts& fed() { return next_ != nullptr ? *next_ : *known_; }

  // Schedulers.
  void scheduler_acts(std::size_t which);
  const Pod* seen();
  std::optional<Named> named();
  std::vector<Named> some_pods();
  static std::vector<PodArg> args_of(const std::vector<Named>& pods);
  std::string reservable(const Named& named, const std::string& owner) const;
  std::string reservable(const Named& named, const std::string& node,
                         const std::string& owner) const;
  void hold(const Pod& pod, const std::string& node, const std::string& owner);
  void evaluate(Client& scheduler);
  void reserve(Client& scheduler, const std::string& owner);
  void place(Client& scheduler, const std::string& owner);
  void place_and_go(Scheduler& scheduler);
  void place_and_undo(const std::vector<Named>& pods);
  void unreserve(Client& scheduler, const std::string& owner);
  void renew(Client& scheduler, const std::string& owner);
  void post_filter(Client& scheduler);
  void bind(const std::string& owner);
  std::string any_node() { return "n" + std::to_string(draws_.below(kNodes + 1)); }
  void viewer_tries();

  static constexpr std::uint32_t kNodes = 6, kPodNames = 24;

  Draws draws_;
  std::vector<Profile> profiles_;
  Counts counts_;
  std::uint64_t step_ = 0, uids_ = 0, incarnation_ = 0;
  std::int64_t wall_us_ = kNowUs;
  SteadyTime steady_{std::chrono::hours(1)};
  std::chrono::nanoseconds clock_step_{0};  // kWorkTurnTime: a turn is one piece of work
  std::map<std::string, Node> nodes_;
  std::map<std::string, Pod> pods_;
  std::map<std::string, ElasticQuota> quotas_;
  std::map<std::string, ReferredObject> referred_;  // by kind and key
  std::deque<Pod> former_;                          // pods as they were, of uids that may be gone
  std::deque<Fact> changes_, snapshot_;             // not sent yet
  Metrics& metrics_;
  std::unique_ptr<RequestService> service_;
  std::unique_ptr<Client> feeder_, viewer_;
  std::array<Scheduler, 2> schedulers_;
  bool feeding_ = false;
  // What the service knows, and what a resync will make of it.
  std::unique_ptr<KnownFacts> known_, next_;
  std::map<std::string, Held> held_;  // by pod key
};

}  // namespace headroom::in_memory
