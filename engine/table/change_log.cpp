#include "engine/table/change_log.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace headroom {

namespace {

constexpr std::uint32_t kNoSlot = UINT32_MAX;

}  // namespace

ChangeLog::ChangeLog()
    : rows_(kLogSlots), node_classes_(kLogSlots + kPadNodes), epochs_(kLogSlots), dead_(kLogSlots) {
  moved_.reserve(kLogSlots);  // append() takes no memory
}

void ChangeLog::add_rows(std::uint32_t rows) { newest_.resize(rows, kNoSlot); }

void ChangeLog::add_column() {
  columns_.emplace_back(static_cast<std::uint32_t>(columns_.size()), kLogSlots + kPadNodes);
}

std::uint32_t ChangeLog::append(std::uint32_t row, std::uint32_t node_class) {
  HEADROOM_ASSERT(row < newest_.size());
  std::uint32_t at = newest_[row];
  if (at == kNoSlot || at != slot(end_ - 1)) {
    if (at != kNoSlot) {
      dead_[at] = 1;
      if (++dead_count_ > kLogDeadAlways && 2 * dead_count_ > end_ - begin_) {
        pack(begin_);
      }
    }
    if (epoch_ % kLogEndChanges == 0) {
      pack_end();
    }
    if (end_ - begin_ == kLogSlots) {
      drop_oldest();
    }
    at = slot(end_++);
    rows_[at] = row;
    newest_[row] = at;
  }
  epochs_[at] = ++epoch_;
  node_classes_[at] = node_class;
  return at;
}

void ChangeLog::forget() {
  oldest_ = ++epoch_;
  begin_ = end_;
  std::fill(newest_.begin(), newest_.end(), kNoSlot);
  std::fill(dead_.begin(), dead_.end(), 0);
  dead_count_ = 0;
}

std::uint64_t ChangeLog::first_after(std::uint64_t epoch) const {
  HEADROOM_ASSERT(epoch >= oldest_);
  // Most ask for the last few: back from the end in steps that double.
  std::uint64_t first = end_, step = 1;
  while (first - begin_ >= step && epochs_[slot(first - step)] > epoch) {
    first -= step;
    step *= 2;
  }
  for (std::uint64_t low = first - std::min(step, first - begin_); low < first;) {
    const std::uint64_t middle = low + (first - low) / 2;
    if (epochs_[slot(middle)] > epoch) {
      first = middle;
    } else {
      low = middle + 1;
    }
  }
  return first;
}

void ChangeLog::drop_oldest() {
  const std::uint32_t at = slot(begin_++);
  if (dead_[at] != 0) {
    dead_[at] = 0;
    --dead_count_;
  } else {
    newest_[rows_[at]] = kNoSlot;
    oldest_ = epochs_[at];
  }
}

// The longest end that is mostly dead, of those of 32 places, 64, ... up to the first that is
// not.
void ChangeLog::pack_end() {
  std::uint64_t first = end_, packed = end_, dead = 0;
  for (std::uint64_t places = 2 * kLogEndChanges; first > begin_; places *= 2) {
    const std::uint64_t next = end_ - std::min(places, end_ - begin_);
    while (first > next) {
      dead += dead_[slot(--first)];
    }
    if (2 * dead <= end_ - first) {
      break;
    }
    packed = first;
  }
  if (packed < end_) {
    pack(packed);
  }
}

// Leaves the dead out; the others keep their order and epochs.
void ChangeLog::pack(std::uint64_t first) {
  moved_.clear();
  std::uint64_t to = first;
  for (std::uint64_t from = first; from < end_; ++from) {
    const std::uint32_t old = slot(from);
    if (dead_[old] != 0) {
      dead_[old] = 0;
      --dead_count_;
      continue;
    }
    if (const std::uint32_t now = slot(to++); now != old) {
      moved_.emplace_back(old, now);
      rows_[now] = rows_[old];
      node_classes_[now] = node_classes_[old];
      epochs_[now] = epochs_[old];
      newest_[rows_[now]] = now;
    }
  }
  end_ = to;
  for (NarrowColumn& column : columns_) {
    float* values = column.data();
    for (const auto& [from, into] : moved_) {
      values[into] = values[from];
    }
  }
}

}  // namespace headroom
