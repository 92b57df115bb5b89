#include "engine/cluster/soft_taints.h"

#include <algorithm>

#include "engine/table/node_class.h"

namespace headroom {

namespace {

constexpr const char* kEffect = "PreferNoSchedule";

}  // namespace

void SoftTaints::count(const std::vector<Taint>& taints, int sign) {
  for (const Taint& taint : taints) {
    if (taint.effect != kEffect) {
      continue;
    }
    const auto known = nodes_.try_emplace({taint.key, taint.value}, 0).first;
    known->second += static_cast<std::uint32_t>(sign);
    if (known->second == 0) {
      nodes_.erase(known);
    }
  }
}

bool SoftTaints::all_tolerated(const std::vector<Toleration>& tolerations) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& known) {
    return tolerated(tolerations, {known.first.first, known.first.second, kEffect});
  });
}

}  // namespace headroom
