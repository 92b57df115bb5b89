#include "engine/policies/node_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/profile/broken_line.h"
#include "objects/pod_resources.h"

namespace headroom {

NodeResources::NodeResources(const PolicyContext& context)
    : profile_(context.profile), names_(context.names), table_(context.table) {
  for (const ResourceId resource : {kCpu, kMemory, kEphemeralStorage, kPods}) {
    columns(resource);
  }
  for (const auto* resources : {&profile_.fit.resources, &profile_.balanced.resources}) {
    for (const ResourceWeight& resource : *resources) {
      columns(names_.pin(resource.name));
    }
  }
  for (std::int64_t utilization = 0; utilization <= 100; ++utilization) {
    ratio_table_[utilization] =
        static_cast<std::int8_t>(broken_line(profile_.fit.shape, utilization));
  }
}

const NodeResources::Columns& NodeResources::columns(ResourceId resource) {
  const auto found = columns_.find(resource);
  if (found != columns_.end()) {
    return found->second;
  }
  Columns added;
  const std::string& name = names_.name(resource);
  added.requested = table_.add_sum("requested " + name);
  const BaseId base = table_.add_base(0);
  added.allocatable = table_.add_capacity(base);
  added.headroom = table_.add_headroom(base, added.requested);
  if (resource == kCpu || resource == kMemory) {
    added.non_zero = table_.add_sum("non-zero requested " + name);
    added.non_zero_headroom = table_.add_headroom(base, added.non_zero);
  }
  return columns_.emplace(resource, added).first->second;
}

const NodeResources::Columns& NodeResources::nothing() {
  if (!nothing_) {
    Columns& added = nothing_.emplace(Columns{});
    added.requested = table_.add_sum("requested nothing");
    const BaseId base = table_.add_base(0);
    added.allocatable = table_.add_capacity(base);
    added.headroom = table_.add_headroom(base, added.requested);
  }
  return *nothing_;
}

void NodeResources::forget(ResourceId resource) {
  if (const auto found = columns_.find(resource); found != columns_.end()) {
    const BaseId base = table_.base_of(found->second.headroom);
    table_.remove_column(found->second.headroom);
    table_.remove_column(found->second.allocatable);
    table_.remove_base(base);
    table_.remove_sum(found->second.requested);
    columns_.erase(found);
  }
}

bool NodeResources::set_node(std::uint32_t row, const NodeFacts& node) {
  for (ResourceId resource = 0; resource < node.allocatable_count(); ++resource) {
    if (node.allocatable_of(resource) != 0 && is_counted_resource(names_.name(resource))) {
      columns(resource);
    }
  }
  for (const auto& [resource, columns] : columns_) {
    table_.set_base(row, table_.base_of(columns.headroom), node.allocatable_of(resource));
  }
  return false;
}

Amounts NodeResources::amounts(const ResourceList& list) const {
  Amounts result;
  for (const auto& [name, quantity] : list) {
    if (const ResourceId resource = is_counted_resource(name) ? names_.find(name) : kNoResource;
        resource != kNoResource) {
      result.emplace_back(resource, amount(resource, quantity));
    }
  }
  std::sort(result.begin(), result.end(),
            [&](const auto& a, const auto& b) { return names_.before(a.first, b.first); });
  return result;
}

void NodeResources::describe(const Pod& pod, PodShape& shape) {
  PodRequestsOptions options;
  options.resized_as = resized_as();
  for (const auto& [resource, value] : amounts(pod_requests(pod, options))) {
    const Columns& its = columns(resource);
    if (value != 0) {
      shape.contributions.push_back({its.requested, value});
    }
  }
  for (const auto& [name, quantity] : pod_requests(pod)) {
    if (const ResourceId resource = names_.find(name);
        resource != kNoResource && is_counted_resource(name)) {
      columns(resource);
    } else if (is_counted_resource(name)) {
      nothing();
    }
  }
  for (const auto& [resource, value] : amounts(non_zero_requested(pod, resized_as()))) {
    if (value != 0 && (resource == kCpu || resource == kMemory)) {
      shape.contributions.push_back({columns(resource).non_zero, value});
    }
  }
  shape.contributions.push_back({columns(kPods).requested, 1});
}

// fit.go: resources and groups apply to extended resources only.
bool NodeResources::ignored(const std::string& name) const {
  if (!is_extended_resource(name)) {
    return false;
  }
  const auto& resources = profile_.fit.ignored_resources;
  const auto& groups = profile_.fit.ignored_resource_groups;
  return std::find(resources.begin(), resources.end(), name) != resources.end() ||
         std::find(groups.begin(), groups.end(), name.substr(0, name.find('/'))) != groups.end();
}

// shouldDelegateResourceToDRA, of what tells without a DeviceClass; every answer says that claims
// are not considered.
bool NodeResources::left_to_dynamic_resources(const std::string& name) const {
  return profile_.kubernetes_version >= KubernetesVersion::k136 && is_claimed_device(name);
}

void NodeResources::add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) {
  builder.add_filter_term({plugin, "pods", Code::kUnschedulable, kNoColumn, "Too many pods"},
                          columns(kPods).headroom, 1);
  ResourceList requests = pod_requests(pod);
  std::sort(requests.begin(), requests.end(),
            [](const auto& a, const auto& b) { return ResourceNames::before(a.first, b.first); });
  for (const auto& [name, quantity] : requests) {
    const ResourceId resource = names_.find(name);
    const std::int64_t need = amount(resource, quantity);
    if (!is_counted_resource(name) || need <= 0 || ignored(name) ||
        left_to_dynamic_resources(name)) {
      continue;
    }
    const Columns& its = resource == kNoResource ? nothing() : columns(resource);
    std::string reason = names_.beyond(name)
                             ? fmt::format(
                                   "node(s) have more than kResourcesMax ({}) resources: {} "
                                   "is not kept",
                                   kResourcesMax, name)
                             : "Insufficient " + name;
    builder.add_filter_term(
        {plugin, name, Code::kUnschedulable, its.allocatable, std::move(reason)}, its.headroom,
        need);
  }
  builder.end_filter(false);
}

void NodeResources::add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) {
  if (plugin.plugin == PluginId::kNodeResourcesFit) {
    add_fit_score(plugin, pod, builder);
  } else {
    add_balanced_score(plugin, pod, builder);
  }
}

void NodeResources::add_fit_score(const ScorePlugin& plugin, const Pod& pod,
                                  ProgramBuilder& builder) {
  // The scorer in kube-scheduler 1.35 never learns that pod-level resources are on.
  const bool upstream = profile_.mode == Mode::kUpstream;
  PodRequestsOptions options;
  options.missing_cpu = Quantity::from_milli(kDefaultMilliCpu);
  options.missing_memory = Quantity::from_value(kDefaultMemoryBytes);
  options.skip_pod_level_resources = true;
  Amounts needs = amounts(upstream ? pod_requests(pod, options) : pod_requests(pod));
  if (!upstream) {
    for (const auto& [resource, value] : amounts(non_zero_requested(pod, std::nullopt))) {
      std::erase_if(needs, [&, &name = resource](const auto& need) { return need.first == name; });
      needs.emplace_back(resource, value);
    }
  }
  Score score{};
  switch (profile_.fit.strategy) {
    case NodeResourcesFitArgs::Strategy::kLeastAllocated:
      score.kind = ScoreKind::kLeast;
      break;
    case NodeResourcesFitArgs::Strategy::kMostAllocated:
      score.kind = ScoreKind::kMost;
      break;
    case NodeResourcesFitArgs::Strategy::kRequestedToCapacityRatio:
      score.kind = ScoreKind::kRatio;
      score.ratio_table = ratio_table_;
      break;
  }
  std::vector<ScoreTerm> terms;
  std::vector<ResourceId> resources;
  for (const ResourceWeight& resource : profile_.fit.resources) {
    const ResourceId id = names_.find(resource.name);
    const Columns& its = columns(id);
    const std::int64_t need = amount_of(needs, id);
    if (need == 0 && is_scalar_resource(resource.name)) {
      continue;
    }
    const ColumnId headroom =
        its.non_zero_headroom != kNoColumn ? its.non_zero_headroom : its.headroom;
    terms.push_back(score_term(headroom, its.allocatable, need, resource.weight));
    resources.push_back(id);
  }
  builder.add_score(plugin.plugin, plugin.weight, score, std::move(terms), std::move(resources),
                    false);
}

void NodeResources::add_balanced_score(const ScorePlugin& plugin, const Pod& pod,
                                       ProgramBuilder& builder) {
  PodRequestsOptions options;
  options.resized_as = resized_as();
  const Amounts needs = amounts(pod_requests(pod, options));
  Score score{};
  const bool compares = profile_.kubernetes_version >= KubernetesVersion::k136;
  score.kind = compares ? ScoreKind::kBalancedChange : ScoreKind::kBalanced;
  std::vector<ScoreTerm> terms;
  std::vector<ResourceId> resources;
  bool asks = false;
  for (const ResourceWeight& resource : profile_.balanced.resources) {
    const ResourceId id = names_.find(resource.name);
    const Columns& its = columns(id);
    const std::int64_t need = amount_of(needs, id);
    asks = asks || need != 0;
    if (need == 0 && is_scalar_resource(resource.name)) {
      continue;
    }
    terms.push_back(score_term(its.headroom, its.allocatable, need, resource.weight));
    resources.push_back(id);
  }
  // PreScore answers Skip for a pod that asks for none of the resources.
  if (asks) {
    builder.add_score(plugin.plugin, plugin.weight, score, std::move(terms), std::move(resources),
                      false);
  }
}

void NodeResources::add_figures(ResourceId resource, NodeFigures& figures) const {
  const auto found = columns_.find(resource);
  figures.requested = found == columns_.end() ? std::vector<std::int64_t>(table_.size())
                                              : table_.sums(found->second.requested);
}

}  // namespace headroom
