// Cluster's digest: of what the facts say, in no order.
#include "engine/cluster/cluster.h"
#include "engine/kept/digest.h"

namespace headroom {

std::uint64_t Cluster::digest_of_row(std::uint32_t row) const {
  Digest digest;
  const std::string& name = facts_.nodes[row].name;
  if (name.empty()) {
    return 0;
  }
  if (const MetricFacts* metric = load_aware_ != nullptr ? load_aware_->metric(row) : nullptr;
      metric != nullptr) {
    digest.add("metric", name, metric->updated_us, metric->interval_us);
  }
  const KeptNode* node = facts_.nodes[row].node.get();
  if (node == nullptr) {
    return digest.total();  // what its pods add up to counts once the node is there
  }
  digest.add("node", name, static_cast<std::int64_t>(table_.digest(row)));
  digest.add("unschedulable", name, std::int64_t{node->traits->unschedulable});
  node->labels.for_each(
      [&](const Label& label) { digest.add("label", name, label.first, label.second); });
  for (const auto& [key, value] : node->traits->annotations) {
    digest.add("annotation", name, key, value);
  }
  for (const Taint& taint : node->traits->taints) {
    digest.add("taint", name, taint.key, taint.value, taint.effect);
  }
  for (const SharedImage& image : node->images) {
    for (const std::string& image_name : image->names) {
      digest.add("image", name, image_name, image->size_bytes);
    }
  }
  for (const std::string& feature : node->traits->declared_features) {
    digest.add("feature", name, feature);
  }
  for (const auto& [resource, quantity] : node->traits->allocatable) {
    digest.add("allocatable", name, resource, static_cast<std::int64_t>(quantity.nanos()));
  }
  return digest.total();
}

std::uint64_t Cluster::digest_of_pod(PodId id) const {
  Digest digest;
  const PodFacts& pod = facts_.pods[id];
  if (!pod.known()) {
    return 0;
  }
  const auto name_of = [&](std::uint32_t row) {
    return row == kNoRow ? std::string() : facts_.nodes[row].name;
  };
  digest.add("rank", pod.key, std::int64_t{pod.rank.priority}, pod.rank.start_us,
             std::int64_t{pod.rank.deleting}, name_of(pod.rank.nominated_row),
             capacity_scheduling_ == nullptr
                 ? 0
                 : capacity_scheduling_->budgets().labels_hash(pod.rank.group));
  if (pod.host_ports != nullptr) {
    for (const HostPort& port : *pod.host_ports) {
      digest.add("port", pod.key, to_string(port));
    }
  }
  if (pod.peer != kNoPeer) {
    digest.add("peer", pod.key,
               static_cast<std::int64_t>(applications_.peers().at(pod.peer).key_hash));
  }
  digest.add("pod", pod.key, pod.uid.text(), std::int64_t{pod.applied}, std::int64_t{pod.terminal},
             name_of(pod.bound_row), name_of(pod.assumed_row),
             static_cast<std::int64_t>(facts_.shapes[pod.shape]->key_hash),
             pod.counted_row == kNoRow ? 0 : pod.first_seen_us, pod.scheduled().value_or(0),
             pod.initialized().value_or(0));
  return digest.total();
}

std::uint64_t Cluster::digest_of_rest() const {
  Digest digest;
  digest.add("now", now_us_);
  if (referred_.count() != 0) {
    digest.add("referred", static_cast<std::int64_t>(referred_.digest()));
  }
  digest.add("priorities", static_cast<std::int64_t>(priorities_.digest()));
  if (capacity_scheduling_ != nullptr) {
    digest.add("capacity", static_cast<std::int64_t>(capacity_scheduling_->digest()));
  }
  return digest.total();
}

std::uint64_t Cluster::digest() const {
  std::uint64_t total = digest_of_rest();
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    total += digest_of_row(row);
  }
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    total += digest_of_pod(id);
  }
  return total;
}

}  // namespace headroom
