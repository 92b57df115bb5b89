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
#include "oracle/policies.h"
#include "oracle/time.h"

namespace oracle {

struct NodeStatus {
  Code code = Code::kSuccess;
  std::vector<std::string> reasons;
  std::string plugin;  // the filter that rejected the node, else ""
};

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
  Code pre_filter = Code::kSuccess;
  std::map<std::string, NodeStatus> filter;    // every node
  std::vector<PluginScores> scores;            // in configured order
  std::map<std::string, std::int64_t> totals;  // feasible nodes: sum of weight * normalised
  std::vector<std::string> ranking;            // by total; ties in the order of first apply
};

class Oracle {
 public:
  // {"filters": ["NodeResourcesFit", ...], "scores": [{"plugin": "LimitAware", "weight": 2}, ...],
  //  "args": {"LimitAware": {...}, ...}, "scoreAll": false}
  // `scoreAll` scores infeasible nodes too, as the Upstream conformance cases do.
  Oracle(Mode mode, Json config);

  // Nodes, Pods and NodeMetrics; other kinds are ignored.
  void apply(const Json& object) { facts_.apply(object); }
  // Kind and metadata are enough.
  void remove(const Json& object) { facts_.remove(object); }
  void reserve(const Json& pod, const std::string& node) { facts_.reserve(pod, node); }
  void unreserve(const Json& pod, const std::string& node) { facts_.unreserve(pod, node); }
  // The clock moves: RFC 3339.
  void advance(const std::string& now);

  // One scheduling cycle; the state does not change.
  Answer schedule(const Json& pod) const;

 private:
  Cycle cycle_of(const std::string& plugin, const Json& pod) const;
  NodeStatus filter_node(const Json& pod, const NodeView& view) const;
  PluginScores score_plugin(const Json& entry, const Json& pod,
                            const std::map<std::string, NodeView>& views) const;

  Mode mode_;
  Json config_;
  std::vector<std::string> filters_;  // in the order in which they run
  Facts facts_;
};

}  // namespace oracle
