#include "engine/shape_key.h"

#include <algorithm>

#include "engine/load_estimate.h"
#include "objects/annotations.h"

namespace headroom {

namespace {

class KeyWriter {
 public:
  // Writes into the key's memory, which grows and is kept from one key to the next.
  explicit KeyWriter(std::string& key) : key_(key) { key_.resize(kUsualBytes); }

  void finish() { key_.resize(size_); }
  template <typename Number>
  void number(Number value) {
    write(&value, sizeof(value));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    write(value.data(), value.size());
  }
  void optional_text(const std::string* value) {
    number(value != nullptr);
    text(value != nullptr ? *value : std::string_view());
  }
  void resources(const ResourceList& list) {
    number(static_cast<std::uint32_t>(list.size()));
    for (const auto& [name, quantity] : list) {
      text(name);
      number(quantity.nanos());
    }
  }
  void container(const Container& container) {
    number(container.restart_always);
    resources(container.requests);
    resources(container.limits);
    number(container.actuated_requests.has_value());
    if (container.actuated_requests) {
      resources(*container.actuated_requests);
    }
    resources(container.allocated_requests);
  }
  void requirements(const std::vector<NodeSelectorRequirement>& list) {
    number(static_cast<std::uint32_t>(list.size()));
    for (const NodeSelectorRequirement& requirement : list) {
      text(requirement.key);
      text(requirement.op);
      number(static_cast<std::uint32_t>(requirement.values.size()));
      for (const std::string& value : requirement.values) {
        text(value);
      }
    }
  }

  void host_ports(const HostPorts& ports) {
    number(static_cast<std::uint32_t>(ports.size()));
    for (const HostPort& port : ports) {
      number(port.port);
      number(port.protocol);
      text(port.ip);
    }
  }

  void class_constraint(const Pod& pod) {
    number(static_cast<std::uint32_t>(pod.node_selector.size()));
    for (const auto& [name, value] : pod.node_selector) {
      text(name);
      text(value);
    }
    number(pod.required_node_affinity.has_value());
    if (pod.required_node_affinity) {
      number(static_cast<std::uint32_t>(pod.required_node_affinity->size()));
      for (const NodeSelectorTerm& term : *pod.required_node_affinity) {
        requirements(term.match_expressions);
        requirements(term.match_fields);
      }
    }
    number(static_cast<std::uint32_t>(pod.tolerations.size()));
    for (const Toleration& toleration : pod.tolerations) {
      text(toleration.key);
      text(toleration.op);
      text(toleration.value);
      text(toleration.effect);
    }
  }

 private:
  static constexpr std::size_t kUsualBytes = 1024;

  void write(const void* bytes, std::size_t count) {
    if (key_.size() - size_ < count) {
      key_.resize(2 * (key_.size() + count));
    }
    std::copy_n(static_cast<const char*>(bytes), count, key_.data() + size_);
    size_ += count;
  }

  std::string& key_;
  std::size_t size_ = 0;
};

}  // namespace

bool has_class_constraint(const Pod& pod) {
  return !pod.node_selector.empty() || pod.required_node_affinity.has_value() ||
         !pod.tolerations.empty();
}

void write_shape_key(const Pod& pod, ShapeUse use, const HostPorts& ports, std::string& key) {
  KeyWriter writer(key);
  writer.number(static_cast<std::uint32_t>(pod.containers.size()));
  for (const Container& container : pod.containers) {
    writer.container(container);
  }
  writer.number(static_cast<std::uint32_t>(pod.init_containers.size()));
  for (const Container& container : pod.init_containers) {
    writer.container(container);
  }
  writer.resources(pod.pod_requests);
  writer.resources(pod.pod_limits);
  writer.resources(pod.overhead);
  writer.number(pod.daemon_set);
  writer.number(pod.resize_infeasible);
  writer.number(explicit_priority_class(pod));
  writer.text(pod.qos_class);
  writer.optional_text(find(pod.labels, "koordinator.sh/qosClass"));
  for (const std::string_view annotation :
       {kEstimatedSecondsAfterInitializedAnnotation, kEstimatedSecondsAfterPodScheduledAnnotation,
        kEstimatedScalingFactorsAnnotation, kReservePodAnnotation}) {
    writer.optional_text(find(pod.annotations, annotation));
  }
  if (use == ShapeUse::kDecision && (has_class_constraint(pod) || !ports.empty())) {
    writer.class_constraint(pod);
    writer.host_ports(ports);
  }
  writer.finish();
}

}  // namespace headroom
