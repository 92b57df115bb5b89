// What an engine answers; see engine.h for the questions.
//
// Plain values, which stay valid whatever the engine does next, but for the texts that say how long
// they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/limits.h"
#include "engine/profile/profile.h"
#include "objects/objects.h"

namespace headroom {

// A row of the node table. A name keeps its row as long as any fact mentions it.
enum class NodeIndex : std::uint32_t {};
inline constexpr NodeIndex kNoNode{0xFFFFFFFF};
// Pods that no policy can tell apart have one shape.
enum class ShapeIndex : std::uint32_t {};

// kube-scheduler's status codes.
enum class Code : std::uint8_t { kSuccess, kError, kUnschedulable, kUnschedulableAndUnresolvable };
const char* to_string(Code code);

struct PluginScore {
  std::int64_t raw = 0;    // what Score returns
  std::int32_t score = 0;  // after NormalizeScore, in [0, 100]
  PluginId plugin{};
};

// The scores of a node by plugin, in the profile's order. Without those of plugins that skip the
// pod.
class PluginScores {
 public:
  PluginScores() = default;
  PluginScores(std::initializer_list<PluginScore> scores) {
    for (const PluginScore& score : scores) {
      push_back(score);
    }
  }
  const PluginScore* begin() const { return items_; }
  const PluginScore* end() const { return items_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const PluginScore& operator[](std::size_t i) const { return items_[i]; }
  void push_back(const PluginScore& score) { items_[size_++] = score; }
  void clear() { size_ = 0; }

 private:
  PluginScore items_[kScorePluginsMax];
  std::uint8_t size_ = 0;
};

struct NodeScore {
  NodeIndex node = kNoNode;
  std::int64_t total = 0;  // sum of weight * score
  PluginScores plugins;    // empty if EvaluateOptions say so
};

struct ReasonCount {
  // kube-scheduler's words: "Insufficient cpu limit". Valid for long, not for ever: until the
  // engine has forgotten 65,536 other reasons that nobody gives any more (kUnusedReasonsMax).
  std::string_view reason;
  std::uint32_t nodes = 0;
};

// What the pre-filter of CapacityScheduling says; see Engine::pre_filter().
struct PreFilterStatus {
  // kUnschedulable where quotas say no; kUnschedulableAndUnresolvable for a pod with gates.
  Code code = Code::kSuccess;
  // Mode Proposal: one for each resource, "ElasticQuota team-a/quota: cpu: used 3 + nominated 0 +
  // requested 2 is more than max 4". Mode Upstream: scheduler-plugins' words.
  std::vector<std::string> reasons;
};

struct Decision {
  // kUnschedulable: no node is feasible, or the pre-filter rejects the pod; kError: a plugin
  // failed, so that no node is chosen
  Code code = Code::kSuccess;
  std::uint32_t nodes = 0;  // nodes known
  std::uint32_t feasible = 0;
  std::vector<NodeScore> candidates;    // best first, at most top_k
  std::vector<ReasonCount> reasons;     // sorted by reason; a node counts for each reason it gave
  std::vector<std::string> pre_filter;  // why the pre-filter rejects; then no node was looked at
  std::uint64_t epoch = 0;              // the state that was answered for
  // What the pod asks for, or nodes say, that no plugin here looks at; empty for a ShapeIndex.
  NotConsideredSet not_considered;

  // "0/5 nodes are available: 3 Insufficient cpu limit, 2 Too many pods." (kube-scheduler's form)
  std::string message() const;
};

// Every node's answer, for tests, conformance and people; costs a full pass and a string per node.
struct NodeDetail {
  NodeIndex node = kNoNode;
  Code code = Code::kSuccess;
  std::vector<std::string> reasons;
  PluginId rejected_by = PluginId::kNodeName;  // meaningful when code is not kSuccess
  PluginScores plugins;                        // feasible nodes only
  std::int64_t total = 0;
};

// Why nodes reject a pod.
struct NodeVerdict {
  Code code = Code::kUnschedulable;
  PluginId rejected_by = PluginId::kNodeName;
  std::vector<std::string_view> reasons;  // valid as ReasonCount::reason is
  friend bool operator==(const NodeVerdict&, const NodeVerdict&) = default;
};
inline constexpr std::uint32_t kFeasible = 0xFFFFFFFF;

struct NodeStanding {
  NodeIndex node = kNoNode;
  std::uint32_t verdict = kFeasible;  // place in NodesDecision::verdicts
  std::int64_t total = 0;             // sum of weight * score; 0 where rejected, or not asked for
};

// What nodes say of one pod, in few words; see Engine::evaluate_nodes().
struct NodesDecision {
  std::uint64_t epoch = 0;
  std::uint32_t nodes = 0;              // nodes known
  std::vector<std::string> pre_filter;  // as in Decision; the nodes are looked at all the same
  std::vector<NodeVerdict> verdicts;    // each once, in the order of the first node that says so
  std::vector<NodeStanding> rows;
  NotConsideredSet not_considered;  // as in Decision
};

// One line of an explanation: the numbers that went in, and what came out.
struct ExplainTerm {
  PluginId plugin;
  // "PreEnqueue", "PreFilter", "Filter", "Score", "NormalizeScore"; "Note": a remark
  std::string extension_point;
  std::string resource;  // empty where the line is not about one
  std::int64_t capacity = 0, aggregate = 0, need = 0;
  std::string formula;  // "(capacity - aggregate - need) * 100 / capacity"
  std::int64_t result = 0;
  bool passed = true;
  std::string note;  // "annotation ... ignored: not a number", "node(s) nodeMetric expired", ...
};

struct Explanation {
  Code code = Code::kSuccess;
  std::vector<ExplainTerm> terms;
  PluginScores plugins;  // as in NodeDetail; normalised among all feasible nodes
  std::int64_t total = 0;
  NotConsideredSet not_considered;  // as in Decision
};

// A pod that has to go.
struct Victim {
  std::string namespace_name, name, uid;
  std::int32_t priority = 0;
  NodeIndex node = kNoNode;
};

// One node's outcome in a preemption.
struct NodeVictims {
  NodeIndex node = kNoNode;
  Code code = Code::kSuccess;  // kSuccess: `victims` make room
  std::vector<std::string> reasons;
  std::vector<Victim> victims;  // most important first
  std::int64_t pdb_violations = 0;
};

// Who must go so that a pod has its place; see Engine::post_filter().
struct PostFilter {
  // kSuccess: `victims` make room on `nominated_node`. kUnschedulable: `reasons` say why not.
  Code code = Code::kUnschedulable;
  NodeIndex nominated_node = kNoNode;
  std::vector<Victim> victims;  // most important first; those that terminate already as well
  std::int64_t pdb_violations = 0;
  std::vector<std::string> reasons;
  // Not kSuccess: a nomination that the pod has stays, because its victims are terminating, a node
  // has room by now, or a filter failed. Otherwise the pod should lose it.
  bool stays_nominated = false;
  // Victims also on other nodes. Mode Proposal: `cross_node_would_help` where that is off.
  bool cross_node = false, cross_node_would_help = false;
  // Cross-node victims are found greedily: at least this many have to go, whoever they are. 0: not
  // across nodes.
  std::uint32_t victims_at_least = 0;
  // No set was found across nodes, and kCrossNodeStepsMax ended the search.
  bool cross_node_gave_up = false;
  std::vector<NodeVictims> candidates;  // all nodes that were looked at, in row order, if asked for
  std::uint32_t nodes_dry_run = 0, nodes_ruled_out = 0;  // by the bound
  std::uint64_t epoch = 0;
  NotConsideredSet not_considered;  // as in Decision
};

// What the turns of a post-filter have seen of the nodes; see Engine::post_filter().
struct PostFilterTurns {
  std::uint32_t next_row = 0;
  std::map<std::string, std::uint32_t> reasons;
  std::vector<std::string> errors;
};

struct PodVerdict {
  Victim pod;
  bool victim = false;
  std::string why;
};

struct ElasticQuotaAmount {
  std::string resource;
  // In the resource's unit (cpu in milli). min 0 and max INT64_MAX where the quota names none.
  std::int64_t min = 0, max = INT64_MAX, used = 0, nominated = 0;
};

// What a controller publishes as status.used, and what borrowing and lending come to.
struct ElasticQuotaStatus {
  std::string namespace_name, name;
  std::vector<ElasticQuotaAmount> amounts;  // of resources that min, max, used or nominated name
  bool over_min = false;                    // uses more than its min: it borrows
};

struct Placement {
  NodeIndex node = kNoNode;  // kNoNode: not placed, and `decision` says why
  // On its own nominated node: of that alone, feasible 1, without scores.
  Decision decision;
  // With preemption: where the pod waits for `victims` to go; kNoNode where a more important pod
  // took that away again.
  NodeIndex nominated_node = kNoNode;
  std::vector<Victim> victims;
};

// What each row's node has of a resource, and what its pods come to, in the resource's unit (cpu in
// milli); 0 where a row has no node, but for pods that wait there for one. Empty: no plugin of the
// profile keeps it.
struct NodeFigures {
  std::vector<std::int64_t> allocatable;
  std::vector<std::int64_t> requested;  // NodeResourcesFit or NodeResourcesBalancedAllocation
  // LimitAware, which counts the larger of limit and request of a container; else
  // ResourceLimitAware, with its defaults, of the resources that it scores.
  std::vector<std::int64_t> limits;
  // LoadAwareScheduling, of the resources that it weighs: what the score takes as usage. Where no
  // report says it, what all pods are estimated to use.
  std::vector<std::int64_t> estimated;
};

struct EngineStats {
  std::uint64_t decisions = 0, cache_hits = 0, cold_passes = 0, rows_replayed = 0;
  // Nodes, and pods that count, with an annotation or a label that is ignored, now.
  std::uint64_t bad_annotations = 0;
  std::uint32_t nodes = 0, pods = 0, shapes = 0, applications = 0, resources = 0, node_classes = 0;
  std::uint32_t elastic_quotas = 0;  // that count
  std::size_t cache_bytes = 0;
  // Resources on nodes that are beyond kResourcesMax: pods that ask for one fit nowhere.
  std::uint32_t resources_beyond = 0;
};

}  // namespace headroom
