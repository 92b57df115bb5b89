// See capacity_reservations.h.
#include "oracle/quotas/capacity_reservations.h"

#include "oracle/quotas/capacity_quota_amounts.h"

namespace oracle {
namespace {

std::map<std::string, std::string> compared_labels(const headroom::Node& node) {
  std::map<std::string, std::string> labels(node.labels.begin(), node.labels.end());
  labels.erase("kubernetes.io/hostname");
  return labels;
}

// Capacity is compared as quotas count it: rounded amounts above 0.
bool is_of(const headroom::Node& node, const headroom::Node& node_template) {
  return compared_labels(node) == compared_labels(node_template) &&
         node_amounts(node) == node_amounts(node_template);
}

}  // namespace

std::int64_t CapacityReservation::left() const {
  std::int64_t sum = 0;
  for (const HeldNodes& item : items) sum += item.left;
  return sum;
}

void register_node(CapacityReservations& reservations, const headroom::Node& node) {
  for (const auto& [key, id] : node.annotations) {
    if (key != "headroom/reservation") continue;
    const auto found = reservations.find(id);
    if (found == reservations.end()) return;
    CapacityReservation& reservation = found->second;
    HeldNodes* taken = nullptr;
    for (HeldNodes& item : reservation.items) {
      if (item.left == 0) continue;
      if (taken == nullptr) taken = &item;
      if (!is_of(node, item.node)) continue;
      taken = &item;
      break;
    }
    if (taken != nullptr && reservation.registered.insert(node.name).second) --taken->left;
    return;
  }
}

void expire(CapacityReservations& reservations, std::int64_t now_us) {
  std::erase_if(reservations, [&](const auto& entry) { return entry.second.expires_us <= now_us; });
}

}  // namespace oracle
