#include "tools/conformance/case_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "objects/reading/object_reader.h"

namespace headroom {
namespace {

using nlohmann::json;

std::string shown(const Engine& engine, NodeIndex node, std::int64_t total,
                  const PluginScores& plugins) {
  std::string text = fmt::format("{} total {}", engine.node_name(node), total);
  for (const PluginScore& score : plugins) {
    text += fmt::format(", {} {} of raw {}", to_string(score.plugin), score.score, score.raw);
  }
  return text;
}

}  // namespace

Result<void> apply_object(Engine& engine, const json& object, std::string_view at) {
  const Result<Object> read = read_object(object.dump(), at);
  if (!read) return tl::unexpected<Error>(read.error());
  return engine.upsert(*read);
}

Result<void> remove_object(Engine& engine, const json& object) {
  const std::string kind = object.at("kind");
  const json& metadata = object.at("metadata");
  const std::string name = metadata.at("name");
  const std::string name_space = metadata.value("namespace", "default");
  if (const std::optional<ReferredKind> referred = parse_referred_kind(kind)) {
    engine.remove(*referred, key_of(*referred, name_space, name));
  } else if (kind == "ElasticQuota") {
    engine.remove_elastic_quota(name_space, name);
  } else if (kind == "PodDisruptionBudget") {
    engine.remove_pod_disruption_budget(name_space, name);
  } else if (kind == "PriorityClass") {
    engine.remove_priority_class(name);
  } else if (kind == "Node") {
    engine.remove_node(name);
  } else if (kind == "Pod") {
    engine.remove_pod(name_space, name);
  } else if (kind == "NodeMetric") {
    engine.remove_node_metric(name);
  } else {
    return fail(ErrorCode::kUnsupported, fmt::format("kind: {} is not supported", kind));
  }
  return {};
}

std::optional<ConformanceDifference> evaluate_difference(Engine& engine, const Pod& pod,
                                                         const std::vector<NodeDetail>& details) {
  if (std::any_of(details.begin(), details.end(),
                  [](const NodeDetail& detail) { return detail.code == Code::kError; })) {
    return std::nullopt;  // then there is no decision
  }
  const Result<Decision> decision = engine.evaluate(pod, {.top_k = kTopKMax});
  if (!decision) return {{"evaluate", "an answer", decision.error().message}};
  std::vector<NodeDetail> expected;
  std::copy_if(details.begin(), details.end(), std::back_inserter(expected),
               [](const NodeDetail& detail) { return detail.code == Code::kSuccess; });
  std::stable_sort(expected.begin(), expected.end(),
                   [](const NodeDetail& a, const NodeDetail& b) { return a.total > b.total; });
  // Where a plugin failed no node is chosen.
  const std::size_t candidates = decision->code == Code::kError ? 0 : expected.size();
  if (decision->feasible != expected.size() || decision->candidates.size() != candidates) {
    return {{"evaluate.feasible", std::to_string(expected.size()),
             fmt::format("{}, {} candidates", decision->feasible, decision->candidates.size())}};
  }
  for (std::size_t i = 0; i < candidates; ++i) {
    const NodeScore& candidate = decision->candidates[i];
    std::string want = shown(engine, expected[i].node, expected[i].total, expected[i].plugins);
    std::string came = shown(engine, candidate.node, candidate.total, candidate.plugins);
    if (want != came) {
      return {{fmt::format("evaluate.candidates[{}]", i), std::move(want), std::move(came)}};
    }
  }
  return std::nullopt;
}

}  // namespace headroom
