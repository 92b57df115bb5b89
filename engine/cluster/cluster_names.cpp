// Cluster: what names of resources mean. A name has columns as long as some node, or the profile,
// has it; what only pods and quotas name has none. Where that changes, the shapes that name it are
// described anew, and their pods counted again.
#include <algorithm>

#include "engine/cluster/cluster.h"

namespace headroom {

namespace {

// `without` is sorted.
template <typename Do>
void each_but(const std::vector<std::string>& names, const std::vector<std::string>& without,
              Do act) {
  for (const std::string& name : names) {
    if (!std::binary_search(without.begin(), without.end(), name)) {
      act(name);
    }
  }
}

void sort_once(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

std::vector<std::string> Cluster::names_of(const KeptNode* node) const {
  std::vector<std::string> names;
  if (node != nullptr) {
    for (const auto& [name, quantity] : node->traits->allocatable) {
      names.push_back(name);
    }
    for (const auto& policy : policies_) {
      policy->names_of(*node, names);
    }
    sort_once(names);
    std::erase(names, "");  // of which no pod can request any
  }
  return names;
}

// The names of a node that comes in the place of another (nullptr: none).
ResourceNames::Change Cluster::rename(const KeptNode* before, const KeptNode* node) {
  ResourceNames::Change change;
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (before != nullptr && node != nullptr &&
      before->traits->annotations == node->traits->annotations) {
    const ResourceList& had = before->traits->allocatable;
    const ResourceList& has = node->traits->allocatable;
    if (std::equal(had.begin(), had.end(), has.begin(), has.end(), same)) {
      return change;  // as most updates have it
    }
  }
  const std::vector<std::string> had = names_of(before), has = names_of(node);
  each_but(has, had, [&](const std::string& name) { names_.hold(name, change); });
  each_but(had, has, [&](const std::string& name) { names_.release(name, change); });
  return change;
}

Cluster::Renaming Cluster::begin_renaming(const ResourceNames::Change& change) {
  Renaming renaming;
  if (change.names.empty()) {
    return renaming;
  }
  std::vector<std::string> names = change.names;
  sort_once(names);
  renaming.shapes = shape_book_.naming(names);
  std::vector<bool> renamed(shape_book_.id_limit());
  for (const ShapeId id : renaming.shapes) {
    renamed[id] = true;
  }
  for (PodId id = 0; !renaming.shapes.empty() && id < facts_.pods.size(); ++id) {
    const PodFacts& pod = facts_.pods[id];
    if (pod.known() && renamed[pod.shape] && (pod.counted_row != kNoRow || pod.rank.nominated)) {
      renaming.pods.emplace_back(id, pod.counted_row);
      uncount(id);
    }
  }
  return renaming;
}

void Cluster::end_renaming(const Renaming& renaming) {
  shape_book_.describe_again(renaming.shapes);
  for (const auto& [id, row] : renaming.pods) {
    recount(id, row);
  }
}

// Numbers lost their names. Where one went to a name that other nodes have, they have their amounts
// under other numbers.
void Cluster::renumber(const ResourceNames::Change& change) {
  for (const ResourceId id : change.ids) {
    for (const auto& policy : policies_) {
      policy->forget(id);
    }
  }
  for (std::uint32_t row = 0; change.moved && row < facts_.nodes.size(); ++row) {
    if (facts_.nodes[row].node != nullptr) {
      set_allocatable(facts_.nodes[row]);
      set_node_columns(row);
      mark(row, Stale::kEverything);
    }
  }
}

std::vector<std::int64_t> Cluster::allocatable_of(const KeptNode& node) const {
  std::vector<std::int64_t> allocatable(names_.size());
  for (const auto& [name, quantity] : node.traits->allocatable) {
    if (const ResourceId resource = names_.find(name); resource != kNoResource) {
      // As a base the greatest int64 would be no limit.
      allocatable[resource] = std::min(amount(resource, quantity), kUnlimited - 1);
    }
  }
  return allocatable;
}

void Cluster::set_allocatable(NodeFacts& facts) {
  facts.allocatable = nullptr;  // not the amounts of another node, where memory ends
  if (facts.node != nullptr) {
    facts.allocatable = shared_parts_.amounts.share(allocatable_of(*facts.node));
  }
}

void Cluster::put_elastic_quota(std::string_view namespace_name, std::string_view name,
                                const ElasticQuota* quota) {
  ElasticQuotas& quotas = capacity_scheduling_->elastic_quotas();
  const ElasticQuota* before = quotas.find(namespace_name, name);
  // Most updates are of the status, which is not read.
  if (before == quota || (before != nullptr && quota != nullptr && *before == *quota)) {
    return;
  }
  ResourceNames::Change change;
  quotas.hold(before, quota, change);
  quotas.release(before, quota, change);
  const Renaming renaming = begin_renaming(change);
  quotas.put(namespace_name, name, quota);
  end_renaming(renaming);
}

}  // namespace headroom
