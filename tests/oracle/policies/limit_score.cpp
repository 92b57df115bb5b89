// See limit_score.h and policies.h.
#include "oracle/policies/limit_score.h"

#include <algorithm>

namespace oracle {

std::vector<WeightedResource> read_weighted(const Json& list) {
  std::vector<WeightedResource> resources;
  if (!list.is_array()) return resources;
  for (const Json& entry : list) {
    const std::int64_t weight = integer(entry, "weight").value_or(0);
    resources.push_back({text(entry, "name"), weight == 0 ? 1 : weight});
  }
  return resources;
}

std::vector<WeightedResource> default_weighted() { return {{"cpu", 1}, {"memory", 1}}; }

// proposal-rules.md, LimitAware: each R's score, then the weighted mean, truncate.
std::int64_t mean_headroom(const std::vector<Share>& shares) {
  Int128 sum = 0, weights = 0;
  for (const Share& share : shares) {
    if (share.capacity == 0) continue;
    const Int128 score = (share.capacity - share.used) * 100 / share.capacity;
    sum += Int128{sum_in_int64(Mode::kProposal, score)} * share.weight;
    weights += share.weight;
  }
  return weights == 0 ? 0 : sum_in_int64(Mode::kProposal, sum / weights);
}

bool is_basic_resource(const std::string& name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage";
}

// proposal-rules.md, Common: reasons in the order cpu, memory, ephemeral-storage, then by name.
std::vector<std::string> reason_order(const std::vector<std::string>& names) {
  std::vector<std::string> ordered;
  for (const char* basic : {"cpu", "memory", "ephemeral-storage"}) {
    if (std::find(names.begin(), names.end(), basic) != names.end()) ordered.emplace_back(basic);
  }
  std::vector<std::string> others;
  for (const std::string& name : names) {
    if (!is_basic_resource(name)) others.push_back(name);
  }
  std::sort(others.begin(), others.end());
  ordered.insert(ordered.end(), others.begin(), others.end());
  return ordered;
}

// proposal-rules.md, Common: (raw - lo) * 100 / (hi - lo), 0 when hi = lo. Reference 4.2: in
// double.
RawScores normalize_min_max(Mode mode, const RawScores& raw) {
  RawScores normalized;
  if (raw.empty()) return normalized;
  std::int64_t low = raw.begin()->second, high = low;
  for (const auto& [node, score] : raw) {
    low = std::min(low, score);
    high = std::max(high, score);
  }
  for (const auto& [node, score] : raw) {
    if (high == low) {
      normalized[node] = 0;
    } else if (mode == Mode::kUpstream) {
      const double share = static_cast<double>(score - low) / static_cast<double>(high - low);
      normalized[node] = static_cast<std::int64_t>(100.0 * share);
    } else {
      normalized[node] =
          static_cast<std::int64_t>((Int128{score} - low) * 100 / (Int128{high} - low));
    }
  }
  return normalized;
}

}  // namespace oracle
