#include "engine/decide/cached_shape.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "layout/cache_line.h"
#include "layout/heap_bytes.h"
#include "layout/prefetch.h"
#include "objects/hash.h"

namespace headroom {

namespace {

// Beyond this share of the rows a full pass costs less than a replay.
constexpr std::uint64_t kReplayShare = 4;
constexpr std::size_t kPage = 4096;

static_assert(kPlainScoreMax <= RawHistogram::kGreatestBin);
static_assert(kBoundRows % kLineNodes == 0 && kBoundRows % kBlockNodes == 0);
static_assert(kPluginWeightMax <= kTotalWeightMax);

// With room for the way to the start of a cache line.
constexpr std::size_t bytes_for(std::size_t words) {
  return words * sizeof(std::uint32_t) + kCacheLineBytes;
}

}  // namespace

// Each step can be undone, so that no two rows come to the same.
std::uint32_t TieOrder::drawn(std::uint32_t row) const {
  const std::uint64_t from_seed = mix(seed);
  const auto low = static_cast<std::uint32_t>(from_seed),
             high = static_cast<std::uint32_t>(from_seed >> 32);
  std::uint32_t order = (row ^ low) * (high | 1U);
  order ^= order >> 16U;
  order *= low | 1U;
  order ^= order >> 15U;
  return order;
}

void CachedShape::Free::operator()(void* pointer) const { std::free(pointer); }

CachedShape::CachedShape(const Kernels& kernels) : kernels_(&kernels) {}

void CachedShape::reset(const PodShape& shape) {
  layout_ = LineLayout::narrowest(shape.normalized);
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
    measured_bytes_ = allocated_bytes(sizeof(*this)) + heap_bytes(codes_) + heap_bytes(changed_) +
                      (words_ == 0 ? 0 : allocated_bytes(bytes_for(words_)));
    for (const RangeTotals& range : range_totals_) {
      measured_bytes_ += heap_bytes(range.bounds.lines) + heap_bytes(range.bounds.blocks) +
                         heap_bytes(range.best) +
                         allocated_bytes(range.by_class.capacity() * sizeof(ClassBest));
      for (const ClassBest& of_class : range.by_class) {
        measured_bytes_ += heap_bytes(of_class.best) + heap_bytes(of_class.bounds.lines) +
                           heap_bytes(of_class.bounds.blocks);
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

// Aligned here and not by aligned_alloc: glibc before 2.38 does not find again what such blocks
// gave back (its bug 14581), and entries that came and went took seven times their limit.
void CachedShape::allocate(std::size_t words) {
  grown_ = true;
  blocks_ = 0;
  words_ = 0;
  memory_.reset();
  std::size_t bytes = bytes_for(words);
  memory_.reset(std::malloc(bytes));
  void* start = memory_.get();
  if (start == nullptr) {
    throw std::bad_alloc();
  }
  lines_ = static_cast<std::uint32_t*>(
      std::align(kCacheLineBytes, words * sizeof(std::uint32_t), start, bytes));
  words_ = words;
  // All pages at once cost less than a fault each; where that is not to be had they come anyway.
  if (bytes = words * sizeof(std::uint32_t); std::align(kPage, kPage, start, bytes) != nullptr) {
    madvise(start, bytes / kPage * kPage, MADV_POPULATE_WRITE);
  }
  // Kernels read whole lines, of which rows that were never feasible leave what stands apart
  // unwritten.
  if (layout_.apart != 0) {
    std::fill_n(lines_, words_, 0);
  }
}

// Of all cached shapes, so that none takes another's for its own.
static std::uint64_t next_built() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// --- Building ---

bool CachedShape::replayable(const NodeTable& table) const {
  if (blocks_ == 0 || epoch_ < table.log().oldest() || table.size() > blocks_ * kBoundRows) {
    return false;
  }
  const std::uint64_t changes = table.log().end() - table.log().first_after(epoch_);
  return changes <= kReplayAlways || changes <= table.size() / kReplayShare;
}

void CachedShape::touch(const std::uint32_t* rows, std::uint32_t count) const {
  std::uint32_t words = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    words |= lines_[layout_.packed(rows[i])];
  }
  load_for_nobody(words);
}

void CachedShape::fetch(const NodeTable& table) const {
  if (!replayable(table)) {
    return;
  }
  const ChangeLog& log = table.log();
  const std::uint64_t first = log.first_after(epoch_);
  std::uint64_t place = std::max(first, log.end() - std::min(log.end(), kFetchedMax));
  while (place < log.end()) {
    const std::uint32_t slot = ChangeLog::slot(place);
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(log.end() - place, kLogSlots - slot));
    touch(log.rows() + slot, count);
    place += count;
  }
}

void CachedShape::update(const NodeTable& table, const PodShape& shape) {
  if (replayable(table)) {
    replay(table, shape);
  } else {
    rebuild(table, shape);
  }
  if (wide_rows_ != 0 && !layout_.is_widest()) {
    layout_ = layout_.wide();
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
  built_ = next_built();
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
  follow_classes(table);
  const ChangeLog& log = table.log();
  const Columns changes = table.log_columns();
  const Program program = shape.program();
  const std::size_t room = changed_.capacity();
  changed_.clear();
  changed_since_ = epoch_;
  BlockScores out;
  std::uint32_t words[kBlockNodes + kPadNodes];
  for (std::uint64_t place = log.first_after(epoch_); place < log.end();) {
    const std::uint32_t slot = ChangeLog::slot(place);
    const auto count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({log.end() - place, kLogSlots - slot, kBlockNodes}));
    touch(changes.rows + slot, count);
    kernels_->score_block(changes, program, slot, count, out);
    kernels_->pack_words(out, layout_, score_count_ - layout_.normalized, count, words);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!log.dead(slot + i)) {
        if (const std::uint32_t row = changes.rows[slot + i]; set_row(row, words[i], out, i)) {
          changed_.push_back(row);
        }
        ++rows_replayed_;
      }
    }
    place += count;
  }
  grown_ = grown_ || changed_.capacity() != room;
  epoch_ = table.epoch();
}

void CachedShape::feasible_changed(std::uint32_t row, bool is_feasible) {
  // Else who asks counts them all.
  if (by_class_ != 0) {
    const std::uint32_t its = table_->node_class(row);
    if (its >= feasible_by_class_.size()) {
      feasible_by_class_.resize(its + 1);
    }
    feasible_by_class_[its] += is_feasible ? 1U : ~0U;
  }
  feasible_changes_.append(row);
}

void CachedShape::follow_classes(const NodeTable& table) {
  const ClassChanges& changes = table.class_changes();
  const std::uint64_t followed = std::exchange(by_class_, 0);  // also where memory ends half way
  if (!changes.leads_from(followed)) {
    return;
  }
  changes.each_after(followed, [this](const ClassChange& change) {
    if (is_feasible(change.row)) {
      feasible_by_class_.resize(std::max<std::size_t>(feasible_by_class_.size(), change.to + 1));
      --feasible_by_class_[change.from];
      ++feasible_by_class_[change.to];
    }
  });
  by_class_ = changes.version();
}

bool CachedShape::set_row(std::uint32_t row, std::uint32_t word, const BlockScores& scores,
                          std::uint32_t i) {
  const bool is_feasible = scores.code[i] == 0;
  const std::uint32_t now = is_feasible ? word : kInfeasible | code_id(scores.code[i]);
  std::uint32_t& packed = lines_[layout_.packed(row)];
  if (now == packed && (layout_.apart == 0 || !is_feasible)) {
    return false;
  }
  const bool was_feasible = (packed & kInfeasible) == 0;
  if (was_feasible != is_feasible) {
    feasible_changed(row, is_feasible);
  }
  if (was_feasible) {
    --feasible_;
    wide_rows_ -= packed == kWideRow;
    for (std::uint32_t n = 0; packed != kWideRow && n < layout_.normalized; ++n) {
      histograms_[n].remove(layout_.raw(lines_, row, n));
    }
  } else if (packed != (kInfeasible | kNoCode)) {
    --codes_[packed & ~kInfeasible].rows;
  }
  packed = now;
  if (!is_feasible) {
    ++codes_[now & ~kInfeasible].rows;
    return true;
  }
  ++feasible_;
  wide_rows_ += now == kWideRow;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    if (layout_.apart != 0) {
      lines_[layout_.raw_apart(row, n)] = static_cast<std::uint32_t>(scores.score[n][i]);
    }
    if (now != kWideRow) {
      histograms_[n].add(scores.score[n][i]);
    }
  }
  return true;
}

void CachedShape::build_histograms() {
  has_histograms_ = true;
  for (std::uint32_t n = 0; n < layout_.normalized; ++n) {
    histograms_[n].fill(rows_, [&](std::uint32_t row) {
      const std::uint32_t packed = lines_[layout_.packed(row)];
      return (packed & kInfeasible) == 0 && packed != kWideRow ? layout_.raw(lines_, row, n)
                                                               : RawHistogram::kNone;
    });
  }
}

// --- Reading ---

void CachedShape::count_by_class(const NodeTable& table) {
  feasible_by_class_.clear();
  if (feasible_ == 0) {
    return;
  }
  std::uint32_t last = 0;
  for (std::uint32_t row = 0; row < rows_; ++row) {
    last = std::max(last, table.node_class(row));
  }
  feasible_by_class_.resize(last + 1);
  for (std::uint32_t row = 0; row < rows_; ++row) {
    feasible_by_class_[table.node_class(row)] += is_feasible(row) ? 1U : 0U;
  }
}

const std::vector<std::uint32_t>& CachedShape::feasible_by_class(const NodeTable& table) {
  follow_classes(table);
  if (by_class_ == 0) {
    count_by_class(table);
    by_class_ = table.class_changes().version();
  }
  return feasible_by_class_;
}

std::int32_t CachedShape::raw(std::uint32_t row, std::uint32_t s) const {
  if (s < layout_.normalized) {
    return layout_.raw(lines_, row, s);
  }
  return plain_score(lines_[layout_.packed(row)], s - layout_.normalized);
}

std::uint32_t CachedShape::code(std::uint32_t row) const {
  const std::uint32_t packed = lines_[layout_.packed(row)];
  return (packed & kInfeasible) != 0 ? codes_[packed & ~kInfeasible].code : 0;
}

}  // namespace headroom
