#include "simulation/autoscaler/cluster_autoscaler.h"

#include <fmt/format.h>

#include <algorithm>

#include "objects/all_or_none.h"
#include "objects/annotations.h"
#include "objects/pod_resources.h"
#include "simulation/autoscaler/capacity_quota_standings.h"
#include "simulation/autoscaler/pods_that_ask.h"
#include "simulation/autoscaler/template_nodes.h"

namespace headroom {
namespace {

constexpr const char* kJudgedNode = "node";
constexpr std::int64_t kSizeUnit = 1'000'000;

Error in_object(const char* kind, const std::string& name, const Error& error) {
  return {error.code, fmt::format("{} {}: {}", kind, name, error.message)};
}

}  // namespace

ClusterAutoscaler::ClusterAutoscaler(AutoscalerOptions options, Profile profile, Engine coming)
    : options_(std::move(options)),
      profile_(std::move(profile)),
      coming_engine_(std::move(coming)) {}

Result<ClusterAutoscaler> ClusterAutoscaler::create(AutoscalerOptions options,
                                                    const Profile& profile,
                                                    std::span<const Node> nodes,
                                                    std::int64_t now_us) {
  if (options.templates.empty() || options.templates.size() > kTemplatesMax) {
    return fail(options.templates.empty() ? ErrorCode::kInvalid : ErrorCode::kLimitExceeded,
                fmt::format("{} node templates: at least 1 and at most {}",
                            options.templates.size(), kTemplatesMax));
  }
  if (const std::int64_t seconds = options.provision_seconds; seconds < 1) {
    return fail(ErrorCode::kInvalid, fmt::format("provision_seconds: {} is below 1", seconds));
  } else if (seconds > kProvisionSecondsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("provision_seconds: {} is more than kProvisionSecondsMax ({})", seconds,
                            kProvisionSecondsMax));
  }
  Result<Engine> coming = make_judge(profile, options.referred_objects);
  if (!coming) return tl::unexpected(coming.error());
  ClusterAutoscaler autoscaler(std::move(options), profile, std::move(*coming));
  for (Node& node : autoscaler.options_.templates) {
    Result<void> added = autoscaler.add_template(node);
    if (!added) return tl::unexpected(in_object("Node", node.name, added.error()));
  }
  CapacityQuotas& quotas = autoscaler.quotas_;
  if (Result<void> moved = quotas.advance(now_us); !moved) return tl::unexpected(moved.error());
  std::set<std::string> names;
  for (const CapacityQuota& quota : autoscaler.options_.quotas) {
    if (!names.insert(quota.name).second) {
      return fail(ErrorCode::kConflict,
                  fmt::format("CapacityQuota {}: there are two of this name, of which one would "
                              "count for nothing; take one out",
                              quota.name));
    }
    Result<void> added = quotas.upsert(quota);
    if (!added) return tl::unexpected(in_object("CapacityQuota", quota.name, added.error()));
  }
  for (const Node& node : nodes) {
    Result<void> added = quotas.upsert(node);
    if (!added) return tl::unexpected(in_object("Node", node.name, added.error()));
    autoscaler.node_names_.insert(node.name);
  }
  autoscaler.at_start_ = quotas.status();
  return autoscaler;
}

Result<void> ClusterAutoscaler::add_template(Node& node) {
  if (node.capacity.empty()) {
    return fail(ErrorCode::kInvalid,
                "status.capacity is missing; a template needs it, since quotas count it");
  }
  if (node.allocatable.empty()) node.allocatable = node.capacity;  // as the kubelet says
  for (const auto& [resource, quantity] : node.allocatable) {
    std::int64_t& largest = largest_[resource];
    largest = std::max(largest, resource_amount(resource, quantity).value_or(0));
  }
  Result<Engine> judge = make_judge(profile_, options_.referred_objects);
  if (!judge) return tl::unexpected(judge.error());
  if (Result<void> added = judge->upsert(node_of(node, kJudgedNode)); !added) return added;
  report_.templates.push_back({.name = node.name});
  templates_.push_back({.judge = std::move(*judge), .refused = {}});
  return {};
}

std::int64_t ClusterAutoscaler::size_of(const Pod& pod) const {
  std::int64_t size = 0;
  for (const auto& [resource, quantity] : pod_requests(pod)) {
    const auto found = largest_.find(resource);
    if (found == largest_.end() || found->second == 0) continue;
    const Int128 share =
        Int128{resource_amount(resource, quantity).value_or(0)} * kSizeUnit / found->second;
    size = std::max(size, static_cast<std::int64_t>(std::min<Int128>(share, INT64_MAX)));
  }
  return size;
}

void ClusterAutoscaler::add(std::uint32_t id, const Pod& pod) {
  const auto [place, is_new] = waiting_.try_emplace(id);
  if (!is_new) return;
  place->second.pod = pod;
  new_pods_.push_back(id);
}

void ClusterAutoscaler::remove(std::uint32_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const WaitingPod& waiting = found->second;
  const Pod& pod = waiting.pod;
  if (waiting.state == State::kPromised) coming_engine_.remove_pod(pod.namespace_name, pod.name);
  for (const auto& [index, node] : waiting.refused) {
    templates_[index].refused.remove(id, pod, node);
  }
  waiting_.erase(found);
}

// --- A step. -----------------------------------------------------------------------------------

Result<AutoscalerStep> ClusterAutoscaler::step(Engine& cluster, std::int64_t now_us) {
  if (Result<void> moved = quotas_.advance(now_us); !moved) return tl::unexpected(moved.error());
  if (cluster.epoch() != seen_epoch_) look_again();
  Result<AutoscalerStep> step = step_of_new(cluster, now_us);
  seen_epoch_ = cluster.epoch();
  return step;
}

// What no template took for want of other pods may have them now.
void ClusterAutoscaler::look_again() {
  for (const std::uint32_t id : ask_again_) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end() || found->second.state != State::kWithoutTemplate) continue;
    found->second.state = State::kNew;
    new_pods_.push_back(id);
  }
  ask_again_.clear();
}

Result<AutoscalerStep> ClusterAutoscaler::step_of_new(Engine& cluster, std::int64_t now_us) {
  Result<std::vector<Group>> groups = new_groups();
  if (!groups) return tl::unexpected(groups.error());
  const bool others = std::any_of(groups->begin(), groups->end(), [&](const Group& group) {
    return asks_for_others(waiting_.at(group.pods.front()).pod, profile_);
  });
  Judge judge{others ? &cluster : nullptr, kJudgedNode};
  if (Result<void> set = set_shapes(judge, *groups); !set) return tl::unexpected(set.error());
  if (!others) return decide(judge, *groups, now_us);
  while (cluster.find_node(judge.node) != kNoNode) judge.node += '-';
  const TriedFork fork(cluster);
  if (Result<void> added = add_coming_nodes(cluster); !added) {
    return tl::unexpected(added.error());
  }
  return decide(judge, *groups, now_us);
}

Result<AutoscalerStep> ClusterAutoscaler::decide(const Judge& judge, std::vector<Group>& groups,
                                                 std::int64_t now_us) {
  AutoscalerStep step;
  if (Result<void> used = use_coming_nodes(judge, groups); !used) {
    return tl::unexpected(used.error());
  }
  std::vector<bool> asked_in_vain(templates_.size(), false);
  while (true) {
    std::uint32_t best = 0;
    Load best_load;
    for (std::uint32_t t = 0; t < templates_.size(); ++t) {
      if (asked_in_vain[t]) continue;
      Result<Load> load = fill(judge, t, groups);
      if (!load) return tl::unexpected(load.error());
      if (load->pods <= best_load.pods) continue;
      best = t;
      best_load = std::move(*load);
    }
    if (best_load.pods == 0) break;
    Result<bool> requested = request(judge, best, best_load, groups, now_us, step);
    if (!requested) return tl::unexpected(requested.error());
    asked_in_vain[best] = !*requested;
  }
  for (Group& group : groups) {
    if (Result<void> refused = refuse(judge, group, step); !refused) {
      return tl::unexpected(refused.error());
    }
  }
  if (Result<void> set = set_blocks(now_us); !set) return tl::unexpected(set.error());
  return step;
}

// By shape, the largest first, then in the order of their coming.
Result<std::vector<ClusterAutoscaler::Group>> ClusterAutoscaler::new_groups() {
  std::vector<Group> groups;
  std::map<ShapeIndex, std::size_t> group_of;
  for (const std::uint32_t id : new_pods_) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end() || found->second.state != State::kNew) continue;
    WaitingPod& waiting = found->second;
    if (waiting.promises >= kPromisesPerPodMax) {
      waiting.state = State::kGivenUp;
      ++report_.pods_given_up;
      continue;
    }
    const Result<ShapeIndex> shape = coming_engine_.shape_of(waiting.pod);
    if (!shape) return tl::unexpected(in_object("pod", pod_key(waiting.pod), shape.error()));
    const auto [place, is_new] = group_of.try_emplace(*shape, groups.size());
    if (is_new) groups.push_back({.pods = {}, .size = size_of(waiting.pod)});
    groups[place->second].pods.push_back(id);
  }
  new_pods_.clear();
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.size > b.size; });
  return groups;
}

// With the pods that are to run there.
Result<void> ClusterAutoscaler::add_coming_nodes(Engine& cluster) const {
  for (const ComingNode& coming : coming_) {
    if (Result<void> added = cluster.upsert(coming.node); !added) return added;
    for (const std::uint32_t id : coming.pods) {
      const auto found = waiting_.find(id);
      if (found == waiting_.end() || found->second.state != State::kPromised ||
          found->second.node != coming.node.name) {
        continue;
      }
      if (Result<void> counted = cluster.assume(found->second.pod, coming.node.name); !counted) {
        return counted;
      }
    }
  }
  return {};
}

// The first under way that has room; empty: none has.
Result<std::string> ClusterAutoscaler::coming_node_for(const Judge& judge, const Pod& pod) {
  if (judge.cluster == nullptr) return first_fit(coming_engine_, pod);
  for (const ComingNode& coming : coming_) {
    const Result<bool> passes = judge.cluster->passes(pod, coming.node.name);
    if (!passes) return tl::unexpected(passes.error());
    if (*passes) return coming.node.name;
  }
  return std::string();
}

Result<void> ClusterAutoscaler::promise(const Judge& judge, WaitingPod& waiting,
                                        const std::string& node) {
  for (Engine* engine : {&coming_engine_, judge.cluster}) {
    if (engine == nullptr) continue;
    if (Result<void> counted = engine->assume(waiting.pod, node); !counted) return counted;
  }
  waiting.state = State::kPromised;
  waiting.node = node;
  return {};
}

Result<void> ClusterAutoscaler::use_coming_nodes(const Judge& judge, std::vector<Group>& groups) {
  if (coming_.empty()) return {};
  std::map<std::string, ComingNode*> by_name;
  for (ComingNode& coming : coming_) by_name[coming.node.name] = &coming;
  for (Group& group : groups) {
    for (; group.left() > 0; ++group.next) {
      const std::uint32_t id = group.pods[group.next];
      WaitingPod& waiting = waiting_.at(id);
      Result<std::string> node = coming_node_for(judge, waiting.pod);
      if (!node) return tl::unexpected(node.error());
      if (node->empty()) break;
      if (Result<void> promised = promise(judge, waiting, *node); !promised) return promised;
      by_name.at(*node)->pods.push_back(id);
    }
  }
  return {};
}

Engine& ClusterAutoscaler::engine_of(const Judge& judge, std::uint32_t index) {
  return judge.cluster == nullptr ? templates_[index].judge : *judge.cluster;
}

Result<void> ClusterAutoscaler::set_shapes(const Judge& judge, std::vector<Group>& groups) {
  const std::size_t engines = judge.cluster == nullptr ? templates_.size() : 1;
  for (Group& group : groups) {
    const Pod& pod = waiting_.at(group.pods.front()).pod;
    for (std::uint32_t e = 0; e < engines; ++e) {
      const Result<ShapeIndex> shape = engine_of(judge, e).shape_of(pod);
      if (!shape) return tl::unexpected(in_object("pod", pod_key(pod), shape.error()));
      group.shapes.push_back(*shape);
    }
  }
  return {};
}

// In a fork. A template's own judge has it.
Result<void> ClusterAutoscaler::add_empty_node(const Judge& judge, std::uint32_t index) {
  if (judge.cluster == nullptr) return {};
  return judge.cluster->upsert(node_of(options_.templates[index], judge.node));
}

// What an empty node of the template says.
Result<NodeDetail> ClusterAutoscaler::look(const Judge& judge, std::uint32_t index,
                                           const Pod& pod) {
  Engine& engine = engine_of(judge, index);
  const TriedFork fork(engine);
  if (Result<void> added = add_empty_node(judge, index); !added) {
    return tl::unexpected(added.error());
  }
  return engine.filter(pod, judge.node);
}

// What an empty node would take of the groups.
Result<ClusterAutoscaler::Load> ClusterAutoscaler::fill(const Judge& judge, std::uint32_t index,
                                                        const std::vector<Group>& groups) {
  Engine& engine = engine_of(judge, index);
  const TriedFork fork(engine);
  if (Result<void> added = add_empty_node(judge, index); !added) {
    return tl::unexpected(added.error());
  }
  const NodeIndex node = engine.find_node(judge.node);
  Load load;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const ShapeIndex shape = group.shapes[judge.cluster == nullptr ? index : 0];
    std::size_t count = 0;
    for (; count < group.left(); ++count) {
      // What the node has says no to most of them.
      const Result<bool> has_room = engine.has_room(shape, node);
      if (!has_room) return tl::unexpected(has_room.error());
      if (!*has_room) break;
      const Pod& pod = waiting_.at(group.pods[group.next + count]).pod;
      const Result<bool> passes = engine.passes(pod, judge.node);
      if (!passes) return tl::unexpected(passes.error());
      if (!*passes) break;
      if (Result<void> counted = engine.assume(pod, judge.node); !counted) {
        return tl::unexpected(counted.error());
      }
    }
    if (count > 0) load.groups.emplace_back(g, count);
    load.pods += count;
  }
  return load;
}

Result<bool> ClusterAutoscaler::request(const Judge& judge, std::uint32_t index, const Load& load,
                                        std::vector<Group>& groups, std::int64_t now_us,
                                        AutoscalerStep& step) {
  // As long as no group runs out the next node takes the same, unless pods ask for others.
  std::size_t asked = judge.cluster == nullptr ? SIZE_MAX : 1;
  for (const auto& [g, count] : load.groups) asked = std::min(asked, groups[g].left() / count);
  const PlanItem item{.node = &options_.templates[index],
                      .count = static_cast<std::int64_t>(asked)};
  const std::string id = fmt::format("scale-up-{}", ++requests_);
  Result<ReserveAnswer> answer = quotas_.reserve(
      id, {&item, 1}, now_us + kReservationProvisionTimes * provision_us(), ReserveMode::kUpTo);
  if (!answer) return tl::unexpected(answer.error());
  ScaleUp scale_up{.time_us = now_us,
                   .ready_us = now_us + provision_us(),
                   .node_template = options_.templates[index].name,
                   .asked = item.count,
                   .allowed = answer->accepted ? answer->allowed.front() : 0,
                   .binding = {}};
  if (answer->stopped) {
    for (const CapacityQuotaRow& row : answer->stopped->rows) {
      scale_up.binding.push_back({.quota = std::string(row.quota),
                                  .resource = std::string(row.resource),
                                  .limit = row.limit,
                                  .used = row.used,
                                  .reserved = row.reserved,
                                  .need = row.need,
                                  .headroom = row.headroom,
                                  .shortfall = row.shortfall});
    }
  }
  for (std::int64_t n = 0; n < scale_up.allowed; ++n) {
    Result<void> added = add_coming(judge, index, load, groups, now_us, id);
    if (!added) return tl::unexpected(added.error());
  }
  const bool all = scale_up.allowed == scale_up.asked;
  if (scale_up.allowed > 0) {
    quotas_changed_ = true;
    report_.scale_ups.push_back(scale_up);
  }
  step.scale_ups.push_back(std::move(scale_up));
  return all;
}

Result<void> ClusterAutoscaler::add_coming(const Judge& judge, std::uint32_t index,
                                           const Load& load, std::vector<Group>& groups,
                                           std::int64_t now_us, const std::string& reservation) {
  ComingNode coming{.node = node_of(options_.templates[index], new_node_name(index)),
                    .node_template = index,
                    .ready_us = now_us + provision_us(),
                    .reservation = reservation,
                    .pods = {}};
  set_entry(coming.node.annotations, kReservationAnnotation, reservation);
  for (Engine* engine : {&coming_engine_, judge.cluster}) {
    if (engine == nullptr) continue;
    if (Result<void> added = engine->upsert(coming.node); !added) return added;
  }
  for (const auto& [g, count] : load.groups) {
    for (std::size_t n = 0; n < count; ++n) {
      const std::uint32_t id = groups[g].pods[groups[g].next++];
      WaitingPod& waiting = waiting_.at(id);
      if (Result<void> promised = promise(judge, waiting, coming.node.name); !promised) {
        return promised;
      }
      coming.pods.push_back(id);
    }
  }
  coming_.push_back(std::move(coming));
  return {};
}

std::string ClusterAutoscaler::new_node_name(std::uint32_t index) {
  std::string name;
  do {
    name = fmt::format("{}-{:04}", options_.templates[index].name, ++templates_[index].names);
  } while (!node_names_.insert(name).second);
  return name;
}

// Pods that are left: no template takes them, or those that do are refused.
Result<void> ClusterAutoscaler::refuse(const Judge& judge, Group& group, AutoscalerStep& step) {
  if (group.left() == 0) return {};
  const Pod& first = waiting_.at(group.pods[group.next]).pod;
  std::vector<std::uint32_t> takers;
  const auto without = std::make_shared<NoTemplate::Reasons>();
  for (std::uint32_t t = 0; t < templates_.size(); ++t) {
    Result<NodeDetail> room = look(judge, t, first);
    if (!room) return tl::unexpected(room.error());
    if (room->code == Code::kSuccess) {
      takers.push_back(t);
    } else {
      without->emplace_back(options_.templates[t].name, std::move(room->reasons));
    }
  }
  for (; group.left() > 0; ++group.next) {
    const std::uint32_t id = group.pods[group.next];
    WaitingPod& waiting = waiting_.at(id);
    if (takers.empty()) {
      waiting.state = State::kWithoutTemplate;
      if (!waiting.no_template) step.no_template.push_back({pod_key(waiting.pod), *without});
      waiting.no_template = without;
      if (asks_for_others(waiting.pod, profile_)) ask_again_.push_back(id);
      continue;
    }
    waiting.state = State::kRefused;
    for (const std::uint32_t t : takers) {
      Result<std::string> node = templates_[t].refused.add(id, waiting.pod, options_.templates[t],
                                                           profile_, options_.referred_objects);
      if (!node) return tl::unexpected(node.error());
      waiting.refused.emplace_back(t, std::move(*node));
    }
  }
  return {};
}

Result<void> ClusterAutoscaler::set_blocks(std::int64_t now_us) {
  for (std::uint32_t t = 0; t < templates_.size(); ++t) {
    RefusedNodes& refused = templates_[t].refused;
    if (!refused.changed() && (!quotas_changed_ || refused.empty())) continue;
    std::vector<CapacityQuotaBlocks::Limit> limits;
    if (!refused.empty()) {
      Result<CapacityCheck> check = quotas_.check(options_.templates[t], 1);
      if (!check) return tl::unexpected(check.error());
      for (const CapacityQuotaRow& row : check->rows) {
        if (row.binding) limits.emplace_back(row.quota, row.resource);
      }
    }
    blocks_.set(t, now_us, limits, refused.size(), refused.pods(), refused.new_pods());
    refused.noted();
  }
  quotas_changed_ = false;
  return {};
}

// --- Nodes that come. --------------------------------------------------------------------------

std::int64_t ClusterAutoscaler::next_ready_us() const {
  return coming_.empty() ? INT64_MAX : coming_.front().ready_us;
}

Result<std::vector<Node>> ClusterAutoscaler::take_ready(std::int64_t now_us) {
  std::vector<Node> nodes;
  if (next_ready_us() > now_us) return nodes;
  if (Result<void> moved = quotas_.advance(now_us); !moved) return tl::unexpected(moved.error());
  while (next_ready_us() <= now_us) {
    ComingNode& coming = coming_.front();
    Result<void> registered = quotas_.upsert(coming.node);
    if (!registered) {
      return tl::unexpected(in_object("Node", coming.node.name, registered.error()));
    }
    for (const std::uint32_t id : coming.pods) {
      const auto found = waiting_.find(id);
      if (found == waiting_.end()) continue;
      WaitingPod& waiting = found->second;
      if (waiting.state != State::kPromised || waiting.node != coming.node.name) continue;
      coming_engine_.remove_pod(waiting.pod.namespace_name, waiting.pod.name);
      waiting.state = State::kNew;
      ++waiting.promises;
      new_pods_.push_back(id);
    }
    coming_engine_.remove_node(coming.node.name);
    TemplateReport& report = report_.templates[coming.node_template];
    if (report.nodes++ == 0) report.first_us = now_us;
    report.last_us = now_us;
    nodes.push_back(std::move(coming.node));
    coming_.pop_front();
  }
  quotas_changed_ = true;
  return nodes;
}

// --- Looking. ----------------------------------------------------------------------------------

std::vector<std::string> ClusterAutoscaler::broken_rules() const {
  std::map<std::string, std::int64_t> under_way;
  for (const ComingNode& coming : coming_) ++under_way[coming.reservation];
  return capacity_quota_rules_broken(quotas_, at_start_, std::move(under_way));
}

std::vector<LimitStanding> ClusterAutoscaler::standings() const {
  return limit_standings(quotas_, blocks_);
}

AutoscalerReport ClusterAutoscaler::report(std::int64_t now_us) {
  blocks_.end(now_us);
  AutoscalerReport report = report_;
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.state != State::kWithoutTemplate || report.pods_without_template++ > 0) continue;
    report.first_without_template = {pod_key(waiting.pod), *waiting.no_template};
  }
  report.quotas = capacity_quota_reports(quotas_, at_start_, blocks_);
  return report;
}

}  // namespace headroom
