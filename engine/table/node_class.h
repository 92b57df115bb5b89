// NodeClasses: nodes that no selector and no toleration can tell apart share a class, so that the
// filters that read labels, taints and names run once per class, never per node.
//
// A class is the values of the label keys that some pod's selector reads, the taints, whether the
// node is unschedulable, and the name where some selector excludes nodes by name. Reading a new key
// moves the nodes that have it to other classes (rare, O(nodes)); one that no node has costs
// nothing. An id keeps its meaning until forget().
// Thread safety: one writer, or any number of readers. Cost: a node is classified in O(its labels),
// however many keys are read.
#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects/assert.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// What a pod asks of a node's class.
struct ClassConstraint {
  StringMap node_selector;
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<Toleration> tolerations;

  // The only nodes that can match, where every term names its nodes (matchFields In). nullopt: any
  // node may.
  std::optional<std::vector<std::string>> pinned() const;
};

// Whether pinned() of such a constraint has a value.
bool names_its_nodes(const std::optional<std::vector<NodeSelectorTerm>>& required);

// Whether a term is one that component-helpers' nodeaffinity can use; an empty one is.
bool is_valid(const NodeSelectorTerm& term);

struct NodeClass {
  StringMap labels;  // of the keys that are read
  std::vector<Taint> taints;
  bool unschedulable = false;
  std::string name;  // empty where no selector reads it
};

// kube-scheduler's filters, each over one class.
bool passes_node_unschedulable(const ClassConstraint& pod, const NodeClass& node);
bool tolerated(const std::vector<Toleration>& tolerations, const Taint& taint);
// The first taint that is not tolerated, or nullptr.
const Taint* untolerated_taint(const ClassConstraint& pod, const NodeClass& node);

// The node selector and the required terms of a constraint, made ready to be held against many
// classes: a value is looked up in a list, not searched for, and terms that name a node are read
// for that node alone. Refers into the constraint. Cost: O(what the constraint says) to make; a
// class costs no more than the expressions of terms that name no node.
class NodeAffinity {
 public:
  explicit NodeAffinity(const ClassConstraint& pod);
  NodeAffinity(const NodeAffinity&) = delete;
  NodeAffinity& operator=(const NodeAffinity&) = delete;

  // `node_name` is the node's name, or the class's.
  bool passes(const NodeClass& node, std::string_view node_name) const;
  // What it takes of the heap, itself included.
  std::size_t bytes() const;

 private:
  using Values = tsl::robin_set<std::string_view, BytesHash, std::equal_to<>>;
  struct Requirement {
    const NodeSelectorRequirement* its;
    std::unique_ptr<const Values> values;  // of a long list
    bool matches(const std::string* value) const;
    std::size_t bytes() const;
  };
  struct Term {
    std::vector<Requirement> expressions, fields;
    bool matches(const NodeClass& node, const std::string& node_name) const;
    std::size_t bytes() const;
  };
  static std::vector<Requirement> ready(const std::vector<NodeSelectorRequirement>& requirements);

  const ClassConstraint& pod_;
  // Those that some node may match: of any name, and by the name that they ask for.
  std::vector<Term> terms_;
  BytesMap<std::string_view, std::vector<Term>> named_terms_;
};

class NodeClasses {
 public:
  // Counts (1), or no more (-1), the labels that a node has.
  void count_labels(const Node& node, int sign);
  // Makes sure that classes tell apart what the constraint reads. True if that is something new
  // which nodes may have: then the nodes that split() names have to be classified again.
  bool read(const ClassConstraint& constraint);
  // No shape reads by the constraint any more. What nodes have is told apart until forget().
  void unread(const ClassConstraint& constraint);
  std::uint32_t unread_count() const { return unread_; }
  // True if a read() since the last end_split() may have put the node into another class.
  bool split(const Node& node) const;
  void end_split();  // all those nodes have been classified
  // The class of a node. Class kNoNodeClass holds no node.
  std::uint32_t classify(const Node& node);
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
  using Names = tsl::robin_set<std::string, BytesHash, std::equal_to<>>;
  // By how many constraints they are read.
  BytesMap<std::string, std::uint32_t> keys_, names_;
  std::uint32_t unread_ = 0;                         // of them, by none any more
  Names new_keys_, new_names_;                       // those read since the last end_split()
  BytesMap<std::string, std::uint32_t> label_keys_;  // of nodes, and how many have each
  std::vector<NodeClass> classes_ = {NodeClass{}};
  std::unordered_map<std::string, std::uint32_t, BytesHash, std::equal_to<>> ids_;
  std::uint64_t generation_ = 0;
};

}  // namespace headroom
