// VolumeLook: what VolumeBinding says of claims, and what it would do with them on a node.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/applications/claim.h"
#include "engine/applications/terms.h"
#include "engine/applications/volumes.h"
#include "engine/profile/broken_line.h"
#include "engine/table/beyond_int64.h"
#include "objects/labels.h"

namespace headroom {

namespace {

// Of a volume that is for more nodes, these are told apart by class.
constexpr std::size_t kOnlyRowsMax = 16;
constexpr std::array<const char*, 4> kBindingReasons = {
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};

bool is_fully_bound(const PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() && claim.bind_completed;
}

bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.claim_name == claim.name && volume.claim_namespace == claim.namespace_name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

// As Go adds them.
void add_bytes(std::int64_t& sum, std::int64_t bytes) {
  sum = in_int64(Int128{sum} + bytes, BeyondInt64::kWraps);
}

}  // namespace

// --- Claims ---

bool VolumeLook::allows(const StorageClass& storage_class, const KeptNode& node) {
  return storage_class.allowed_topologies.empty() ||
         std::any_of(storage_class.allowed_topologies.begin(),
                     storage_class.allowed_topologies.end(), [&](const LabelSelector& term) {
                       return !term.empty() && matches(term, node.labels);
                     });
}

// A class that does not exist, or none, is bound at once.
bool VolumeLook::waits(const Claim& claim) const {
  const auto* storage_class =
      referred_.find<StorageClass>(ReferredKind::kStorageClass, claim.storage_class);
  return !claim.storage_class.empty() && storage_class != nullptr &&
         storage_class->waits_for_first_consumer;
}

// The one that it names, else that of a pod which is to have it made there.
const std::string* VolumeLook::selected_node(const Claim& claim) const {
  if (claim.selected_node) {
    return &*claim.selected_node;
  }
  const Facts& facts = applications_.facts();
  const PodId pod = applications_.chosen_volumes().provisions(claim);
  return pod == kNoPod ? nullptr : &facts.nodes[facts.pods[pod].assumed_row].name;
}

VolumeLook::ItsVolume::ItsVolume(const PersistentVolume* its)
    : volume(its),
      reach(its == nullptr || !its->node_affinity ? nullptr
                                                  : std::make_unique<const VolumeReach>(*its)) {}

VolumeLook::BoundVolume VolumeLook::bound(const Claim& claim) const {
  const auto* volume =
      referred_.find<PersistentVolume>(ReferredKind::kPersistentVolume, claim.volume_name);
  return {ItsVolume(volume), volume == nullptr ? std::nullopt : only_rows(*volume), &claim};
}

// Those with labels of which the volume wants one, where each is one node's at most.
std::optional<std::vector<std::uint32_t>> VolumeLook::only_rows(
    const PersistentVolume& volume) const {
  if (!volume.node_affinity || volume.node_affinity->size() != 1) {
    return std::nullopt;
  }
  for (const NodeSelectorRequirement& its : volume.node_affinity->front().match_expressions) {
    bool known = its.op == "In" && its.values.size() <= kOnlyRowsMax;
    std::vector<std::uint32_t> rows;
    for (std::size_t v = 0; known && v < its.values.size(); ++v) {
      const NodeLabels::Holders holders =
          applications_.classes().labels().holders_of(NodeLabels::hash(its.key, its.values[v]));
      known = holders.count == 0 || (holders.count == 1 && holders.row != kNoRow);
      rows.insert(rows.end(), holders.count, holders.row);
    }
    if (known) {
      return rows;
    }
  }
  return std::nullopt;
}

VolumeLook::WaitingClaim VolumeLook::waiting(const Claim& claim) const {
  const VolumeIndex& index = applications_.volume_index();
  WaitingClaim waiting{.its = &claim,
                       .storage_class = referred_.find<StorageClass>(ReferredKind::kStorageClass,
                                                                     claim.storage_class),
                       .selected_node = selected_node(claim),
                       .of_class = index.of_class(claim.storage_class),
                       .meant = {},
                       .provisions = false,
                       .tells_capacity = false};
  for (const PersistentVolume* volume :
       index.meant_for(pod_key(claim.namespace_name, claim.name))) {
    if (is_bound_to(*volume, claim)) {
      waiting.meant.emplace_back(volume);
    }
  }
  waiting.provisions = waiting.storage_class != nullptr &&
                       !waiting.storage_class->provisioner.empty() &&
                       waiting.storage_class->provisioner != "kubernetes.io/no-provisioner";
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
      bound_.push_back(bound(*claim));
    } else if (!waits(*claim) || !claim->volume_name.empty()) {
      // One with a volume that is not bound yet is of somebody who binds at once.
      immediate = true;
    } else {
      WaitingClaim its = waiting(*claim);
      (its.selected_node != nullptr ? selected_ : waiting_).push_back(std::move(its));
    }
  }
  if (immediate) {
    return reject(kPlugin, "pod has unbound immediate PersistentVolumeClaims");
  }
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const WaitingClaim& a, const WaitingClaim& b) {
                     return a.its->request_bytes.value_or(0) < b.its->request_bytes.value_or(0);
                   });
}

void VolumeLook::number_reasons() {
  constexpr PluginId kPlugin = PluginId::kVolumeBinding;
  for (std::uint32_t why = 0; rejected_.empty() && binds() && why < 16; ++why) {
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

// --- Nodes ---

void VolumeLook::Binding::clear() {
  why_not = 0;
  found.clear();
  provisioned.clear();
  bound.clear();
  chosen.clear();
  to_provision.clear();
}

// Valid until the thread's next.
const VolumeLook::Binding& VolumeLook::bind(std::uint32_t row, bool plain) const {
  static thread_local Binding binding;
  binding.clear();
  // The first that fails decides over the bound ones.
  for (const BoundVolume& its : bound_) {
    if (its.volume == nullptr) {
      binding.why_not |= kVolumeMissing;
      break;
    }
    if ((plain && its.rows) || !its.can_be_on(node(row))) {
      binding.why_not |= kNodeConflict;
      break;
    }
  }
  bind_waiting(row, binding);
  return binding;
}

bool VolumeLook::is_selected(const WaitingClaim& claim, std::uint32_t row) const {
  return *claim.selected_node == applications_.facts().nodes[row].name;
}

// A claim for which a node was selected already is being provisioned there. Smallest first, each
// with the smallest volume.
void VolumeLook::bind_waiting(std::uint32_t row, Binding& binding) const {
  for (const WaitingClaim& claim : selected_) {
    if (!is_selected(claim, row)) {
      binding.why_not |= kBindConflict;
      return;
    }
    binding.to_provision.push_back(&claim);
  }
  for (const WaitingClaim& claim : waiting_) {
    const PersistentVolume* volume = find_volume(claim, row, binding.chosen);
    if (volume == nullptr) {
      binding.to_provision.push_back(&claim);
      continue;
    }
    binding.chosen.push_back(volume);
    Use& use = use_of(binding.found, *claim.its);
    add_bytes(use.requested_bytes, claim.its->request_bytes.value_or(0));
    add_bytes(use.capacity_bytes, volume->capacity_bytes);
    binding.bound.push_back({claim.its, volume, nullptr});
  }
  provision(row, binding);
}

// One that is meant for the claim, else the smallest that fits; of equals the first by name.
const PersistentVolume* VolumeLook::find_volume(const WaitingClaim& waiting, std::uint32_t row,
                                                const Chosen& chosen) const {
  const Claim& claim = *waiting.its;
  const std::int64_t bytes = claim.request_bytes.value_or(0);
  const auto may_be = [&](const PersistentVolume& volume) {
    return volume.storage_class == claim.storage_class &&
           std::find(chosen.begin(), chosen.end(), &volume) == chosen.end() &&
           volume.capacity_bytes >= bytes && volume.volume_mode == claim.volume_mode &&
           volume.attributes_class == claim.attributes_class && !volume.deleting;
  };
  for (const ItsVolume& meant : waiting.meant) {
    if (may_be(*meant.volume)) {
      return meant.can_be_on(node(row)) ? meant.volume : nullptr;
    }
  }
  if (waiting.of_class == nullptr || waiting.of_class->unclaimed.empty()) {
    return nullptr;
  }
  const VolumeIndex& index = applications_.volume_index();
  const auto* found = waiting.of_class->unclaimed.first(
      applications_.topology(), row, [&](const ByLabel<PersistentVolume>::Object& object) {
        if (object.bytes_max < bytes) {
          return false;
        }
        const PersistentVolume& volume = *object.its;
        return may_be(volume) && volume.available &&
               std::all_of(claim.access_modes.begin(), claim.access_modes.end(),
                           [&](const std::string& mode) {
                             return std::find(volume.access_modes.begin(),
                                              volume.access_modes.end(),
                                              mode) != volume.access_modes.end();
                           }) &&
               (!claim.selector || matches(*claim.selector, volume.labels)) &&
               (!object.asks_for_more || index.reach(volume).has(node(row)));
      });
  return found == nullptr ? nullptr : found->its;
}

// Enough for the claim; of several the first by name.
const VolumeLook::Storage* VolumeLook::find_storage(const WaitingClaim& claim,
                                                    std::uint32_t row) const {
  if (claim.of_class == nullptr) {
    return nullptr;
  }
  return claim.of_class->storage.first(applications_.topology(), row, [&](const Storage& storage) {
    return storage.bytes_max >= *claim.its->request_bytes &&
           (!storage.asks_for_more || matches(*storage.its->node_topology, node(row).labels));
  });
}

// The first claim that cannot be provisioned decides.
void VolumeLook::provision(std::uint32_t row, Binding& binding) const {
  for (const WaitingClaim* claim : binding.to_provision) {
    if (!claim->provisions || !allows(*claim->storage_class, node(row))) {
      binding.why_not |= kBindConflict;
      return;
    }
    if (!claim->tells_capacity) {
      binding.bound.push_back({claim->its, nullptr, nullptr});
      continue;
    }
    const Storage* enough = find_storage(*claim, row);
    if (enough == nullptr) {
      binding.why_not |= kNotEnoughSpace;
      return;
    }
    Use& use = use_of(binding.provisioned, *claim->its);
    add_bytes(use.requested_bytes, *claim->its->request_bytes);
    use.capacity_bytes = enough->capacity_bytes;
    binding.bound.push_back({claim->its, nullptr, enough->its});
  }
}

// Where pods can use it: on the nodes of the storage that it takes, else on those that are as this
// one in what its class tells nodes apart by, else in this one's zone.
PersistentVolume VolumeLook::made_for(const Bound& bound, const KeptNode& node) const {
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
      keys.insert(kZoneLabel);
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

ChosenVolumes::Choices VolumeLook::chosen_on(std::uint32_t row, const Applications& applications,
                                             const Application& application) {
  ChosenVolumes::Choices choices;
  const VolumeLook look(applications, application, Plugins::kVolumeBinding);
  if (!look.rejected_.empty() || (look.waiting_.empty() && look.selected_.empty())) {
    return choices;
  }
  const Binding& binding = look.bind(row, false);
  for (std::size_t b = 0; binding.why_not == 0 && b < binding.bound.size(); ++b) {
    const auto& [claim, volume, storage] = binding.bound[b];
    const auto* told = volume == nullptr ? nullptr
                                         : look.referred_.find<PersistentVolume>(
                                               ReferredKind::kPersistentVolume, volume->name);
    if (told != nullptr ? told->claim_name.empty() : !claim->selected_node) {
      choices.push_back({pod_key(claim->namespace_name, claim->name), claim->uid,
                         told != nullptr ? told->name : std::string()});
    }
  }
  return choices;
}

std::vector<ReferredObject> VolumeLook::bound_volumes(std::uint32_t row) const {
  const Binding& binding = bind(row, false);
  std::vector<ReferredObject> objects;
  if (binding.why_not != 0) {
    return objects;
  }
  for (const Bound& bound : binding.bound) {
    Claim claim = *bound.claim;
    PersistentVolume volume = bound.volume != nullptr ? *bound.volume : made_for(bound, node(row));
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

VolumeLook::Use& VolumeLook::use_of(Uses& uses, const Claim& claim) {
  const auto known = std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
    return use.storage_class == claim.storage_class;
  });
  return known != uses.end() ? *known
                             : uses.emplace_back(Use{.storage_class = claim.storage_class});
}

std::int64_t VolumeLook::utilization(const Use& use) {
  const bool over = use.capacity_bytes == 0 || use.requested_bytes > use.capacity_bytes;
  return over ? std::int64_t{100}
              : in_int64(Int128{in_int64(Int128{use.requested_bytes} * 100, BeyondInt64::kWraps)} /
                             use.capacity_bytes,
                         BeyondInt64::kWraps);
}

std::int64_t VolumeLook::rate(const Use& use) const {
  return broken_line(profile_.volume_binding.shape, utilization(use));
}

// The mean over classes.
std::int64_t VolumeLook::score(const Binding& binding) const {
  const Uses& uses = uses_of(binding);
  if (uses.empty()) {
    return 0;
  }
  std::int64_t sum = 0;
  for (const Use& use : uses) {
    sum += rate(use);
  }
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(uses.size())));
}

}  // namespace headroom
