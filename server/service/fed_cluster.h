// FedCluster: an engine, and what the server keeps of the facts beside it. The pods that wait for a
// node, so that requests can name them by uid; the engine knows them too: what is nominated to a
// node holds room there. And the CapacityQuotas, which count the nodes and no pods.
//
// Thread safety: one thread at a time. Invariants: a pod is in the list of pending ones exactly as
// long as the last fact about it has no node and no terminal phase; engine and quotas know the same
// nodes and the same time. validate() checks what can be checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "autoscaling/capacity_audit.h"
#include "autoscaling/capacity_quotas.h"
#include "engine/engine.h"
#include "engine/facts/audit.h"
#include "objects/error.h"
#include "schema/headroom_generated.h"
#include "server/service/pending_pods.h"

namespace headroom {

// An audit of a FedCluster, which it must not outlive for another turn.
class FedAudit {
 public:
  FedAudit(std::unique_ptr<Audit> engine, std::unique_ptr<CapacityAudit> quotas)
      : engine_(std::move(engine)), quotas_(std::move(quotas)) {}
  // True when it is done. An error says what is not as it should be.
  Result<bool> turn(const Pause& pause);
  std::uint64_t engine_digest() const { return engine_->digest(); }
  std::uint64_t capacity_quotas_digest() const { return quotas_->digest(); }

 private:
  std::unique_ptr<Audit> engine_;
  std::unique_ptr<CapacityAudit> quotas_;
};

class FedCluster {
 public:
  explicit FedCluster(Engine engine, CapacityQuotasOptions quotas = {})
      : engine_(std::move(engine)), quotas_(std::move(quotas)) {}
  FedCluster(const FedCluster&) = delete;
  FedCluster& operator=(const FedCluster&) = delete;

  // What a change says of a pod; nothing (an empty key) where it is about another object. Valid
  // until the next change.
  struct Applied {
    std::string_view pod_key;
    std::string_view pod_uid;
    bool waits = false;  // for a node; else the pod is bound, terminal or gone
  };
  // One change, whole or not at all. Errors: what the decoder, the engine, the quotas or
  // kPendingPodsMax refuses.
  Result<Applied> apply(const wire::Change& change);
  // Moves the clock; never backwards (kInvalid).
  Result<void> advance(std::int64_t now_us);
  // Sets it, backwards too; see Engine.
  void correct_clock(std::int64_t now_us);

  // Between them many changes come and no decision; see Engine::bulk().
  void begin_bulk() { bulk_.emplace(engine_.bulk()); }
  void end_bulk() { bulk_.reset(); }

  // A pod is reserved on a node, and no more. Afterwards the cluster is what the facts say,
  // whatever the pod that was reserved differs in from the one that was fed under its name.
  Result<void> assume(const Pod& pod, std::string_view node_name);
  void forget(const Pod& pod, std::string_view node_name);

  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  CapacityQuotas& capacity_quotas() { return quotas_; }
  const CapacityQuotas& capacity_quotas() const { return quotas_; }
  const PendingPods& pending() const { return pending_; }
  // Engine, quotas and pending pods, each with what it keeps twice. O(nodes + pods).
  Result<void> validate() const;
  // The same in turns, or the digests of all facts, or both: of engine and quotas in one moment.
  FedAudit audit(AuditOptions options) const;

 private:
  Result<Applied> apply_node(const wire::Node& wire_node);
  Result<Applied> apply_pod(const wire::Pod& wire_pod);
  Result<Applied> apply_capacity_quota(const wire::CapacityQuota& wire_quota);
  Result<Applied> remove_capacity_quota(const wire::RemovedCapacityQuota& removed);

  Engine engine_;
  std::optional<Engine::Bulk> bulk_;
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
