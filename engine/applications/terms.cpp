#include "engine/applications/terms.h"

#include <algorithm>
#include <map>

#include "objects/labels.h"

namespace headroom {

namespace {

const StringMap kNoLabels;

const StringMap& labels_of(const ReferredObjects& referred, std::string_view namespace_name) {
  const auto* object = referred.find<Namespace>(ReferredKind::kNamespace, namespace_name);
  return object == nullptr ? kNoLabels : object->labels;
}

bool lists_namespace(const PodAffinityTerm& term, std::string_view owner, std::string_view name) {
  if (term.namespaces.empty() && !term.namespace_selector) {
    return name == owner;
  }
  return std::find(term.namespaces.begin(), term.namespaces.end(), name) != term.namespaces.end();
}

LabelSelector selector_of(const std::map<std::string, std::string>& labels) {
  LabelSelector selector;
  for (const auto& [key, value] : labels) {
    selector.push_back({key, "In", {value}});
  }
  return selector;
}

bool has_labels(const Application& application, const StringMap& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const std::string* value = find(application.labels, label.first);
    return value != nullptr && *value == label.second;
  });
}

// That of the services which select the pod, merged, and that of its controller. Whether the
// controller's matches the pod is not asked.
LabelSelector default_selector(const Application& application, const ReferredObjects& referred) {
  std::map<std::string, std::string> merged;
  referred.each_in_namespace<Service>(
      ReferredKind::kService, application.namespace_name, [&](const Service& service) {
        if (service.selector && has_labels(application, *service.selector)) {
          merged.insert(service.selector->begin(), service.selector->end());
        }
      });
  LabelSelector added;
  if (const auto kind = application.controller_kind) {
    const std::string key = pod_key(application.namespace_name, application.controller_name);
    const auto* controller = referred.find<WorkloadController>(*kind, key);
    for (const NodeSelectorRequirement& requirement :
         controller != nullptr && controller->selector ? *controller->selector : LabelSelector()) {
      if (kind == ReferredKind::kReplicationController) {
        merged[requirement.key] = requirement.values.front();  // a map, and it wins
      } else {
        added.push_back(requirement);
      }
    }
  }
  LabelSelector selector = selector_of(merged);
  selector.insert(selector.end(), added.begin(), added.end());
  return selector;
}

}  // namespace

bool selects(const std::optional<LabelSelector>& selector, const StringMap& labels) {
  return selector && matches(*selector, labels);
}

bool own_term_matches(const PodAffinityTerm& term, std::string_view namespace_name,
                      const StringMap& labels, const Application& application,
                      const ReferredObjects& referred, KubernetesVersion version) {
  bool covers = lists_namespace(term, application.namespace_name, namespace_name);
  if (!covers && term.namespace_selector) {
    const auto* object = referred.find<Namespace>(ReferredKind::kNamespace, namespace_name);
    covers = term.namespace_selector->empty() ||
             (object != nullptr && matches(*term.namespace_selector, object->labels)) ||
             (version < KubernetesVersion::k137 && matches(*term.namespace_selector, kNoLabels));
  }
  return covers && selects(term.selector, labels);
}

bool others_term_matches(const PodAffinityTerm& term, const PodPeer& owner,
                         const Application& application, const ReferredObjects& referred) {
  const bool covers =
      lists_namespace(term, owner.namespace_name, application.namespace_name) ||
      selects(term.namespace_selector, labels_of(referred, application.namespace_name));
  return covers && selects(term.selector, application.labels);
}

std::vector<TopologySpreadConstraint> spread_constraints(const Application& application,
                                                         const PodTopologySpreadArgs& args,
                                                         const ReferredObjects& referred,
                                                         bool& system_defaults) {
  system_defaults = false;
  if (!application.own_spread.empty()) {
    std::vector<TopologySpreadConstraint> constraints = application.own_spread;
    for (TopologySpreadConstraint& constraint : constraints) {
      for (const std::string& key : constraint.match_label_keys) {
        const std::string* value = find(application.labels, key);
        if (value != nullptr && constraint.selector) {
          constraint.selector->push_back({key, "In", {*value}});
        }
      }
    }
    return constraints;
  }
  if (!args.system_defaults && args.default_constraints.empty()) {
    return {};
  }
  const LabelSelector selector = default_selector(application, referred);
  if (selector.empty()) {
    return {};
  }
  std::vector<TopologySpreadConstraint> constraints = args.default_constraints;
  if (args.system_defaults) {
    system_defaults = true;
    constraints.resize(2);
    constraints[0].max_skew = 3;
    constraints[0].topology_key = kHostnameLabel;
    constraints[1].max_skew = 5;
    constraints[1].topology_key = kZoneLabel;
  }
  for (TopologySpreadConstraint& constraint : constraints) {
    constraint.selector = selector;
  }
  return constraints;
}

bool selects_by_default(const ReferredObject& object, const Application& application) {
  if (!application.own_spread.empty()) {
    return false;
  }
  if (const auto* service = std::get_if<Service>(&object)) {
    return service->selector && has_labels(application, *service->selector);
  }
  const auto* controller = std::get_if<WorkloadController>(&object);
  return controller != nullptr && application.controller_kind == kind_of(object) &&
         application.controller_name == controller->name;
}

}  // namespace headroom
