// CachedShape: the best rows in a range of scores, and of each class in it: a search by the bounds
// of lines and blocks, of which what was found is kept.
#include <algorithm>
#include <utility>

#include "engine/decide/cached_shape.h"

namespace headroom {

namespace {

// Where the best rows of the columns do not say which are the best with extras, so many decisions
// do not ask them.
constexpr std::uint64_t kWithoutKept = 16;

}  // namespace

CachedShape::Search& CachedShape::scratch() {
  static thread_local Search its;
  return its;
}

bool CachedShape::better(const BestRow& a, const BestRow& b) { return a.key > b.key; }

// `best` is a heap of at most `count`: the worst stands first.
void CachedShape::offer(std::vector<BestRow>& best, std::uint32_t count, BestRow row) {
  if (best.size() == count) {
    if (row.key <= best.front().key) {
      return;
    }
    std::pop_heap(best.begin(), best.end(), better);
    best.pop_back();
  }
  best.push_back(row);
  std::push_heap(best.begin(), best.end(), better);
}

// Rows of the line come after those that were found, where totals are equal.
bool CachedShape::is_after(std::uint32_t line, const std::vector<BestRow>& found,
                           std::uint32_t count, const TieOrder& order) {
  return found.size() == count && order.seed == 0 &&
         line * kLineNodes > found.front().row_total.row;
}

// Best first: visits the line with the greatest total, until ends(line, greatest), and gives the
// rows with at least least() to take. Lines with equal totals come in their order.
template <typename Ends, typename Least, typename Take>
void CachedShape::visit_lines(Bounds& bounds, const Totals& weights, Ends ends, Least least,
                              Take take) {
  std::vector<std::pair<std::uint32_t, std::int32_t>>& visited = scratch().visited;
  visited.clear();
  while (true) {
    const std::uint32_t block = kernels_->index_of_max(bounds.blocks.data(), blocks_);
    std::int32_t* lines = &bounds.lines[std::size_t{block} * kBoundLines];
    const std::uint32_t index = kernels_->index_of_max(lines, kBoundLines);
    const std::int32_t greatest = lines[index];
    if (std::exchange(bounds.blocks[block], greatest) > greatest) {
      continue;  // the block has fallen: is it still the greatest?
    }
    const std::uint32_t line = block * kBoundLines + index;
    if (greatest < 0 || ends(line, greatest)) {
      break;
    }
    visited.emplace_back(line, greatest);
    lines[index] = -1;
    RowTotal rows[kLineNodes];
    const std::uint32_t reached = kernels_->rows_at_least(this->line(line), weights, least(), rows);
    for (std::uint32_t i = 0; i < reached; ++i) {
      take(RowTotal{line * kLineNodes + rows[i].row, rows[i].total});
    }
  }
  for (const auto& [line, greatest] : visited) {
    bounds.set(line, greatest);
  }
}

// The best `count` of the rows whose totals add() lets pass, having added at most `most_extra`.
template <typename Add>
void CachedShape::find_best(Bounds& bounds, const Totals& weights, std::uint32_t count,
                            const TieOrder& order, std::int32_t most_extra, Add add,
                            std::vector<BestRow>& found) {
  found.clear();
  const auto worst = [&] { return found.size() == count ? found.front().row_total.total : 0; };
  visit_lines(
      bounds, weights,
      [&](std::uint32_t line, std::int32_t greatest) {
        const std::int32_t most = greatest + most_extra;
        return most < worst() || (most == worst() && is_after(line, found, count, order));
      },
      [&] { return std::max(0, worst() - most_extra); },
      [&](RowTotal row) {
        if (add(row)) {
          offer(found, count, {order.key(row), row});
        }
      });
  std::sort(found.begin(), found.end(), better);
}

const std::vector<CachedShape::BestRow>& CachedShape::search(RangeTotals& range,
                                                             const Totals& weights,
                                                             std::uint32_t count,
                                                             const TieOrder& order,
                                                             const RowExtras* extras) {
  std::vector<BestRow>& found = scratch().found;
  const auto add = [extras](RowTotal& row) {
    const std::int32_t extra = extras == nullptr ? 0 : extras->of(row.row);
    row.total += extra;
    return extra >= 0;
  };
  find_best(range.bounds, weights, count, order, extras == nullptr ? 0 : extras->greatest, add,
            found);
  return found;
}

void CachedShape::keep_best(RangeTotals& range, const Totals& weights, const TieOrder& order) {
  const std::uint32_t kept = std::min(kBestKept, feasible_);
  range.best = search(range, weights, kept, order, nullptr);
  grown_ = true;
  range.outside = kept == feasible_ ? 0 : range.best.back().key - 1;
  range.best_valid = true;
}

// Classes with more rows than are kept of one: of the others all are.
std::uint32_t CachedShape::large_classes() const {
  return static_cast<std::uint32_t>(
      std::count_if(feasible_by_class_.begin(), feasible_by_class_.end(),
                    [](std::uint32_t rows) { return rows > kBestKept; }));
}

bool CachedShape::lacks_bounds(const RangeTotals& range, std::uint32_t node_class) const {
  return feasible_by_class_[node_class] > kBestKept &&
         (node_class >= range.by_class.size() || range.by_class[node_class].bounds.lines.empty());
}

// Few large classes have bounds of their own: those of all rows say little of a class whose rows
// are worse than those that they share lines with. What a class has stays, and follows its rows.
void CachedShape::measure_classes(RangeTotals& range, const Totals& weights) {
  std::vector<std::uint32_t> lacking;
  for (std::uint32_t c = 0; c < feasible_by_class_.size(); ++c) {
    if (lacks_bounds(range, c)) {
      lacking.push_back(c);
    }
  }
  if (lacking.empty()) {
    return;
  }
  grown_ = true;
  range.by_class.resize(std::max(range.by_class.size(), feasible_by_class_.size()));
  for (const std::uint32_t c : lacking) {
    range.by_class[c].bounds.lines.assign(std::size_t{blocks_} * kBoundLines, -1);
  }
  RowTotal rows[kLineNodes];
  for (std::uint32_t line = 0; line < blocks_ * kBoundLines; ++line) {
    const std::uint32_t feasible = kernels_->rows_at_least(this->line(line), weights, 0, rows);
    for (std::uint32_t i = 0; i < feasible; ++i) {
      std::vector<std::int32_t>& bounds =
          range.by_class[table_->node_class(line * kLineNodes + rows[i].row)].bounds.lines;
      if (!bounds.empty()) {
        bounds[line] = std::max(bounds[line], rows[i].total);
      }
    }
  }
  for (const std::uint32_t c : lacking) {
    range.by_class[c].bounds.set_blocks();
  }
}

CachedShape::ClassBest& CachedShape::class_best(RangeTotals& range, const Totals& weights,
                                                std::uint32_t node_class, const TieOrder& order) {
  if (node_class >= range.by_class.size()) {
    range.by_class.resize(node_class + 1);
  }
  ClassBest& its = range.by_class[node_class];
  if (its.valid) {
    return its;
  }
  if (feasible_by_class_[node_class] <= kBestKept) {
    find_all(range, weights, node_class, order, its.best);
    its.outside = 0;
  } else {
    find_best(
        its.bounds.lines.empty() ? range.bounds : its.bounds, weights, kBestKept, order, 0,
        [&](const RowTotal& row) { return table_->node_class(row.row) == node_class; }, its.best);
    its.outside = its.best.back().key - 1;
  }
  its.searched = decisions_;
  its.valid = true;
  grown_ = true;
  return its;
}

// A class of few rows: a search would go through the lines that others are in.
void CachedShape::find_all(const RangeTotals& range, const Totals& weights,
                           std::uint32_t node_class, const TieOrder& order,
                           std::vector<BestRow>& found) const {
  found.clear();
  const std::uint32_t* classes = table_->columns().node_class;
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if (classes[row] == node_class && is_feasible(row)) {
      const RowTotal its{row, row_total(range, weights, row)};
      found.push_back({order.key(its), its});
    }
  }
  std::sort(found.begin(), found.end(), better);
}

// Within a class the order is that of the columns' totals, but for the rows that stand apart.
bool CachedShape::best_by_class(RangeTotals& range, const Totals& weights, std::uint32_t count,
                                const TieOrder& order, const RowExtras& extras,
                                std::vector<RowTotal>& out) {
  std::uint32_t classes = 0;
  for (const std::uint32_t rows : feasible_by_class_) {
    classes += rows != 0;
  }
  if (classes > kBestClassesMax || count > kBestKept / 2 || extras.more != nullptr ||
      !extras.entries.empty()) {
    return false;
  }
  if (range.by_class.empty()) {
    range.by_class.resize(feasible_by_class_.size());
    range.class_changes = table_->class_changes().version();
  }
  // One large class alone has those of all rows.
  if (const std::uint32_t large = large_classes(); large > 1 && large <= kClassBoundsMax) {
    measure_classes(range, weights);
  }
  // Once more where too few were left of those that were kept of a class.
  for (std::uint32_t short_of = kNoNodeClass;
       !merge_classes(range, weights, count, order, extras, out, short_of);) {
    ClassBest& its = range.by_class[short_of];
    if (its.searched == decisions_) {
      out.clear();
      return false;
    }
    its.valid = false;
  }
  add_rows_apart(range, weights, count, order, extras, out);
  return true;
}

// The best of rows that do not stand apart. False: too few are kept of a class, and which.
bool CachedShape::merge_classes(RangeTotals& range, const Totals& weights, std::uint32_t count,
                                const TieOrder& order, const RowExtras& extras,
                                std::vector<RowTotal>& out, std::uint32_t& short_of) {
  const auto worse = [](const Head& a, const Head& b) { return a.key < b.key; };
  std::vector<Head>& heads = scratch().heads;
  // The best stands first; once it has a lesser key it goes down to its place.
  const auto sink = [&heads] {
    for (std::size_t at = 0, next = 1; next < heads.size(); at = next, next = 2 * at + 1) {
      next += next + 1 < heads.size() && heads[next].key < heads[next + 1].key;
      if (heads[next].key < heads[at].key) {
        return;
      }
      std::swap(heads[at], heads[next]);
    }
  };
  // To the class's next row; false: none is kept.
  const auto advance = [&](Head& head) {
    const std::vector<BestRow>& best = range.by_class[head.node_class].best;
    while (head.next < best.size()) {
      const RowTotal& row = best[head.next++].row_total;
      if (extras.entry(row.row) == RowExtras::kNoEntry) {
        head.row = row.row;
        head.total = row.total + extras.by_class[head.node_class];
        head.key = order.key({head.row, head.total});
        return true;
      }
    }
    return false;
  };
  // What is kept is all that there is of the class.
  const auto all_kept = [&](const Head& head) {
    return range.by_class[head.node_class].outside == 0;
  };
  out.clear();
  for (std::uint32_t c = 0; c < feasible_by_class_.size(); ++c) {
    if (feasible_by_class_[c] != 0 && extras.by_class[c] >= 0) {
      class_best(range, weights, c, order);
    }
  }
  heads.clear();
  for (std::uint32_t c = 0; c < feasible_by_class_.size(); ++c) {
    if (feasible_by_class_[c] == 0 || extras.by_class[c] < 0) {
      continue;
    }
    Head head{.key = 0, .row = 0, .total = 0, .node_class = c, .next = 0};
    if (advance(head)) {
      heads.push_back(head);
    } else if (!all_kept(head)) {
      short_of = c;
      return false;
    }
  }
  std::make_heap(heads.begin(), heads.end(), worse);
  while (out.size() < count && !heads.empty()) {
    Head& head = heads.front();
    out.push_back({head.row, head.total});
    if (out.size() == count) {
      break;
    }
    if (advance(head)) {
      sink();
    } else if (all_kept(head)) {
      head = heads.back();
      heads.pop_back();
      sink();
    } else {
      short_of = head.node_class;
      return false;
    }
  }
  return true;
}

// Of the rows with the best totals of the columns, if no other one can come to as much.
bool CachedShape::best_of_kept(RangeTotals& range, const Totals& weights, std::uint32_t count,
                               const TieOrder& order, const RowExtras& extras,
                               std::vector<RowTotal>& out) {
  if (count > kBestKept / 2 || extras.more != nullptr || decisions_ < range.kept_from) {
    return false;
  }
  std::vector<BestRow>& found = scratch().found;
  while (true) {
    if (!range.best_valid) {
      keep_best(range, weights, order);
    }
    found.clear();
    for (const BestRow& its : range.best) {
      RowTotal row = its.row_total;
      if (const std::int32_t extra = extras.of(row.row); extra >= 0) {
        row.total += extra;
        found.push_back({order.key(row), row});
      }
    }
    std::sort(found.begin(), found.end(), better);
    const std::uint64_t of_others =
        range.outside + (static_cast<std::uint64_t>(extras.greatest) << 32U);
    if (range.outside == 0 || (found.size() >= count && found[count - 1].key > of_others)) {
      break;
    }
    if (range.best.size() == kBestKept) {
      range.kept_from = decisions_ + kWithoutKept;
      return false;
    }
    range.best_valid = false;
  }
  found.resize(std::min<std::size_t>(found.size(), count));
  for (const BestRow& its : found) {
    out.push_back(its.row_total);
  }
  return true;
}

void CachedShape::add_rows_apart(const RangeTotals& range, const Totals& weights,
                                 std::uint32_t count, const TieOrder& order,
                                 const RowExtras& extras, std::vector<RowTotal>& out) {
  const std::int32_t most =
      range.bounds.blocks[kernels_->index_of_max(range.bounds.blocks.data(), blocks_)];
  const bool full = out.size() == count;
  const std::int32_t worst = full ? out.back().total : 0;
  const std::uint64_t worst_key = full ? order.key(out.back()) : 0;
  if (extras.greatest_apart < 0 || most + extras.greatest_apart < worst) {
    return;
  }
  const std::size_t of_classes = out.size();
  extras.each_apart([&](std::uint32_t row, auto entry_of_row) {
    const std::int32_t total = row_total(range, weights, row);
    if (total < 0 || total + extras.greatest_apart < worst) {
      return;
    }
    const std::uint32_t entry = entry_of_row();
    const std::int32_t extra = entry == RowExtras::kNoEntry ? -1 : extras.by_entry[entry];
    const RowTotal its{row, total + extra};
    if (extra >= 0 && order.key(its) > worst_key) {
      out.push_back(its);
    }
  });
  if (out.size() == of_classes) {
    return;
  }
  const auto wanted = static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, out.size()));
  std::partial_sort(
      out.begin(), out.begin() + wanted, out.end(),
      [&](const RowTotal& a, const RowTotal& b) { return order.key(a) > order.key(b); });
  out.resize(static_cast<std::size_t>(wanted));
}

void CachedShape::best(std::uint32_t count, const TieOrder& order, const RowExtras& extras,
                       std::uint32_t feasible, std::vector<RowTotal>& out) {
  if (extras.same && extras.more == nullptr) {
    best(count, order, out);
    for (RowTotal& row : out) {
      row.total += *extras.same;
    }
    return;
  }
  out.clear();
  ++decisions_;
  if (feasible == 0) {
    return;
  }
  const Ranges now = ranges(extras);
  const Totals its_weights = weights(now);
  RangeTotals& range = range_now(now, its_weights, order);
  const std::uint32_t wanted = std::min(count, feasible);
  if (best_by_class(range, its_weights, wanted, order, extras, out) ||
      best_of_kept(range, its_weights, wanted, order, extras, out)) {
    return;
  }
  for (const BestRow& row : search(range, its_weights, wanted, order, &extras)) {
    out.push_back(row.row_total);
  }
}

void CachedShape::best(std::uint32_t count, const TieOrder& order, std::vector<RowTotal>& out) {
  out.clear();
  ++decisions_;
  if (feasible_ == 0) {
    return;
  }
  const Ranges now = ranges();
  const Totals its_weights = weights(now);
  RangeTotals& range = range_now(now, its_weights, order);
  const std::uint32_t wanted = std::min(count, feasible_);
  if (count == 1 || count > kBestKept / 2) {
    for (const BestRow& row : search(range, its_weights, wanted, order, nullptr)) {
      out.push_back(row.row_total);
    }
    return;
  }
  if (!range.best_valid || range.best.size() < wanted) {
    keep_best(range, its_weights, order);
  }
  for (std::uint32_t i = 0; i < wanted; ++i) {
    out.push_back(range.best[i].row_total);
  }
}

}  // namespace headroom
