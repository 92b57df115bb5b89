// FedCluster: an engine a profile, all of the same facts, and what the server keeps of the facts
// beside them. The pods that wait for a node, so that requests can name them by uid; the engines
// know them too: what is nominated to a node holds room there. And the CapacityQuotas, which count
// the nodes and no pods.
//
// Thread safety: one thread at a time. Invariants: a pod is in the list of pending ones exactly as
// long as the last fact about it has no node and no terminal phase; engines and quotas know the
// same nodes and the same time, engines the same pods. validate() checks what can be checked.
// Cost: a fact costs what it costs in each engine, and is read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscaling/capacity_audit.h"
#include "autoscaling/capacity_quotas.h"
#include "engine/cluster/audit.h"
#include "engine/engine.h"
#include "layout/small_pages.h"
#include "objects/error.h"
#include "schema/headroom_generated.h"
#include "server/service/pending_pods.h"

namespace headroom {

// An audit of a FedCluster, which it must not outlive for another turn.
class FedAudit {
 public:
  FedAudit(std::vector<std::unique_ptr<Audit>> engines, std::unique_ptr<CapacityAudit> quotas)
      : engines_(std::move(engines)), quotas_(std::move(quotas)) {}
  // True when it is done. An error says what is not as it should be.
  Result<bool> turn(const Pause& pause);
  std::uint64_t engine_digest(std::size_t profile) const { return engines_[profile]->digest(); }
  std::uint64_t capacity_quotas_digest() const { return quotas_->digest(); }

 private:
  std::vector<std::unique_ptr<Audit>> engines_;
  std::unique_ptr<CapacityAudit> quotas_;
};

class FedCluster {
 public:
  // An engine for each of 1 to kProfilesMax profiles, which share the memory of shape caches that
  // `engine` says. Errors: what Engine::create refuses.
  static Result<std::unique_ptr<FedCluster>> create(const std::vector<Profile>& profiles,
                                                    EngineOptions engine,
                                                    const CapacityQuotasOptions& quotas);
  FedCluster(const FedCluster&) = delete;
  FedCluster& operator=(const FedCluster&) = delete;

  // What a change says of a pod; nothing (an empty key) where it is about another object. Valid
  // until the next change.
  struct Applied {
    std::string_view pod_key;
    std::string_view pod_uid;
    bool waits = false;     // for a node; else the pod is bound, terminal or gone
    std::size_t bytes = 0;  // of what was read, and may be kept
  };
  // One change, whole or not at all. Errors: what the decoder, an engine, the quotas or
  // kPendingPodsMax refuses.
  Result<Applied> apply(const wire::Change& change);
  // Moves the clock; never backwards (kInvalid).
  Result<void> advance(std::int64_t now_us);
  // Sets it, backwards too; see Engine.
  void correct_clock(std::int64_t now_us);

  // Before the first change, where most of those to come are as in that cluster: room for as many
  // nodes and pods, so that no table grows, in one long piece, while decisions wait.
  void expect(const FedCluster& former);
  // Between them many changes come and no decision; see Engine::bulk(). `beside_decisions`: those
  // of another cluster, which do not wait for huge pages.
  void begin_bulk(bool beside_decisions);
  void end_bulk();
  bool derive(const Pause& pause);

  // A pod is reserved on a node, and no more. Afterwards the cluster is what the facts say,
  // whatever the pod that was reserved differs in from the one that was fed under its name.
  Result<void> assume(const Pod& pod, std::string_view node_name);
  void forget(const Pod& pod, std::string_view node_name);
  // The same as Engine::place() of one profile's: where the pod is placed it is assumed in all.
  Result<void> place(std::size_t profile, const Pod& pod, const EvaluateOptions& options,
                     Placement& placement);

  // The place of the profile that decides for this scheduler: the one of that name, the first where
  // no name is given, and the only one whatever the name. nullopt: none.
  std::optional<std::size_t> profile_for(std::string_view scheduler_name) const;
  std::size_t profile_count() const { return engines_.size(); }
  Engine& engine(std::size_t profile = 0) { return engines_[profile]; }
  const Engine& engine(std::size_t profile = 0) const { return engines_[profile]; }
  // The first whose profile has CapacityScheduling, else the first: what it says of elastic quotas
  // each one that has it says.
  const Engine& quota_engine() const;
  // Facts are those of each; what belongs to a profile is summed.
  EngineStats stats() const;
  // Grows with every change of a row of one.
  std::uint64_t epoch() const;
  void set_shape_cache_bytes_max(std::size_t bytes);
  void drop_shape_caches() noexcept;

  CapacityQuotas& capacity_quotas() { return quotas_; }
  const CapacityQuotas& capacity_quotas() const { return quotas_; }
  const PendingPods& pending() const { return pending_; }
  // Engines, quotas and pending pods, each with what it keeps twice. O(nodes + pods).
  Result<void> validate() const;
  // Of it what an audit leaves: pending pods, and that engines agree. O(pods).
  Result<void> validate_rest() const;
  // The same in turns, or the digests of all facts, or both: of engines and quotas in one moment.
  FedAudit audit(AuditOptions options) const;

 private:
  FedCluster(std::vector<Engine> engines, const CapacityQuotasOptions& quotas)
      : engines_(std::move(engines)), quotas_(quotas) {}

  // A change of every engine, whole or not at all: what one refuses is taken back in those before.
  template <typename Change>
  Result<void> change_each(Change change);
  Result<Applied> apply_node(const wire::Node& wire_node);
  Result<Applied> apply_pod(const wire::Pod& wire_pod);
  Result<Applied> apply_capacity_quota(const wire::CapacityQuota& wire_quota);
  Result<Applied> remove_capacity_quota(const wire::RemovedCapacityQuota& removed);

  std::vector<Engine> engines_;
  std::vector<Engine::Bulk> bulks_;
  std::optional<SmallPages> small_pages_;  // of a bulk beside decisions
  CapacityQuotas quotas_;
  PendingPods pending_;
  // Scratch: its memory is used again.
  std::string key_;
  Node node_;
  Pod pod_;
  NodeMetric metric_;
  ElasticQuota quota_;
  PodDisruptionBudget budget_;
  PriorityClass priority_class_;
  CapacityQuota capacity_quota_;
};

}  // namespace headroom
