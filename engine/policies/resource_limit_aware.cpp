#include "engine/policies/resource_limit_aware.h"

#include <algorithm>

#include "engine/policies/pod_limits.h"

namespace headroom {

namespace {

bool depends_on_node(const PodLimit& limit) {
  return std::any_of(limit.lines.begin(), limit.lines.end(),
                     [](const PodLimit::Line& line) { return line.allocatables != 0; });
}

}  // namespace

ResourceLimitAware::ResourceLimitAware(const PolicyContext& context)
    : profile_(context.profile),
      names_(context.names),
      table_(context.table),
      facts_(context.facts) {
  for (const ResourceWeight& resource : profile_.resource_limit_aware.resources) {
    Columns added{};
    const std::string label = "resource limit " + resource.name;
    added.limit = table_.add_sum(label);
    const BaseId base = table_.add_base(0);
    added.capacity = table_.add_capacity(base);
    added.headroom = table_.add_headroom(base, added.limit);
    columns_.emplace(names_.pin(resource.name), added);
  }
}

bool ResourceLimitAware::set_node(std::uint32_t row, const NodeFacts& node) {
  for (const auto& [resource, columns] : columns_) {
    table_.set_base(row, table_.base_of(columns.headroom), node.allocatable_of(resource));
  }
  return false;
}

void ResourceLimitAware::describe(const Pod& pod, PodShape& shape) {
  for (const PodLimit& limit : pod_limits_of(pod, ContainerLimit::kLimitElseRequest,
                                             profile_.resource_limit_aware.default_limit)) {
    const ResourceId resource = names_.find(limit.resource);
    const auto found = columns_.find(resource);
    if (found == columns_.end()) {
      continue;
    }
    if (!depends_on_node(limit)) {
      const std::int64_t value = amount(resource, limit.lines.front().constant);
      if (value != 0) {
        shape.contributions.push_back({found->second.limit, value});
      }
      continue;
    }
    AllocatableNeed need{resource, found->second.limit, found->second.headroom, {}};
    for (const PodLimit::Line& line : limit.lines) {
      need.lines.push_back({line.constant, line.allocatables});
    }
    shape.allocatable_needs.push_back(std::move(need));
  }
}

void ResourceLimitAware::add_score(const ScorePlugin& plugin, const Pod& pod,
                                   ProgramBuilder& builder) {
  const auto limits = pod_limits_of(pod, ContainerLimit::kLimitElseRequest,
                                    profile_.resource_limit_aware.default_limit);
  Score score{};
  score.kind = ScoreKind::kSigned;
  std::vector<ScoreTerm> terms;
  std::vector<ResourceId> resources;
  for (const ResourceWeight& resource : profile_.resource_limit_aware.resources) {
    const ResourceId id = names_.find(resource.name);
    const auto limit = std::find_if(limits.begin(), limits.end(), [&](const PodLimit& candidate) {
      return candidate.resource == resource.name;
    });
    // Where the need depends on the node it is taken off row by row; see AllocatableNeed.
    const bool varies = limit != limits.end() && depends_on_node(*limit);
    const std::int64_t need =
        limit == limits.end() || varies ? 0 : amount(id, limit->lines.front().constant);
    if (!varies && need == 0 && id > kEphemeralStorage) {
      continue;
    }
    const Columns& its = columns_.at(id);
    terms.push_back(score_term(its.headroom, its.capacity, need, resource.weight));
    resources.push_back(id);
  }
  builder.add_score(plugin.plugin, plugin.weight, score, std::move(terms), std::move(resources),
                    true);
}

bool ResourceLimitAware::count(std::uint32_t row, PodId id) {
  for (const AllocatableNeed& need : facts_.shape_of(id).allocatable_needs) {
    const Contribution contribution{need.sum, need_on(row, need)};
    table_.add(row, {&contribution, 1});
  }
  return false;
}

void ResourceLimitAware::uncount(std::uint32_t row, PodId id) {
  for (const AllocatableNeed& need : facts_.shape_of(id).allocatable_needs) {
    const Contribution contribution{need.sum, need_on(row, need)};
    table_.subtract(row, {&contribution, 1});
  }
}

std::int64_t ResourceLimitAware::need_on(std::uint32_t row, const AllocatableNeed& need) const {
  return need.at(facts_.nodes[row].exact_allocatable(names_.name(need.resource)));
}

void ResourceLimitAware::add_figures(ResourceId resource, NodeFigures& figures) const {
  const auto found = columns_.find(resource);
  if (found != columns_.end() && figures.limits.empty()) {
    figures.limits = table_.sums(found->second.limit);
  }
}

}  // namespace headroom
