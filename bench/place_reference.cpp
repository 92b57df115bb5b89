// What bench/python_place.py compares with: the same pods onto the same nodes by Engine::place, in
// C++, loaded into the same process.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace headroom {
namespace {

constexpr const char* kResources[] = {"cpu", "memory", "nvidia.com/gpu"};
constexpr std::size_t kResourceCount = std::size(kResources);
constexpr std::size_t kChunkPods = 512;

// A row of amounts; 0: not named.
ResourceList resources(const std::int64_t* amounts) {
  ResourceList list;
  for (std::size_t r = 0; r < kResourceCount; ++r) {
    if (amounts[r] == 0) continue;
    list.emplace_back(kResources[r],
                      r == 0 ? Quantity::from_milli(amounts[r]) : Quantity::from_value(amounts[r]));
  }
  return list;
}

Pod make_pod(std::int64_t index, const std::int64_t* requests, const std::int64_t* limits) {
  Pod pod;
  pod.namespace_name = "default";
  pod.name = "pod-" + std::to_string(index);
  pod.uid = pod.name;
  pod.phase = "Pending";
  Container container;
  container.requests = resources(requests);
  container.limits = resources(limits);
  pod.containers = {std::move(container)};
  return pod;
}

struct Seconds {
  double wall = 0, cpu = 0;
};

// Within Engine::place alone; the pods are made before the clock starts.
Result<Seconds> place(std::span<const std::int64_t> nodes, std::int64_t pods,
                      const std::int64_t* requests, const std::int64_t* limits,
                      std::int32_t* rows) {
  Result<Engine> engine = Engine::create(Profile::standard(), {.threads = 1});
  if (!engine) return tl::unexpected(engine.error());
  for (std::size_t n = 0; n * kResourceCount < nodes.size(); ++n) {
    Node node;
    node.name = "node-" + std::to_string(n);
    node.allocatable = resources(&nodes[n * kResourceCount]);
    node.allocatable.emplace_back("pods", Quantity::from_value(110));
    std::sort(node.allocatable.begin(), node.allocatable.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (Result<void> done = engine->upsert(node); !done) return tl::unexpected(done.error());
  }
  Seconds seconds;
  std::vector<Pod> chunk;
  for (std::int64_t first = 0; first < pods; first += kChunkPods) {
    chunk.clear();
    for (std::int64_t p = first; p < std::min<std::int64_t>(pods, first + kChunkPods); ++p) {
      chunk.push_back(make_pod(p, requests + p * kResourceCount, limits + p * kResourceCount));
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    const Result<std::vector<Placement>> placements =
        engine->place(chunk, {.top_k = 1, .plugin_scores = false, .reasons = true});
    if (!placements) return tl::unexpected(placements.error());
    for (const Placement& placement : *placements) {
      *rows++ = static_cast<std::int32_t>(placement.node);
    }
    seconds.cpu += static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    seconds.wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return seconds;
}

}  // namespace
}  // namespace headroom

// Rows of amounts of cpu, memory and GPUs. Fills `rows`, by pod, and seconds of wall clock and of
// processor. Not 0 for an error, which is printed.
extern "C" __attribute__((visibility("default"))) int headroom_place_reference(
    const std::int64_t* nodes, std::int64_t node_count, std::int64_t pods,
    const std::int64_t* requests, const std::int64_t* limits, std::int32_t* rows, double* seconds) {
  const auto amounts = static_cast<std::size_t>(node_count) * headroom::kResourceCount;
  const auto spent = headroom::place({nodes, amounts}, pods, requests, limits, rows);
  if (!spent) {
    std::fprintf(stderr, "place_reference: %s\n", spent.error().message.c_str());
    return 1;
  }
  seconds[0] = spent->wall;
  seconds[1] = spent->cpu;
  return 0;
}
