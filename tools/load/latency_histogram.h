// LatencyHistogram: how many times each latency was seen, to within one percent, in fixed memory.
//
// Buckets are linear up to 128 ns and then 128 to each power of two. Thread safety: one thread at a
// time. Cost of record(): a few instructions. (HdrHistogram for C++ is not packaged in Debian.)
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace headroom {

class LatencyHistogram {
 public:
  void record(std::int64_t nanoseconds, std::uint64_t count = 1) {
    const auto value = static_cast<std::uint64_t>(nanoseconds < 0 ? 0 : nanoseconds);
    counts_[bucket_of(value)] += count;
    count_ += count;
    max_ = value > max_ ? value : max_;
  }
  void add(const LatencyHistogram& other);

  std::uint64_t count() const { return count_; }
  double max_us() const { return static_cast<double>(max_) / 1000; }
  // What `share` (0.99) of the latencies do not exceed; 0 where there are none.
  double quantile_us(double share) const;

  struct Bucket {
    double up_to_us;  // its latencies are below
    std::uint64_t count;
  };
  std::vector<Bucket> buckets() const;  // those with a count, in order

 private:
  static constexpr unsigned kBits = 7;
  static constexpr std::uint64_t kLinear = 1 << kBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kLinear) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return (std::uint64_t{shift} << kBits) + (value >> shift);
  }
  static std::uint64_t end_of(std::size_t bucket);

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>((64 - kBits + 1) << kBits);
  std::uint64_t count_ = 0, max_ = 0;
};

}  // namespace headroom
