#include "server/service/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "schema/frame.h"

namespace headroom {

namespace {

// One enum, said twice.
static_assert(static_cast<int>(wire::CapacityQuotaClass::ClusterWide) ==
              static_cast<int>(CapacityQuotaClass::kClusterWide));
static_assert(static_cast<int>(wire::CapacityQuotaClass::MaxNodes) ==
              static_cast<int>(CapacityQuotaClass::kMaxNodes));
static_assert(static_cast<int>(wire::CapacityQuotaClass::NodeGroup) ==
              static_cast<int>(CapacityQuotaClass::kNodeGroup));
static_assert(static_cast<int>(wire::CapacityQuotaClass::CapacityQuota) ==
              static_cast<int>(CapacityQuotaClass::kCapacityQuota));
static_assert(wire::CapacityQuotaClass::MAX == wire::CapacityQuotaClass::CapacityQuota);
static_assert(static_cast<std::uint32_t>(wire::NotConsidered::MAX) + 1 == kNotConsideredCount);
static_assert(static_cast<int>(wire::NotConsidered::PreferNoScheduleTaints) ==
              static_cast<int>(NotConsidered::kPreferNoScheduleTaints));
static_assert(static_cast<int>(wire::NotConsidered::PersistentVolumeClaims) ==
              static_cast<int>(NotConsidered::kPersistentVolumeClaims));

using flatbuffers::Offset;
using flatbuffers::String;
template <typename Item>
using List = flatbuffers::Vector<Offset<Item>>;

// Fills one object. The first fault is kept, with the path to it; what follows is skipped.
class Decoder {
 public:
  void string(const char* field, const String* in, std::string& out) {
    if (in == nullptr) {
      out.clear();
      return;
    }
    if (too_long(field, *in)) return;
    out.assign(in->c_str(), in->size());
    spend(in->size());
  }

  // The engine looks after the other names.
  void namespace_name(const char* field, const String* in, std::string& out) {
    if (in->size() == 0) {
      refuse(ErrorCode::kInvalid, field, "is empty");
    } else {
      string(field, in, out);
    }
  }

  // One call of `each(wire item, out item)` per item.
  template <typename Item, typename Out, typename Each>
  void list(const char* field, const List<Item>* in, std::vector<Out>& out, Each each) {
    const std::size_t size = in == nullptr ? 0 : in->size();
    if (size > kItemsPerListMax) {
      refuse(ErrorCode::kLimitExceeded, field,
             fmt::format("{} items: kItemsPerListMax is {}", size, kItemsPerListMax));
      return;
    }
    spend(size * kItemBytes);
    if (error_) return;
    out.resize(size);
    for (std::size_t i = 0; i < size && !error_; ++i) {
      each(*in->Get(static_cast<flatbuffers::uoffset_t>(i)), out[i]);
      if (error_) {
        within(fmt::format("{}[{}]", field, i));
      }
    }
  }

  void strings(const char* field, const List<String>* in, std::vector<std::string>& out) {
    list(field, in, out,
         [&](const String& item, std::string& text_out) { string("", &item, text_out); });
  }

  void resources(const char* field, const List<wire::Resource>* in, ResourceList& out) {
    if (in != nullptr && in->size() > kResourcesPerListMax) {
      refuse(ErrorCode::kLimitExceeded, field,
             fmt::format("{} resources: kResourcesPerListMax is {}", in->size(),
                         kResourcesPerListMax));
      return;
    }
    list(field, in, out,
         [&](const wire::Resource& item, std::pair<std::string, Quantity>& resource) {
           string("name", item.name(), resource.first);
           if (too_long("quantity", *item.quantity())) return;
           const Result<Quantity> quantity = Quantity::parse(text(item.quantity()));
           if (!quantity) {
             refuse(quantity.error().code, text(item.name()), quantity.error().message);
             return;
           }
           resource.second = *quantity;
         });
    sort_names(field, out);
  }

  // Absent and empty differ.
  void resources(const char* field, const List<wire::Resource>* in,
                 std::optional<ResourceList>& out) {
    if (in == nullptr) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    resources(field, in, *out);
  }

  // Values may be long (annotations); kLabelBytesMax bounds them all.
  void map(const char* field, const List<wire::KeyValue>* in, StringMap& out) {
    list(field, in, out,
         [&](const wire::KeyValue& item, std::pair<std::string, std::string>& entry) {
           string("key", item.key(), entry.first);
           const std::string_view value = text(item.value());
           label_bytes_ += entry.first.size() + value.size();
           if (label_bytes_ > kLabelBytesMax) {
             refuse(ErrorCode::kLimitExceeded, entry.first,
                    fmt::format("labels and annotations of more than {} bytes, which is"
                                " kLabelBytesMax",
                                kLabelBytesMax));
             return;
           }
           entry.second.assign(value);
           spend(value.size());
         });
    sort_names(field, out);
  }

  void requirements(const char* field, const List<wire::NodeSelectorRequirement>* in,
                    std::vector<NodeSelectorRequirement>& out) {
    list(field, in, out,
         [&](const wire::NodeSelectorRequirement& item, NodeSelectorRequirement& requirement) {
           string("key", item.key(), requirement.key);
           string("op", item.op(), requirement.op);
           strings("values", item.values(), requirement.values);
         });
  }

  void containers(const char* field, const List<wire::Container>* in, std::vector<Container>& out) {
    list(field, in, out, [&](const wire::Container& item, Container& container) {
      string("name", item.name(), container.name);
      resources("requests", item.requests(), container.requests);
      resources("limits", item.limits(), container.limits);
      container.restart_always = item.restart_always();
      resources("actuatedRequests", item.actuated_requests(), container.actuated_requests);
      resources("allocatedRequests", item.allocated_requests(), container.allocated_requests);
      ports("ports", item.ports(), container.ports);
    });
  }

  void ports(const char* field, const List<wire::ContainerPort>* in,
             std::vector<ContainerPort>& out) {
    list(field, in, out, [&](const wire::ContainerPort& item, ContainerPort& port) {
      if (item.host_port() < 1 || item.host_port() > kHostPortMax) {
        refuse(ErrorCode::kInvalid, "hostPort",
               fmt::format("{} is not in [1, {}]", item.host_port(), kHostPortMax));
        return;
      }
      port.host_port = static_cast<std::uint16_t>(item.host_port());
      string("hostIP", item.host_ip(), port.host_ip);
      const std::string_view name = text(item.protocol());
      const std::optional<PortProtocol> protocol = parse_port_protocol(name);
      if (!protocol) {
        refuse(ErrorCode::kInvalid, "protocol",
               fmt::format("\"{}\" is not TCP, UDP or SCTP", name.substr(0, kTextBytesMax)));
        return;
      }
      port.protocol = *protocol;
    });
  }

  // What a newer client names beyond kNotConsideredCount has no name here.
  void not_considered(const flatbuffers::Vector<wire::NotConsidered>* in, NotConsideredSet& out) {
    out = {};
    if (in == nullptr) return;
    if (in->size() > kItemsPerListMax) {
      refuse(ErrorCode::kLimitExceeded, "notConsidered",
             fmt::format("{} items: kItemsPerListMax is {}", in->size(), kItemsPerListMax));
      return;
    }
    for (flatbuffers::uoffset_t i = 0; i < in->size(); ++i) {
      const auto number = static_cast<std::uint32_t>(in->Get(i));
      if (number < kNotConsideredCount) out.add(static_cast<NotConsidered>(number));
    }
  }

  void condition(const wire::PodCondition* in, std::optional<PodCondition>& out) {
    out.reset();
    if (in != nullptr) {
      out = PodCondition{.is_true = in->is_true(),
                         .last_transition_us = optional(in->last_transition_us())};
    }
  }

  // Sorted by name, each once. Items are names, or pairs that begin with one.
  template <typename Item>
  void sort_names(const char* field, std::vector<Item>& list) {
    const auto by_name = [](const Item& a, const Item& b) { return name_of(a) < name_of(b); };
    if (!std::is_sorted(list.begin(), list.end(), by_name)) {
      std::sort(list.begin(), list.end(), by_name);
    }
    const auto twice =
        std::adjacent_find(list.begin(), list.end(),
                           [](const Item& a, const Item& b) { return name_of(a) == name_of(b); });
    if (twice != list.end()) {
      refuse(ErrorCode::kInvalid, field, fmt::format("\"{}\" comes twice", name_of(*twice)));
    }
  }

  static std::optional<std::int64_t> optional(std::int64_t value) {
    return value == 0 ? std::nullopt : std::optional(value);
  }

  // `object`: "pod team-a/web-1".
  template <typename Describe>
  Result<std::size_t> result(Describe object) {
    if (!error_) return bytes_;
    error_->message = fmt::format("{}: {}", object(), error_->message);
    return tl::unexpected(*error_);
  }

 private:
  static const std::string& name_of(const std::string& name) { return name; }
  template <typename Value>
  static const std::string& name_of(const std::pair<std::string, Value>& named) {
    return named.first;
  }

  bool too_long(const char* field, const String& in) {
    if (in.size() <= kTextBytesMax) return false;
    refuse(ErrorCode::kLimitExceeded, field,
           fmt::format("{} bytes: kTextBytesMax is {}", in.size(), kTextBytesMax));
    return true;
  }
  void refuse(ErrorCode code, std::string_view field, std::string_view message) {
    if (!error_) {
      field_named_ = !field.empty();
      error_ =
          Error{code, field.empty() ? std::string(message) : fmt::format("{}: {}", field, message)};
    }
  }
  // An item that is a value itself has no field to name.
  void within(const std::string& item) {
    error_->message = item + (field_named_ ? "." : ": ") + error_->message;
    field_named_ = true;
  }
  void spend(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kObjectBytesMax) {
      refuse(ErrorCode::kLimitExceeded, "",
             fmt::format("more than {} bytes, which is kObjectBytesMax", kObjectBytesMax));
    }
  }

  std::optional<Error> error_;
  bool field_named_ = false;  // error_ begins with a field's name
  std::size_t label_bytes_ = 0;
  std::size_t bytes_ = 0;  // read so far, as kObjectBytesMax counts them
};

}  // namespace

Result<std::size_t> decode(const wire::Node& in, Node& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  decoder.map("labels", in.labels(), out.labels);
  decoder.map("annotations", in.annotations(), out.annotations);
  out.unschedulable = in.unschedulable();
  decoder.list("taints", in.taints(), out.taints, [&](const wire::Taint& item, Taint& taint) {
    decoder.string("key", item.key(), taint.key);
    decoder.string("value", item.value(), taint.value);
    decoder.string("effect", item.effect(), taint.effect);
  });
  decoder.resources("allocatable", in.allocatable(), out.allocatable);
  decoder.resources("capacity", in.capacity(), out.capacity);
  out.deleting = in.deleting();
  return decoder.result([&] { return fmt::format("node {}", text(in.name())); });
}

Result<std::size_t> decode(const wire::Pod& in, Pod& out) {
  Decoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.string("uid", in.uid(), out.uid);
  decoder.map("labels", in.labels(), out.labels);
  decoder.map("annotations", in.annotations(), out.annotations);
  out.daemon_set = in.daemon_set();
  out.creation_us = Decoder::optional(in.creation_us());
  decoder.string("nodeName", in.node_name(), out.node_name);
  decoder.containers("containers", in.containers(), out.containers);
  decoder.containers("initContainers", in.init_containers(), out.init_containers);
  decoder.resources("resources.requests", in.pod_requests(), out.pod_requests);
  decoder.resources("resources.limits", in.pod_limits(), out.pod_limits);
  decoder.resources("overhead", in.overhead(), out.overhead);
  out.priority = in.has_priority() ? std::optional(in.priority()) : std::nullopt;
  decoder.map("nodeSelector", in.node_selector(), out.node_selector);
  if (in.required_node_affinity() == nullptr) {
    out.required_node_affinity.reset();
  } else {
    if (!out.required_node_affinity) out.required_node_affinity.emplace();
    decoder.list("requiredNodeAffinity", in.required_node_affinity()->terms(),
                 *out.required_node_affinity,
                 [&](const wire::NodeSelectorTerm& item, NodeSelectorTerm& term) {
                   decoder.requirements("matchExpressions", item.match_expressions(),
                                        term.match_expressions);
                   decoder.requirements("matchFields", item.match_fields(), term.match_fields);
                 });
  }
  decoder.list("tolerations", in.tolerations(), out.tolerations,
               [&](const wire::Toleration& item, Toleration& toleration) {
                 decoder.string("key", item.key(), toleration.key);
                 decoder.string("operator", item.op(), toleration.op);
                 decoder.string("value", item.value(), toleration.value);
                 decoder.string("effect", item.effect(), toleration.effect);
               });
  out.active_deadline_seconds = Decoder::optional(in.active_deadline_seconds());
  decoder.string("phase", in.phase(), out.phase);
  decoder.string("qosClass", in.qos_class(), out.qos_class);
  decoder.condition(in.scheduled(), out.scheduled);
  decoder.condition(in.initialized(), out.initialized);
  out.resize_infeasible = in.resize_infeasible();
  out.start_us = Decoder::optional(in.start_us());
  decoder.string("nominatedNodeName", in.nominated_node_name(), out.nominated_node_name);
  out.deleting = in.deleting();
  decoder.string("priorityClassName", in.priority_class_name(), out.priority_class_name);
  decoder.string("preemptionPolicy", in.preemption_policy(), out.preemption_policy);
  decoder.string("schedulerName", in.scheduler_name(), out.scheduler_name);
  decoder.not_considered(in.not_considered(), out.not_considered);
  return decoder.result(
      [&] { return fmt::format("pod {}/{}", text(in.namespace_name()), text(in.name())); });
}

Result<std::size_t> decode(const wire::NodeMetric& in, NodeMetric& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.report_interval_seconds = Decoder::optional(in.report_interval_seconds());
  out.update_time_us = Decoder::optional(in.update_time_us());
  out.has_node_metric = in.has_node_metric();
  decoder.resources("nodeUsage", in.node_usage(), out.node_usage);
  decoder.resources("systemUsage", in.system_usage(), out.system_usage);
  decoder.list("aggregated", in.aggregated(), out.aggregated,
               [&](const wire::AggregatedUsage& item, AggregatedUsage& aggregated) {
                 aggregated.duration_us = item.duration_us();
                 decoder.list("usage", item.usage(), aggregated.usage,
                              [&](const wire::UsageOfType& of_type,
                                  std::pair<std::string, ResourceList>& usage) {
                                decoder.string("type", of_type.type(), usage.first);
                                decoder.resources("usage", of_type.usage(), usage.second);
                              });
                 decoder.sort_names("usage", aggregated.usage);
               });
  decoder.list("pods", in.pods(), out.pods,
               [&](const wire::PodMetricInfo& item, PodMetricInfo& pod) {
                 decoder.string("namespace", item.namespace_name(), pod.namespace_name);
                 decoder.string("name", item.name(), pod.name);
                 decoder.resources("usage", item.usage(), pod.usage);
                 decoder.string("priority", item.priority(), pod.priority);
               });
  return decoder.result([&] { return fmt::format("nodemetric {}", text(in.name())); });
}

Result<std::size_t> decode(const wire::ElasticQuota& in, ElasticQuota& out) {
  Decoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.resources("min", in.min(), out.min);
  decoder.resources("max", in.max(), out.max);
  return decoder.result([&] {
    return fmt::format("elasticquota {}/{}", text(in.namespace_name()), text(in.name()));
  });
}

Result<std::size_t> decode(const wire::PodDisruptionBudget& in, PodDisruptionBudget& out) {
  Decoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.requirements("selector", in.selector(), out.selector);
  out.disruptions_allowed = in.disruptions_allowed();
  decoder.strings("disruptedPods", in.disrupted_pods(), out.disrupted_pods);
  decoder.sort_names("disruptedPods", out.disrupted_pods);
  return decoder.result([&] {
    return fmt::format("poddisruptionbudget {}/{}", text(in.namespace_name()), text(in.name()));
  });
}

Result<std::size_t> decode(const wire::PriorityClass& in, PriorityClass& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.value = in.value();
  out.global_default = in.global_default();
  decoder.string("preemptionPolicy", in.preemption_policy(), out.preemption_policy);
  return decoder.result([&] { return fmt::format("priorityclass {}", text(in.name())); });
}

Result<std::size_t> decode(const wire::CapacityQuota& in, CapacityQuota& out) {
  Decoder decoder;
  decoder.string("name", in.name(), out.name);
  out.generation = in.generation();
  decoder.requirements("selector", in.selector(), out.selector);
  decoder.list("limits", in.limits(), out.limits,
               [&](const wire::KeyValue& item, std::pair<std::string, std::string>& limit) {
                 decoder.string("key", item.key(), limit.first);
                 decoder.string("value", item.value(), limit.second);
               });
  decoder.sort_names("limits", out.limits);
  return decoder.result([&] { return fmt::format("capacityquota {}", text(in.name())); });
}

Result<CapacityQuotaClass> decode(wire::CapacityQuotaClass in) {
  if (in > wire::CapacityQuotaClass::MAX) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("quotaClass: {} is not known; accepted: 0 to {}", static_cast<int>(in),
                            static_cast<int>(wire::CapacityQuotaClass::MAX)));
  }
  return static_cast<CapacityQuotaClass>(in);
}

}  // namespace headroom
