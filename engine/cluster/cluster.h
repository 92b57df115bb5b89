// Cluster: the current facts, and the node table that follows from them.
//
// Keeps what conformance rules call "facts, not history": per key the latest object counts; a pod
// is on the node that its object names, failing that where it is assumed; facts about nodes and
// pods that do not exist (yet) stay. An event changes the facts, tells the policies what counts
// where, and marks the rows that it changes; derive() makes their columns, at once or, in bulk,
// with the next look, and ends in NodeTable::commit(). What shapes there are is the ShapeBook's
// matter, what classes the ClassFilters', what would be if something else were so Supposition's.
// Thread safety: one thread at a time. Invariants: (1) pods are linked into the list of the row
// where they count, those first that a policy wants there; (2) a row exists as long as a node, a
// pod or a metric names it; validate() checks these and every aggregate.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/answers.h"
#include "engine/applications/applications.h"
#include "engine/classes/row_classes.h"
#include "engine/cluster/class_filters.h"
#include "engine/cluster/journal.h"
#include "engine/cluster/shape_book.h"
#include "engine/cluster/soft_taints.h"
#include "engine/kept/referred_objects.h"
#include "engine/options.h"
#include "engine/policies/load_aware.h"
#include "engine/policies/policies.h"
#include "engine/profile/profile.h"
#include "engine/quotas/capacity_scheduling.h"
#include "engine/quotas/priorities.h"
#include "engine/table/facts.h"
#include "engine/table/node_table.h"
#include "engine/table/reasons.h"
#include "engine/table/resource_names.h"
#include "layout/free_numbers.h"
#include "layout/name_index.h"
#include "objects/hash.h"

namespace headroom {

struct AuditNotes;

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
  Result<void> upsert(const ReferredObject& object);
  void remove(ReferredKind kind, std::string_view key);
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
  // For all of them; kInvalid too if one is there twice. O(pods).
  Result<void> check_room(std::span<const Pod> pods) const;
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
  ShapeBook& shapes() { return shape_book_; }
  const ShapeBook& shapes() const { return shape_book_; }
  Applications& applications() { return applications_; }
  const Applications& applications() const { return applications_; }
  const Rejections& rejections() const { return rejections_; }
  // Rows to which some pod is nominated.
  const std::vector<std::uint32_t>& nominated_rows() const { return nominated_rows_; }
  // The pod's own nominated node: the one that it names, else the one that the facts do. kNoRow: it
  // has none, or the node is not there.
  std::uint32_t nominated_row_of(const Pod& pod) const;
  ClassFilters& class_filters() { return class_filters_; }
  const ClassFilters& class_filters() const { return class_filters_; }
  // What a decision about the pod leaves out.
  NotConsideredSet not_considered(const Pod& pod) const;
  // spec.nodeName where the profile filters by it, else nothing.
  std::vector<std::string> named_node(const Pod& pod) const;
  // So that numbers of rejections do not run out. Only between decisions: classes may be numbered
  // anew.
  void limit_rejections();
  // derive(), and what the shape keeps of classes and columns. Before the table is read for it.
  void prepare(PodShape& shape);
  // The same in turns: true when nothing is left. Other shapes and events may come between them.
  bool prepare(PodShape& shape, const Pause& pause);
  // The same before single rows are read by ClassFilters::row_code(), in O(1) once the shape is
  // read.
  void prepare_for_rows(PodShape& shape);
  // Whether a pod that counts on the row has a port that the shape asks for.
  bool ports_taken(const PodShape& shape, std::uint32_t row) const {
    return !shape.host_ports.empty() && facts_.nodes[row].ports.conflict(shape.host_ports);
  }
  // Which of them, and whose it is, where ports_taken(): of the pods that count there for a pod of
  // this priority.
  std::string taken_port(const PodShape& shape, std::uint32_t row, std::int32_t priority) const;
  // SchedulingGates: why the pod is not to be scheduled yet; empty: it is.
  std::string waits_for_gates(const Pod& pod) const;
  // What gates and quotas say of the pod, whose shape this is.
  PreFilterStatus pre_filter(const Pod& pod, const PodShape& shape) const;

  // Makes the table what the facts say. Before every look at the table.
  void derive();
  bool derive(const Pause& pause);  // a turn of it; true when nothing is left
  // Events leave that to the next look; see DeferredDerivation. Returns whether they did already.
  bool begin_bulk() { return std::exchange(bulk_, true); }
  void end_bulk(bool was) noexcept;
  void reserve(std::uint32_t nodes, std::uint32_t pods);

  // --- Looking ---
  const Profile& profile() const { return profile_; }
  const NodeTable& table() const { return table_; }
  const RowClasses& row_classes() const { return row_classes_; }
  const Facts& facts() const { return facts_; }
  const ResourceNames& resources() const { return names_; }
  const NodeFacts& node(std::uint32_t row) const { return facts_.nodes[row]; }
  std::uint32_t find_row(std::string_view name) const;
  std::uint32_t counted_row_of(std::string_view pod_key) const;  // kNoRow: the pod counts nowhere
  bool has_ended(std::string_view pod_key, std::string_view uid) const;  // a terminal pod is known
  const PodFacts& pod(PodId id) const { return facts_.pods[id]; }
  const Priorities& priorities() const { return priorities_; }
  // nullptr where the profile has no CapacityScheduling.
  const CapacityScheduling* capacity_scheduling() const { return capacity_scheduling_.get(); }
  std::uint32_t node_count() const { return node_count_; }
  std::uint32_t pod_count() const { return pod_count_; }
  std::uint32_t assumed_pods() const;
  std::uint64_t bad_annotations() const { return bad_annotations_; }
  void notes(std::uint32_t row, std::vector<Note>& out) const;
  NodeFigures figures(ResourceId resource) const;  // after derive()
  std::uint64_t digest() const;
  Result<void> validate();
  // From now on what changes is noted there, as long as somebody else holds it.
  void watch(const std::shared_ptr<AuditNotes>& notes);

 private:
  friend class Audit;         // looks at all of it in turns (audit.h)
  friend class ClusterState;  // saves and restores all of it (cluster_state.h)
  friend class Supposition;   // leaves out, adds and takes back (supposition.h)

  // Rows and names.
  std::uint32_t find_row(std::string_view name, NameIndex::Hash hash) const;
  std::uint32_t row_of(std::string_view name) { return row_of(name, NameIndex::hash(name)); }
  std::uint32_t row_of(std::string_view name, NameIndex::Hash hash);
  void name_row(std::uint32_t row, std::string name);
  // Whether it is known, or may become so.
  bool has_room_for(std::string_view node_name) const;
  Result<void> check_room(const NodeMetric& metric) const;
  void set_node(std::uint32_t row, std::unique_ptr<const KeptNode> node);  // nullptr: no more
  void unmention(std::uint32_t row);
  void release_row_if_unused(std::uint32_t row);
  void set_node_columns(std::uint32_t row);
  template <typename Returned>
  void each_counted_by_node(std::uint32_t row, Returned (Policy::*act)(std::uint32_t, PodId));
  // What of a row does not follow from the facts yet. Everything: its node, its metric or the clock
  // changed; pods: only those.
  enum class Stale : std::uint8_t { kNothing, kOnlyPods, kEverything };
  void mark(std::uint32_t row, Stale stale);
  bool refresh(std::uint32_t row);
  void derive(std::uint32_t row);

  // Names of resources (cluster_names.cpp).
  struct Renaming {
    std::vector<ShapeId> shapes;                        // that name one
    std::vector<std::pair<PodId, std::uint32_t>> pods;  // of them, and the rows where they counted
  };
  std::vector<std::string> names_of(const KeptNode* node) const;
  ResourceNames::Change rename(const KeptNode* before, const KeptNode* node);
  // Between them the pods that ask for a name that changes count nowhere.
  Renaming begin_renaming(const ResourceNames::Change& change);
  void end_renaming(const Renaming& renaming);
  void renumber(const ResourceNames::Change& change);
  std::vector<std::int64_t> allocatable_of(const KeptNode& node) const;  // by resource
  void set_allocatable(NodeFacts& facts);
  void put_elastic_quota(std::string_view namespace_name, std::string_view name,
                         const ElasticQuota* quota);

  // Pods.
  PodId find_pod(std::string_view key) const { return find_pod(key, NameIndex::hash(key)); }
  PodId find_pod(std::string_view key, NameIndex::Hash hash) const;  // kNoPod
  PodId pod_of(std::string_view key) { return pod_of(key, NameIndex::hash(key)); }
  PodId pod_of(std::string_view key, NameIndex::Hash hash);
  void prefetch_pod(PodId id) const;
  void prefetch_row(std::uint32_t row) const;
  void prefetch_neighbours(std::uint32_t row) const;
  void name_pod(PodId id, std::string key, NameIndex::Hash hash);
  std::uint32_t find_listed(const NodeMetric& metric);
  void release_pod_if_unused(PodId id);
  void move_to(std::uint32_t& named_row, std::uint32_t row);
  void replace_if_other(PodId id, const std::string& uid);
  void update_object(PodFacts& pod, const Pod& object, const PodShape& shape);
  void count(PodId id);
  void uncount(PodId id);
  void recount(PodId id, std::uint32_t row_before);
  void nominate(PodId id);
  void withdraw_nomination(PodId id);
  void count_nominated(PodId id, int sign);
  void add_to_row(std::uint32_t row, PodId id);
  void subtract_from_row(std::uint32_t row, PodId id);
  void clear_rank(PodFacts& pod);
  void swap_facts(PodId id, PodFacts& facts);
  void refresh_priorities();
  void release_unmentioned();

  // Forks: before a fact is replaced, while one is open. Of a metric nothing is left to replace.
  void remember(PodId id);
  void remember_elastic_quota(std::string_view namespace_name, std::string_view name);
  void remember_budget(std::string_view key);
  void remember_priority_class(std::string_view name);
  void put(ReferredKind kind, std::string_view key, std::shared_ptr<const ReferredObject> object);
  struct TakeBack;

  std::uint64_t digest_of_row(std::uint32_t row) const;
  std::uint64_t digest_of_pod(PodId id) const;
  std::uint64_t digest_of_rest() const;
  // Each by itself, and the sums over all of them.
  Result<void> validate_row(std::uint32_t row);
  Result<void> validate_sums(std::uint32_t row);
  Result<void> validate_pod(PodId id) const;
  Result<void> validate_sums() const;
  Result<void> validate_names() const;
  bool miscounted(std::uint32_t holders, std::uint32_t counted) const;
  Result<void> validate_nominations() const;
  Result<void> validate_capacity_scheduling() const;
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

  const Profile profile_;
  ResourceNames names_;
  NodeTable table_;
  Facts facts_;
  SharedParts shared_parts_;  // of the nodes, and of those that forks remember
  ReferredObjects referred_;
  const Policies policies_;
  LoadAware* const load_aware_;  // of policies_; nullptr: none, and metrics are no facts
  Priorities priorities_;
  const std::unique_ptr<CapacityScheduling> capacity_scheduling_;
  RowClasses row_classes_;
  Reasons reasons_;
  Rejections rejections_;
  Applications applications_;
  ClassFilters class_filters_;
  ShapeBook shape_book_;

  std::vector<Stale> stale_;  // by row
  std::vector<std::uint32_t> stale_rows_;
  bool bulk_ = false;
  NameIndex rows_;  // by NodeFacts::name
  SoftTaints soft_taints_;
  const NotConsideredSet considered_;  // by plugins of the profile
  std::uint32_t node_count_ = 0;
  FreeNumbers released_pods_;
  NameIndex pod_ids_;  // by PodFacts::key
  std::uint32_t pod_count_ = 0;
  std::vector<std::uint32_t> nominated_rows_;   // that some pod is nominated to
  std::string pod_key_;                         // scratch
  std::vector<PodId> listed_;                   // scratch
  std::vector<NameIndex::Hash> listed_hashes_;  // scratch

  std::int64_t now_us_ = 0;
  Journal journal_;
  std::vector<std::weak_ptr<AuditNotes>> audits_;  // under way
  std::uint64_t bad_annotations_ = 0;
};

// While it lives, events leave deriving columns to the next look: many events about one row cost
// one derivation. Where one lives already, a second one changes nothing.
class DeferredDerivation {
 public:
  explicit DeferredDerivation(Cluster& cluster) : cluster_(cluster), was_(cluster.begin_bulk()) {}
  DeferredDerivation(const DeferredDerivation&) = delete;
  DeferredDerivation& operator=(const DeferredDerivation&) = delete;
  ~DeferredDerivation() { cluster_.end_bulk(was_); }

 private:
  Cluster& cluster_;
  const bool was_;
};

}  // namespace headroom
