// See volume_binding.h. default-plugins.md has one line on it ("But for volumes, a second program
// agrees with every case"); where that line is silent this is kube-scheduler's way, as the cases
// confirm it: which claims are rejected in PreFilter and with what reason, that claims are matched
// smallest first and each with the smallest volume, and how classes' scores are put together.
#include "oracle/default/volumes/volume_binding.h"

#include <algorithm>
#include <cmath>

#include "oracle/broken_line.h"
#include "oracle/default/volumes/claims.h"

namespace oracle::defaults {
namespace {

const std::string kNodeConflict = "node(s) didn't match PersistentVolume's node affinity";
const std::string kBindConflict = "node(s) didn't find available persistent volumes to bind";
const std::string kNotEnoughSpace = "node(s) did not have enough free storage";
const std::string kVolumeMissing =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

bool is_fully_bound(const Claim& claim) {
  return !claim.volume_name.empty() && claim.bind_completed;
}

bool is_bound_to(const PersistentVolume& volume, const Claim& claim) {
  return volume.claim_name == claim.name && volume.claim_space == claim.space &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

bool is_usable_on(const PersistentVolume& volume, const Node& node) {
  return !volume.node_affinity || matches(*volume.node_affinity, "", node.labels);
}

bool has_access_modes(const PersistentVolume& volume, const Claim& claim) {
  return std::all_of(
      claim.access_modes.begin(), claim.access_modes.end(), [&](const std::string& mode) {
        return std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) !=
               volume.access_modes.end();
      });
}

bool allows(const StorageClass& storage_class, const Node& node) {
  if (storage_class.allowed_topologies.empty()) return true;
  return std::any_of(storage_class.allowed_topologies.begin(),
                     storage_class.allowed_topologies.end(),
                     [&](const std::vector<Requirement>& term) {
                       return !term.empty() && selects(term, node.labels);
                     });
}

void add_reason(std::vector<std::string>& reasons, const std::string& reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
}

}  // namespace

// A class that does not exist, or none, is bound at once.
bool VolumeBindingPlugin::waits_for_first_consumer(const Claim& claim) const {
  const auto found = facts().storage_classes.find(claim.storage_class);
  return !claim.storage_class.empty() && found != facts().storage_classes.end() &&
         found->second.waits_for_first_consumer;
}

const Claim* VolumeBindingPlugin::find(const std::string& claim) const {
  const auto found = claims_.find(pod().space + "/" + claim);
  return found == claims_.end() ? nullptr : &found->second;
}

Status VolumeBindingPlugin::check_claims() const {
  bool any = false;
  for (const Volume& volume : pod().volumes) {
    const std::optional<std::string> name = claim_name(pod(), volume);
    if (!name) continue;
    any = true;
    const Claim* claim = find(*name);
    if (claim == nullptr) {
      return unresolvable(
          volume.ephemeral
              ? "waiting for ephemeral volume controller to create the persistentvolumeclaim \"" +
                    *name + "\""
              : not_found("persistentvolumeclaim", *name));
    }
    const std::string quoted = "persistentvolumeclaim \"" + claim->name + "\" ";
    if (claim->lost) {
      return unresolvable(quoted + "bound to non-existent persistentvolume \"" +
                          claim->volume_name + "\"");
    }
    if (claim->deleting) return unresolvable(quoted + "is being deleted");
    if (volume.ephemeral && !is_made_for(*claim, pod())) {
      return unresolvable(not_made_for(*claim, pod()));
    }
  }
  if (!any) return {Code::kSkip, {}};
  for (const Volume& volume : pod().volumes) {
    const std::optional<std::string> name = claim_name(pod(), volume);
    if (!name) continue;
    const Claim& claim = *find(*name);
    // One with a volume that is not bound yet is somebody's who binds at once.
    if (!is_fully_bound(claim) &&
        (!waits_for_first_consumer(claim) || !claim.volume_name.empty())) {
      return unresolvable("pod has unbound immediate PersistentVolumeClaims");
    }
  }
  return {};
}

PreFilterAnswer VolumeBindingPlugin::pre_filter() { return {check_claims(), {}}; }

VolumeBindingPlugin::Binding VolumeBindingPlugin::bind(const Node& node) const {
  Binding binding;
  std::vector<const Claim*> waiting;
  bool missing = false;
  for (const Volume& volume : pod().volumes) {
    const std::optional<std::string> name = claim_name(pod(), volume);
    if (!name) continue;
    const Claim* claim = find(*name);
    if (!is_fully_bound(*claim)) {
      waiting.push_back(claim);
    } else if (binding.reasons.empty() && !missing) {
      // The first that fails decides over the bound ones.
      missing = !volumes_.contains(claim->volume_name);
      if (!missing) check_bound(*claim, node, binding);
    }
  }
  if (missing) add_reason(binding.reasons, kVolumeMissing);
  bind_waiting(waiting, node, binding);
  std::sort(binding.reasons.begin(), binding.reasons.end());
  return binding;
}

void VolumeBindingPlugin::check_bound(const Claim& claim, const Node& node,
                                      Binding& binding) const {
  if (!is_usable_on(volumes_.at(claim.volume_name), node)) {
    add_reason(binding.reasons, kNodeConflict);
  }
}

// A claim for which a node was selected already is being provisioned there.
void VolumeBindingPlugin::bind_waiting(const std::vector<const Claim*>& claims, const Node& node,
                                       Binding& binding) const {
  std::vector<const Claim*> to_match, to_provision;
  for (const Claim* claim : claims) {
    if (!claim->selected_node) {
      to_match.push_back(claim);
    } else if (*claim->selected_node == node.name) {
      to_provision.push_back(claim);
    } else {
      add_reason(binding.reasons, kBindConflict);
      return;
    }
  }
  std::stable_sort(to_match.begin(), to_match.end(), [](const Claim* a, const Claim* b) {
    return a->request_bytes.value_or(0) < b->request_bytes.value_or(0);
  });
  std::set<std::string> chosen;
  for (const Claim* claim : to_match) {
    const PersistentVolume* volume = find_volume(*claim, node, chosen);
    if (volume == nullptr) {
      to_provision.push_back(claim);
      continue;
    }
    binding.bound[claim->name] = volume->name;
    chosen.insert(volume->name);
    Use& use = binding.static_uses[claim->storage_class];
    use.requested_bytes += claim->request_bytes.value_or(0);
    use.capacity_bytes += volume->capacity_bytes;
  }
  for (const Claim* claim : to_provision) binding.bound[claim->name] = "";
  provision(to_provision, node, binding);
}

std::map<std::string, std::string> VolumeBindingPlugin::bound(const Node& node) const {
  return bind(node).bound;
}

// AssumePodVolumes gives a volume its claimRef, and a claim its selected node. What the told
// objects say already is not assumed.
std::vector<Facts::AssumedClaim> VolumeBindingPlugin::reserve(const Node& node) const {
  std::vector<Facts::AssumedClaim> assumed;
  if (check_claims().code != Code::kSuccess) return assumed;
  const Binding binding = bind(node);
  if (!binding.reasons.empty()) return assumed;
  for (const auto& [name, volume] : binding.bound) {
    const Claim& claim = facts().claims.at(pod().space + "/" + name);
    const bool told = volume.empty() ? claim.selected_node.has_value()
                                     : !facts().persistent_volumes.at(volume).claim_name.empty();
    if (!told) assumed.push_back({claim.space + "/" + name, claim.uid, volume, node.name});
  }
  return assumed;
}

// One that is meant for the claim, else the smallest that fits; of equals the first by name (to
// kube-scheduler their order is random).
const PersistentVolume* VolumeBindingPlugin::find_volume(
    const Claim& claim, const Node& node, const std::set<std::string>& chosen) const {
  const PersistentVolume* smallest = nullptr;
  for (const auto& [name, volume] : volumes_) {
    if (volume.storage_class != claim.storage_class || chosen.contains(name)) continue;
    if (!volume.claim_name.empty() && !is_bound_to(volume, claim)) continue;
    if (volume.capacity_bytes < claim.request_bytes.value_or(0)) continue;
    if (volume.volume_mode != claim.volume_mode) continue;
    if (volume.attributes_class != claim.attributes_class || volume.deleting) continue;
    const bool usable = is_usable_on(volume, node);
    if (is_bound_to(volume, claim)) return usable ? &volume : nullptr;
    if (!volume.available || !usable || !has_access_modes(volume, claim)) continue;
    if (claim.selector && !selects(claim.selector, volume.labels)) continue;
    if (smallest == nullptr || volume.capacity_bytes < smallest->capacity_bytes) smallest = &volume;
  }
  return smallest;
}

// The first claim that cannot be provisioned decides.
void VolumeBindingPlugin::provision(const std::vector<const Claim*>& claims, const Node& node,
                                    Binding& binding) const {
  for (const Claim* claim : claims) {
    const StorageClass& storage_class = facts().storage_classes.at(claim->storage_class);
    if (storage_class.provisioner.empty() ||
        storage_class.provisioner == "kubernetes.io/no-provisioner" ||
        !allows(storage_class, node)) {
      add_reason(binding.reasons, kBindConflict);
      return;
    }
    // Drivers that tell their capacity only; without a request there is nothing to check.
    const auto driver = facts().csi_drivers.find(storage_class.provisioner);
    if (!claim->request_bytes || driver == facts().csi_drivers.end() ||
        !driver->second.storage_capacity) {
      continue;
    }
    const CsiStorageCapacity* enough = nullptr;
    for (const auto& [key, capacity] : facts().csi_storage_capacities) {
      const std::optional<std::int64_t> limit =
          capacity.maximum_volume_bytes ? capacity.maximum_volume_bytes : capacity.capacity_bytes;
      if (enough == nullptr && capacity.storage_class == storage_class.name && limit &&
          *limit >= *claim->request_bytes && selects(capacity.node_topology, node.labels)) {
        enough = &capacity;
      }
    }
    if (enough == nullptr) {
      add_reason(binding.reasons, kNotEnoughSpace);
      return;
    }
    Use& use = binding.dynamic_uses[claim->storage_class];
    use.requested_bytes += *claim->request_bytes;
    use.capacity_bytes = enough->capacity_bytes.value_or(0);
  }
}

Status VolumeBindingPlugin::filter(const Node& node) {
  const Binding binding = bind(node);
  if (binding.reasons.empty()) return {};
  return {Code::kUnschedulableAndUnresolvable, binding.reasons};
}

// "1.37: VolumeBinding scores"; "never absent", so it scores pods without claims, too (0).
Status VolumeBindingPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) {
  if (version() < Version::k137) return {Code::kSkip, {}};
  return {};
}

std::int64_t VolumeBindingPlugin::rate(const Use& use) const {
  static const Json kDefault = {{{"utilization", 0}, {"score", 10}},
                                {{"utilization", 100}, {"score", 0}}};
  const Json& given = child(args(), "shape");
  const Json& shape = given.empty() ? kDefault : given;
  if (use.capacity_bytes == 0 || use.requested_bytes > use.capacity_bytes) {
    return broken_line(shape, 100);
  }
  // Go's int64 wraps.
  const auto hundredfold =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(use.requested_bytes) * 100);
  return broken_line(shape, hundredfold / use.capacity_bytes);
}

// The mean over classes: of static bindings if there are any, else of dynamic provisioning.
std::int64_t VolumeBindingPlugin::score(const Node& node) {
  const Binding binding = bind(node);
  const std::map<std::string, Use>& uses =
      binding.static_uses.empty() ? binding.dynamic_uses : binding.static_uses;
  if (uses.empty()) return 0;
  std::int64_t sum = 0;
  for (const auto& [storage_class, use] : uses) sum += rate(use);
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(uses.size())));
}

}  // namespace oracle::defaults
