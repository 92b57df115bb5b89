// A small JSON writer, and the kinds in terms of it.
#include "workloads/object_writer.h"

#include <fmt/format.h>

#include <chrono>
#include <concepts>
#include <iterator>
#include <string_view>

namespace headroom {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
// When an object was deleted, of which only that it was is known.
constexpr std::int64_t kSomeTimeUs = 1'767'225'600'000'000;  // 2026-01-01

// Writes one JSON value after the other and puts the commas in. Scopes nest by open() and close().
class JsonWriter {
 public:
  explicit JsonWriter(std::string& text) : text_(text) {}

  void open(char bracket) {
    comma();
    text_ += bracket;
    first_ = true;
  }
  void open(std::string_view key_name, char bracket) {
    key(key_name);
    open(bracket);
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    string(name);
    text_ += ':';
    first_ = true;  // the value follows without a comma
  }
  void string(std::string_view value) {
    comma();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }
  void number(std::int64_t value) {
    comma();
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void boolean(bool value) {
    comma();
    text_ += value ? "true" : "false";
  }
  void time(std::int64_t time_us) {
    comma();
    text_ += '"';
    append_time(text_, time_us);
    text_ += '"';
  }

  // "key":value, for what is set; an empty text is left out.
  void field(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    string(value);
  }
  void field(std::string_view name, std::same_as<bool> auto value) {
    key(name);
    boolean(value);
  }
  void field(std::string_view name, std::int64_t value) {
    key(name);
    number(value);
  }
  void time_field(std::string_view name, const std::optional<std::int64_t>& time_us) {
    if (!time_us) return;
    key(name);
    time(*time_us);
  }
  void field(std::string_view name, const StringMap& map) {
    if (map.empty()) return;
    open(name, '{');
    for (const auto& [entry, value] : map) {
      key(entry);
      string(value);
    }
    close('}');
  }
  void field(std::string_view name, const ResourceList& list) {
    if (list.empty()) return;
    open(name, '{');
    for (const auto& [resource, quantity] : list) {
      key(resource);
      string(quantity.canonical());
    }
    close('}');
  }
  // {"resources":{...}} under `name`, as NodeMetric has its usages.
  void usage_field(std::string_view name, const ResourceList& list) {
    open(name, '{');
    field("resources", list);
    close('}');
  }

 private:
  void comma() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string& text_;
  bool first_ = true;  // nothing stands before the next value in its scope
};

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

void open_object(JsonWriter& json, std::string_view api_version, std::string_view kind) {
  json.open('{');
  json.field("apiVersion", api_version);
  json.field("kind", kind);
  json.open("metadata", '{');
}

void write_resources(JsonWriter& json, const ResourceList& requests, const ResourceList& limits) {
  if (requests.empty() && limits.empty()) return;
  json.open("resources", '{');
  json.field("limits", limits);
  json.field("requests", requests);
  json.close('}');
}

// The container's own port may be any; the reader keeps hostPort only.
void write_ports(JsonWriter& json, const std::vector<ContainerPort>& ports) {
  if (ports.empty()) return;
  json.open("ports", '[');
  for (const ContainerPort& port : ports) {
    json.open('{');
    json.field("containerPort", std::int64_t{port.host_port});
    json.field("hostIP", port.host_ip);
    json.field("hostPort", std::int64_t{port.host_port});
    json.field("protocol", to_string(port.protocol));
    json.close('}');
  }
  json.close(']');
}

void write_containers(JsonWriter& json, std::string_view name,
                      const std::vector<Container>& containers) {
  if (containers.empty()) return;
  json.open(name, '[');
  for (const Container& container : containers) {
    json.open('{');
    json.field("name", container.name);
    write_ports(json, container.ports);
    write_resources(json, container.requests, container.limits);
    if (container.restart_always) json.field("restartPolicy", "Always");
    json.close('}');
  }
  json.close(']');
}

void write_container_statuses(JsonWriter& json, std::string_view name,
                              const std::vector<Container>& containers) {
  bool opened = false;
  for (const Container& container : containers) {
    if (!container.actuated_requests && container.allocated_requests.empty()) continue;
    if (!opened) json.open(name, '[');
    opened = true;
    json.open('{');
    json.field("name", container.name);
    json.field("allocatedResources", container.allocated_requests);
    if (container.actuated_requests) {
      json.open("resources", '{');
      json.open("requests", '{');
      for (const auto& [resource, quantity] : *container.actuated_requests) {
        json.field(resource, quantity.canonical());
      }
      json.close('}');
      json.close('}');
    }
    json.close('}');
  }
  if (opened) json.close(']');
}

void write_requirements(JsonWriter& json, std::string_view name,
                        const std::vector<NodeSelectorRequirement>& requirements) {
  if (requirements.empty()) return;
  json.open(name, '[');
  for (const NodeSelectorRequirement& requirement : requirements) {
    json.open('{');
    json.field("key", requirement.key);
    json.field("operator", requirement.op);
    if (!requirement.values.empty()) {
      json.open("values", '[');
      for (const std::string& value : requirement.values) json.string(value);
      json.close(']');
    }
    json.close('}');
  }
  json.close(']');
}

void write_affinity(JsonWriter& json, const std::vector<NodeSelectorTerm>& terms) {
  json.open("affinity", '{');
  json.open("nodeAffinity", '{');
  json.open("requiredDuringSchedulingIgnoredDuringExecution", '{');
  json.open("nodeSelectorTerms", '[');
  for (const NodeSelectorTerm& term : terms) {
    json.open('{');
    write_requirements(json, "matchExpressions", term.match_expressions);
    write_requirements(json, "matchFields", term.match_fields);
    json.close('}');
  }
  json.close(']');
  json.close('}');
  json.close('}');
  json.close('}');
}

void write_tolerations(JsonWriter& json, const std::vector<Toleration>& tolerations) {
  if (tolerations.empty()) return;
  json.open("tolerations", '[');
  for (const Toleration& toleration : tolerations) {
    json.open('{');
    json.field("effect", toleration.effect);
    json.field("key", toleration.key);
    json.field("operator", toleration.op);
    json.field("value", toleration.value);
    json.close('}');
  }
  json.close(']');
}

void write_condition(JsonWriter& json, std::string_view type,
                     const std::optional<PodCondition>& condition) {
  if (!condition) return;
  json.open('{');
  json.time_field("lastTransitionTime", condition->last_transition_us);
  json.field("status", condition->is_true ? "True" : "False");
  json.field("type", type);
  json.close('}');
}

void write_conditions(JsonWriter& json, const Pod& pod) {
  if (!pod.scheduled && !pod.initialized && !pod.resize_infeasible) return;
  json.open("conditions", '[');
  write_condition(json, "PodScheduled", pod.scheduled);
  write_condition(json, "Initialized", pod.initialized);
  if (pod.resize_infeasible) {
    json.open('{');
    json.field("reason", "Infeasible");
    json.field("status", "True");
    json.field("type", "PodResizePending");
    json.close('}');
  }
  json.close(']');
}

}  // namespace

void append_time(std::string& text, std::int64_t time_us) {
  using std::chrono::days;
  const std::int64_t micros = (time_us % kMicrosPerSecond + kMicrosPerSecond) % kMicrosPerSecond;
  const std::chrono::sys_seconds time{std::chrono::seconds((time_us - micros) / kMicrosPerSecond)};
  const std::chrono::sys_days day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t second = (time - day).count();
  fmt::format_to(std::back_inserter(text), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), second / 3600, second / 60 % 60, second % 60);
  if (micros != 0) fmt::format_to(std::back_inserter(text), ".{:06}", micros);
  text += 'Z';
}

std::string time_text(std::int64_t time_us) {
  std::string text;
  append_time(text, time_us);
  return text;
}

std::string second_text(std::int64_t time_us) {
  return time_text(time_us - time_us % kMicrosPerSecond);
}

void append_json(std::string& text, const Node& node) {
  JsonWriter json(text);
  open_object(json, "v1", "Node");
  json.field("annotations", node.annotations);
  if (node.deleting) json.time_field("deletionTimestamp", kSomeTimeUs);
  json.field("labels", node.labels);
  json.field("name", node.name);
  json.close('}');
  json.open("spec", '{');
  if (!node.taints.empty()) {
    json.open("taints", '[');
    for (const Taint& taint : node.taints) {
      json.open('{');
      json.field("effect", taint.effect);
      json.field("key", taint.key);
      json.field("value", taint.value);
      json.close('}');
    }
    json.close(']');
  }
  if (node.unschedulable) json.field("unschedulable", true);
  json.close('}');
  json.open("status", '{');
  json.field("allocatable", node.allocatable);
  json.field("capacity", node.capacity);
  json.close('}');
  json.close('}');
}

void append_json(std::string& text, const Pod& pod) {
  JsonWriter json(text);
  open_object(json, "v1", "Pod");
  json.field("annotations", pod.annotations);
  json.time_field("creationTimestamp", pod.creation_us);
  if (pod.deleting) json.time_field("deletionTimestamp", pod.creation_us.value_or(kSomeTimeUs));
  json.field("labels", pod.labels);
  json.field("name", pod.name);
  json.field("namespace", pod.namespace_name);
  if (pod.daemon_set) {
    json.open("ownerReferences", '[');
    json.open('{');
    json.field("apiVersion", "apps/v1");
    json.field("kind", "DaemonSet");
    json.field("name", "daemon-set");
    json.close('}');
    json.close(']');
  }
  json.field("uid", pod.uid);
  json.close('}');

  json.open("spec", '{');
  if (pod.active_deadline_seconds) {
    json.field("activeDeadlineSeconds", *pod.active_deadline_seconds);
  }
  if (pod.required_node_affinity) write_affinity(json, *pod.required_node_affinity);
  write_containers(json, "containers", pod.containers);
  write_containers(json, "initContainers", pod.init_containers);
  json.field("nodeName", pod.node_name);
  json.field("nodeSelector", pod.node_selector);
  json.field("overhead", pod.overhead);
  json.field("preemptionPolicy", pod.preemption_policy);
  if (pod.priority) json.field("priority", std::int64_t{*pod.priority});
  json.field("priorityClassName", pod.priority_class_name);
  write_resources(json, pod.pod_requests, pod.pod_limits);
  write_tolerations(json, pod.tolerations);
  json.close('}');

  json.open("status", '{');
  write_conditions(json, pod);
  write_container_statuses(json, "containerStatuses", pod.containers);
  write_container_statuses(json, "initContainerStatuses", pod.init_containers);
  json.field("nominatedNodeName", pod.nominated_node_name);
  json.field("phase", pod.phase);
  json.field("qosClass", pod.qos_class);
  json.time_field("startTime", pod.start_us);
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
    if (!metric.aggregated.empty()) {
      json.open("aggregatedNodeUsages", '[');
      for (const AggregatedUsage& aggregated : metric.aggregated) {
        json.open('{');
        json.field("duration", duration_text(aggregated.duration_us));
        json.open("usage", '{');
        for (const auto& [type, usage] : aggregated.usage) json.usage_field(type, usage);
        json.close('}');
        json.close('}');
      }
      json.close(']');
    }
    json.usage_field("nodeUsage", metric.node_usage);
    json.usage_field("systemUsage", metric.system_usage);
    json.close('}');
  }
  if (!metric.pods.empty()) {
    json.open("podsMetric", '[');
    for (const PodMetricInfo& pod : metric.pods) {
      json.open('{');
      json.field("name", pod.name);
      json.field("namespace", pod.namespace_name);
      json.usage_field("podUsage", pod.usage);
      json.field("priority", pod.priority);
      json.close('}');
    }
    json.close(']');
  }
  json.time_field("updateTime", metric.update_time_us);
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
    if (!list->has_value()) continue;
    json.open(name, '{');
    for (const auto& [resource, quantity] : **list) json.field(resource, quantity.canonical());
    json.close('}');
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
      json.time(kSomeTimeUs);
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
  json.open("resources", '{');
  for (const auto& [resource, limit] : quota.limits) {
    json.key(resource);
    json.string(limit);
  }
  json.close('}');
  json.close('}');
  json.open("selector", '{');
  write_requirements(json, "matchExpressions", quota.selector);
  json.close('}');
  json.close('}');
  json.close('}');
}

}  // namespace headroom
