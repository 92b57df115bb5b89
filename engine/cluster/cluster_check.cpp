// Cluster's validation: everything recomputed from the facts.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "engine/cluster/audit.h"
#include "engine/cluster/cluster.h"

namespace headroom {

namespace {

tl::unexpected<Error> broken_node(const NodeFacts& node, const std::string& what) {
  return fail(ErrorCode::kConflict, fmt::format("validate: node {}: {}", node.name, what));
}

}  // namespace

Result<void> Cluster::validate_row(std::uint32_t row) {
  const NodeFacts& node = facts_.nodes[row];
  const auto broken = [&](const std::string& what) { return broken_node(node, what); };
  if (node.name.empty()) {
    return table_.node_class(row) == kNoNodeClass
               ? Result<void>()
               : fail(ErrorCode::kConflict,
                      fmt::format("validate: row {} is free and has a class", row));
  }
  if (find_row(node.name) != row) {
    return broken("its name finds another row");
  }
  if (!table_.narrow_consistent(row)) {
    return broken("a narrow column differs from what its sums and bases make of it");
  }
  // Of a split that is under way the row may be still to come.
  if (node.node != nullptr && row_classes_.all_split() &&
      row_classes_.classes().classify(node.name, *node.node) != table_.node_class(row)) {
    return broken("its class differs");
  }
  if (node.node != nullptr && !row_classes_.labels().is_kept(row, *node.node)) {
    return broken("its labels are kept otherwise");
  }
  if (node.node != nullptr && !node.node->shares(shared_parts_)) {
    return broken("a part of it is kept twice");
  }
  if ((node.node == nullptr) != (node.allocatable == nullptr)) {
    return broken("it has amounts without an object, or none with one");
  }
  const std::vector<std::int64_t> amounts =
      node.node == nullptr ? std::vector<std::int64_t>() : allocatable_of(*node.node);
  for (ResourceId r = 0; r < std::max(amounts.size(), node.allocatable_count()); ++r) {
    if (node.allocatable_of(r) != (r < amounts.size() ? amounts[r] : 0)) {
      return broken("its amounts are not those of its object");
    }
  }
  PodId previous = kNoPod;
  for (PodId id = node.first_pod; id != kNoPod; id = facts_.pods[id].next) {
    if (facts_.pods[id].previous != previous || facts_.pods[id].counted_row != row) {
      return broken("its pods are linked wrongly");
    }
    previous = id;
  }
  if (auto sums = validate_sums(row); !sums) {
    return sums;
  }
  if (capacity_scheduling_ != nullptr && !capacity_scheduling_->is_in_order(row)) {
    return broken("its pods are out of the order of their importance");
  }
  return {};
}

// The row's columns, ports and the order of its pods, against a count anew.
Result<void> Cluster::validate_sums(std::uint32_t row) {
  const NodeFacts& node = facts_.nodes[row];
  const auto broken = [&](const std::string& what) { return broken_node(node, what); };
  const NodeTable::RowState before = table_.row_state(row);
  const std::uint64_t bad_before = bad_annotations_;
  table_.clear_sums(row);
  TakenPorts ports;
  bool behind = false;  // a pod that need not stand first
  bool ordered = true;
  for (PodId id = node.first_pod; id != kNoPod; id = facts_.pods[id].next) {
    PodFacts& pod = facts_.pods[id];
    table_.add(row, facts_.shape_of(id).contributions);
    if (pod.host_ports != nullptr) {
      ports.add(*pod.host_ports);
    }
    bool first = false;
    for (const auto& policy : policies_) {
      first |= policy->count(row, id);
    }
    ordered = ordered && !(first && behind);
    behind = behind || !first;
  }
  if (node.node != nullptr) {
    set_node_columns(row);
  }
  for (const auto& policy : policies_) {
    policy->refresh(row, now_us_);
  }
  const bool same = table_.row_state(row) == before;
  table_.restore(row, before);
  if (!same || bad_annotations_ != bad_before) {
    return broken("its aggregates differ from a sum over its pods");
  }
  if (ports != node.ports) {
    return broken("its host ports differ from those of its pods");
  }
  if (!ordered) {
    return broken("a pod with a load estimate stands behind one without");
  }
  return {};
}

// A pod's own facts, and what the row where it counts or waits keeps of it.
Result<void> Cluster::validate_pod(PodId id) const {
  const PodFacts& pod = facts_.pods[id];
  const auto broken = [&](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: pod " + pod.key + " " + what);
  };
  if (pod.counted_row != (pod.known() && !pod.terminal ? pod.row() : kNoRow)) {
    return broken("counts on another row than its facts say");
  }
  if (pod.assumed_row == kNoRow && !applications_.chosen_volumes().of(id).empty()) {
    return broken("chose volumes although it is not assumed");
  }
  const PodRank& rank = pod.rank;
  const bool waits = waits_for_room(pod);
  if (waits != rank.nominated ||
      (waits && std::count(facts_.nodes[rank.nominated_row].nominated.begin(),
                           facts_.nodes[rank.nominated_row].nominated.end(), id) != 1)) {
    return broken("is nominated otherwise than its facts say");
  }
  if (pod.known() && priorities_.now(rank) != rank.priority) {
    return broken("has another priority than its class");
  }
  if (capacity_scheduling_ == nullptr) {
    return {};
  }
  if (pod.known() != (rank.group != kNoGroup)) {
    return broken("is ranked although it is not known, or not");
  }
  if (pod.counted_row != kNoRow) {
    const auto pods = capacity_scheduling_->listed(pod.counted_row);
    if (std::count_if(pods.begin(), pods.end(), [&](const RankedPod& other) {
          return other.pod == id && other.priority == rank.priority &&
                 other.start_us == rank.start_us && other.shape == pod.shape &&
                 other.group == rank.group && other.namespace_id == rank.namespace_id;
        }) != 1) {
      return broken("is ranked otherwise than its facts say");
    }
  }
  return {};
}

bool Cluster::waits_for_room(const PodFacts& pod) {
  return pod.known() && !pod.terminal && pod.row() == kNoRow && pod.rank.nominated_row != kNoRow;
}

// A journal holds what it may bring back.
bool Cluster::miscounted(std::uint32_t holders, std::uint32_t counted) const {
  return journal_.open() ? holders < counted : holders != counted;
}

// Rows to which pods are nominated, and the names of classes by which pods have their priority.
Result<void> Cluster::validate_nominations() const {
  std::vector<std::uint32_t> listed(facts_.nodes.size());
  for (const std::uint32_t row : nominated_rows_) {
    ++listed[row];
  }
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (listed[row] != (facts_.nodes[row].nominated.empty() ? 0U : 1U)) {
      return fail(ErrorCode::kConflict,
                  "validate: the nominated pods of " + facts_.nodes[row].name + " are not listed");
    }
  }
  std::vector<std::uint32_t> named(priorities_.name_count());
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    if (const PodRank& rank = facts_.pods[id].rank; rank.priority_class != 0) {
      ++named[rank.priority_class - 1];
    }
  }
  for (std::uint32_t id = 0; id < named.size(); ++id) {
    if (miscounted(priorities_.pods_of_name(id), named[id])) {
      return fail(
          ErrorCode::kConflict,
          fmt::format("validate: priority class {} is held otherwise than its pods name it", id));
    }
  }
  return {};
}

// What quotas and preemption read, against the sums over the pods.
Result<void> Cluster::validate_capacity_scheduling() const {
  if (capacity_scheduling_ == nullptr) {
    return {};
  }
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: capacity scheduling: " + what);
  };
  const ElasticQuotas& quotas = capacity_scheduling_->elastic_quotas();
  std::vector<ResourceSums> used(quotas.namespace_count()), waiting(quotas.namespace_count());
  std::vector<std::uint32_t> ranked(facts_.nodes.size());
  // By namespace: the pods and budgets that hold it.
  std::vector<std::uint32_t> held(quotas.namespace_count());
  for (const PodDisruptionBudget& budget : capacity_scheduling_->budgets().all()) {
    const NamespaceId id = quotas.find(budget.namespace_name);
    if (id == kNoNamespace) {
      return broken("the namespace of a budget is not known: " + budget.namespace_name);
    }
    ++held[id];
  }
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    const PodFacts& pod = facts_.pods[id];
    const PodRank& rank = pod.rank;
    if (pod.known()) {
      ++held[rank.namespace_id];
    }
    const bool counts = pod.counted_row != kNoRow;
    if (!counts && !(waits_for_room(pod) && facts_.nodes[rank.nominated_row].node != nullptr)) {
      continue;
    }
    for (const auto& [resource, amount] : facts_.shapes[pod.shape]->elastic_quota_request) {
      (counts ? used : waiting)[rank.namespace_id][resource] += amount;
    }
    if (counts) {
      ++ranked[pod.counted_row];
    }
  }
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (capacity_scheduling_->listed(row).size() != ranked[row]) {
      return broken("the pods of " + facts_.nodes[row].name +
                    " are others than those that count there");
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
    // One that nothing holds has no name, and some pod's namespace may have none either.
    const bool kept = facts.users != 0 || facts.has_elastic_quota();
    if (miscounted(facts.users, held[id]) || (quotas.find(facts.name) == id) != kept) {
      return broken("namespace " + facts.name + " is held otherwise than by its pods and budgets");
    }
  }
  return quotas.consistent() ? Result<void>() : broken("the totals differ from the quotas' sums");
}

Result<void> Cluster::validate_names() const {
  std::map<std::string, std::uint32_t, std::less<>> of_nodes;
  for (const NodeFacts& facts : facts_.nodes) {
    for (const std::string& name : names_of(facts.node.get())) {
      if (const ResourceId id = names_.find(name); id == kNoResource || !names_.is_pinned(id)) {
        ++of_nodes[name];
      }
    }
  }
  return of_nodes == names_.held()
             ? Result<void>()
             : fail(ErrorCode::kConflict, "validate: names of resources are held by other nodes");
}

Result<void> Cluster::validate() {
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (auto checked = validate_row(row); !checked) {
      return checked;
    }
  }
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    if (auto checked = validate_pod(id); !checked) {
      return checked;
    }
  }
  for (const auto& shape : facts_.shapes) {
    if (shape != nullptr) {
      if (auto checked = shape_book_.validate(*shape); !checked) {
        return checked;
      }
    }
  }
  if (!shape_book_.counts_who_asks()) {
    return fail(ErrorCode::kConflict, "validate: shapes ask quotas for other resources");
  }
  if (auto checked = referred_.validate(); !checked) {
    return checked;
  }
  if (auto checked = applications_.validate(); !checked) {
    return checked;
  }
  return validate_sums();
}

Result<void> Cluster::validate_sums() const {
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::kConflict, "validate: " + what);
  };
  std::vector<std::uint32_t> mentions(facts_.nodes.size(), 0), listed(facts_.pods.size(), 0);
  for (std::uint32_t row = 0; load_aware_ != nullptr && row < facts_.nodes.size(); ++row) {
    const MetricFacts* metric = load_aware_->metric(row);
    for (std::size_t p = 0; metric != nullptr && p < metric->pods.size(); ++p) {
      ++listed[metric->pods[p].pod()];
    }
  }
  if (auto checked = validate_names(); !checked) {
    return checked;
  }
  std::uint32_t known = 0;
  std::uint64_t bad_annotations = 0;
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    const PodFacts& pod = facts_.pods[id];
    known += pod.known();
    bad_annotations += pod.counted_row != kNoRow && !facts_.shape_of(id).ignored.empty();
    for (const std::uint32_t row : {pod.bound_row, pod.assumed_row, pod.rank.nominated_row}) {
      if (row != kNoRow) {
        ++mentions[row];
      }
    }
    if (pod.mentions != listed[id]) {
      return broken("pod " + pod.key + " is mentioned otherwise than metrics list it");
    }
  }
  if (auto checked = validate_nominations(); !checked) {
    return checked;
  }
  if (auto checked = validate_capacity_scheduling(); !checked) {
    return checked;
  }
  if (known != pod_count_) {
    return broken(fmt::format("{} pods are known, {} were counted", known, pod_count_));
  }
  std::uint32_t nodes = 0;
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    nodes += facts_.nodes[row].node != nullptr;
    bad_annotations += facts_.nodes[row].bad_annotation;
    mentions[row] += load_aware_ != nullptr && load_aware_->metric(row) != nullptr;
    if (mentions[row] != facts_.nodes[row].mentions) {
      return broken("the row of " + facts_.nodes[row].name +
                    " is mentioned otherwise than counted");
    }
  }
  if (bad_annotations != bad_annotations_) {
    return broken(
        fmt::format("{} nodes and pods have annotations that are ignored, {} were counted",
                    bad_annotations, bad_annotations_));
  }
  return nodes == node_count_
             ? Result<void>()
             : broken(fmt::format("{} nodes, {} were counted", nodes, node_count_));
}

// --- In turns ---

void Cluster::watch(const std::shared_ptr<AuditNotes>& notes) {
  std::erase_if(audits_, [](const auto& held) { return held.expired(); });
  audits_.push_back(notes);
}

void Cluster::tell_audits(const std::function<void(AuditNotes&)>& what) {
  for (const auto& held : audits_) {
    if (const std::shared_ptr<AuditNotes> notes = held.lock(); notes != nullptr) {
      what(*notes);
    }
  }
  std::erase_if(audits_, [](const auto& held) { return held.expired(); });
}

void Cluster::tell_of_row(std::uint32_t row) {
  tell_audits([row](AuditNotes& notes) { notes.rows.note(row); });
}

void Cluster::tell_of_pod(PodId id) {
  tell_audits([id](AuditNotes& notes) { notes.pods.note(id); });
}

}  // namespace headroom
