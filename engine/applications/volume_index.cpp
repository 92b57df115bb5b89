#include "engine/applications/volume_index.h"

#include <algorithm>
#include <tuple>
#include <variant>

namespace headroom {

namespace {

const NodeSelectorRequirement* wanted_by(const LabelSelector& selector) {
  const auto found = std::find_if(selector.begin(), selector.end(), [](const auto& its) {
    return its.op == "In" && !its.values.empty();
  });
  return found == selector.end() ? nullptr : &*found;
}

// Of several terms each may be the one that matches.
const NodeSelectorRequirement* wanted_by(const PersistentVolume& volume) {
  return volume.node_affinity && volume.node_affinity->size() == 1
             ? wanted_by(volume.node_affinity->front().match_expressions)
             : nullptr;
}

}  // namespace

bool comes_first(const PersistentVolume& a, const PersistentVolume& b) {
  return std::tie(a.capacity_bytes, a.name) < std::tie(b.capacity_bytes, b.name);
}

bool comes_first(const CsiStorageCapacity& a, const CsiStorageCapacity& b) {
  return pod_key(a.namespace_name, a.name) < pod_key(b.namespace_name, b.name);
}

VolumeReach::VolumeReach(const PersistentVolume& volume)
    : constraint_{{}, volume.node_affinity, {}}, affinity_(constraint_) {}

bool VolumeReach::has(const Node& node) const { return affinity_.passes(node.labels); }

// --- By label ---

template <typename T>
void ByLabel<T>::add(const NodeSelectorRequirement* wanted, const T* object) {
  if (wanted == nullptr) {
    size_ += others_.insert(object).second;
    return;
  }
  for (const std::string& value : wanted->values) {
    size_ += by_key_[wanted->key][value].insert(object).second;
  }
}

template <typename T>
void ByLabel<T>::remove(const NodeSelectorRequirement* wanted, const T* object) {
  if (wanted == nullptr) {
    size_ -= others_.erase(object);
    return;
  }
  const auto of_key = by_key_.find(wanted->key);
  for (std::size_t v = 0; of_key != by_key_.end() && v < wanted->values.size(); ++v) {
    if (const auto found = of_key->second.find(std::string_view(wanted->values[v]));
        found != of_key->second.end()) {
      size_ -= found.value().erase(object);
      if (found->second.empty()) {
        of_key->second.erase(found);
      }
    }
  }
  if (of_key != by_key_.end() && of_key->second.empty()) {
    by_key_.erase(of_key);
  }
}

template class ByLabel<PersistentVolume>;
template class ByLabel<CsiStorageCapacity>;

// --- The index ---

void VolumeIndex::change(const ReferredObject* before, const ReferredObject* after) {
  if (before != nullptr) {
    remove(*before);
  }
  if (after != nullptr) {
    add(*after);
  }
}

void VolumeIndex::read(const ReferredObjects& objects) {
  of_class_.clear();
  of_claim_.clear();
  reaches_.clear();
  for (const ReferredKind kind :
       {ReferredKind::kPersistentVolume, ReferredKind::kCsiStorageCapacity}) {
    for (const auto& [key, object] : objects.of(kind)) {
      add(*object);
    }
  }
}

void VolumeIndex::add(const ReferredObject& object) {
  if (const auto* capacity = std::get_if<CsiStorageCapacity>(&object);
      capacity != nullptr && capacity->node_topology) {
    of_class_[capacity->storage_class].storage.add(wanted_by(*capacity->node_topology), capacity);
  }
  const auto* volume = std::get_if<PersistentVolume>(&object);
  if (volume == nullptr) {
    return;
  }
  if (volume->claim_name.empty()) {
    reaches_[volume] = std::make_unique<const VolumeReach>(*volume);
    of_class_[volume->storage_class].unclaimed.add(wanted_by(*volume), volume);
    return;
  }
  auto& volumes = of_claim_[pod_key(volume->claim_namespace, volume->claim_name)];
  volumes.insert(std::upper_bound(volumes.begin(), volumes.end(), volume,
                                  [](const auto* a, const auto* b) { return a->name < b->name; }),
                 volume);
}

void VolumeIndex::remove(const ReferredObject& object) {
  const auto* volume = std::get_if<PersistentVolume>(&object);
  const auto* capacity = std::get_if<CsiStorageCapacity>(&object);
  if (volume != nullptr && !volume->claim_name.empty()) {
    const auto found = of_claim_.find(pod_key(volume->claim_namespace, volume->claim_name));
    if (found == of_claim_.end()) {
      return;
    }
    std::erase(found.value(), volume);
    if (found->second.empty()) {
      of_claim_.erase(found);
    }
    return;
  }
  if (volume == nullptr && capacity == nullptr) {
    return;
  }
  if (volume != nullptr) {
    reaches_.erase(volume);
  }
  const auto found =
      of_class_.find(volume != nullptr ? volume->storage_class : capacity->storage_class);
  if (found == of_class_.end()) {
    return;
  }
  OfClass& of_class = found.value();
  if (volume != nullptr) {
    of_class.unclaimed.remove(wanted_by(*volume), volume);
  } else if (capacity->node_topology) {
    of_class.storage.remove(wanted_by(*capacity->node_topology), capacity);
  }
  if (of_class.unclaimed.empty() && of_class.storage.empty()) {
    of_class_.erase(found);
  }
}

const VolumeIndex::OfClass* VolumeIndex::of_class(std::string_view storage_class) const {
  const auto found = of_class_.find(storage_class);
  return found == of_class_.end() ? nullptr : &found->second;
}

const std::vector<const PersistentVolume*>& VolumeIndex::meant_for(std::string_view claim) const {
  static const std::vector<const PersistentVolume*> kNone;
  const auto found = of_claim_.find(claim);
  return found == of_claim_.end() ? kNone : found->second;
}

}  // namespace headroom
