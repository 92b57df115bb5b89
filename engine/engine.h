// Engine: the cluster's current facts, and decisions about them. Start here.
//
//   auto engine = headroom::Engine::create(headroom::Profile::standard()).value();
//   engine.upsert(node); engine.upsert(pod); engine.upsert(metric);
//   auto decision = engine.evaluate(pending_pod, {.top_k = 16});
//   engine.assume(pending_pod, engine.node_name(decision->candidates[0].node));
//
// State is a function of the current facts: whatever order events came in, the same facts give the
// same answers and the same digest(). Facts outlive what they refer to: a pod bound to a node that
// is not known yet, or a metric before its node, counts as soon as the node arrives.
//
// Thread safety: one thread at a time. Inside a call the engine may use TBB; an answer is the same
// for any number of threads. The engine never reads a clock: time moves by advance().
// Cost: an event is O(1) in nodes and in pods on its node (a metric: in the pods that it lists); a
// decision for a known shape costs what changed since it was last asked, for a new one a full pass.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/profile.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// A row of the node table. A name keeps its row as long as any fact mentions it.
enum class NodeIndex : std::uint32_t {};
inline constexpr NodeIndex kNoNode{0xFFFFFFFF};
// Pods that no policy can tell apart have one shape.
enum class ShapeIndex : std::uint32_t {};

inline constexpr std::uint32_t kNodesMax = 4'000'000;
inline constexpr std::uint32_t kPodsMax = 64'000'000;
inline constexpr std::uint32_t kResourcesMax = 64;
inline constexpr std::uint32_t kTopKMax = 1024;
inline constexpr std::uint32_t kScorePluginsMax = 5;
inline constexpr std::uint32_t kElasticQuotasMax = 100'000;
inline constexpr std::uint32_t kPodDisruptionBudgetsMax = 1'000'000;
inline constexpr std::uint32_t kPriorityClassesMax = 10'000;

struct EngineOptions {
  bool shape_cache = true;  // off: no answer changes, only its cost
  // Of shapes that only decisions ask for, and of what is cached for any: the least recently used
  // go first.
  std::size_t shape_cache_bytes_max = 512ull << 20;
  std::int32_t threads = 0;  // 0: what TBB takes
  std::uint64_t seed = 0;    // 0: ties go to the lowest row; else to an order drawn from the seed
};

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

struct EvaluateOptions {
  std::uint32_t top_k = 1;    // in [1, kTopKMax]
  bool plugin_scores = true;  // fill NodeScore::plugins
  bool reasons = true;        // fill Decision::reasons
};

// What the pre-filter of CapacityScheduling says; see Engine::pre_filter().
struct PreFilterStatus {
  Code code = Code::kSuccess;  // or kUnschedulable
  // Mode Proposal: one for each resource, "ElasticQuota team-a/quota: cpu: used 3 + nominated 0 +
  // requested 2 is more than max 4". Mode Upstream: scheduler-plugins' words.
  std::vector<std::string> reasons;
};

struct Decision {
  // kUnschedulable: no node is feasible, or the pre-filter rejects the pod; kError: a plugin failed
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

// A node as it would be, while a question is answered.
struct FilterOptions {
  std::span<const PodName> without = {};  // as if these neither counted nor waited for room there
  // As if these were assumed there. One that counts there already changes nothing, even if
  // `without` has it; nor does one that is bound elsewhere.
  std::span<const Pod> with = {};
};

// One line of an explanation: the numbers that went in, and what came out.
struct ExplainTerm {
  PluginId plugin;
  std::string extension_point;  // "Filter", "Score", "NormalizeScore"
  std::string resource;         // empty where the line is not about one
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

struct PostFilterOptions {
  bool candidates = false;  // fill PostFilter::candidates; costs a dry run and texts for every node
  bool bound = true;        // off: no answer changes, only its cost
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

struct PodVerdict {
  Victim pod;
  bool victim = false;
  std::string why;
};

struct QuotaAmount {
  std::string resource;
  // In the resource's unit (cpu in milli). min 0 and max INT64_MAX where the quota names none.
  std::int64_t min = 0, max = INT64_MAX, used = 0, nominated = 0;
};

// What a controller publishes as status.used, and what borrowing and lending come to.
struct QuotaStatus {
  std::string namespace_name, name;
  std::vector<QuotaAmount> amounts;  // of resources that min, max, used or nominated name
  bool over_min = false;             // uses more than its min: it borrows
};

struct Placement {
  NodeIndex node = kNoNode;  // kNoNode: not placed, and `decision` says why
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

// Asked between pieces of work of some microseconds: true ends the turn, and the caller asks for
// another one when others have had theirs. Always at least one piece is done.
using Pause = std::function<bool()>;

struct EngineStats {
  std::uint64_t decisions = 0, cache_hits = 0, cold_passes = 0, rows_replayed = 0;
  std::uint64_t bad_annotations = 0;  // nodes and pods whose annotation was ignored, now
  std::uint32_t nodes = 0, pods = 0, shapes = 0, resources = 0, node_classes = 0;
  std::size_t cache_bytes = 0;
  // Resources on nodes that are beyond kResourcesMax: pods that ask for one fit nowhere.
  std::uint32_t resources_beyond = 0;
};

class Engine {
 public:
  // Errors: kInvalid, kLimitExceeded or kUnsupported naming the profile's field.
  static Result<Engine> create(Profile profile, EngineOptions options = {});
  // A new engine with what save() wrote: digest() and every answer are those of the saved one, but
  // that epochs and shape_of() begin anew. kInvalid naming what is wrong: no state file, of another
  // version, cut off or damaged, saved under a profile that differs in any member; kIo; and
  // create()'s errors. O(nodes + pods).
  static Result<Engine> load(Profile profile, const std::string& path, EngineOptions options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // --- Facts. Each is idempotent and applies whole or not at all. ---
  Result<void> upsert(const Node& node);
  Result<void> upsert(const Pod& pod);
  Result<void> upsert(const NodeMetric& metric);
  // Of several quotas in a namespace the first by name counts. Kept only where the profile has
  // CapacityScheduling, as are budgets and priority classes.
  Result<void> upsert(const ElasticQuota& quota);
  Result<void> upsert(const PodDisruptionBudget& budget);
  // For pods that state no priority of their own.
  Result<void> upsert(const PriorityClass& priority_class);
  // kUnsupported for a CapacityQuota, which is asked apart (autoscaling/capacity_quotas.h).
  Result<void> upsert(const Object& object);
  // Deleting what is not there changes nothing.
  void remove_node(std::string_view name);
  void remove_pod(std::string_view namespace_name, std::string_view name);
  void remove_node_metric(std::string_view name);
  void remove_elastic_quota(std::string_view namespace_name, std::string_view name);
  void remove_pod_disruption_budget(std::string_view namespace_name, std::string_view name);
  void remove_priority_class(std::string_view name);
  // The scheduler has chosen: the pod counts on the node until it is bound, forgotten or deleted.
  // A pod that is bound already stays where it is.
  Result<void> assume(const Pod& pod, std::string_view node_name);
  // Undoes assume() of the same uid on the same node; anything else changes nothing.
  void forget(std::string_view namespace_name, std::string_view name, std::string_view uid,
              std::string_view node_name);
  // Moves the clock; never backwards (kInvalid).
  Result<void> advance(std::int64_t now_us);
  // Sets the clock to what it should have been, backwards too: metrics that had expired count
  // again, and a pod that was first seen later than now was first seen now. All that follows from
  // the time is as if it had never been later. O(nodes + pods) backwards, else as advance().
  void correct_clock(std::int64_t now_us);
  std::int64_t now_us() const;

  // While on, events only mark the rows that they change, and the next look derives their columns:
  // for many facts without a decision between them. No answer changes.
  void set_bulk(bool on);
  // A turn of what the next look would have to derive; true when nothing of it is left.
  bool settle(const Pause& pause);

  // Writes all facts and the time to a file, complete or not at all: beside it first, then renamed.
  // kIo. Open forks are not kept: a loaded engine has none. O(nodes + pods), and the file's bytes
  // in memory meanwhile.
  Result<void> save(const std::string& path) const;

  // Least recently used entries go until the rest fits; no answer changes. drop_shape_cache(): all.
  void set_shape_cache_bytes_max(std::size_t bytes);
  void drop_shape_cache() noexcept;

  // --- Trying: every fact above may be taken back. ---
  // From fork() to rollback() every change is remembered, and taken back by it: facts, the clock
  // and the NodeIndex of every name are as before, and so is every answer. epoch() still grows.
  // commit() keeps the changes. They nest. fork() is O(1), a change costs a copy of what it
  // replaces, rollback() what changed.
  void fork();
  void rollback();  // no fork: our caller's mistake (assertion), as for commit()
  void commit();
  std::uint32_t forks() const;  // open ones

  // --- Decisions. None changes a fact. ---
  // A pod that counts on a node already, by namespace and name, is decided as if it did not.
  // Errors: kInvalid or kLimitExceeded naming the option or the pod's field.
  Result<Decision> evaluate(const Pod& pod, const EvaluateOptions& options = {});
  // The same into an answer whose memory is used again.
  Result<void> evaluate(const Pod& pod, const EvaluateOptions& options, Decision& decision);
  // For callers whose thread serves others too: a turn of what a decision for the pod begins with
  // where its shape is new, which is to tell nodes apart by what its selectors read and to hold
  // those against every class of nodes. True when nothing of it is left, so that the next call with
  // the pod costs no more than for a known shape. Facts and questions may come between the turns.
  Result<bool> prepare(const Pod& pod, const Pause& pause);
  // The same, and then the decision; false: not decided yet.
  Result<bool> evaluate(const Pod& pod, const EvaluateOptions& options, const Pause& pause,
                        Decision& decision);
  // For callers that ask for one shape often: a decision by shape reads no pod. The shape stays
  // valid as long as the engine; the pods asked for must not count on a node yet.
  Result<ShapeIndex> shape_of(const Pod& pod);
  Result<void> evaluate(ShapeIndex shape, const EvaluateOptions& options, Decision& decision);
  // Many pods against one state, in parallel; answers in the pods' order.
  Result<std::vector<Decision>> evaluate(std::span<const Pod> pods,
                                         const EvaluateOptions& options = {});
  // One after the other, each assumed on its best node before the next is asked. On an error none
  // is placed. With `preempt` a pod that finds none asks post_filter(): where that helps, the pod
  // is kept as nominated to its node, and its victims as terminating, before the next is asked;
  // they count until they are removed, as they do in a cluster.
  Result<std::vector<Placement>> place(std::span<const Pod> pods,
                                       const EvaluateOptions& options = {}, bool preempt = false);
  // The same for one pod, without `preempt`, into a placement whose memory is used again.
  Result<void> place(const Pod& pod, const EvaluateOptions& options, Placement& placement);
  // May the pod's namespace have it? As evaluate() asks first. O(resources).
  // Source: proposal-rules "CapacityScheduling"; scheduler-plugins capacity_scheduling.go
  // PreFilter.
  Result<PreFilterStatus> pre_filter(const Pod& pod);
  // What every answer about the pod leaves out, as they say it.
  NotConsideredSet not_considered(const Pod& pod) const;
  // Who must go if not? For a pod that evaluate() finds unschedulable; one that has a feasible node
  // gets kUnschedulable and a reason. Nothing changes: the caller deletes the victims and nominates
  // the pod. Source: as above, and kube-scheduler's preemption. Cost: a bound for every node, and a
  // dry run for those that it cannot rule out, in parallel.
  Result<PostFilter> post_filter(const Pod& pod, const PostFilterOptions& options = {});
  // The pods of one node, most important first: which are victims there, and why.
  Result<std::vector<PodVerdict>> explain_victims(const Pod& pod, std::string_view node_name);
  // All nodes in row order.
  Result<std::vector<NodeDetail>> evaluate_all(const Pod& pod);
  // All nodes in row order, by code and total alone, into an answer whose memory is used again:
  // for whoever has to answer for every node. Costs as a decision, and some nanoseconds a node.
  Result<void> evaluate_nodes(const Pod& pod, NodesDecision& decision);
  // May this one node run the pod now, or as `options` say it would be? Without scores: `plugins`
  // and `total` stay empty. O(1) in nodes. kNotFound if the node is not known.
  Result<NodeDetail> filter(const Pod& pod, std::string_view node_name,
                            const FilterOptions& options = {});
  // The same of several nodes in their order, which are looked at whatever the pre-filter says.
  // kInvalid: options that say something are for one node.
  Result<void> filter(const Pod& pod, std::span<const NodeIndex> nodes,
                      const FilterOptions& options, NodesDecision& decision);
  Result<Explanation> explain(const Pod& pod, std::string_view node_name);

  // --- Looking. ---
  const Profile& profile() const;
  std::uint64_t epoch() const;  // grows with every change of a row
  EngineStats stats() const;
  std::uint32_t pod_count() const;     // pods known, as in stats()
  std::uint32_t assumed_pods() const;  // that are not bound; O(pods)
  std::uint32_t row_count() const;     // every NodeIndex is below it
  // Empty view for kNoNode.
  std::string_view node_name(NodeIndex node) const;
  NodeIndex find_node(std::string_view name) const;  // kNoNode if not known
  // Where a pod that is not terminal counts: bound, or else assumed. kNoNode: nowhere.
  NodeIndex node_of_pod(std::string_view namespace_name, std::string_view name) const;
  // The quotas that count, by namespace. O(quotas).
  std::vector<QuotaStatus> quota_status() const;
  // By row. kNotFound: a resource that no node has. O(nodes).
  Result<NodeFigures> node_figures(std::string_view resource) const;
  // The same for the same facts, whatever their order; O(nodes + pods).
  std::uint64_t digest() const;
  // Recomputes every aggregate and column from the facts and compares. O(nodes + pods).
  Result<void> validate() const;
  // A turn of it, from `row` on, which is 0 at first: true when all is right, false when there is
  // more to check. Facts may change between turns; the last, which compares the sums over all nodes
  // and pods, is taken at once.
  Result<bool> validate(std::uint32_t& row, const Pause& pause) const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
