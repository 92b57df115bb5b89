// Topology: which domain of a topology key each node is in.
//
// A domain is a value of the key's label. Keys are known while somebody holds them; a node without
// the label is in none. Numbers of domains are used again once no node is in them and nobody holds
// them: who keeps something by domain takes a node's part out before the node changes, and asks for
// no domain without a node.
// Thread safety: one writer, or any number of readers. Cost: a key that is new is O(nodes), and
// takes 12 bytes a row, but for one that no node has: it takes neither. A node that changes is
// O(keys).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/facts.h"
#include "layout/name_index.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

using TopologyKeyId = std::uint32_t;
using DomainId = std::uint32_t;
inline constexpr DomainId kNoDomain = UINT32_MAX;

class Topology {
 public:
  explicit Topology(const Facts& facts) : facts_(facts) {}

  // `on_nodes`: false where no node has the label, so that none has to be asked.
  TopologyKeyId hold(std::string_view key, bool on_nodes = true);
  void release(TopologyKeyId id);
  void release_all() noexcept;
  // Of a value that some node has; kNoDomain: none has it.
  DomainId find_domain(TopologyKeyId key, std::string_view value) const;
  // Of a value, whether or not a node is in it; it is what it is until it is released as often.
  DomainId hold_domain(TopologyKeyId key, const std::string& value);
  void release_domain(TopologyKeyId key, DomainId domain);
  // The row's node is another one now; nullptr: none.
  void set_node(std::uint32_t row, const KeptNode* node);

  DomainId domain(TopologyKeyId key, std::uint32_t row) const {
    const std::vector<DomainId>& of_row = keys_[key].of_row;
    return row < of_row.size() ? of_row[row] : kNoDomain;
  }
  // Asks for what domain() reads of the row, for the first keys.
  void prefetch(std::uint32_t row) const {
    const std::size_t count = std::min(keys_.size(), kPrefetchedKeysMax);
    for (std::size_t k = 0; k < count; ++k) {
      if (row < keys_[k].of_row.size()) {
        __builtin_prefetch(&keys_[k].of_row[row]);
      }
    }
  }
  // Every DomainId of the key is below it.
  std::uint32_t domain_limit(TopologyKeyId key) const {
    return static_cast<std::uint32_t>(keys_[key].values.size());
  }
  // Domains with a node, and nodes with the label.
  std::uint32_t domain_count(TopologyKeyId key) const { return keys_[key].domain_count; }
  std::uint32_t node_count(TopologyKeyId key) const { return keys_[key].node_count; }
  const std::string& name(TopologyKeyId key) const { return keys_[key].name; }
  // Calls visit(row) for each node of the domain.
  template <typename Visit>
  void each_row(TopologyKeyId key, DomainId domain, Visit visit) const {
    const Key& its = keys_[key];
    for (std::uint32_t row = its.first[domain]; row != kNoRow; row = its.next[row]) {
      visit(row);
    }
  }
  const std::string& value(TopologyKeyId key, DomainId domain) const {
    return keys_[key].values[domain];
  }

 private:
  // Zone and hostname, mostly; pods may name a thousand others.
  static constexpr std::size_t kPrefetchedKeysMax = 8;

  struct Key {
    std::string name;
    std::uint32_t users = 0, domain_count = 0, node_count = 0;
    std::vector<DomainId> of_row;
    std::vector<std::uint32_t> next, previous;  // rows of the same domain
    // By domain. Its first row is what is looked up often, and stands apart.
    std::vector<std::uint32_t> first, domain_users;
    std::vector<std::string> values;
    std::vector<DomainId> free;
    NameIndex ids;  // of values
  };

  static void put(Key& key, std::uint32_t row, const KeptNode* node);
  static DomainId find_in(const Key& key, std::string_view value, NameIndex::Hash hash);
  static DomainId find_or_make(Key& key, const std::string& value);
  static void drop_unused(Key& key, DomainId domain);

  const Facts& facts_;
  std::vector<Key> keys_;
  BytesMap<std::string, TopologyKeyId> ids_;
};

}  // namespace headroom
