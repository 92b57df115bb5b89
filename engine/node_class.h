// NodeClasses: nodes that no selector and no toleration can tell apart share a class, so that the
// filters that read labels, taints and names run once per class, never per node.
//
// A class is the values of the label keys that some pod's selector reads, the taints, whether the
// node is unschedulable, and the name where some selector excludes nodes by name. Reading a new key
// moves the nodes that have it to other classes (rare, O(nodes)); an id keeps its meaning until
// forget().
// Thread safety: one writer, or any number of readers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

struct NodeClass {
  StringMap labels;  // of the keys that are read
  std::vector<Taint> taints;
  bool unschedulable = false;
  std::string name;  // empty where no selector reads it
};

// kube-scheduler's filters, each over one class. `node_name` is the node's name, or the class's.
bool passes_node_unschedulable(const ClassConstraint& pod, const NodeClass& node);
bool tolerated(const std::vector<Toleration>& tolerations, const Taint& taint);
// The first taint that is not tolerated, or nullptr.
const Taint* untolerated_taint(const ClassConstraint& pod, const NodeClass& node);
bool passes_node_affinity(const ClassConstraint& pod, const NodeClass& node,
                          std::string_view node_name);

class NodeClasses {
 public:
  // Makes sure that classes tell apart what the constraint reads. True if it reads something new:
  // then the nodes that split() names have to be classified again.
  bool read(const ClassConstraint& constraint);
  // True if the last read() that returned true may have put the node into another class.
  bool split(const Node& node) const;
  // The class of a node. Class kNoNodeClass holds no node.
  std::uint32_t classify(const Node& node);
  const NodeClass& at(std::uint32_t node_class) const { return classes_[node_class]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(classes_.size()); }
  // Drops all classes, also those that no node has any more: every node has to be classified again.
  void forget();
  // Grows when ids change their meaning.
  std::uint64_t generation() const { return generation_; }

 private:
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> new_keys_, new_names_;  // of the last read() that found some
  std::vector<NodeClass> classes_ = {NodeClass{}};
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::uint64_t generation_ = 0;
};

}  // namespace headroom
