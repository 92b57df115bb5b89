// CachedShape: one shape's answers for every row, kept up to date by replaying the rows that
// changed.
//
// Holds, per row, the raw scores and why a row is infeasible (LineLayout in kernels.h), valid at an
// epoch. Normalised scores are never stored: their range [lo, hi] moves. What makes a decision
// cheap is kept per range instead (RangeTotals): the greatest total of every line, bounds of them
// by block of lines, and the best rows found last. Thread safety: one thread per object. Cost:
// update() is O(rows changed) or one full pass; best() visits the few lines that hold the answer,
// and reads all of them where the range is none of the last ones.
// Invariants: (1) lines, counts and ranges are exact at epoch(); (2) at a range's epoch the
// greatest totals of its lines are exact, and none is above the bound of its block.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/decide/raw_histogram.h"
#include "engine/decide/row_extras.h"
#include "engine/table/node_table.h"
#include "engine/table/pod_shape.h"
#include "kernels/kernels.h"
#include "layout/recent_changes.h"

namespace headroom {

// How equal totals are ordered: by row, or by a permutation of rows drawn from a seed. No two rows
// have the same key.
struct TieOrder {
  std::uint64_t seed = 0;
  // Greater is better: first the total, then the order of ties. Here, as a call that takes what was
  // just written in two halves waits for both.
  std::uint64_t key(RowTotal row_total) const {
    const std::uint32_t order = seed == 0 ? row_total.row : drawn(row_total.row);
    return (static_cast<std::uint64_t>(row_total.total) + 1) << 32 | ~order;
  }
  // The row's place in the permutation.
  std::uint32_t drawn(std::uint32_t row) const;
};

// Ranges of normalised scores whose totals are kept; a decision in another one measures every line.
inline constexpr std::uint32_t kRangesMax = 4;
// The best rows that are kept per range, for answers of up to half as many.
inline constexpr std::uint32_t kBestKept = 32;
// The same are kept by class of nodes while there are no more classes than that.
inline constexpr std::uint32_t kBestClassesMax = 256;
// Those with more rows than are kept have bounds of their own by line while they are no more than
// that.
inline constexpr std::uint32_t kClassBoundsMax = 16;
// Rows that became feasible or are so no more: the last of them, for who keeps something of rows.
inline constexpr std::uint64_t kFeasibleChangesKept = 256;
using FeasibleChanges = RecentChanges<std::uint32_t, kFeasibleChangesKept>;
// Rows per bound: at least a line, so that no line belongs to two.
inline constexpr std::uint32_t kBoundRows = kBlockNodes > kLineNodes ? kBlockNodes : kLineNodes;
inline constexpr std::uint32_t kBoundLines = kBoundRows / kLineNodes;

class CachedShape {
 public:
  explicit CachedShape(const Kernels& kernels);

  // Begins anew for a shape; keeps the memory of the one before.
  void reset(const PodShape& shape);

  // True if update() would replay rows rather than begin anew.
  bool replayable(const NodeTable& table) const;
  // Begins to fetch from memory what update() will replay, and returns at once.
  void fetch(const NodeTable& table) const;
  // Brings the answers to the table's epoch. `shape` is prepared.
  void update(const NodeTable& table, const PodShape& shape);
  // The same from nothing, block by block, so that several shapes can share a block while it is in
  // the cache: begin(), then build() every block in order, then finish().
  void begin(const NodeTable& table);
  void build(const NodeTable& table, const PodShape& shape, std::uint32_t block);
  void finish(const NodeTable& table);

  // True if some score is beyond what a line holds: then nothing below may be asked.
  bool wide() const { return wide_rows_ != 0; }
  std::uint32_t feasible() const { return feasible_; }
  const std::vector<CodeCount>& codes() const { return codes_; }

  // The best `count` rows (fewer if fewer are feasible), best first.
  void best(std::uint32_t count, const TieOrder& order, std::vector<RowTotal>& out);
  // The same with extras, among the rows that these do not reject; `feasible` of them.
  void best(std::uint32_t count, const TieOrder& order, const RowExtras& extras,
            std::uint32_t feasible, std::vector<RowTotal>& out);
  // The total of every row, -1 where it is not feasible.
  void totals(std::vector<std::int32_t>& out);
  // The same with extras, where `feasible` rows are not rejected by these.
  void totals(const RowExtras& extras, std::uint32_t feasible, std::vector<std::int32_t>& out);
  // How many rows of each class are feasible.
  const std::vector<std::uint32_t>& feasible_by_class(const NodeTable& table);
  // Rows that became feasible or are so no more. A version means something while built() is the
  // same, a number that each building of each shape has for itself.
  const FeasibleChanges& feasible_changes() const { return feasible_changes_; }
  std::uint64_t built() const { return built_; }
  std::uint32_t code(std::uint32_t row) const;
  bool is_feasible(std::uint32_t row) const {
    return (lines_[layout_.packed(row)] & kInfeasible) == 0;
  }
  // Raw score of a feasible row, by the shape's score s.
  std::int32_t raw(std::uint32_t row, std::uint32_t s) const;
  // The lowest and highest raw score of the feasible rows, by normalised score; where there are
  // any. With `extras`: of those that it lets pass.
  std::pair<std::int32_t, std::int32_t> range(std::uint32_t s, const RowExtras* extras) {
    const RawRange found = (extras == nullptr ? ranges() : ranges(*extras))[s];
    return {found.lo, found.hi};
  }
  // The final score that a raw score has in the range of the last best().
  std::int32_t normalized(std::int32_t raw, std::uint32_t s) const;

  std::uint64_t rows_replayed() const { return rows_replayed_; }
  std::uint64_t cold_passes() const { return cold_passes_; }
  // What it takes of the heap, itself included. O(1) where nothing has grown since.
  std::size_t bytes();

 private:
  // So many changed rows are replayed whatever share of the rows they are.
  static constexpr std::uint64_t kReplayAlways = 64;
  // Of more the last are fetched ahead: they are to stay in the cache until they are used.
  static constexpr std::uint64_t kFetchedMax = 512;

  struct RawRange {
    std::int32_t lo = INT32_MAX, hi = INT32_MIN;
    friend bool operator==(const RawRange&, const RawRange&) = default;
  };
  using Ranges = std::array<RawRange, kNormalizedMax>;

  struct BestRow {
    std::uint64_t key;
    RowTotal row_total;
  };

  // The greatest totals of rows.
  struct Bounds {
    std::vector<std::int32_t> lines;   // by line; -1: it has no such row
    std::vector<std::int32_t> blocks;  // by block, a bound of them

    void set(std::uint32_t line, std::int32_t greatest);
    void set_blocks();
  };

  // The best rows of a class, best first; no other row of it has a key above outside.
  struct ClassBest {
    Bounds bounds;  // of its rows; empty: those of all rows are used
    std::vector<BestRow> best;
    std::uint64_t outside = 0, searched = 0;  // the decision for which it was searched for
    bool valid = false;
  };

  // What is known of the totals in one range, at an epoch.
  struct RangeTotals {
    Ranges ranges;
    std::uint64_t epoch = 0, last_used = 0;
    bool valid = false;
    Bounds bounds;  // of all rows
    // The normalised score by raw - lo; empty where the range is too wide for a table.
    std::array<std::vector<std::int8_t>, kNormalizedMax> table;
    // The best rows, best first; no other row's key is above outside.
    std::vector<BestRow> best;
    std::uint64_t outside = 0, kept_from = 0;  // the decision from which they are asked with extras
    bool best_valid = false;
    std::vector<ClassBest> by_class;
    std::uint64_t class_changes = 0;  // their version that it is for
  };

  struct Free {
    void operator()(void* pointer) const;
  };

  // The best row of a class that no answer has yet. No RowTotal: written in halves and read whole
  // it would be waited for.
  struct Head {
    std::uint64_t key;
    std::uint32_t row;
    std::int32_t total;
    std::uint32_t node_class, next;  // the place in ClassBest::best
  };

  // Scratch of a search; a thread's.
  struct Search {
    std::vector<BestRow> found;                                   // best first
    std::vector<std::pair<std::uint32_t, std::int32_t>> visited;  // lines, their greatest
    std::vector<Head> heads;
    std::vector<std::uint32_t> changed;  // rows
  };

  static Search& scratch();
  void allocate(std::size_t words);
  void rebuild(const NodeTable& table, const PodShape& shape);
  void replay(const NodeTable& table, const PodShape& shape);
  // Brings the rows' words into the cache.
  void touch(const std::uint32_t* rows, std::uint32_t count) const;
  // False: all that is kept of the row is as it was.
  bool set_row(std::uint32_t row, std::uint32_t word, const BlockScores& scores, std::uint32_t i);
  void feasible_changed(std::uint32_t row, bool is_feasible);
  // Counts rows by the classes that they are in now. Before rows are replayed: as feasible as they
  // were.
  void follow_classes(const NodeTable& table);
  std::uint32_t code_id(std::uint32_t code);
  void build_histograms();
  void count_by_class(const NodeTable& table);
  Ranges ranges();
  // Of the rows that the extras do not reject, of which there is one.
  Ranges ranges(const RowExtras& extras);
  void totals(const Ranges& ranges, const RowExtras* extras, std::vector<std::int32_t>& out);
  Totals weights(const Ranges& ranges) const;
  std::int32_t row_total(const RangeTotals& range, const Totals& weights, std::uint32_t row) const;
  std::int32_t normalized_in(const RangeTotals& range, std::int32_t raw, std::uint32_t n) const;
  RangeTotals& totals_of(const Ranges& ranges);
  void measure(RangeTotals& range, const Totals& weights);
  void tabulate(RangeTotals& range);
  // False: too much has changed since.
  bool catch_up(RangeTotals& range, const Totals& weights, const TieOrder& order);
  // The rows that may have other totals than at the epoch, which the log leads back to.
  std::span<const std::uint32_t> changed_after(std::uint64_t epoch);
  void change_rows(RangeTotals& range, std::span<const std::uint32_t> rows, const Totals& weights,
                   const TieOrder& order);
  // The row, of that total, in what is kept of a class; -1: it is not in it, or not feasible.
  void change_in_class(ClassBest& of_class, std::uint32_t node_class, RowTotal now,
                       const Totals& weights, const TieOrder& order);
  // What is kept by class, for rows that went from one to another.
  void follow_classes(RangeTotals& range, const Totals& weights, const TieOrder& order);
  static void change_best(std::vector<BestRow>& best, std::uint64_t& outside, RowTotal changed,
                          const TieOrder& order);
  // False: what is kept does not say it.
  bool best_by_class(RangeTotals& range, const Totals& weights, std::uint32_t count,
                     const TieOrder& order, const RowExtras& extras, std::vector<RowTotal>& out);
  bool merge_classes(RangeTotals& range, const Totals& weights, std::uint32_t count,
                     const TieOrder& order, const RowExtras& extras, std::vector<RowTotal>& out,
                     std::uint32_t& short_of);
  // False: it cannot be said by them.
  bool best_of_kept(RangeTotals& range, const Totals& weights, std::uint32_t count,
                    const TieOrder& order, const RowExtras& extras, std::vector<RowTotal>& out);
  void keep_best(RangeTotals& range, const Totals& weights, const TieOrder& order);
  void add_rows_apart(const RangeTotals& range, const Totals& weights, std::uint32_t count,
                      const TieOrder& order, const RowExtras& extras, std::vector<RowTotal>& out);
  std::int32_t greatest_of(std::uint32_t node_class, std::uint32_t line, const Totals& weights);
  std::uint32_t large_classes() const;
  bool lacks_bounds(const RangeTotals& range, std::uint32_t node_class) const;
  void measure_classes(RangeTotals& range, const Totals& weights);
  void find_all(const RangeTotals& range, const Totals& weights, std::uint32_t node_class,
                const TieOrder& order, std::vector<BestRow>& found) const;
  ClassBest& class_best(RangeTotals& range, const Totals& weights, std::uint32_t node_class,
                        const TieOrder& order);
  template <typename Ends, typename Least, typename Take>
  void visit_lines(Bounds& bounds, const Totals& weights, Ends ends, Least least, Take take);
  template <typename Add>
  void find_best(Bounds& bounds, const Totals& weights, std::uint32_t count, const TieOrder& order,
                 std::int32_t most_extra, Add add, std::vector<BestRow>& found);
  static bool is_after(std::uint32_t line, const std::vector<BestRow>& found, std::uint32_t count,
                       const TieOrder& order);
  static bool better(const BestRow& a, const BestRow& b);
  static void offer(std::vector<BestRow>& best, std::uint32_t count, BestRow row);
  // Once it has caught up with the rows that changed.
  RangeTotals& range_now(const Ranges& now, const Totals& weights, const TieOrder& order);
  // `extras`: nullptr for none.
  const std::vector<BestRow>& search(RangeTotals& range, const Totals& weights, std::uint32_t count,
                                     const TieOrder& order, const RowExtras* extras);
  // By number, counted from 0.
  std::uint32_t* line(std::uint32_t line) { return &lines_[std::size_t{line} * layout_.stride()]; }

  const Kernels* kernels_;
  const NodeTable* table_ = nullptr;  // of the last update
  LineLayout layout_{};
  std::uint32_t score_count_ = 0;
  std::array<std::int32_t, kScoresMax> weights_{};
  bool normalize_in_double_ = false;

  std::unique_ptr<void, Free> memory_;
  std::uint32_t* lines_ = nullptr;  // in it, at the start of a cache line
  std::size_t words_ = 0;           // from there on
  std::size_t measured_bytes_ = 0;  // of all but histograms, before it grew
  bool grown_ = true;
  std::uint32_t rows_ = 0, blocks_ = 0;  // no blocks: nothing built since reset()
  std::uint64_t epoch_ = 0;
  // The rows that the last replay changed, and the epoch from which it led to epoch_.
  std::vector<std::uint32_t> changed_;
  std::uint64_t changed_since_ = 0;
  std::uint32_t feasible_ = 0, wide_rows_ = 0;
  std::uint64_t built_ = 0;
  FeasibleChanges feasible_changes_;
  std::vector<std::uint32_t> feasible_by_class_;
  std::uint64_t by_class_ = 0;  // the version of class changes that it is for; 0: not counted
  std::vector<CodeCount> codes_;
  // Where a code was found last, by hash: few codes occur, in no order.
  struct CodeAt {
    std::uint32_t code = 0, id = 0;
  };
  std::array<CodeAt, 64> code_at_{};
  Ranges cold_ranges_;  // exact while there are no histograms
  std::array<RawHistogram, kNormalizedMax> histograms_;
  bool has_histograms_ = false;
  std::array<RangeTotals, kRangesMax> range_totals_;
  std::size_t last_range_ = 0;  // of the last best()
  std::uint64_t decisions_ = 0, rows_replayed_ = 0, cold_passes_ = 0;
};

}  // namespace headroom
