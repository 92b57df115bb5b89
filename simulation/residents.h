// Residents: the pods of a simulation that are on nodes and may lose their place, with what has to
// be taken back then: by name, and by when they leave.
//
// Invariant: the next departure is that of somebody who is here. Thread safety: one thread at a
// time. Cost: O(log residents).
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "objects/hash.h"
#include "simulation/figures/cluster_usage.h"
#include "simulation/figures/elastic_quota_ledger.h"
#include "simulation/input/simulation_input.h"

namespace headroom {

// A pod on a node: what to take back when it leaves.
struct Resident {
  std::string namespace_name, name;
  ClusterUsage::Holding holding;
  ElasticQuotaLedger::Claim claim = {};  // where quotas or priorities count
  std::int64_t departure_us = kNeverUs;
  std::uint32_t origin = 0;  // what it comes back as: whatever the caller knows it by
};

class Residents {
 public:
  // Not `by_name`: find() finds nobody, and costs nothing.
  explicit Residents(bool by_name) : by_name_(by_name) {}

  // `leaves`: at its departure_us.
  void add(Resident&& resident, bool leaves);
  // By pod_key(); nullptr: nobody of that name is here.
  const Resident* find(std::string_view key) const;
  // One that find() finds.
  Resident remove(std::string_view key);

  // When the next one leaves; kNeverUs: none will.
  std::int64_t next_departure_us() const;
  // Who leaves by then, the first to leave first; nullopt: nobody more.
  std::optional<Resident> take_departing(std::int64_t now_us);

 private:
  struct Slot {
    Resident resident;
    std::uint64_t serial = 0;  // of this stay; 0: none
  };
  struct Departure {
    std::int64_t time_us;
    std::uint32_t slot;
    std::uint64_t serial;
    // std::priority_queue has the greatest on top; the earliest departure is to be there.
    bool operator<(const Departure& other) const {
      return std::pair(time_us, slot) > std::pair(other.time_us, other.slot);
    }
  };

  Resident take(std::uint32_t slot);

  const bool by_name_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t serial_ = 0;
  std::priority_queue<Departure> departures_;
  std::unordered_map<std::string, std::uint32_t, BytesHash, std::equal_to<>> slot_of_;
};

}  // namespace headroom
