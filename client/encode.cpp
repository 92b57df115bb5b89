#include "client/encode.h"

#include "client/encode_parts.h"
#include "objects/writing/referred_json_writer.h"
#include "schema/write.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

Offset<wire::PodRef> reference(Builder& builder, const PodRef& ref) {
  if (ref.pod == nullptr) return wire::CreatePodRef(builder, write_text(builder, ref.uid));
  return wire::CreatePodRef(builder, 0, encode(builder, *ref.pod));
}

ListOffset<wire::PodRef> references(Builder& builder, std::span<const PodRef> pods) {
  return write_list<wire::PodRef>(builder, pods,
                                  [&](const PodRef& ref) { return reference(builder, ref); });
}

ListOffset<wire::CapacityItem> capacity_items(Builder& builder,
                                              std::span<const CapacityItem> items) {
  return write_list<wire::CapacityItem>(builder, items, [&](const CapacityItem& item) {
    return wire::CreateCapacityItem(builder, encode(builder, *item.node), item.count);
  });
}

template <typename Fact>
Offset<wire::Change> change(Builder& builder, Offset<Fact> fact) {
  return wire::CreateChange(builder, wire::FactTraits<Fact>::enum_value, fact.Union());
}

}  // namespace

Offset<wire::Node> encode(Builder& builder, const Node& node) {
  const auto name = write_text(builder, node.name);
  const auto labels = map(builder, node.labels);
  const auto annotations = map(builder, node.annotations);
  const auto taints = write_list_if_any<wire::Taint>(builder, node.taints, [&](const Taint& taint) {
    const auto key = write_text_if_any(builder, taint.key);
    const auto value = write_text_if_any(builder, taint.value);
    return wire::CreateTaint(builder, key, value, write_text_if_any(builder, taint.effect));
  });
  const auto allocatable = resources(builder, node.allocatable);
  const auto capacity = resources(builder, node.capacity);
  const auto images = write_list_if_any<wire::ContainerImage>(
      builder, node.images, [&](const ContainerImage& image) {
        return wire::CreateContainerImage(builder, strings(builder, image.names), image.size_bytes);
      });
  return wire::CreateNode(builder, name, labels, annotations, node.unschedulable, taints,
                          allocatable, capacity, node.deleting, images,
                          strings(builder, node.declared_features));
}

Offset<wire::NodeMetric> encode(Builder& builder, const NodeMetric& metric) {
  const auto name = write_text(builder, metric.name);
  const auto node_usage = resources(builder, metric.node_usage);
  const auto system_usage = resources(builder, metric.system_usage);
  const auto aggregated = write_list_if_any<wire::AggregatedUsage>(
      builder, metric.aggregated, [&](const AggregatedUsage& usage) {
        return wire::CreateAggregatedUsage(
            builder, usage.duration_us,
            write_list_if_any<wire::UsageOfType>(builder, usage.usage, [&](const auto& of_type) {
              const auto type = write_text(builder, of_type.first);
              return wire::CreateUsageOfType(builder, type, resources(builder, of_type.second));
            }));
      });
  const auto pods =
      write_list_if_any<wire::PodMetricInfo>(builder, metric.pods, [&](const PodMetricInfo& pod) {
        const auto namespace_name = write_text(builder, pod.namespace_name);
        const auto pod_name = write_text(builder, pod.name);
        const auto usage = resources(builder, pod.usage);
        return wire::CreatePodMetricInfo(builder, namespace_name, pod_name, usage,
                                         write_text_if_any(builder, pod.priority));
      });
  return wire::CreateNodeMetric(builder, name, metric.report_interval_seconds.value_or(0),
                                metric.update_time_us.value_or(0), metric.has_node_metric,
                                node_usage, system_usage, aggregated, pods);
}

Offset<wire::ElasticQuota> encode(Builder& builder, const ElasticQuota& quota) {
  const auto namespace_name = write_text(builder, quota.namespace_name);
  const auto name = write_text(builder, quota.name);
  const auto min = resources(builder, quota.min);
  return wire::CreateElasticQuota(builder, namespace_name, name, min,
                                  resources(builder, quota.max));
}

Offset<wire::PodDisruptionBudget> encode(Builder& builder, const PodDisruptionBudget& budget) {
  const auto namespace_name = write_text(builder, budget.namespace_name);
  const auto name = write_text(builder, budget.name);
  const auto selector = requirements(builder, budget.selector);
  return wire::CreatePodDisruptionBudget(builder, namespace_name, name, selector,
                                         budget.disruptions_allowed,
                                         strings(builder, budget.disrupted_pods));
}

Offset<wire::PriorityClass> encode(Builder& builder, const PriorityClass& priority_class) {
  const auto name = write_text(builder, priority_class.name);
  return wire::CreatePriorityClass(builder, name, priority_class.value,
                                   priority_class.global_default,
                                   write_text_if_any(builder, priority_class.preemption_policy));
}

Offset<wire::CapacityQuota> encode(Builder& builder, const CapacityQuota& quota,
                                   wire::CapacityQuotaClass quota_class) {
  const auto name = write_text(builder, quota.name);
  const auto selector = requirements(builder, quota.selector);
  return wire::CreateCapacityQuota(builder, name, quota.generation, selector,
                                   map(builder, quota.limits), quota_class);
}

Offset<wire::ReferredObject> encode(Builder& builder, const ReferredObject& object) {
  return wire::CreateReferredObject(builder, write_text(builder, to_json(object)));
}

Offset<wire::Change> encode_upsert(Builder& builder, const Object& object,
                                   wire::CapacityQuotaClass quota_class) {
  if (const auto* quota = std::get_if<CapacityQuota>(&object)) {
    return change(builder, encode(builder, *quota, quota_class));
  }
  return std::visit([&](const auto& held) { return change(builder, encode(builder, held)); },
                    object);
}

Offset<wire::Change> encode_removed_node(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedNode(builder, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_pod(Builder& builder, std::string_view namespace_name,
                                        std::string_view name) {
  const auto in = write_text(builder, namespace_name);
  return change(builder, wire::CreateRemovedPod(builder, in, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_node_metric(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedNodeMetric(builder, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_elastic_quota(Builder& builder, std::string_view namespace_name,
                                                  std::string_view name) {
  const auto in = write_text(builder, namespace_name);
  return change(builder, wire::CreateRemovedElasticQuota(builder, in, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_pod_disruption_budget(Builder& builder,
                                                          std::string_view namespace_name,
                                                          std::string_view name) {
  const auto in = write_text(builder, namespace_name);
  return change(builder,
                wire::CreateRemovedPodDisruptionBudget(builder, in, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_priority_class(Builder& builder, std::string_view name) {
  return change(builder, wire::CreateRemovedPriorityClass(builder, write_text(builder, name)));
}

Offset<wire::Change> encode_removed_referred_object(Builder& builder, ReferredKind kind,
                                                    std::string_view key) {
  const auto name = write_text(builder, to_string(kind));
  return change(builder,
                wire::CreateRemovedReferredObject(builder, name, write_text(builder, key)));
}

Offset<wire::Change> encode_removed_capacity_quota(Builder& builder, std::string_view name,
                                                   wire::CapacityQuotaClass quota_class) {
  return change(builder,
                wire::CreateRemovedCapacityQuota(builder, write_text(builder, name), quota_class));
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
  const auto without =
      write_list_if_any<wire::PodKey>(builder, request.without_pods, [&](const PodName& key) {
        const auto namespace_name = write_text(builder, key.namespace_name);
        return wire::CreatePodKey(builder, namespace_name, write_text(builder, key.name));
      });
  const auto with = request.with_pods.empty() ? 0 : references(builder, request.with_pods);
  return wire::CreateEvaluateNodes(builder, ref, names, request.from, without, with);
}

Offset<wire::Place> encode_place(Builder& builder, std::span<const PodRef> pods, bool reasons) {
  return wire::CreatePlace(builder, references(builder, pods), reasons);
}

Offset<wire::Reserve> encode_reserve(Builder& builder, const ReserveRequest& request) {
  const auto pod = reference(builder, request.pod);
  return wire::CreateReserve(builder, pod, write_text(builder, request.node_name));
}

Offset<wire::Unreserve> encode_unreserve(Builder& builder, const Pod& pod,
                                         std::string_view node_name) {
  const auto namespace_name = write_text(builder, pod.namespace_name);
  const auto name = write_text(builder, pod.name);
  const auto uid = write_text(builder, pod.uid);
  return wire::CreateUnreserve(builder, namespace_name, name, uid, write_text(builder, node_name));
}

Offset<wire::Explain> encode_explain(Builder& builder, const PodRef& pod,
                                     std::string_view node_name) {
  const auto ref = reference(builder, pod);
  return wire::CreateExplain(builder, ref, write_text(builder, node_name));
}

Offset<wire::BoundVolumes> encode_bound_volumes(Builder& builder, const PodRef& pod,
                                                std::string_view node_name) {
  const auto ref = reference(builder, pod);
  return wire::CreateBoundVolumes(builder, ref, write_text(builder, node_name));
}

Offset<wire::PostFilter> encode_post_filter(Builder& builder, const PodRef& pod, bool candidates) {
  return wire::CreatePostFilter(builder, reference(builder, pod), candidates);
}

Offset<wire::ElasticQuotaStatus> encode_elastic_quota_status(Builder& builder,
                                                             std::string_view after) {
  return wire::CreateElasticQuotaStatus(builder, write_text_if_any(builder, after));
}

Offset<wire::ExplainVictims> encode_explain_victims(Builder& builder, const PodRef& pod,
                                                    std::string_view node_name) {
  const auto ref = reference(builder, pod);
  return wire::CreateExplainVictims(builder, ref, write_text(builder, node_name));
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
  const auto id = write_text(builder, request.id);
  const auto items = capacity_items(builder, request.items);
  return wire::CreateCapacityReserve(builder, id, items, request.expires_us, request.mode);
}

Offset<wire::CapacityRelease> encode_capacity_release(Builder& builder, std::string_view id) {
  return wire::CreateCapacityRelease(builder, write_text(builder, id));
}

Offset<wire::CapacityQuotaStatus> encode_capacity_quota_status(Builder& builder,
                                                               std::string_view after) {
  return wire::CreateCapacityQuotaStatus(builder, write_text_if_any(builder, after));
}

Offset<wire::Reservations> encode_reservations(Builder& builder, const PodName& after) {
  if (after.name.empty()) return wire::CreateReservations(builder);
  const auto namespace_name = write_text(builder, after.namespace_name);
  const auto name = write_text(builder, after.name);
  return wire::CreateReservations(builder, wire::CreatePodKey(builder, namespace_name, name));
}

Offset<wire::CapacityReservations> encode_capacity_reservations(Builder& builder,
                                                                std::string_view after) {
  return wire::CreateCapacityReservations(builder, write_text_if_any(builder, after));
}

}  // namespace headroom
