// Reservations of a CapacityQuota: nodes that are accepted and not registered yet.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "objects/objects.h"

namespace oracle {

struct HeldNodes {
  headroom::Node node;  // the template
  std::int64_t left = 0;
};

struct CapacityReservation {
  std::int64_t expires_us = 0;
  std::vector<HeldNodes> items;
  std::set<std::string> registered;  // names that took a node off it

  std::int64_t left() const;
};

// By id; those that are live. One lives until it lapses or is released, also where nothing is left.
using CapacityReservations = std::map<std::string, CapacityReservation>;

// A node that was not there before appears. Where it names a live reservation that has nodes left
// and that no node of this name took from, it takes one off: of the first item with nodes left that
// it equals in labels (but kubernetes.io/hostname) and capacity, else of the first with nodes left.
void register_node(CapacityReservations& reservations, const headroom::Node& node);

// Those that lapse at now >= expiry are gone.
void expire(CapacityReservations& reservations, std::int64_t now_us);

}  // namespace oracle
