#include "engine/applications/application_maker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/applications/images.h"
#include "engine/kept/value_bytes.h"

namespace headroom {

namespace {

// NodeAffinity's PreFilter: whether every required term names nodes, and together none.
bool names_conflict(const std::optional<std::vector<NodeSelectorTerm>>& required) {
  if (!required || required->empty()) {
    return false;
  }
  for (const NodeSelectorTerm& term : *required) {
    std::optional<std::vector<std::string>> names;
    for (const NodeSelectorRequirement& field : term.match_fields) {
      if (field.key != "metadata.name" || field.op != "In") {
        continue;
      }
      std::vector<std::string> both;
      for (const std::string& name : field.values) {
        if (!names || std::find(names->begin(), names->end(), name) != names->end()) {
          both.push_back(name);
        }
      }
      names = std::move(both);
    }
    if (!names || !names->empty()) {
      return false;
    }
  }
  return true;
}

// Whose selector is read; nullopt: of that owner none is.
std::optional<ReferredKind> controller_kind(const OwnerReference& owner) {
  const auto kind = parse_referred_kind(owner.kind);
  const bool read = owner.api_version == "v1"
                        ? kind == ReferredKind::kReplicationController
                        : owner.api_version == "apps/v1" && (kind == ReferredKind::kReplicaSet ||
                                                             kind == ReferredKind::kStatefulSet);
  return read ? kind : std::nullopt;
}

}  // namespace

ApplicationMaker::ApplicationMaker(const Profile& profile, const ReadLabels& read)
    : profile_(profile),
      read_(read),
      spreads_(profile.uses({PluginId::kPodTopologySpread})),
      pod_affinity_(profile.uses({PluginId::kInterPodAffinity})),
      soft_affinity_(profile.scores_by(PluginId::kNodeAffinity)),
      volumes_(profile.uses({PluginId::kVolumeRestrictions, PluginId::kNodeVolumeLimits,
                             PluginId::kVolumeBinding, PluginId::kVolumeZone})),
      image_locality_(profile.scores_by(PluginId::kImageLocality)) {}

const std::string& ApplicationMaker::write_key(const Pod& pod, bool whole) {
  ValueWriter writer(std::move(key_));
  writer(pod.node_selector, pod.required_node_affinity, pod.tolerations);
  if (spreads_ || pod_affinity_ || volumes_) {
    const auto is_read = [&](const auto& label) { return whole || read_.has(label.first); };
    writer(pod.namespace_name, static_cast<std::uint64_t>(
                                   std::count_if(pod.labels.begin(), pod.labels.end(), is_read)));
    for (const auto& label : pod.labels) {
      if (is_read(label)) {
        writer(label.first, label.second);
      }
    }
  }
  if (spreads_) {
    writer(pod.topology_spread,
           pod.topology_spread.empty() ? pod.controller : std::optional<OwnerReference>());
  }
  if (pod_affinity_) {
    writer(pod.pod_affinity, pod.pod_anti_affinity);
  }
  if (soft_affinity_) {
    writer(pod.preferred_node_affinity);
  }
  if (image_locality_) {
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
      for (const Container& container : *containers) {
        writer(container.image);
      }
    }
    writer(std::uint64_t{pod.init_containers.size() + pod.containers.size()});
  }
  writer(pod.volumes);
  if (std::any_of(pod.volumes.begin(), pod.volumes.end(),
                  [](const Volume& volume) { return volume.ephemeral; })) {
    writer(pod.name, pod.uid);
  }
  writer(pod.required_features);
  key_ = std::move(writer).take();
  return key_;
}

std::unique_ptr<Application> ApplicationMaker::make(const Pod& pod, std::string key) const {
  auto made = std::make_unique<Application>();
  Application& application = *made;
  application.key = std::move(key);
  application.namespace_name = pod.namespace_name;
  application.constraint = {pod.node_selector, pod.required_node_affinity, pod.tolerations};
  std::copy_if(pod.labels.begin(), pod.labels.end(), std::back_inserter(application.labels),
               [this](const auto& label) { return read_.has(label.first); });
  if (pod_affinity_) {
    application.affinity = pod.pod_affinity;
    application.anti_affinity = pod.pod_anti_affinity;
  }
  if (spreads_) {
    application.own_spread = pod.topology_spread;
    application.controller_kind = pod.controller ? controller_kind(*pod.controller) : std::nullopt;
    if (application.controller_kind) {
      application.controller_name = pod.controller->name;
    }
  }
  if (soft_affinity_) {
    application.preferred = pod.preferred_node_affinity;
  }
  application.required_features = pod.required_features;
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    for (const Container& container : *containers) {
      ++application.image_count;
      application.images.push_back(image_with_tag(container.image));
    }
  }
  for (const Volume& volume : pod.volumes) {
    // From 1.36 on image volumes score, from 1.37 on they count among the images.
    if (!volume.image.empty() && profile_.kubernetes_version != KubernetesVersion::k135) {
      application.images.push_back(image_with_tag(volume.image));
      application.image_count += profile_.kubernetes_version >= KubernetesVersion::k137;
    }
  }
  read_volumes(pod, application);
  describe(application);
  return made;
}

void ApplicationMaker::read_volumes(const Pod& pod, Application& application) const {
  for (const Volume& volume : pod.volumes) {
    if (!volumes_ || (!volume.claim && !volume.ephemeral && !volume.disk)) {
      continue;
    }
    application.volumes.push_back(volume);
    if (volume.ephemeral) {
      application.volumes.back().claim = pod.name + "-" + volume.name;
      application.pod_name = pod.name;
      application.uid = pod.uid;
    }
  }
}

void ApplicationMaker::describe(Application& application) const {
  application.pinned = names_its_nodes(application.constraint.required);
  application.affinity_conflict = names_conflict(application.constraint.required);
  const auto prefer = [&](const std::vector<PreferredSchedulingTerm>& terms) {
    for (const PreferredSchedulingTerm& term : terms) {
      const NodeSelectorTerm& preference = term.preference;
      if (term.weight == 0 ||
          (preference.match_expressions.empty() && preference.match_fields.empty())) {
        continue;
      }
      application.bad_preference |= !is_valid(preference);
      Application::Preferred& made = application.preferences.emplace_back();
      made.weight = term.weight;
      made.constraint = std::make_unique<const ClassConstraint>(
          ClassConstraint{{}, std::vector<NodeSelectorTerm>{preference}, {}});
      made.affinity = std::make_unique<const NodeAffinity>(*made.constraint);
      made.by_name = !preference.match_fields.empty();
    }
  };
  if (soft_affinity_) {
    prefer(application.preferred);
    prefer(profile_.node_affinity.preferred);
  }
}

}  // namespace headroom
