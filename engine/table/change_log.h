// ChangeLog: the rows that changed last, with what they became, so that whoever kept something of
// all rows can catch up by looking at those alone.
//
// Each change is an epoch. A row has one live change in the log, its last: who catches up needs no
// other. The one before is dead: its slot is passed over until more than half of the log is dead,
// or of its end, where who catches up looks; then that is packed, so that it stays short where the
// same few rows change over and over. The log is a ring of kLogSlots: where it is full the oldest
// change goes, and who is behind that starts afresh. A change is at a place, later ones at greater
// places, until the next change.
//
// Thread safety: one writer, or any number of readers. Cost: append() is O(columns), on the
// average; first_after() O(log changes since).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/table/narrow_column.h"
#include "objects/assert.h"

namespace headroom {

// The last changes that a cached shape may catch up with; one that is older starts afresh.
inline constexpr std::uint32_t kLogSlots = 16384;
// So many may be dead whatever share of the log they are.
inline constexpr std::uint32_t kLogDeadAlways = 64;
// After so many changes it is looked whether the last twice as many, or four times, ... are mostly
// dead.
inline constexpr std::uint32_t kLogEndChanges = 16;

class ChangeLog {
 public:
  ChangeLog();

  // The row's change, under the next epoch. Returns its slot, where columns are to be written.
  std::uint32_t append(std::uint32_t row, std::uint32_t node_class);
  // All that is kept of all rows starts afresh.
  void forget();
  void add_rows(std::uint32_t rows);  // how many there are now
  void add_column();
  float* column(std::uint32_t id) { return columns_[id].data(); }

  std::uint64_t epoch() const { return epoch_; }
  // The oldest epoch from which the log leads to the present.
  std::uint64_t oldest() const { return oldest_; }
  // The places of what changed after the epoch: [first_after(epoch), end()).
  std::uint64_t first_after(std::uint64_t epoch) const;
  std::uint64_t end() const { return end_; }
  static std::uint32_t slot(std::uint64_t place) {
    return static_cast<std::uint32_t>(place % kLogSlots);
  }
  // By slot. The row of a dead one changed again later.
  const std::uint32_t* rows() const { return rows_.data(); }
  const std::uint32_t* node_classes() const { return node_classes_.data(); }
  bool dead(std::uint32_t slot) const { return dead_[slot] != 0; }
  // take(row), for each row that changed after the epoch.
  template <typename Take>
  void for_each_after(std::uint64_t epoch, Take take) const {
    for (std::uint64_t place = first_after(epoch); place < end_; ++place) {
      if (!dead(slot(place))) {
        take(rows_[slot(place)]);
      }
    }
  }

 private:
  void drop_oldest();
  void pack(std::uint64_t first);  // from that place on
  void pack_end();

  // By slot.
  std::vector<std::uint32_t> rows_, node_classes_;
  std::vector<std::uint64_t> epochs_;  // that the change began
  std::vector<std::uint8_t> dead_;
  std::vector<NarrowColumn> columns_;
  std::vector<std::uint32_t> newest_;  // by row: the slot of its change
  std::uint64_t begin_ = 0, end_ = 0;
  std::uint32_t dead_count_ = 0;
  std::uint64_t epoch_ = 0, oldest_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moved_;  // scratch: slots, from and to
};

}  // namespace headroom
