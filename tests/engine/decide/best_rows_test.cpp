// The best rows where an application adds something to the columns' totals: of more classes than
// the best are kept by, and where the best of a class all stand apart from it.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "engine/decide/cached_shape.h"
#include "engine/engine.h"
#include "objects/labels.h"
#include "tests/support/engine_pair.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/random.h"

namespace headroom::best_rows_test {
namespace {

constexpr std::uint32_t kTopK = 16;

std::string name_of(std::uint32_t n) { return "node-" + std::to_string(n); }

Node node(std::uint32_t n, std::uint32_t zone, std::int64_t cpus) {
  return node_of(name_of(n), cores(cpus),
                 {{kHostnameLabel, name_of(n)}, {kZoneLabel, "zone-" + std::to_string(zone)}});
}

// Spread over zones and hostnames, as far as that goes.
Pod spread_pod(const std::string& name) {
  Pod pod = pod_of("team", name, millicores(100), {.labels = {{"app", "web"}}});
  for (const char* key : {kZoneLabel, kHostnameLabel}) {
    TopologySpreadConstraint& its = pod.topology_spread.emplace_back();
    its.hard = false;
    its.max_skew = 1;
    its.topology_key = key;
    its.selector = {{"app", "In", {"web"}}};
  }
  return pod;
}

void expect_distinct(const Decision& decision, std::uint32_t count) {
  std::set<NodeIndex> nodes;
  for (const NodeScore& candidate : decision.candidates) nodes.insert(candidate.node);
  EXPECT_EQ(nodes.size(), decision.candidates.size());
  EXPECT_EQ(decision.candidates.size(), count);
}

// A hostname of each node, and a zone of its own for most.
TEST(BestRows, OfManyZones) {
  const std::uint64_t seed = test_seed();
  constexpr std::uint32_t kZones = 2 * kBestClassesMax, kNodes = 3 * kZones, kPods = 40;
  Random random{seed};
  EnginePair pair(Profile::kube_scheduler());
  pair.reserve(kNodes, 2 * kNodes);
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    pair.upsert(node(n, n % kZones, 32));
    // What others take differs, so that few nodes are the best.
    Pod other = pod_of("other", "other-" + std::to_string(n), millicores(1'000 * random.below(8)),
                       {.node_name = name_of(n)});
    pair.upsert(other);
  }
  for (std::uint32_t step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
    Pod pod = spread_pod("web-" + std::to_string(random.below(kPods)));
    const Decision decision = pair.ask(pod, kTopK);
    expect_distinct(decision, kTopK);
    pair.remove_pod(pod);
    if (random.permille(700)) {
      // Mostly the best, whose zone is not that for the next then.
      pod.node_name = random.permille(800) ? pair.name_of(decision.candidates.front().node)
                                           : name_of(random.below(kNodes));
      pair.upsert(pod);
    }
  }
  pair.check();
}

// As many as are kept of a class have a pod each, but for the first one.
TEST(BestRows, WhereNearlyAllThatAreKeptStandApart) {
  constexpr std::uint32_t kZones = 2, kNodes = 6 * kBestKept;
  EnginePair pair(Profile::kube_scheduler());
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    const bool large = n < kZones * kBestKept;
    pair.upsert(node(n, n % kZones, large ? 1'000 : 32));
    if (!large) {
      pair.upsert(
          pod_of("other", "other-" + std::to_string(n), cores(16), {.node_name = name_of(n)}));
    } else if (n >= kZones) {
      Pod pod = spread_pod("web-" + std::to_string(n));
      pod.node_name = name_of(n);
      pair.upsert(pod);
    }
  }
  for (int again = 0; again < 3; ++again) {
    expect_distinct(pair.ask(spread_pod("asked"), kTopK), kTopK);
    pair.upsert(pod_of("other", "more", millicores(100), {.node_name = name_of(kNodes - 1)}));
  }
  pair.check();
}

}  // namespace
}  // namespace headroom::best_rows_test
