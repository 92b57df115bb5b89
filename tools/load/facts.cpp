#include "tools/load/facts.h"

#include <fmt/format.h>

#include "workloads/random.h"

namespace headroom {

namespace {

constexpr std::size_t kRequestPods = 64;
// Pods that events have bound at one time.
constexpr std::size_t kBoundByEvents = 1024;
enum FactPurpose : std::uint64_t { kForEvents = 811 };

// A pod that a request may ask for: pending, and known to nobody.
Pod request_pod(const Pod& pod, bool has_quotas) {
  Pod copy = pod;
  if (!has_quotas) copy.namespace_name = "load";
  copy.node_name.clear();
  copy.phase = "Pending";
  copy.scheduled.reset();
  copy.initialized.reset();
  copy.nominated_node_name.clear();
  copy.start_us.reset();
  copy.deleting = false;
  return copy;
}

}  // namespace

LoadFacts::LoadFacts(Objects objects, Engine engine, std::uint64_t seed)
    : objects_(std::move(objects)), seed_(seed), engine_(std::move(engine)) {}

Result<std::unique_ptr<LoadFacts>> LoadFacts::create(Objects objects, const Profile& profile,
                                                     std::uint64_t seed) {
  if (objects.nodes.empty()) return fail(ErrorCode::kInvalid, "the cluster has no node");
  Result<Engine> engine = Engine::create(profile);
  if (!engine) return tl::unexpected(engine.error());
  std::unique_ptr<LoadFacts> facts(new LoadFacts(std::move(objects), std::move(*engine), seed));
  // Pending pods first: they are what a scheduler would ask for.
  for (const bool pending : {true, false}) {
    for (const Pod& pod : facts->objects_.pods) {
      if (facts->request_pods_.size() < kRequestPods && !pod.terminal() &&
          pod.node_name.empty() == pending) {
        facts->request_pods_.push_back(request_pod(pod, !facts->objects_.elastic_quotas.empty()));
      }
    }
  }
  if (facts->request_pods_.empty()) {
    return fail(ErrorCode::kInvalid, "the cluster has no pod to ask for");
  }
  if (auto loaded = facts->load(); !loaded) return tl::unexpected(loaded.error());
  return facts;
}

Result<void> LoadFacts::load() {
  Result<void> loaded = engine_.advance(objects_.now_us);
  if (loaded) loaded = quotas_.advance(objects_.now_us);
  for_each(Feeder::Emit([&](const Object& object, wire::CapacityQuotaClass) {
    if (!loaded) return;
    if (const auto* quota = std::get_if<CapacityQuota>(&object)) {
      loaded = quotas_.upsert(*quota);
      return;
    }
    if (const auto* node = std::get_if<Node>(&object)) loaded = quotas_.upsert(*node);
    if (loaded) loaded = engine_.upsert(object);
  }));
  return loaded;
}

std::uint64_t LoadFacts::object_count() const {
  std::uint64_t count = bound_by_events_.size();
  each_list(objects_, [&count](const auto& list) { count += list.size(); });
  return count;
}

void LoadFacts::for_each(const Feeder::Emit& emit) const {
  const auto emit_all = [&emit](const auto& list) {
    for (const auto& object : list) emit(object);
  };
  each_list(objects_, emit_all);
  emit_all(bound_by_events_);
}

Result<void> LoadFacts::next_event(Feeder& feeder) {
  Random random{seed_, kForEvents, events_};
  const std::uint64_t kind = events_++ % 3;
  if (kind == 2 && !objects_.node_metrics.empty()) {
    const auto count = static_cast<std::uint32_t>(objects_.node_metrics.size());
    NodeMetric& metric = objects_.node_metrics[random.below(count)];
    for (auto& [name, usage] : metric.node_usage) {
      usage = Quantity::from_nanos(usage.nanos() / 100 * random.between(95, 105));
    }
    if (auto applied = engine_.upsert(metric); !applied) return applied;
    return feeder.upsert(metric);
  }
  if (bound_by_events_.size() >= kBoundByEvents || (kind == 1 && !bound_by_events_.empty())) {
    const Pod pod = std::move(bound_by_events_.front());
    bound_by_events_.pop_front();
    engine_.remove_pod(pod.namespace_name, pod.name);
    return feeder.remove_pod(pod.namespace_name, pod.name);
  }
  Pod pod = request_pods_[random.below(static_cast<std::uint32_t>(request_pods_.size()))];
  pod.name = fmt::format("event-{}", events_);
  pod.uid = pod.name;
  pod.node_name =
      objects_.nodes[random.below(static_cast<std::uint32_t>(objects_.nodes.size()))].name;
  pod.phase = "Running";
  if (auto applied = engine_.upsert(pod); !applied) return applied;
  bound_by_events_.push_back(pod);
  return feeder.upsert(pod);
}

}  // namespace headroom
