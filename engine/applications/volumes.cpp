#include "engine/applications/volumes.h"

#include <algorithm>

#include "engine/applications/claim.h"
#include "objects/labels.h"
#include "objects/text/trimmed.h"

namespace headroom {

namespace {

// Of more volumes, or more storage, of a class each row is looked at.
constexpr std::size_t kClassVolumesMax = 256;
constexpr std::string_view kZoneKeys[] = {"failure-domain.beta.kubernetes.io/zone",
                                          "failure-domain.beta.kubernetes.io/region", kZoneLabel,
                                          "topology.kubernetes.io/region"};

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// --- VolumeZone ---

// A beta label is met by the node's other one, where it has no beta one.
std::string_view instead_of(std::string_view key) {
  return key == kZoneKeys[0] ? kZoneKeys[2] : key == kZoneKeys[1] ? kZoneKeys[3] : key;
}

// "a__b" is a set; empty where a part is empty: then the label is not read.
std::set<std::string> zones_of(std::string_view label) {
  constexpr std::string_view kBetween = "__";
  std::set<std::string> values;
  for (std::size_t from = 0; from != label.npos;) {
    const std::size_t end = label.find(kBetween, from);
    std::string value(trimmed(label.substr(from, end == label.npos ? end : end - from)));
    if (value.empty()) {
      return {};
    }
    values.insert(std::move(value));
    from = end == label.npos ? end : end + kBetween.size();
  }
  return values;
}

}  // namespace

VolumeLook::VolumeLook(const Applications& applications, const Application& application)
    : VolumeLook(applications, application, Plugins::kAll) {}

VolumeLook::VolumeLook(const Applications& applications, const Application& application,
                       Plugins plugins)
    : applications_(applications),
      application_(application),
      profile_(applications.profile()),
      referred_(applications.referred()) {
  if (plugins == Plugins::kVolumeBinding) {
    look_at_binding();
    return;
  }
  // In the order in which kube-scheduler asks their PreFilters; the first that rejects ends it.
  if (filters_by(PluginId::kVolumeRestrictions)) {
    look_at_restrictions();
  }
  if (rejected_.empty() && filters_by(PluginId::kNodeVolumeLimits)) {
    look_at_limits();
  }
  if (rejected_.empty() &&
      (filters_by(PluginId::kVolumeBinding) || profile_.scores_by(PluginId::kVolumeBinding))) {
    look_at_binding();
    number_reasons();
  }
  if (rejected_.empty() && filters_by(PluginId::kVolumeZone)) {
    look_at_zones();
  }
  // A pod that uses none that only one may have, and asks for no disk, is not restricted.
  has_disks_ = std::any_of(application.volumes.begin(), application.volumes.end(), is_restricted);
  restricts_ = filters_by(PluginId::kVolumeRestrictions) && (has_disks_ || once_in_use_ != 0);
  binding_filters_ = filters_by(PluginId::kVolumeBinding) && rejected_.empty() && binds();
}

void VolumeLook::reject(PluginId plugin, std::string reason) {
  rejected_by_ = plugin;
  rejected_ = {std::move(reason)};
}

const PersistentVolumeClaim* VolumeLook::claim_of(const Volume& volume) const {
  return referred_.find<Claim>(ReferredKind::kPersistentVolumeClaim,
                               pod_key(application_.namespace_name, *volume.claim));
}

bool VolumeLook::is_restricted(const Volume& volume) {
  constexpr std::string_view kKinds[] = {"gcePersistentDisk", "awsElasticBlockStore", "iscsi",
                                         "rbd"};
  return volume.disk &&
         std::find(std::begin(kKinds), std::end(kKinds), volume.disk->kind) != std::end(kKinds);
}

// The same disk, unless both only read; one of EBS always.
bool VolumeLook::conflict(const Volume& asked, const Volume& used) {
  if (!is_restricted(asked) || !is_restricted(used)) {
    return false;
  }
  const Disk &a = *asked.disk, &b = *used.disk;
  if (a.kind != b.kind || a.id != b.id) {
    return false;
  }
  const bool shares_monitor =
      std::any_of(a.monitors.begin(), a.monitors.end(),
                  [&](const std::string& monitor) { return contains(b.monitors, monitor); });
  if (a.kind == "rbd" && !shares_monitor) {
    return false;
  }
  return a.kind == "awsElasticBlockStore" || !(a.read_only && b.read_only);
}

bool VolumeLook::names_claim(PodId id, std::string_view claim) const {
  const std::vector<Volume>& volumes =
      applications_.peers().at(applications_.facts().pods[id].peer).volumes;
  return std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
    return !volume.ephemeral && volume.claim == claim;
  });
}

void VolumeLook::look_at_restrictions() {
  for (const Volume& volume : application_.volumes) {
    if (!volume.claim || volume.ephemeral) {
      continue;
    }
    const Claim* claim = claim_of(volume);
    if (claim == nullptr) {
      return reject(PluginId::kVolumeRestrictions,
                    not_found("persistentvolumeclaim", *volume.claim));
    }
    if (contains(claim->access_modes, "ReadWriteOncePod")) {
      once_.insert(claim->name);
    }
  }
  const Facts& facts = applications_.facts();
  for (const std::string& name : once_) {
    // On a node that is there.
    const auto uses = [&](PodId id) {
      return facts.nodes[facts.pods[id].counted_row].node != nullptr && names_claim(id, name);
    };
    const std::vector<PodId>& pods =
        applications_.claim_pods(pod_key(application_.namespace_name, name));
    once_in_use_ += std::any_of(pods.begin(), pods.end(), uses);
  }
}

void VolumeLook::look_at_limits() {
  counts_ = std::any_of(application_.volumes.begin(), application_.volumes.end(),
                        [](const Volume& volume) {
                          return volume.claim || (volume.disk && is_migratable(*volume.disk));
                        });
  Rejections& rejections = applications_.rejections();
  for (const Volume& volume : application_.volumes) {
    if (!counts_ || wanted_error_ != 0) {
      return;
    }
    const Claim* claim = volume.claim ? claim_of(volume) : nullptr;
    if (volume.claim && claim == nullptr) {
      wanted_error_ =
          rejections.make(PluginId::kNodeVolumeLimits, Code::kUnschedulableAndUnresolvable,
                          {"looking up PVC " + pod_key(application_.namespace_name, *volume.claim) +
                           ": " + not_found("persistentvolumeclaim", *volume.claim)});
      return;
    }
    if (claim != nullptr && volume.ephemeral && !is_made_for(*claim, application_.uid)) {
      wanted_error_ = rejections.make(PluginId::kNodeVolumeLimits, Code::kError,
                                      {not_made_for(*claim, application_)});
      return;
    }
    for (const bool has_csi_node : {false, true}) {
      const auto its = claim != nullptr ? csi_volume_of(referred_, *claim, has_csi_node)
                       : volume.disk    ? csi_volume_of(*volume.disk, has_csi_node)
                                        : std::nullopt;
      if (its) {
        wanted_[has_csi_node].insert(*its);
      }
    }
  }
  // preventPodSchedulingIfMissing works from 1.37 on.
  for (const auto& wanted : wanted_) {
    for (const CsiVolume& volume : wanted) {
      const auto* driver = referred_.find<CsiDriver>(ReferredKind::kCsiDriver, volume.driver);
      if (profile_.kubernetes_version >= KubernetesVersion::k137 && driver != nullptr &&
          driver->prevent_pod_scheduling_if_missing) {
        missing_driver_[volume.driver] =
            rejections.make(PluginId::kNodeVolumeLimits, Code::kUnschedulable,
                            {volume.driver + " CSI driver is not installed on the node"});
      }
    }
  }
}

void VolumeLook::look_at_zones() {
  constexpr PluginId kPlugin = PluginId::kVolumeZone;
  for (const Volume& volume : application_.volumes) {
    if (!volume.claim || volume.ephemeral) {
      continue;
    }
    if (volume.claim->empty()) {
      return reject(kPlugin, "PersistentVolumeClaim had no name");
    }
    const Claim* claim = claim_of(volume);
    if (claim == nullptr) {
      return reject(kPlugin, not_found("persistentvolumeclaim", *volume.claim));
    }
    if (claim->volume_name.empty()) {
      if (claim->storage_class.empty()) {
        return reject(kPlugin, "PersistentVolumeClaim had no pv name and storageClass name");
      }
      if (referred_.find<StorageClass>(ReferredKind::kStorageClass, claim->storage_class) ==
          nullptr) {
        return reject(kPlugin, not_found("storageclass.storage.k8s.io", claim->storage_class));
      }
      if (!waits(*claim)) {
        return reject(kPlugin, "PersistentVolume had no name");
      }
      continue;
    }
    const auto* its =
        referred_.find<PersistentVolume>(ReferredKind::kPersistentVolume, claim->volume_name);
    if (its == nullptr) {
      return reject(kPlugin, not_found("persistentvolume", claim->volume_name));
    }
    for (const std::string_view key : kZoneKeys) {
      const std::string* label = find(its->labels, key);
      std::set<std::string> values = label == nullptr ? std::set<std::string>() : zones_of(*label);
      if (!values.empty()) {
        zones_.push_back({its, std::string(key), std::move(values)});
      }
    }
  }
}

// --- Nodes ---

bool VolumeLook::read(std::vector<NodeSelectorTerm>& terms) const {
  const auto is_large = [](const WaitingClaim& claim) {
    return claim.of_class != nullptr && (claim.of_class->unclaimed.size() > kClassVolumesMax ||
                                         claim.of_class->storage.size() > kClassVolumesMax);
  };
  if (has_disks_ || !missing_driver_.empty() || !selected_.empty() ||
      std::any_of(waiting_.begin(), waiting_.end(), is_large)) {
    return false;
  }
  // Many volumes and pieces of storage say the same.
  const auto read_selector = [&](const LabelSelector& selector) {
    const bool known = std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
      return term.match_expressions == selector;
    });
    if (!known) {
      terms.push_back({selector, {}});
    }
  };
  const auto read_volume = [&](const PersistentVolume* volume) {
    if (volume != nullptr && volume->node_affinity) {
      for (const NodeSelectorTerm& term : *volume->node_affinity) {
        read_selector(term.match_expressions);
      }
    }
  };
  for (const BoundVolume& its : bound_) {
    read_volume(its.rows ? nullptr : its.volume);
  }
  for (const WaitingClaim& claim : waiting_) {
    for (const ItsVolume& meant : claim.meant) {
      read_volume(meant.volume);
    }
    std::for_each(claim.storage_class->allowed_topologies.begin(),
                  claim.storage_class->allowed_topologies.end(), read_selector);
    if (claim.of_class == nullptr) {
      continue;
    }
    claim.of_class->unclaimed.each(read_volume);
    claim.of_class->storage.each(
        [&](const CsiStorageCapacity* its) { read_selector(*its->node_topology); });
  }
  if (zones_.empty()) {
    return true;
  }
  LabelSelector zones;
  for (const ZoneLabel& zone : zones_) {
    for (const std::string_view key : {std::string_view(zone.key), instead_of(zone.key)}) {
      zones.push_back({std::string(key), "In", {zone.values.begin(), zone.values.end()}});
    }
  }
  for (const std::string_view key : kZoneKeys) {
    zones.push_back({std::string(key), "Exists", {}});
  }
  read_selector(zones);
  return true;
}

std::uint32_t VolumeLook::code_before_binding(std::uint32_t row, const RowChange* change,
                                              bool plain) const {
  const std::uint32_t code = restricts_ ? restricted(row, change) : 0;
  return code == 0 && counts_ ? beyond_limits(row, change, plain) : code;
}

std::uint32_t VolumeLook::code(std::uint32_t row, const RowChange* change, bool plain) const {
  return look_at(row, change, plain, false).code;
}

VolumeLook::Said VolumeLook::say(std::uint32_t row) const {
  return look_at(row, nullptr, false, true);
}

VolumeLook::Said VolumeLook::look_at(std::uint32_t row, const RowChange* change, bool plain,
                                     bool scores) const {
  if (const std::uint32_t code = code_before_binding(row, change, plain); code != 0) {
    return {.code = code};
  }
  Said said;
  if (binds() && (binding_filters_ || scores)) {
    const Binding& binding = bind(row, plain);
    if (binding_filters_ && binding.why_not != 0) {
      return {.code = binding_codes_[binding.why_not]};
    }
    said.score = scores ? score(binding) : 0;
  }
  return in_zone(row) ? said : Said{.code = kVolumeZoneMismatch};
}

std::uint32_t VolumeLook::restricted(std::uint32_t row, const RowChange* change) const {
  std::int64_t once_in_use = once_in_use_;
  bool taken = false;
  const auto look_at = [&](PodId id) {
    for (const Volume& used :
         applications_.peers().at(applications_.facts().pods[id].peer).volumes) {
      for (const Volume& asked : application_.volumes) {
        taken = taken || (has_disks_ && conflict(asked, used));
      }
    }
  };
  // kube-scheduler's way: by name, whatever the namespace, and each use.
  const auto count_uses = [&](PodId id, int sign) {
    const PeerId peer = applications_.facts().pods[id].peer;
    for (const Volume& used : applications_.peers().at(peer).volumes) {
      once_in_use += used.claim && !used.ephemeral && once_.contains(*used.claim) ? sign : 0;
    }
  };
  for (const PodId id : applications_.row_volumes(row).pods) {
    if (change == nullptr || !change->is_gone(id)) {
      look_at(id);
    }
  }
  if (change != nullptr) {
    for (const PodId id : change->come) {
      look_at(id);
      count_uses(id, 1);
    }
    for (const PodId id : change->gone) {
      count_uses(id, -1);
    }
  }
  return taken ? kDiskTaken : once_in_use > 0 ? kClaimInUse : 0;
}

// Of the first volume whose driver the node has to have and does not; else 0.
std::uint32_t VolumeLook::without_driver(const std::set<CsiVolume>& wanted,
                                         const CsiNode* csi_node) const {
  for (const CsiVolume& volume : wanted) {
    const auto missing = missing_driver_.find(volume.driver);
    if (missing != missing_driver_.end() && driver_of(csi_node, volume.driver) == nullptr) {
      return missing->second;
    }
  }
  return 0;
}

std::set<CsiVolume> VolumeLook::present_volumes(std::uint32_t row, const RowChange* change,
                                                bool& foreign) const {
  std::set<CsiVolume> present;
  const auto add = [&](PodId id) {
    const PodPeer& peer = applications_.peers().at(applications_.facts().pods[id].peer);
    for (const Volume& volume : peer.volumes) {
      std::optional<CsiVolume> its;
      if (volume.claim) {
        const auto* claim = referred_.find<Claim>(ReferredKind::kPersistentVolumeClaim,
                                                  pod_key(peer.namespace_name, *volume.claim));
        foreign =
            foreign || (claim != nullptr && volume.ephemeral && !is_made_for(*claim, peer.uid));
        its = claim == nullptr ? std::nullopt : csi_volume_of(referred_, *claim, true);
      } else if (volume.disk) {
        its = csi_volume_of(*volume.disk, true);
      }
      if (its) {
        present.insert(*its);
      }
    }
  };
  for (const PodId id : applications_.row_volumes(row).pods) {
    if (change == nullptr || !change->is_gone(id)) {
      add(id);
    }
  }
  for (std::size_t i = 0; change != nullptr && i < change->come.size(); ++i) {
    add(change->come[i]);
  }
  return present;
}

std::uint32_t VolumeLook::beyond_limits(std::uint32_t row, const RowChange* change,
                                        bool plain) const {
  if (wanted_error_ != 0 || plain) {
    return wanted_error_;
  }
  const Applications::RowVolumes& there = applications_.row_volumes(row);
  const CsiNode* csi_node = there.csi_node;
  const std::set<CsiVolume>& wanted = wanted_[csi_node != nullptr];
  if (!missing_driver_.empty()) {
    if (const std::uint32_t code = without_driver(wanted, csi_node); code != 0) {
      return code;
    }
  }
  // Others' volumes are looked at where something comes and something is limited.
  if (csi_node == nullptr || wanted.empty() ||
      std::none_of(csi_node->drivers.begin(), csi_node->drivers.end(),
                   [](const CsiNode::Driver& driver) { return driver.count.has_value(); })) {
    return 0;
  }
  if (there.has_room(wanted.size()) && (change == nullptr || change->come.empty())) {
    return 0;
  }
  bool foreign = false;
  const std::set<CsiVolume> present = present_volumes(row, change, foreign);
  if (foreign) {
    return kForeignClaim;
  }
  for (const CsiNode::Driver& driver : csi_node->drivers) {
    const auto of_driver = [&](const CsiVolume& volume) { return volume.driver == driver.name; };
    const auto already = std::count_if(present.begin(), present.end(), of_driver);
    const auto added = std::count_if(wanted.begin(), wanted.end(), [&](const CsiVolume& volume) {
      return of_driver(volume) && !present.contains(volume);
    });
    // A driver of which nothing new comes may have too many already.
    if (driver.count && added != 0 && already + added > *driver.count) {
      return kTooManyVolumes;
    }
  }
  return 0;
}

bool VolumeLook::has_zones(const KeptNode& node) {
  return std::any_of(std::begin(kZoneKeys), std::end(kZoneKeys),
                     [&](std::string_view key) { return find(node.labels, key) != nullptr; });
}

const std::string* VolumeLook::zone_label(const KeptNode& node, std::string_view key) {
  const std::string* label = find(node.labels, key);
  return label == nullptr ? find(node.labels, instead_of(key)) : label;
}

bool VolumeLook::in_zone(std::uint32_t row) const {
  return zones_.empty() || !has_zones(node(row)) ||
         std::all_of(zones_.begin(), zones_.end(), [&](const ZoneLabel& zone) {
           const std::string* label = zone_label(node(row), zone.key);
           return label != nullptr && zone.values.contains(*label);
         });
}

}  // namespace headroom
