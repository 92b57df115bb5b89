#include "engine/table/node_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/exact.h"
#include "layout/prefetch.h"
#include "objects/assert.h"
#include "objects/hash.h"

namespace headroom {

namespace {

constexpr std::uint32_t kFirstRows = 1024;
// Columns come a few at a time, and most before the rows.
constexpr std::size_t kStrideStep = 8;

template <typename Values>
void resize_rows(Values& values, std::size_t rows, std::size_t old_stride, std::size_t new_stride,
                 std::uint32_t used_rows) {
  // Rows that are not used yet take none of the room.
  Values grown;
  grown.reserve(rows * new_stride);
  grown.resize(used_rows * new_stride, 0);
  for (std::uint32_t row = 0; row < used_rows; ++row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * old_stride), old_stride,
                grown.begin() + static_cast<std::ptrdiff_t>(row * new_stride));
  }
  values = std::move(grown);
}

}  // namespace

NodeTable::NodeTable(BeyondInt64 beyond) : beyond_(beyond) { grow_rows(kFirstRows); }

SumId NodeTable::add_sum(std::string label) {
  if (!free_sums_.empty()) {
    const SumId id = free_sums_.back();
    free_sums_.pop_back();
    sum_labels_[id] = hash_bytes(label);
    return id;
  }
  if (sum_labels_.size() == sum_stride_) {
    const std::size_t stride = sum_stride_ + kStrideStep;
    resize_rows(sums_, capacity_, sum_stride_, stride, size_);
    sum_stride_ = stride;
  }
  sum_labels_.push_back(hash_bytes(label));
  return static_cast<SumId>(sum_labels_.size() - 1);
}

ColumnId NodeTable::add_capacity() { return add_column({false, 0, kUnlimited}); }

ColumnId NodeTable::add_headroom(SumId sum, std::int64_t initial_base) {
  HEADROOM_ASSERT(sum < sum_labels_.size());
  return add_column({true, sum, initial_base});
}

void NodeTable::remove_sum(SumId id) {
  HEADROOM_ASSERT(id < sum_labels_.size() && free_sums_.size() < sum_labels_.size());
  free_sums_.push_back(id);
}

void NodeTable::remove_column(ColumnId id) {
  HEADROOM_ASSERT(id < columns_.size() && free_columns_.size() < columns_.size());
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_base(row, id, kUnlimited);
  }
  // Until it is used again: it limits no row, and no commit looks at it.
  columns_[id] = {true, 0, kUnlimited};
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_truth(row, id, kUnlimited);
  }
  free_columns_.push_back(id);
  refresh_committed();
}

ColumnId NodeTable::add_column(Column column) {
  if (!free_columns_.empty()) {
    const ColumnId id = free_columns_.back();
    free_columns_.pop_back();
    columns_[id] = column;
    start_column(id);
    return id;
  }
  const auto id = static_cast<ColumnId>(columns_.size());
  columns_.push_back(column);
  if (columns_.size() > stride_) {
    const std::size_t stride = stride_ + kStrideStep;
    resize_rows(bases_, capacity_, stride_, stride, size_);
    resize_rows(truth_, capacity_, stride_, stride, size_);
    resize_rows(row_narrow_, capacity_, stride_, stride, size_);
    stride_ = stride;
  }
  narrow_.emplace_back(id, capacity_ + kPadNodes);
  log_.add_column();
  refresh_pointers();
  start_column(id);
  return id;
}

void NodeTable::start_column(ColumnId id) {
  refresh_committed();
  for (std::uint32_t row = 0; row < size_; ++row) {
    bases_[row * stride_ + id] = kUnlimited;
    set_base(row, id, columns_[id].initial_base);
    set_truth(row, id, columns_[id].headroom ? headroom(row, id) : 0);
  }
  forget_changes();
}

void NodeTable::grow_rows(std::uint32_t capacity) {
  sums_.reserve(capacity * sum_stride_);
  bases_.reserve(capacity * stride_);
  truth_.reserve(capacity * stride_);
  row_narrow_.reserve(capacity * stride_);
  classes_.resize(capacity + kPadNodes, kNoNodeClass);
  for (NarrowColumn& narrow : narrow_) {
    narrow.grow(capacity + kPadNodes, size_);
  }
  log_.add_rows(capacity);
  capacity_ = capacity;
  refresh_pointers();
}

void NodeTable::reserve(std::uint32_t rows) {
  if (rows > capacity_) {
    grow_rows(std::bit_ceil(rows));
  }
}

void NodeTable::refresh_pointers() {
  narrow_pointers_.clear();
  log_pointers_.clear();
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    narrow_pointers_.push_back(narrow_[id].data());
    log_pointers_.push_back(log_.column(id));
  }
}

std::uint32_t NodeTable::acquire_row() {
  if (released_.empty()) {
    if (size_ == capacity_) {
      grow_rows(capacity_ * 2);
    }
    released_.insert(size_++);
    sums_.resize(size_ * sum_stride_);
    bases_.resize(size_ * stride_);
    truth_.resize(size_ * stride_);
    row_narrow_.resize(size_ * stride_);
  }
  const std::uint32_t row = *released_.begin();
  acquire_row(row);
  return row;
}

void NodeTable::acquire_row(std::uint32_t row) {
  const bool was_free = released_.erase(row) == 1;
  HEADROOM_ASSERT(was_free && row < size_);
  clear_sums(row);
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    // A new row's bases are 0, a released one's kUnlimited.
    bases_[row * stride_ + id] = kUnlimited;
    set_base(row, id, columns_[id].initial_base);
    set_truth(row, id, columns_[id].headroom ? columns_[id].initial_base : 0);
  }
  classes_[row] = kNoNodeClass;
}

void NodeTable::release_row(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  classes_[row] = kNoNodeClass;
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    set_base(row, id, kUnlimited);
  }
  commit(row);
  const bool was_used = released_.insert(row).second;
  HEADROOM_ASSERT(was_used);
}

void NodeTable::add(std::uint32_t row, std::span<const Contribution> contributions) {
  HEADROOM_ASSERT(row < size_);
  std::int64_t* sums = sums_.data() + row * sum_stride_;
  for (const auto& [sum, amount] : contributions) {
    if (__builtin_add_overflow(sums[sum], amount, &sums[sum])) [[unlikely]] {
      carry(row, sum, amount > 0 ? 1 : -1);
    }
  }
}

void NodeTable::subtract(std::uint32_t row, std::span<const Contribution> contributions) {
  HEADROOM_ASSERT(row < size_);
  std::int64_t* sums = sums_.data() + row * sum_stride_;
  for (const auto& [sum, amount] : contributions) {
    if (__builtin_sub_overflow(sums[sum], amount, &sums[sum])) [[unlikely]] {
      carry(row, sum, amount > 0 ? -1 : 1);
    }
  }
}

void NodeTable::carry(std::uint32_t row, SumId id, int by) {
  const Carries* carries = carries_of(row);
  const bool known = carries != nullptr && carries->contains(id);
  set_carry(row, id, (known ? carries->at(id) : 0) + by);
}

void NodeTable::set_carry(std::uint32_t row, SumId id, Int128 carry) {
  if (carry != 0) {
    carries_[row][id] = static_cast<std::int64_t>(carry);
  } else if (const auto found = carries_.find(row); found != carries_.end()) {
    found->second.erase(id);
    if (found->second.empty()) {
      carries_.erase(found);
    }
  }
}

Int128 NodeTable::exact_sum(const Carries* carries, std::uint32_t row, SumId id) const {
  const Int128 low = sums_[row * sum_stride_ + id];
  const bool carried = carries != nullptr && carries->contains(id);
  return carried ? low + (static_cast<Int128>(carries->at(id)) << 64) : low;
}

Int128 NodeTable::exact_sum(std::uint32_t row, SumId id) const {
  return exact_sum(carries_of(row), row, id);
}

std::vector<std::uint32_t> NodeTable::rows_beyond_int64() const {
  std::vector<std::uint32_t> rows;
  for (const auto& [row, carries] : carries_) {
    rows.push_back(row);
  }
  return rows;
}

std::int64_t NodeTable::headroom(const Carries* carries, std::uint32_t row, ColumnId id) const {
  const SumId sum = columns_[id].sum;
  const std::int64_t low = sums_[row * sum_stride_ + sum];
  return headroom_of(bases_[row * stride_ + id],
                     carries == nullptr ? low : in_int64(exact_sum(carries, row, sum), beyond_));
}

std::int64_t NodeTable::headroom(std::uint32_t row, ColumnId id) const {
  return headroom(carries_of(row), row, id);
}

void NodeTable::set_truth(std::uint32_t row, ColumnId id, std::int64_t value) {
  truth_[row * stride_ + id] = value;
  row_narrow_[row * stride_ + id] = narrow_pointers_[id][row] = narrowed(row, id);
}

void NodeTable::set_capacity(std::uint32_t row, ColumnId id, std::int64_t value) {
  HEADROOM_ASSERT(row < size_ && id < columns_.size() && !columns_[id].headroom);
  set_truth(row, id, value);
}

void NodeTable::change_base(std::uint32_t row, ColumnId id, std::int64_t value) {
  HEADROOM_ASSERT(row < size_ && id < columns_.size());
  std::int64_t& base = bases_[row * stride_ + id];
  Column& column = columns_[id];
  const bool limited_before = column.limited_rows != 0;
  column.limited_rows += (value != kUnlimited) - (base != kUnlimited);
  base = value;
  if (value == kUnlimited && column.headroom) {
    set_truth(row, id, kUnlimited);  // commit() may pass over the column from now on
  }
  if (limited_before != (column.limited_rows != 0)) {
    ++limited_generation_;
    refresh_committed();
    // What commit() did not write while no row limited the column.
    std::fill_n(log_pointers_[id], kLogSlots, round_down(kUnlimited));
  }
}

void NodeTable::refresh_committed() {
  committed_.clear();
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    if (!columns_[id].headroom || columns_[id].limited_rows != 0) {
      committed_.push_back(id);
    }
  }
}

float NodeTable::narrowed(std::uint32_t row, ColumnId id) const {
  const std::int64_t value = truth_[row * stride_ + id];
  return columns_[id].headroom ? round_down(value) : percent_scale(value);
}

void NodeTable::prefetch(std::uint32_t row) const {
  HEADROOM_ASSERT(row < size_);
  const auto fetch = [](const auto* first, std::size_t count) {
    prefetch_bytes(first, count * sizeof(*first));
  };
  fetch(sums_.data() + row * sum_stride_, sum_stride_);
  fetch(bases_.data() + row * stride_, stride_);
  fetch(truth_.data() + row * stride_, stride_);
  fetch(row_narrow_.data() + row * stride_, stride_);
}

void NodeTable::commit(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  const std::uint32_t at = log_.append(row, classes_[row]);
  std::int64_t* truth = truth_.data() + row * stride_;
  float* row_narrow = row_narrow_.data() + row * stride_;
  const Carries* carries = carries_of(row);
  for (const ColumnId id : committed_) {
    if (columns_[id].headroom) {
      const std::int64_t value = headroom(carries, row, id);
      if (value != truth[id]) {
        truth[id] = value;
        row_narrow[id] = narrow_pointers_[id][row] = round_down(value);
      }
    }
    log_pointers_[id][at] = row_narrow[id];
  }
}

Columns NodeTable::columns() const {
  return {narrow_pointers_.data(), truth_.data(), stride_, classes_.data(), nullptr};
}

Columns NodeTable::log_columns() const {
  return {log_pointers_.data(), truth_.data(), stride_, log_.node_classes(), log_.rows()};
}

NodeTable::RowState NodeTable::row_state(std::uint32_t row) const {
  HEADROOM_ASSERT(row < size_);
  const auto part = [row](const auto& values, std::size_t stride) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * stride);
    return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(stride));
  };
  const Carries* carries = carries_of(row);
  return {part(sums_, sum_stride_), part(bases_, stride_), part(truth_, stride_),
          carries == nullptr ? Carries() : *carries};
}

void NodeTable::restore(std::uint32_t row, const RowState& state) {
  HEADROOM_ASSERT(row < size_ && state.sums.size() <= sum_stride_);
  HEADROOM_ASSERT(state.bases.size() >= columns_.size() && state.truth.size() >= columns_.size());
  std::copy(state.sums.begin(), state.sums.end(), sums_.data() + row * sum_stride_);
  carries_.erase(row);
  if (!state.carries.empty()) {
    carries_.emplace(row, state.carries);
  }
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    set_base(row, id, state.bases[id]);
    set_truth(row, id, state.truth[id]);
  }
}

void NodeTable::clear_sums(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  std::fill_n(sums_.data() + row * sum_stride_, sum_stride_, 0);
  carries_.erase(row);
}

void NodeTable::derive(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    if (columns_[id].headroom) {
      truth_[row * stride_ + id] = headroom(row, id);
    }
  }
}

bool NodeTable::narrow_consistent(std::uint32_t row) const {
  for (ColumnId id = 0; id < columns_.size(); ++id) {
    const float narrow = narrowed(row, id);
    if (std::memcmp(&narrow_pointers_[id][row], &narrow, sizeof(float)) != 0 ||
        std::memcmp(&row_narrow_[row * stride_ + id], &narrow, sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

std::uint64_t NodeTable::digest(std::uint32_t row) const {
  std::uint64_t total = 0;
  for (SumId id = 0; id < sum_labels_.size(); ++id) {
    if (const Int128 value = exact_sum(row, id); value != 0) {
      const auto high =
          static_cast<std::uint64_t>((value - static_cast<std::int64_t>(value)) >> 64);
      total += mix(sum_labels_[id] ^ mix(static_cast<std::uint64_t>(value)) ^
                   (high == 0 ? 0 : mix(high)));
    }
  }
  return total;
}

std::vector<std::int64_t> NodeTable::sums(SumId id) const {
  std::vector<std::int64_t> all(size_);
  for (std::uint32_t row = 0; row < size_; ++row) {
    all[row] = sum(row, id);
  }
  return all;
}

}  // namespace headroom
