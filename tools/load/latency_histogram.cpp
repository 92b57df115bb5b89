#include "tools/load/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace headroom {

std::uint64_t LatencyHistogram::end_of(std::size_t bucket) {
  if (bucket < 2 * kLinear) return bucket + 1;
  const std::size_t shift = (bucket >> kBits) - 1;
  return ((bucket & (kLinear - 1)) + kLinear + 1) << shift;
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  for (std::size_t b = 0; b < counts_.size(); ++b) counts_[b] += other.counts_[b];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double LatencyHistogram::quantile_us(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < counts_.size(); ++b) {
    seen += counts_[b];
    if (counts_[b] != 0 && seen >= wanted) {
      return static_cast<double>(std::min(end_of(b) - 1, max_)) / 1000;
    }
  }
  return 0;
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t b = 0; b < counts_.size(); ++b) {
    if (counts_[b] != 0) filled.push_back({static_cast<double>(end_of(b)) / 1000, counts_[b]});
  }
  return filled;
}

}  // namespace headroom
