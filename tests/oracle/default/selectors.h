// Selectors of pods, namespaces and nodes, and what they select.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/json.h"

namespace oracle::defaults {

using Labels = std::map<std::string, std::string>;

// One requirement of a label selector or of a node selector.
struct Requirement {
  std::string key, op;
  std::vector<std::string> values;
};

// All requirements must hold; one without any ({}) selects everything. The API server has seen to
// it that they are valid. A selector that is absent (nullopt) selects nothing.
using LabelSelector = std::vector<Requirement>;

// v1.NodeSelectorTerm: all expressions and fields must hold.
struct NodeSelectorTerm {
  std::vector<Requirement> expressions, fields;
};
// ORed terms.
using NodeSelector = std::vector<NodeSelectorTerm>;

struct PreferredTerm {
  std::int64_t weight = 0;
  NodeSelectorTerm term;
};

struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredTerm> preferred;
};

struct Taint {
  std::string key, value, effect;
};

struct Toleration {
  std::string key, op, value, effect;
};

Labels read_labels(const Json& object);
// A Service's or a ReplicationController's selector: a map.
LabelSelector from_map(const Labels& labels);
std::optional<LabelSelector> read_label_selector(const Json& selector);
NodeSelector read_node_selector(const Json& selector);
NodeAffinity read_node_affinity(const Json& affinity);
std::vector<Taint> read_taints(const Json& taints);
std::vector<Toleration> read_tolerations(const Json& tolerations);

bool selects(const LabelSelector& selector, const Labels& labels);
bool selects(const std::optional<LabelSelector>& selector, const Labels& labels);

// A term that selects nothing because it has neither expressions nor fields.
bool is_empty(const NodeSelectorTerm& term);
// Of a requirement that does not parse (labels.NewRequirement and its like for fields).
bool is_invalid(const NodeSelectorTerm& term);
// Empty and invalid terms match no node.
bool matches(const NodeSelectorTerm& term, const std::string& node_name, const Labels& labels);
bool matches(const NodeSelector& selector, const std::string& node_name, const Labels& labels);

bool tolerates(const Toleration& toleration, const Taint& taint);
bool is_tolerated(const Taint& taint, const std::vector<Toleration>& tolerations);
// A taint of effect NoSchedule or NoExecute that none tolerates.
bool has_untolerated_taint(const std::vector<Taint>& taints,
                           const std::vector<Toleration>& tolerations);

}  // namespace oracle::defaults
