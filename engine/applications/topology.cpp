#include "engine/applications/topology.h"

#include <algorithm>

#include "layout/heap_bytes.h"
#include "objects/assert.h"

namespace headroom {

TopologyKeyId Topology::hold(std::string_view name) {
  const auto known = ids_.find(name);
  if (known != ids_.end()) {
    ++keys_[known->second].users;
    return known->second;
  }
  auto id = static_cast<TopologyKeyId>(
      std::find_if(keys_.begin(), keys_.end(), [](const Key& key) { return key.users == 0; }) -
      keys_.begin());
  if (id == keys_.size()) {
    keys_.emplace_back();
  }
  Key& key = keys_[id];
  key.name = name;
  key.users = 1;
  ids_.emplace(key.name, id);
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (facts_.nodes[row].node != nullptr) {
      put(key, row, facts_.nodes[row].node.get());
    }
  }
  return id;
}

void Topology::release(TopologyKeyId id) {
  Key& key = keys_[id];
  HEADROOM_ASSERT(key.users != 0);
  if (--key.users == 0) {
    ids_.erase(key.name);
    key = {};
  }
}

void Topology::release_all() noexcept {
  keys_.clear();
  ids_.clear();
}

void Topology::set_node(std::uint32_t row, const Node* node) {
  for (Key& key : keys_) {
    if (key.users != 0) {
      put(key, row, node);
    }
  }
}

void Topology::put(Key& key, std::uint32_t row, const Node* node) {
  if (row >= key.of_row.size()) {
    key.of_row.resize(row + 1, kNoDomain);
    key.next.resize(row + 1, kNoRow);
    key.previous.resize(row + 1, kNoRow);
  }
  const std::string* value = node == nullptr ? nullptr : find(node->labels, key.name);
  DomainId& domain = key.of_row[row];
  if (domain != kNoDomain && value != nullptr && key.domains[domain].value == *value) {
    return;
  }
  if (domain != kNoDomain) {
    const std::uint32_t next = key.next[row], previous = key.previous[row];
    (previous != kNoRow ? key.next[previous] : key.domains[domain].first) = next;
    if (next != kNoRow) {
      key.previous[next] = previous;
    }
    if (key.domains[domain].first == kNoRow) {
      key.ids.erase(key.domains[domain].value);
      key.domains[domain].value.clear();
      key.free.push_back(domain);
      --key.domain_count;
    }
    --key.node_count;
    domain = kNoDomain;
  }
  if (value == nullptr) {
    return;
  }
  if (const auto known = key.ids.find(*value); known != key.ids.end()) {
    domain = known->second;
  } else {
    if (key.free.empty()) {
      domain = static_cast<DomainId>(key.domains.size());
      key.domains.emplace_back();
    } else {
      domain = key.free.back();
      key.free.pop_back();
    }
    key.domains[domain].value = *value;
    key.ids.emplace(*value, domain);
    ++key.domain_count;
  }
  ++key.node_count;
  std::uint32_t& first = key.domains[domain].first;
  key.next[row] = first;
  key.previous[row] = kNoRow;
  if (first != kNoRow) {
    key.previous[first] = row;
  }
  first = row;
}

std::size_t Topology::bytes() const {
  std::size_t total = 0;
  for (const Key& key : keys_) {
    total += heap_bytes(key.of_row) + heap_bytes(key.next) + heap_bytes(key.previous) +
             allocated_bytes(key.domains.capacity() * sizeof(Domain));
  }
  return total;
}

}  // namespace headroom
