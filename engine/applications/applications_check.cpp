// Applications::validate(): are the counters what the pods come to?
#include <fmt/format.h>

#include <map>
#include <utility>

#include "engine/applications/applications.h"

namespace headroom {

Result<void> Applications::validate() {
  for (std::uint32_t left = count(); left > 0; --left) {
    if (auto checked = validate_next(); !checked) {
      return checked;
    }
  }
  return {};
}

Result<void> Applications::validate_next() {
  if (broken_) {
    begin_anew();
  }
  if (check_order_.empty()) {
    return {};
  }
  check_order_.splice(check_order_.end(), check_order_, check_order_.begin());
  return validate(*check_order_.back());
}

Result<void> Applications::validate(Application& application) {
  if (!is_current(application)) {
    return {};
  }
  const std::vector<Counter> before = application.counters;
  const auto domains = [&] {
    std::vector<std::uint32_t> all;
    for (const SpreadConstraint& constraint : application.hard) {
      all.push_back(constraint.domains);
    }
    return all;
  };
  const std::vector<std::uint32_t> domains_before = domains();
  std::map<PeerId, std::size_t> feeds;
  for (const auto& [id, its] : application.feeds) {
    feeds.emplace(id, its.size());
  }
  // Held meanwhile, so that keys and their domains keep their numbers, which are history.
  std::vector<TopologyKeyId> held;
  for (const TopologyKeyId key : application.keys) {
    held.push_back(topology_.hold(topology_.name(key)));
  }
  application.described = false;
  rebuild(application);
  for (const TopologyKeyId key : held) {
    topology_.release(key);
  }
  // In what order keys came is history.
  const bool same = std::all_of(before.begin(), before.end(), [&](const Counter& counter) {
    const Counter* again = nullptr;
    for (const Counter& other : application.counters) {
      if (other.kind == counter.kind && other.key == counter.key && other.index == counter.index) {
        again = &other;
      }
    }
    if (again == nullptr) {
      return counter.empty();
    }
    return again->places.size() == counter.places.size() &&
           std::all_of(counter.places.begin(), counter.places.end(), [&](const auto& place) {
             const std::uint32_t other = again->place_of(place.first);
             return other != kNoCell &&
                    again->cells[other].sum == counter.cells[place.second].sum &&
                    again->cells[other].pods == counter.cells[place.second].pods;
           });
  });
  std::map<PeerId, std::size_t> feeds_now;
  for (const auto& [id, its] : application.feeds) {
    feeds_now.emplace(id, its.size());
  }
  if (!same || domains() != domains_before || feeds != feeds_now) {
    return fail(ErrorCode::kConflict,
                fmt::format("validate: the counters of an application in namespace {} differ from "
                            "its pods",
                            application.namespace_name));
  }
  return {};
}

}  // namespace headroom
