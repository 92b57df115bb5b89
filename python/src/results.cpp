#include "python/src/results.h"

#include "python/src/arrays.h"

namespace nb = nanobind;

namespace headroom::python {
namespace {

std::uint32_t row_of(NodeIndex node) { return static_cast<std::uint32_t>(node); }

nb::object node_name(const Engine& engine, NodeIndex node) {
  if (node == kNoNode) return nb::none();
  return text(engine.node_name(node));
}

nb::dict plugins_of(const PluginScores& scores) {
  nb::dict plugins;
  for (const PluginScore& score : scores) {
    plugins[to_string(score.plugin)] = make("PluginScore", score.raw, score.score);
  }
  return plugins;
}

nb::object victim_of(const Engine& engine, const Victim& victim) {
  return make("Victim", text(victim.namespace_name), text(victim.name), text(victim.uid),
              victim.priority, node_name(engine, victim.node));
}

nb::list victims_of(const Engine& engine, const std::vector<Victim>& victims) {
  return list_of(victims, [&](const Victim& victim) { return victim_of(engine, victim); });
}

nb::list not_considered_of(NotConsideredSet set) {
  nb::list names;
  for (const NotConsidered what : set.list()) names.append(to_string(what));
  return names;
}

}  // namespace

nb::str text(std::string_view value) { return nb::str(value.data(), value.size()); }

nb::list texts(const std::vector<std::string>& values) {
  return list_of(values, [](const std::string& value) { return text(value); });
}

nb::object decision_of(const Engine& engine, const Decision& decision) {
  nb::dict reasons;
  for (const ReasonCount& reason : decision.reasons) reasons[text(reason.reason)] = reason.nodes;
  const nb::list candidates = list_of(decision.candidates, [&](const NodeScore& node) {
    return make("NodeScore", node_name(engine, node.node), row_of(node.node), node.total,
                plugins_of(node.plugins));
  });
  return make("Decision", to_string(decision.code), decision.nodes, decision.feasible, candidates,
              reasons, texts(decision.pre_filter), decision.epoch, text(decision.message()),
              not_considered_of(decision.not_considered));
}

nb::object placement_of(const Engine& engine, const Placement& placement) {
  return make("Placement", node_name(engine, placement.node),
              decision_of(engine, placement.decision), node_name(engine, placement.nominated_node),
              victims_of(engine, placement.victims));
}

nb::object node_detail_of(const Engine& engine, const NodeDetail& detail) {
  const nb::object rejected_by = detail.code == Code::kSuccess
                                     ? nb::none()
                                     : nb::object(nb::str(to_string(detail.rejected_by)));
  return make("NodeDetail", node_name(engine, detail.node), row_of(detail.node),
              to_string(detail.code), texts(detail.reasons), rejected_by,
              plugins_of(detail.plugins), detail.total);
}

nb::object nodes_decision_of(NodesDecision&& decision) {
  std::vector<std::uint32_t> rows;
  std::vector<std::int64_t> totals;
  std::vector<std::int32_t> verdicts;
  for (const NodeStanding& standing : decision.rows) {
    rows.push_back(row_of(standing.node));
    totals.push_back(standing.total);
    verdicts.push_back(static_cast<std::int32_t>(standing.verdict));  // kFeasible is -1
  }
  const nb::list described = list_of(decision.verdicts, [](const NodeVerdict& verdict) {
    return make("NodeVerdict", to_string(verdict.code), to_string(verdict.rejected_by),
                list_of(verdict.reasons, [](std::string_view reason) { return text(reason); }));
  });
  return make("NodesDecision", decision.nodes, array_of(std::move(rows)),
              array_of(std::move(totals)), array_of(std::move(verdicts)), described,
              texts(decision.pre_filter), decision.epoch,
              not_considered_of(decision.not_considered));
}

nb::object explanation_of(const Explanation& explanation) {
  const nb::list terms = list_of(explanation.terms, [](const ExplainTerm& term) {
    return make("ExplainTerm", to_string(term.plugin), text(term.extension_point),
                text(term.resource), term.capacity, term.aggregate, term.need, text(term.formula),
                term.result, term.passed, text(term.note));
  });
  return make("Explanation", to_string(explanation.code), terms, plugins_of(explanation.plugins),
              explanation.total, not_considered_of(explanation.not_considered));
}

nb::object pre_filter_of(const PreFilterStatus& status) {
  return make("PreFilterStatus", to_string(status.code), texts(status.reasons));
}

nb::object post_filter_of(const Engine& engine, const PostFilter& answer) {
  const nb::list candidates = list_of(answer.candidates, [&](const NodeVictims& node) {
    return make("NodeVictims", node_name(engine, node.node), to_string(node.code),
                texts(node.reasons), victims_of(engine, node.victims), node.pdb_violations);
  });
  return make("PostFilter", to_string(answer.code), node_name(engine, answer.nominated_node),
              victims_of(engine, answer.victims), answer.pdb_violations, texts(answer.reasons),
              answer.stays_nominated, answer.cross_node, answer.cross_node_would_help,
              answer.victims_at_least, answer.cross_node_gave_up, candidates, answer.nodes_dry_run,
              answer.nodes_ruled_out, answer.epoch, not_considered_of(answer.not_considered));
}

nb::object pod_verdict_of(const Engine& engine, const PodVerdict& verdict) {
  return make("PodVerdict", victim_of(engine, verdict.pod), verdict.victim, text(verdict.why));
}

nb::object elastic_quota_status_of(const ElasticQuotaStatus& status) {
  const nb::list amounts = list_of(status.amounts, [](const ElasticQuotaAmount& amount) {
    const nb::object max = amount.max == INT64_MAX ? nb::none() : nb::object(nb::int_(amount.max));
    return make("ElasticQuotaAmount", text(amount.resource), amount.min, max, amount.used,
                amount.nominated);
  });
  return make("ElasticQuotaStatus", text(status.namespace_name), text(status.name), amounts,
              status.over_min);
}

nb::object stats_of(const EngineStats& stats) {
  return make("Stats", stats.decisions, stats.cache_hits, stats.cold_passes, stats.rows_replayed,
              stats.bad_annotations, stats.nodes, stats.pods, stats.shapes, stats.resources,
              stats.node_classes, stats.cache_bytes);
}

}  // namespace headroom::python
