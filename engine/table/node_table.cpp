#include "engine/table/node_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/exact.h"
#include "layout/make_room.h"
#include "layout/prefetch.h"
#include "objects/assert.h"
#include "objects/hash.h"

namespace headroom {

namespace {

constexpr std::uint32_t kFirstRows = 1024;
// Columns come a few at a time, and most before the rows.
constexpr std::size_t kStrideStep = 2;

// Rows that are not used yet take none of the room.
template <typename Values>
void widen_rows(Values& values, std::size_t rows, std::size_t& stride, std::uint32_t used_rows) {
  const std::size_t wider = stride + kStrideStep;
  Values grown;
  grown.reserve(rows * wider);
  grown.resize(used_rows * wider, 0);
  for (std::uint32_t row = 0; row < used_rows; ++row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * stride), stride,
                grown.begin() + static_cast<std::ptrdiff_t>(row * wider));
  }
  values = std::move(grown);
  stride = wider;
}

}  // namespace

NodeTable::NodeTable(BeyondInt64 beyond) : beyond_(beyond) { grow_rows(kFirstRows); }

SumId NodeTable::add_sum(std::string label) {
  const SumId id = free_sums_.take([this] { return grow_sums(); });
  sum_labels_[id] = hash_bytes(label);
  return id;
}

SumId NodeTable::grow_sums() {
  make_room_for_one(sum_labels_);
  if (sum_labels_.size() == sum_stride_) {
    widen_rows(sums_, capacity_, sum_stride_, size_);
  }
  sum_labels_.push_back(0);
  return sum_count() - 1;
}

BaseId NodeTable::add_base(std::int64_t initial) {
  const BaseId id = free_bases_.take([this] { return grow_bases(); });
  known_bases_[id].initial = initial;
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_base(row, id, initial);
  }
  return id;
}

BaseId NodeTable::grow_bases() {
  make_room_for_one(known_bases_);
  const auto id = static_cast<BaseId>(known_bases_.size());
  if (id == base_stride_) {
    widen_rows(bases_, capacity_, base_stride_, size_);
  }
  known_bases_.push_back({kUnlimited, 0, {}});
  for (std::uint32_t row = 0; row < size_; ++row) {
    bases_[row * base_stride_ + id] = kUnlimited;
  }
  return id;
}

ColumnId NodeTable::add_capacity(BaseId base) { return add_column({base, kNoSum}); }

ColumnId NodeTable::add_headroom(BaseId base, SumId sum) {
  HEADROOM_ASSERT(sum < sum_labels_.size());
  return add_column({base, sum});
}

void NodeTable::remove_sum(SumId id) {
  HEADROOM_ASSERT(id < sum_labels_.size());
  free_sums_.give(id);
}

void NodeTable::remove_base(BaseId id) {
  HEADROOM_ASSERT(id < known_bases_.size() && known_bases_[id].columns.empty());
  known_bases_[id].initial = kUnlimited;
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_base(row, id, kUnlimited);
  }
  free_bases_.give(id);
}

void NodeTable::remove_column(ColumnId id) {
  HEADROOM_ASSERT(id < sources_.size());
  // Until it is used again it limits no row, and no commit looks at it.
  const std::size_t removed = std::erase(known_bases_[sources_[id].base].columns, id);
  HEADROOM_ASSERT(removed == 1);
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_narrow(row, id, round_down(kUnlimited));
  }
  free_columns_.give(id);
  refresh_committed();
}

ColumnId NodeTable::add_column(ColumnSource source) {
  HEADROOM_ASSERT(source.base < known_bases_.size());
  std::vector<ColumnId>& of_base = known_bases_[source.base].columns;
  make_room_for_one(of_base);
  const ColumnId id = free_columns_.take([this] { return grow_columns(); });
  sources_[id] = source;
  of_base.push_back(id);
  ++limited_generation_;
  refresh_committed();
  for (std::uint32_t row = 0; row < size_; ++row) {
    set_narrow(row, id, narrowed(row, id));
  }
  forget_changes();
  return id;
}

// Of no base yet.
ColumnId NodeTable::grow_columns() {
  make_room_for_one(sources_);
  make_room_for_one(narrow_);
  committed_.reserve(sources_.capacity());
  narrow_pointers_.reserve(sources_.capacity());
  log_pointers_.reserve(sources_.capacity());
  const auto id = static_cast<ColumnId>(sources_.size());
  if (id == stride_) {
    widen_rows(row_narrow_, capacity_, stride_, size_);
  }
  NarrowColumn narrow(id, capacity_ + kPadNodes);
  log_.add_column();
  sources_.push_back({0, kNoSum});
  narrow_.push_back(std::move(narrow));
  refresh_pointers();
  return id;
}

void NodeTable::grow_rows(std::uint32_t capacity) {
  sums_.reserve(capacity * sum_stride_);
  bases_.reserve(capacity * base_stride_);
  row_narrow_.reserve(capacity * stride_);
  classes_.resize(capacity + kPadNodes, kNoNodeClass);
  log_.add_rows(capacity);
  for (ColumnId id = 0; id < sources_.size(); ++id) {
    narrow_[id].grow(capacity + kPadNodes, size_);
    narrow_pointers_[id] = narrow_[id].data();
  }
  capacity_ = capacity;
}

void NodeTable::reserve(std::uint32_t rows) {
  if (rows > capacity_) {
    grow_rows(std::bit_ceil(rows));
  }
}

void NodeTable::refresh_pointers() {
  narrow_pointers_.clear();
  log_pointers_.clear();
  for (ColumnId id = 0; id < sources_.size(); ++id) {
    narrow_pointers_.push_back(narrow_[id].data());
    log_pointers_.push_back(log_.column(id));
  }
}

std::uint32_t NodeTable::acquire_row() {
  if (released_.empty()) {
    if (size_ == capacity_) {
      grow_rows(capacity_ * 2);
    }
    const std::uint32_t size = size_ + 1;
    sums_.resize(size * sum_stride_);
    bases_.resize(size * base_stride_, kUnlimited);
    row_narrow_.resize(size * stride_);
    released_.insert(size_);
    size_ = size;
  }
  const std::uint32_t row = *released_.begin();
  acquire_row(row);
  return row;
}

void NodeTable::acquire_row(std::uint32_t row) {
  const bool was_free = released_.erase(row) == 1;
  HEADROOM_ASSERT(was_free && row < size_);
  clear_sums(row);
  for (BaseId id = 0; id < known_bases_.size(); ++id) {
    set_base(row, id, known_bases_[id].initial);
    for (const ColumnId column : known_bases_[id].columns) {
      set_narrow(row, column, narrowed(row, column));
    }
  }
  classes_[row] = kNoNodeClass;
}

void NodeTable::release_row(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  const bool was_used = released_.insert(row).second;
  HEADROOM_ASSERT(was_used);
  classes_[row] = kNoNodeClass;
  for (BaseId id = 0; id < known_bases_.size(); ++id) {
    set_base(row, id, kUnlimited);
  }
  commit(row);
}

template <bool is_more>
void NodeTable::change(std::uint32_t row, std::span<const Contribution> contributions) {
  HEADROOM_ASSERT(row < size_);
  std::int64_t* sums = sums_.data() + row * sum_stride_;
  bool apart = beyond_int64(row);
  for (const auto& [sum, amount] : contributions) {
    std::int64_t total = 0;
    if (apart || (is_more ? __builtin_add_overflow(sums[sum], amount, &total)
                          : __builtin_sub_overflow(sums[sum], amount, &total))) [[unlikely]] {
      set_sum(row, sum, exact_sum(row, sum) + (is_more ? Int128{amount} : -Int128{amount}));
      apart = beyond_int64(row);
    } else {
      sums[sum] = total;
    }
  }
}

void NodeTable::add(std::uint32_t row, std::span<const Contribution> contributions) {
  change<true>(row, contributions);
}

void NodeTable::subtract(std::uint32_t row, std::span<const Contribution> contributions) {
  change<false>(row, contributions);
}

void NodeTable::set_exact(std::uint32_t row, SumId id, Int128 value) {
  if (value != static_cast<std::int64_t>(value)) {
    exact_[row][id] = value;
  } else if (const auto found = exact_.find(row); found != exact_.end()) {
    found->second.erase(id);
    if (found->second.empty()) {
      exact_.erase(found);
    }
  }
}

Int128 NodeTable::exact_sum_apart(std::uint32_t row, SumId id) const {
  if (const auto found = exact_.find(row); found != exact_.end()) {
    if (const auto sum = found->second.find(id); sum != found->second.end()) {
      return sum->second;
    }
  }
  return sum(row, id);
}

std::vector<std::uint32_t> NodeTable::rows_beyond_int64() const {
  std::vector<std::uint32_t> rows;
  for (const auto& [row, sums] : exact_) {
    rows.push_back(row);
  }
  return rows;
}

void NodeTable::change_base(std::uint32_t row, BaseId id, std::int64_t value) {
  std::int64_t& base = bases_[row * base_stride_ + id];
  Base& known = known_bases_[id];
  const bool limited_before = known.limited_rows != 0;
  known.limited_rows += (value != kUnlimited) - (base != kUnlimited);
  base = value;
  for (const ColumnId column : known.columns) {
    // commit() looks at no capacity, and may pass over a headroom that is unlimited from now on.
    if (!is_headroom(column) || value == kUnlimited) {
      set_narrow(row, column, narrowed(row, column));
    }
  }
  if (limited_before != (known.limited_rows != 0)) {
    ++limited_generation_;
    refresh_committed();
    // What commit() did not write while no row limited the column.
    for (const ColumnId column : known.columns) {
      if (is_headroom(column)) {
        std::fill_n(log_pointers_[column], kLogSlots, round_down(kUnlimited));
      }
    }
  }
}

void NodeTable::refresh_committed() {
  committed_.clear();
  for (const Base& base : known_bases_) {
    for (const ColumnId column : base.columns) {
      if (!is_headroom(column) || base.limited_rows != 0) {
        committed_.push_back(column);
      }
    }
  }
  std::sort(committed_.begin(), committed_.end());
}

float NodeTable::narrowed(std::uint32_t row, ColumnId id) const {
  const std::int64_t value = truth(row, id);
  return is_headroom(id) ? round_down(value) : percent_scale(value);
}

void NodeTable::prefetch(std::uint32_t row) const {
  HEADROOM_ASSERT(row < size_);
  const auto fetch = [](const auto* first, std::size_t count) {
    prefetch_bytes(first, count * sizeof(*first));
  };
  fetch(sums_.data() + row * sum_stride_, sum_stride_);
  fetch(bases_.data() + row * base_stride_, base_stride_);
  fetch(row_narrow_.data() + row * stride_, stride_);
}

void NodeTable::commit(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  const std::uint32_t at = log_.append(row, classes_[row]);
  const Truth truth = truth_of(row);
  const float* row_narrow = row_narrow_.data() + row * stride_;
  for (const ColumnId id : committed_) {
    if (is_headroom(id)) {
      if (const float value = round_down(truth[id]); value != row_narrow[id]) {
        set_narrow(row, id, value);
      }
    }
    log_pointers_[id][at] = row_narrow[id];
  }
}

Columns NodeTable::columns() const {
  return {column_count(),  narrow_pointers_.data(),
          sources_.data(), bases_.data(),
          base_stride_,    sums_.data(),
          sum_stride_,     classes_.data(),
          nullptr};
}

Columns NodeTable::log_columns() const {
  Columns changes = columns();
  changes.narrow = log_pointers_.data();
  changes.node_class = log_.node_classes();
  changes.rows = log_.rows();
  return changes;
}

NodeTable::RowState NodeTable::row_state(std::uint32_t row) const {
  HEADROOM_ASSERT(row < size_);
  const auto part = [row](const auto& values, std::size_t stride) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * stride);
    return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(stride));
  };
  const auto exact = exact_.find(row);
  return {part(sums_, sum_stride_), part(bases_, base_stride_),
          exact == exact_.end() ? ExactSums() : exact->second};
}

void NodeTable::restore(std::uint32_t row, const RowState& state) {
  HEADROOM_ASSERT(row < size_ && state.sums.size() <= sum_stride_ &&
                  state.bases.size() <= base_stride_);
  std::copy(state.sums.begin(), state.sums.end(), sums_.data() + row * sum_stride_);
  exact_.erase(row);
  if (!state.exact.empty()) {
    exact_.emplace(row, state.exact);
  }
  for (BaseId id = 0; id < known_bases_.size(); ++id) {
    if (id < state.bases.size()) {
      set_base(row, id, state.bases[id]);
    }
    for (const ColumnId column : known_bases_[id].columns) {
      set_narrow(row, column, narrowed(row, column));
    }
  }
}

void NodeTable::clear_sums(std::uint32_t row) {
  HEADROOM_ASSERT(row < size_);
  std::fill_n(sums_.data() + row * sum_stride_, sum_stride_, 0);
  exact_.erase(row);
}

bool NodeTable::narrow_consistent(std::uint32_t row) const {
  const auto is = [](float kept, float narrow) {
    return std::memcmp(&kept, &narrow, sizeof(float)) == 0;
  };
  return std::all_of(known_bases_.begin(), known_bases_.end(), [&](const Base& base) {
    return std::all_of(base.columns.begin(), base.columns.end(), [&](ColumnId id) {
      const float narrow = narrowed(row, id);
      return is(narrow_pointers_[id][row], narrow) && is(row_narrow_[row * stride_ + id], narrow);
    });
  });
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
