#include "engine/policies/limit_aware.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/policies/pod_limits.h"
#include "objects/annotations.h"
#include "objects/pod_resources.h"

namespace headroom {

namespace {

const DefaultLimits& scored_defaults() {
  static const DefaultLimits kDefaults = {{"cpu", Quantity::from_milli(kDefaultMilliCpu)},
                                          {"memory", Quantity::from_value(kDefaultMemoryBytes)}};
  return kDefaults;
}

std::int64_t percent_of(std::int64_t allocatable, std::int64_t percent) {
  const Int128 limit = static_cast<Int128>(allocatable) * percent / 100;
  return limit >= kUnlimited ? kUnlimited - 1 : static_cast<std::int64_t>(limit);
}

}  // namespace

LimitAware::LimitAware(const PolicyContext& context)
    : profile_(context.profile),
      upstream_(profile_.mode == Mode::kUpstream),
      names_(context.names),
      table_(context.table),
      facts_(context.facts) {
  for (const ResourceId resource : {kCpu, kMemory, kEphemeralStorage}) {
    columns(resource);
  }
  for (const auto& [name, percent] :
       profile_.limit_aware.default_limit_to_allocatable_ratio.value_or(ResourcePercents())) {
    columns(names_.pin(name));
  }
  for (const auto& [name, text] : profile_.limit_aware.bad_default_ratios) {
    columns(names_.pin(name));
  }
  for (const ResourceWeight& resource : profile_.limit_aware.resources) {
    const ResourceId id = names_.pin(resource.name);
    Columns& its = columns(id);
    const std::string label = "scored limit " + resource.name;
    its.scored = id == kCpu || id == kMemory ? table_.add_sum(label) : its.limit;
    const BaseId base = table_.add_base(0);
    its.scored_capacity = table_.add_capacity(base);
    its.scored_headroom = table_.add_headroom(base, its.scored);
  }
  if (upstream_) {
    error_ = table_.add_headroom(table_.add_base(kUnlimited), table_.add_sum("limit error"));
  }
}

LimitAware::Columns& LimitAware::columns(ResourceId resource) {
  const auto found = columns_.find(resource);
  if (found != columns_.end()) {
    return found->second;
  }
  Columns added{};
  const std::string label = "limit " + names_.name(resource);
  added.limit = table_.add_sum(label);
  added.headroom = table_.add_headroom(table_.add_base(kUnlimited), added.limit);
  return columns_.emplace(resource, added).first->second;
}

LimitAware::NodeRatio LimitAware::ratio_of(const KeptNode& node) const {
  const auto has = [&](const std::string& name) {
    return !is_scalar_resource(name) || find(node.traits->allocatable, name) != nullptr;
  };
  NodeRatio result;
  // A bad ratio is an error where the node has the resource; else the resource has a ratio, of
  // nothing. Of what is not counted nobody looks at it.
  const auto take_bad = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (!is_counted_resource(name)) {
        continue;
      }
      result.error = result.error || has(name);
      result.percents[name] = 0;
    }
  };
  const std::string* annotation = find(node.traits->annotations, kLimitToAllocatableAnnotation);
  if (annotation != nullptr) {
    if (const auto parsed = parse_limit_ratio(*annotation, profile_.mode); parsed) {
      result.percents = parsed->percents;
      take_bad(parsed->bad);
      return result;
    }
    result.error = upstream_;
    result.ignored = !upstream_;
    if (upstream_) {
      return result;
    }
  }
  const LimitAwareArgs& args = profile_.limit_aware;
  result.percents = args.default_limit_to_allocatable_ratio.value_or(ResourcePercents());
  std::vector<std::string> bad;
  for (const auto& [name, text] : args.bad_default_ratios) {
    bad.push_back(name);
  }
  take_bad(bad);
  return result;
}

void LimitAware::names_of(const KeptNode& node, std::vector<std::string>& names) const {
  if (find(node.traits->annotations, kLimitToAllocatableAnnotation) != nullptr) {
    for (const auto& [name, percent] : ratio_of(node).percents) {
      names.push_back(name);
    }
  }
}

void LimitAware::forget(ResourceId resource) {
  if (const auto found = columns_.find(resource); found != columns_.end()) {
    const BaseId base = table_.base_of(found->second.headroom);
    table_.remove_column(found->second.headroom);
    table_.remove_base(base);
    table_.remove_sum(found->second.limit);
    columns_.erase(found);
  }
}

bool LimitAware::set_node(std::uint32_t row, const NodeFacts& node) {
  const NodeRatio ratio = ratio_of(*node.node);
  for (const auto& [name, percent] : ratio.percents) {
    if (const ResourceId resource = names_.find(name); resource != kNoResource) {
      columns(resource);
    }
  }
  for (ResourceId resource = 0; resource < node.allocatable_count(); ++resource) {
    if (resource != kPods && node.allocatable_of(resource) != 0) {
      columns(resource);
    }
  }
  for (const auto& [resource, columns] : columns_) {
    const std::int64_t allocatable = node.allocatable_of(resource);
    const auto percent = ratio.percents.find(names_.name(resource));
    const bool has_ratio = percent != ratio.percents.end();
    const std::int64_t limit = has_ratio ? percent_of(allocatable, percent->second) : allocatable;
    table_.set_base(row, table_.base_of(columns.headroom), has_ratio ? limit : kUnlimited);
    if (columns.scored_capacity != kNoColumn) {
      table_.set_base(row, table_.base_of(columns.scored_headroom),
                      has_ratio || !upstream_ ? limit : 0);
    }
  }
  if (upstream_) {
    table_.set_base(row, table_.base_of(error_), ratio.error ? -1 : kUnlimited);
  }
  if (not_kept_ != kNoColumn) {
    table_.set_base(row, table_.base_of(not_kept_), is_not_kept(ratio) ? -1 : kUnlimited);
  }
  return ratio.ignored;
}

bool LimitAware::is_not_kept(const NodeRatio& ratio) const {
  return std::any_of(ratio.percents.begin(), ratio.percents.end(),
                     [this](const auto& percent) { return names_.beyond(percent.first); });
}

void LimitAware::add_not_kept() {
  const BaseId base = table_.add_base(kUnlimited);
  not_kept_ = table_.add_headroom(base, table_.add_sum("limits not kept"));
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    const KeptNode* node = facts_.nodes[row].node.get();
    if (node != nullptr && is_not_kept(ratio_of(*node))) {
      table_.set_base(row, base, -1);
      table_.commit(row);
    }
  }
}

Amounts LimitAware::limits_of(const Pod& pod, bool scored, bool* has_scalars,
                              std::vector<std::string>* beyond) const {
  Amounts result;
  const auto note_beyond = [&](const std::string& name, bool asks) {
    if (beyond != nullptr && asks && names_.beyond(name)) {
      beyond->push_back(name);
    }
  };
  if (upstream_) {
    const UpstreamLimits limits = upstream_limits_of(pod, scored);
    for (const auto& [name, value] : limits.amounts) {
      result.emplace_back(names_.find(name), value);
      note_beyond(name, value > 0);
    }
    if (has_scalars != nullptr) {
      *has_scalars = limits.has_scalars;
    }
  } else {
    for (const PodLimit& limit : pod_limits_of(pod, ContainerLimit::kLargerOfBoth,
                                               scored ? scored_defaults() : DefaultLimits())) {
      const ResourceId resource = names_.find(limit.resource);
      result.emplace_back(resource, amount(resource, limit.lines.front().constant));
      note_beyond(limit.resource, result.back().second > 0);
    }
  }
  std::erase_if(result, [](const auto& item) { return item.first == kNoResource; });
  std::sort(result.begin(), result.end(),
            [&](const auto& a, const auto& b) { return names_.before(a.first, b.first); });
  return result;
}

void LimitAware::describe(const Pod& pod, PodShape& shape) {
  std::vector<std::string> beyond;
  for (const auto& [resource, value] : limits_of(pod, false, nullptr, &beyond)) {
    shape.contributions.push_back({columns(resource).limit, value});
  }
  if (!beyond.empty() && not_kept_ == kNoColumn) {
    add_not_kept();
  }
  for (const auto& [resource, value] : limits_of(pod, true)) {
    const Columns& its = columns(resource);
    if (its.scored_capacity != kNoColumn && its.scored != its.limit) {
      shape.contributions.push_back({its.scored, value});
    }
  }
  std::erase_if(shape.contributions, [](const Contribution& item) { return item.amount == 0; });
}

void LimitAware::add_error_term(ProgramBuilder& builder, bool of_score) const {
  builder.add_filter_term({PluginId::kLimitAware, "", Code::kError, kNoColumn,
                           "invalid limit-to-allocatable ratio", of_score},
                          error_, 0);
}

void LimitAware::add_filter(PluginId plugin, const Pod& pod, ProgramBuilder& builder) {
  bool has_scalars = false;
  std::vector<std::string> beyond;
  const Amounts needs = limits_of(pod, false, &has_scalars, &beyond);
  const auto add = [&](ResourceId resource, std::int64_t need) {
    builder.add_filter_term({plugin, names_.name(resource), Code::kUnschedulable, kNoColumn,
                             "Insufficient " + names_.name(resource) + " limit"},
                            columns(resource).headroom, need);
  };
  const bool asks =
      std::any_of(needs.begin(), needs.end(), [](const auto& need) { return need.second != 0; });
  if (pod.daemon_set) {
    return;
  }
  if (upstream_) {
    // The ratio is read before the pod's limits are looked at.
    add_error_term(builder, false);
    if (!asks && !has_scalars) {
      builder.end_filter(false);
      return;
    }
    for (const ResourceId resource : {kCpu, kMemory, kEphemeralStorage}) {
      add(resource, amount_of(needs, resource));
    }
  }
  for (const auto& [resource, need] : needs) {
    if (upstream_ ? resource > kEphemeralStorage : need > 0) {
      add(resource, need);
    }
  }
  std::sort(beyond.begin(), beyond.end());
  for (const std::string& name : beyond) {
    builder.add_filter_term(
        {plugin, name, Code::kUnschedulable, kNoColumn,
         fmt::format("node(s) have more than kResourcesMax ({}) resources: the limit of {} is not "
                     "kept",
                     kResourcesMax, name)},
        not_kept_, 0);
  }
  builder.end_filter(false);
}

void LimitAware::add_score(const ScorePlugin& plugin, const Pod& pod, ProgramBuilder& builder) {
  if (upstream_) {
    // A node whose ratio is bad fails the cycle when it is scored, if not before.
    add_error_term(builder, true);
    builder.end_filter(false);
  }
  const Amounts needs = limits_of(pod, true);
  Score score{};
  score.kind = ScoreKind::kSigned;
  std::vector<ScoreTerm> terms;
  std::vector<ResourceId> resources;
  for (const ResourceWeight& resource : profile_.limit_aware.resources) {
    const ResourceId id = names_.find(resource.name);
    const std::int64_t need = amount_of(needs, id);
    if (!upstream_ && need == 0 && id > kEphemeralStorage) {
      continue;
    }
    const Columns& its = columns(id);
    terms.push_back(score_term(its.scored_headroom, its.scored_capacity, need, resource.weight));
    resources.push_back(id);
  }
  builder.add_score(plugin.plugin, plugin.weight, score, std::move(terms), std::move(resources),
                    true);
}

void LimitAware::notes(std::uint32_t, const NodeFacts& node, std::vector<Note>& out) const {
  const std::string* annotation =
      find(node.node->traits->annotations, kLimitToAllocatableAnnotation);
  const NodeRatio ratio = ratio_of(*node.node);
  for (const auto& [name, percent] : ratio.percents) {
    out.push_back({PluginId::kLimitAware, "limits of " + name + " up to " +
                                              std::to_string(percent) + " % of allocatable"});
  }
  if (annotation == nullptr) {
    return;
  }
  const bool ignored = ratio.ignored;
  out.push_back(
      {PluginId::kLimitAware,
       std::string(ignored ? "ignored, the default applies: annotation " : "annotation ") +
           std::string(kLimitToAllocatableAnnotation) + "=" + *annotation});
}

void LimitAware::add_figures(ResourceId resource, NodeFigures& figures) const {
  const auto found = columns_.find(resource);
  figures.limits = found == columns_.end() ? std::vector<std::int64_t>(table_.size())
                                           : table_.sums(found->second.limit);
}

}  // namespace headroom
