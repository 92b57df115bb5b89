// RowExtras: what is added to the totals that a shape's cached lines hold of rows, by class of rows
// and for the rows that stand apart from their class.
// Thread safety: a plain value. Cost: find() and of() are O(log rows apart).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace headroom {

struct RowExtras {
  using ByRow = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  const std::uint32_t* classes = nullptr;  // by row
  std::vector<std::int32_t> by_class;      // -1: such rows are rejected
  // Rows that stand apart from their class, sorted: each as an entry of by_entry says.
  ByRow by_row;
  std::vector<std::int32_t> by_entry;               // -1: such rows are rejected
  std::function<std::int32_t(std::uint32_t)> more;  // of a row, at least 0; or none
  std::int32_t greatest = 0;                        // of any row
  std::int32_t greatest_apart = -1;                 // of rows that stand apart
  // With a row that lines hold as feasible: some class, some entry of rows apart.
  bool rejects_classes = false, rejects_apart = false;
  std::optional<std::int32_t> same;  // all rows have that much
  // Where the row stands in by_row, or would.
  ByRow::const_iterator place_of(std::uint32_t row) const;
  // The row's place in by_row; its end: it is as its class.
  ByRow::const_iterator find(std::uint32_t row) const;
  // -1: the row is rejected.
  std::int32_t of(std::uint32_t row) const;
};

}  // namespace headroom
