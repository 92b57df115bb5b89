#include "engine/domains/topology.h"

#include <algorithm>
#include <utility>

#include "objects/assert.h"

namespace headroom {

TopologyKeyId Topology::hold(std::string_view name, bool on_nodes) {
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
  } else {
    keys_[id] = {};
  }
  Key& key = keys_[id];
  key.name = name;
  key.users = 1;
  ids_.emplace(key.name, id);
  for (std::uint32_t row = 0; on_nodes && row < facts_.nodes.size(); ++row) {
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
    // Nothing is left of it, and nothing is asked of memory: hold() makes it anew.
    const Key released = std::move(key);
  }
}

void Topology::release_all() noexcept {
  keys_.clear();
  ids_.clear();
}

void Topology::set_node(std::uint32_t row, const KeptNode* node) {
  for (Key& key : keys_) {
    if (key.users != 0) {
      put(key, row, node);
    }
  }
}

void Topology::put(Key& key, std::uint32_t row, const KeptNode* node) {
  const std::string* value = node == nullptr ? nullptr : find(node->labels, key.name);
  if (row >= key.of_row.size()) {
    if (value == nullptr) {
      return;
    }
    key.of_row.resize(row + 1, kNoDomain);
    key.next.resize(row + 1, kNoRow);
    key.previous.resize(row + 1, kNoRow);
  }
  DomainId& domain = key.of_row[row];
  if (domain != kNoDomain && value != nullptr && key.values[domain] == *value) {
    return;
  }
  if (domain != kNoDomain) {
    const std::uint32_t next = key.next[row], previous = key.previous[row];
    (previous != kNoRow ? key.next[previous] : key.first[domain]) = next;
    if (next != kNoRow) {
      key.previous[next] = previous;
    }
    if (key.first[domain] == kNoRow) {
      --key.domain_count;
      drop_unused(key, domain);
    }
    --key.node_count;
    domain = kNoDomain;
  }
  if (value == nullptr) {
    return;
  }
  domain = find_or_make(key, *value);
  ++key.node_count;
  std::uint32_t& first = key.first[domain];
  key.domain_count += first == kNoRow;
  key.next[row] = first;
  key.previous[row] = kNoRow;
  if (first != kNoRow) {
    key.previous[first] = row;
  }
  first = row;
}

DomainId Topology::find_in(const Key& key, std::string_view value, NameIndex::Hash hash) {
  static_assert(kNoDomain == NameIndex::kNone);
  return key.ids.find(hash, [&](DomainId its) { return key.values[its] == value; });
}

DomainId Topology::find_domain(TopologyKeyId id, std::string_view value) const {
  const Key& key = keys_[id];
  const DomainId domain = find_in(key, value, NameIndex::hash(value));
  return domain == kNoDomain || key.first[domain] == kNoRow ? kNoDomain : domain;
}

DomainId Topology::find_or_make(Key& key, const std::string& value) {
  const NameIndex::Hash hash = NameIndex::hash(value);
  DomainId domain = find_in(key, value, hash);
  if (domain != kNoDomain) {
    return domain;
  }
  domain = static_cast<DomainId>(key.values.size());
  if (key.free.empty()) {
    // What there is of values comes last: where memory ends, nobody knows of the others.
    key.first.resize(domain + 1, kNoRow);
    key.domain_users.resize(domain + 1, 0);
    key.values.resize(domain + 1);
  } else {
    domain = key.free.back();
    key.free.pop_back();
  }
  key.values[domain] = value;
  key.ids.insert(hash, domain);
  return domain;
}

void Topology::drop_unused(Key& key, DomainId domain) {
  std::string& value = key.values[domain];
  if (key.first[domain] == kNoRow && key.domain_users[domain] == 0) {
    key.ids.erase(NameIndex::hash(value), domain);
    value.clear();
    key.free.push_back(domain);
  }
}

DomainId Topology::hold_domain(TopologyKeyId id, const std::string& value) {
  const DomainId domain = find_or_make(keys_[id], value);
  ++keys_[id].domain_users[domain];
  return domain;
}

void Topology::release_domain(TopologyKeyId id, DomainId domain) {
  std::uint32_t& users = keys_[id].domain_users[domain];
  HEADROOM_ASSERT(users != 0);
  --users;
  drop_unused(keys_[id], domain);
}

}  // namespace headroom
