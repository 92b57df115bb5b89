// NodeTable: every node of the cluster as columns, and a log of the rows that changed.
//
// Two kinds of numbers per row, all int64:
//   sums       what pods and metrics add up to; add() moves them
//   bases      what there is to begin with: of what a node has, or may have; kUnlimited
// and two kinds of columns over them, of which several may have one base: a capacity is its base, a
// headroom its base less its sum.
// A sum that leaves int64 is exact all the same: it lies apart, for the few rows that it happens
// to, and sum() is what the mode makes of it (beyond_int64.h).
// commit() narrows a row's headrooms to float32 and appends the row to the log (change_log.h) under
// the next epoch. The table knows no policy: policies say which columns there are. A headroom that
// no row limits (its base is kUnlimited in each) rejects nothing and costs no commit.
//
// Layout: sums and bases row by row (an event touches one row), with a copy of the narrow values
// for the log; narrow columns column by column (narrow_column.h), padded by kPadNodes.
// Thread safety: one writer, or any number of readers. Invariant: after commit(row), the narrow
// values of that row are a function of its sums and bases. Cost: commit() is O(columns that some
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
#include "layout/free_numbers.h"
#include "layout/huge_pages.h"
#include "layout/recent_changes.h"
#include "objects/assert.h"

namespace headroom {

using ColumnId = std::uint32_t;
using SumId = std::uint32_t;
using BaseId = std::uint32_t;

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

class NodeTable {
 public:
  explicit NodeTable(BeyondInt64 beyond = BeyondInt64::kSaturates);

  // --- Columns; adding one makes every cached shape start afresh. Where memory ends, nothing has
  // come; removing does not fail. ---
  // `label` names what the sum means, for digest(); each is used once.
  SumId add_sum(std::string label);
  // `initial`: of every row until set_base().
  BaseId add_base(std::int64_t initial);
  ColumnId add_capacity(BaseId base);
  ColumnId add_headroom(BaseId base, SumId sum);

  // What nothing refers to any more: its number is used again. The sum is 0 on every row; columns
  // go before their base.
  void remove_sum(SumId id);
  void remove_base(BaseId id);
  void remove_column(ColumnId id);

  // --- Rows ---
  std::uint32_t size() const { return size_; }
  // A row with all sums 0, bases initial and no node: the lowest that is free.
  std::uint32_t acquire_row();
  void acquire_row(std::uint32_t row);  // one that was released
  void reserve(std::uint32_t rows);     // room for so many
  void release_row(std::uint32_t row);

  std::int64_t sum(std::uint32_t row, SumId id) const { return sums_[row * sum_stride_ + id]; }
  Int128 exact_sum(std::uint32_t row, SumId id) const {
    return exact_.empty() ? Int128{sum(row, id)} : exact_sum_apart(row, id);
  }
  std::vector<std::int64_t> sums(SumId id) const;  // by row
  void set_sum(std::uint32_t row, SumId id, Int128 value) {
    HEADROOM_ASSERT(row < size_ && id < sum_labels_.size());
    sums_[row * sum_stride_ + id] = in_int64(value, beyond_);
    if (value != static_cast<std::int64_t>(value) || !exact_.empty()) {
      set_exact(row, id, value);
    }
  }
  // Whether some sum of the row is beyond int64 now, and which rows have such.
  bool beyond_int64(std::uint32_t row) const { return !exact_.empty() && exact_.contains(row); }
  std::vector<std::uint32_t> rows_beyond_int64() const;
  BeyondInt64 beyond() const { return beyond_; }
  // Exact, in any order, beyond int64 too.
  void add(std::uint32_t row, std::span<const Contribution> contributions);
  void subtract(std::uint32_t row, std::span<const Contribution> contributions);

  std::int64_t base(std::uint32_t row, BaseId id) const { return bases_[row * base_stride_ + id]; }
  void set_base(std::uint32_t row, BaseId id, std::int64_t value) {
    HEADROOM_ASSERT(row < size_ && id < known_bases_.size());
    if (base(row, id) != value) {
      change_base(row, id, value);
    }
  }
  // Whether any row could fail a filter over the column; the generation changes with the answer,
  // and with what a number stands for.
  bool limited(ColumnId id) const { return known_bases_[sources_[id].base].limited_rows != 0; }
  std::uint64_t limited_generation() const { return limited_generation_; }
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
  // The exact values of a row, as its sums and bases are now. Valid until a row, sum, base or
  // column is added.
  Truth truth_of(std::uint32_t row) const {
    return {sources_.data(), bases_.data() + row * base_stride_, sums_.data() + row * sum_stride_};
  }
  std::int64_t truth(std::uint32_t row, ColumnId id) const { return truth_of(row)[id]; }
  BaseId base_of(ColumnId id) const { return sources_[id].base; }
  SumId sum_of(ColumnId headroom) const { return sources_[headroom].sum; }
  std::uint32_t sum_count() const { return static_cast<std::uint32_t>(sum_labels_.size()); }
  std::uint32_t column_count() const { return static_cast<std::uint32_t>(sources_.size()); }
  // The table, and the changes in the log by slot, as the kernels read them. Valid until a row,
  // sum, base or column is added.
  Columns columns() const;
  Columns log_columns() const;
  const ChangeLog& log() const { return log_; }
  std::uint64_t epoch() const { return log_.epoch(); }
  // Makes every cached shape start afresh.
  void forget_changes() { log_.forget(); }

  // --- Checking ---
  struct RowState {
    std::vector<std::int64_t> sums, bases;
    std::map<SumId, Int128> exact;
    friend bool operator==(const RowState&, const RowState&) = default;
  };
  RowState row_state(std::uint32_t row) const;
  // Sums and bases that came since stay as they are.
  void restore(std::uint32_t row, const RowState& state);
  void clear_sums(std::uint32_t row);
  // True if the narrow columns of the row are what its truth makes them. A commit() that is missing
  // shows only where a narrow value is another for it.
  bool narrow_consistent(std::uint32_t row) const;
  // The row's sums by their labels, whatever the order in which they were added.
  std::uint64_t digest(std::uint32_t row) const;

 private:
  struct Base {
    std::int64_t initial;
    std::uint32_t limited_rows;     // where it is not kUnlimited
    std::vector<ColumnId> columns;  // that begin from it
  };
  // Of the sums of a row that are beyond int64.
  using ExactSums = std::map<SumId, Int128>;

  bool is_headroom(ColumnId id) const { return sources_[id].sum != kNoSum; }
  void set_exact(std::uint32_t row, SumId id, Int128 value);
  Int128 exact_sum_apart(std::uint32_t row, SumId id) const;
  template <bool is_more>
  void change(std::uint32_t row, std::span<const Contribution> contributions);
  ColumnId add_column(ColumnSource source);
  SumId grow_sums();
  BaseId grow_bases();
  ColumnId grow_columns();
  void change_base(std::uint32_t row, BaseId id, std::int64_t value);
  float narrowed(std::uint32_t row, ColumnId id) const;
  void set_narrow(std::uint32_t row, ColumnId id, float value) {
    row_narrow_[row * stride_ + id] = narrow_pointers_[id][row] = value;
  }
  void refresh_committed();
  void grow_rows(std::uint32_t capacity);
  void refresh_pointers();

  const BeyondInt64 beyond_;
  std::unordered_map<std::uint32_t, ExactSums> exact_;  // by row; in sums_ as the mode says
  std::vector<Base> known_bases_;
  std::vector<ColumnSource> sources_;      // by column
  std::vector<ColumnId> committed_;        // capacities, and the headrooms that some row limits
  std::vector<std::uint64_t> sum_labels_;  // hashed
  FreeNumbers free_sums_, free_bases_, free_columns_;
  std::uint32_t size_ = 0, capacity_ = 0;
  std::size_t sum_stride_ = 0, base_stride_ = 0, stride_ = 0;
  std::vector<std::int64_t, HugePages<std::int64_t>> sums_, bases_;
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
