#include "tests/engine/random/answer_checks.h"

#include <algorithm>
#include <set>

#include "tests/support/answer_text.h"
#include "tests/support/difference.h"

namespace headroom {

namespace {

std::string standing_error(const Engine& engine, const NodeDetail& detail,
                           const NodesDecision& decision, const NodeStanding& standing,
                           bool with_total) {
  const std::string name(engine.node_name(detail.node));
  std::string wrong = difference(name, detail.node, standing.node) +
                      difference(name + " total", with_total ? detail.total : 0, standing.total);
  if (standing.verdict == kFeasible) {
    return wrong + difference(name + " code", detail.code, Code::kSuccess);
  }
  if (standing.verdict >= decision.verdicts.size()) return wrong + name + ": no such verdict\n";
  const NodeVerdict& verdict = decision.verdicts[standing.verdict];
  return wrong + difference(name + " code", detail.code, verdict.code) +
         difference(name + " plugin", detail.rejected_by, verdict.rejected_by) +
         difference(name + " reasons", detail.reasons,
                    std::vector<std::string>(verdict.reasons.begin(), verdict.reasons.end()));
}

}  // namespace

bool has_error(const std::vector<NodeDetail>& details) {
  return std::any_of(details.begin(), details.end(),
                     [](const NodeDetail& detail) { return detail.code == Code::kError; });
}

Expected expected_of(const std::vector<NodeDetail>& details) {
  Expected expected;
  for (const NodeDetail& detail : details) {
    if (detail.code == Code::kSuccess) expected.ranked.push_back(&detail);
    for (const std::string& reason : detail.reasons) ++expected.reasons[reason];
  }
  std::stable_sort(expected.ranked.begin(), expected.ranked.end(),
                   [](const NodeDetail* a, const NodeDetail* b) { return a->total > b->total; });
  if (expected.ranked.empty()) expected.code = Code::kUnschedulable;
  if (has_error(details)) expected.code = Code::kError;
  return expected;
}

std::string decision_error(const std::vector<NodeDetail>& details, const Expected& expected,
                           const Decision& decision, std::uint32_t top_k, bool seeded) {
  std::string text;
  text += difference("code", expected.code, decision.code);
  text += difference<std::size_t>("nodes", details.size(), decision.nodes);
  std::map<std::string, std::uint32_t> reasons;
  for (const ReasonCount& count : decision.reasons)
    reasons[std::string(count.reason)] = count.nodes;
  text += difference("reasons", expected.reasons, reasons);
  if (expected.code == Code::kError) return text;
  text += difference<std::size_t>("feasible", expected.ranked.size(), decision.feasible);
  const std::size_t count = std::min<std::size_t>(top_k, expected.ranked.size());
  text += difference("candidates", count, decision.candidates.size());
  if (!text.empty()) return text;
  std::set<NodeIndex> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeScore& candidate = decision.candidates[i];
    const NodeDetail& by_rank = *expected.ranked[i];
    const auto own = std::lower_bound(
        details.begin(), details.end(), candidate.node,
        [](const NodeDetail& detail, NodeIndex node) { return detail.node < node; });
    if (own == details.end() || own->node != candidate.node || !seen.insert(own->node).second) {
      return "candidate " + std::to_string(i) + " is no node, or comes twice\n";
    }
    const std::string at = "candidate " + std::to_string(i);
    if (!seeded) text += difference(at + " node", by_rank.node, candidate.node);
    text += difference(at, by_rank.total, candidate.total);
    text += difference(at, scores_text(own->plugins, own->total),
                       scores_text(candidate.plugins, candidate.total));
  }
  return text;
}

std::string single_node_error(Engine& engine, const Pod& pod,
                              const std::vector<NodeDetail>& details) {
  std::string wrong;
  for (const NodeDetail& detail : details) {
    const std::string name(engine.node_name(detail.node));
    const Result<NodeDetail> alone = engine.filter(pod, name);
    const Result<bool> passes = engine.passes(pod, name);
    const Result<Explanation> explained = engine.explain(pod, name);
    if (!alone || !passes || !explained) return "filter, passes or explain refuses " + name;
    wrong += difference(name + " filter", detail.code, alone->code) +
             difference(name + " passes", detail.code == Code::kSuccess, *passes) +
             difference(name + " reasons", detail.reasons, alone->reasons) +
             difference(name + " explain", detail.code, explained->code) +
             difference(name + " explain", scores_text(detail.plugins, detail.total),
                        scores_text(explained->plugins, explained->total));
  }
  return wrong;
}

std::string nodes_error(Engine& engine, const Pod& pod, const std::vector<NodeDetail>& details,
                        const std::vector<std::string>& pre_filter) {
  NodesDecision all, some;
  if (!engine.evaluate_nodes(pod, all)) return "evaluate_nodes: refused";
  std::string wrong = difference<std::size_t>("rows", details.size(), all.rows.size()) +
                      difference<std::size_t>("nodes", details.size(), all.nodes) +
                      difference("pre-filter", pre_filter, all.pre_filter) +
                      difference("epoch", engine.epoch() >= all.epoch, true);
  if (!wrong.empty()) return wrong;
  std::vector<NodeIndex> odd;  // every other node, from the last on
  for (std::size_t n = 0; n < details.size(); ++n) {
    wrong += standing_error(engine, details[n], all, all.rows[n], true);
    if (n % 2 == 1) odd.insert(odd.begin(), details[n].node);
  }
  if (!engine.filter(pod, odd, {}, some)) return "filter of nodes: refused";
  wrong += difference("rows", odd.size(), some.rows.size()) +
           difference("pre-filter of some", all.pre_filter, some.pre_filter);
  for (std::size_t n = 1; wrong.empty() && n < details.size(); n += 2) {
    wrong += standing_error(engine, details[n], some, some.rows[odd.size() - 1 - n / 2], false);
  }
  for (const NodesDecision* decision : {&all, &some}) {
    for (auto verdict = decision->verdicts.begin(); verdict != decision->verdicts.end();
         ++verdict) {
      if (std::find(verdict + 1, decision->verdicts.end(), *verdict) != decision->verdicts.end()) {
        wrong += "a verdict comes twice\n";
      }
    }
  }
  return wrong;
}

}  // namespace headroom
