// NodeClasses: nodes that no selector and no toleration can tell apart share a class, so that the
// filters that read labels, taints and names run once per class, never per node.
//
// A class is what somebody asks of labels, the taints, whether the node is unschedulable, and the
// name where some selector excludes nodes by name. Of a label a selector asks for certain values:
// a node with another one is as any other such node, so that a pod that selects one hostname costs
// one class and not one for each node. What is asked for anew moves the nodes that have it to other
// classes: a value that one node has, that node; else all are looked at (rare); what no node has
// costs nothing. Who has it is read from columns of labels, where keys have them (node_labels.h).
// The labels of a selector with more than kLabelsATurn are put off: only hashed, and read in turns.
// An id keeps its meaning until forget(). Thread safety: one writer, or any number of readers.
// Cost: a node is classified in O(its labels), however much is read.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/classes/node_labels.h"
#include "engine/kept/kept_node.h"
#include "engine/table/node_class.h"
#include "objects/assert.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

class NodeClasses {
 public:
  static constexpr std::size_t kLabelsATurn = 64;

  explicit NodeClasses(const NodeLabels& labels) : labels_(labels) {}

  // The rows whose nodes a read() may put into another class.
  struct Split {
    bool all = false;
    std::vector<std::uint32_t> rows;  // where not all
    bool none() const { return !all && rows.empty(); }
  };
  // Makes sure that classes tell apart what the constraint reads, and each value of `keys`; after
  // read_on() where labels are put off.
  Split read(const ClassConstraint& constraint, const std::vector<std::string>& keys = {});
  bool has_put_off() const { return !put_off_.empty(); }
  // A turn of what read() and unread() have put off.
  Split read_on();
  // Nobody reads so any more. What nodes have is told apart until forget().
  void unread(const ClassConstraint& constraint, const std::vector<std::string>& keys = {});
  std::uint32_t unread_count() const { return unread_; }
  // After read() or a change of a node, before split(). False: split() reads no node.
  bool begin_turn();
  // True if a read() since the last end_split() may have put the row's node into another class;
  // appends what it has of what is read since: nodes of one class that have the same go to one
  // class.
  bool split(const std::string& name, const KeptNode& node, std::uint32_t row,
             std::string& has) const;
  void end_split();  // all those nodes have been classified

  // The class of a node. Class kNoNodeClass holds no node.
  std::uint32_t classify(const std::string& node_name, const KeptNode& node);
  const NodeClass& at(std::uint32_t node_class) const {
    HEADROOM_ASSERT(node_class < classes_.size());
    return classes_[node_class];
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(classes_.size()); }
  // Drops all classes, also those that no node has or no constraint tells apart any more: every
  // node has to be classified again.
  void forget();
  // Grows when ids change their meaning.
  std::uint64_t generation() const { return generation_; }

 private:
  // How many read something. 0: it is told apart still; nullopt: it never was.
  using Readers = std::optional<std::uint32_t>;
  using Counts = BytesMap<std::string, std::uint32_t>;
  using Texts = tsl::robin_set<std::string, BytesHash, std::equal_to<>>;
  // By the keyed hash of a label's key and value, as selectors may name thousands. Many tables, so
  // that nobody waits until one of millions has grown.
  using LabelCounts = tsl::robin_map<std::uint64_t, std::uint32_t>;
  static constexpr std::uint32_t kLabelTablesBits = 8;
  struct KeyReads {
    Readers values_all, presence;
    std::uint64_t values = 0;  // how many read one of them; each counts as often as it is read
    bool has_unread = false;   // a value that nobody reads any more is told apart still
    bool any_value() const { return values != 0 || has_unread; }
    bool none() const { return !values_all && !presence && !any_value(); }
  };
  // Labels of a key that somebody begins to read, or ends.
  struct PutOff {
    std::string key;
    std::vector<std::uint64_t> labels;
    bool begins = true;
  };
  // What is new of a key.
  struct NewReads {
    bool any = false;
    tsl::robin_set<std::uint64_t> values;
    NodeLabels::Numbers numbers;  // of those values, in the column of that version
    std::uint64_t version = 0;
    const NodeLabels::Column* column = nullptr;  // in this turn; nullptr: labels have to be read
  };
  NewReads& new_reads(const std::string& key);
  void put_off(const std::string& key, std::span<const std::string> values, bool begins);
  void begin_label(const std::string& key, std::uint64_t label, Split& split);
  void end_label(KeyReads& reads, std::uint64_t label);
  KeyReads& known_reads(const std::string& key);
  void drop_unread(const std::string& key);
  bool begin(Readers& readers);
  template <typename Map>
  bool begin(Map& counts, const typename Map::key_type& what);
  void end(Readers& readers, bool held);
  // Whether it is told apart still, though nobody reads it.
  template <typename Map>
  bool end(Map& counts, const typename Map::key_type& what, bool held);

  LabelCounts& counts_of(std::uint64_t label) {
    return labels_read_[label >> (64 - kLabelTablesBits)];
  }

  const NodeLabels& labels_;
  BytesMap<std::string, KeyReads> keys_;
  std::vector<LabelCounts> labels_read_{std::size_t{1} << kLabelTablesBits};
  Counts names_;
  std::deque<PutOff> put_off_;                // the first is next
  std::uint32_t unread_ = 0;                  // of what is told apart, what nobody reads any more
  BytesMap<std::string, NewReads> new_keys_;  // since the last end_split()
  Texts new_names_;
  std::vector<NodeClass> classes_ = {NodeClass{}};
  std::unordered_map<std::string, std::uint32_t, BytesHash, std::equal_to<>> ids_;
  std::uint64_t generation_ = 0;
};

}  // namespace headroom
