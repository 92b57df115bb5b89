// Cluster: the current facts, and the node table that follows from them.
//
// Keeps what conformance rules call "facts, not history": per key the latest object counts; a pod
// is on the node that its object names, failing that where it is assumed; facts about nodes and
// pods that do not exist (yet) stay. An event marks the rows that it changes; settle() derives
// their columns, at once or, in bulk, with the next look, and ends in NodeTable::commit(). Thread
// safety: one thread at a time. Invariants: (1) pods are linked into the list of the row where they
// count, those whose load depends on the metric's age first; (2) a row exists as long as a node, a
// pod or a metric names it; validate() checks these and every aggregate.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/answers.h"
#include "engine/facts/journal.h"
#include "engine/facts/shape_key.h"
#include "engine/facts/soft_taints.h"
#include "engine/options.h"
#include "engine/policies/limit_aware.h"
#include "engine/policies/load_aware.h"
#include "engine/policies/node_resources.h"
#include "engine/policies/policy.h"
#include "engine/policies/resource_limit_aware.h"
#include "engine/profile/profile.h"
#include "engine/quotas/capacity_scheduling.h"
#include "engine/table/chunked.h"
#include "engine/table/facts.h"
#include "engine/table/node_class.h"
#include "engine/table/node_table.h"
#include "engine/table/pod_shape.h"
#include "objects/hash.h"

namespace headroom {

// Why a class rejects a pod, or a row before its columns are looked at; PodShape::class_codes hold
// kClassRejection | index.
struct ClassReason {
  PluginId plugin;
  std::string_view reason;
};

// The reason of rows that hold no node; never shown.
inline constexpr std::uint32_t kNoNodeReason = kClassRejection - 1;
// A row whose pods have a port that the shape asks for; the first of the class reasons. Then those
// whose words are always the same.
inline constexpr std::uint32_t kPortsTaken = kClassRejection;
inline constexpr std::uint32_t kUnschedulableMark = kClassRejection | 1;
inline constexpr std::uint32_t kOtherNodeName = kClassRejection | 2;
inline constexpr std::uint32_t kAffinityMismatch = kClassRejection | 3;
inline constexpr std::uint32_t kUntoleratedTaint = kClassRejection | 4;  // mode Upstream

// Reasons that answers may point to although no shape gives them any more.
inline constexpr std::size_t kUnusedReasonsMax = 65'536;

class Cluster;
struct AuditNotes;

// Holds shapes for the time of a call.
class ShapeHolds {
 public:
  explicit ShapeHolds(Cluster& cluster) : cluster_(cluster) {}
  ShapeHolds(const ShapeHolds&) = delete;
  ShapeHolds& operator=(const ShapeHolds&) = delete;
  ~ShapeHolds();
  void add(const PodShape* shape);  // nullptr, or a passing one: nothing

 private:
  Cluster& cluster_;
  std::vector<ShapeId> held_;
};

class Cluster {
 public:
  // Shapes that only decisions ask for, and what is cached for any, stay below so many bytes.
  explicit Cluster(Profile profile,
                   std::size_t shape_bytes_max = EngineOptions().shape_cache_bytes_max);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // --- Events; see Engine. ---
  Result<void> upsert(const Node& node);
  Result<void> upsert(const Pod& pod);
  Result<void> upsert(const NodeMetric& metric);
  Result<void> upsert(const ElasticQuota& quota);
  Result<void> upsert(const PodDisruptionBudget& budget);
  Result<void> upsert(const PriorityClass& priority_class);
  void remove_elastic_quota(std::string_view namespace_name, std::string_view name);
  void remove_pod_disruption_budget(std::string_view key);
  void remove_priority_class(std::string_view name);
  void remove_node(std::string_view name);
  void remove_pod(std::string_view key);
  void remove_node_metric(std::string_view name);
  Result<void> assume(const Pod& pod, std::string_view node_name);
  // The same with the pod's shape and the node's row at hand, for a pod that there is room for.
  void assume(const Pod& pod, const PodShape& shape, std::uint32_t row);
  // kInvalid or kLimitExceeded if so many pods more, this one among them, cannot be kept.
  Result<void> check_room(const Pod& pod, std::size_t count) const;
  // A preemption: the pod waits for room on the row, pods of lower priority no longer do, and the
  // victims terminate. Returns the keys of the former.
  std::vector<std::string> preempt(const Pod& pod, std::uint32_t row,
                                   std::span<const std::string> victims);
  void forget(std::string_view key, std::string_view uid, std::string_view node_name);
  Result<void> advance(std::int64_t now_us);
  void correct_clock(std::int64_t now_us);
  std::int64_t now_us() const { return now_us_; }

  // --- Forks; see Engine. ---
  void fork() { journal_.fork(); }
  void rollback();
  void commit();
  std::uint32_t forks() const { return journal_.forks(); }

  // --- Shapes ---
  // The shape by which the pod counts on a node, whatever it asks of a node's class: many pods that
  // name their nodes (of a DaemonSet) count as one shape. Stays valid.
  Result<PodShape*> counting_shape_of(const Pod& pod);
  // The shape for a decision; a passing one is valid until the next is asked for. kLimitExceeded
  // where the pod's filters have more terms than a code bits.
  Result<PodShape*> decidable_shape_of(const Pod& pod);
  // The same, but kept for good.
  Result<PodShape*> lasting_shape_of(const Pod& pod);
  // The same for one of many pods: what stays valid, else nullptr; then shape_again() makes a
  // passing one anew.
  Result<PodShape*> kept_shape_of(const Pod& pod);
  PodShape& shape_again(const Pod& pod, PodShape* kept);
  // What a decision about the pod leaves out.
  NotConsideredSet not_considered(const Pod& pod) const;
  // A shape that somebody needs is not freed, nor is the one that was asked for last: who needs
  // several at a time holds them (ShapeHolds).
  void hold(ShapeId id) { use_shape(id, 1); }
  void release(ShapeId id) { use_shape(id, -1); }
  // How many bytes are cached for the shape, which counts as used now.
  void set_cached_bytes(PodShape& shape, std::size_t bytes);
  // Frees what was used least recently until there is room, also for so many bytes more; `drop`
  // lets go of what is cached for a shape.
  void trim_shapes(std::size_t room = 0);
  void set_shape_bytes_max(std::size_t bytes) {
    shape_bytes_max_ = bytes;
    trim_shapes();
  }
  void on_drop(std::function<void(ShapeId)> drop) { drop_cached_ = std::move(drop); }
  std::size_t shape_bytes() const { return shape_bytes_; }
  // spec.nodeName where the profile filters by it, else nothing.
  std::vector<std::string> named_node(const Pod& pod) const;
  PodShape* shape_at(ShapeId id) const {  // nullptr if there is none
    return id < shapes_.size() ? shapes_[id].get() : nullptr;
  }
  // settle(), and what the shape keeps of classes and columns. Before the table is read for it.
  void prepare(PodShape& shape);
  // The same in turns: true when nothing is left. Other shapes and events may come between them.
  bool prepare(PodShape& shape, const Pause& pause);
  // The same before single rows are read by row_class_code(), in O(1).
  void prepare_for_rows(PodShape& shape);
  // 0, or why nodes of the class reject the shape. `name_matches`: spec.nodeName is the node's or
  // empty.
  std::uint32_t class_code(const PodShape& shape, const NodeClass& node_class,
                           std::string_view node_name, bool name_matches);
  // The same of a row's class, for a shape that names no node: as prepare() keeps it, or else
  // worked out now.
  std::uint32_t row_class_code(const PodShape& shape, std::uint32_t row);
  // Whether a pod that counts on the row has a port that the shape asks for.
  bool ports_taken(const PodShape& shape, std::uint32_t row) const {
    return !shape.host_ports.empty() && nodes_[row].ports.conflict(shape.host_ports);
  }
  // Which of them, and whose it is, where ports_taken(): of the pods that count there for a pod of
  // this priority.
  std::string taken_port(const PodShape& shape, std::uint32_t row, std::int32_t priority) const;
  ClassReason class_reason(std::uint32_t code) const {
    return class_reasons_[code & ~kClassRejection];
  }
  // Runs `look` while the pod does not count where it is now (mode Proposal: an incoming pod that
  // is already on a node is not counted there) and is nominated nowhere.
  void without(const Pod& pod, const std::function<void()>& look);
  // Runs `look` while the row is as `options` say. Errors, of a pod in `with` that cannot be used,
  // come before anything is done; afterwards all is as it was, but for the epoch.
  Result<void> as_if(std::uint32_t row, const FilterOptions& options,
                     const std::function<void()>& look);
  // What the quotas say of the pod, whose shape this is. Success without CapacityScheduling.
  PreFilterStatus pre_filter(const Pod& pod, const PodShape& shape) const;
  // Runs `look` while the pods of at least the pod's priority which are nominated to a node count
  // there, wherever the shape's filters would say otherwise because of them. Scores never see them.
  void with_nominated(const Pod& pod, PodShape& shape, const std::function<void()>& look);

  // Makes the table what the facts say. Before every look at the table.
  void settle();
  bool settle(const Pause& pause);  // a turn of it; true when nothing is left
  // While on, events leave that to the next look.
  void set_bulk(bool on);

  // --- Looking ---
  const Profile& profile() const { return profile_; }
  const NodeTable& table() const { return table_; }
  const NodeClasses& classes() const { return classes_; }
  const ResourceNames& resources() const { return names_; }
  const NodeFacts& node(std::uint32_t row) const { return nodes_[row]; }
  std::uint32_t find_row(std::string_view name) const;
  std::uint32_t counted_row_of(std::string_view pod_key) const;  // kNoRow: the pod counts nowhere
  bool has_ended(std::string_view pod_key, std::string_view uid) const;  // a terminal pod is known
  const PodFacts& pod(PodId id) const { return pods_[id]; }
  // nullptr where the profile has no CapacityScheduling.
  const CapacityScheduling* capacity() const { return capacity_.get(); }
  // Exact; 0 without a node.
  Quantity allocatable(std::uint32_t row, ResourceId resource) const;
  std::uint32_t node_count() const { return node_count_; }
  std::uint32_t nodes_in_class(std::uint32_t node_class) const {
    return node_class < class_sizes_.size() ? class_sizes_[node_class] : 0;
  }
  std::uint32_t pod_count() const { return pod_count_; }
  std::uint32_t assumed_pods() const;
  // Grows where shapes that are known change: what else is kept by their numbers is worth nothing.
  std::uint64_t shapes_generation() const { return shapes_generation_; }
  std::uint32_t shape_count() const { return shape_count_; }
  // Of all classes; those that shapes cache codes of.
  std::uint32_t class_reason_count() const {
    return static_cast<std::uint32_t>(class_reasons_.size());
  }
  // Every ShapeId is below it.
  std::uint32_t shape_limit() const { return static_cast<std::uint32_t>(shapes_.size()); }
  std::uint64_t bad_annotations() const { return bad_annotations_; }
  void notes(std::uint32_t row, std::vector<Note>& out) const;
  NodeFigures figures(ResourceId resource) const;  // after settle()
  std::uint64_t digest() const;
  Result<void> validate();
  // From now on what changes is noted there, as long as somebody else holds it.
  void watch(const std::shared_ptr<AuditNotes>& notes);

 private:
  friend class Audit;         // looks at all of it in turns (audit.h)
  friend class ClusterState;  // saves and restores all of it (cluster_state.h)
  struct PolicyOf {
    Policy* policy;
    PluginId plugin;
  };

  // Rows and names.
  std::uint32_t row_of(std::string_view name);
  void name_row(std::uint32_t row, std::string name);
  void set_node(std::uint32_t row, std::unique_ptr<const Node> node);  // nullptr: no more
  void unmention(std::uint32_t row);
  void release_row_if_unused(std::uint32_t row);
  void set_node_columns(std::uint32_t row);
  void set_class(std::uint32_t row, std::uint32_t node_class);
  bool split_classes(const Pause& pause);
  void split_row(std::uint32_t row);
  bool inherits(const PodShape& shape, std::uint32_t node_class) const;
  void limit_classes();
  // What of a row does not follow from the facts yet. Everything: its node, its metric or the clock
  // changed; pods: only those.
  enum class Stale : std::uint8_t { kNothing, kOnlyPods, kEverything };
  void mark(std::uint32_t row, Stale stale);
  bool derive(std::uint32_t row);
  Result<void> check_resources(const ResourceList& list, const std::string& object,
                               const char* field) const;
  Result<void> check_resources(const Pod& pod) const;

  // Names of resources (cluster_names.cpp).
  struct Renaming {
    std::vector<ShapeId> shapes;                        // that name one
    std::vector<std::pair<PodId, std::uint32_t>> pods;  // of them, and the rows where they counted
  };
  std::vector<std::string> names_of(const Node* node) const;
  static std::vector<std::string> names_of(const Pod& pod);
  ResourceNames::Change rename(const Node* before, const Node* node);
  // Between them the pods that ask for a name that changes count nowhere.
  Renaming begin_renaming(const ResourceNames::Change& change);
  void end_renaming(const Renaming& renaming);
  void renumber(const ResourceNames::Change& change);
  void set_allocatable(NodeFacts& facts) const;
  void put_quota(std::string_view namespace_name, std::string_view name, const ElasticQuota* quota);
  void free_quota_names();

  // Pods.
  PodId pod_of(std::string_view key);
  void name_pod(PodId id, std::string key);
  void release_pod_if_unused(PodId id);
  void move_to(std::uint32_t& named_row, std::uint32_t row);
  void replace_if_other(PodFacts& pod, PodId id, const std::string& uid);
  void update_object(PodFacts& pod, const Pod& object, const PodShape& shape);
  void count(PodId id);
  void uncount(PodId id);
  void recount(PodId id, std::uint32_t row_before);
  void link(PodId id);
  void unlink(PodId id);
  void add_allocatable_needs(std::uint32_t row, const PodShape& shape, int sign);
  void nominate(PodId id);
  void denominate(PodId id);
  void count_nominated(PodId id, int sign);
  // The facts of a pod that is assumed on a row for the time of a look, and how it counted.
  struct Assumed {
    PodId pod;
    PodFacts before;
    std::uint32_t counted_row;
    bool nominated;
  };
  std::optional<Assumed> assume_for_now(const Pod& object, const PodShape& shape,
                                        std::uint32_t row);
  void restore(Assumed& assumed, std::uint32_t row);
  void exchange(PodId id, PodFacts& facts);
  void refresh_priorities();

  // Metrics.
  struct Recount {
    PodId pod;
    bool stood_first;  // among the pods of its row
  };
  void begin_recount(std::uint32_t row, const std::vector<PodId>& listed, bool everything);
  void end_recount(std::uint32_t row);
  void schedule_expiry(std::uint32_t row);
  void prefetch(const NodeMetric& metric, std::uint32_t row) const;

  // Forks: before a fact is replaced, while one is open. Of a metric nothing is left to replace.
  void remember(PodId id);
  void remember_metric(std::uint32_t row);
  void remember_quota(std::string_view namespace_name, std::string_view name);
  void remember_budget(std::string_view key);
  void remember_priority_class(std::string_view name);
  struct TakeBack;

  // Policies by plugin, in the profile's order.
  Policy* policy_of(PluginId plugin) const;
  std::uint32_t class_reason_index(PluginId plugin, std::string_view reason);
  void forget_class_reasons();
  Result<PodShape*> shape_of(const Pod& pod, ShapeUse use, bool lasting);
  void describe(PodShape& shape, const Pod& pod);
  void use_shape(ShapeId id, int by);
  void set_shape(PodFacts& pod, ShapeId id);
  void measure(PodShape& shape) const;
  void count_bytes(PodShape& shape);
  void note_use(PodShape& shape);
  void free_shape(ShapeId id);
  std::size_t hold_reason(std::string_view& reason);
  void release_reason(std::string_view reason);
  void release_reasons(PodShape& shape);
  bool code_classes(PodShape& shape, const Pause& pause);
  std::unique_ptr<PodShape> make_shape(const Pod& pod, ShapeUse use, ShapeId id, ShapeId counts_as);
  bool enabled(PluginId plugin) const;
  std::uint64_t digest_of_row(std::uint32_t row) const;
  std::uint64_t digest_of_pod(PodId id) const;
  std::uint64_t digest_of_rest() const;
  // Each by itself, and the sums over all of them.
  Result<void> validate_row(std::uint32_t row);
  Result<void> validate_pod(PodId id) const;
  Result<void> validate_shape(const PodShape& shape);
  Result<void> validate_sums() const;
  Result<void> validate_names() const;
  Result<void> validate_capacity() const;
  // A pod on no node that names one.
  static bool waits_for_room(const PodFacts& pod);
  void tell_audits(const std::function<void(AuditNotes&)>& what);
  void note_row(std::uint32_t row) {
    if (!audits_.empty()) {
      tell_of_row(row);
    }
  }
  void note_pod(PodId id) {
    if (!audits_.empty()) {
      tell_of_pod(id);
    }
  }
  void tell_of_row(std::uint32_t row);
  void tell_of_pod(PodId id);

  HostPorts host_ports(const Pod& pod) const {  // none without NodePorts
    return has_node_ports_ ? host_ports_of(pod) : HostPorts();
  }

  const Profile profile_;
  const bool has_node_ports_;
  ResourceNames names_;
  NodeTable table_;
  NodeClasses classes_;
  std::unique_ptr<NodeResources> node_resources_;
  std::unique_ptr<LimitAware> limit_aware_;
  std::unique_ptr<ResourceLimitAware> resource_limit_aware_;
  std::unique_ptr<LoadAware> load_aware_;
  std::unique_ptr<CapacityScheduling> capacity_;
  std::vector<Policy*> policies_;

  std::vector<NodeFacts> nodes_;  // by row
  std::vector<Stale> stale_;      // by row
  std::vector<std::uint32_t> stale_rows_;
  bool bulk_ = false;
  BytesMap<std::string, std::uint32_t> rows_;
  std::vector<std::uint32_t> class_sizes_;
  SoftTaints soft_taints_;
  // Splits of classes by what selectors read anew; those beyond done go on at the row. They change
  // no answer of the shapes before.
  std::uint64_t splits_begun_ = 0, splits_done_ = 0;
  std::uint32_t split_at_ = 0;
  // By class: the class that its first node came from in a split, and the last split that was done
  // then. 0: it came otherwise.
  struct ClassOrigin {
    std::uint32_t parent = 0;
    std::uint64_t splits_done = 0;
  };
  std::vector<ClassOrigin> class_origins_;
  std::uint32_t node_count_ = 0;

  Chunked<PodFacts> pods_;
  std::vector<PodId> released_pods_;
  BytesMap<std::string_view, PodId> pod_ids_;  // into PodFacts::key
  std::uint32_t pod_count_ = 0;
  std::vector<std::uint32_t> nominated_rows_;  // that some pod is nominated to

  std::vector<std::unique_ptr<PodShape>> shapes_;
  std::vector<ShapeId> free_shapes_;
  std::uint32_t shape_count_ = 0;
  // Shapes that nobody needs, or for which something is cached; used last first.
  std::list<ShapeId> use_order_;
  std::size_t shape_bytes_ = 0;  // that they count
  std::size_t shape_bytes_max_;
  std::function<void(ShapeId)> drop_cached_;
  std::unique_ptr<PodShape> passing_shape_;
  std::uint64_t shapes_generation_ = 0, shapes_described_ = 0;
  // Of shapes and taints, and how many give each; answers point into it.
  struct Reason {
    std::uint32_t users = 0;
    std::list<std::string_view>::iterator unused;  // where nobody gives it
  };
  std::map<std::string, Reason, std::less<>> reasons_;
  std::list<std::string_view> unused_reasons_;     // that nobody gives, as they became so
  BytesMap<std::string_view, ShapeId> shape_ids_;  // into PodShape::key
  std::string shape_key_, pod_key_;                // scratch
  std::vector<Recount> recounts_;                  // scratch
  std::vector<PodId> listed_, unlisted_;           // scratch
  std::vector<ClassReason> class_reasons_;         // the first is of kPortsTaken
  // Those of taints, by their text; they stand last.
  BytesMap<std::string_view, std::uint32_t> class_reason_ids_;

  std::int64_t now_us_ = 0;
  // Rows whose metrics expire; a heap, the next one first.
  struct Expiry {
    std::int64_t due_us;
    std::uint32_t row;
    friend auto operator<=>(const Expiry&, const Expiry&) = default;
  };
  std::vector<Expiry> expiries_;
  Journal journal_;
  std::vector<std::weak_ptr<AuditNotes>> audits_;  // under way
  std::uint64_t bad_annotations_ = 0;
};

}  // namespace headroom
