// The oracle: a plain scalar transcription of the rules that shares no code with the product.
//
// It keeps the raw objects and recomputes everything from them in every schedule() call, so that
// nothing can drift; it is slow by design. Objects and configuration that cannot be used throw
// std::invalid_argument or std::range_error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "oracle/facts.h"
#include "oracle/policies/policies.h"
#include "oracle/quotas/capacity_scheduling.h"
#include "oracle/time.h"

namespace oracle {

struct NodeScore {
  Code code = Code::kSuccess;   // anything else: no score, and no part in the normalisation
  std::int64_t raw = 0;         // as Score returns it
  std::int64_t normalized = 0;  // after NormalizeScore, over the scored nodes
};

struct PluginScores {
  std::string plugin;
  std::int64_t weight = 1;
  Code pre_score = Code::kSuccess;  // kSkip: the plugin scores no node
  std::map<std::string, NodeScore> nodes;
};

struct Answer {
  Status pre_filter;
  std::map<std::string, NodeStatus> filter;    // every node; none when pre_filter rejects
  std::vector<PluginScores> scores;            // in configured order
  std::map<std::string, std::int64_t> totals;  // feasible nodes: sum of weight * normalised
  std::vector<std::string> ranking;            // by total; ties in the order of first apply
  std::optional<PostFilter> post_filter;       // with CapacityScheduling, when nothing is feasible
};

class Oracle {
 public:
  // {"capacityScheduling": false, "filters": ["NodeResourcesFit", ...], "scores": [{"plugin":
  // "LimitAware", "weight": 2}, ...],
  //  "args": {"LimitAware": {...}, ...}, "scoreAll": false, "kubernetesVersion": "1.35"}
  // Pods nominated to a node count for every filter but LoadAwareScheduling. `capacityScheduling`
  // adds its pre-filter and preemption. `scoreAll` scores infeasible nodes too, as the Upstream
  // conformance cases do.
  // `kubernetesVersion`: 1.35 (also where it is absent), 1.36 or 1.37.
  Oracle(Mode mode, Json config);

  // Kinds that Facts does not know are ignored.
  void apply(const Json& object) { facts_.apply(object); }
  // Kind and metadata are enough.
  void remove(const Json& object) { facts_.remove(object); }
  void reserve(const Json& pod, const std::string& node) { facts_.reserve(pod, node); }
  void unreserve(const Json& pod, const std::string& node) { facts_.unreserve(pod, node); }
  // The clock moves: RFC 3339.
  void advance(const std::string& now);
  // Copies of all facts: rollback() goes back to the last one, commit() forgets it.
  void fork() { forks_.push_back(facts_); }
  void rollback();
  void commit() { forks_.pop_back(); }

  // One scheduling cycle; the state does not change.
  Answer schedule(const Json& pod) const;
  // The same as if pods of these keys (namespace/name) were neither on the node nor nominated to
  // it, and as if the others were reserved there. Those that are there already stay as they are.
  Answer schedule_as_if(const Json& pod, const std::string& node,
                        const std::vector<std::string>& without,
                        const std::vector<Json>& with) const;
  // The pod's own nominated node, where that takes it: kube-scheduler looks at no other then. "":
  // it has none, or it does not.
  std::string nominated_node(const Json& pod) const;

  // By namespace, for every ElasticQuota: cpu in thousandths, everything else whole.
  std::map<std::string, Amounts> elastic_quota_used() const {
    return oracle::elastic_quota_used(facts_, mode_);
  }

 private:
  Cycle cycle_of(const std::string& plugin, const Json& pod) const;
  // `there`: the pods on the node, as LoadAwareScheduling sees them; `counted`: without victims and
  // with nominated pods, as the other filters do.
  NodeStatus filter_node(const Json& pod, const NodeView& there, const NodeView& counted) const;
  CapacityCycle capacity_cycle(const Json& pod) const;
  void filter_nodes(const Json& pod, Answer& answer) const;
  void filter_nodes_and_preempt(const Json& pod, Answer& answer) const;
  PluginScores score_plugin(const Json& entry, const Json& pod,
                            const std::map<std::string, NodeView>& views) const;

  Mode mode_;
  Json config_;
  std::vector<std::string> filters_;  // in the order in which they run
  Facts facts_;
  std::vector<Facts> forks_;
};

}  // namespace oracle
