#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/cluster/audit.h"
#include "engine/cluster/cluster.h"
#include "engine/decide/evaluator.h"
#include "engine/preempt/preemption.h"
#include "engine/state/cluster_state.h"
#include "engine/state/state_file.h"

namespace headroom {

struct Engine::Impl {
  Impl(Profile profile, const Kernels& kernels, const EngineOptions& options)
      : cluster(std::move(profile), options.shape_cache_bytes_max),
        evaluator(cluster, kernels, options),
        preemption(cluster, evaluator, kernels, options) {}

  // For the decisions to come.
  Evaluator& deciding() {
    cluster.limit_rejections();
    return evaluator;
  }
  Preemption& preempting() {
    cluster.limit_rejections();
    return preemption;
  }

  Result<std::uint32_t> row_of_node(std::string_view name) const {
    const std::uint32_t row = cluster.find_row(name);
    if (row == kNoRow || cluster.node(row).node == nullptr) {
      return fail(ErrorCode::kNotFound, fmt::format("node {} is not known", name));
    }
    return row;
  }

  // For a pod that place() finds no room for. Nothing here can fail: the pod was checked before.
  // `before` are the placements of the call's earlier pods.
  void nominate(std::span<const Pod> pods, std::span<Placement> before, Placement& placement) {
    const Pod& pod = pods[before.size()];
    Result<PostFilter> found = preemption.post_filter(pod, {});
    if (!found || found->code != Code::kSuccess) {
      return;
    }
    placement.nominated_node = found->nominated_node;
    placement.victims = std::move(found->victims);
    std::vector<std::string> victims;
    for (const Victim& victim : placement.victims) {
      victims.push_back(pod_key(victim.namespace_name, victim.name));
    }
    const std::vector<std::string> lesser =
        cluster.preempt(pod, static_cast<std::uint32_t>(placement.nominated_node), victims);
    // Those of them that the same call nominated wait no more.
    for (std::size_t p = 0; p < before.size(); ++p) {
      const std::string key = pod_key(pods[p].namespace_name, pods[p].name);
      if (std::find(lesser.begin(), lesser.end(), key) != lesser.end()) {
        before[p].nominated_node = kNoNode;
      }
    }
  }

  Cluster cluster;
  Evaluator evaluator;
  Preemption preemption;
};

const char* to_string(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
  }
  return "";
}

std::string Decision::message() const {
  std::vector<std::string> parts;
  for (const std::string& reason : pre_filter) {
    parts.push_back(reason);
  }
  for (const ReasonCount& count : reasons) {
    parts.push_back(fmt::format("{} {}", count.nodes, count.reason));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}/{} nodes are available{}{}.", feasible, nodes, parts.empty() ? "" : ": ",
                     fmt::join(parts, ", "));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Engine> Engine::create(Profile profile, EngineOptions options) {
  if (auto checked = check_profile(profile); !checked) {
    return tl::unexpected(checked.error());
  }
  if (options.threads < 0) {
    return fail(ErrorCode::kInvalid, fmt::format("threads: {} is below 0", options.threads));
  }
  if (options.threads > kThreadsMax) {
    return fail(ErrorCode::kLimitExceeded, fmt::format("threads: {} is more than kThreadsMax ({})",
                                                       options.threads, kThreadsMax));
  }
  const Kernels* kernels = active_kernels();
  if (kernels == nullptr) {
    const char* forced = std::getenv("HEADROOM_KERNELS");
    std::string names;
    for (const Kernels* known : all_kernels()) {
      names += known->supported() ? std::string(names.empty() ? "" : ", ") + known->name : "";
    }
    return fail(ErrorCode::kUnsupported,
                fmt::format("HEADROOM_KERNELS={}: this machine has {}",
                            forced == nullptr ? "" : forced, names.empty() ? "none" : names));
  }
  return Engine(std::make_unique<Impl>(std::move(profile), *kernels, options));
}

Result<Engine> Engine::load(Profile profile, const std::string& path, EngineOptions options) {
  InputBytes bytes;
  if (auto read = read_whole_file(path, bytes); !read) {
    return tl::unexpected(read.error());
  }
  const auto wrong = [&path](const Error& its) {
    return fail(its.code, fmt::format("{}: {}", path, its.message));
  };
  const Result<StateFile> file = read_state_file(bytes.text());
  if (!file) {
    return wrong(file.error());
  }
  if (file->profile_hash != profile_hash(profile)) {
    return wrong({ErrorCode::kInvalid, "it was saved under another profile"});
  }
  Result<Engine> engine = create(std::move(profile), options);
  if (!engine) {
    return engine;
  }
  ValueReader reader(file->facts);
  if (auto restored = ClusterState::restore(engine->impl_->cluster, reader); !restored) {
    return wrong({ErrorCode::kInvalid, restored.error().message});
  }
  if (engine->digest() != file->digest) {
    return wrong({ErrorCode::kInvalid, "its digest is not that of its facts"});
  }
  return engine;
}

Result<void> Engine::save(const std::string& path) const {
  ValueWriter writer;
  if (auto saved = ClusterState::save(impl_->cluster, writer); !saved) {
    return saved;
  }
  return write_whole_file(path,
                          state_file_bytes({profile_hash(profile()), digest(), writer.bytes()}));
}

// --- Facts ---

Result<void> Engine::upsert(const Node& node) { return impl_->cluster.upsert(node); }
Result<void> Engine::upsert(const Pod& pod) { return impl_->cluster.upsert(pod); }
Result<void> Engine::upsert(const NodeMetric& metric) { return impl_->cluster.upsert(metric); }

Result<void> Engine::upsert(const ElasticQuota& quota) { return impl_->cluster.upsert(quota); }
Result<void> Engine::upsert(const PodDisruptionBudget& budget) {
  return impl_->cluster.upsert(budget);
}
Result<void> Engine::upsert(const PriorityClass& priority_class) {
  return impl_->cluster.upsert(priority_class);
}

Result<void> Engine::upsert(const ReferredObject& object) { return impl_->cluster.upsert(object); }

Result<void> Engine::upsert(const Object& object) {
  return std::visit(
      [this](const auto& held) -> Result<void> {
        if constexpr (std::is_same_v<decltype(held), const CapacityQuota&>) {
          return fail(ErrorCode::kUnsupported,
                      "CapacityQuota " + held.name + " is not a fact of the engine");
        } else {
          return upsert(held);
        }
      },
      object);
}

void Engine::remove_node(std::string_view name) { impl_->cluster.remove_node(name); }

void Engine::remove_pod(std::string_view namespace_name, std::string_view name) {
  impl_->cluster.remove_pod(pod_key(namespace_name, name));
}

void Engine::remove_node_metric(std::string_view name) { impl_->cluster.remove_node_metric(name); }

void Engine::remove_elastic_quota(std::string_view namespace_name, std::string_view name) {
  impl_->cluster.remove_elastic_quota(namespace_name, name);
}

void Engine::remove_pod_disruption_budget(std::string_view namespace_name, std::string_view name) {
  impl_->cluster.remove_pod_disruption_budget(pod_key(namespace_name, name));
}

void Engine::remove_priority_class(std::string_view name) {
  impl_->cluster.remove_priority_class(name);
}

void Engine::remove(ReferredKind kind, std::string_view key) { impl_->cluster.remove(kind, key); }

Result<void> Engine::assume(const Pod& pod, std::string_view node_name) {
  return impl_->cluster.assume(pod, node_name);
}

void Engine::forget(std::string_view namespace_name, std::string_view name, std::string_view uid,
                    std::string_view node_name) {
  impl_->cluster.forget(pod_key(namespace_name, name), uid, node_name);
}

Result<void> Engine::advance(std::int64_t now_us) { return impl_->cluster.advance(now_us); }
void Engine::correct_clock(std::int64_t now_us) { impl_->cluster.correct_clock(now_us); }
std::int64_t Engine::now_us() const { return impl_->cluster.now_us(); }

void Engine::fork() { impl_->cluster.fork(); }
void Engine::rollback() { impl_->cluster.rollback(); }
void Engine::commit() { impl_->cluster.commit(); }
std::uint32_t Engine::forks() const { return impl_->cluster.forks(); }

void Engine::reserve(std::uint32_t nodes, std::uint32_t pods) {
  impl_->cluster.reserve(std::min(nodes, kNodesMax), std::min(pods, kPodsMax));
}

Engine::Bulk Engine::bulk() { return Bulk(*impl_, impl_->cluster.begin_bulk()); }

Engine::Bulk::~Bulk() {
  if (impl_ != nullptr) {
    impl_->cluster.end_bulk(was_);
  }
}

bool Engine::derive(const Pause& pause) { return impl_->cluster.derive(pause); }

void Engine::set_shape_cache_bytes_max(std::size_t bytes) {
  impl_->cluster.shapes().set_bytes_max(bytes);
}
void Engine::drop_shape_cache() noexcept { impl_->evaluator.drop_cache(); }

// --- Decisions ---

Result<Decision> Engine::evaluate(const Pod& pod, const EvaluateOptions& options) {
  Decision decision;
  if (auto evaluated = evaluate(pod, options, decision); !evaluated) {
    return tl::unexpected(evaluated.error());
  }
  return decision;
}

Result<void> Engine::evaluate(const Pod& pod, const EvaluateOptions& options, Decision& decision) {
  return impl_->deciding().evaluate(pod, options, decision);
}

Result<bool> Engine::prepare(const Pod& pod, const Pause& pause) {
  return impl_->deciding().prepare(pod, pause);
}

Result<bool> Engine::evaluate(const Pod& pod, const EvaluateOptions& options, const Pause& pause,
                              Decision& decision) {
  return impl_->deciding().evaluate(pod, options, pause, decision);
}

Result<ShapeIndex> Engine::shape_of(const Pod& pod) { return impl_->evaluator.shape_of(pod); }

Result<void> Engine::evaluate(ShapeIndex shape, const EvaluateOptions& options,
                              Decision& decision) {
  return impl_->deciding().evaluate(shape, options, decision);
}

Result<std::vector<Decision>> Engine::evaluate(std::span<const Pod> pods,
                                               const EvaluateOptions& options) {
  return impl_->deciding().evaluate(pods, options);
}

Result<std::vector<Placement>> Engine::place(std::span<const Pod> pods,
                                             const EvaluateOptions& options, bool preempt) {
  Cluster& cluster = impl_->cluster;
  if (preempt && cluster.capacity_scheduling() == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "place: preempt: the profile does not enable CapacityScheduling");
  }
  if (auto checked = cluster.check_room(pods); !checked) {
    return tl::unexpected(checked.error());
  }
  cluster.limit_rejections();
  PodShapes shapes(cluster.shapes());
  for (const Pod& pod : pods) {
    if (const auto shape = shapes.add(pod); !shape) {
      return tl::unexpected(shape.error());
    }
  }
  std::vector<Placement> placements(pods.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    Placement& placement = placements[p];
    Decision& decision = placement.decision;
    PodShape& shape = shapes.at(p, pods[p]);
    if (const PodShape* next = shapes.kept(p + 1); next != nullptr) {
      impl_->evaluator.fetch(*next);
    }
    if (auto decided = impl_->evaluator.decide(pods[p], shape, options, decision); !decided) {
      return tl::unexpected(decided.error());
    }
    if (decision.code == Code::kSuccess) {
      placement.node = decision.candidates.front().node;
      cluster.assume(pods[p], shape, static_cast<std::uint32_t>(placement.node));
    } else if (preempt && decision.code == Code::kUnschedulable) {
      impl_->nominate(pods, std::span(placements).first(p), placement);
    }
  }
  return placements;
}

Result<void> Engine::place(const Pod& pod, const EvaluateOptions& options, Placement& placement) {
  Cluster& cluster = impl_->cluster;
  if (auto checked = cluster.check_room(pod, 1); !checked) {
    return checked;
  }
  cluster.limit_rejections();
  const auto shape = cluster.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  placement.node = placement.nominated_node = kNoNode;
  placement.victims.clear();
  Decision& decision = placement.decision;
  if (auto decided = impl_->evaluator.decide(pod, **shape, options, decision); !decided) {
    return decided;
  }
  if (decision.code == Code::kSuccess) {
    placement.node = decision.candidates.front().node;
    cluster.assume(pod, **shape, static_cast<std::uint32_t>(placement.node));
  }
  return {};
}

Result<Decision> Engine::decide(const Pod& pod, const EvaluateOptions& options) {
  impl_->cluster.limit_rejections();
  const auto shape = impl_->cluster.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  Decision decision;
  if (auto decided = impl_->evaluator.decide(pod, **shape, options, decision); !decided) {
    return tl::unexpected(decided.error());
  }
  return decision;
}

Result<PreFilterStatus> Engine::pre_filter(const Pod& pod) {
  return impl_->deciding().pre_filter(pod);
}

NotConsideredSet Engine::not_considered(const Pod& pod) const {
  return impl_->cluster.not_considered(pod);
}

Result<PostFilter> Engine::post_filter(const Pod& pod, const PostFilterOptions& options) {
  return impl_->preempting().post_filter(pod, options);
}

Result<bool> Engine::post_filter(const Pod& pod, const PostFilterOptions& options,
                                 const Pause& pause, PostFilterTurns& turns, PostFilter& answer) {
  return impl_->preempting().post_filter(pod, options, pause, turns, answer);
}

Result<std::vector<PodVerdict>> Engine::explain_victims(const Pod& pod,
                                                        std::string_view node_name) {
  const Result<std::uint32_t> row = impl_->row_of_node(node_name);
  return row ? impl_->preempting().explain_victims(pod, *row) : tl::unexpected(row.error());
}

Result<std::vector<NodeDetail>> Engine::evaluate_all(const Pod& pod) {
  return impl_->deciding().evaluate_all(pod);
}

Result<void> Engine::evaluate_nodes(const Pod& pod, NodesDecision& decision) {
  return impl_->deciding().evaluate_nodes(pod, decision);
}

Result<NodeDetail> Engine::filter(const Pod& pod, std::string_view node_name,
                                  const FilterOptions& options) {
  const Result<std::uint32_t> row = impl_->row_of_node(node_name);
  return row ? impl_->deciding().filter(pod, *row, options) : tl::unexpected(row.error());
}

Result<void> Engine::filter(const Pod& pod, std::span<const NodeIndex> nodes,
                            const FilterOptions& options, NodesDecision& decision) {
  const Cluster& cluster = impl_->cluster;
  for (const NodeIndex node : nodes) {
    const auto row = static_cast<std::uint32_t>(node);
    if (row >= cluster.table().size() || cluster.node(row).node == nullptr) {
      return fail(ErrorCode::kNotFound, fmt::format("node {} is not known", row));
    }
  }
  if (nodes.size() != 1 && !(options.without.empty() && options.with.empty())) {
    return fail(ErrorCode::kInvalid,
                fmt::format("without, with: {} nodes: they are for one", nodes.size()));
  }
  return impl_->deciding().filter(pod, nodes, options, decision);
}

Result<bool> Engine::passes(const Pod& pod, std::string_view node_name) {
  const Result<std::uint32_t> row = impl_->row_of_node(node_name);
  return row ? impl_->deciding().passes(pod, *row) : tl::unexpected(row.error());
}

Result<bool> Engine::has_room(ShapeIndex shape, NodeIndex node) {
  const auto row = static_cast<std::uint32_t>(node);
  if (row >= impl_->cluster.table().size() || impl_->cluster.node(row).node == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("node {} is not known", row));
  }
  return impl_->evaluator.has_room(shape, row);
}

Result<Explanation> Engine::explain(const Pod& pod, std::string_view node_name) {
  const Result<std::uint32_t> row = impl_->row_of_node(node_name);
  return row ? impl_->deciding().explain(pod, *row) : tl::unexpected(row.error());
}

Result<std::vector<ReferredObject>> Engine::bound_volumes(const Pod& pod,
                                                          std::string_view node_name) {
  const Result<std::uint32_t> row = impl_->row_of_node(node_name);
  return row ? impl_->deciding().bound_volumes(pod, *row) : tl::unexpected(row.error());
}

// --- Looking ---

const Profile& Engine::profile() const { return impl_->cluster.profile(); }
std::uint64_t Engine::epoch() const {
  impl_->cluster.derive();
  return impl_->cluster.table().epoch();
}
std::uint32_t Engine::assumed_pods() const { return impl_->cluster.assumed_pods(); }
std::uint32_t Engine::pod_count() const { return impl_->cluster.pod_count(); }
EngineStats Engine::stats() const { return impl_->evaluator.stats(); }

std::uint32_t Engine::row_count() const { return impl_->cluster.table().size(); }

std::string_view Engine::node_name(NodeIndex node) const {
  const auto row = static_cast<std::uint32_t>(node);
  return row < impl_->cluster.table().size() ? impl_->cluster.node(row).name : std::string_view();
}

NodeIndex Engine::find_node(std::string_view name) const {
  const std::uint32_t row = impl_->cluster.find_row(name);
  return row == kNoRow || impl_->cluster.node(row).node == nullptr ? kNoNode
                                                                   : static_cast<NodeIndex>(row);
}

NodeIndex Engine::node_of_pod(std::string_view namespace_name, std::string_view name) const {
  return static_cast<NodeIndex>(impl_->cluster.counted_row_of(pod_key(namespace_name, name)));
}

bool Engine::has_ended(std::string_view namespace_name, std::string_view name,
                       std::string_view uid) const {
  return impl_->cluster.has_ended(pod_key(namespace_name, name), uid);
}

std::vector<ElasticQuotaStatus> Engine::elastic_quota_status(std::string_view after,
                                                             std::size_t most) const {
  return impl_->cluster.capacity_scheduling() == nullptr
             ? std::vector<ElasticQuotaStatus>()
             : impl_->cluster.capacity_scheduling()->elastic_quotas().status(after, most);
}

Result<NodeFigures> Engine::node_figures(std::string_view resource) const {
  impl_->cluster.derive();
  const ResourceId id = impl_->cluster.resources().find(resource);
  if (id == kNoResource) {
    return fail(ErrorCode::kNotFound, fmt::format("resource {} is not known", resource));
  }
  return impl_->cluster.figures(id);
}

std::uint64_t Engine::digest() const {
  impl_->cluster.derive();
  return impl_->cluster.digest();
}
Result<void> Engine::validate() const {
  impl_->cluster.derive();
  return impl_->cluster.validate();
}
std::unique_ptr<Audit> Engine::audit(AuditOptions options) const {
  return std::make_unique<Audit>(impl_->cluster, options);
}

}  // namespace headroom
