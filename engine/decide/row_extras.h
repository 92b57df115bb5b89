// RowExtras: what is added to the totals that a shape's cached lines hold of rows: by class of rows
// and for the rows that stand apart from their class, or by row.
// Thread safety: a plain value. Cost: of() is O(log rows) or O(fine keys), by who says what stands
// apart; by row O(1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/decide/rows_apart.h"

namespace headroom {

struct RowExtras {
  static constexpr std::uint32_t kNoEntry = RowsApart::kNoEntry;

  const std::uint32_t* classes = nullptr;  // by row
  std::vector<std::int32_t> by_class;      // -1: such rows are rejected
  // By row, where each has an entry of by_entry; else empty.
  std::vector<std::uint32_t> entries;
  // Which rows stand apart from their class, each as an entry of by_entry says: a list, sorted by
  // row, or, where there is none, who knows them.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_row;
  const RowsApart* apart = nullptr;
  std::vector<std::int32_t> by_entry;               // -1: such rows are rejected
  std::function<std::int32_t(std::uint32_t)> more;  // of a row, at least 0; or none
  std::int32_t greatest = 0;                        // of any row
  std::int32_t greatest_apart = -1;                 // of rows that stand apart
  // With a row that lines hold as feasible: some class, some entry of rows apart.
  bool rejects_classes = false, rejects_apart = false;
  std::optional<std::int32_t> same;  // all rows have that much

  // The entry of a feasible row; kNoEntry: it is as its class.
  std::uint32_t entry(std::uint32_t row) const;
  // -1: the row is rejected.
  std::int32_t of(std::uint32_t row) const;
  // Calls visit(row, entry_of_row) for the rows that stand apart, some of which may be infeasible;
  // entry_of_row() is the entry of one that is not. `entries` has to be empty.
  template <typename Visit>
  void each_apart(Visit visit) const {
    for (const auto& its : by_row) {
      visit(its.first, [&its] { return its.second; });
    }
    if (apart != nullptr) {
      apart->each_entry(visit);
    }
  }
};

}  // namespace headroom
