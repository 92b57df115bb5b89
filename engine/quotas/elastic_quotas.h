// ElasticQuotas: what every namespace may have, has, and is about to have (CapacityScheduling).
//
// Per namespace its quotas (of several the first by name counts), the sum over its pods on nodes
// (used), and the pods that are nominated to a node and wait for room there. Everything that a
// question needs is an aggregate: no question walks pods or quotas.
//
// A mode is a choice of the resources that a comparison looks at:
//   Proposal  max: what the pod asks for. min and the total: of those, what some quota's min names.
//   Upstream  as scheduler-plugins' cmp2: cpu, memory and ephemeral-storage always, and the other
//             resources that the pod or its fellows name; the total: all resources.
// Sums are exact; compared beyond int64 they are so in Proposal too, and wrap as Go's do in
// Upstream (beyond_int64.h). Numbers of resources are their own: of those that quotas
// name, and while there is room of those that pods alone name (they show in what is used, and in
// mode Upstream the total compares them).
// Thread safety: one thread at a time; const members from any number.
// Cost: an event or a question is O(resources); a quota whose min is the first or the last to name
// a resource, O(namespaces).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/answers.h"
#include "engine/limits.h"
#include "engine/policies/policy.h"
#include "engine/table/beyond_int64.h"
#include "engine/table/resource_names.h"
#include "layout/chunked.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"

namespace headroom {

// By ResourceId.
using ElasticQuotaAmounts = std::array<std::int64_t, kResourcesMax>;
// A bit for each ResourceId.
using ResourceMask = std::uint64_t;
static_assert(kResourcesMax <= 64);

// What pods or quotas add up to, by ResourceId.
using ResourceSums = std::array<Int128, kResourcesMax>;

struct NamespaceFacts {
  std::string name;
  std::map<std::string, ElasticQuota> quotas;  // the first one counts
  ElasticQuotaAmounts min{}, max{};            // of that one
  ResourceMask min_names = 0;                  // resources that its min names
  ResourceSums used{};
  // Pods that are nominated to a node that exists, by priority, the highest first.
  struct Nominated {
    std::int32_t priority;
    std::uint32_t pods;
    ResourceSums amounts;
    std::array<std::uint32_t, kResourcesMax> names;  // how many of the pods name it, 0 included
  };
  std::vector<Nominated> nominated;
  bool over_min = false;
  std::uint32_t users = 0;

  bool has_elastic_quota() const { return !quotas.empty(); }
  const ElasticQuota& elastic_quota() const { return quotas.begin()->second; }
};

// How the quotas see one incoming pod.
struct ElasticQuotaStanding {
  bool has_elastic_quota = false;
  ResourceMask over_max = 0, over_total = 0;  // where the pre-filter rejects
  bool within_min = false;                    // with the pod its quota stays within its min
  ResourceMask max_checked = 0, total_checked = 0;
  // The request, with the nominated pods that count against the quota itself, and against all.
  ResourceSums own{}, all{};

  bool rejected() const { return (over_max | over_total) != 0; }
};

class ElasticQuotas {
 public:
  explicit ElasticQuotas(Mode mode) : mode_(mode) {}

  // --- Facts ---
  // Puts the quota in the place of what there is under the name; nullptr: none. Its names are held,
  // see hold().
  void put(std::string_view namespace_name, std::string_view name, const ElasticQuota* quota);
  // Whether there are numbers for the quota's names as well.
  bool has_room_for(const ElasticQuota& quota) const;
  // Around that: numbers for the names of the new one, and none for what only the former named.
  // Pods that ask for a name that changes are uncounted meanwhile.
  void hold(const ElasticQuota* before, const ElasticQuota* quota, ResourceNames::Change& change);
  void release(const ElasticQuota* before, const ElasticQuota* quota,
               ResourceNames::Change& change);
  // What a pod of these requests asks of its quota.
  Amounts request_of(const ResourceList& requests);
  // Forgets names that pods alone ask for, but these (a bit each).
  void forget_names_but(ResourceMask used) { names_.keep_borrowed(used); }
  bool names_full() const { return names_.full(); }
  bool is_borrowed(ResourceId id) const { return names_.is_borrowed(id); }
  // A namespace is kept while it has a quota, or as often as it is held: by pods and budgets.
  NamespaceId hold_namespace(std::string_view name);
  void retain_namespace(NamespaceId id) { ++namespaces_[id].users; }
  void release_namespace(NamespaceId id);
  NamespaceId find(std::string_view name) const;  // kNoNamespace
  void add_used(NamespaceId id, const Amounts& request, int sign);
  void add_nominated(NamespaceId id, std::int32_t priority, const Amounts& request, int sign);

  // --- Questions ---
  // A namespace that is not known has no quota.
  ElasticQuotaStanding standing(NamespaceId id, std::int32_t priority,
                                const Amounts& request) const;
  const NamespaceFacts& at(NamespaceId id) const { return namespaces_[id]; }
  // Every NamespaceId is below it; free ones have no name.
  std::uint32_t namespace_count() const { return namespaces_.size(); }
  std::uint32_t elastic_quota_count() const { return elastic_quota_count_; }
  // Quotas that do not count included.
  std::uint32_t object_count() const { return object_count_; }
  // nullptr if it is not known.
  const ElasticQuota* find(std::string_view namespace_name, std::string_view name) const;
  // Resources by which a quota is over its min when it uses more of them.
  ResourceMask min_compared() const { return mode_ == Mode::kProposal ? named_ : ~ResourceMask{0}; }
  const ResourceSums& total_min() const { return total_min_; }
  const ResourceSums& total_used() const { return total_used_; }
  // A sum as the mode compares it.
  Int128 compared(Int128 sum) const {
    return mode_ == Mode::kUpstream ? in_int64(sum, BeyondInt64::kWraps) : sum;
  }
  // ... and as answers show it.
  std::int64_t shown(Int128 sum) const { return saturated(compared(sum)); }
  // Grows with every change of a quota.
  std::uint64_t generation() const { return generation_; }
  std::uint32_t resource_count() const { return names_.size(); }
  const ResourceNames& names() const { return names_; }
  Mode mode() const { return mode_; }
  // By namespace: of those that sort after this one, at most so many.
  std::vector<ElasticQuotaStatus> status(std::string_view after, std::size_t most) const;
  // Recomputes what follows from quotas and sums; false if it differs.
  bool consistent() const;
  std::uint64_t digest() const;

 private:
  NamespaceId namespace_of(std::string_view name);
  void free_if_unused(NamespaceId id);
  template <typename Change>
  void change(NamespaceFacts& facts, Change apply);
  void include(NamespaceFacts& facts, int sign);
  void set_bounds(NamespaceFacts& facts);
  void refresh_over_min(NamespaceFacts& facts);
  bool is_over_min(const NamespaceFacts& facts) const;

  const Mode mode_;
  ResourceNames names_;
  Chunked<NamespaceFacts> namespaces_;
  FreeNumbers released_namespaces_;
  BytesMap<std::string, NamespaceId> ids_;
  std::uint32_t elastic_quota_count_ = 0;  // namespaces that have one
  std::uint32_t object_count_ = 0;
  std::uint64_t generation_ = 0;
  ResourceMask named_ = 0;                               // by the min of some quota that counts
  std::array<std::uint32_t, kResourcesMax> named_by_{};  // how many of them name it
  ResourceSums total_min_{}, total_used_{};
  // What is nominated in quotas that are not over their min.
  ResourceSums nominated_within_{};
};

}  // namespace headroom
