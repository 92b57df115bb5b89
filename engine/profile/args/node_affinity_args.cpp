#include "engine/profile/args/node_affinity_args.h"

#include <fmt/format.h>

#include "engine/profile/args/args_values.h"
#include "objects/selector_syntax.h"

namespace headroom {
namespace {

// What kube-scheduler refuses in a requirement of matchExpressions (labels.NewRequirement), and of
// matchFields. "": nothing is wrong.
std::string problem_of_expression(const NodeSelectorRequirement& asked) {
  return problem_of_requirement(asked, true);
}

std::string problem_of_field(const NodeSelectorRequirement& asked) {
  if (asked.key != "metadata.name") {
    return fmt::format("key \"{}\" is not known; accepted: metadata.name", asked.key);
  }
  if ((asked.op != "In" && asked.op != "NotIn") || asked.values.size() != 1) {
    return fmt::format("{}: operator \"{}\" with {} values; accepted: In or NotIn with one",
                       asked.key, asked.op, asked.values.size());
  }
  return {};
}

std::vector<NodeSelectorRequirement> read_requirements(
    const ConfigValue& value, std::string (*problem_of)(const NodeSelectorRequirement&)) {
  std::vector<NodeSelectorRequirement> requirements;
  value.items([&](const ConfigValue& item) {
    NodeSelectorRequirement asked;
    item.fields({{"key", into(asked.key, &ConfigValue::text)},
                 {"operator", into(asked.op, &ConfigValue::text)},
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
                    term.weight = static_cast<std::int32_t>(v.integer(0, kAddedWeightMax));
                  }},
                 {"preference", into(term.preference, read_term)}});
    preferred.push_back(std::move(term));
  });
  return preferred;
}

Result<void> check_term(const NodeSelectorTerm& term, const char* field) {
  std::string problem;
  for (const NodeSelectorRequirement& asked : term.match_expressions) {
    if (problem.empty()) problem = problem_of_expression(asked);
  }
  for (const NodeSelectorRequirement& asked : term.match_fields) {
    if (problem.empty()) problem = problem_of_field(asked);
  }
  if (problem.empty()) return {};
  return fail(ErrorCode::kInvalid, fmt::format("{}: {}", field, problem));
}

}  // namespace

void read_args(const ConfigValue& value, const Profile&, NodeAffinityArgs& args) {
  read_fields(value, PluginId::kNodeAffinity,
              {{"addedAffinity", [&](const ConfigValue& added) {
                  added.fields({{"requiredDuringSchedulingIgnoredDuringExecution",
                                 into(args.required, read_node_selector)},
                                {"preferredDuringSchedulingIgnoredDuringExecution",
                                 into(args.preferred, read_preferred)}});
                }}});
}

Result<void> check_args(const NodeAffinityArgs& args, const Profile&, ResourceCheck&) {
  constexpr const char* kRequired =
      "NodeAffinity: addedAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  constexpr const char* kPreferred =
      "NodeAffinity: addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
  if (args.required && args.required->empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: has no terms: no node matches", kRequired));
  }
  for (const NodeSelectorTerm& term : args.required.value_or(std::vector<NodeSelectorTerm>())) {
    if (auto checked = check_term(term, kRequired); !checked) return checked;
  }
  for (const PreferredSchedulingTerm& preferred : args.preferred) {
    if (auto checked = check_term(preferred.preference, kPreferred); !checked) return checked;
    if (auto checked = check_term_weight(preferred.weight, kAddedWeightMax, kPreferred); !checked)
      return checked;
  }
  return {};
}

}  // namespace headroom
