// Makes and prints explanations; see explain_report.h.
#include "tools/command/explain_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "objects/text/time_text.h"
#include "simulation/text/not_considered_text.h"
#include "simulation/text/table.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

std::int64_t weight_of(const Profile& profile, PluginId plugin) {
  for (const ScorePlugin& score : profile.scores) {
    if (score.plugin == plugin) return score.weight;
  }
  return 0;
}

bool is_filter(const ExplainTerm& term) {
  return term.extension_point == "Filter" || term.extension_point == "PreFilter" ||
         term.extension_point == "PreEnqueue";
}

// What a line is worked out from. One that only says yes or no, such as NodeName's, one that sums
// up others and one without a limit have nothing to show there.
bool has_capacity(const ExplainTerm& term) {
  return !term.resource.empty() && !term.formula.empty();
}

// Notes stand on a line of their own, below the first column.
std::string terms_text(const std::vector<ExplainTerm>& terms) {
  Table table("lllrrrrl");
  table.row({"plugin", "point", "resource", "capacity", "aggregate", "need", "result", "how"});
  for (const ExplainTerm& term : terms) {
    const auto shown = [](bool has, std::int64_t value) { return has ? grouped(value) : ""; };
    table.row({to_string(term.plugin), term.extension_point, term.resource,
               shown(has_capacity(term), term.capacity), shown(has_capacity(term), term.aggregate),
               shown(!term.resource.empty(), term.need),
               is_filter(term) ? (term.passed ? "passes" : "REJECTS")
                               : shown(term.extension_point != "Note", term.result),
               term.formula});
    if (!term.note.empty()) table.note("    note: " + term.note);
  }
  return table.text();
}

// "total 253 = 2 * 100 (LimitAware) + 1 * 53 (NodeResourcesFit)".
std::string total_text(const Explanation& explanation, const Profile& profile) {
  std::string text = fmt::format("total {}", explanation.total);
  const char* separator = " = ";
  for (const PluginScore& score : explanation.plugins) {
    text += fmt::format("{}{} * {} ({})", separator, weight_of(profile, score.plugin), score.score,
                        to_string(score.plugin));
    separator = " + ";
  }
  return text;
}

std::string node_text(const ExplainedNode& node, const ExplainReport& report) {
  const Explanation& explanation = node.explanation;
  std::string text =
      fmt::format("{} on {}: {}", report.pod, node.node,
                  explanation.code == Code::kSuccess ? "feasible" : to_string(explanation.code));
  if (!node.why.empty()) text += fmt::format(" ({})", node.why);
  text += "\n\n" + terms_text(explanation.terms);
  if (explanation.code == Code::kSuccess && !explanation.plugins.empty()) {
    text += fmt::format("\n  {}\n", total_text(explanation, report.profile));
  }
  return text;
}

std::string decision_text(const ExplainReport& report) {
  const Decision& decision = *report.decision;
  std::string text = fmt::format("{}: {} of {} nodes are feasible\n", report.pod,
                                 grouped(decision.feasible), grouped(decision.nodes));
  if (!decision.candidates.empty()) {
    Table table;
    std::vector<std::string> header = {"node", "total"};
    for (const PluginScore& score : decision.candidates.front().plugins) {
      header.push_back(
          fmt::format("{} * {}", weight_of(report.profile, score.plugin), to_string(score.plugin)));
    }
    table.row(std::move(header));
    for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
      const NodeScore& candidate = decision.candidates[i];
      std::vector<std::string> row = {report.candidates[i], grouped(candidate.total)};
      for (const PluginScore& score : candidate.plugins) row.push_back(grouped(score.score));
      table.row(std::move(row));
    }
    text += '\n' + table.text();
  }
  if (!decision.reasons.empty()) {
    Table table;
    for (const ReasonCount& reason : decision.reasons) {
      table.row({std::string(reason.reason), grouped(reason.nodes)});
    }
    text += "\n  rejected by\n" + table.text();
  }
  if (!decision.pre_filter.empty()) {
    text += "\n  rejected before any node was looked at\n";
    for (const std::string& reason : decision.pre_filter) text += fmt::format("  {}\n", reason);
  } else if (decision.feasible == 0) {
    text += fmt::format("\n  {}\n", decision.message());
  }
  if (decision.code == Code::kError) text += "\n  A plugin failed: there is no decision.\n";
  return text;
}

std::string preemption_text(const ExplainReport& report) {
  const PostFilter& answer = *report.post_filter;
  if (answer.code != Code::kSuccess) {
    return fmt::format("preemption does not help: {}{}\n\n", fmt::join(answer.reasons, ", "),
                       answer.cross_node_would_help
                           ? " Victims on several nodes would (crossNodePreemption)."
                           : "");
  }
  std::string text =
      fmt::format("preemption: {} can have its place on {} when {} {} gone{}\n\n", report.pod,
                  report.nominated_node, answer.victims.size(),
                  answer.victims.size() == 1 ? "pod is" : "pods are",
                  answer.pdb_violations == 0
                      ? ""
                      : fmt::format("; {} beyond what their budgets allow", answer.pdb_violations));
  for (const PodVerdict& verdict : report.verdicts) {
    text += fmt::format("  {}  priority {:>7}  {}: {}\n", verdict.victim ? "GOES " : "stays",
                        grouped(verdict.pod.priority),
                        pod_key(verdict.pod.namespace_name, verdict.pod.name), verdict.why);
  }
  if (answer.cross_node) {
    text += fmt::format("\n  with victims on other nodes, at least {} in all:\n",
                        answer.victims_at_least);
    for (const Victim& victim : answer.victims) {
      if (victim.node != answer.nominated_node) {
        text += fmt::format("  {}\n", pod_key(victim.namespace_name, victim.name));
      }
    }
  }
  return text + '\n';
}

ordered_json preemption_json(const ExplainReport& report) {
  const PostFilter& answer = *report.post_filter;
  ordered_json json = {{"code", to_string(answer.code)},
                       {"nominatedNode", report.nominated_node},
                       {"numPDBViolations", answer.pdb_violations},
                       {"crossNode", answer.cross_node},
                       {"crossNodeWouldHelp", answer.cross_node_would_help},
                       {"reasons", answer.reasons},
                       {"victims", ordered_json::array()},
                       {"pods", ordered_json::array()}};
  for (const Victim& victim : answer.victims) {
    json["victims"].push_back(pod_key(victim.namespace_name, victim.name));
  }
  for (const PodVerdict& verdict : report.verdicts) {
    json["pods"].push_back({{"pod", pod_key(verdict.pod.namespace_name, verdict.pod.name)},
                            {"priority", verdict.pod.priority},
                            {"victim", verdict.victim},
                            {"why", verdict.why}});
  }
  return json;
}

ordered_json plugins_json(const PluginScores& plugins, const Profile& profile) {
  ordered_json list = ordered_json::array();
  for (const PluginScore& score : plugins) {
    list.push_back({{"plugin", to_string(score.plugin)},
                    {"raw", score.raw},
                    {"score", score.score},
                    {"weight", weight_of(profile, score.plugin)}});
  }
  return list;
}

ordered_json decision_json(const ExplainReport& report) {
  const Decision& decision = *report.decision;
  ordered_json json = {{"code", to_string(decision.code)},    {"nodes", decision.nodes},
                       {"feasible", decision.feasible},       {"message", decision.message()},
                       {"candidates", ordered_json::array()}, {"reasons", ordered_json::array()}};
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const NodeScore& candidate = decision.candidates[i];
    json["candidates"].push_back({{"node", report.candidates[i]},
                                  {"total", candidate.total},
                                  {"plugins", plugins_json(candidate.plugins, report.profile)}});
  }
  if (!decision.pre_filter.empty()) json["preFilter"] = decision.pre_filter;
  for (const ReasonCount& reason : decision.reasons) {
    json["reasons"].push_back({{"reason", reason.reason}, {"nodes", reason.nodes}});
  }
  return json;
}

ordered_json node_json(const ExplainedNode& node, const Profile& profile) {
  ordered_json json = {{"node", node.node},
                       {"why", node.why},
                       {"code", to_string(node.explanation.code)},
                       {"total", node.explanation.total},
                       {"plugins", plugins_json(node.explanation.plugins, profile)},
                       {"terms", ordered_json::array()}};
  for (const ExplainTerm& term : node.explanation.terms) {
    json["terms"].push_back({{"plugin", to_string(term.plugin)},
                             {"extensionPoint", term.extension_point},
                             {"resource", term.resource},
                             {"capacity", term.capacity},
                             {"aggregate", term.aggregate},
                             {"need", term.need},
                             {"formula", term.formula},
                             {"result", term.result},
                             {"passed", term.passed},
                             {"note", term.note}});
  }
  return json;
}

}  // namespace

Result<ExplainReport> explain_pod(Engine& engine, Pod pod, const std::optional<std::string>& node) {
  ExplainReport report;
  report.pod = pod.namespace_name + '/' + pod.name;
  report.present_node = std::exchange(pod.node_name, {});
  report.now_us = engine.now_us();
  report.profile = engine.profile();
  engine.remove_pod(pod.namespace_name, pod.name);

  const auto explain_node = [&](std::string name, std::string why) -> Result<void> {
    Result<Explanation> explanation = engine.explain(pod, name);
    if (!explanation) return tl::unexpected<Error>(explanation.error());
    report.not_considered = explanation->not_considered;
    report.nodes.push_back({std::move(name), std::move(why), std::move(*explanation)});
    return {};
  };
  if (node) {
    if (Result<void> done = explain_node(*node, ""); !done) return tl::unexpected(done.error());
    return report;
  }

  Result<Decision> decision = engine.evaluate(pod, {.top_k = kExplainedCandidates});
  if (!decision) return tl::unexpected(decision.error());
  report.not_considered = decision->not_considered;
  report.decision = std::move(*decision);
  for (const NodeScore& candidate : report.decision->candidates) {
    report.candidates.emplace_back(engine.node_name(candidate.node));
  }
  if (!report.candidates.empty()) {
    if (Result<void> done = explain_node(report.candidates.front(), "the winner"); !done) {
      return tl::unexpected(done.error());
    }
  }
  const Result<std::vector<NodeDetail>> details = engine.evaluate_all(pod);
  if (!details) return tl::unexpected(details.error());
  std::set<std::string> explained;  // reasons
  for (const NodeDetail& detail : *details) {
    std::string why;
    for (const std::string& reason : detail.reasons) {
      if (!explained.insert(reason).second) continue;
      why += (why.empty() ? "" : ", ") + reason;
    }
    if (why.empty()) continue;
    if (Result<void> done = explain_node(std::string(engine.node_name(detail.node)), why); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (report.decision->code == Code::kUnschedulable && engine.profile().capacity_scheduling) {
    if (report.nodes.empty() && !details->empty()) {
      const std::string name(engine.node_name(details->front().node));
      if (Result<void> done = explain_node(name, "rejected by the pre-filter"); !done) {
        return tl::unexpected(done.error());
      }
    }
    Result<PostFilter> found = engine.post_filter(pod, {.candidates = true});
    if (!found) return tl::unexpected(found.error());
    report.post_filter = std::move(*found);
    report.nominated_node = engine.node_name(report.post_filter->nominated_node);
    if (!report.nominated_node.empty()) {
      Result<std::vector<PodVerdict>> verdicts = engine.explain_victims(pod, report.nominated_node);
      if (!verdicts) return tl::unexpected(verdicts.error());
      report.verdicts = std::move(*verdicts);
    }
  }
  return report;
}

std::string explain_text(const ExplainReport& report) {
  std::string text;
  if (report.decision) text += decision_text(report) + '\n';
  for (const ExplainedNode& node : report.nodes) text += node_text(node, report) + '\n';
  if (report.post_filter) text += preemption_text(report);
  text += fmt::format("At {}, mode {}. cpu in thousandths, everything else in whole units.\n",
                      time_text(report.now_us),
                      report.profile.mode == Mode::kProposal ? "Proposal" : "Upstream");
  if (!report.not_considered.empty()) {
    text += fmt::format("Not considered: {}.\n", fmt::join(names_of(report.not_considered), ", "));
  }
  if (!report.present_node.empty()) {
    text += fmt::format("The pod is on {} now; it was not counted there.\n", report.present_node);
  }
  return text;
}

std::string explain_json(const ExplainReport& report) {
  ordered_json json = {{"pod", report.pod},
                       {"presentNode", report.present_node},
                       {"now", time_text(report.now_us)},
                       {"mode", report.profile.mode == Mode::kProposal ? "Proposal" : "Upstream"}};
  if (!report.warnings.empty()) json["warnings"] = warnings_json(report.warnings);
  json["notConsidered"] = names_of(report.not_considered);
  if (report.decision) json["decision"] = decision_json(report);
  json["nodes"] = ordered_json::array();
  for (const ExplainedNode& node : report.nodes) {
    json["nodes"].push_back(node_json(node, report.profile));
  }
  if (report.post_filter) json["preemption"] = preemption_json(report);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace headroom
