#include "server/service/fed_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/profile/profile_reader.h"
#include "objects/all_or_none.h"
#include "schema/frame.h"
#include "server/requests/decode.h"

namespace headroom {

namespace {

// Forks of engines, so that what a later engine refuses is taken back in those before. What is open
// at the end stays, the last one's first; see OpenFork.
class OpenForks {
 public:
  void open(Engine& engine) { forks_[count_++].emplace(engine); }
  void rollback() {
    while (count_ != 0) forks_[--count_]->rollback();
  }

 private:
  std::array<std::optional<OpenFork<Engine>>, kProfilesMax> forks_;
  std::size_t count_ = 0;
};

}  // namespace

Result<std::unique_ptr<FedCluster>> FedCluster::create(const std::vector<Profile>& profiles,
                                                       EngineOptions engine,
                                                       const CapacityQuotasOptions& quotas) {
  engine.shape_cache_bytes_max /= profiles.size();
  std::vector<Engine> engines;
  for (const Profile& profile : profiles) {
    Result<Engine> made = Engine::create(profile, engine);
    if (!made) return tl::unexpected(made.error());
    engines.push_back(std::move(*made));
  }
  return std::unique_ptr<FedCluster>(new FedCluster(std::move(engines), quotas));
}

// --- Facts ---

// Of a change that is not about a pod, of which so much was read.
static FedCluster::Applied about_another(std::size_t bytes) {
  return {.pod_key = {}, .pod_uid = {}, .waits = false, .bytes = bytes};
}

template <typename Change>
Result<void> FedCluster::change_each(Change change) {
  OpenForks forks;
  for (Engine& engine : engines_) {
    if (&engine != &engines_.back()) forks.open(engine);
    if (Result<void> changed = change(engine); !changed) {
      forks.rollback();
      return changed;
    }
  }
  return {};
}

Result<FedCluster::Applied> FedCluster::apply(const wire::Change& change) {
  const auto upsert = [&](const auto& wire_object, auto& object) -> Result<Applied> {
    const Result<std::size_t> decoded = decode(wire_object, object);
    if (!decoded) return tl::unexpected(decoded.error());
    const auto put = [&](Engine& engine) { return engine.upsert(object); };
    if (auto applied = change_each(put); !applied) return tl::unexpected(applied.error());
    return about_another(*decoded);
  };
  const auto remove = [this](const auto& from) {
    std::for_each(engines_.begin(), engines_.end(), from);
    return Applied{};
  };
  const auto remove_named = [&](auto its, const auto& removed) {
    return remove([&](Engine& engine) { (engine.*its)(text(removed.name())); });
  };
  const auto remove_in = [&](auto its, const auto& removed) {
    return remove([&](Engine& engine) {
      (engine.*its)(text(removed.namespace_name()), text(removed.name()));
    });
  };
  if (auto checked = check_removed(change); !checked) return tl::unexpected(checked.error());
  switch (change.fact_type()) {
    case wire::Fact::Node:
      return apply_node(*change.fact_as_Node());
    case wire::Fact::NodeMetric:
      return upsert(*change.fact_as_NodeMetric(), metric_);
    case wire::Fact::Pod:
      return apply_pod(*change.fact_as_Pod());
    case wire::Fact::RemovedNode:
      quotas_.remove_node(text(change.fact_as_RemovedNode()->name()));
      return remove_named(&Engine::remove_node, *change.fact_as_RemovedNode());
    case wire::Fact::RemovedNodeMetric:
      return remove_named(&Engine::remove_node_metric, *change.fact_as_RemovedNodeMetric());
    case wire::Fact::RemovedPod: {
      const wire::RemovedPod& removed = *change.fact_as_RemovedPod();
      remove_in(&Engine::remove_pod, removed);
      write_pod_key(text(removed.namespace_name()), text(removed.name()), key_);
      pending_.remove(key_);
      return Applied{.pod_key = key_, .pod_uid = {}, .waits = false, .bytes = 0};
    }
    case wire::Fact::ElasticQuota:
      return upsert(*change.fact_as_ElasticQuota(), quota_);
    case wire::Fact::PodDisruptionBudget:
      return upsert(*change.fact_as_PodDisruptionBudget(), budget_);
    case wire::Fact::PriorityClass:
      return upsert(*change.fact_as_PriorityClass(), priority_class_);
    case wire::Fact::RemovedElasticQuota:
      return remove_in(&Engine::remove_elastic_quota, *change.fact_as_RemovedElasticQuota());
    case wire::Fact::RemovedPodDisruptionBudget:
      return remove_in(&Engine::remove_pod_disruption_budget,
                       *change.fact_as_RemovedPodDisruptionBudget());
    case wire::Fact::RemovedPriorityClass:
      return remove_named(&Engine::remove_priority_class, *change.fact_as_RemovedPriorityClass());
    case wire::Fact::CapacityQuota:
      return apply_capacity_quota(*change.fact_as_CapacityQuota());
    case wire::Fact::RemovedCapacityQuota:
      return remove_capacity_quota(*change.fact_as_RemovedCapacityQuota());
    case wire::Fact::ReferredObject: {
      const Result<ReferredObject> object = decode(*change.fact_as_ReferredObject());
      if (!object) return tl::unexpected(object.error());
      const auto put = [&](Engine& engine) { return engine.upsert(*object); };
      if (auto applied = change_each(put); !applied) return tl::unexpected(applied.error());
      return about_another(change.fact_as_ReferredObject()->json()->size());
    }
    case wire::Fact::RemovedReferredObject: {
      const wire::RemovedReferredObject& removed = *change.fact_as_RemovedReferredObject();
      const Result<ReferredKind> kind = decode(removed);
      if (!kind) return tl::unexpected(kind.error());
      return remove([&](Engine& engine) { engine.remove(*kind, text(removed.key())); });
    }
    case wire::Fact::NONE:
      break;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("fact_type: {} is not known; accepted: 1 to {}",
                          static_cast<int>(change.fact_type()), static_cast<int>(wire::Fact::MAX)));
}

// All have the same time: what one refuses the first one does.
Result<void> FedCluster::advance(std::int64_t now_us) {
  for (Engine& engine : engines_) {
    if (auto advanced = engine.advance(now_us); !advanced) return advanced;
  }
  return quotas_.advance(now_us);
}

void FedCluster::correct_clock(std::int64_t now_us) {
  for (Engine& engine : engines_) engine.correct_clock(now_us);
  quotas_.correct_clock(now_us);
}

void FedCluster::expect(const FedCluster& former) {
  const EngineStats stats = former.engine().stats();
  for (Engine& engine : engines_) engine.reserve(stats.nodes, stats.pods);
  quotas_.reserve_nodes(stats.nodes);
  pending_.reserve(former.pending_.size());
}

void FedCluster::begin_bulk(bool beside_decisions) {
  for (Engine& engine : engines_) bulks_.push_back(engine.bulk());
  if (beside_decisions) small_pages_.emplace();
}

void FedCluster::end_bulk() {
  bulks_.clear();
  small_pages_.reset();
}

bool FedCluster::derive(const Pause& pause) {
  return std::all_of(engines_.begin(), engines_.end(),
                     [&](Engine& engine) { return engine.derive(pause); });
}

// Engines and quotas have the node, or none.
Result<FedCluster::Applied> FedCluster::apply_node(const wire::Node& wire_node) {
  const Result<std::size_t> decoded = decode(wire_node, node_);
  if (!decoded) return tl::unexpected(decoded.error());
  return all_or_none(quotas_, [&]() -> Result<Applied> {
    Result<void> applied = quotas_.upsert(node_);
    if (applied) applied = change_each([this](Engine& engine) { return engine.upsert(node_); });
    if (!applied) return tl::unexpected(applied.error());
    return about_another(*decoded);
  });
}

Result<FedCluster::Applied> FedCluster::apply_capacity_quota(
    const wire::CapacityQuota& wire_quota) {
  const Result<CapacityQuotaClass> quota_class = decode(wire_quota.quota_class());
  if (!quota_class) {
    return fail(
        quota_class.error().code,
        fmt::format("capacityquota {}: {}", text(wire_quota.name()), quota_class.error().message));
  }
  const Result<std::size_t> decoded = decode(wire_quota, capacity_quota_);
  if (!decoded) return tl::unexpected(decoded.error());
  if (auto applied = quotas_.upsert(capacity_quota_, *quota_class); !applied) {
    return tl::unexpected(applied.error());
  }
  return about_another(*decoded);
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
  const Result<std::size_t> decoded = decode(wire_pod, pod_);
  if (!decoded) return tl::unexpected(decoded.error());
  const bool waits = pod_.node_name.empty() && !pod_.terminal();
  write_pod_key(pod_.namespace_name, pod_.name, key_);
  if (waits && pending_.size() >= kPendingPodsMax && pending_.of_key(key_) == nullptr) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("pod {}: kPendingPodsMax ({}) pods are pending", key_, kPendingPodsMax));
  }
  const auto put = [this](Engine& engine) { return engine.upsert(pod_); };
  if (auto applied = change_each(put); !applied) return tl::unexpected(applied.error());
  if (waits) {
    pending_.put(key_, pod_);
  } else {
    pending_.remove(key_);
  }
  return Applied{.pod_key = key_, .pod_uid = pod_.uid, .waits = waits, .bytes = *decoded};
}

// --- Reservations ---

Result<void> FedCluster::assume(const Pod& pod, std::string_view node_name) {
  return change_each([&](Engine& engine) { return engine.assume(pod, node_name); });
}

void FedCluster::forget(const Pod& pod, std::string_view node_name) {
  write_pod_key(pod.namespace_name, pod.name, key_);
  const Pod* const fed = pending_.of_key(key_);
  for (Engine& engine : engines_) {
    engine.forget(pod.namespace_name, pod.name, pod.uid, node_name);
    // What was reserved may have had another uid or other needs; the engine knows only the last
    // object. It has accepted this one before.
    if (fed != nullptr) (void)engine.upsert(*fed);
  }
}

Result<void> FedCluster::place(std::size_t profile, const Pod& pod, const EvaluateOptions& options,
                               Placement& placement) {
  Engine& decides = engines_[profile];
  if (engines_.size() == 1) return decides.place(pod, options, placement);
  OpenForks forks;
  forks.open(decides);
  if (auto placed = decides.place(pod, options, placement); !placed) return placed;
  if (placement.node == kNoNode) return {};
  const std::string node_name(decides.node_name(placement.node));
  for (Engine& engine : engines_) {
    if (&engine == &decides) continue;
    forks.open(engine);
    if (auto assumed = engine.assume(pod, node_name); !assumed) {
      forks.rollback();
      return assumed;
    }
  }
  return {};
}

// --- Looking ---

std::optional<std::size_t> FedCluster::profile_for(std::string_view scheduler_name) const {
  if (scheduler_name.empty() || engines_.size() == 1) return 0;
  const auto found = std::find_if(engines_.begin(), engines_.end(), [&](const Engine& engine) {
    return engine.profile().scheduler_name == scheduler_name;
  });
  if (found == engines_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - engines_.begin());
}

const Engine& FedCluster::quota_engine() const {
  const auto found = std::find_if(engines_.begin(), engines_.end(), [](const Engine& engine) {
    return engine.profile().capacity_scheduling;
  });
  return found == engines_.end() ? engines_.front() : *found;
}

EngineStats FedCluster::stats() const {
  EngineStats all = engines_.front().stats();
  all.elastic_quotas = quota_engine().stats().elastic_quotas;
  for (std::size_t e = 1; e < engines_.size(); ++e) {
    const EngineStats its = engines_[e].stats();
    all.decisions += its.decisions;
    all.cache_hits += its.cache_hits;
    all.cold_passes += its.cold_passes;
    all.rows_replayed += its.rows_replayed;
    all.shapes += its.shapes;
    all.cache_bytes += its.cache_bytes;
  }
  return all;
}

std::uint64_t FedCluster::epoch() const {
  std::uint64_t epoch = 0;
  for (const Engine& engine : engines_) epoch += engine.epoch();
  return epoch;
}

void FedCluster::set_shape_cache_bytes_max(std::size_t bytes) {
  for (Engine& engine : engines_) engine.set_shape_cache_bytes_max(bytes / engines_.size());
}

void FedCluster::drop_shape_caches() noexcept {
  for (Engine& engine : engines_) engine.drop_shape_cache();
}

Result<void> FedCluster::validate() const {
  for (const Engine& engine : engines_) {
    if (auto valid = engine.validate(); !valid) return valid;
  }
  if (auto valid = quotas_.validate(); !valid) return valid;
  return validate_rest();
}

// Of one change an engine may have more than another only where something threw in between, and
// then it is a node or a pod that one knows, or where it counts.
Result<void> FedCluster::validate_rest() const {
  const Engine& first = engines_.front();
  const EngineStats facts = first.stats();
  const std::uint32_t first_assumed = engines_.size() == 1 ? 0 : first.assumed_pods();
  for (std::size_t e = 1; e < engines_.size(); ++e) {
    const Engine& engine = engines_[e];
    const EngineStats its = engine.stats();
    const std::uint32_t assumed = engine.assumed_pods();
    if (its.nodes != facts.nodes || its.pods != facts.pods || engine.now_us() != first.now_us() ||
        assumed != first_assumed) {
      return fail(ErrorCode::kInternal,
                  fmt::format("profile {}: {} nodes, {} pods, {} of them assumed, at {} us;"
                              " profile {} has {}, {}, {} and {}",
                              engine.profile().scheduler_name, its.nodes, its.pods, assumed,
                              engine.now_us(), first.profile().scheduler_name, facts.nodes,
                              facts.pods, first_assumed, first.now_us()));
    }
  }
  return pending_.validate();
}

FedAudit FedCluster::audit(AuditOptions options) const {
  std::vector<std::unique_ptr<Audit>> engines;
  for (const Engine& engine : engines_) engines.push_back(engine.audit(options));
  return {std::move(engines), quotas_.audit(options)};
}

// What changed in an engine while others and the quotas had their turns is looked at again: in the
// last turn nothing is left of any.
Result<bool> FedAudit::turn(const Pause& pause) {
  for (const std::unique_ptr<Audit>& engine : engines_) {
    if (auto done = engine->turn(pause); !done || !*done) return done;
  }
  if (auto done = quotas_->turn(pause); !done || !*done) return done;
  for (const std::unique_ptr<Audit>& engine : engines_) {
    if (auto ended = engine->end(); !ended) return tl::unexpected(ended.error());
  }
  if (auto ended = quotas_->end(); !ended) return tl::unexpected(ended.error());
  return true;
}

}  // namespace headroom
