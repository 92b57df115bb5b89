// See node_affinity_score.h.
#include "oracle/default/node_affinity_score.h"

#include <algorithm>
#include <iterator>

namespace oracle::defaults {
namespace {

std::set<std::string> intersection(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// What the term's metadata.name In requirements leave; nullopt without any.
std::optional<std::set<std::string>> names_of(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const Requirement& field : term.fields) {
    if (field.key != "metadata.name" || field.op != "In") continue;
    const std::set<std::string> listed(field.values.begin(), field.values.end());
    names = names ? intersection(*names, listed) : listed;
  }
  return names;
}

std::int64_t sum_of_weights(const std::vector<PreferredTerm>& terms, const Node& node) {
  std::int64_t sum = 0;
  for (const PreferredTerm& preferred : terms) {
    if (matches(preferred.term, node.name, node.labels)) sum += preferred.weight;
  }
  return sum;
}

}  // namespace

bool matches_required_node_affinity(const Pod& pod, const Node& node) {
  if (!selects(from_map(pod.node_selector), node.labels)) return false;
  return !pod.node_affinity.required ||
         matches(*pod.node_affinity.required, node.name, node.labels);
}

NodeAffinityPlugin::NodeAffinityPlugin(const PodCycle& cycle)
    : Plugin(cycle), added_(read_node_affinity(child(cycle.args, "addedAffinity"))) {}

// "If every required term has metadata.name In, their union (intersection within a term) is the
// result; empty: UU".
PreFilterAnswer NodeAffinityPlugin::pre_filter() {
  const std::optional<NodeSelector>& required = pod().node_affinity.required;
  if (!required && pod().node_selector.empty() && !added_.required) return {{Code::kSkip, {}}, {}};
  if (!required || required->empty()) return {};
  std::set<std::string> names;
  for (const NodeSelectorTerm& term : *required) {
    const std::optional<std::set<std::string>> of_term = names_of(term);
    if (!of_term) return {};
    names.insert(of_term->begin(), of_term->end());
  }
  if (names.empty()) return {unresolvable("pod affinity terms conflict"), {}};
  return {{}, names};
}

Status NodeAffinityPlugin::filter(const Node& node) {
  if (added_.required && !matches(*added_.required, node.name, node.labels)) {
    return unresolvable("node(s) didn't match scheduler-enforced node affinity");
  }
  if (!matches_required_node_affinity(pod(), node)) {
    return unresolvable("node(s) didn't match Pod's node affinity/selector");
  }
  return {};
}

// "Skip without either. An invalid one is an Error"; of terms without weight or requirements
// nothing is asked.
Status NodeAffinityPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) {
  const std::vector<PreferredTerm>& preferred = pod().node_affinity.preferred;
  for (const PreferredTerm& term : preferred) {
    if (term.weight == 0 || is_empty(term.term)) continue;
    if (is_invalid(term.term)) return {Code::kError, {"invalid preferred node affinity"}};
  }
  if (preferred.empty() && added_.preferred.empty()) return {Code::kSkip, {}};
  return {};
}

std::int64_t NodeAffinityPlugin::score(const Node& node) {
  return sum_of_weights(added_.preferred, node) +
         sum_of_weights(pod().node_affinity.preferred, node);
}

}  // namespace oracle::defaults
