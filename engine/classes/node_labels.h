// NodeLabels: the labels that nodes have: how many nodes have each, the row of one that a single
// node has, and, for a key of few values (a zone, a machine type), a column of them: who looks for
// the nodes with such a label reads a byte a row, and none of the nodes.
//
// A key of more than kColumnValuesMax values (a hostname) has no column until no node has the key,
// nor has one that came when kColumnsMax keys had: a feeder may give each node a key of its own.
// A value that no node has any more loses its number, and another may get it: the column's version
// tells.
// Thread safety: one writer, or any number of readers. Cost: a change is O(the node's labels); a
// column takes a byte a row at most.
#pragma once

#include <tsl/robin_map.h>

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kept/kept_node.h"
#include "engine/limits.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class NodeLabels {
 public:
  using Number = std::uint8_t;
  static constexpr std::uint32_t kColumnValuesMax = 255, kColumnsMax = 256;
  using Numbers = std::bitset<kColumnValuesMax + 1>;
  // By row; 0, and beyond its end, where the node has not the key.
  using Column = std::vector<Number>;

  NodeLabels();

  // The node of a row is about to change from one to another; nullptr: none.
  void change(std::uint32_t row, const KeptNode* before, const KeptNode* node);

  // The keyed hash of a label, by which it is found.
  static std::uint64_t hash(std::string_view key, std::string_view value);
  // The nodes with a label.
  static constexpr std::uint32_t kCountBits = 24;
  static_assert(kNodesMax + 1 < 1U << kCountBits);  // one that changes counts twice for a moment
  struct Holders {
    std::uint32_t count : kCountBits = 0;
    std::uint32_t number : 8 = 0;    // of its value, where the key has a column
    std::uint32_t row = UINT32_MAX;  // of the only one, where that is known
  };
  Holders holders_of(std::uint64_t hash) const;
  bool has_key(std::string_view key) const { return keys_.contains(key); }
  // nullptr: it has none. Valid until a node changes.
  const Column* column(std::string_view key) const;
  // As long as it stays the same no number of the key means another value.
  std::uint64_t version(std::string_view key) const;
  // For validate(): whether that is what is kept of the row.
  bool is_kept(std::uint32_t row, const KeptNode& node) const;

 private:
  struct Key {
    std::uint32_t nodes = 0;  // that have it
    bool has_column = false;
    std::uint64_t version = 0;
    Numbers used = 1;  // 0 is no number
    Column column;
  };
  using Keys = BytesMap<std::string, Key>;

  void add(const Label& label, std::uint32_t row);
  void remove(const Label& label);
  void clear(const KeptNode& node, std::uint32_t row);
  // A number for a value more; 0 where the key has no column, or has none any more.
  Number number_for(Key& key);
  void drop_column(Key& key);

  Keys keys_;
  tsl::robin_map<std::uint64_t, Holders> holders_;
  std::uint32_t columns_ = 0;   // of keys_
  std::uint64_t versions_ = 0;  // given so far
};

}  // namespace headroom
