#include "engine/classes/row_classes.h"

#include <algorithm>

#include "layout/prefetch.h"

namespace headroom {

namespace {

// Node classes without nodes, beyond twice as many as there are rows.
constexpr std::uint32_t kSpareClassesMax = 1024;
// Rows of a split whose labels are brought into the cache together.
constexpr std::uint32_t kTouchedRows = 32;

}  // namespace

void RowClasses::change_node(std::uint32_t row, const KeptNode* before, const KeptNode* node) {
  if (before == nullptr || node == nullptr || before->labels != node->labels) {
    labels_.change(row, before, node);
  }
  set(row, node != nullptr ? classes_.classify(facts_.nodes[row].name, *node) : kNoNodeClass);
}

void RowClasses::set(std::uint32_t row, std::uint32_t node_class) {
  if (const std::uint32_t old = table_.node_class(row); old != kNoNodeClass) {
    --sizes_[old];
  }
  if (node_class != kNoNodeClass) {
    sizes_.resize(std::max<std::size_t>(sizes_.size(), node_class + 1));
    ++sizes_[node_class];
  }
  table_.set_class(row, node_class);
}

void RowClasses::limit() {
  if (classes_.size() > 2 * table_.size() + kSpareClassesMax ||
      classes_.unread_count() > kSpareClassesMax) {
    begin_anew();
  }
}

void RowClasses::begin_anew() {
  classes_.forget();
  split_to_.clear();
  sizes_.clear();
  origins_.clear();
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (facts_.nodes[row].node != nullptr) {
      table_.set_class(row, kNoNodeClass);
      set(row, classes_.classify(facts_.nodes[row].name, *facts_.nodes[row].node));
    }
  }
  table_.forget_changes();
}

std::uint64_t RowClasses::read(const ClassConstraint& constraint,
                               const std::vector<std::string>& keys) {
  const NodeClasses::Split split = classes_.read(constraint, keys);
  splits_begun_ += !split.none() || classes_.has_put_off();
  add(split);
  return splits_begun_;
}

void RowClasses::add(const NodeClasses::Split& split) {
  if (split.none()) {
    return;
  }
  split_to_.clear();  // nodes that had the same may not have so any more
  if (split.all) {
    split_at_ = 0;
  }
  split_rows_.insert(split_rows_.end(), split.rows.begin(), split.rows.end());
}

bool RowClasses::split(const Pause& pause) {
  while (classes_.has_put_off()) {
    add(classes_.read_on());
    if (pause()) {
      return false;
    }
  }
  const bool reads_nodes = classes_.begin_turn();
  while (!split_rows_.empty()) {
    split_in_turn(split_rows_.back());
    split_rows_.pop_back();
    if (pause()) {
      return false;
    }
  }
  while (split_at_ < facts_.nodes.size()) {
    if (reads_nodes && split_at_ % kTouchedRows == 0) {
      touch(split_at_);
    }
    split_in_turn(split_at_++);
    if (pause()) {
      return false;
    }
  }
  split_at_ = UINT32_MAX;
  split_to_.clear();
  classes_.end_split();
  splits_done_ = splits_begun_;
  limit();
  return true;
}

// The nodes first, then their hostnames; other labels stand on many of them.
void RowClasses::touch(std::uint32_t row) const {
  const std::uint32_t end =
      std::min<std::uint32_t>(row + kTouchedRows, static_cast<std::uint32_t>(facts_.nodes.size()));
  std::size_t sum = 0;
  for (std::uint32_t r = row; r < end; ++r) {
    if (const KeptNode* node = facts_.nodes[r].node.get(); node != nullptr) {
      sum += reinterpret_cast<std::uintptr_t>(node->labels.hostname());
    }
  }
  load_for_nobody(sum);
  for (std::uint32_t r = row; r < end; ++r) {
    const KeptNode* node = facts_.nodes[r].node.get();
    if (node != nullptr && node->labels.hostname() != nullptr) {
      sum += node->labels.hostname()->second.size();
    }
  }
  load_for_nobody(sum);
}

void RowClasses::split_row(std::uint32_t row) {
  (void)classes_.begin_turn();
  split_in_turn(row);
}

void RowClasses::split_in_turn(std::uint32_t row) {
  const std::uint32_t from = table_.node_class(row);
  if (from == kNoNodeClass) {
    return;
  }
  const KeptNode& node = *facts_.nodes[row].node;
  split_key_.assign(reinterpret_cast<const char*>(&from), sizeof(from));
  if (!classes_.split(facts_.nodes[row].name, node, row, split_key_)) {
    return;
  }
  if (const auto known = split_to_.find(split_key_); known != split_to_.end()) {
    set(row, known->second);
    return;
  }
  const std::uint32_t classes_before = classes_.size();
  const std::uint32_t node_class = classes_.classify(facts_.nodes[row].name, node);
  if (node_class == classes_before) {
    origins_.resize(classes_.size());
    origins_[node_class] = {from, splits_done_};
  }
  split_to_.emplace(split_key_, node_class);
  set(row, node_class);
}

std::uint32_t RowClasses::parent_of(std::uint32_t node_class, std::uint64_t split) const {
  return node_class < origins_.size() && split <= origins_[node_class].splits_done
             ? origins_[node_class].parent
             : 0;
}

}  // namespace headroom
