#include "engine/classes/node_labels.h"

#include <algorithm>

#include "objects/assert.h"

namespace headroom {

namespace {

constexpr std::uint32_t kCountMask = (1U << NodeLabels::kCountBits) - 1;

}  // namespace

// Each node has at least one label of its own, its hostname, and few events look at them.
NodeLabels::NodeLabels() { holders_.max_load_factor(0.9F); }

std::uint64_t NodeLabels::hash(std::string_view key, std::string_view value) {
  static thread_local std::string text;
  const auto size = static_cast<std::uint32_t>(key.size());
  text.assign(reinterpret_cast<const char*>(&size), sizeof(size));
  return keyed_hash(text.append(key).append(value));
}

NodeLabels::Holders NodeLabels::holders_of(std::uint64_t hash) const {
  const auto found = holders_.find(hash);
  return found == holders_.end() ? Holders() : found->second;
}

const NodeLabels::Column* NodeLabels::column(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() || !found->second.has_column ? nullptr : &found->second.column;
}

std::uint64_t NodeLabels::version(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? 0 : found->second.version;
}

void NodeLabels::change(std::uint32_t row, const KeptNode* before, const KeptNode* node) {
  // What both have keeps its number: it is added before it is removed.
  if (before != nullptr) {
    clear(*before, row);
  }
  if (node != nullptr) {
    node->labels.for_each([&](const Label& label) { add(label, row); });
  }
  if (before != nullptr) {
    before->labels.for_each([this](const Label& label) { remove(label); });
  }
}

void NodeLabels::clear(const KeptNode& node, std::uint32_t row) {
  node.labels.for_each([&](const Label& label) {
    const auto key = keys_.find(label.first);
    HEADROOM_ASSERT(key != keys_.end());
    if (row < key->second.column.size()) {
      key.value().column[row] = 0;
    }
  });
}

void NodeLabels::add(const Label& label, std::uint32_t row) {
  const auto& [name, value] = label;
  const auto [known, is_new] = keys_.try_emplace(name);
  Key& key = known.value();
  if (is_new) {
    key.version = ++versions_;
    key.has_column = columns_ < kColumnsMax;
    columns_ += key.has_column;
  }
  ++key.nodes;
  Holders& its = holders_[hash(name, value)];
  if (its.count == 0) {
    its.number = number_for(key);
  }
  // A node that changes has it twice for a moment.
  its.count = (its.count + 1) & kCountMask;
  its.row = its.count == 1 || its.row == row ? row : UINT32_MAX;
  if (key.has_column) {
    key.column.resize(std::max<std::size_t>(key.column.size(), row + 1));
    key.column[row] = its.number;
  }
}

void NodeLabels::remove(const Label& label) {
  const auto its = holders_.find(hash(label.first, label.second));
  const auto key = keys_.find(label.first);
  HEADROOM_ASSERT(its != holders_.end() && key != keys_.end());
  Holders& holders = its.value();
  holders.count = (holders.count - 1) & kCountMask;
  if (holders.count == 0) {
    if (key->second.has_column) {
      key.value().used.reset(holders.number);
      key.value().version = ++versions_;
    }
    holders_.erase(its);
  }
  if (--key.value().nodes == 0) {
    drop_column(key.value());
    keys_.erase(key);
  }
}

NodeLabels::Number NodeLabels::number_for(Key& key) {
  if (key.used.all()) {
    drop_column(key);
  }
  if (!key.has_column) {
    return 0;
  }
  std::size_t number = 1;
  while (key.used[number]) {
    ++number;
  }
  key.used.set(number);
  return static_cast<Number>(number);
}

void NodeLabels::drop_column(Key& key) {
  columns_ -= key.has_column;
  key.has_column = false;
  key.column = Column();
}

bool NodeLabels::is_kept(std::uint32_t row, const KeptNode& node) const {
  bool kept = true;
  node.labels.for_each([&](const Label& label) {
    const Holders its = holders_of(hash(label.first, label.second));
    const Column* column = this->column(label.first);
    kept = kept && its.count != 0 && has_key(label.first) &&
           (column == nullptr || (row < column->size() && (*column)[row] == its.number));
  });
  return kept;
}

}  // namespace headroom
