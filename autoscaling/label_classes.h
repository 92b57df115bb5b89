// LabelClasses: nodes and templates whose labels no quota's selector can tell apart share a class,
// so that a selector is matched once per class, never per node.
//
// A class is the values of the label keys that some selector reads. Reading another key splits
// classes: the holders that have the key move to new ones (split()), all others stay where they
// are. Nodes' keys are few sets (layouts), so that a holder keeps its values only, and a key's
// holders are found without looking at those whose layout lacks it.
//
// Thread safety: one writer, or any number of readers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// The labels of one node, kept so that it can be classified again.
struct KeptLabels {
  std::uint32_t layout = 0;
  std::string values;  // where each value begins and the last one ends, as uint32; then the values
};

class LabelClasses {
 public:
  // Makes sure that classes tell apart the values of `key`. True: it was not read before, and
  // split() has to be asked of every holder.
  bool read(std::string_view key);
  std::uint32_t keys_read() const { return static_cast<std::uint32_t>(read_keys_.size()); }

  KeptLabels keep(const StringMap& labels);
  std::uint32_t classify(const KeptLabels& labels);
  std::uint32_t classify(const StringMap& labels);
  // The class that classify() says, where there is one: for who asks and adds none.
  std::optional<std::uint32_t> find_class(const StringMap& labels);
  // Those of the keys that are read, sorted.
  StringMap read_of(const StringMap& labels) const;
  // After read() was true: the class now of a holder that was in `before`.
  std::uint32_t split(std::uint32_t before, const KeptLabels& labels);
  std::uint32_t split(std::uint32_t before, const StringMap& labels);

  // Drops all other classes, and the values that only those have; O(classes). By former class, its
  // number now, in the same order; kDropped: none.
  static constexpr std::uint32_t kDropped = UINT32_MAX;
  std::vector<std::uint32_t> keep_only(const std::vector<bool>& kept);

  std::uint32_t size() const { return static_cast<std::uint32_t>(classes_.size()); }
  // The labels of the keys that are read.
  const StringMap& labels(std::uint32_t label_class) const { return classes_[label_class].labels; }
  StringMap map_of(const KeptLabels& labels) const;
  // Whether classify() would say this class of the holder.
  bool is_of(std::uint32_t label_class, const StringMap& labels) const;
  std::size_t layouts() const { return layouts_.size(); }

 private:
  // Codes of a key's values; 0: the key is absent.
  struct ReadKey {
    std::string key;
    BytesMap<std::string, std::uint32_t> codes;
    std::vector<std::string> values = {{}};  // by code
  };
  // Where a key that is read stands among a layout's keys.
  struct Position {
    std::uint32_t label = 0, read_key = 0;
  };
  struct Layout {
    std::vector<std::string> keys;  // sorted
    std::vector<Position> read;     // by read key
  };
  // What the class's last holder had of the last read key, and the class that it went to.
  struct LastSplit {
    std::uint32_t code = 0, to = 0;  // code 0: none was split
  };
  struct Class {
    StringMap labels;
    std::vector<std::uint32_t> codes;  // by read key; those beyond its end are 0
  };

  static std::uint64_t hash_of(const StringMap& labels);
  // Notes where `read_key` stands among the layout's keys, if it does.
  void place(std::uint32_t read_key, Layout& layout) const;
  std::uint32_t layout_of(const StringMap& labels);
  std::uint32_t code(std::uint32_t read_key, std::string_view value);
  static std::string_view bytes_of(const std::vector<std::uint32_t>& codes);
  std::uint32_t find_or_add(const std::vector<std::uint32_t>& codes);
  std::uint32_t split(std::uint32_t before, std::string_view value);
  static std::string_view value_at(const KeptLabels& labels, std::uint32_t label);

  std::vector<ReadKey> read_keys_;          // in the order in which they were first read
  std::vector<std::uint32_t> sorted_keys_;  // the same by key
  std::deque<Layout> layouts_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> layout_ids_;  // by hash of the keys
  std::uint32_t last_layout_ = 0;  // most nodes have the labels of the one before
  std::vector<Class> classes_;
  BytesMap<std::string, std::uint32_t> class_ids_;  // by codes, less zeros at the end
  // Of the last read key: by class and value; and the last one of a class, most of whose holders
  // often have the same.
  std::unordered_map<std::uint64_t, std::uint32_t> splits_;
  std::vector<LastSplit> last_splits_;  // by class
  std::vector<std::uint32_t> codes_;    // of the labels that are looked at
};

}  // namespace headroom
