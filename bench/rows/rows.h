// The rows of the benchmark table. A row builds its clusters, checks its answers, measures, and
// adds its lines. A wrong answer throws CheckFailed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/table.h"
#include "kernels/kernels.h"

namespace headroom {

// With BenchOptions::scale: numbers from kScaledMin on are of nodes, pods and applications; a row
// keeps more than kScaledMax pods three times over, which 24 GiB do not hold.
inline constexpr std::uint32_t kScaledMin = 5'000, kScaledMax = 4'000'000;

struct BenchOptions {
  std::uint64_t seed = 1;
  bool smoke = false;  // small sizes and few repetitions
  bool scale = false;  // ten times as many nodes and pods, up to kScaledMax; two repetitions

  // `full`, about a fiftieth of it, or ten times as many.
  std::uint32_t size(std::uint32_t full) const {
    if (smoke || !scale || full < kScaledMin) return usual(full);
    return std::max(full, std::min(full * 10, kScaledMax));
  }
  // The same of rows that have 500,000 nodes anyway.
  std::uint32_t usual(std::uint32_t full) const { return smoke ? full / 50 : full; }
  std::int32_t repetitions(std::int32_t full) const {
    return smoke || scale ? std::min(full, 2) : full;
  }
  std::int64_t iterations(std::int64_t full) const { return smoke ? (full + 99) / 100 : full; }
};

using Lines = std::vector<TableLine>;

// What is asked of a row of arithmetic: with AVX2 and narrower vectors some 1.6 times as long a
// node as with AVX-512 (reference performance.md, "same, AVX2").
inline double by_vectors(double avx512, double narrower) {
  return std::string_view(active_kernels()->name) == "avx512" ? avx512 : narrower;
}

void kernel_vs_read(const BenchOptions& options, Lines& lines);
void kernel_vs_scalar(const BenchOptions& options, Lines& lines);
void cold_profile(const BenchOptions& options, Lines& lines);
void resources_8(const BenchOptions& options, Lines& lines);
void warm(const BenchOptions& options, Lines& lines);
void warm_growth(const BenchOptions& options, Lines& lines);
void warm_dirty(const BenchOptions& options, Lines& lines);
void batch_shapes(const BenchOptions& options, Lines& lines);
void place(const BenchOptions& options, Lines& lines);
void place_churn(const BenchOptions& options, Lines& lines);
void place_generated(const BenchOptions& options, Lines& lines);
void trace_replay(const BenchOptions& options, Lines& lines);
void fork_rollback(const BenchOptions& options, Lines& lines);
void c_abi_overhead(const BenchOptions& options, Lines& lines);
void events(const BenchOptions& options, Lines& lines);
void load_dump(const BenchOptions& options, Lines& lines);
void served_latency(const BenchOptions& options, Lines& lines);
void served_throughput(const BenchOptions& options, Lines& lines);
void served_batch(const BenchOptions& options, Lines& lines);
void open_loop(const BenchOptions& options, Lines& lines);
void resync(const BenchOptions& options, Lines& lines);
void hostile_wait(const BenchOptions& options, Lines& lines);
void codec(const BenchOptions& options, Lines& lines);
void elastic_quota_prefilter(const BenchOptions& options, Lines& lines);
void preempt_cold(const BenchOptions& options, Lines& lines);
void preempt_pruned(const BenchOptions& options, Lines& lines);
void preempt_storm(const BenchOptions& options, Lines& lines);
void capacity_quota_check(const BenchOptions& options, Lines& lines);
void capacity_quota_check_batch(const BenchOptions& options, Lines& lines);
void capacity_quota_event(const BenchOptions& options, Lines& lines);
void capacity_quota_edit(const BenchOptions& options, Lines& lines);
void spread_warm(const BenchOptions& options, Lines& lines);
void spread_hard(const BenchOptions& options, Lines& lines);
void affinity_warm(const BenchOptions& options, Lines& lines);
void spread_cold(const BenchOptions& options, Lines& lines);
void default_place(const BenchOptions& options, Lines& lines);
void counter_event(const BenchOptions& options, Lines& lines);
void volumes(const BenchOptions& options, Lines& lines);
void application_memory(const BenchOptions& options, Lines& lines);
void memory(const BenchOptions& options, Lines& lines);

}  // namespace headroom
