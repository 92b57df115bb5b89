#include "engine/applications/volumes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "engine/applications/look.h"
#include "engine/applications/terms.h"
#include "engine/table/broken_line.h"

namespace headroom {

namespace {

enum BindingReason : std::uint32_t {
  kNodeConflict = 1,
  kBindConflict = 2,
  kNotEnoughSpace = 4,
  kVolumeMissing = 8,
};
constexpr std::array<const char*, 4> kBindingReasons = {
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};
constexpr std::string_view kZoneKeys[] = {"failure-domain.beta.kubernetes.io/zone",
                                          "failure-domain.beta.kubernetes.io/region", kZoneKey,
                                          "topology.kubernetes.io/region"};

std::string not_found(std::string_view resource, std::string_view name) {
  return std::string(resource).append(" \"").append(name).append("\" not found");
}

std::string not_made_for(const PersistentVolumeClaim& claim, const Application& application) {
  return "PVC " + pod_key(claim.namespace_name, claim.name) + " was not created for pod " +
         pod_key(application.namespace_name, application.pod_name) + " (pod is not owner)";
}

bool is_made_for(const PersistentVolumeClaim& claim, std::string_view uid) {
  return claim.controller && claim.controller->uid == uid;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// --- VolumeRestrictions ---

bool is_restricted(const Volume& volume) {
  constexpr std::string_view kKinds[] = {"gcePersistentDisk", "awsElasticBlockStore", "iscsi",
                                         "rbd"};
  return volume.disk &&
         std::find(std::begin(kKinds), std::end(kKinds), volume.disk->kind) != std::end(kKinds);
}

// The same disk, unless both only read; one of EBS always.
bool conflict(const Disk& a, const Disk& b) {
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

// --- VolumeBinding ---

bool is_fully_bound(const PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() && claim.bind_completed;
}

bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.claim_name == claim.name && volume.claim_namespace == claim.namespace_name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

bool allows(const StorageClass& storage_class, const Node& node) {
  return storage_class.allowed_topologies.empty() ||
         std::any_of(storage_class.allowed_topologies.begin(),
                     storage_class.allowed_topologies.end(), [&](const LabelSelector& term) {
                       return !term.empty() && matches(term, node.labels);
                     });
}

// --- VolumeZone ---

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  const std::size_t from = text.find_first_not_of(kSpace);
  return from == text.npos
             ? std::string()
             : std::string(text.substr(from, text.find_last_not_of(kSpace) - from + 1));
}

// "a__b" is a set; empty where a part is empty: then the label is not read.
std::set<std::string> zones_of(std::string_view label) {
  constexpr std::string_view kBetween = "__";
  std::set<std::string> values;
  for (std::size_t from = 0; from != label.npos;) {
    const std::size_t end = label.find(kBetween, from);
    std::string value = trimmed(label.substr(from, end == label.npos ? end : end - from));
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
    : applications_(applications),
      application_(application),
      profile_(applications.profile()),
      referred_(applications.referred()) {
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
    // By a claim that the pod names itself, on a node that is there.
    const auto uses = [&](PodId id) {
      const PodFacts& pod = facts.pods[id];
      const std::vector<Volume>& volumes = applications_.peers().at(pod.peer).volumes;
      return facts.nodes[pod.counted_row].node != nullptr &&
             std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
               return !volume.ephemeral && volume.claim == name;
             });
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

// A class that does not exist, or none, is bound at once.
bool VolumeLook::waits(const Claim& claim) const {
  const auto* storage_class =
      referred_.find<StorageClass>(ReferredKind::kStorageClass, claim.storage_class);
  return !claim.storage_class.empty() && storage_class != nullptr &&
         storage_class->waits_for_first_consumer;
}

VolumeLook::ItsVolume::ItsVolume(const PersistentVolume* its)
    : volume(its),
      reach(its == nullptr || !its->node_affinity ? nullptr
                                                  : std::make_unique<const VolumeReach>(*its)) {}

VolumeLook::WaitingClaim VolumeLook::waiting(const Claim& claim) const {
  const VolumeIndex& index = applications_.volume_index();
  WaitingClaim waiting{.its = &claim,
                       .storage_class = referred_.find<StorageClass>(ReferredKind::kStorageClass,
                                                                     claim.storage_class),
                       .of_class = index.of_class(claim.storage_class),
                       .meant = {},
                       .tells_capacity = false};
  for (const PersistentVolume* volume :
       index.meant_for(pod_key(claim.namespace_name, claim.name))) {
    if (is_bound_to(*volume, claim)) {
      waiting.meant.emplace_back(volume);
    }
  }
  // Without a request there is nothing to hold against it.
  if (claim.request_bytes && waiting.storage_class != nullptr) {
    const auto* driver =
        referred_.find<CsiDriver>(ReferredKind::kCsiDriver, waiting.storage_class->provisioner);
    waiting.tells_capacity = driver != nullptr && driver->storage_capacity;
  }
  return waiting;
}

void VolumeLook::look_at_binding() {
  constexpr PluginId kPlugin = PluginId::kVolumeBinding;
  bool immediate = false;
  for (const Volume& volume : application_.volumes) {
    if (!volume.claim) {
      continue;
    }
    const Claim* claim = claim_of(volume);
    if (claim == nullptr) {
      return reject(kPlugin, volume.ephemeral
                                 ? "waiting for ephemeral volume controller to create the "
                                   "persistentvolumeclaim \"" +
                                       *volume.claim + "\""
                                 : not_found("persistentvolumeclaim", *volume.claim));
    }
    const std::string quoted = "persistentvolumeclaim \"" + claim->name + "\" ";
    if (claim->lost) {
      return reject(kPlugin, quoted + "bound to non-existent persistentvolume \"" +
                                 claim->volume_name + "\"");
    }
    if (claim->deleting) {
      return reject(kPlugin, quoted + "is being deleted");
    }
    if (volume.ephemeral && !is_made_for(*claim, application_.uid)) {
      return reject(kPlugin, not_made_for(*claim, application_));
    }
    if (is_fully_bound(*claim)) {
      bound_.emplace_back(
          referred_.find<PersistentVolume>(ReferredKind::kPersistentVolume, claim->volume_name));
    } else if (!waits(*claim) || !claim->volume_name.empty()) {
      // One with a volume that is not bound yet is of somebody who binds at once.
      immediate = true;
    } else {
      (claim->selected_node ? selected_ : waiting_).push_back(waiting(*claim));
    }
  }
  if (immediate) {
    return reject(kPlugin, "pod has unbound immediate PersistentVolumeClaims");
  }
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const WaitingClaim& a, const WaitingClaim& b) {
                     return a.its->request_bytes.value_or(0) < b.its->request_bytes.value_or(0);
                   });
  for (std::uint32_t why = 0; binds() && why < 16; ++why) {
    std::vector<std::string> reasons;
    for (std::size_t r = 0; r < kBindingReasons.size(); ++r) {
      if ((why >> r & 1) != 0) {
        reasons.emplace_back(kBindingReasons[r]);
      }
    }
    std::sort(reasons.begin(), reasons.end());
    binding_codes_.push_back(why == 0 ? 0
                                      : applications_.rejections().make(
                                            kPlugin, Code::kUnschedulableAndUnresolvable, reasons));
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
        zones_.push_back({std::string(key), std::move(values)});
      }
    }
  }
}

// --- Nodes ---

std::uint32_t VolumeLook::code(std::uint32_t row, const RowChange* change) const {
  if (restricts_) {
    if (const std::uint32_t code = restricted(row, change); code != 0) {
      return code;
    }
  }
  if (counts_) {
    if (const std::uint32_t code = beyond_limits(row, change); code != 0) {
      return code;
    }
  }
  if (binding_filters_) {
    if (const std::uint32_t why_not = bind(row).why_not; why_not != 0) {
      return binding_codes_[why_not];
    }
  }
  return in_zone(row) ? 0 : kVolumeZoneMismatch;
}

std::uint32_t VolumeLook::restricted(std::uint32_t row, const RowChange* change) const {
  std::int64_t once_in_use = once_in_use_;
  bool taken = false;
  const auto look_at = [&](PodId id) {
    for (const Volume& used :
         applications_.peers().at(applications_.facts().pods[id].peer).volumes) {
      for (const Volume& asked : application_.volumes) {
        taken = taken || (has_disks_ && is_restricted(asked) && is_restricted(used) &&
                          conflict(*asked.disk, *used.disk));
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

std::uint32_t VolumeLook::beyond_limits(std::uint32_t row, const RowChange* change) const {
  if (wanted_error_ != 0) {
    return wanted_error_;
  }
  const Facts& facts = applications_.facts();
  const Applications::RowVolumes& there = applications_.row_volumes(row);
  const CsiNode* csi_node = there.csi_node;
  const std::set<CsiVolume>& wanted = wanted_[csi_node != nullptr];
  for (const CsiVolume& volume : wanted) {
    const auto missing = missing_driver_.find(volume.driver);
    if (missing != missing_driver_.end() &&
        (csi_node == nullptr ||
         std::none_of(csi_node->drivers.begin(), csi_node->drivers.end(),
                      [&](const CsiNode::Driver& one) { return one.name == volume.driver; }))) {
      return missing->second;
    }
  }
  if (csi_node == nullptr) {
    return 0;
  }
  // Were each volume here another one, would they be too many?
  if (static_cast<std::int64_t>(there.volumes + wanted.size()) <= there.least_limit &&
      there.ephemeral == 0 && (change == nullptr || change->come.empty())) {
    return 0;
  }
  std::set<CsiVolume> present;
  bool foreign = false;
  const auto add = [&](PodId id) {
    const PodPeer& peer = applications_.peers().at(facts.pods[id].peer);
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
  for (const PodId id : there.pods) {
    if (change == nullptr || !change->is_gone(id)) {
      add(id);
    }
  }
  for (std::size_t i = 0; change != nullptr && i < change->come.size(); ++i) {
    add(change->come[i]);
  }
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

bool VolumeLook::in_zone(std::uint32_t row) const {
  if (zones_.empty()) {
    return true;
  }
  const Node& node = *applications_.facts().nodes[row].node;
  const bool has_any =
      std::any_of(std::begin(kZoneKeys), std::end(kZoneKeys),
                  [&](std::string_view key) { return find(node.labels, key) != nullptr; });
  return !has_any || std::all_of(zones_.begin(), zones_.end(), [&](const ZoneLabel& zone) {
    const std::string* label = find(node.labels, zone.key);
    // A beta label is met by the node's other one, where it has no beta one.
    for (std::size_t k = 0; k < 2 && label == nullptr; ++k) {
      label = zone.key == kZoneKeys[k] ? find(node.labels, kZoneKeys[k + 2]) : nullptr;
    }
    return label != nullptr && zone.values.contains(*label);
  });
}

void VolumeLook::Binding::clear() {
  why_not = 0;
  found.clear();
  provisioned.clear();
  bound.clear();
  chosen.clear();
  to_provision.clear();
}

// Valid until the thread's next.
const VolumeLook::Binding& VolumeLook::bind(std::uint32_t row) const {
  static thread_local Binding binding;
  binding.clear();
  const Node& node = *applications_.facts().nodes[row].node;
  // The first that fails decides over the bound ones.
  for (const ItsVolume& its : bound_) {
    if (its.volume == nullptr) {
      binding.why_not |= kVolumeMissing;
      break;
    }
    if (!its.can_be_on(node)) {
      binding.why_not |= kNodeConflict;
      break;
    }
  }
  bind_waiting(node, binding);
  return binding;
}

// A claim for which a node was selected already is being provisioned there. Smallest first, each
// with the smallest volume.
void VolumeLook::bind_waiting(const Node& node, Binding& binding) const {
  for (const WaitingClaim& claim : selected_) {
    if (*claim.its->selected_node != node.name) {
      binding.why_not |= kBindConflict;
      return;
    }
    binding.to_provision.push_back(&claim);
  }
  for (const WaitingClaim& claim : waiting_) {
    const PersistentVolume* volume = find_volume(claim, node, binding.chosen);
    if (volume == nullptr) {
      binding.to_provision.push_back(&claim);
      continue;
    }
    binding.chosen.push_back(volume);
    Use& use = binding.found[claim.its->storage_class];
    use.requested_bytes += claim.its->request_bytes.value_or(0);
    use.capacity_bytes += volume->capacity_bytes;
    binding.bound.push_back({claim.its, volume, nullptr});
  }
  provision(node, binding);
}

// One that is meant for the claim, else the smallest that fits; of equals the first by name.
const PersistentVolume* VolumeLook::find_volume(const WaitingClaim& waiting, const Node& node,
                                                const Chosen& chosen) const {
  const Claim& claim = *waiting.its;
  const auto may_be = [&](const PersistentVolume& volume) {
    return volume.storage_class == claim.storage_class &&
           std::find(chosen.begin(), chosen.end(), &volume) == chosen.end() &&
           volume.capacity_bytes >= claim.request_bytes.value_or(0) &&
           volume.volume_mode == claim.volume_mode &&
           volume.attributes_class == claim.attributes_class && !volume.deleting;
  };
  for (const ItsVolume& meant : waiting.meant) {
    if (may_be(*meant.volume)) {
      return meant.can_be_on(node) ? meant.volume : nullptr;
    }
  }
  if (waiting.of_class == nullptr) {
    return nullptr;
  }
  const VolumeIndex& index = applications_.volume_index();
  return waiting.of_class->unclaimed.first(node.labels, [&](const PersistentVolume& volume) {
    return may_be(volume) && volume.available &&
           std::all_of(
               claim.access_modes.begin(), claim.access_modes.end(),
               [&](const std::string& mode) { return contains(volume.access_modes, mode); }) &&
           (!claim.selector || matches(*claim.selector, volume.labels)) &&
           index.reach(volume).has(node);
  });
}

// Enough for the claim; of several the first by name.
const CsiStorageCapacity* VolumeLook::find_storage(const WaitingClaim& claim, const Node& node) {
  if (claim.of_class == nullptr) {
    return nullptr;
  }
  return claim.of_class->storage.first(node.labels, [&](const CsiStorageCapacity& capacity) {
    const std::optional<std::int64_t> limit =
        capacity.maximum_volume_bytes ? capacity.maximum_volume_bytes : capacity.capacity_bytes;
    return limit && *limit >= *claim.its->request_bytes &&
           selects(capacity.node_topology, node.labels);
  });
}

// The first claim that cannot be provisioned decides.
void VolumeLook::provision(const Node& node, Binding& binding) {
  for (const WaitingClaim* claim : binding.to_provision) {
    const StorageClass& storage_class = *claim->storage_class;
    if (storage_class.provisioner.empty() ||
        storage_class.provisioner == "kubernetes.io/no-provisioner" ||
        !allows(storage_class, node)) {
      binding.why_not |= kBindConflict;
      return;
    }
    if (!claim->tells_capacity) {
      binding.bound.push_back({claim->its, nullptr, nullptr});
      continue;
    }
    const CsiStorageCapacity* enough = find_storage(*claim, node);
    if (enough == nullptr) {
      binding.why_not |= kNotEnoughSpace;
      return;
    }
    Use& use = binding.provisioned[claim->its->storage_class];
    use.requested_bytes += *claim->its->request_bytes;
    use.capacity_bytes = enough->capacity_bytes.value_or(0);
    binding.bound.push_back({claim->its, nullptr, enough});
  }
}

// Where pods can use it: on the nodes of the storage that it takes, else on those that are as this
// one in what its class tells nodes apart by, else in this one's zone.
PersistentVolume VolumeLook::made_for(const Bound& bound, const Node& node) const {
  const Claim& claim = *bound.claim;
  PersistentVolume volume;
  // No namespace has a dot.
  volume.name = "pvc-" + (claim.uid.empty() ? claim.namespace_name + '.' + claim.name : claim.uid);
  volume.storage_class = claim.storage_class;
  volume.capacity_bytes = claim.request_bytes.value_or(0);
  volume.access_modes = claim.access_modes;
  volume.volume_mode = claim.volume_mode;
  volume.attributes_class = claim.attributes_class;
  if (std::optional<CsiVolume> counted = csi_volume_of(referred_, claim, true)) {
    volume.csi_driver = std::move(counted->driver);
    volume.csi_handle = volume.name;
  }
  NodeSelectorTerm where;
  if (bound.storage != nullptr) {
    where.match_expressions = bound.storage->node_topology.value_or(LabelSelector());
  } else {
    std::set<std::string_view> keys;
    const auto* storage_class =
        referred_.find<StorageClass>(ReferredKind::kStorageClass, claim.storage_class);
    for (const LabelSelector& term : storage_class->allowed_topologies) {
      for (const NodeSelectorRequirement& requirement : term) {
        keys.insert(requirement.key);
      }
    }
    if (keys.empty()) {
      keys.insert(kZoneKey);
    }
    for (const std::string_view key : keys) {
      if (const std::string* label = find(node.labels, key); label != nullptr) {
        where.match_expressions.push_back({std::string(key), "In", {*label}});
      }
    }
  }
  if (!where.match_expressions.empty()) {
    volume.node_affinity = {std::move(where)};
  }
  return volume;
}

std::vector<ReferredObject> VolumeLook::bound_volumes(std::uint32_t row) const {
  const Node& node = *applications_.facts().nodes[row].node;
  const Binding& binding = bind(row);
  std::vector<ReferredObject> objects;
  if (binding.why_not != 0) {
    return objects;
  }
  for (const Bound& bound : binding.bound) {
    Claim claim = *bound.claim;
    PersistentVolume volume = bound.volume != nullptr ? *bound.volume : made_for(bound, node);
    volume.claim_namespace = claim.namespace_name;
    volume.claim_name = claim.name;
    volume.claim_uid = claim.uid;
    volume.available = false;
    claim.volume_name = volume.name;
    claim.bind_completed = true;
    objects.emplace_back(std::move(volume));
    objects.emplace_back(std::move(claim));
  }
  return objects;
}

std::int64_t VolumeLook::rate(const Use& use) const {
  const bool over = use.capacity_bytes == 0 || use.requested_bytes > use.capacity_bytes;
  const auto percent =
      over ? std::int64_t{100}
           : static_cast<std::int64_t>(Int128{use.requested_bytes} * 100 / use.capacity_bytes);
  return broken_line(profile_.volume_binding.shape, percent);
}

// The mean over classes: of volumes that were found if there are any, else of provisioned ones.
std::int64_t VolumeLook::score(std::uint32_t row) const {
  if (!binds()) {
    return 0;
  }
  const Binding& binding = bind(row);
  const std::map<std::string, Use>& uses =
      binding.found.empty() ? binding.provisioned : binding.found;
  if (uses.empty()) {
    return 0;
  }
  std::int64_t sum = 0;
  for (const auto& [storage_class, use] : uses) {
    sum += rate(use);
  }
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(uses.size())));
}

}  // namespace headroom
