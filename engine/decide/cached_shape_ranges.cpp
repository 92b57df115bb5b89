// CachedShape: ranges of scores, and the totals of rows in one. What is known of them is kept for
// the last ranges, and follows the rows that change.
#include <algorithm>
#include <utility>

#include "engine/decide/cached_shape.h"
#include "kernels/exact.h"

namespace headroom {

namespace {

// A range's bounds that fell further behind than this are scanned anew.
constexpr std::uint64_t kCatchUpShare = 8;
// Keeping the best rows pays while few rows change between two answers.
constexpr std::uint64_t kBestChangesMax = 64;
constexpr std::uint64_t kClassChangesMax = 1024;
// A table of normalised scores is kept for ranges up to this.
constexpr std::int32_t kTableRangeMax = 2048;

}  // namespace

CachedShape::Ranges CachedShape::ranges() {
  Ranges found = cold_ranges_;
  for (std::uint32_t n = 0; has_histograms_ && n < layout_.normalized; ++n) {
    found[n] = {histograms_[n].lo(), histograms_[n].hi()};
  }
  return found;
}

CachedShape::Ranges CachedShape::ranges(const RowExtras& extras) {
  if (layout_.normalized == 0 || (!extras.rejects_classes && !extras.rejects_apart)) {
    return ranges();
  }
  Ranges found;
  if (!extras.rejects_classes) {
    if (!has_histograms_) {
      build_histograms();
    }
    // Without the few rows that are rejected, for a moment.
    for (const bool take : {true, false}) {
      extras.each_apart([&](std::uint32_t row, auto entry_of_row) {
        if (!is_feasible(row)) {
          return;
        }
        const std::uint32_t entry = entry_of_row();
        if (entry == RowExtras::kNoEntry || extras.by_entry[entry] >= 0) {
          return;
        }
        for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
          const std::int32_t raw = layout_.raw(lines_, row, n);
          take ? histograms_[n].remove(raw) : histograms_[n].add(raw);
        }
      });
      if (take) {
        found = ranges();
      }
    }
    return found;
  }
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if (!is_feasible(row) || extras.of(row) < 0) {
      continue;
    }
    for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
      const std::int32_t raw = layout_.raw(lines_, row, n);
      found[n] = {std::min(found[n].lo, raw), std::max(found[n].hi, raw)};
    }
  }
  return found;
}

Totals CachedShape::weights(const Ranges& ranges) const {
  Totals result{};
  result.layout = layout_;
  result.normalize_in_double = normalize_in_double_;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    result.lo[n] = ranges[n].lo;
    result.hi[n] = ranges[n].hi;
    result.normalized_weight[n] = weights_[n];
  }
  for (std::uint32_t s = layout_.normalized; s < score_count_; ++s) {
    result.plain_weight[s - layout_.normalized] = weights_[s];
  }
  return result;
}

std::int32_t CachedShape::normalized(std::int32_t raw, std::uint32_t s) const {
  return s >= layout_.normalized ? raw : normalized_in(range_totals_[last_range_], raw, s);
}

std::int32_t CachedShape::normalized_in(const RangeTotals& range, std::int32_t raw,
                                        std::uint32_t n) const {
  const auto [lo, hi] = range.ranges[n];
  return range.table[n].empty()
             ? static_cast<std::int32_t>(normalize(raw, lo, hi, normalize_in_double_))
             : range.table[n][static_cast<std::size_t>(raw - lo)];
}

// -1 for an infeasible row.
std::int32_t CachedShape::row_total(const RangeTotals& range, const Totals& weights,
                                    std::uint32_t row) const {
  const std::uint32_t packed = lines_[layout_.packed(row)];
  if ((packed & kInfeasible) != 0) {
    return -1;
  }
  std::int32_t total = 0;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    // Held within the range: it may be that of an earlier time.
    const std::int32_t raw = std::clamp(layout_.raw(lines_, row, n), weights.lo[n], weights.hi[n]);
    total += weights.normalized_weight[n] * normalized_in(range, raw, n);
  }
  for (std::uint32_t p = 0; p < kPlainMax; ++p) {
    total += weights.plain_weight[p] * plain_score(packed, p);
  }
  return total;
}

void CachedShape::totals(std::vector<std::int32_t>& out) {
  out.assign(rows_, -1);
  if (feasible_ != 0) {
    totals(ranges(), nullptr, out);
  }
}

void CachedShape::totals(const RowExtras& extras, std::uint32_t feasible,
                         std::vector<std::int32_t>& out) {
  out.assign(rows_, -1);
  if (feasible != 0) {
    totals(ranges(extras), &extras, out);
  }
}

void CachedShape::totals(const Ranges& ranges, const RowExtras* extras,
                         std::vector<std::int32_t>& out) {
  const Totals its_weights = weights(ranges);
  const RangeTotals& range = totals_of(ranges);
  for (std::uint32_t row = 0; row < rows_; ++row) {
    out[row] = row_total(range, its_weights, row);
    if (extras != nullptr && out[row] >= 0) {
      const std::int32_t extra = extras->of(row);
      out[row] = extra < 0 ? -1 : out[row] + extra;
    }
  }
}

// --- What is kept of a range ---

CachedShape::RangeTotals& CachedShape::totals_of(const Ranges& ranges) {
  RangeTotals* oldest = &range_totals_[0];
  for (RangeTotals& range : range_totals_) {
    if (range.valid && range.ranges == ranges) {
      return range;
    }
    if (!range.valid || (oldest->valid && range.last_used < oldest->last_used)) {
      oldest = &range;
    }
  }
  oldest->valid = false;
  oldest->ranges = ranges;
  tabulate(*oldest);
  return *oldest;
}

void CachedShape::Bounds::set_blocks() {
  blocks.clear();
  for (auto first = lines.begin(); first != lines.end(); first += kBoundLines) {
    blocks.push_back(*std::max_element(first, first + kBoundLines));
  }
}

void CachedShape::Bounds::set(std::uint32_t line, std::int32_t greatest) {
  lines[line] = greatest;
  std::int32_t& bound = blocks[line / kBoundLines];
  bound = std::max(bound, greatest);
}

void CachedShape::measure(RangeTotals& range, const Totals& weights) {
  grown_ = true;
  range.bounds.lines.resize(std::size_t{blocks_} * kBoundLines);
  kernels_->line_maxima(lines_, nullptr, blocks_ * kBoundLines, weights, range.bounds.lines.data());
  range.bounds.set_blocks();
  range.epoch = epoch_;
  range.valid = true;
  range.best_valid = false;
  range.by_class.clear();
}

void CachedShape::tabulate(RangeTotals& range) {
  grown_ = true;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    const std::int32_t width = range.ranges[n].hi - range.ranges[n].lo;
    range.table[n].clear();
    for (std::int32_t offset = 0; width <= kTableRangeMax && offset <= width; ++offset) {
      range.table[n].push_back(
          static_cast<std::int8_t>(normalize(offset, 0, width, normalize_in_double_)));
    }
  }
}

std::span<const std::uint32_t> CachedShape::changed_after(std::uint64_t epoch) {
  if (epoch == epoch_) {
    return {};
  }
  if (epoch == changed_since_) {
    return changed_;
  }
  std::vector<std::uint32_t>& rows = scratch().changed;
  rows.clear();
  table_->log().for_each_after(epoch, [&](std::uint32_t row) { rows.push_back(row); });
  return rows;
}

bool CachedShape::catch_up(RangeTotals& range, const Totals& weights, const TieOrder& order) {
  if (!range.valid || (range.epoch != changed_since_ && range.epoch < table_->log().oldest())) {
    return false;
  }
  const std::span<const std::uint32_t> rows = changed_after(range.epoch);
  if (rows.size() > std::max<std::uint64_t>(kReplayAlways, rows_ / kCatchUpShare)) {
    return false;
  }
  range.best_valid = range.best_valid && rows.size() <= kBestChangesMax;
  if (!table_->class_changes().leads_from(range.class_changes) || rows.size() > kClassChangesMax) {
    range.by_class.clear();
  }
  for (std::size_t done = 0; done < rows.size(); done += kBlockNodes) {
    change_rows(range, rows.subspan(done, std::min<std::size_t>(kBlockNodes, rows.size() - done)),
                weights, order);
  }
  follow_classes(range, weights, order);
  range.epoch = epoch_;
  return true;
}

void CachedShape::change_rows(RangeTotals& range, std::span<const std::uint32_t> rows,
                              const Totals& weights, const TieOrder& order) {
  std::array<std::int32_t, kBlockNodes> maxima;
  kernels_->line_maxima(lines_, rows.data(), static_cast<std::uint32_t>(rows.size()), weights,
                        maxima.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t row = rows[i];
    range.bounds.set(row / kLineNodes, maxima[i]);
    const std::uint32_t its_class = table_->node_class(row);
    ClassBest* of_class = its_class < range.by_class.size() ? &range.by_class[its_class] : nullptr;
    if (!range.best_valid && of_class == nullptr) {
      continue;
    }
    const RowTotal now{row, row_total(range, weights, row)};
    if (range.best_valid) {
      change_best(range.best, range.outside, now, order);
    }
    if (of_class != nullptr) {
      change_in_class(*of_class, its_class, now, weights, order);
    }
  }
}

// Of the rows of the class in the line; -1: there is none.
std::int32_t CachedShape::greatest_of(std::uint32_t node_class, std::uint32_t line,
                                      const Totals& weights) {
  std::int32_t greatest = -1;
  RowTotal rows[kLineNodes];
  const std::uint32_t feasible = kernels_->rows_at_least(this->line(line), weights, 0, rows);
  for (std::uint32_t i = 0; i < feasible; ++i) {
    if (table_->node_class(line * kLineNodes + rows[i].row) == node_class) {
      greatest = std::max(greatest, rows[i].total);
    }
  }
  return greatest;
}

void CachedShape::change_in_class(ClassBest& of_class, std::uint32_t node_class, RowTotal now,
                                  const Totals& weights, const TieOrder& order) {
  if (!of_class.bounds.lines.empty()) {
    const std::uint32_t line = now.row / kLineNodes;
    of_class.bounds.set(line, greatest_of(node_class, line, weights));
  }
  if (of_class.valid) {
    change_best(of_class.best, of_class.outside, now, order);
  }
}

void CachedShape::follow_classes(RangeTotals& range, const Totals& weights, const TieOrder& order) {
  if (range.by_class.empty()) {
    return;
  }
  const ClassChanges& changes = table_->class_changes();
  changes.each_after(range.class_changes, [&](const ClassChange& change) {
    for (const std::uint32_t node_class : {change.from, change.to}) {
      // Of one that is none of those nothing is kept yet.
      if (node_class != kNoNodeClass && node_class < range.by_class.size()) {
        const bool is_in = table_->node_class(change.row) == node_class;
        change_in_class(range.by_class[node_class], node_class,
                        {change.row, is_in ? row_total(range, weights, change.row) : -1}, weights,
                        order);
      }
    }
  });
  range.class_changes = changes.version();
}

void CachedShape::change_best(std::vector<BestRow>& best, std::uint64_t& outside, RowTotal changed,
                              const TieOrder& order) {
  const auto known = std::find_if(best.begin(), best.end(), [&](const BestRow& candidate) {
    return candidate.row_total.row == changed.row;
  });
  const std::uint64_t key = order.key(changed);
  if (known != best.end()) {
    if (known->key == key) {
      return;
    }
    best.erase(known);
  }
  if (changed.total < 0 || key <= outside) {
    return;
  }
  const auto place =
      std::find_if(best.begin(), best.end(), [&](const BestRow& other) { return other.key < key; });
  best.insert(place, {key, changed});
  if (best.size() > kBestKept) {
    outside = best.back().key;
    best.pop_back();
  }
}

CachedShape::RangeTotals& CachedShape::range_now(const Ranges& now, const Totals& weights,
                                                 const TieOrder& order) {
  RangeTotals& range = totals_of(now);
  range.last_used = decisions_;
  last_range_ = static_cast<std::size_t>(&range - range_totals_.data());
  if (!catch_up(range, weights, order)) {
    measure(range, weights);
  }
  return range;
}

}  // namespace headroom
