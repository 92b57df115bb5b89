#include "engine/decide/cached_shape.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "engine/table/heap_bytes.h"
#include "kernels/exact.h"
#include "objects/hash.h"

namespace headroom {

namespace {

// Beyond this share of the rows a full pass costs less than a replay.
constexpr std::uint64_t kReplayShare = 4;
constexpr std::uint64_t kReplayAlways = 64;
// A range's bounds that fell further behind than this are scanned anew.
constexpr std::uint64_t kCatchUpShare = 8;
// Keeping the best rows pays while few rows change between two answers.
constexpr std::uint64_t kBestChangesMax = 64;
constexpr std::uint64_t kClassChangesMax = 1024;
// A table of normalised scores is kept for ranges up to this.
constexpr std::int32_t kTableRangeMax = 2048;
constexpr std::size_t kPage = 4096, kCacheLine = 64;

static_assert(kBoundRows % kLineNodes == 0 && kBoundRows % kBlockNodes == 0);
static_assert(kPluginWeightMax <= kTotalWeightMax);

// With room for the way to the start of a cache line.
constexpr std::size_t bytes_for(std::size_t words) {
  return words * sizeof(std::uint32_t) + kCacheLine;
}

}  // namespace

std::uint64_t TieOrder::key(RowTotal row_total) const {
  const std::uint32_t order =
      seed == 0 ? row_total.row : static_cast<std::uint32_t>(mix(row_total.row ^ seed) >> 32);
  return (static_cast<std::uint64_t>(row_total.total) + 1) << 32 | ~order;
}

void CachedShape::Free::operator()(void* pointer) const { std::free(pointer); }

CachedShape::CachedShape(const Kernels& kernels) : kernels_(&kernels) {}

void CachedShape::reset(const PodShape& shape) {
  layout_ = {shape.normalized};
  score_count_ = static_cast<std::uint32_t>(shape.scores.size());
  normalize_in_double_ = shape.normalize_in_double;
  weights_ = {};
  for (std::uint32_t s = 0; s < score_count_; ++s) {
    weights_[s] = static_cast<std::int32_t>(shape.score_labels[s].weight);
  }
  blocks_ = 0;
}

std::size_t CachedShape::bytes() {
  if (std::exchange(grown_, false)) {
    measured_bytes_ = allocated_bytes(sizeof(*this)) + heap_bytes(codes_) +
                      (words_ == 0 ? 0 : allocated_bytes(bytes_for(words_)));
    for (const RangeTotals& range : range_totals_) {
      measured_bytes_ += heap_bytes(range.lines) + heap_bytes(range.blocks) +
                         heap_bytes(range.best) +
                         allocated_bytes(range.by_class.capacity() * sizeof(ClassBest));
      for (const ClassBest& of_class : range.by_class) {
        measured_bytes_ += heap_bytes(of_class.best);
      }
      for (const auto& table : range.table) {
        measured_bytes_ += heap_bytes(table);
      }
    }
  }
  std::size_t total = measured_bytes_;
  for (const RawHistogram& histogram : histograms_) {
    total += histogram.bytes();
  }
  return total;
}

// Zeroed, since kernels read whole lines, of which rows that were never feasible leave words
// unwritten. Aligned here and not by aligned_alloc: glibc before 2.38 does not find again what such
// blocks gave back (its bug 14581), and entries that came and went took seven times their limit.
void CachedShape::allocate(std::size_t words) {
  grown_ = true;
  blocks_ = 0;
  words_ = 0;
  memory_.reset();
  std::size_t bytes = bytes_for(words);
  memory_.reset(std::calloc(1, bytes));
  void* start = memory_.get();
  if (start == nullptr) {
    throw std::bad_alloc();
  }
  lines_ = static_cast<std::uint32_t*>(
      std::align(kCacheLine, words * sizeof(std::uint32_t), start, bytes));
  words_ = words;
  // All pages at once cost less than a fault each; where that is not to be had they come anyway.
  if (bytes = words * sizeof(std::uint32_t); std::align(kPage, kPage, start, bytes) != nullptr) {
    madvise(start, bytes / kPage * kPage, MADV_POPULATE_WRITE);
  }
}

// Of all cached shapes, so that none takes another's for its own.
static std::uint64_t next_feasible_version() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// --- Building ---

bool CachedShape::replayable(const NodeTable& table) const {
  const std::uint64_t changes = table.epoch() - epoch_;
  const bool few = changes <= kReplayAlways || changes <= table.size() / kReplayShare;
  const bool fits = table.size() <= blocks_ * kBoundRows;
  return blocks_ != 0 && epoch_ >= table.oldest() && few && fits;
}

void CachedShape::update(const NodeTable& table, const PodShape& shape) {
  if (replayable(table)) {
    replay(table, shape);
  } else {
    rebuild(table, shape);
  }
}

void CachedShape::rebuild(const NodeTable& table, const PodShape& shape) {
  begin(table);
  for (std::uint32_t block = 0; block * kBlockNodes < table.size(); ++block) {
    build(table, shape, block);
  }
  finish(table);
}

void CachedShape::begin(const NodeTable& table) {
  const std::uint32_t blocks = std::max(1u, (table.size() + kBoundRows - 1) / kBoundRows);
  if (const std::size_t words = std::size_t{blocks} * kBoundLines * layout_.stride();
      words > words_) {
    allocate(words);
  }
  blocks_ = blocks;
  table_ = &table;
  rows_ = table.size();
  feasible_ = wide_rows_ = 0;
  feasible_version_ = next_feasible_version();
  by_class_ = 0;
  codes_.clear();
  code_at_ = {};
  has_histograms_ = false;
  cold_ranges_.fill({});
  for (RangeTotals& range : range_totals_) {
    range.valid = false;
  }
}

std::uint32_t CachedShape::code_id(std::uint32_t code) {
  CodeAt& at = code_at_[code * 0x9E3779B1u >> 26];
  if (at.code == code) {
    return at.id;
  }
  const auto known = std::find_if(codes_.begin(), codes_.end(),
                                  [code](const CodeCount& count) { return count.code == code; });
  const auto id = static_cast<std::uint32_t>(known - codes_.begin());
  if (known == codes_.end()) {
    codes_.push_back({code, 0});
    grown_ = true;
  }
  at = {code, id};
  return id;
}

void CachedShape::build(const NodeTable& table, const PodShape& shape, std::uint32_t block) {
  BlockScores out;
  const std::uint32_t first = block * kBlockNodes;
  const std::uint32_t count = std::min(kBlockNodes, table.size() - first);
  kernels_->score_block(table.columns(), shape.program(), first, count, out);
  const PackedRows packed =
      kernels_->pack(out, layout_, score_count_ - layout_.normalized, first, count, codes_, lines_);
  feasible_ += packed.feasible;
  wide_rows_ += packed.wide;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    cold_ranges_[n] = {std::min(cold_ranges_[n].lo, packed.lo[n]),
                       std::max(cold_ranges_[n].hi, packed.hi[n])};
  }
  for (std::uint32_t i = 0, left = packed.no_code; left != 0; ++i) {
    std::uint32_t& word = lines_[layout_.packed(first + i)];
    if (word == (kInfeasible | kNoCode)) {
      const std::uint32_t id = code_id(out.code[i]);
      ++codes_[id].rows;
      word = kInfeasible | id;
      --left;
    }
  }
}

void CachedShape::finish(const NodeTable& table) {
  for (std::uint32_t row = rows_; row < blocks_ * kBoundRows; ++row) {
    lines_[layout_.packed(row)] = kInfeasible | kNoCode;
  }
  epoch_ = table.epoch();
  ++cold_passes_;
}

// --- Replaying ---

void CachedShape::replay(const NodeTable& table, const PodShape& shape) {
  table_ = &table;
  rows_ = table.size();  // new rows were padding so far
  if (epoch_ == table.epoch()) {
    return;
  }
  if (!has_histograms_) {
    build_histograms();
  }
  const Columns ring = table.ring_columns();
  const Program program = shape.program();
  BlockScores out;
  while (epoch_ < table.epoch()) {
    const std::uint32_t slot = NodeTable::slot(epoch_);
    const auto count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({table.epoch() - epoch_, kRingSlots - slot, kBlockNodes}));
    for (std::uint32_t i = 0; i < count; ++i) {
      __builtin_prefetch(&lines_[layout_.packed(ring.rows[slot + i])], 1);
    }
    kernels_->score_block(ring, program, slot, count, out);
    for (std::uint32_t i = 0; i < count; ++i) {
      set_row(ring.rows[slot + i], out, i);
    }
    epoch_ += count;
    rows_replayed_ += count;
  }
}

void CachedShape::feasible_changed(std::uint32_t row, bool is_feasible) {
  feasible_version_ = next_feasible_version();
  if (by_class_ != table_->class_changes()) {
    return;  // who asks counts them all
  }
  const std::uint32_t its = table_->node_class(row);
  if (its >= feasible_by_class_.size()) {
    feasible_by_class_.resize(its + 1);
  }
  feasible_by_class_[its] += is_feasible ? 1U : ~0U;
}

void CachedShape::set_row(std::uint32_t row, const BlockScores& scores, std::uint32_t i) {
  std::uint32_t& packed = lines_[layout_.packed(row)];
  const bool was_feasible = (packed & kInfeasible) == 0, is_feasible = scores.code[i] == 0;
  if (was_feasible != is_feasible) {
    feasible_changed(row, is_feasible);
  }
  if (was_feasible) {
    --feasible_;
    wide_rows_ -= packed == kWideRow;
    for (std::uint32_t n = 0; packed != kWideRow && n < layout_.normalized; ++n) {
      histograms_[n].remove(static_cast<std::int32_t>(lines_[layout_.raw(row, n)]));
    }
  } else if (packed != (kInfeasible | kNoCode)) {
    --codes_[packed & ~kInfeasible].rows;
  }
  if (!is_feasible) {
    const std::uint32_t id = code_id(scores.code[i]);
    ++codes_[id].rows;
    packed = kInfeasible | id;
    return;
  }
  ++feasible_;
  packed = pack_row(scores, layout_, score_count_ - layout_.normalized, i);
  wide_rows_ += packed == kWideRow;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    lines_[layout_.raw(row, n)] = static_cast<std::uint32_t>(scores.score[n][i]);
    if (packed != kWideRow) {
      histograms_[n].add(scores.score[n][i]);
    }
  }
}

void CachedShape::build_histograms() {
  has_histograms_ = true;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    histograms_[n].clear();
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const std::uint32_t packed = lines_[layout_.packed(row)];
      if ((packed & kInfeasible) == 0 && packed != kWideRow) {
        histograms_[n].add(static_cast<std::int32_t>(lines_[layout_.raw(row, n)]));
      }
    }
  }
}

// --- Totals ---

CachedShape::Ranges CachedShape::ranges() {
  Ranges found = cold_ranges_;
  for (std::uint32_t n = 0; has_histograms_ && n < layout_.normalized; ++n) {
    found[n] = {histograms_[n].lo(), histograms_[n].hi()};
  }
  return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>>::const_iterator RowExtras::find(
    std::uint32_t row) const {
  const auto found =
      std::lower_bound(by_row.begin(), by_row.end(), row,
                       [](const auto& its, std::uint32_t r) { return its.first < r; });
  return found != by_row.end() && found->first == row ? found : by_row.end();
}

std::int32_t RowExtras::of(std::uint32_t row) const {
  const auto found = find(row);
  const std::int32_t extra =
      found != by_row.end() ? by_entry[found->second] : by_class[classes[row]];
  return extra >= 0 && more != nullptr ? extra + more(row) : extra;
}

const std::vector<std::uint32_t>& CachedShape::feasible_by_class(const NodeTable& table) {
  if (by_class_ != table.class_changes()) {
    by_class_ = 0;
    feasible_by_class_.clear();
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if ((lines_[layout_.packed(row)] & kInfeasible) == 0) {
        const std::uint32_t its = table.node_class(row);
        feasible_by_class_.resize(std::max<std::size_t>(feasible_by_class_.size(), its + 1));
        ++feasible_by_class_[its];
      }
    }
    by_class_ = table.class_changes();
  }
  return feasible_by_class_;
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
      for (const auto& [row, entry] : extras.by_row) {
        for (std::uint32_t n = 0; extras.by_entry[entry] < 0 && n < layout_.normalized; ++n) {
          const auto raw = static_cast<std::int32_t>(lines_[layout_.raw(row, n)]);
          take ? histograms_[n].remove(raw) : histograms_[n].add(raw);
        }
      }
      if (take) {
        found = ranges();
      }
    }
    return found;
  }
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if ((lines_[layout_.packed(row)] & kInfeasible) != 0 || extras.of(row) < 0) {
      continue;
    }
    for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
      const auto raw = static_cast<std::int32_t>(lines_[layout_.raw(row, n)]);
      found[n] = {std::min(found[n].lo, raw), std::max(found[n].hi, raw)};
    }
  }
  return found;
}

Totals CachedShape::weights(const Ranges& ranges) const {
  Totals result{};
  result.normalized = layout_.normalized;
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

std::int32_t CachedShape::raw(std::uint32_t row, std::uint32_t s) const {
  if (s < layout_.normalized) {
    return static_cast<std::int32_t>(lines_[layout_.raw(row, s)]);
  }
  return static_cast<std::int32_t>(lines_[layout_.packed(row)] >> (8 * (s - layout_.normalized)) &
                                   0xFF);
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
    const std::int32_t raw = std::clamp(static_cast<std::int32_t>(lines_[layout_.raw(row, n)]),
                                        weights.lo[n], weights.hi[n]);
    total += weights.normalized_weight[n] * normalized_in(range, raw, n);
  }
  return total + weights.plain_weight[0] * static_cast<std::int32_t>(packed & 0xFF) +
         weights.plain_weight[1] * static_cast<std::int32_t>(packed >> 8 & 0xFF) +
         weights.plain_weight[2] * static_cast<std::int32_t>(packed >> 16 & 0xFF);
}

void CachedShape::totals(std::vector<std::int32_t>& out, const RowExtras* extras) {
  out.assign(rows_, -1);
  if (feasible_ == 0) {
    return;
  }
  const Ranges now = extras == nullptr ? ranges() : ranges(*extras);
  const Totals its_weights = weights(now);
  const RangeTotals& range = totals_of(now);
  for (std::uint32_t row = 0; row < rows_; ++row) {
    out[row] = row_total(range, its_weights, row);
    if (extras != nullptr && out[row] >= 0) {
      const std::int32_t extra = extras->of(row);
      out[row] = extra < 0 ? -1 : out[row] + extra;
    }
  }
}

std::uint32_t CachedShape::code(std::uint32_t row) const {
  const std::uint32_t packed = lines_[layout_.packed(row)];
  return (packed & kInfeasible) != 0 ? codes_[packed & ~kInfeasible].code : 0;
}

// --- Bounds and search ---

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

void CachedShape::measure(RangeTotals& range, const Totals& weights) {
  grown_ = true;
  range.lines.resize(std::size_t{blocks_} * kBoundLines);
  range.blocks.resize(blocks_);
  kernels_->line_maxima(lines_, nullptr, blocks_ * kBoundLines, weights, range.lines.data());
  for (std::uint32_t block = 0; block < blocks_; ++block) {
    const std::int32_t* first = &range.lines[std::size_t{block} * kBoundLines];
    range.blocks[block] = *std::max_element(first, first + kBoundLines);
  }
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

bool CachedShape::within_reach(const RangeTotals& range) const {
  return range.valid && range.epoch >= table_->oldest() &&
         epoch_ - range.epoch <= std::max<std::uint64_t>(kReplayAlways, rows_ / kCatchUpShare);
}

void CachedShape::catch_up(RangeTotals& range, const Totals& weights, const TieOrder& order) {
  range.best_valid = range.best_valid && epoch_ - range.epoch <= kBestChangesMax;
  if (range.class_changes != table_->class_changes() || epoch_ - range.epoch > kClassChangesMax) {
    range.by_class.clear();
  }
  const std::uint32_t* changed = table_->ring_columns().rows;
  std::array<std::int32_t, kBlockNodes> maxima;
  while (range.epoch < epoch_) {
    const std::uint32_t slot = NodeTable::slot(range.epoch);
    const auto count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({epoch_ - range.epoch, kRingSlots - slot, kBlockNodes}));
    kernels_->line_maxima(lines_, changed + slot, count, weights, maxima.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t row = changed[slot + i];
      const std::int32_t greatest = maxima[i];
      range.lines[row / kLineNodes] = greatest;
      std::int32_t& bound = range.blocks[row / kBoundRows];
      bound = std::max(bound, greatest);
      const std::uint32_t its_class = table_->node_class(row);
      ClassBest* of_class =
          its_class < range.by_class.size() ? &range.by_class[its_class] : nullptr;
      if (range.best_valid || (of_class != nullptr && of_class->valid)) {
        const RowTotal now{row, row_total(range, weights, row)};
        if (range.best_valid) {
          change_best(range.best, range.outside, now, order);
        }
        if (of_class != nullptr && of_class->valid) {
          change_best(of_class->best, of_class->outside, now, order);
        }
      }
    }
    range.epoch += count;
  }
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

CachedShape::Search& CachedShape::scratch() {
  static thread_local Search its;
  return its;
}

// Best first: visits the line with the greatest total until none can hold a better row than those
// found.
const std::vector<CachedShape::BestRow>& CachedShape::search(RangeTotals& range,
                                                             const Totals& weights,
                                                             std::uint32_t count,
                                                             const TieOrder& order,
                                                             const RowExtras* extras) {
  const auto better = [](const BestRow& a, const BestRow& b) { return a.key > b.key; };
  auto& [found, visited, heads] = scratch();  // found is a heap: the worst stands first
  found.clear();
  visited.clear();
  const std::int32_t most_extra = extras == nullptr ? 0 : extras->greatest;
  while (true) {
    const std::uint32_t block = kernels_->index_of_max(range.blocks.data(), blocks_);
    std::int32_t* lines = &range.lines[std::size_t{block} * kBoundLines];
    const std::uint32_t index = kernels_->index_of_max(lines, kBoundLines);
    const std::int32_t greatest = lines[index];
    if (std::exchange(range.blocks[block], greatest) > greatest) {
      continue;  // the block has fallen: is it still the greatest?
    }
    const std::uint32_t line = block * kBoundLines + index;
    const bool full = found.size() == count;
    const std::int32_t worst = full ? found.front().row_total.total : 0;
    // Lines with equal totals come in their order.
    const bool after = full && order.seed == 0 && line * kLineNodes > found.front().row_total.row;
    const std::int32_t most = greatest + most_extra;
    if (greatest < 0 || most < worst || (most == worst && after)) {
      break;
    }
    visited.emplace_back(line, greatest);
    lines[index] = -1;
    RowTotal rows[kLineNodes];
    const std::uint32_t reached =
        kernels_->rows_at_least(this->line(line), weights, std::max(0, worst - most_extra), rows);
    for (std::uint32_t i = 0; i < reached; ++i) {
      RowTotal candidate{line * kLineNodes + rows[i].row, rows[i].total};
      if (extras != nullptr) {
        const std::int32_t extra = extras->of(candidate.row);
        if (extra < 0) {
          continue;
        }
        candidate.total += extra;
      }
      const std::uint64_t key = order.key(candidate);
      if (found.size() == count) {
        if (key <= found.front().key) {
          continue;
        }
        std::pop_heap(found.begin(), found.end(), better);
        found.pop_back();
      }
      found.push_back({key, candidate});
      std::push_heap(found.begin(), found.end(), better);
    }
  }
  for (const auto& [line, greatest] : visited) {
    range.lines[line] = greatest;
    std::int32_t& bound = range.blocks[line / kBoundLines];
    bound = std::max(bound, greatest);
  }
  std::sort(found.begin(), found.end(), better);
  return found;
}

CachedShape::RangeTotals& CachedShape::range_now(const Ranges& now, const Totals& weights,
                                                 const TieOrder& order) {
  RangeTotals& range = totals_of(now);
  range.last_used = decisions_;
  last_range_ = static_cast<std::size_t>(&range - range_totals_.data());
  if (within_reach(range)) {
    catch_up(range, weights, order);
  } else {
    measure(range, weights);
  }
  return range;
}

CachedShape::ClassBest& CachedShape::class_best(RangeTotals& range, const Totals& weights,
                                                std::uint32_t node_class, const TieOrder& order) {
  if (node_class >= range.by_class.size()) {
    range.by_class.resize(node_class + 1);
  }
  ClassBest& its = range.by_class[node_class];
  if (!its.valid) {
    RowExtras alone;
    alone.classes = table_->columns().node_class;
    alone.by_class.assign(feasible_by_class_.size(), -1);
    alone.by_class[node_class] = 0;
    const std::uint32_t kept = std::min(kBestKept, feasible_by_class_[node_class]);
    its.best = search(range, weights, kept, order, &alone);
    its.outside = kept == feasible_by_class_[node_class] ? 0 : its.best.back().key - 1;
    its.searched = decisions_;
    its.valid = true;
    grown_ = true;
  }
  return its;
}

// Within a class the order is that of the columns' totals, but for the rows that stand apart.
bool CachedShape::best_by_class(RangeTotals& range, const Totals& weights, std::uint32_t count,
                                const TieOrder& order, const RowExtras& extras,
                                std::vector<RowTotal>& out) {
  std::uint32_t classes = 0;
  for (const std::uint32_t rows : feasible_by_class_) {
    classes += rows != 0;
  }
  if (classes > kBestClassesMax || count > kBestKept / 2 || extras.more != nullptr) {
    return false;
  }
  if (range.class_changes != table_->class_changes()) {
    range.by_class.clear();
    range.class_changes = table_->class_changes();
  }
  // Once more where too few were left of those that were kept of a class.
  for (std::uint32_t short_of = kNoNodeClass;
       !merge_classes(range, weights, count, order, extras, out, short_of);) {
    ClassBest& its = range.by_class[short_of];
    if (its.searched == decisions_) {
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
  // To the class's next row; false: none is kept.
  const auto advance = [&](Head& head) {
    const std::vector<BestRow>& best = range.by_class[head.node_class].best;
    while (head.next < best.size()) {
      const RowTotal& row = best[head.next++].row_total;
      if (extras.find(row.row) == extras.by_row.end()) {
        head.row_total = {row.row, row.total + extras.by_class[head.node_class]};
        head.key = order.key(head.row_total);
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
      class_best(range, weights, c, order);  // which searches: not while heads are in use
    }
  }
  std::vector<Head>& heads = scratch().heads;
  heads.clear();
  for (std::uint32_t c = 0; c < feasible_by_class_.size(); ++c) {
    if (feasible_by_class_[c] == 0 || extras.by_class[c] < 0) {
      continue;
    }
    Head head{.key = 0, .row_total = {}, .node_class = c, .next = 0};
    if (advance(head)) {
      heads.push_back(head);
    } else if (!all_kept(head)) {
      short_of = c;
      return false;
    }
  }
  std::make_heap(heads.begin(), heads.end(), worse);
  while (out.size() < count && !heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), worse);
    Head& head = heads.back();
    out.push_back(head.row_total);
    if (advance(head)) {
      std::push_heap(heads.begin(), heads.end(), worse);
    } else if (all_kept(head) || out.size() == count) {
      heads.pop_back();
    } else {
      short_of = head.node_class;
      return false;
    }
  }
  return true;
}

void CachedShape::add_rows_apart(const RangeTotals& range, const Totals& weights,
                                 std::uint32_t count, const TieOrder& order,
                                 const RowExtras& extras, std::vector<RowTotal>& out) {
  const std::int32_t most = range.blocks[kernels_->index_of_max(range.blocks.data(), blocks_)];
  const std::int32_t worst = out.size() == count ? out.back().total : 0;
  if (extras.greatest_apart < 0 || most + extras.greatest_apart < worst) {
    return;
  }
  for (const auto& [row, entry] : extras.by_row) {
    if (const std::int32_t extra = extras.by_entry[entry]; extra >= 0 && most + extra >= worst) {
      out.push_back({row, row_total(range, weights, row) + extra});
    }
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
  if (best_by_class(range, its_weights, std::min(count, feasible), order, extras, out)) {
    return;
  }
  for (const BestRow& row : search(range, its_weights, std::min(count, feasible), order, &extras)) {
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
    const std::uint32_t kept = std::min(kBestKept, feasible_);
    range.best = search(range, its_weights, kept, order, nullptr);
    grown_ = true;
    range.outside = kept == feasible_ ? 0 : range.best.back().key - 1;
    range.best_valid = true;
  }
  for (std::uint32_t i = 0; i < wanted; ++i) {
    out.push_back(range.best[i].row_total);
  }
}

}  // namespace headroom
