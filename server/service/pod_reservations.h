// PodReservations: which pods are reserved on which nodes, whose they are, and when they end.
//
// A reservation ends `lifetime` after it was made or renewed, by a clock that never jumps
// (steady_clock): a wall clock that is set ends none. An owner renews all that it holds at once,
// which touches none of them: a reservation that falls due looks when its owner renewed last. The
// caller tells the engine; this is only the list. A call that throws has changed nothing.
//
// Thread safety: one thread at a time. Invariants: one reservation per pod key; the two orders and
// the owners' counts are those of the list. Cost: O(log n); renewing O(log owners).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "objects/objects.h"
#include "server/peer.h"

namespace headroom {

// How long a pod stays reserved, unless its owner renews it.
inline constexpr std::chrono::seconds kReservationTime(300);

using SteadyTime = std::chrono::steady_clock::time_point;

struct PodReservation {
  Pod pod;
  std::string node_name;
  Owner owner;
  std::int64_t reserved_us = 0;  // when it was made, by the wall clock: to be shown
  std::uint64_t serial = 0;      // of the request that made it last
  SteadyTime made{}, due{};      // due: unless its owner renews
  std::uint64_t settled_by = 0;  // the resync with whose end it ends; 0: none so far
};

class PodReservations {
 public:
  using ByKey = std::map<std::string, PodReservation, std::less<>>;

  explicit PodReservations(std::chrono::seconds lifetime) : lifetime_(lifetime) {}

  const PodReservation* find(std::string_view key) const;  // nullptr: not reserved
  std::uint32_t size() const { return static_cast<std::uint32_t>(by_key_.size()); }
  // All of them, by key.
  const ByKey& by_key() const { return by_key_; }

  // Made now, in the place of the one that had the key. Where pod, node and owner are the same it
  // is renewed.
  void put(std::string_view key, PodReservation reservation, SteadyTime now);
  // The same with its own times: one that find() has given.
  void restore(std::string_view key, PodReservation reservation);
  void erase(std::string_view key);
  // The resync says that its pod is bound, ended, gone or another one; put() makes it a new one.
  void settle(std::string_view key, std::uint64_t resync);
  // How many the owner holds: all of them end `lifetime` from now.
  std::uint32_t renew(const Owner& owner, SteadyTime now);

  SteadyTime ends(const PodReservation& reservation) const;
  // The key of one that has ended by now and is still there; empty: none.
  std::string_view ended(SteadyTime now);
  // When the oldest was made; `now` where there is none.
  SteadyTime oldest(SteadyTime now) const;

  bool valid() const;  // the invariants; O(n log n)

 private:
  struct Held {
    std::uint32_t count = 0;
    SteadyTime renewed{};
  };
  // Keys lie in by_key_, whose elements stay where they are; erase() takes a key out of all.
  using Order = std::set<std::pair<SteadyTime, std::string_view>>;

  ByKey::iterator erase(ByKey::iterator at);  // returns the next

  const std::chrono::seconds lifetime_;
  ByKey by_key_;
  Order by_due_, by_age_;
  std::map<Owner, Held> owners_;  // that hold any
};

}  // namespace headroom
