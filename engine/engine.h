// Engine: the cluster's current facts, and decisions about them. Start here.
//
//   auto engine = headroom::Engine::create(headroom::Profile::standard()).value();
//   engine.upsert(node); engine.upsert(pod); engine.upsert(metric);
//   auto decision = engine.evaluate(pending_pod, {.top_k = 16});
//   engine.assume(pending_pod, engine.node_name(decision->candidates[0].node));
//
// State is a function of the current facts: whatever order events came in, the same facts give the
// same answers and the same digest(); but for the volumes that a pod chooses when it is assumed,
// which are what there is then. Facts outlive what they refer to: a pod bound to a node that
// is not known yet, or a metric before its node, counts as soon as the node arrives.
//
// Thread safety: one thread at a time. Inside a call the engine may use TBB; an answer is the same
// for any number of threads. The engine never reads a clock: time moves by advance().
// Cost: an event is O(1) in nodes and in pods on its node (a metric: in the pods that it lists, a
// node's labels and taints: in its pods); a decision for a known shape costs what changed since it
// was last asked, for a new one a full pass.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/answers.h"
#include "engine/limits.h"
#include "engine/options.h"
#include "engine/profile/profile.h"
#include "objects/audit_items.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

class Audit;

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
  // kInvalid: a name is missing, or an amount is below 0; kLimitExceeded: an amount is beyond int64
  // in its resource's unit, a time beyond kTimeMaxUs, or there is more than limits.h has room for.
  // The message names object and field.
  Result<void> upsert(const Node& node);
  Result<void> upsert(const Pod& pod);
  Result<void> upsert(const NodeMetric& metric);
  // Of several quotas in a namespace the first by name counts. Kept only where the profile has
  // CapacityScheduling, as are budgets.
  Result<void> upsert(const ElasticQuota& quota);
  Result<void> upsert(const PodDisruptionBudget& budget);
  // For pods that state no priority of their own.
  Result<void> upsert(const PriorityClass& priority_class);
  // A namespace, a service, a claim, ... that nodes and pods refer to. Kept only where some plugin
  // of the profile reads its kind.
  Result<void> upsert(const ReferredObject& object);
  // kUnsupported for a CapacityQuota, which is asked apart (autoscaling/capacity_quotas.h).
  Result<void> upsert(const Object& object);
  // Deleting what is not there changes nothing.
  void remove_node(std::string_view name);
  void remove_pod(std::string_view namespace_name, std::string_view name);
  void remove_node_metric(std::string_view name);
  void remove_elastic_quota(std::string_view namespace_name, std::string_view name);
  void remove_pod_disruption_budget(std::string_view namespace_name, std::string_view name);
  void remove_priority_class(std::string_view name);
  // `key`: "namespace/name", or the name where the kind has no namespace.
  void remove(ReferredKind kind, std::string_view key);
  // The scheduler has chosen: the pod counts on the node until it is bound, forgotten or deleted.
  // A pod that is bound already stays where it is. What VolumeBinding would bind there of its
  // claims that wait for their first consumer is kept for it meanwhile: to others a volume counts
  // as claimed, and a claim for which one is to be made has the node selected. Source:
  // kube-scheduler v1.37's AssumePodVolumes. No object changes.
  Result<void> assume(const Pod& pod, std::string_view node_name);
  // Undoes assume() of the same uid on the same node; anything else changes nothing.
  void forget(std::string_view namespace_name, std::string_view name, std::string_view uid,
              std::string_view node_name);
  // Moves the clock; never backwards (kInvalid), nor beyond kTimeMaxUs (kLimitExceeded).
  Result<void> advance(std::int64_t now_us);
  // Sets the clock to what it should have been, backwards too: metrics that had expired count
  // again, and a pod that was first seen later than now was first seen now. All that follows from
  // the time is as if it had never been later. Of what is beyond [0, kTimeMaxUs] the nearest
  // counts. O(nodes + pods) backwards, else as advance().
  void correct_clock(std::int64_t now_us);
  std::int64_t now_us() const;

  // Room for so many nodes and pods, where most of them are to come: tables that grow meanwhile
  // hold a change up, for tens of milliseconds where they are large. No limit: more may come, and
  // of what is not used next to nothing takes memory.
  void reserve(std::uint32_t nodes, std::uint32_t pods);

  // While the scope lives, events only mark the rows that they change, and the next look derives
  // their columns: for many facts without a decision between them. No answer changes. Its engine
  // may be moved meanwhile, and outlives it; where one lives already, a second one changes nothing.
  class [[nodiscard]] Bulk;
  Bulk bulk();
  // A turn of what the next look would have to derive; true when nothing of it is left.
  bool derive(const Pause& pause);

  // Writes all facts and the time to a file, complete or not at all: beside it first, then renamed.
  // kIo; kLimitExceeded: more than load() takes. Open forks are not kept: a loaded engine has none.
  // O(nodes + pods), and the file's bytes in memory meanwhile.
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
  // For callers that ask for one shape often: a decision by shape reads no pod, so that it has no
  // priority: no room is kept for pods that are nominated to a node. The shape stays valid as long
  // as the engine; the pods asked for must not count on a node yet.
  Result<ShapeIndex> shape_of(const Pod& pod);
  // kNotFound: it is no index of this engine.
  Result<void> evaluate(ShapeIndex shape, const EvaluateOptions& options, Decision& decision);
  // Many pods against one state, in parallel; answers in the pods' order.
  Result<std::vector<Decision>> evaluate(std::span<const Pod> pods,
                                         const EvaluateOptions& options = {});
  // One after the other, each assumed on its best node before the next is asked. On an error none
  // is placed; kInvalid: one pod is there twice, and would count once. With `preempt` a pod that
  // finds none asks post_filter(): where that helps, the pod is kept as nominated to its node, and
  // its victims as terminating, before the next is asked; they count until they are removed, as
  // they do in a cluster. Each has volumes of its own: see assume().
  // A pod's own nominated node, the one that it names or is kept with, is tried first: where it
  // takes the pod no other is looked at, and the one candidate has no scores. Source:
  // kube-scheduler's evaluateNominatedNode.
  Result<std::vector<Placement>> place(std::span<const Pod> pods,
                                       const EvaluateOptions& options = {}, bool preempt = false);
  // The same for one pod, without `preempt`, into a placement whose memory is used again.
  Result<void> place(const Pod& pod, const EvaluateOptions& options, Placement& placement);
  // What place() decides, for who has more to do before the pod is assumed, or asks more of it:
  // the pod's own nominated node where that takes it, else evaluate().
  Result<Decision> decide(const Pod& pod, const EvaluateOptions& options = {});
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
  // A turn of the same, from new `turns` and `answer` on; true when it is complete. Only with
  // options.candidates is there more than one: facts may change between them, so each node's
  // outcome is of its own turn, and all else of the last. Not across two engines.
  Result<bool> post_filter(const Pod& pod, const PostFilterOptions& options, const Pause& pause,
                           PostFilterTurns& turns, PostFilter& answer);
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
  // Whether filter() says Success, and not why: a fraction of its cost where what the node has, its
  // labels or its taints are in the way. kNotFound if the node is not known.
  Result<bool> passes(const Pod& pod, std::string_view node_name);
  // Whether what the node has, its labels and its taints let a pod of the shape in, as evaluate()
  // by shape has it: nothing is asked of other pods, volumes and quotas, and no room is kept for
  // pods that are nominated. kNotFound if the node or the shape is not known.
  Result<bool> has_room(ShapeIndex shape, NodeIndex node);
  Result<Explanation> explain(const Pod& pod, std::string_view node_name);
  // What the cluster would write of the pod's claims that wait for their first consumer, were it
  // bound to the node: each claim's volume, one that there was or one that is made, and the claim,
  // bound. Of a pod that is assumed there: what it chose then.
  // Nothing where no claim waits, where the node rejects the pod, or where the profile has no
  // VolumeBinding. No fact changes: who plays the cluster, as a simulation does, upserts them with
  // the pod, for the next decision to see. kNotFound: the node is not known.
  // Source: kube-scheduler v1.37 VolumeBinding's PreBind, and what binds and provisions after it; a
  // volume that is made can be used where its storage is (CSIStorageCapacity), else by the keys of
  // its class's allowedTopologies, else in the node's zone.
  Result<std::vector<ReferredObject>> bound_volumes(const Pod& pod, std::string_view node_name);

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
  // The last fact about the pod of this uid is that it is terminal: assume() leaves it so.
  bool has_ended(std::string_view namespace_name, std::string_view name,
                 std::string_view uid) const;
  // The quotas that count, by namespace: of those that sort after this one, at most so many.
  // O(quotas).
  std::vector<ElasticQuotaStatus> elastic_quota_status(
      std::string_view after = {},
      std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  // By row. kNotFound: a resource that no node has. O(nodes).
  Result<NodeFigures> node_figures(std::string_view resource) const;
  // The same for the same facts, whatever their order; O(nodes + pods).
  std::uint64_t digest() const;
  // Recomputes every aggregate and column from the facts and compares. O(nodes + pods).
  Result<void> validate() const;
  // Both in turns, for callers whose thread serves others too; see audit.h.
  std::unique_ptr<Audit> audit(AuditOptions options) const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class Engine::Bulk {
 public:
  Bulk(Bulk&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)), was_(other.was_) {}
  Bulk& operator=(Bulk&&) = delete;
  ~Bulk();

 private:
  friend class Engine;
  Bulk(Impl& impl, bool was) : impl_(&impl), was_(was) {}

  Impl* impl_;
  bool was_;
};

}  // namespace headroom
