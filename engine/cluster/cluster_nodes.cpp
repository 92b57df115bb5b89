// Cluster: nodes, and what their metrics say.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "engine/cluster/cluster.h"
#include "engine/kept/check_resources.h"
#include "engine/kept/check_times.h"

namespace headroom {

Result<void> Cluster::upsert(const Node& node) {
  if (node.name.empty()) {
    return fail(ErrorCode::kInvalid, "Node: metadata.name is empty");
  }
  if (auto checked = check_resources(node.allocatable, "Node " + node.name, "status.allocatable");
      !checked) {
    return checked;
  }
  if (find_row(node.name) == kNoRow && rows_.size() >= kNodesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Node {}: kNodesMax ({}) names are known", node.name, kNodesMax));
  }
  const std::uint32_t row = row_of(node.name);
  const std::span<const ContainerImage> images =
      applications_.reads_images() ? std::span(node.images) : std::span<const ContainerImage>();
  if (facts_.nodes[row].node != nullptr && facts_.nodes[row].node->is_of(node, images)) {
    return {};
  }
  set_node(row, std::make_unique<const KeptNode>(node, images, shared_parts_));
  const std::uint64_t generation = row_classes_.classes().generation();
  row_classes_.limit();
  if (generation != row_classes_.classes().generation()) {
    rejections_.forget();
  }
  return {};
}

// Right when classes are numbered anew: whoever keeps numbers of rejections keeps them by class.
void Cluster::limit_rejections() {
  if (rejections_.is_half_full()) {
    row_classes_.begin_anew();
    rejections_.forget();
  }
}

void Cluster::set_node(std::uint32_t row, std::unique_ptr<const KeptNode> node) {
  const ResourceNames::Change change = rename(facts_.nodes[row].node.get(), node.get());
  const Renaming renaming = begin_renaming(change);
  each_counted_by_node(row, &Policy::uncount);
  NodeFacts& facts = facts_.nodes[row];
  if ((facts.node == nullptr) != (node == nullptr)) {
    const int sign = node != nullptr ? 1 : -1;
    node_count_ += static_cast<std::uint32_t>(sign);
    for (const PodId id : facts.nominated) {
      count_nominated(id, sign);
    }
  }
  if (facts.node != nullptr) {
    soft_taints_.count(facts.node->traits->taints, -1);
  }
  if (node != nullptr) {
    soft_taints_.count(node->traits->taints, 1);
  }
  applications_.change_node(row, facts.node.get(), node.get(),
                            [&] { row_classes_.change_node(row, facts.node.get(), node.get()); });
  journal_.put(NodeBefore{row, std::exchange(facts.node, std::move(node))});
  renumber(change);
  set_allocatable(facts);
  if (facts.node != nullptr) {
    set_node_columns(row);
  } else {
    bad_annotations_ -= facts.bad_annotation;
    facts.bad_annotation = false;
  }
  each_counted_by_node(row, &Policy::count);
  mark(row, Stale::kEverything);
  if (!change.names.empty()) {
    end_renaming(renaming);
  }
}

// The pods of the row, as policies count them that look at its node for that.
template <typename Returned>
void Cluster::each_counted_by_node(std::uint32_t row,
                                   Returned (Policy::*act)(std::uint32_t, PodId)) {
  for (const auto& policy : policies_) {
    for (PodId id = facts_.nodes[row].first_pod; policy->counts_by_node() && id != kNoPod;
         id = facts_.pods[id].next) {
      (policy.get()->*act)(row, id);
    }
  }
}

void Cluster::remove_node(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || facts_.nodes[row].node == nullptr) {
    return;
  }
  set_node(row, nullptr);
  release_row_if_unused(row);
}

// --- NodeMetrics ---

Result<void> Cluster::upsert(const NodeMetric& metric) {
  if (metric.name.empty()) {
    return fail(ErrorCode::kInvalid, "NodeMetric: metadata.name is empty");
  }
  if (auto checked = check_room(metric); !checked) {
    return checked;
  }
  if (load_aware_ == nullptr) {
    return {};
  }
  const std::uint32_t row = find_listed(metric);
  std::unique_ptr<MetricFacts> before =
      load_aware_->upsert(row, metric, listed_, now_us_, journal_.open());
  journal_.put(MetricBefore{row, std::move(before)});
  release_unmentioned();
  mark(row, Stale::kEverything);
  return {};
}

Result<void> Cluster::check_room(const NodeMetric& metric) const {
  if (!has_room_for(metric.name)) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("NodeMetric {}: kNodesMax ({}) names are known", metric.name, kNodesMax));
  }
  if (pod_ids_.size() + metric.pods.size() > kPodsMax) {
    const auto is_new = [this](const PodMetricInfo& pod) {
      return find_pod(pod_key(pod.namespace_name, pod.name)) == kNoPod;
    };
    if (std::any_of(metric.pods.begin(), metric.pods.end(), is_new)) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("NodeMetric {}: status.podsMetric: kPodsMax ({}) pods are known",
                              metric.name, kPodsMax));
    }
  }
  return check_times(metric);
}

// The metric's row, and into listed_ its pods. Each step is taken for all pods before the next, so
// that they wait for memory together.
std::uint32_t Cluster::find_listed(const NodeMetric& metric) {
  const NameIndex::Hash node_hash = NameIndex::hash(metric.name);
  rows_.prefetch(node_hash);
  for (const PodMetricInfo& pod : metric.pods) {
    prefetch_list(pod.name);
    prefetch_list(pod.usage);
  }
  for (const AggregatedUsage& aggregated : metric.aggregated) {
    for (const auto& [type, usage] : aggregated.usage) {
      prefetch_list(usage);
    }
  }
  listed_hashes_.clear();
  for (const PodMetricInfo& pod : metric.pods) {
    write_pod_key(pod.namespace_name, pod.name, pod_key_);
    listed_hashes_.push_back(NameIndex::hash(pod_key_));
    pod_ids_.prefetch(listed_hashes_.back());
  }
  const std::uint32_t row = row_of(metric.name, node_hash);
  prefetch_row(row);
  for (const NameIndex::Hash hash : listed_hashes_) {
    if (const PodId guess = pod_ids_.guess(hash); guess != kNoPod) {
      prefetch_pod(guess);
    }
  }
  load_aware_->prefetch_metric(row);
  for (const NameIndex::Hash hash : listed_hashes_) {
    if (const PodId guess = pod_ids_.guess(hash); guess != kNoPod) {
      __builtin_prefetch(facts_.pods[guess].key.data());
    }
  }
  listed_.clear();
  for (std::size_t p = 0; p < metric.pods.size(); ++p) {
    write_pod_key(metric.pods[p].namespace_name, metric.pods[p].name, pod_key_);
    listed_.push_back(pod_of(pod_key_, listed_hashes_[p]));
  }
  return row;
}

void Cluster::remove_node_metric(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || load_aware_ == nullptr || load_aware_->metric(row) == nullptr) {
    return;
  }
  journal_.put(MetricBefore{row, load_aware_->put(row, nullptr, now_us_)});
  release_unmentioned();
  mark(row, Stale::kEverything);
  release_row_if_unused(row);
}

// Of what a metric listed or lists.
void Cluster::release_unmentioned() {
  for (const PodId id : load_aware_->mentioned()) {
    if (!facts_.pods[id].key.empty()) {
      release_pod_if_unused(id);
    }
  }
}

}  // namespace headroom
