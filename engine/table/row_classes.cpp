#include "engine/table/row_classes.h"

#include <algorithm>

namespace headroom {

namespace {

// Node classes without nodes, beyond twice as many as there are rows.
constexpr std::uint32_t kSpareClassesMax = 1024;

}  // namespace

void RowClasses::change_node(std::uint32_t row, const Node* before, const Node* node) {
  if (before == nullptr || node == nullptr || before->labels != node->labels) {
    if (node != nullptr) {
      classes_.count_labels(*node, row, 1);
    }
    if (before != nullptr) {
      classes_.count_labels(*before, row, -1);
    }
  }
  set(row, node != nullptr ? classes_.classify(*node) : kNoNodeClass);
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
  if (classes_.size() <= 2 * table_.size() + kSpareClassesMax &&
      classes_.unread_count() <= kSpareClassesMax) {
    return;
  }
  classes_.forget();
  sizes_.clear();
  origins_.clear();
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (facts_.nodes[row].node != nullptr) {
      table_.set_class(row, kNoNodeClass);
      set(row, classes_.classify(*facts_.nodes[row].node));
    }
  }
  table_.forget_changes();
}

std::uint64_t RowClasses::read(const ClassConstraint& constraint,
                               const std::vector<std::string>& keys) {
  const NodeClasses::Split split = classes_.read(constraint, keys);
  splits_begun_ += !split.none();
  if (split.all) {
    split_at_ = 0;
  }
  split_rows_.insert(split_rows_.end(), split.rows.begin(), split.rows.end());
  return splits_begun_;
}

bool RowClasses::split(const Pause& pause) {
  while (!split_rows_.empty()) {
    split_row(split_rows_.back());
    split_rows_.pop_back();
    if (pause()) {
      return false;
    }
  }
  while (split_at_ < facts_.nodes.size()) {
    split_row(split_at_++);
    if (pause()) {
      return false;
    }
  }
  split_at_ = UINT32_MAX;
  classes_.end_split();
  splits_done_ = splits_begun_;
  limit();
  return true;
}

void RowClasses::split_row(std::uint32_t row) {
  const Node* node = facts_.nodes[row].node.get();
  if (node == nullptr || !classes_.split(*node)) {
    return;
  }
  const std::uint32_t classes_before = classes_.size();
  const std::uint32_t node_class = classes_.classify(*node);
  if (node_class == classes_before) {
    origins_.resize(classes_.size());
    origins_[node_class] = {table_.node_class(row), splits_done_};
  }
  set(row, node_class);
}

std::uint32_t RowClasses::parent_of(std::uint32_t node_class, std::uint64_t split) const {
  return node_class < origins_.size() && split <= origins_[node_class].splits_done
             ? origins_[node_class].parent
             : 0;
}

}  // namespace headroom
