// Cluster's digest and validation: everything recomputed from the facts.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engine/cluster.h"
#include "engine/digest.h"

namespace headroom {

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
      if (capacity_ != nullptr) {
        digest.add("rank", pod.key, std::int64_t{pod.rank.priority}, pod.rank.start_us,
                   std::int64_t{pod.rank.deleting}, name_of(pod.rank.nominated_row),
                   capacity_->budgets().labels_hash(pod.rank.group));
      }
      if (pod.host_ports != nullptr) {
        for (const HostPort& port : *pod.host_ports) {
          digest.add("port", pod.key, to_string(port));
        }
      }
      digest.add("pod", pod.key, pod.uid, std::int64_t{pod.applied}, std::int64_t{pod.terminal},
                 name_of(pod.bound_row), name_of(pod.assumed_row),
                 static_cast<std::int64_t>(shapes_[pod.shape]->key_hash),
                 pod.counted_row == kNoRow ? 0 : pod.first_seen_us, pod.scheduled_us.value_or(0),
                 pod.initialized_us.value_or(0));
    }
  }
  if (capacity_ != nullptr) {
    digest.add("capacity", static_cast<std::int64_t>(capacity_->digest()));
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
  // Of a split that is under way the row may be still to come.
  if (node.node != nullptr && splits_done_ == splits_begun_ &&
      classes_.classify(*node.node) != table_.node_class(row)) {
    return broken("its class differs");
  }
  PodId previous = kNoPod;
  for (PodId id = node.first_pod; id != kNoPod; id = pods_[id].next) {
    if (pods_[id].previous != previous || pods_[id].counted_row != row) {
      return broken("its pods are linked wrongly");
    }
    previous = id;
  }
  const NodeTable::RowState before = table_.row_state(row);
  const std::uint64_t bad_before = bad_annotations_;
  table_.clear_sums(row);
  TakenPorts ports;
  bool unestimated = false;
  bool ordered = true;
  for (PodId id = node.first_pod; id != kNoPod; id = pods_[id].next) {
    PodFacts& pod = pods_[id];
    const PodShape& shape = *shapes_[pod.shape];
    table_.add(row, shape.contributions);
    add_allocatable_needs(row, shape, 1);
    if (pod.host_ports != nullptr) {
      ports.add(*pod.host_ports);
    }
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
  if (ports != node.ports) {
    return broken("its host ports differ from those of its pods");
  }
  return ordered ? Result<void>() : broken("a pod with a load estimate stands behind one without");
}

// What quotas and preemption read, against the pods: used, nominated, and the order of each row.
Result<void> Cluster::validate_capacity() const {
  if (capacity_ == nullptr) {
    return {};
  }
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: capacity scheduling: " + what);
  };
  // A journal holds what it may bring back.
  const auto miscounted = [this](std::uint32_t holders, std::uint32_t counted) {
    return journal_.open() ? holders < counted : holders != counted;
  };
  const ElasticQuotas& quotas = capacity_->quotas();
  std::vector<ResourceSums> used(quotas.namespace_count()), waiting(quotas.namespace_count());
  std::vector<std::uint32_t> ranked(nodes_.size());
  // By namespace, and by name of a class: the pods and budgets that hold it.
  std::vector<std::uint32_t> held(quotas.namespace_count()), named(capacity_->class_name_count());
  for (const PodDisruptionBudget& budget : capacity_->budgets().all()) {
    const NamespaceId id = quotas.find(budget.namespace_name);
    if (id == kNoNamespace) {
      return broken("the namespace of a budget is not known: " + budget.namespace_name);
    }
    ++held[id];
  }
  for (PodId id = 0; id < pods_.size(); ++id) {
    const PodFacts& pod = pods_[id];
    const PodRank& rank = pod.rank;
    if (pod.known() != (rank.group != kNoGroup)) {
      return broken("pod " + pod.key + " is ranked although it is not known, or not");
    }
    if (pod.known()) {
      ++held[rank.namespace_id];
    }
    if (rank.priority_class != 0) {
      ++named[rank.priority_class - 1];
    }
    const bool waits =
        pod.known() && !pod.terminal && pod.row() == kNoRow && rank.nominated_row != kNoRow;
    if (waits != rank.nominated ||
        (waits && std::count(nodes_[rank.nominated_row].nominated.begin(),
                             nodes_[rank.nominated_row].nominated.end(), id) != 1)) {
      return broken("pod " + pod.key + " is nominated otherwise than its facts say");
    }
    if (pod.known() && capacity_->priority_now(rank) != rank.priority) {
      return broken("pod " + pod.key + " has another priority than its class");
    }
    const bool counts = pod.counted_row != kNoRow;
    if (!counts && !(waits && nodes_[rank.nominated_row].node != nullptr)) {
      continue;
    }
    for (const auto& [resource, amount] : shapes_[pod.shape]->quota_request) {
      (counts ? used : waiting)[rank.namespace_id][resource] += amount;
    }
    if (counts) {
      ++ranked[pod.counted_row];
      const auto pods = capacity_->pods_of(pod.counted_row);
      if (std::count_if(pods.begin(), pods.end(), [&](const RankedPod& other) {
            return other.pod == id && other.priority == rank.priority &&
                   other.start_us == rank.start_us && other.shape == pod.shape &&
                   other.group == rank.group && other.namespace_id == rank.namespace_id;
          }) != 1) {
        return broken("pod " + pod.key + " is ranked otherwise than its facts say");
      }
    }
  }
  for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
    const auto pods = capacity_->pods_of(row);
    if (pods.size() != ranked[row] ||
        !std::is_sorted(pods.begin(), pods.end(), [&](const RankedPod& a, const RankedPod& b) {
          return capacity_->less_important(a, b);
        })) {
      return broken("the pods of " + nodes_[row].name + " are out of order");
    }
    const bool listed = std::count(nominated_rows_.begin(), nominated_rows_.end(), row) == 1;
    if (listed == nodes_[row].nominated.empty()) {
      return broken("the nominated pods of " + nodes_[row].name + " are not listed");
    }
  }
  for (NamespaceId id = 0; id < quotas.namespace_count(); ++id) {
    ResourceSums nominated{};
    for (const NamespaceFacts::Nominated& group : quotas.at(id).nominated) {
      for (ResourceId r = 0; r < quotas.resource_count(); ++r) {
        nominated[r] += group.amounts[r];
      }
    }
    if (quotas.at(id).used != used[id] || nominated != waiting[id]) {
      return broken("namespace " + quotas.at(id).name + " uses other than its pods add up to");
    }
    const NamespaceFacts& facts = quotas.at(id);
    const bool kept = facts.users != 0 || facts.has_quota();
    if (miscounted(facts.users, held[id]) ||
        quotas.find(facts.name) != (kept ? id : kNoNamespace)) {
      return broken("namespace " + facts.name + " is held otherwise than by its pods and budgets");
    }
  }
  for (std::uint32_t id = 0; id < named.size(); ++id) {
    if (miscounted(capacity_->pods_of_class(id), named[id])) {
      return broken(fmt::format("priority class {} is held otherwise than its pods name it", id));
    }
  }
  return quotas.consistent() ? Result<void>() : broken("the totals differ from the quotas' sums");
}

// Names against the nodes that have them, and shapes against a new description.
Result<void> Cluster::validate_names() {
  std::map<std::string, std::uint32_t, std::less<>> of_nodes;
  for (const NodeFacts& facts : nodes_) {
    for (const std::string& name : names_of(facts.node.get())) {
      if (const ResourceId id = names_.find(name); id == kNoResource || !names_.is_pinned(id)) {
        ++of_nodes[name];
      }
    }
  }
  if (of_nodes != names_.held()) {
    return fail(ErrorCode::kConflict, "validate: names of resources are held by other nodes");
  }
  // Who has borrowed a number is no fact: there may be room now where there was none.
  const auto held = [this](Amounts request) {
    std::erase_if(request, [this](const auto& asked) {
      return capacity_->quotas().is_borrowed(asked.first);
    });
    return request;
  };
  for (const auto& shape : shapes_) {
    if (shape == nullptr) {
      continue;
    }
    PodShape again;
    again.key = shape->key;
    again.daemon_set = shape->daemon_set;
    describe(again, pod_of_shape_key(shape->key));
    const auto same = [](const Contribution& a, const Contribution& b) {
      return a.sum == b.sum && a.amount == b.amount;
    };
    const bool same_reasons = again.reasons == shape->reasons;
    release_reasons(again);
    if (!same_reasons ||
        !std::equal(again.contributions.begin(), again.contributions.end(),
                    shape->contributions.begin(), shape->contributions.end(), same) ||
        held(again.quota_request) != held(shape->quota_request)) {
      return fail(
          ErrorCode::kConflict,
          fmt::format("validate: shape {} is described otherwise than its pods", shape->id));
    }
  }
  return {};
}

Result<void> Cluster::validate() {
  std::uint32_t row = 0;
  const Result<bool> valid = validate(row, [] { return false; });
  return valid ? Result<void>() : tl::unexpected(valid.error());
}

// Rows are checked each by itself, as they are when their turn comes; the sums over all of them, of
// which nothing may change meanwhile, at once.
Result<bool> Cluster::validate(std::uint32_t& row, const Pause& pause) {
  while (row < nodes_.size()) {
    if (!nodes_[row].name.empty()) {
      if (auto checked = validate_row(row); !checked) {
        return tl::unexpected(checked.error());
      }
    }
    ++row;
    if (pause()) {
      return false;
    }
  }
  if (auto checked = validate_sums(); !checked) {
    return tl::unexpected(checked.error());
  }
  return true;
}

Result<void> Cluster::validate_sums() {
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: " + what);
  };
  std::vector<std::uint32_t> mentions(nodes_.size(), 0), listed(pods_.size(), 0);
  for (std::uint32_t row = 0; load_aware_ != nullptr && row < nodes_.size(); ++row) {
    const MetricFacts* metric = load_aware_->metric(row);
    for (std::size_t p = 0; metric != nullptr && p < metric->pods.size(); ++p) {
      ++listed[metric->pods[p].pod];
    }
  }
  if (auto checked = validate_names(); !checked) {
    return checked;
  }
  std::uint32_t known = 0;
  for (PodId id = 0; id < pods_.size(); ++id) {
    const PodFacts& pod = pods_[id];
    known += pod.known();
    for (const std::uint32_t row : {pod.bound_row, pod.assumed_row, pod.rank.nominated_row}) {
      if (row != kNoRow) {
        ++mentions[row];
      }
    }
    const std::uint32_t expected = pod.known() && !pod.terminal ? pod.row() : kNoRow;
    if (pod.counted_row != expected) {
      return broken("pod " + pod.key + " counts on another row than its facts say");
    }
    if (pod.mentions != listed[id]) {
      return broken("pod " + pod.key + " is mentioned otherwise than metrics list it");
    }
  }
  if (auto checked = validate_capacity(); !checked) {
    return checked;
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
  }
  return nodes == node_count_
             ? Result<void>()
             : broken(fmt::format("{} nodes, {} were counted", nodes, node_count_));
}

}  // namespace headroom
