// NodeClass: what selectors and tolerations can read of a node; and kube-scheduler's filters over
// it.
//
// Thread safety: immutable once made. Cost: a filter is O(what the pod says x taints or labels).
#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kept/kept_node.h"
#include "objects/assert.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// What a pod asks of a node's class.
struct ClassConstraint {
  StringMap node_selector;
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<Toleration> tolerations;

  // Whether NodeAffinity asks anything of a node.
  bool has_affinity() const { return !node_selector.empty() || required; }
  // The only nodes that can match, where every term names its nodes (matchFields In). nullopt: any
  // node may.
  std::optional<std::vector<std::string>> pinned() const;
};

// Whether pinned() of such a constraint has a value.
bool names_its_nodes(const std::optional<std::vector<NodeSelectorTerm>>& required);

// Whether a term is one that component-helpers' nodeaffinity can use; an empty one is.
bool is_valid(const NodeSelectorTerm& term);

// A label that somebody reads.
struct ClassLabel {
  std::string key;
  std::optional<std::string> value;  // nullopt: one that nobody asks for
  friend bool operator==(const ClassLabel&, const ClassLabel&) = default;
};

struct NodeClass {
  std::vector<ClassLabel> labels;  // by key
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
  // A node with these labels that is not asked for its name: fields are as if they matched
  // (component-helpers storage/volume CheckNodeAffinity).
  bool passes(const SharedLabels& labels) const;
  // What it takes of the heap, itself included.
  std::size_t bytes() const;

 private:
  using Values = tsl::robin_set<std::string_view, BytesHash, std::equal_to<>>;
  struct Requirement {
    const NodeSelectorRequirement* its;
    std::unique_ptr<const Values> values;  // of a long list
    bool matches(bool present, const std::string* value) const;
    std::size_t bytes() const;
  };
  struct Term {
    std::vector<Requirement> expressions, fields;
    template <typename Look>
    bool matches(Look look, const std::string* node_name) const;
    std::size_t bytes() const;
  };
  template <typename Look>
  bool selected_by(Look look) const;
  static std::vector<Requirement> ready(const std::vector<NodeSelectorRequirement>& requirements);

  const ClassConstraint& pod_;
  // Those that some node may match: of any name, and by the name that they ask for.
  std::vector<Term> terms_;
  BytesMap<std::string_view, std::vector<Term>> named_terms_;
};

}  // namespace headroom
