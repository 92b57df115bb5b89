#include "engine/cluster/shape_key.h"

#include <algorithm>
#include <array>

#include "engine/policies/load_estimate.h"
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
    reported(container.actuated_requests, container.allocated_requests);
  }
  void reported(const std::optional<ResourceList>& actuated, const ResourceList& allocated) {
    number(actuated.has_value());
    if (actuated) {
      resources(*actuated);
    }
    resources(allocated);
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

// Reads what KeyWriter wrote; once the bytes end, nothing.
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : left_(key) {}

  template <typename Number>
  Number number() {
    Number value{};
    const std::string_view bytes = take(sizeof(value));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&value));
    return value;
  }
  bool flag() { return number<std::uint8_t>() != 0; }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  ResourceList resources() {
    ResourceList list;
    for (auto count = number<std::uint32_t>(); count > 0 && !left_.empty(); --count) {
      std::string name = text();
      const auto nanos = number<Int128>();
      const bool possible = nanos <= kQuantityNanosMax && nanos >= -kQuantityNanosMax;
      list.emplace_back(std::move(name), Quantity::from_nanos(possible ? nanos : 0));
    }
    return list;
  }
  std::vector<Container> containers() {
    std::vector<Container> list;
    for (auto count = number<std::uint32_t>(); count > 0 && !left_.empty(); --count) {
      Container& container = list.emplace_back();
      container.restart_always = flag();
      container.requests = resources();
      container.limits = resources();
      reported(container.actuated_requests, container.allocated_requests);
    }
    return list;
  }
  void reported(std::optional<ResourceList>& actuated, ResourceList& allocated) {
    if (flag()) {
      actuated = resources();
    }
    allocated = resources();
  }
  void optional_text(std::string_view name, StringMap& map) {
    const bool there = flag();
    if (std::string value = text(); there) {
      map.emplace_back(name, std::move(value));
    }
  }

 private:
  // Nothing where so many are not left.
  std::string_view take(std::size_t count) {
    const std::string_view bytes = count <= left_.size() ? left_.substr(0, count) : "";
    left_.remove_prefix(count <= left_.size() ? count : left_.size());
    return bytes;
  }

  std::string_view left_;
};

constexpr std::array kShapeAnnotations = {
    kEstimatedSecondsAfterInitializedAnnotation, kEstimatedSecondsAfterPodScheduledAnnotation,
    kEstimatedScalingFactorsAnnotation, kReservePodAnnotation};

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
  writer.reported(pod.actuated_requests, pod.allocated_requests);
  // By class, as many say it by priority; a label that says none is told by explain().
  const KoordPriorityClass its_class = explicit_priority_class(pod);
  writer.number(its_class);
  writer.optional_text(its_class == KoordPriorityClass::kNone
                           ? find(pod.labels, kKoordPriorityClassLabel)
                           : nullptr);
  writer.text(pod.qos_class);
  writer.optional_text(find(pod.labels, kKoordQosClassLabel));
  for (const std::string_view annotation : kShapeAnnotations) {
    writer.optional_text(find(pod.annotations, annotation));
  }
  if (use == ShapeUse::kDecision && (has_class_constraint(pod) || !ports.empty())) {
    writer.class_constraint(pod);
    writer.host_ports(ports);
  }
  writer.finish();
}

Pod pod_of_shape_key(std::string_view key) {
  KeyReader reader(key);
  Pod pod;
  pod.containers = reader.containers();
  pod.init_containers = reader.containers();
  pod.pod_requests = reader.resources();
  pod.pod_limits = reader.resources();
  pod.overhead = reader.resources();
  pod.daemon_set = reader.flag();
  pod.resize_infeasible = reader.flag();
  reader.reported(pod.actuated_requests, pod.allocated_requests);
  const std::string_view priority_class = label_of(reader.number<KoordPriorityClass>());
  reader.optional_text(kKoordPriorityClassLabel, pod.labels);
  pod.qos_class = reader.text();
  if (!priority_class.empty()) {
    pod.labels.emplace_back(kKoordPriorityClassLabel, priority_class);
  }
  reader.optional_text(kKoordQosClassLabel, pod.labels);
  for (const std::string_view annotation : kShapeAnnotations) {
    reader.optional_text(annotation, pod.annotations);
  }
  std::sort(pod.annotations.begin(), pod.annotations.end());
  return pod;
}

Result<Pod> pod_of_counting_key(std::string_view key) {
  Pod pod = pod_of_shape_key(key);
  // Bytes that end early, or mean nothing, make a pod of another key.
  std::string again;
  write_shape_key(pod, ShapeUse::kCounting, {}, again);
  if (again != key) {
    return fail(ErrorCode::kInvalid, "no key of a shape");
  }
  return pod;
}

}  // namespace headroom
