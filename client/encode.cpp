#include "client/encode.h"

#include <array>
#include <vector>

namespace headroom {

namespace {

using flatbuffers::Offset;
using flatbuffers::String;
template <typename Item>
using Vector = Offset<flatbuffers::Vector<Offset<Item>>>;

Offset<String> string(Builder& builder, std::string_view text) {
  return builder.CreateString(text.data(), text.size());
}

// Absent where empty.
Offset<String> optional(Builder& builder, std::string_view text) {
  return text.empty() ? 0 : string(builder, text);
}

// The offsets of a list are collected before its vector is written; short lists, which nearly all
// are, in place.
template <typename Item, typename In, typename Make>
Vector<Item> vector(Builder& builder, const In& items, Make make) {
  constexpr std::size_t kInPlace = 32;
  std::array<Offset<Item>, kInPlace> few;
  std::vector<Offset<Item>> many;
  Offset<Item>* offsets = few.data();
  if (items.size() > kInPlace) {
    many.resize(items.size());
    offsets = many.data();
  }
  std::size_t count = 0;
  for (const auto& item : items) offsets[count++] = make(item);
  return builder.CreateVector(offsets, count);
}

template <typename Item, typename In, typename Make>
Vector<Item> optional(Builder& builder, const In& items, Make make) {
  return items.empty() ? 0 : vector<Item>(builder, items, make);
}

// As short as can be: whole units or thousandths as plain digits, which is what most are.
Offset<String> quantity(Builder& builder, const Quantity& quantity) {
  constexpr Int128 kNanosInMilli = 1'000'000;
  constexpr Int128 kMilliMax = 1'000'000'000'000'000'000;
  const Int128 nanos = quantity.nanos();
  if (nanos < 0 || nanos % kNanosInMilli != 0 || nanos / kNanosInMilli > kMilliMax) {
    return string(builder, quantity.canonical());
  }
  auto rest = static_cast<std::uint64_t>(nanos / kNanosInMilli);
  std::array<char, 24> digits{};
  std::size_t begin = digits.size();
  if (rest % 1000 == 0) {
    rest /= 1000;
  } else {
    digits[--begin] = 'm';
  }
  do {
    digits[--begin] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  return builder.CreateString(digits.data() + begin, digits.size() - begin);
}

Vector<wire::Resource> present(Builder& builder, const ResourceList& list) {
  return vector<wire::Resource>(builder, list, [&](const auto& resource) {
    const auto name = string(builder, resource.first);
    return wire::CreateResource(builder, name, quantity(builder, resource.second));
  });
}

// Absent and empty differ.
Vector<wire::Resource> resources(Builder& builder, const std::optional<ResourceList>& list) {
  return list ? present(builder, *list) : 0;
}

Vector<wire::Resource> resources(Builder& builder, const ResourceList& list) {
  return list.empty() ? 0 : present(builder, list);
}

Vector<wire::KeyValue> map(Builder& builder, const StringMap& map) {
  return optional<wire::KeyValue>(builder, map, [&](const auto& entry) {
    const auto key = string(builder, entry.first);
    return wire::CreateKeyValue(builder, key, optional(builder, entry.second));
  });
}

Vector<String> strings(Builder& builder, std::span<const std::string> list) {
  return optional<String>(builder, list,
                          [&](const std::string& item) { return string(builder, item); });
}

Vector<wire::NodeSelectorRequirement> requirements(
    Builder& builder, const std::vector<NodeSelectorRequirement>& list) {
  return optional<wire::NodeSelectorRequirement>(
      builder, list, [&](const NodeSelectorRequirement& requirement) {
        const auto key = optional(builder, requirement.key);
        const auto op = optional(builder, requirement.op);
        return wire::CreateNodeSelectorRequirement(builder, key, op,
                                                   strings(builder, requirement.values));
      });
}

Vector<wire::Container> containers(Builder& builder, const std::vector<Container>& list) {
  return optional<wire::Container>(builder, list, [&](const Container& container) {
    const auto name = optional(builder, container.name);
    const auto requests = resources(builder, container.requests);
    const auto limits = resources(builder, container.limits);
    const auto actuated = resources(builder, container.actuated_requests);
    const auto allocated = resources(builder, container.allocated_requests);
    const auto ports =
        optional<wire::ContainerPort>(builder, container.ports, [&](const ContainerPort& port) {
          const bool tcp = port.protocol == PortProtocol::kTcp;
          const auto protocol = optional(builder, tcp ? "" : to_string(port.protocol));
          return wire::CreateContainerPort(builder, port.host_port, protocol,
                                           optional(builder, port.host_ip));
        });
    return wire::CreateContainer(builder, name, requests, limits, container.restart_always,
                                 actuated, allocated, ports);
  });
}

Offset<wire::PodCondition> condition(Builder& builder,
                                     const std::optional<PodCondition>& condition) {
  return condition ? wire::CreatePodCondition(builder, condition->is_true,
                                              condition->last_transition_us.value_or(0))
                   : 0;
}

// One enum, said twice.
static_assert(static_cast<std::uint32_t>(wire::NotConsidered::MAX) + 1 == kNotConsideredCount);

Offset<flatbuffers::Vector<wire::NotConsidered>> not_considered(Builder& builder,
                                                                NotConsideredSet set) {
  if (set.empty()) return 0;
  std::vector<wire::NotConsidered> items;
  for (const NotConsidered what : set.list()) {
    items.push_back(static_cast<wire::NotConsidered>(what));
  }
  return builder.CreateVector(items);
}

Offset<wire::PodRef> reference(Builder& builder, const PodRef& ref) {
  if (ref.pod == nullptr) return wire::CreatePodRef(builder, string(builder, ref.uid));
  return wire::CreatePodRef(builder, 0, encode(builder, *ref.pod));
}

Vector<wire::PodRef> references(Builder& builder, std::span<const PodRef> pods) {
  return vector<wire::PodRef>(builder, pods,
                              [&](const PodRef& ref) { return reference(builder, ref); });
}

Vector<wire::CapacityItem> capacity_items(Builder& builder, std::span<const CapacityItem> items) {
  return vector<wire::CapacityItem>(builder, items, [&](const CapacityItem& item) {
    return wire::CreateCapacityItem(builder, encode(builder, *item.node), item.count);
  });
}

template <typename Fact>
Offset<wire::Change> change(Builder& builder, Offset<Fact> fact) {
  return wire::CreateChange(builder, wire::FactTraits<Fact>::enum_value, fact.Union());
}

}  // namespace

Offset<wire::Node> encode(Builder& builder, const Node& node) {
  const auto name = string(builder, node.name);
  const auto labels = map(builder, node.labels);
  const auto annotations = map(builder, node.annotations);
  const auto taints = optional<wire::Taint>(builder, node.taints, [&](const Taint& taint) {
    const auto key = optional(builder, taint.key);
    const auto value = optional(builder, taint.value);
    return wire::CreateTaint(builder, key, value, optional(builder, taint.effect));
  });
  const auto allocatable = resources(builder, node.allocatable);
  return wire::CreateNode(builder, name, labels, annotations, node.unschedulable, taints,
                          allocatable, resources(builder, node.capacity), node.deleting);
}

Offset<wire::Pod> encode(Builder& builder, const Pod& pod) {
  const auto namespace_name = string(builder, pod.namespace_name);
  const auto name = string(builder, pod.name);
  const auto uid = string(builder, pod.uid);
  const auto labels = map(builder, pod.labels);
  const auto annotations = map(builder, pod.annotations);
  const auto node_name = optional(builder, pod.node_name);
  const auto main_containers = containers(builder, pod.containers);
  const auto init_containers = containers(builder, pod.init_containers);
  const auto pod_requests = resources(builder, pod.pod_requests);
  const auto pod_limits = resources(builder, pod.pod_limits);
  const auto overhead = resources(builder, pod.overhead);
  const auto node_selector = map(builder, pod.node_selector);
  Offset<wire::NodeSelector> affinity;
  if (pod.required_node_affinity) {
    affinity = wire::CreateNodeSelector(
        builder, vector<wire::NodeSelectorTerm>(
                     builder, *pod.required_node_affinity, [&](const NodeSelectorTerm& term) {
                       const auto expressions = requirements(builder, term.match_expressions);
                       return wire::CreateNodeSelectorTerm(
                           builder, expressions, requirements(builder, term.match_fields));
                     }));
  }
  const auto tolerations =
      optional<wire::Toleration>(builder, pod.tolerations, [&](const Toleration& toleration) {
        const auto key = optional(builder, toleration.key);
        const auto op = optional(builder, toleration.op);
        const auto value = optional(builder, toleration.value);
        return wire::CreateToleration(builder, key, op, value,
                                      optional(builder, toleration.effect));
      });
  const auto phase = optional(builder, pod.phase);
  const auto qos_class = optional(builder, pod.qos_class);
  const auto scheduled = condition(builder, pod.scheduled);
  const auto initialized = condition(builder, pod.initialized);
  const auto nominated_node_name = optional(builder, pod.nominated_node_name);
  const auto priority_class_name = optional(builder, pod.priority_class_name);
  const auto preemption_policy = optional(builder, pod.preemption_policy);
  const auto scheduler_name = optional(builder, pod.scheduler_name);
  const auto considered = not_considered(builder, pod.not_considered);
  return wire::CreatePod(
      builder, namespace_name, name, uid, labels, annotations, pod.daemon_set,
      pod.creation_us.value_or(0), node_name, main_containers, init_containers, pod_requests,
      pod_limits, overhead, pod.priority.has_value(), pod.priority.value_or(0), node_selector,
      affinity, tolerations, pod.active_deadline_seconds.value_or(0), phase, qos_class, scheduled,
      initialized, pod.resize_infeasible, pod.start_us.value_or(0), nominated_node_name,
      pod.deleting, priority_class_name, preemption_policy, scheduler_name, considered);
}

Offset<wire::NodeMetric> encode(Builder& builder, const NodeMetric& metric) {
  const auto name = string(builder, metric.name);
  const auto node_usage = resources(builder, metric.node_usage);
  const auto system_usage = resources(builder, metric.system_usage);
  const auto aggregated = optional<wire::AggregatedUsage>(
      builder, metric.aggregated, [&](const AggregatedUsage& usage) {
        return wire::CreateAggregatedUsage(
            builder, usage.duration_us,
            optional<wire::UsageOfType>(builder, usage.usage, [&](const auto& of_type) {
              const auto type = string(builder, of_type.first);
              return wire::CreateUsageOfType(builder, type, resources(builder, of_type.second));
            }));
      });
  const auto pods =
      optional<wire::PodMetricInfo>(builder, metric.pods, [&](const PodMetricInfo& pod) {
        const auto namespace_name = string(builder, pod.namespace_name);
        const auto pod_name = string(builder, pod.name);
        const auto usage = resources(builder, pod.usage);
        return wire::CreatePodMetricInfo(builder, namespace_name, pod_name, usage,
                                         optional(builder, pod.priority));
      });
  return wire::CreateNodeMetric(builder, name, metric.report_interval_seconds.value_or(0),
                                metric.update_time_us.value_or(0), metric.has_node_metric,
                                node_usage, system_usage, aggregated, pods);
}

Offset<wire::ElasticQuota> encode(Builder& builder, const ElasticQuota& quota) {
  const auto namespace_name = string(builder, quota.namespace_name);
  const auto name = string(builder, quota.name);
  const auto min = resources(builder, quota.min);
  return wire::CreateElasticQuota(builder, namespace_name, name, min,
                                  resources(builder, quota.max));
}

Offset<wire::PodDisruptionBudget> encode(Builder& builder, const PodDisruptionBudget& budget) {
  const auto namespace_name = string(builder, budget.namespace_name);
  const auto name = string(builder, budget.name);
  const auto selector = requirements(builder, budget.selector);
  return wire::CreatePodDisruptionBudget(builder, namespace_name, name, selector,
                                         budget.disruptions_allowed,
                                         strings(builder, budget.disrupted_pods));
}

Offset<wire::PriorityClass> encode(Builder& builder, const PriorityClass& priority_class) {
  const auto name = string(builder, priority_class.name);
  return wire::CreatePriorityClass(builder, name, priority_class.value,
                                   priority_class.global_default,
                                   optional(builder, priority_class.preemption_policy));
}

Offset<wire::CapacityQuota> encode(Builder& builder, const CapacityQuota& quota,
                                   wire::QuotaClass quota_class) {
  const auto name = string(builder, quota.name);
  const auto selector = requirements(builder, quota.selector);
  return wire::CreateCapacityQuota(builder, name, quota.generation, selector,
                                   map(builder, quota.limits), quota_class);
}

Offset<wire::Change> encode_upsert(Builder& builder, const Object& object,
                                   wire::QuotaClass quota_class) {
  if (const auto* quota = std::get_if<CapacityQuota>(&object)) {
    return change(builder, encode(builder, *quota, quota_class));
  }
  return std::visit([&](const auto& held) { return change(builder, encode(builder, held)); },
                    object);
}

Offset<wire::Change> encode_removed_node(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedNode(builder, string(builder, name)));
}

Offset<wire::Change> encode_removed_pod(Builder& builder, std::string_view namespace_name,
                                        std::string_view name) {
  const auto in = string(builder, namespace_name);
  return change(builder, wire::CreateRemovedPod(builder, in, string(builder, name)));
}

Offset<wire::Change> encode_removed_node_metric(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedNodeMetric(builder, string(builder, name)));
}

Offset<wire::Change> encode_removed_elastic_quota(Builder& builder, std::string_view namespace_name,
                                                  std::string_view name) {
  const auto in = string(builder, namespace_name);
  return change(builder, wire::CreateRemovedElasticQuota(builder, in, string(builder, name)));
}

Offset<wire::Change> encode_removed_pod_disruption_budget(Builder& builder,
                                                          std::string_view namespace_name,
                                                          std::string_view name) {
  const auto in = string(builder, namespace_name);
  return change(builder,
                wire::CreateRemovedPodDisruptionBudget(builder, in, string(builder, name)));
}

Offset<wire::Change> encode_removed_priority_class(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedPriorityClass(builder, string(builder, name)));
}

Offset<wire::Change> encode_removed_capacity_quota(Builder& builder, std::string_view name,
                                                   wire::QuotaClass quota_class) {
  return change(builder,
                wire::CreateRemovedCapacityQuota(builder, string(builder, name), quota_class));
}

Offset<wire::Evaluate> encode_evaluate(Builder& builder, std::span<const PodRef> pods,
                                       const EvaluateRequest& request) {
  const auto refs = references(builder, pods);
  const auto reserve = request.reserve == nullptr ? 0 : encode_reserve(builder, *request.reserve);
  return wire::CreateEvaluate(builder, refs, request.top_k, request.scores, request.reasons,
                              reserve, request.raw_scores);
}

Offset<wire::EvaluateNodes> encode_evaluate_nodes(Builder& builder, const PodRef& pod,
                                                  const EvaluateNodesRequest& request) {
  const auto ref = reference(builder, pod);
  const auto names = strings(builder, request.node_names);
  std::vector<Offset<wire::PodKey>> keys;
  for (const PodName& key : request.without_pods) {
    const auto namespace_name = string(builder, key.namespace_name);
    keys.push_back(wire::CreatePodKey(builder, namespace_name, string(builder, key.name)));
  }
  const auto without = keys.empty() ? 0 : builder.CreateVector(keys);
  const auto with = request.with_pods.empty() ? 0 : references(builder, request.with_pods);
  return wire::CreateEvaluateNodes(builder, ref, names, request.from, without, with);
}

Offset<wire::Place> encode_place(Builder& builder, std::span<const PodRef> pods, bool reasons) {
  return wire::CreatePlace(builder, references(builder, pods), reasons);
}

Offset<wire::Reserve> encode_reserve(Builder& builder, const ReserveRequest& request) {
  const auto pod = reference(builder, request.pod);
  return wire::CreateReserve(builder, pod, string(builder, request.node_name));
}

Offset<wire::Unreserve> encode_unreserve(Builder& builder, const Pod& pod,
                                         std::string_view node_name) {
  const auto namespace_name = string(builder, pod.namespace_name);
  const auto name = string(builder, pod.name);
  const auto uid = string(builder, pod.uid);
  return wire::CreateUnreserve(builder, namespace_name, name, uid, string(builder, node_name));
}

Offset<wire::Explain> encode_explain(Builder& builder, const PodRef& pod,
                                     std::string_view node_name) {
  const auto ref = reference(builder, pod);
  return wire::CreateExplain(builder, ref, string(builder, node_name));
}

Offset<wire::PostFilter> encode_post_filter(Builder& builder, const PodRef& pod, bool candidates) {
  return wire::CreatePostFilter(builder, reference(builder, pod), candidates);
}

Offset<wire::QuotaStatus> encode_quota_status(Builder& builder, std::string_view after) {
  return wire::CreateQuotaStatus(builder, optional(builder, after));
}

Offset<wire::ExplainVictims> encode_explain_victims(Builder& builder, const PodRef& pod,
                                                    std::string_view node_name) {
  const auto ref = reference(builder, pod);
  return wire::CreateExplainVictims(builder, ref, string(builder, node_name));
}

Offset<wire::CapacityCheck> encode_capacity_check(Builder& builder,
                                                  std::span<const CapacityItem> items,
                                                  bool binding_only) {
  return wire::CreateCapacityCheck(builder, capacity_items(builder, items), binding_only);
}

Offset<wire::CapacityPlan> encode_capacity_plan(Builder& builder, std::span<const CapacityItem> add,
                                                std::span<const std::string> remove) {
  const auto items = capacity_items(builder, add);
  return wire::CreateCapacityPlan(builder, items, strings(builder, remove));
}

Offset<wire::CapacityReserve> encode_capacity_reserve(Builder& builder,
                                                      const CapacityReserveRequest& request) {
  const auto id = string(builder, request.id);
  const auto items = capacity_items(builder, request.items);
  return wire::CreateCapacityReserve(builder, id, items, request.expires_us, request.mode);
}

Offset<wire::CapacityRelease> encode_capacity_release(Builder& builder, std::string_view id) {
  return wire::CreateCapacityRelease(builder, string(builder, id));
}

Offset<wire::CapacityQuotaStatus> encode_capacity_quota_status(Builder& builder,
                                                               std::string_view after) {
  return wire::CreateCapacityQuotaStatus(builder, optional(builder, after));
}

Offset<wire::Reservations> encode_reservations(Builder& builder, const PodName& after) {
  if (after.name.empty()) return wire::CreateReservations(builder);
  const auto namespace_name = string(builder, after.namespace_name);
  const auto name = string(builder, after.name);
  return wire::CreateReservations(builder, wire::CreatePodKey(builder, namespace_name, name));
}

Offset<wire::CapacityReservations> encode_capacity_reservations(Builder& builder,
                                                                std::string_view after) {
  return wire::CreateCapacityReservations(builder, optional(builder, after));
}

}  // namespace headroom
