// Clusters too large for the oracle: 3,000 nodes of the generator, many shapes interleaved with
// events; the engine with its cache answers as the engine without. Also what bends the cache most:
// extremes of a min-max normalised score that walk to and fro, and nodes that are all equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/support/engine_pair.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "workloads/cluster_generator.h"
#include "workloads/random.h"

namespace headroom::large_cluster_test {
namespace {

constexpr std::uint32_t kNodes = 3'000;
constexpr std::uint32_t kPods = 12'000;
constexpr std::array<std::uint32_t, 2> kTopKs = {1, 16};

int rounds(int in_release) { return std::max(1, in_release * HEADROOM_ROUNDS_PERCENT / 100); }

// With room for all that comes.
EnginePair pair_of(const Profile& profile) {
  EnginePair pair(profile);
  pair.reserve(kNodes, kPods);
  return pair;
}

Node large_node(const std::string& name, std::int64_t cpu_milli, std::int64_t memory) {
  ResourceList allocatable = cpu_and_memory(cpu_milli, memory);
  allocatable.emplace_back("pods", Quantity::from_value(1'000));
  return node_of(name, std::move(allocatable));
}

Pod pod_of(const std::string& name, std::int64_t request_milli, std::int64_t limit_milli) {
  return headroom::pod_of("default", name, millicores(request_milli),
                          {.limits = millicores(limit_milli)});
}

class LargeCluster : public testing::TestWithParam<Mode> {};

TEST_P(LargeCluster, CacheAnswersAsNoCacheBetweenEvents) {
  const std::uint64_t seed = test_seed();
  Random random{seed};
  const ClusterGenerator generator({.nodes = kNodes, .pods = kPods, .seed = seed});
  Profile profile = Profile::standard();
  profile.mode = GetParam();
  EnginePair pair = pair_of(profile);
  std::int64_t now_us = generator.options().now_us;
  pair.advance(now_us);
  std::vector<Pod> bound, pending;
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    pair.upsert(generator.node(n));
    if (generator.has_node_metric(n)) pair.upsert(generator.node_metric(n));
  }
  for (std::uint32_t p = 0; p < kPods; ++p) {
    (generator.is_bound(p) ? bound : pending).push_back(generator.pod(p));
    if (generator.is_bound(p)) pair.upsert(bound.back());
  }
  ASSERT_FALSE(bound.empty());
  ASSERT_FALSE(pending.empty());

  for (int step = 0; step < rounds(2'500) && !HasFailure(); ++step) {
    // Mostly few rows change between two questions, now and then many.
    for (int e = random.permille(20) ? 600 : static_cast<int>(random.below(4)); e > 0; --e) {
      const std::uint32_t n = random.below(kNodes);
      switch (random.below(6)) {
        case 0:
          pair.remove_pod(bound[random.below(static_cast<std::uint32_t>(bound.size()))]);
          break;
        case 1:
          pair.upsert(bound[random.below(static_cast<std::uint32_t>(bound.size()))]);
          break;
        case 2: {
          Node node = generator.node(n);
          node.unschedulable = random.permille(200);
          pair.upsert(node);
          break;
        }
        case 3:
          if (random.permille(100)) pair.remove_node(generator.node_name(n));
          break;
        default: {
          NodeMetric metric = generator.node_metric(n);
          metric.update_time_us = now_us - random.between(0, 170) * 1'000'000;
          const std::int64_t cores = random.between(0, 40);
          metric.node_usage = {{"cpu", Quantity::from_milli(cores * 1'000)},
                               {"memory", Quantity::from_value(cores << 30)}};
          pair.upsert(metric);
        }
      }
    }
    if (random.permille(30)) pair.advance(now_us += random.between(1, 20) * 1'000'000);
    const std::uint32_t top_k = kTopKs[random.below(2)];
    // Few shapes most of the time: their caches live long.
    const auto reach = static_cast<std::uint32_t>(pending.size());
    const Pod& pod = pending[random.below(random.permille(800) ? std::min(reach, 24u) : reach)];
    const Decision decision = pair.ask(pod, top_k);
    if (decision.code == Code::kSuccess && random.permille(300)) {
      Pod placed = pod;
      placed.name = placed.uid = "placed-" + std::to_string(step);
      pair.assume(placed, pair.name_of(decision.candidates.front().node));
      bound.push_back(placed);
      bound.back().node_name = pair.name_of(decision.candidates.front().node);
    }
  }
  pair.check();
}

// Nodes come, go, and get other taints and labels, mostly few between two questions, now and then
// more than those who follow them remember.
TEST_P(LargeCluster, ApplicationsFollowNodes) {
  const std::uint64_t seed = test_seed();
  Random random{seed, 2};
  const ClusterGenerator generator(
      {.nodes = kNodes, .pods = kPods, .seed = seed, .applications = true});
  Profile profile = Profile::standard();
  profile.mode = GetParam();
  EnginePair pair = pair_of(profile);
  pair.advance(generator.options().now_us);
  for (std::uint32_t n = 0; n < kNodes; ++n) pair.upsert(generator.node(n));
  for (const ReferredObject& object : generator.referred_objects()) pair.upsert(object);
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < kPods; ++p) {
    const Pod pod = generator.pod(p);
    if (generator.is_bound(p)) pair.upsert(pod);
    // Those with volumes are looked at anew for each question.
    if (pod.volumes.empty()) pods.push_back(pod);
  }
  ASSERT_FALSE(pods.empty());
  const auto asked = [&](std::uint32_t of) {
    Pod pod = pods[random.below(of)];
    pod.name = pod.uid = "asked";
    pod.node_name.clear();
    return pod;
  };
  for (int step = 0; step < rounds(800) && !HasFailure(); ++step) {
    for (int e = random.permille(10) ? 2'000 : static_cast<int>(random.below(3)); e > 0; --e) {
      const std::uint32_t n = random.below(kNodes);
      Node node = generator.node(n);
      switch (random.below(6)) {
        case 0:
          node.taints = {
              {"maintenance", "", random.permille(500) ? "PreferNoSchedule" : "NoSchedule"}};
          break;
        case 1:
          node.unschedulable = true;
          break;
        case 2:
          for (auto& [key, value] : node.labels) {
            const bool zone = key == "topology.kubernetes.io/zone";
            if (zone || (key == "kubernetes.io/hostname" && random.permille(50)))
              value = "elsewhere";
          }
          break;
        case 3:
          if (random.permille(300)) {
            pair.remove_node(node.name);
            continue;
          }
          break;
        default:
          break;  // as it was
      }
      pair.upsert(node);
    }
    if (random.permille(300)) {
      Pod pod = pods[random.below(60)];
      pod.node_name = generator.node_name(random.below(kNodes));
      pair.upsert(pod);
    }
    pair.ask(asked(random.permille(900) ? 60 : static_cast<std::uint32_t>(pods.size())),
             kTopKs[random.below(2)]);
  }
  pair.check();
}

// A few nodes hold limits far beyond their capacity, so that LimitAware's raw scores range over
// less than a hundred at one question and over millions at the next; now and then beyond 2^28, more
// than a cached row holds.
TEST_P(LargeCluster, ExtremesWalkToAndFro) {
  const std::uint64_t seed = test_seed();
  Random random{seed, 1};
  constexpr std::uint32_t kExtremeNodes = 4;
  constexpr std::array<std::int64_t, 10> kLimitPercents = {0,   50,    150,   300,     420,
                                                           430, 1'000, 5'000, 100'000, 3'000'000};
  constexpr std::int64_t kBeyondCachedRows = 400'000'000;
  Profile profile;
  profile.mode = GetParam();
  profile.filters = {PluginId::kNodeUnschedulable, PluginId::kNodeResourcesFit};
  profile.scores = {{PluginId::kLimitAware, 3}, {PluginId::kNodeResourcesFit, 1}};
  EnginePair pair = pair_of(profile);
  const auto name_of = [](std::uint32_t n) { return "n" + std::to_string(n); };
  constexpr std::int64_t kCpu = 32'000, kMemory = std::int64_t{128} << 30;
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    pair.upsert(large_node(name_of(n), kCpu, kMemory));
    Pod pod = pod_of("p" + std::to_string(n), 1'000, random.between(1, 80) * 500);
    pod.node_name = name_of(n);
    pair.upsert(pod);
  }
  std::vector<Pod> shapes;
  for (int s = 0; s < 12; ++s) {
    shapes.push_back(pod_of("new", random.between(0, 8) * 250, random.between(8, 60) * 250));
  }
  for (int step = 0; step < rounds(4'000) && !HasFailure(); ++step) {
    if (random.permille(500)) {
      const std::uint32_t n = random.below(kExtremeNodes) * (kNodes / kExtremeNodes);
      const std::int64_t percent =
          random.permille(10)
              ? kBeyondCachedRows
              : kLimitPercents[random.below(static_cast<std::uint32_t>(kLimitPercents.size()))];
      Pod pod = pod_of("extreme-" + std::to_string(n), 0, kCpu / 100 * percent);
      pod.node_name = name_of(n);
      if (percent == 0) {
        pair.remove_pod(pod);
      } else {
        pair.upsert(pod);
      }
    }
    if (random.permille(300)) {  // The lowest or the highest node leaves and returns.
      const std::uint32_t n = random.permille(500)
                                  ? random.below(kExtremeNodes) * (kNodes / kExtremeNodes)
                                  : random.below(kNodes);
      Node node = large_node(name_of(n), kCpu, kMemory);
      node.unschedulable = random.permille(400);
      pair.upsert(node);
    }
    if (random.permille(300)) {
      const std::uint32_t n = random.below(kNodes);
      Pod pod = pod_of("p" + std::to_string(n), 1'000, random.between(1, 80) * 500);
      pod.node_name = name_of(n);
      pair.upsert(pod);
    }
    pair.ask(shapes[random.below(static_cast<std::uint32_t>(shapes.size()))],
             kTopKs[random.below(2)]);
  }
  pair.check();
}

TEST_P(LargeCluster, EqualNodesAreTakenInOrderOfRows) {
  Profile profile = Profile::standard();
  profile.mode = GetParam();
  EnginePair pair = pair_of(profile);
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    pair.upsert(large_node("n" + std::to_string(n), 16'000, std::int64_t{64} << 30));
  }
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(rounds(600)) && !HasFailure(); ++p) {
    const Pod pod = pod_of("p" + std::to_string(p), 1'000, 2'000);
    const Decision best = pair.ask(pod, 1), many = pair.ask(pod, 16);
    ASSERT_EQ(kNodes, many.feasible);
    ASSERT_EQ(16u, many.candidates.size());
    for (std::uint32_t c = 0; c < 16; ++c) {
      EXPECT_EQ(NodeIndex{p + c}, many.candidates[c].node);
      EXPECT_EQ(best.candidates.front().total, many.candidates[c].total);
    }
    EXPECT_EQ(NodeIndex{p}, best.candidates.front().node);
    pair.assume(pod, "n" + std::to_string(p));
  }
  pair.check();
}

// The cache stays within its limit however often entries come and go, and counts what it holds.
TEST(LargeClusterCache, StaysWithinItsLimit) {
  constexpr std::size_t kEntryBytesMax = 100'000, kMax = 4 * kEntryBytesMax;
  Engine engine =
      *Engine::create(Profile::standard(), {.shape_cache_bytes_max = kMax, .threads = 2});
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    ASSERT_TRUE(engine.upsert(large_node("n" + std::to_string(n), 16'000, std::int64_t{64} << 30)));
  }
  std::vector<Pod> pods;
  for (std::uint32_t p = 0; p < 20; ++p) {
    pods.push_back(pod_of("p" + std::to_string(p), 100 * (p + 1), 200 * (p + 1)));
  }
  for (std::uint32_t round = 0; round < 30; ++round) {
    for (const Pod& pod : pods) {
      for (const std::uint32_t top_k : {1, 16}) {
        ASSERT_TRUE(engine.evaluate(pod, {.top_k = top_k}));
        ASSERT_LE(engine.stats().cache_bytes, kMax);
        ASSERT_GE(engine.stats().cache_bytes, kNodes * sizeof(std::uint32_t)) << "one entry";
      }
    }
    ASSERT_TRUE(engine.evaluate(pods, {.top_k = 16}));
    ASSERT_LE(engine.stats().cache_bytes, kMax);
    Pod placed = pods[round % pods.size()];
    placed.name += "-" + std::to_string(round);
    ASSERT_TRUE(engine.assume(placed, "n" + std::to_string(round)));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, LargeCluster, testing::Values(Mode::kProposal, Mode::kUpstream),
                         [](const testing::TestParamInfo<Mode>& mode) {
                           return mode.param == Mode::kProposal ? "Proposal" : "Upstream";
                         });

}  // namespace
}  // namespace headroom::large_cluster_test
