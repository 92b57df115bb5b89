// The arguments of NodeAffinity and InterPodAffinity.
#include <fmt/format.h>

#include "engine/profile/args_values.h"
#include "engine/profile/family_args.h"
#include "engine/profile/selector_check.h"

namespace headroom {
namespace {

std::vector<NodeSelectorRequirement> read_requirements(
    const ConfigValue& value, std::string (*problem_of)(const NodeSelectorRequirement&)) {
  std::vector<NodeSelectorRequirement> requirements;
  value.items([&](const ConfigValue& item) {
    NodeSelectorRequirement asked;
    item.fields({{"key", [&](const ConfigValue& v) { asked.key = v.text(); }},
                 {"operator", [&](const ConfigValue& v) { asked.op = v.text(); }},
                 {"values", [&](const ConfigValue& v) {
                    v.items([&](const ConfigValue& text) { asked.values.push_back(text.text()); });
                  }}});
    if (const std::string problem = problem_of(asked); !problem.empty()) {
      item.fail(ErrorCode::kInvalid, problem);
    }
    requirements.push_back(std::move(asked));
  });
  return requirements;
}

NodeSelectorTerm read_term(const ConfigValue& value) {
  NodeSelectorTerm term;
  value.fields({{"matchExpressions",
                 [&](const ConfigValue& v) {
                   term.match_expressions = read_requirements(v, problem_of_expression);
                 }},
                {"matchFields", [&](const ConfigValue& v) {
                   term.match_fields = read_requirements(v, problem_of_field);
                 }}});
  return term;
}

std::vector<NodeSelectorTerm> read_node_selector(const ConfigValue& value) {
  std::vector<NodeSelectorTerm> terms;
  value.fields({{"nodeSelectorTerms", [&](const ConfigValue& v) {
                   v.items([&](const ConfigValue& item) { terms.push_back(read_term(item)); });
                 }}});
  if (terms.empty()) value.fail(ErrorCode::kInvalid, "has no nodeSelectorTerms: no node matches");
  return terms;
}

std::vector<PreferredSchedulingTerm> read_preferred(const ConfigValue& value) {
  std::vector<PreferredSchedulingTerm> preferred;
  value.items([&](const ConfigValue& item) {
    PreferredSchedulingTerm term;
    item.fields({{"weight",
                  [&](const ConfigValue& v) {
                    term.weight = static_cast<std::int32_t>(v.integer(0, kTermWeightMax));
                  }},
                 {"preference", [&](const ConfigValue& v) { term.preference = read_term(v); }}});
    preferred.push_back(std::move(term));
  });
  return preferred;
}

}  // namespace

NodeAffinityArgs read_node_affinity(const ConfigValue& value) {
  NodeAffinityArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kNodeAffinity)},
                {"addedAffinity", [&](const ConfigValue& added) {
                   added.fields(
                       {{"requiredDuringSchedulingIgnoredDuringExecution",
                         [&](const ConfigValue& v) { args.required = read_node_selector(v); }},
                        {"preferredDuringSchedulingIgnoredDuringExecution",
                         [&](const ConfigValue& v) { args.preferred = read_preferred(v); }}});
                 }}});
  return args;
}

InterPodAffinityArgs read_inter_pod_affinity(const ConfigValue& value) {
  InterPodAffinityArgs args;
  value.fields({{"apiVersion", read_api_version()},
                {"kind", read_kind(PluginId::kInterPodAffinity)},
                {"hardPodAffinityWeight",
                 [&](const ConfigValue& v) {
                   args.hard_pod_affinity_weight = v.integer(0, kTermWeightMax);
                 }},
                {"ignorePreferredTermsOfExistingPods", [&](const ConfigValue& v) {
                   args.ignore_preferred_terms_of_existing_pods = v.boolean();
                 }}});
  return args;
}

}  // namespace headroom
