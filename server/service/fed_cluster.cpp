#include "server/service/fed_cluster.h"

#include <fmt/format.h>

#include "schema/frame.h"
#include "server/service/decode.h"

namespace headroom {

Result<FedCluster::Applied> FedCluster::apply(const wire::Change& change) {
  const auto upsert = [&](const auto& wire_object, auto& object) -> Result<Applied> {
    if (auto decoded = decode(wire_object, object); !decoded) {
      return tl::unexpected(decoded.error());
    }
    if (auto applied = engine_.upsert(object); !applied) return tl::unexpected(applied.error());
    return Applied{};
  };
  switch (change.fact_type()) {
    case wire::Fact::Node:
      return apply_node(*change.fact_as_Node());
    case wire::Fact::NodeMetric:
      return upsert(*change.fact_as_NodeMetric(), metric_);
    case wire::Fact::Pod:
      return apply_pod(*change.fact_as_Pod());
    case wire::Fact::RemovedNode:
      engine_.remove_node(text(change.fact_as_RemovedNode()->name()));
      quotas_.remove_node(text(change.fact_as_RemovedNode()->name()));
      return Applied{};
    case wire::Fact::RemovedNodeMetric:
      engine_.remove_node_metric(text(change.fact_as_RemovedNodeMetric()->name()));
      return Applied{};
    case wire::Fact::RemovedPod: {
      const wire::RemovedPod& removed = *change.fact_as_RemovedPod();
      const std::string_view namespace_name = text(removed.namespace_name());
      engine_.remove_pod(namespace_name, text(removed.name()));
      write_pod_key(namespace_name, text(removed.name()), key_);
      pending_.remove(key_);
      return Applied{.pod_key = key_, .pod_uid = {}, .waits = false};
    }
    case wire::Fact::ElasticQuota:
      return upsert(*change.fact_as_ElasticQuota(), quota_);
    case wire::Fact::PodDisruptionBudget:
      return upsert(*change.fact_as_PodDisruptionBudget(), budget_);
    case wire::Fact::PriorityClass:
      return upsert(*change.fact_as_PriorityClass(), priority_class_);
    case wire::Fact::RemovedElasticQuota: {
      const wire::RemovedElasticQuota& removed = *change.fact_as_RemovedElasticQuota();
      engine_.remove_elastic_quota(text(removed.namespace_name()), text(removed.name()));
      return Applied{};
    }
    case wire::Fact::RemovedPodDisruptionBudget: {
      const wire::RemovedPodDisruptionBudget& removed =
          *change.fact_as_RemovedPodDisruptionBudget();
      engine_.remove_pod_disruption_budget(text(removed.namespace_name()), text(removed.name()));
      return Applied{};
    }
    case wire::Fact::RemovedPriorityClass:
      engine_.remove_priority_class(text(change.fact_as_RemovedPriorityClass()->name()));
      return Applied{};
    case wire::Fact::CapacityQuota:
      return apply_capacity_quota(*change.fact_as_CapacityQuota());
    case wire::Fact::RemovedCapacityQuota:
      return remove_capacity_quota(*change.fact_as_RemovedCapacityQuota());
    case wire::Fact::ReferredObject: {
      const Result<ReferredObject> object = decode(*change.fact_as_ReferredObject());
      if (!object) return tl::unexpected(object.error());
      if (auto applied = engine_.upsert(*object); !applied) return tl::unexpected(applied.error());
      return Applied{};
    }
    case wire::Fact::RemovedReferredObject: {
      const wire::RemovedReferredObject& removed = *change.fact_as_RemovedReferredObject();
      const Result<ReferredKind> kind = decode(removed);
      if (!kind) return tl::unexpected(kind.error());
      engine_.remove(*kind, text(removed.key()));
      return Applied{};
    }
    case wire::Fact::NONE:
      break;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("fact_type: {} is not known; accepted: 1 to {}",
                          static_cast<int>(change.fact_type()), static_cast<int>(wire::Fact::MAX)));
}

Result<void> FedCluster::advance(std::int64_t now_us) {
  if (auto advanced = engine_.advance(now_us); !advanced) return advanced;
  return quotas_.advance(now_us);
}

void FedCluster::correct_clock(std::int64_t now_us) {
  engine_.correct_clock(now_us);
  quotas_.correct_clock(now_us);
}

// Both have the node, or none.
Result<FedCluster::Applied> FedCluster::apply_node(const wire::Node& wire_node) {
  if (auto decoded = decode(wire_node, node_); !decoded) return tl::unexpected(decoded.error());
  quotas_.fork();
  Result<void> applied = quotas_.upsert(node_);
  if (applied) applied = engine_.upsert(node_);
  if (!applied) {
    quotas_.rollback();
    return tl::unexpected(applied.error());
  }
  quotas_.commit();
  return Applied{};
}

Result<FedCluster::Applied> FedCluster::apply_capacity_quota(
    const wire::CapacityQuota& wire_quota) {
  const Result<CapacityQuotaClass> quota_class = decode(wire_quota.quota_class());
  if (!quota_class) {
    return fail(
        quota_class.error().code,
        fmt::format("capacityquota {}: {}", text(wire_quota.name()), quota_class.error().message));
  }
  if (auto decoded = decode(wire_quota, capacity_quota_); !decoded) {
    return tl::unexpected(decoded.error());
  }
  if (auto applied = quotas_.upsert(capacity_quota_, *quota_class); !applied) {
    return tl::unexpected(applied.error());
  }
  return Applied{};
}

Result<FedCluster::Applied> FedCluster::remove_capacity_quota(
    const wire::RemovedCapacityQuota& removed) {
  const Result<CapacityQuotaClass> quota_class = decode(removed.quota_class());
  if (!quota_class) {
    return fail(quota_class.error().code, fmt::format("capacityquota {}: {}", text(removed.name()),
                                                      quota_class.error().message));
  }
  quotas_.remove_capacity_quota(text(removed.name()), *quota_class);
  return Applied{};
}

Result<FedCluster::Applied> FedCluster::apply_pod(const wire::Pod& wire_pod) {
  if (auto decoded = decode(wire_pod, pod_); !decoded) return tl::unexpected(decoded.error());
  const bool waits = pod_.node_name.empty() && !pod_.terminal();
  write_pod_key(pod_.namespace_name, pod_.name, key_);
  if (waits && pending_.size() >= kPendingPodsMax && pending_.of_key(key_) == nullptr) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("pod {}: kPendingPodsMax ({}) pods are pending", key_, kPendingPodsMax));
  }
  if (auto applied = engine_.upsert(pod_); !applied) return tl::unexpected(applied.error());
  if (waits) {
    pending_.put(key_, pod_);
  } else {
    pending_.remove(key_);
  }
  return Applied{.pod_key = key_, .pod_uid = pod_.uid, .waits = waits};
}

Result<void> FedCluster::assume(const Pod& pod, std::string_view node_name) {
  return engine_.assume(pod, node_name);
}

void FedCluster::forget(const Pod& pod, std::string_view node_name) {
  engine_.forget(pod.namespace_name, pod.name, pod.uid, node_name);
  write_pod_key(pod.namespace_name, pod.name, key_);
  // What was reserved may have had another uid or other needs; the engine knows only the last
  // object. It has accepted this one before.
  if (const Pod* fed = pending_.of_key(key_); fed != nullptr) (void)engine_.upsert(*fed);
}

Result<void> FedCluster::validate() const {
  if (auto valid = engine_.validate(); !valid) return valid;
  if (auto valid = quotas_.validate(); !valid) return valid;
  return pending_.validate();
}

FedAudit FedCluster::audit(AuditOptions options) const {
  return {engine_.audit(options), quotas_.audit(options)};
}

// What changed in the engine while the quotas had their turns is looked at again: at the end both
// are done in one turn.
Result<bool> FedAudit::turn(const Pause& pause) {
  if (auto done = engine_->turn(pause); !done || !*done) return done;
  return quotas_->turn(pause);
}

}  // namespace headroom
