#include "engine/domains/volume_index.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <variant>

namespace headroom {

namespace {

// What an object wants of a node's labels first, or nullptr, and whether it asks for more.
struct Asked {
  const NodeSelectorRequirement* wanted = nullptr;
  bool more = true;
};

Asked asked_by(const LabelSelector& selector) {
  const auto found = std::find_if(selector.begin(), selector.end(), [](const auto& its) {
    return its.op == "In" && !its.values.empty();
  });
  return found == selector.end() ? Asked() : Asked{&*found, selector.size() != 1};
}

// Of several terms each may be the one that matches.
Asked asked_by(const PersistentVolume& volume) {
  if (!volume.node_affinity || volume.node_affinity->size() != 1) {
    return {};
  }
  const NodeSelectorTerm& term = volume.node_affinity->front();
  Asked asked = asked_by(term.match_expressions);
  asked.more |= !is_valid(term);  // which matches nothing; fields are not asked
  return asked;
}

Asked asked_by(const CsiStorageCapacity& capacity) { return asked_by(*capacity.node_topology); }

ByLabel<PersistentVolume>::Object object_of(const PersistentVolume& volume, bool asks_for_more) {
  return {&volume, volume.capacity_bytes, volume.capacity_bytes, asks_for_more};
}

// Of storage that does not say what it has nobody can have anything.
ByLabel<CsiStorageCapacity>::Object object_of(const CsiStorageCapacity& storage,
                                              bool asks_for_more) {
  return {&storage,
          storage.maximum_volume_bytes ? *storage.maximum_volume_bytes
                                       : storage.capacity_bytes.value_or(INT64_MIN),
          storage.capacity_bytes.value_or(0), asks_for_more};
}

// The volume if nobody has it, the storage if nodes can reach it; else nullptr.
const PersistentVolume* unclaimed(const ReferredObject& object) {
  const auto* volume = std::get_if<PersistentVolume>(&object);
  return volume != nullptr && volume->claim_name.empty() ? volume : nullptr;
}

const CsiStorageCapacity* reachable(const ReferredObject& object) {
  const auto* capacity = std::get_if<CsiStorageCapacity>(&object);
  return capacity != nullptr && capacity->node_topology ? capacity : nullptr;
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

bool VolumeReach::has(const KeptNode& node) const { return affinity_.passes(node.labels); }

// --- By label ---

template <typename T>
bool ByLabel<T>::List::insert(const Object& object) {
  if (empty()) {
    first_ = object;
    return true;
  }
  if (!(first_ < object) && !(object < first_)) {
    return false;
  }
  if (others_ == nullptr) {
    others_ = std::make_unique<std::set<Object>>();
  }
  if (first_ < object) {
    return others_->insert(object).second;
  }
  others_->insert(first_);
  first_ = object;
  return true;
}

template <typename T>
bool ByLabel<T>::List::erase(const Object& object) {
  if (empty() || object < first_) {
    return false;
  }
  if (first_ < object) {
    if (others_ == nullptr || others_->erase(object) == 0) {
      return false;
    }
  } else if (others_ == nullptr) {
    first_ = {};
  } else {
    first_ = others_->extract(others_->begin()).value();
  }
  if (others_ != nullptr && others_->empty()) {
    others_.reset();
  }
  return true;
}

template <typename T>
void ByLabel<T>::add(Topology& topology, const T& object) {
  const auto [wanted, more] = asked_by(object);
  if (wanted == nullptr) {
    size_ += others_.insert(object_of(object, more));
    return;
  }
  auto of_key = find(topology, wanted->key);
  if (of_key == by_key_.end()) {
    of_key = by_key_.insert(of_key, {topology.hold(wanted->key), {}});
  }
  for (const std::string& value : wanted->values) {
    const DomainId domain = topology.hold_domain(of_key->key, value);
    if (of_key->by_domain[domain].insert(object_of(object, more))) {
      ++size_;
    } else {
      topology.release_domain(of_key->key, domain);  // a value that it says twice
    }
  }
}

template <typename T>
void ByLabel<T>::remove(Topology& topology, const T& object) {
  const auto [wanted, more] = asked_by(object);
  if (wanted == nullptr) {
    size_ -= others_.erase(object_of(object, more));
    return;
  }
  const auto of_key = find(topology, wanted->key);
  if (of_key == by_key_.end()) {
    return;
  }
  for (const std::string& value : wanted->values) {
    const DomainId domain = topology.hold_domain(of_key->key, value);
    const auto found = of_key->by_domain.find(domain);
    if (found != of_key->by_domain.end() && found.value().erase(object_of(object, more))) {
      --size_;
      topology.release_domain(of_key->key, domain);
      if (found->second.empty()) {
        of_key->by_domain.erase(found);
      }
    }
    topology.release_domain(of_key->key, domain);
  }
  if (of_key->by_domain.empty()) {
    topology.release(of_key->key);
    by_key_.erase(of_key);
  }
}

template <typename T>
void ByLabel<T>::release(Topology& topology) const {
  for (const OfKey& of_key : by_key_) {
    for (const auto& [domain, list] : of_key.by_domain) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        topology.release_domain(of_key.key, domain);
      }
    }
    topology.release(of_key.key);
  }
}

template <typename T>
auto ByLabel<T>::find(const Topology& topology, std::string_view key) {
  return std::find_if(by_key_.begin(), by_key_.end(),
                      [&](const OfKey& its) { return topology.name(its.key) == key; });
}

template class ByLabel<PersistentVolume>;
template class ByLabel<CsiStorageCapacity>;

// --- The index ---

VolumeIndex::~VolumeIndex() {
  for (const auto& [name, of_class] : of_class_) {
    of_class.unclaimed.release(topology_);
    of_class.storage.release(topology_);
  }
}

void VolumeIndex::change(const ReferredObject* before, const ReferredObject* after) {
  // Its key is held meanwhile: one that is new is O(nodes).
  std::optional<TopologyKeyId> held;
  if (before != nullptr && after != nullptr) {
    const auto* volume = unclaimed(*before);
    const auto* capacity = reachable(*before);
    const Asked asked = volume != nullptr     ? asked_by(*volume)
                        : capacity != nullptr ? asked_by(*capacity)
                                              : Asked();
    held = asked.wanted == nullptr ? held : topology_.hold(asked.wanted->key);
  }
  if (before != nullptr) {
    remove(*before);
  }
  if (after != nullptr) {
    add(*after);
  }
  if (held) {
    topology_.release(*held);
  }
}

void VolumeIndex::forget() noexcept {
  of_class_.clear();
  of_claim_.clear();
  reaches_.clear();
}

void VolumeIndex::read(const ReferredObjects& objects) {
  for (const ReferredKind kind :
       {ReferredKind::kPersistentVolume, ReferredKind::kCsiStorageCapacity}) {
    for (const auto& [key, object] : objects.of(kind)) {
      add(*object);
    }
  }
}

void VolumeIndex::add(const ReferredObject& object) {
  if (const CsiStorageCapacity* capacity = reachable(object); capacity != nullptr) {
    of_class_[capacity->storage_class].storage.add(topology_, *capacity);
  }
  if (const PersistentVolume* volume = unclaimed(object); volume != nullptr) {
    reaches_[volume] = std::make_unique<const VolumeReach>(*volume);
    of_class_[volume->storage_class].unclaimed.add(topology_, *volume);
  } else if (volume = std::get_if<PersistentVolume>(&object); volume != nullptr) {
    auto& volumes = of_claim_[pod_key(volume->claim_namespace, volume->claim_name)];
    volumes.insert(std::upper_bound(volumes.begin(), volumes.end(), volume,
                                    [](const auto* a, const auto* b) { return a->name < b->name; }),
                   volume);
  }
}

void VolumeIndex::remove(const ReferredObject& object) {
  const auto from_class = [&](const std::string& name, auto list, const auto& its) {
    const auto found = of_class_.find(name);
    if (found == of_class_.end()) {
      return;
    }
    OfClass& of_class = found.value();
    (of_class.*list).remove(topology_, its);
    if (of_class.unclaimed.empty() && of_class.storage.empty()) {
      of_class_.erase(found);
    }
  };
  if (const CsiStorageCapacity* capacity = reachable(object); capacity != nullptr) {
    from_class(capacity->storage_class, &OfClass::storage, *capacity);
  }
  if (const PersistentVolume* volume = unclaimed(object); volume != nullptr) {
    reaches_.erase(volume);
    from_class(volume->storage_class, &OfClass::unclaimed, *volume);
  } else if (volume = std::get_if<PersistentVolume>(&object); volume != nullptr) {
    const auto found = of_claim_.find(pod_key(volume->claim_namespace, volume->claim_name));
    if (found == of_claim_.end()) {
      return;
    }
    std::erase(found.value(), volume);
    if (found->second.empty()) {
      of_claim_.erase(found);
    }
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
