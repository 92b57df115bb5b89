#include "server/service/pod_reservations.h"

#include <algorithm>
#include <utility>

#include "objects/assert.h"

namespace headroom {

const PodReservation* PodReservations::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

void PodReservations::put(std::string_view key, PodReservation reservation, SteadyTime now) {
  reservation.made = now;
  reservation.due = now + lifetime_;
  if (const PodReservation* former = find(key);
      former != nullptr && former->pod.uid == reservation.pod.uid &&
      former->node_name == reservation.node_name && former->owner == reservation.owner) {
    reservation.made = former->made;
    reservation.reserved_us = former->reserved_us;
  }
  restore(key, std::move(reservation));
}

void PodReservations::restore(std::string_view key, PodReservation reservation) {
  // What may throw comes first, apart from the list.
  ByKey one;
  const auto made = one.emplace(std::string(key), std::move(reservation)).first;
  const std::string_view name = made->first;
  Order due, age;
  due.emplace(made->second.due, name);
  age.emplace(made->second.made, name);
  ++owners_.try_emplace(made->second.owner).first->second.count;
  auto at = by_key_.lower_bound(name);
  if (at != by_key_.end() && at->first == name) at = erase(at);
  // Mostly it is the youngest, and the last that falls due.
  by_due_.insert(by_due_.end(), due.extract(due.begin()));
  by_age_.insert(by_age_.end(), age.extract(age.begin()));
  by_key_.insert(at, one.extract(made));
}

void PodReservations::erase(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) erase(found);
}

PodReservations::ByKey::iterator PodReservations::erase(ByKey::iterator at) {
  const PodReservation& reservation = at->second;
  by_due_.erase({reservation.due, at->first});
  by_age_.erase({reservation.made, at->first});
  const auto owner = owners_.find(reservation.owner);
  HEADROOM_ASSERT(owner != owners_.end() && owner->second.count != 0);
  if (--owner->second.count == 0) owners_.erase(owner);
  return by_key_.erase(at);
}

void PodReservations::settle(std::string_view key, std::uint64_t resync) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) found->second.settled_by = resync;
}

std::uint32_t PodReservations::renew(const Owner& owner, SteadyTime now) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return 0;
  found->second.renewed = now;
  return found->second.count;
}

SteadyTime PodReservations::ends(const PodReservation& reservation) const {
  return std::max(reservation.due, owners_.at(reservation.owner).renewed + lifetime_);
}

std::string_view PodReservations::ended(SteadyTime now) {
  while (!by_due_.empty() && by_due_.begin()->first <= now) {
    const std::string_view key = by_due_.begin()->second;
    const auto held = by_key_.find(key);
    HEADROOM_ASSERT(held != by_key_.end());
    PodReservation& reservation = held->second;
    const SteadyTime end = ends(reservation);
    if (end <= now) return key;
    reservation.due = end;
    auto node = by_due_.extract(by_due_.begin());
    node.value().first = end;
    by_due_.insert(std::move(node));
  }
  return {};
}

SteadyTime PodReservations::oldest(SteadyTime now) const {
  return by_age_.empty() ? now : by_age_.begin()->first;
}

bool PodReservations::valid() const {
  std::map<Owner, std::uint32_t> counts;
  for (const auto& [key, reservation] : by_key_) {
    ++counts[reservation.owner];
    if (!by_due_.contains({reservation.due, key}) || !by_age_.contains({reservation.made, key})) {
      return false;
    }
  }
  if (by_due_.size() != by_key_.size() || by_age_.size() != by_key_.size()) return false;
  return counts.size() == owners_.size() &&
         std::all_of(owners_.begin(), owners_.end(), [&](const auto& owner) {
           const auto counted = counts.find(owner.first);
           return counted != counts.end() && counted->second == owner.second.count;
         });
}

}  // namespace headroom
