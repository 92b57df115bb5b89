// NodeTable: every node of the cluster as columns, and a log of the rows that changed.
//
// Three kinds of numbers per row, all int64:
//   sums       what pods and metrics add up to; add() moves them
//   bases      per headroom column: the capacity it starts from, or kUnlimited
//   truth      what the kernels read: capacity columns as they are, headroom columns = base - sum
// A sum that leaves int64 is exact all the same: how often it did lies apart, for the few rows that
// it happens to, and sum() says what the mode makes of it (beyond_int64.h).
// commit() derives a row's headroom, narrows every column to float32 and appends the row to the
// log (change_log.h) under the next epoch. The table knows no policy: policies say which columns
// there are. A headroom column that no row limits (all bases kUnlimited) rejects nothing and costs
// no commit.
//
// Layout: sums, bases and truth row by row (an event touches one row), with a copy of the narrow
// values for the log; narrow columns column by column (narrow_column.h), padded by kPadNodes.
// Thread safety: one writer, or any number of readers. Invariant: after commit(row), truth and
// narrow of that row are a function of its sums and bases. Cost: commit() is O(columns that some
// row limits).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/table/beyond_int64.h"
#include "engine/table/change_log.h"
#include "engine/table/narrow_column.h"
#include "kernels/kernels.h"
#include "layout/huge_pages.h"
#include "layout/recent_changes.h"
#include "objects/assert.h"

namespace headroom {

using ColumnId = std::uint32_t;
using SumId = std::uint32_t;

struct Contribution {
  SumId sum;
  std::int64_t amount;
};

// A node table's class of a row that holds no node.
inline constexpr std::uint32_t kNoNodeClass = 0;

// A row that went from one class of nodes to another; who looks at it finds it in its last class.
struct ClassChange {
  std::uint32_t row, from, to;
};
// Beyond it a look at each row costs no more.
inline constexpr std::uint64_t kClassChangesKept = 1024;
using ClassChanges = RecentChanges<ClassChange, kClassChangesKept>;

// A headroom column's truth, saturating; kUnlimited comes of a base that is, and of no other.
inline std::int64_t headroom_of(std::int64_t base, std::int64_t sum) {
  if (base == kUnlimited) {
    return kUnlimited;
  }
  std::int64_t left = 0;
  if (__builtin_sub_overflow(base, sum, &left) || left == kUnlimited) {
    return base < 0 ? INT64_MIN : kUnlimited - 1;
  }
  return left;
}

class NodeTable {
 public:
  explicit NodeTable(BeyondInt64 beyond = BeyondInt64::kSaturates);

  // --- Columns; adding one makes every cached shape start afresh. ---
  // `label` names what the sum means, for digest(); each is used once.
  SumId add_sum(std::string label);
  ColumnId add_capacity();
  // `initial_base`: the base of every row until set_base().
  ColumnId add_headroom(SumId sum, std::int64_t initial_base);

  // A sum and columns that nothing refers to any more: their numbers are used again. The sum is 0
  // on every row.
  void remove_sum(SumId id);
  void remove_column(ColumnId id);

  // --- Rows ---
  std::uint32_t size() const { return size_; }
  // A row with all sums 0, bases initial, capacities 0 and no node: the lowest that is free.
  std::uint32_t acquire_row();
  void acquire_row(std::uint32_t row);  // one that was released
  void reserve(std::uint32_t rows);     // room for so many
  void release_row(std::uint32_t row);

  std::int64_t sum(std::uint32_t row, SumId id) const {
    const std::int64_t low = sums_[row * sum_stride_ + id];
    return carries_.empty() ? low : in_int64(exact_sum(row, id), beyond_);
  }
  Int128 exact_sum(std::uint32_t row, SumId id) const;
  std::vector<std::int64_t> sums(SumId id) const;  // by row
  void set_sum(std::uint32_t row, SumId id, Int128 value) {
    HEADROOM_ASSERT(row < size_ && id < sum_labels_.size());
    sums_[row * sum_stride_ + id] = static_cast<std::int64_t>(value);
    if (value != static_cast<std::int64_t>(value) || !carries_.empty()) {
      set_carry(row, id, (value - static_cast<std::int64_t>(value)) >> 64);
    }
  }
  // Whether some sum of the row is beyond int64 now, and which rows have such.
  bool beyond_int64(std::uint32_t row) const { return !carries_.empty() && carries_.contains(row); }
  std::vector<std::uint32_t> rows_beyond_int64() const;
  BeyondInt64 beyond() const { return beyond_; }
  // Exact, in any order, beyond int64 too.
  void add(std::uint32_t row, std::span<const Contribution> contributions);
  void subtract(std::uint32_t row, std::span<const Contribution> contributions);

  std::int64_t base(std::uint32_t row, ColumnId id) const { return bases_[row * stride_ + id]; }
  void set_base(std::uint32_t row, ColumnId id, std::int64_t value) {
    if (bases_[row * stride_ + id] != value) {
      change_base(row, id, value);
    }
  }
  // Whether any row could fail a filter over the column; the generation changes with the answer.
  bool limited(ColumnId id) const { return columns_[id].limited_rows != 0; }
  std::uint64_t limited_generation() const { return limited_generation_; }
  void set_capacity(std::uint32_t row, ColumnId id, std::int64_t value);
  void set_class(std::uint32_t row, std::uint32_t node_class) {
    HEADROOM_ASSERT(row < size_);
    if (classes_[row] != node_class) {
      class_changes_.append({row, classes_[row], node_class});
      classes_[row] = node_class;
    }
  }
  const ClassChanges& class_changes() const { return class_changes_; }
  std::uint32_t node_class(std::uint32_t row) const { return classes_[row]; }

  void commit(std::uint32_t row);
  // Brings the row into the cache, for an event that is about to change it.
  void prefetch(std::uint32_t row) const;

  // --- Reading ---
  std::int64_t truth(std::uint32_t row, ColumnId id) const { return truth_[row * stride_ + id]; }
  const std::int64_t* truth_of(std::uint32_t row) const { return truth_.data() + row * stride_; }
  // What commit() would make of a headroom column.
  std::int64_t headroom(std::uint32_t row, ColumnId id) const;
  SumId sum_of(ColumnId headroom) const { return columns_[headroom].sum; }
  std::uint32_t sum_count() const { return static_cast<std::uint32_t>(sum_labels_.size()); }
  std::uint32_t column_count() const { return static_cast<std::uint32_t>(columns_.size()); }
  // The table, and the changes in the log by slot, as the kernels read them. Valid until a row or
  // column is added.
  Columns columns() const;
  Columns log_columns() const;
  const ChangeLog& log() const { return log_; }
  std::uint64_t epoch() const { return log_.epoch(); }
  // Makes every cached shape start afresh.
  void forget_changes() { log_.forget(); }

  // --- Checking ---
  struct RowState {
    std::vector<std::int64_t> sums, bases, truth;
    std::map<SumId, std::int64_t> carries;
    friend bool operator==(const RowState&, const RowState&) = default;
  };
  RowState row_state(std::uint32_t row) const;
  void restore(std::uint32_t row, const RowState& state);
  void clear_sums(std::uint32_t row);
  // What commit() would make of the row, without a new epoch.
  void derive(std::uint32_t row);
  // True if the narrow columns of the row are what its truth makes them.
  bool narrow_consistent(std::uint32_t row) const;
  // The row's sums by their labels, whatever the order in which they were added.
  std::uint64_t digest(std::uint32_t row) const;

 private:
  struct Column {
    bool headroom;
    SumId sum;
    std::int64_t initial_base;
    std::uint32_t limited_rows = 0;  // whose base is not kUnlimited
  };

  // How often a row's sums left int64: above it, or (negative) below. Without those that are 0.
  using Carries = std::map<SumId, std::int64_t>;

  const Carries* carries_of(std::uint32_t row) const {
    const auto found = carries_.empty() ? carries_.end() : carries_.find(row);
    return found == carries_.end() ? nullptr : &found->second;
  }
  void set_carry(std::uint32_t row, SumId id, Int128 carry);
  void carry(std::uint32_t row, SumId id, int by);
  Int128 exact_sum(const Carries* carries, std::uint32_t row, SumId id) const;
  std::int64_t headroom(const Carries* carries, std::uint32_t row, ColumnId id) const;
  ColumnId add_column(Column column);
  void start_column(ColumnId id);
  void change_base(std::uint32_t row, ColumnId id, std::int64_t value);
  void set_truth(std::uint32_t row, ColumnId id, std::int64_t value);
  void refresh_committed();
  void grow_rows(std::uint32_t capacity);
  float narrowed(std::uint32_t row, ColumnId id) const;
  void refresh_pointers();

  const BeyondInt64 beyond_;
  std::unordered_map<std::uint32_t, Carries> carries_;
  std::vector<Column> columns_;
  std::vector<ColumnId> committed_;        // capacities, and the headrooms that some row limits
  std::vector<std::uint64_t> sum_labels_;  // hashed
  std::vector<SumId> free_sums_;
  std::vector<ColumnId> free_columns_;
  std::uint32_t size_ = 0, capacity_ = 0;
  std::size_t sum_stride_ = 0, stride_ = 0;
  std::vector<std::int64_t, HugePages<std::int64_t>> sums_, bases_, truth_;
  std::vector<std::uint32_t> classes_;
  std::set<std::uint32_t> released_;
  std::vector<NarrowColumn> narrow_;
  std::vector<float, HugePages<float>> row_narrow_;  // the narrow columns once more, row by row
  ChangeLog log_;
  std::vector<float*> narrow_pointers_, log_pointers_;  // of the columns
  std::uint64_t limited_generation_ = 0;
  ClassChanges class_changes_;
};

}  // namespace headroom
