#include "simulation/residents.h"

#include "objects/assert.h"

namespace headroom {

void Residents::add(Resident&& resident, bool leaves) {
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  if (by_name_) slot_of_[pod_key(resident.namespace_name, resident.name)] = slot;
  slots_[slot] = {std::move(resident), ++serial_};
  if (leaves) departures_.push({slots_[slot].resident.departure_us, slot, serial_});
}

const Resident* Residents::find(std::string_view key) const {
  const auto found = slot_of_.find(key);
  return found == slot_of_.end() ? nullptr : &slots_[found->second].resident;
}

Resident Residents::remove(std::string_view key) {
  const auto found = slot_of_.find(key);
  HEADROOM_ASSERT(found != slot_of_.end());
  return take(found->second);
}

Resident Residents::take(std::uint32_t slot) {
  Resident resident = std::move(slots_[slot].resident);
  slots_[slot].serial = 0;
  free_.push_back(slot);
  if (by_name_) slot_of_.erase(pod_key(resident.namespace_name, resident.name));
  while (!departures_.empty() &&
         slots_[departures_.top().slot].serial != departures_.top().serial) {
    departures_.pop();
  }
  return resident;
}

std::int64_t Residents::next_departure_us() const {
  return departures_.empty() ? kNeverUs : departures_.top().time_us;
}

std::optional<Resident> Residents::take_departing(std::int64_t now_us) {
  if (departures_.empty() || departures_.top().time_us > now_us) return std::nullopt;
  return take(departures_.top().slot);
}

}  // namespace headroom
