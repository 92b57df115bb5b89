// All kinds but pods (pod_writer.cpp).
#include "workloads/object_writer.h"

#include <fmt/format.h>

#include <string_view>

#include "objects/text/time_text.h"
#include "objects/writing/json_writer.h"

namespace headroom {
namespace {

// As Go prints a duration: "5m0s".
std::string duration_text(std::int64_t duration_us) {
  const std::int64_t seconds = duration_us / kMicrosPerSecond;
  const std::int64_t micros = duration_us % kMicrosPerSecond;
  std::string text;
  if (seconds >= 3600) text += fmt::format("{}h", seconds / 3600);
  if (seconds >= 60) text += fmt::format("{}m", seconds / 60 % 60);
  return text + (micros == 0 ? fmt::format("{}s", seconds % 60)
                             : fmt::format("{}.{:06}s", seconds % 60, micros));
}

// {"resources":{...}} under `name`, as NodeMetric has its usages.
void write_usage(JsonWriter& json, std::string_view name, const ResourceList& list) {
  json.open(name, '{');
  json.field("resources", list);
  json.close('}');
}

void write_images(JsonWriter& json, const std::vector<ContainerImage>& images) {
  json.list("images", images, [&](const ContainerImage& image) {
    json.field("names", image.names);
    json.field("sizeBytes", image.size_bytes);
  });
}

}  // namespace

void append_json(std::string& text, const Node& node) {
  JsonWriter json(text);
  open_object(json, "v1", "Node");
  json.field("annotations", node.annotations);
  if (node.deleting) json.field("deletionTimestamp", kSomeTime);
  json.field("labels", node.labels);
  json.field("name", node.name);
  json.close('}');
  json.open("spec", '{');
  json.list("taints", node.taints, [&](const Taint& taint) {
    json.field("effect", taint.effect);
    json.field("key", taint.key);
    json.field("value", taint.value);
  });
  if (node.unschedulable) json.field("unschedulable", true);
  json.close('}');
  json.open("status", '{');
  json.field("allocatable", node.allocatable);
  json.field("capacity", node.capacity);
  json.field("declaredFeatures", node.declared_features);
  write_images(json, node.images);
  json.close('}');
  json.close('}');
}

void append_json(std::string& text, const NodeMetric& metric) {
  JsonWriter json(text);
  open_object(json, "slo.koordinator.sh/v1alpha1", "NodeMetric");
  json.field("name", metric.name);
  json.close('}');
  if (metric.report_interval_seconds) {
    json.open("spec", '{');
    json.open("metricCollectPolicy", '{');
    json.field("reportIntervalSeconds", *metric.report_interval_seconds);
    json.close('}');
    json.close('}');
  }
  json.open("status", '{');
  if (metric.has_node_metric) {
    json.open("nodeMetric", '{');
    json.list("aggregatedNodeUsages", metric.aggregated, [&](const AggregatedUsage& aggregated) {
      json.field("duration", duration_text(aggregated.duration_us));
      json.open("usage", '{');
      for (const auto& [type, usage] : aggregated.usage) write_usage(json, type, usage);
      json.close('}');
    });
    write_usage(json, "nodeUsage", metric.node_usage);
    write_usage(json, "systemUsage", metric.system_usage);
    json.close('}');
  }
  json.list("podsMetric", metric.pods, [&](const PodMetricInfo& pod) {
    json.field("name", pod.name);
    json.field("namespace", pod.namespace_name);
    write_usage(json, "podUsage", pod.usage);
    json.field("priority", pod.priority);
  });
  json.field("updateTime", time_text(metric.update_time_us));
  json.close('}');
  json.close('}');
}

void append_json(std::string& text, const ElasticQuota& quota) {
  JsonWriter json(text);
  open_object(json, "scheduling.x-k8s.io/v1alpha1", "ElasticQuota");
  json.field("name", quota.name);
  json.field("namespace", quota.namespace_name);
  json.close('}');
  json.open("spec", '{');
  for (const auto& [name, list] : {std::pair("max", &quota.max), std::pair("min", &quota.min)}) {
    if (list->has_value()) json.object(name, **list);
  }
  json.close('}');
  json.close('}');
}

void append_json(std::string& text, const PodDisruptionBudget& budget) {
  JsonWriter json(text);
  open_object(json, "policy/v1", "PodDisruptionBudget");
  json.field("name", budget.name);
  json.field("namespace", budget.namespace_name);
  json.close('}');
  json.open("spec", '{');
  json.open("selector", '{');
  write_requirements(json, "matchExpressions", budget.selector);
  json.close('}');
  json.close('}');
  json.open("status", '{');
  if (!budget.disrupted_pods.empty()) {
    json.open("disruptedPods", '{');
    for (const std::string& pod : budget.disrupted_pods) {
      json.key(pod);
      json.string(kSomeTime);
    }
    json.close('}');
  }
  json.field("disruptionsAllowed", budget.disruptions_allowed);
  json.close('}');
  json.close('}');
}

void append_json(std::string& text, const PriorityClass& priority_class) {
  JsonWriter json(text);
  open_object(json, "scheduling.k8s.io/v1", "PriorityClass");
  json.field("name", priority_class.name);
  json.close('}');
  if (priority_class.global_default) json.field("globalDefault", true);
  json.field("preemptionPolicy", priority_class.preemption_policy);
  json.field("value", std::int64_t{priority_class.value});
  json.close('}');
}

void append_json(std::string& text, const CapacityQuota& quota) {
  JsonWriter json(text);
  open_object(json, "autoscaling.x-k8s.io/v1beta1", "CapacityQuota");
  if (quota.generation != 0) json.field("generation", quota.generation);
  json.field("name", quota.name);
  json.close('}');
  json.open("spec", '{');
  json.open("limits", '{');
  json.object("resources", quota.limits);
  json.close('}');
  json.open("selector", '{');
  write_requirements(json, "matchExpressions", quota.selector);
  json.close('}');
  json.close('}');
  json.close('}');
}

}  // namespace headroom
