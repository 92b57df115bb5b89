// Pods.
#include <limits>

#include "server/requests/decode.h"
#include "server/requests/decoder.h"

namespace headroom {

namespace {

static_assert(static_cast<std::uint32_t>(wire::NotConsidered::MAX) + 1 == kNotConsideredCount);
static_assert(static_cast<int>(wire::NotConsidered::PreferNoScheduleTaints) ==
              static_cast<int>(NotConsidered::kPreferNoScheduleTaints));
static_assert(static_cast<int>(wire::NotConsidered::PersistentVolumeClaims) ==
              static_cast<int>(NotConsidered::kPersistentVolumeClaims));

constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();

class PodDecoder final : public Decoder {
 public:
  void containers(const char* field, const List<wire::Container>* in, std::vector<Container>& out) {
    list(field, in, out, [&](const wire::Container& item, Container& container) {
      string("name", item.name(), container.name);
      resources("requests", item.requests(), container.requests);
      resources("limits", item.limits(), container.limits);
      container.restart_always = item.restart_always();
      resources("actuatedRequests", item.actuated_requests(), container.actuated_requests);
      resources("allocatedRequests", item.allocated_requests(), container.allocated_requests);
      ports("ports", item.ports(), container.ports);
      string("image", item.image(), container.image);
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
    if (in == nullptr || too_many("notConsidered", in->size())) return;
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

  void between(const char* field, std::int32_t value, std::int32_t first, std::int32_t last) {
    if (value < first || value > last) {
      refuse(ErrorCode::kInvalid, field, fmt::format("{} is not in [{}, {}]", value, first, last));
    }
  }

  void preferred_terms(const char* field, const List<wire::PreferredSchedulingTerm>* in,
                       std::vector<PreferredSchedulingTerm>& out) {
    list(field, in, out,
         [&](const wire::PreferredSchedulingTerm& item, PreferredSchedulingTerm& term) {
           between("weight", item.weight(), 1, kTermWeightMax);
           term.weight = item.weight();
           preference(item.preference(), term.preference);
         });
  }

  void preference(const wire::NodeSelectorTerm* in, NodeSelectorTerm& out) {
    if (in == nullptr) {
      out = {};
    } else {
      selector_term(*in, out);
    }
  }

  // Absent and empty differ.
  void selector(const char* field, const wire::LabelSelector* in,
                std::optional<LabelSelector>& out) {
    if (in == nullptr) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    requirements(field, in->requirements(), *out);
  }

  void affinity(const std::string& field, const wire::PodAffinity* in, PodAffinity& out) {
    if (in == nullptr) {
      out = {};
      return;
    }
    affinity_terms((field + ".required").c_str(), in->required(), 0, 0, out.required);
    affinity_terms((field + ".preferred").c_str(), in->preferred(), 1, kTermWeightMax,
                   out.preferred);
  }

  void affinity_terms(const char* field, const List<wire::PodAffinityTerm>* in,
                      std::int32_t weight_min, std::int32_t weight_max,
                      std::vector<PodAffinityTerm>& out) {
    list(field, in, out, [&](const wire::PodAffinityTerm& item, PodAffinityTerm& term) {
      selector("labelSelector", item.selector(), term.selector);
      strings("namespaces", item.namespaces(), term.namespaces);
      selector("namespaceSelector", item.namespace_selector(), term.namespace_selector);
      string("topologyKey", item.topology_key(), term.topology_key);
      between("weight", item.weight(), weight_min, weight_max);
      term.weight = item.weight();
    });
  }

  void spread(const char* field, const List<wire::TopologySpreadConstraint>* in,
              std::vector<TopologySpreadConstraint>& out) {
    list(field, in, out,
         [&](const wire::TopologySpreadConstraint& item, TopologySpreadConstraint& constraint) {
           between("maxSkew", item.max_skew(), 1, kInt32Max);
           constraint.max_skew = item.max_skew();
           string("topologyKey", item.topology_key(), constraint.topology_key);
           constraint.hard = item.hard();
           selector("labelSelector", item.selector(), constraint.selector);
           strings("matchLabelKeys", item.match_label_keys(), constraint.match_label_keys);
           between("minDomains", item.min_domains(), 1, kInt32Max);
           constraint.min_domains = item.min_domains();
           constraint.honors_affinity = item.honors_affinity();
           constraint.honors_taints = item.honors_taints();
         });
  }

  void volumes(const char* field, const List<wire::Volume>* in, std::vector<Volume>& out) {
    list(field, in, out, [&](const wire::Volume& item, Volume& volume) {
      string("name", item.name(), volume.name);
      if (item.claim() == nullptr) {
        volume.claim.reset();
      } else {
        string("claim", item.claim(), volume.claim ? *volume.claim : volume.claim.emplace());
      }
      volume.ephemeral = item.ephemeral();
      string("image", item.image(), volume.image);
      disk(item.disk(), volume.disk);
    });
  }

  void disk(const wire::Disk* in, std::optional<Disk>& out) {
    if (in == nullptr) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    string("disk.kind", in->kind(), out->kind);
    string("disk.id", in->id(), out->id);
    strings("disk.monitors", in->monitors(), out->monitors);
    out->read_only = in->read_only();
  }

  void owner(const wire::OwnerReference* in, std::optional<OwnerReference>& out) {
    if (in == nullptr) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    string("controller.apiVersion", in->api_version(), out->api_version);
    string("controller.kind", in->kind(), out->kind);
    string("controller.name", in->name(), out->name);
    string("controller.uid", in->uid(), out->uid);
  }
};

}  // namespace

Result<std::size_t> decode(const wire::Pod& in, Pod& out) {
  PodDecoder decoder;
  decoder.namespace_name("namespace", in.namespace_name(), out.namespace_name);
  decoder.string("name", in.name(), out.name);
  decoder.string("uid", in.uid(), out.uid);
  decoder.map("labels", in.labels(), out.labels);
  decoder.map("annotations", in.annotations(), out.annotations);
  out.daemon_set = in.daemon_set();
  out.creation_us = PodDecoder::optional(in.creation_us());
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
                   decoder.selector_term(item, term);
                 });
  }
  decoder.list("tolerations", in.tolerations(), out.tolerations,
               [&](const wire::Toleration& item, Toleration& toleration) {
                 decoder.string("key", item.key(), toleration.key);
                 decoder.string("operator", item.op(), toleration.op);
                 decoder.string("value", item.value(), toleration.value);
                 decoder.string("effect", item.effect(), toleration.effect);
               });
  out.active_deadline_seconds = PodDecoder::optional(in.active_deadline_seconds());
  decoder.string("phase", in.phase(), out.phase);
  decoder.string("qosClass", in.qos_class(), out.qos_class);
  decoder.condition(in.scheduled(), out.scheduled);
  decoder.condition(in.initialized(), out.initialized);
  out.resize_infeasible = in.resize_infeasible();
  out.start_us = PodDecoder::optional(in.start_us());
  decoder.string("nominatedNodeName", in.nominated_node_name(), out.nominated_node_name);
  out.deleting = in.deleting();
  decoder.string("priorityClassName", in.priority_class_name(), out.priority_class_name);
  decoder.string("preemptionPolicy", in.preemption_policy(), out.preemption_policy);
  decoder.string("schedulerName", in.scheduler_name(), out.scheduler_name);
  decoder.not_considered(in.not_considered(), out.not_considered);
  decoder.preferred_terms("preferredNodeAffinity", in.preferred_node_affinity(),
                          out.preferred_node_affinity);
  decoder.affinity("podAffinity", in.pod_affinity(), out.pod_affinity);
  decoder.affinity("podAntiAffinity", in.pod_anti_affinity(), out.pod_anti_affinity);
  decoder.spread("topologySpreadConstraints", in.topology_spread(), out.topology_spread);
  decoder.volumes("volumes", in.volumes(), out.volumes);
  decoder.strings("schedulingGates", in.scheduling_gates(), out.scheduling_gates);
  decoder.strings("requiredFeatures", in.required_features(), out.required_features);
  decoder.sort_names("requiredFeatures", out.required_features);
  decoder.owner(in.controller(), out.controller);
  decoder.resources("actuatedRequests", in.actuated_requests(), out.actuated_requests);
  decoder.resources("allocatedRequests", in.allocated_requests(), out.allocated_requests);
  return decoder.result(
      [&] { return fmt::format("pod {}/{}", text(in.namespace_name()), text(in.name())); });
}

}  // namespace headroom
