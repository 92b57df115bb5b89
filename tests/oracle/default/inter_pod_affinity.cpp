// See inter_pod_affinity.h.
#include "oracle/default/inter_pod_affinity.h"

#include <algorithm>

namespace oracle::defaults {
namespace {

using Pairs = std::map<std::pair<std::string, std::string>, std::int64_t>;

// "A node without the key adds nothing."
void add(Pairs& pairs, const Node& node, const std::string& key, std::int64_t amount) {
  const auto label = node.labels.find(key);
  if (label != node.labels.end()) pairs[{key, label->second}] += amount;
}

std::int64_t count_at(const Pairs& pairs, const Node& node, const std::string& key) {
  const auto label = node.labels.find(key);
  if (label == node.labels.end()) return 0;
  const auto found = pairs.find({key, label->second});
  return found == pairs.end() ? 0 : found->second;
}

// "Its owner's, if it has neither these nor a namespaceSelector".
bool lists_namespace(const PodAffinityTerm& term, const Pod& owner, const std::string& space) {
  if (term.namespaces.empty() && !term.namespace_selector) return space == owner.space;
  return std::find(term.namespaces.begin(), term.namespaces.end(), space) != term.namespaces.end();
}

}  // namespace

InterPodAffinityPlugin::InterPodAffinityPlugin(const PodCycle& cycle) : Plugin(cycle) {
  for (const Node* node : facts().nodes()) {
    for (const Pod* placed : facts().pods_on(node->name)) {
      count_required(*node, *placed, 1);
      count_preferred(*node, *placed);
    }
  }
}

// "`{}`: every namespace. Other selectors of the incoming pod match Namespace objects". "Until 1.36
// an incoming pod's namespaceSelector that matches empty labels covered every namespace". "No
// labelSelector = no pod."
bool InterPodAffinityPlugin::own_term_matches(const PodAffinityTerm& term, const Pod& other) const {
  bool covers = lists_namespace(term, pod(), other.space);
  if (term.namespace_selector) {
    const auto object = facts().namespaces.find(other.space);
    covers =
        covers || term.namespace_selector->empty() ||
        (object != facts().namespaces.end() && selects(*term.namespace_selector, object->second)) ||
        (version() < Version::k137 && selects(*term.namespace_selector, Labels{}));
  }
  return covers && selects(term.selector, other.labels);
}

// "Of existing pods, the labels of the incoming pod's namespace, empty without an object".
bool InterPodAffinityPlugin::others_term_matches(const PodAffinityTerm& term,
                                                 const Pod& owner) const {
  const auto object = facts().namespaces.find(pod().space);
  const Labels labels = object == facts().namespaces.end() ? Labels{} : object->second;
  const bool covers =
      lists_namespace(term, owner, pod().space) || selects(term.namespace_selector, labels);
  return covers && selects(term.selector, pod().labels);
}

bool InterPodAffinityPlugin::matches_all_own_affinity_terms(const Pod& other) const {
  const std::vector<PodAffinityTerm>& terms = pod().affinity.required;
  return !terms.empty() &&
         std::all_of(terms.begin(), terms.end(),
                     [&](const PodAffinityTerm& term) { return own_term_matches(term, other); });
}

// "Per (key, value) count the pods that match all required affinity terms"; of anti-affinity each
// term alone.
void InterPodAffinityPlugin::count_required(const Node& node, const Pod& placed,
                                            std::int64_t change) {
  if (matches_all_own_affinity_terms(placed)) {
    for (const PodAffinityTerm& term : pod().affinity.required) {
      add(affinity_, node, term.topology_key, change);
    }
  }
  for (const PodAffinityTerm& term : pod().anti_affinity.required) {
    if (own_term_matches(term, placed)) add(anti_affinity_, node, term.topology_key, change);
  }
  for (const PodAffinityTerm& term : placed.anti_affinity.required) {
    if (others_term_matches(term, placed)) {
      add(existing_anti_affinity_, node, term.topology_key, change);
    }
  }
  for (Pairs* pairs : {&affinity_, &anti_affinity_, &existing_anti_affinity_}) {
    std::erase_if(*pairs, [](const auto& pair) { return pair.second == 0; });
  }
}

// "Per (key, value) the pod's preferred terms (anti negative), existing pods' preferred terms that
// match it, and hardPodAffinityWeight (1; 0 off) for each of their required affinity terms."
void InterPodAffinityPlugin::count_preferred(const Node& node, const Pod& placed) {
  const std::int64_t hard_weight = integer(args(), "hardPodAffinityWeight").value_or(1);
  for (const PodAffinityTerm& term : pod().affinity.preferred) {
    if (own_term_matches(term, placed)) add(preferred_, node, term.topology_key, term.weight);
  }
  for (const PodAffinityTerm& term : pod().anti_affinity.preferred) {
    if (own_term_matches(term, placed)) add(preferred_, node, term.topology_key, -term.weight);
  }
  for (const PodAffinityTerm& term : placed.affinity.required) {
    if (hard_weight > 0 && others_term_matches(term, placed)) {
      add(preferred_, node, term.topology_key, hard_weight);
    }
  }
  for (const PodAffinityTerm& term : placed.affinity.preferred) {
    if (others_term_matches(term, placed)) add(preferred_, node, term.topology_key, term.weight);
  }
  for (const PodAffinityTerm& term : placed.anti_affinity.preferred) {
    if (others_term_matches(term, placed)) add(preferred_, node, term.topology_key, -term.weight);
  }
}

// "Skip: no required terms and no existing one hits."
PreFilterAnswer InterPodAffinityPlugin::pre_filter() {
  if (pod().affinity.required.empty() && pod().anti_affinity.required.empty() &&
      existing_anti_affinity_.empty()) {
    return {{Code::kSkip, {}}, {}};
  }
  return {};
}

Status InterPodAffinityPlugin::filter(const Node& node) {
  bool has_keys = true, has_pods = true;
  for (const PodAffinityTerm& term : pod().affinity.required) {
    if (!node.labels.contains(term.topology_key)) has_keys = false;
    if (count_at(affinity_, node, term.topology_key) == 0) has_pods = false;
  }
  // "Passes with every key and a count for each pair; or with every key, no pair counted anywhere,
  // and the pod matching all its own terms".
  const bool is_first = affinity_.empty() && matches_all_own_affinity_terms(pod());
  if (!has_keys || (!has_pods && !is_first)) {
    return unresolvable("node(s) didn't match pod affinity rules");
  }
  for (const PodAffinityTerm& term : pod().anti_affinity.required) {
    if (count_at(anti_affinity_, node, term.topology_key) > 0) {
      return unschedulable("node(s) didn't match pod anti-affinity rules");
    }
  }
  for (const auto& [pair, count] : existing_anti_affinity_) {
    if (count_at(existing_anti_affinity_, node, pair.first) > 0) {
      return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
    }
  }
  return {};
}

// "ignorePreferredTermsOfExistingPods: Skip if the pod has no preferred terms; else it changes
// nothing. No pair touched: Skip (pairs that cancel to 0 were touched)."
Status InterPodAffinityPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) {
  const bool prefers = !pod().affinity.preferred.empty() || !pod().anti_affinity.preferred.empty();
  if (child(args(), "ignorePreferredTermsOfExistingPods") == true && !prefers) {
    return {Code::kSkip, {}};
  }
  if (preferred_.empty()) return {Code::kSkip, {}};
  return {};
}

std::int64_t InterPodAffinityPlugin::score(const Node& node) {
  std::int64_t sum = 0;
  for (const auto& [pair, weight] : preferred_) {
    const auto label = node.labels.find(pair.first);
    if (label != node.labels.end() && label->second == pair.second) sum += weight;
  }
  return sum;
}

// "int(100·(float(s−min)/float(max−min))), 0 if equal. Float, cut off: 29 of 100 gives 28."
void InterPodAffinityPlugin::normalize(Scores& scores) {
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  for (const auto& [node, score] : scores) {
    least = std::min(least, score);
    most = std::max(most, score);
  }
  for (auto& [node, score] : scores) {
    const double share =
        most == least ? 0 : static_cast<double>(score - least) / static_cast<double>(most - least);
    score = static_cast<std::int64_t>(100.0 * share);
  }
}

}  // namespace oracle::defaults
