#include "simulation/decision_line.h"

#include <nlohmann/json.hpp>

#include "objects/text/time_text.h"
#include "simulation/text/not_considered_text.h"

namespace headroom {

using nlohmann::ordered_json;

std::string decision_line(const Engine& engine, const PendingPod& pending, const Decision& decision,
                          const PostFilter* post_filter, std::string_view node) {
  ordered_json line;
  line["pod"] = pod_key(pending.pod);
  line["time"] = time_text(engine.now_us());
  if (pending.again) line["again"] = true;
  if (pending.waits_since_us) {
    line["waited_seconds"] = (engine.now_us() - *pending.waits_since_us) / kMicrosPerSecond;
  }
  if (!decision.candidates.empty()) {
    const NodeScore& best = decision.candidates.front();
    line["node"] = engine.node_name(best.node);
    line["total"] = best.total;
    ordered_json scores = ordered_json::object();
    for (const PluginScore& score : best.plugins) scores[to_string(score.plugin)] = score.score;
    line["scores"] = std::move(scores);
  } else {
    if (node.empty()) {
      line["node"] = nullptr;
    } else {
      line["node"] = node;
    }
    ordered_json reasons = ordered_json::object();
    for (const ReasonCount& reason : decision.reasons) reasons[reason.reason] = reason.nodes;
    line["reasons"] = std::move(reasons);
    line["message"] = decision.message();
  }
  line["feasible"] = decision.feasible;
  line["nodes"] = decision.nodes;
  if (!decision.not_considered.empty()) line["not_considered"] = names_of(decision.not_considered);
  if (post_filter != nullptr) {
    ordered_json preemption;
    preemption["victims"] = ordered_json::array();
    for (const Victim& victim : post_filter->victims) {
      preemption["victims"].push_back({{"pod", pod_key(victim.namespace_name, victim.name)},
                                       {"priority", victim.priority},
                                       {"node", engine.node_name(victim.node)}});
    }
    if (post_filter->pdb_violations > 0) {
      preemption["budgets_broken"] = post_filter->pdb_violations;
    }
    if (!post_filter->reasons.empty()) preemption["reasons"] = post_filter->reasons;
    if (post_filter->cross_node_would_help) preemption["cross_node_would_help"] = true;
    line["preemption"] = std::move(preemption);
  }
  return line.dump() + '\n';
}

}  // namespace headroom
