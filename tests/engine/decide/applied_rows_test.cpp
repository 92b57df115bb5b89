// What is kept with an application from one decision to the next, and follows what changes: on few
// nodes, where each change makes a class or empties it, beside an engine that keeps nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/engine.h"
#include "objects/labels.h"
#include "tests/support/engine_pair.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/random.h"

namespace headroom::applied_rows_test {
namespace {

constexpr std::uint32_t kNodes = 7, kPodsEach = 12;
// So many for few nodes that they come and go, and what was one's number is another's.
constexpr std::array kZones = {"a", "b", "c", "d", "e"};

enum App : std::uint32_t { kSoft, kHard, kAffinity, kByDefault, kApps };

std::string name_of(std::uint32_t n) { return "node-" + std::to_string(n); }

TopologySpreadConstraint spread(const char* key, bool hard, const LabelSelector& selector) {
  TopologySpreadConstraint constraint;
  constraint.hard = hard;
  constraint.max_skew = 1;
  constraint.topology_key = key;
  constraint.selector = selector;
  return constraint;
}

PodAffinityTerm term(const char* key, std::int32_t weight, const LabelSelector& selector) {
  PodAffinityTerm its;
  its.selector = selector;
  its.topology_key = key;
  its.weight = weight;
  return its;
}

Pod pod_of(std::uint32_t app, const std::string& name) {
  Pod pod =
      headroom::pod_of("team", name, millicores(100), {.labels = {{"app", std::to_string(app)}}});
  const LabelSelector own = {{"app", "In", {std::to_string(app)}}};
  if (app == kSoft || app == kHard) {
    pod.topology_spread = {spread(kZoneLabel, app == kHard, own),
                           spread(kHostnameLabel, false, own)};
  } else if (app == kAffinity) {
    pod.pod_anti_affinity.required = {term(kHostnameLabel, 0, own)};
    pod.pod_affinity.preferred = {term(kZoneLabel, 50, own)};
  }
  return pod;
}

// Takes all that a node has.
Pod filler_of(std::uint32_t n) {
  Pod pod = pod_of(kApps, "filler-" + std::to_string(n));
  pod.containers[0].requests = cores(8);
  return pod;
}

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : random_{seed, 1} {
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      Node& node = nodes_[n];
      node.name = name_of(n);
      node.labels = {{kHostnameLabel, node.name}, {kZoneLabel, kZones[n % kZones.size()]}};
      node.allocatable = {{"cpu", Quantity::from_value(8)}, {"pods", Quantity::from_value(110)}};
      pair_.upsert(node);
    }
    const Service service{"team", "by-default", StringMap{{"app", std::to_string(kByDefault)}}};
    pair_.upsert(ReferredObject(service));
  }

  // Some node or pod comes, goes or is another.
  void step() {
    const std::uint32_t n = random_.below(kNodes);
    switch (random_.below(12)) {
      case 0:
      case 1:
        fill(n);
        break;
      case 2:
      case 3:
      case 4:
        nodes_[n].labels.back().second = kZones[random_.below(kZones.size())];
        show(n);
        break;
      case 5:
        nodes_[n].taints.clear();
        if (random_.permille(500)) {
          nodes_[n].taints = {{"t", "", random_.permille(500) ? "NoSchedule" : "PreferNoSchedule"}};
        }
        show(n);
        break;
      case 6:
        if (random_.permille(300)) {
          pair_.remove_node(name_of(n));
        } else {
          show(n);
        }
        break;
      case 7:
        // Two nodes that say the same of their hostname, now and then.
        nodes_[n].labels.front().second = name_of(random_.permille(100) ? 0 : n);
        show(n);
        break;
      case 8:
        suppose();
        break;
      default:
        place();
        break;
    }
  }

  void ask() {
    const std::uint32_t app = random_.below(kApps);
    Pod pod = pod_of(app, "asked-of-" + std::to_string(app));
    // Another shape of the application; and one that has classes told apart.
    if (random_.permille(100)) pod.containers[0].requests[0].second = Quantity::from_value(4);
    if (random_.permille(20)) {
      pod.node_selector = {{kZoneLabel, kZones[random_.below(kZones.size())]}};
    }
    pair_.ask(pod, kNodes);
    pair_.ask_nodes(pod);
  }

  void check() { pair_.check(); }

 private:
  void show(std::uint32_t n) { pair_.upsert(nodes_[n]); }
  // What others ask meanwhile, and what is taken back.
  void suppose() {
    const auto nodes = nodes_;
    const auto full = full_;
    pair_.fork();
    for (std::uint32_t e = random_.below(3); e > 0; --e) {
      fill(random_.below(kNodes));
      place();
      ask();
    }
    pair_.rollback();
    nodes_ = nodes;
    full_ = full;
  }
  // All that the node has is taken, or given back.
  void fill(std::uint32_t n) {
    full_[n] = !full_[n];
    Pod pod = filler_of(n);
    pod.node_name = name_of(n);
    full_[n] ? pair_.upsert(pod) : pair_.remove_pod(pod);
  }
  // A pod of some application goes to another node, or ends.
  void place() {
    const std::uint32_t app = random_.below(kApps);
    Pod pod = pod_of(app, std::to_string(app) + "-" + std::to_string(random_.below(kPodsEach)));
    pair_.remove_pod(pod);
    if (random_.permille(600)) {
      pod.node_name = name_of(random_.below(kNodes));
      pair_.upsert(pod);
    }
  }

  Random random_;
  std::array<Node, kNodes> nodes_;
  std::array<bool, kNodes> full_{};
  EnginePair pair_{Profile::kube_scheduler()};
};

TEST(AppliedRows, FollowWhatChanges) {
  const std::uint64_t seed = test_seed();
  constexpr std::uint64_t kWalks = std::max(1, 60 * HEADROOM_ROUNDS_PERCENT / 100);
  for (std::uint64_t w = 0; w < kWalks && !testing::Test::HasFailure(); ++w) {
    SCOPED_TRACE("walk " + std::to_string(w));
    Random random{seed, w};
    Walk walk(seed + w);
    for (int asked = 0; asked < 400 && !testing::Test::HasFailure(); ++asked) {
      for (std::uint32_t e = random.below(4); e > 0; --e) walk.step();
      walk.ask();
    }
    walk.check();
  }
}

}  // namespace
}  // namespace headroom::applied_rows_test
