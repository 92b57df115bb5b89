// SavedPod, SavedRank, VolumeChoice: what a state file says of a pod beside what pods share;
// ClusterState writes them and reads them back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/kept/value_bytes.h"

namespace headroom {

// Rows are written plus 1, so that none is a small number too.
inline std::uint32_t saved_row(std::uint32_t row) { return row + 1; }
inline std::uint32_t row_of_saved(std::uint32_t saved) { return saved - 1; }
static_assert(kNoRow + std::uint32_t{1} == 0);

struct SavedPod {
  std::string_view uid;
  bool applied = false, terminal = false;
  std::uint32_t bound = 0, assumed = 0;  // saved_row()
  std::int64_t first_seen_us = 0;
  std::optional<std::int64_t> scheduled_us, initialized_us;
  std::vector<ContainerPort> ports;  // of the host
};

void fields(auto& state, MaybeConst<SavedPod> auto& pod) {
  auto& [uid, applied, terminal, bound, assumed, first_seen_us, scheduled_us, initialized_us,
         ports] = pod;
  state(uid, applied, terminal, bound, assumed, first_seen_us, scheduled_us, initialized_us, ports);
}

// Beside its priority class.
struct SavedRank {
  std::optional<std::int32_t> priority;  // its own
  std::optional<std::int64_t> start_us;
  std::uint32_t nominated = 0;  // saved_row()
  bool deleting = false;
};

void fields(auto& state, MaybeConst<SavedRank> auto& rank) {
  auto& [priority, start_us, nominated, deleting] = rank;
  state(priority, start_us, nominated, deleting);
}

void fields(auto& state, MaybeConst<VolumeChoice> auto& choice) {
  auto& [claim, claim_uid, volume] = choice;
  state(claim, claim_uid, volume);
}

}  // namespace headroom
