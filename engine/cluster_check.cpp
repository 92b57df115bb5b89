// Cluster's digest and validation: everything recomputed from the facts.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/cluster.h"

namespace headroom {

namespace {

// Adds up hashes whose order does not matter.
class Digest {
 public:
  template <typename... Parts>
  void add(const Parts&... parts) {
    std::uint64_t hash = 0;
    ((hash = mix(hash ^ number(parts))), ...);
    total_ += hash;
  }
  std::uint64_t total() const { return total_; }

 private:
  static std::uint64_t number(std::string_view text) { return hash_bytes(text); }
  static std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

  std::uint64_t total_ = 0;
};

}  // namespace

std::uint64_t Cluster::digest() const {
  Digest digest;
  digest.add("now", now_us_);
  for (const auto& [name, row] : rows_) {
    const Node* node = nodes_[row].node.get();
    if (const MetricFacts* metric = load_aware_ != nullptr ? load_aware_->metric(row) : nullptr;
        metric != nullptr) {
      digest.add("metric", name, metric->updated_us, metric->interval_us);
    }
    if (node == nullptr) {
      continue;  // what its pods add up to counts once the node is there
    }
    digest.add("node", name, static_cast<std::int64_t>(table_.digest(row)));
    digest.add("unschedulable", name, std::int64_t{node->unschedulable});
    for (const auto& [key, value] : node->labels) {
      digest.add("label", name, key, value);
    }
    for (const auto& [key, value] : node->annotations) {
      digest.add("annotation", name, key, value);
    }
    for (const Taint& taint : node->taints) {
      digest.add("taint", name, taint.key, taint.value, taint.effect);
    }
    for (const auto& [resource, quantity] : node->allocatable) {
      digest.add("allocatable", name, resource, static_cast<std::int64_t>(quantity.nanos()));
    }
  }
  for (PodId id = 0; id < pods_.size(); ++id) {
    if (const PodFacts& pod = pods_[id]; pod.known()) {
      const auto name_of = [&](std::uint32_t row) {
        return row == kNoRow ? std::string() : nodes_[row].name;
      };
      digest.add("pod", pod.key, pod.uid, std::int64_t{pod.applied}, std::int64_t{pod.terminal},
                 name_of(pod.bound_row), name_of(pod.assumed_row),
                 static_cast<std::int64_t>(shapes_[pod.shape]->key_hash),
                 pod.counted_row == kNoRow ? 0 : pod.first_seen_us, pod.scheduled_us.value_or(0),
                 pod.initialized_us.value_or(0));
    }
  }
  return digest.total();
}

Result<void> Cluster::validate_row(std::uint32_t row) {
  const NodeFacts& node = nodes_[row];
  const auto broken = [&](const std::string& what) {
    return fail(ErrorCode::kConflict, fmt::format("validate: node {}: {}", node.name, what));
  };
  if (!table_.narrow_consistent(row)) {
    return broken("a narrow column differs from its truth");
  }
  if (node.node != nullptr && classes_.classify(*node.node) != table_.node_class(row)) {
    return broken("its class differs");
  }
  const NodeTable::RowState before = table_.row_state(row);
  const std::uint64_t bad_before = bad_annotations_;
  table_.clear_sums(row);
  bool unestimated = false;
  bool ordered = true;
  for (PodId id = node.first_pod; id != kNoPod; id = pods_[id].next) {
    PodFacts& pod = pods_[id];
    const PodShape& shape = *shapes_[pod.shape];
    table_.add(row, shape.contributions);
    add_allocatable_needs(row, shape, 1);
    if (load_aware_ != nullptr) {
      ordered = ordered && !(unestimated && load_aware_->depends_on_metric(pod));
      unestimated = unestimated || !load_aware_->depends_on_metric(pod);
      load_aware_->add_pod(row, shape, id, pod);
    }
  }
  if (node.node != nullptr) {
    set_node_columns(row);
  }
  if (load_aware_ != nullptr) {
    load_aware_->refresh(row, now_us_);
  }
  table_.derive(row);
  const bool same = table_.row_state(row) == before;
  table_.restore(row, before);
  if (!same || bad_annotations_ != bad_before) {
    return broken("its aggregates differ from a sum over its pods");
  }
  return ordered ? Result<void>() : broken("a pod with a load estimate stands behind one without");
}

Result<void> Cluster::validate() {
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: " + what);
  };
  std::vector<std::uint32_t> mentions(nodes_.size(), 0);
  std::uint32_t known = 0;
  for (PodId id = 0; id < pods_.size(); ++id) {
    const PodFacts& pod = pods_[id];
    known += pod.known();
    for (const std::uint32_t row : {pod.bound_row, pod.assumed_row}) {
      if (row != kNoRow) {
        ++mentions[row];
      }
    }
    const std::uint32_t expected = pod.known() && !pod.terminal ? pod.row() : kNoRow;
    if (pod.counted_row != expected) {
      return broken("pod " + pod.key + " counts on another row than its facts say");
    }
  }
  if (known != pod_count_) {
    return broken(fmt::format("{} pods are known, {} were counted", known, pod_count_));
  }
  std::uint32_t nodes = 0;
  for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
    if (nodes_[row].name.empty()) {
      if (table_.node_class(row) != kNoNodeClass) {
        return broken(fmt::format("row {} is free and has a class", row));
      }
      continue;
    }
    nodes += nodes_[row].node != nullptr;
    mentions[row] += load_aware_ != nullptr && load_aware_->metric(row) != nullptr;
    if (mentions[row] != nodes_[row].mentions || find_row(nodes_[row].name) != row) {
      return broken("the row of " + nodes_[row].name + " is mentioned otherwise than counted");
    }
    PodId previous = kNoPod;
    for (PodId id = nodes_[row].first_pod; id != kNoPod; id = pods_[id].next) {
      if (pods_[id].previous != previous || pods_[id].counted_row != row) {
        return broken("the pods of " + nodes_[row].name + " are linked wrongly");
      }
      previous = id;
    }
    if (auto checked = validate_row(row); !checked) {
      return checked;
    }
  }
  return nodes == node_count_
             ? Result<void>()
             : broken(fmt::format("{} nodes, {} were counted", nodes, node_count_));
}

}  // namespace headroom
