// CapacityQuotas: may the cluster grow by these nodes, and if not, what stands in the way?
//
//   headroom::CapacityQuotas quotas;
//   quotas.upsert(quota); quotas.upsert(node);
//   auto check = quotas.check(node_template, 5);           // check->allowed, and why no more
//   const headroom::PlanItem items[] = {{&node_template, check->allowed}};
//   quotas.reserve("scale-up-17", items, quotas.now_us() + 600'000'000);
//
// Source of every rule: proposal-rules "CapacityQuota" (mode Proposal). A quota limits what the
// nodes that its selector matches may have in all: used + reserved + need <= limit. Amounts are in
// thousandths for cpu, whole units for all else (what is finer rounds up, limits round down) and
// exact: int64 for one node, Int128 for sums and products.
//
// A template is a Node of which labels and capacity are read. It touches a quota's limit where the
// selector matches its labels and it has more than 0 of the resource; `nodes` counts 1 for each
// node. Nodes and templates labelled type=virtual-kubelet touch none.
//
// State is a function of the facts, the reservations and the time: the same in whatever order they
// came, the same digest(). A node that names a live reservation (kReservationAnnotation) takes one
// of its nodes off when it is first seen.
//
// Thread safety: one thread at a time. Never reads a clock: time moves by advance(). Where memory
// ends std::bad_alloc leaves the call (what_if() ends the process), and validate() says whether
// something is left half done: then others are to be filled with the facts, and reservations may be
// lost. Cost: a node event is O(labels + resources + quotas
// that match); a check O(the same of the template), whatever the number of nodes, and O(quotas)
// where no node has its labels and it was not asked about lately; a plan or a reservation O(limits)
// beside that; a quota O(node classes), and O(nodes) when it reads a label key that no other quota
// reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "objects/audit_items.h"
#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

inline constexpr std::uint32_t kCapacityQuotasMax = 100'000;
inline constexpr std::uint32_t kCapacityQuotaNodesMax = 4'000'000;  // Also of one reservation.
inline constexpr std::uint32_t kNodeReservationsMax = 100'000;
inline constexpr std::uint32_t kPlanItemsMax = 10'000;

struct CapacityQuotasOptions {
  // Nodes marked for deletion do not count: deletionTimestamp, or a taint of cluster-autoscaler
  // (ToBeDeletedByClusterAutoscaler) or karpenter (karpenter.sh/disrupted).
  bool ignore_deleting = false;
  // A limit of the first name counts the resource of the second: {"gpu", "nvidia.com/gpu"}.
  StringMap aliases;
};

class CapacityAudit;
class CapacityPlanning;
class CapacityReserving;
struct PlanningRequest;
struct ReservingRequest;

class CapacityQuotas {
 public:
  explicit CapacityQuotas(CapacityQuotasOptions options = {});
  ~CapacityQuotas();
  CapacityQuotas(CapacityQuotas&&) noexcept;
  CapacityQuotas& operator=(CapacityQuotas&&) noexcept;

  // --- Facts. Each is idempotent and applies whole or not at all. ---
  // kLimitExceeded naming the limit or the resource whose amount does not fit.
  Result<void> upsert(const Node& node);
  // Deleting what is not there changes nothing.
  void remove_node(std::string_view name);
  // A spec that cannot be used leaves the last one that could in force, else the quota is skipped:
  // every answer lists it. `quota_class` tells CapacityQuota objects from an autoscaler's other
  // limits, which are checked alike.
  Result<void> upsert(const CapacityQuota& quota,
                      CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota);
  void remove_capacity_quota(std::string_view name,
                             CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota);
  // Moves the clock; never backwards (kInvalid). Reservations lapse at now >= expiry.
  Result<void> advance(std::int64_t now_us);
  // Sets the clock to what it should have been, backwards too. Reservations that lapsed meanwhile
  // stay gone; those that are live lapse at their time.
  void correct_clock(std::int64_t now_us);
  std::int64_t now_us() const;

  // --- Questions. None changes a fact. ---
  // May `count` such nodes be created, and how many? kInvalid: count < 0.
  Result<CapacityCheck> check(const Node& node_template, std::int64_t count);
  // The same into an answer whose memory is used again.
  Result<void> check(const Node& node_template, std::int64_t count, CapacityCheck& answer);
  // All of it, in order: net of the removed nodes, and at its peak, before they are gone.
  // kNotFound: a node that is not there; kInvalid: a count < 0, a node twice. Here, in max_total()
  // and reserve() kLimitExceeded: more than kPlanItemsMax items, or counts whose sum is beyond
  // int64.
  Result<PlanAnswer> plan(const Plan& plan);
  // The most nodes of several templates together, at most the items' counts each.
  Result<MaxTotal> max_total(std::span<const PlanItem> items);
  // How many more of each template on its own, and what would then be left over.
  Result<std::vector<TemplateHeadroom>> headroom(std::span<const Node> templates);
  // What a change would do. `templates`: whose nodes may be newly blocked; none: the kinds of nodes
  // that are there.
  Result<WhatIf> what_if(std::span<const CapacityQuotaChange> changes,
                         std::span<const Node> templates = {});
  // By class, then name: what is used of every limit, what is reserved, what is in force. At most
  // so many, of those that come after the one of that class and name (of a class with one quota
  // ""); O(theirs). Without arguments all.
  std::vector<CapacityQuotaStatus> status(
      const std::optional<std::pair<CapacityQuotaClass, std::string>>& after = std::nullopt,
      std::size_t most = SIZE_MAX) const;
  // The same of the first ones, at most so many, but for `nodes`, which reads every class of
  // labels.
  std::vector<CapacityQuotaStatus> amounts(std::size_t most) const;
  // One template for every kind of nodes that are there (class of labels that some quota reads, and
  // capacity), named after its first node, with that node's labels but kubernetes.io/hostname.
  // O(nodes).
  std::vector<Node> node_kinds() const;

  // --- Reservations: nodes that are accepted and not registered yet. ---
  // Holds the items' nodes until they register, `expires_us`, or release(). kAll: all or none;
  // kUpTo: in order as many as fit. Nothing is held where the answer is not accepted. kConflict:
  // the id is live; kInvalid: an empty id, a count < 0, expires_us <= now_us().
  Result<ReserveAnswer> reserve(std::string_view id, std::span<const PlanItem> items,
                                std::int64_t expires_us, ReserveMode mode = ReserveMode::kAll);
  // Gives back what is left of it. False: no such reservation is live.
  bool release(std::string_view id);
  bool is_reserved(std::string_view id) const;  // it is live
  // By id, at most so many of those after this one.
  std::vector<ReservationStatus> reservations(std::string_view after = {},
                                              std::size_t most = SIZE_MAX) const;
  // Plans and reservations in turns, for callers whose thread serves others too; see
  // capacity_planning.h.
  std::unique_ptr<CapacityPlanning> planning(PlanningRequest request);
  std::unique_ptr<CapacityReserving> reserving(const ReservingRequest& request);

  // For a fresh copy of the facts that replaces `former` (a resync): takes over its reservations as
  // they stand there, whether or not they fit here, less what has lapsed by now_us(); and, for
  // quotas whose spec cannot be used here, the spec in force there. A node that is here and not
  // there takes one off the reservation that it names. Our caller's mistake: reservations of its
  // own, an open fork.
  void adopt(const CapacityQuotas& former);
  // Room for so many nodes, where most of them are to come: a table that grows holds a change up.
  void reserve_nodes(std::uint32_t count);

  // --- Trying: everything above may be undone. ---
  // From fork() to rollback() every change is remembered, and taken back by it; commit() keeps
  // them. They nest. O(what changed).
  void fork();
  void rollback();  // no fork: our caller's mistake (assertion), as for commit()
  void commit();

  // --- Looking. ---
  CapacityQuotasStats stats() const;
  // The same for the same facts, reservations and time; O(all).
  std::uint64_t digest() const;
  // Recomputes every sum from the nodes and compares. O(nodes + quotas * classes).
  Result<void> validate() const;
  // Both in turns, for callers whose thread serves others too; see capacity_audit.h.
  std::unique_ptr<CapacityAudit> audit(AuditOptions options) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
