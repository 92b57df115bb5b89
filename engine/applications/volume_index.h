// VolumeIndex: which volumes without a claim, and which storage, a node's labels lead to, so that a
// claim that waits is held against few on each node.
//
// A volume is usable where its node affinity says; CSI drivers tell the capacity of storage by
// topology. Both mostly ask for one label with one value (a hostname, a zone): they are found by
// it. Follows from the objects alone. Thread safety: one writer, or any number of readers; refers
// to the objects. Cost: a change is O(log those of the same label and value); a look O(label keys
// that are asked for + what is visited).
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/node_class.h"
#include "engine/table/referred_objects.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// Where a volume can be used: by its node affinity. Names are not looked at, and terms that no node
// can match are left out, as NodeAffinity does.
class VolumeReach {
 public:
  explicit VolumeReach(const PersistentVolume& volume);

  bool has(const Node& node) const;

 private:
  ClassConstraint constraint_;
  NodeAffinity affinity_;
};

// Which of two comes first: the smaller volume, of equals by name; storage by name.
bool comes_first(const PersistentVolume& a, const PersistentVolume& b);
bool comes_first(const CsiStorageCapacity& a, const CsiStorageCapacity& b);

// Objects that ask for a node's labels, by the first label that they want to have certain values.
template <typename T>
class ByLabel {
 public:
  // `wanted`: nullptr where the object does not say.
  void add(const NodeSelectorRequirement* wanted, const T* object);
  void remove(const NodeSelectorRequirement* wanted, const T* object);
  bool empty() const { return by_key_.empty() && others_.empty(); }
  // How often each() calls: once a value for an object that asks for several.
  std::size_t size() const { return size_; }
  template <typename Visit>
  void each(Visit visit) const {
    std::for_each(others_.begin(), others_.end(), visit);
    for (const auto& of_key : by_key_) {
      for (const auto& of_value : of_key.second) {
        std::for_each(of_value.second.begin(), of_value.second.end(), visit);
      }
    }
  }
  // The first that takes(object) takes, of all that may want a node with these labels; or nullptr.
  template <typename Takes>
  const T* first(const StringMap& labels, Takes takes) const {
    const T* found = nullptr;
    const auto look = [&](const List& list) {
      for (const T* object : list) {
        if (found != nullptr && !comes_first(*object, *found)) {
          return;
        }
        if (takes(*object)) {
          found = object;
          return;
        }
      }
    };
    look(others_);
    for (const auto& [key, by_value] : by_key_) {
      const std::string* value = find(labels, key);
      const auto its = value == nullptr ? by_value.end() : by_value.find(std::string_view(*value));
      if (its != by_value.end()) {
        look(its->second);
      }
    }
    return found;
  }
  friend bool operator==(const ByLabel&, const ByLabel&) = default;

 private:
  struct First {
    bool operator()(const T* a, const T* b) const { return comes_first(*a, *b); }
  };
  using List = std::set<const T*, First>;

  std::map<std::string, BytesMap<std::string, List>> by_key_;
  List others_;
  std::size_t size_ = 0;
};

class VolumeIndex {
 public:
  // Of one storage class.
  struct OfClass {
    ByLabel<PersistentVolume> unclaimed;
    ByLabel<CsiStorageCapacity> storage;

    friend bool operator==(const OfClass&, const OfClass&) = default;
  };

  // The object is another one now; nullptr: there is, or was, none.
  void change(const ReferredObject* before, const ReferredObject* after);
  // From nothing.
  void read(const ReferredObjects& objects);

  // The same of the same objects.
  friend bool operator==(const VolumeIndex& a, const VolumeIndex& b) {
    return a.of_class_ == b.of_class_ && a.of_claim_ == b.of_claim_ &&
           a.reaches_.size() == b.reaches_.size();
  }

  // nullptr: there is nothing of it.
  const OfClass* of_class(std::string_view storage_class) const;
  // Volumes that name the claim, "namespace/name", by name.
  const std::vector<const PersistentVolume*>& meant_for(std::string_view claim) const;
  const VolumeReach& reach(const PersistentVolume& unclaimed) const {
    return *reaches_.at(&unclaimed);
  }

 private:
  void add(const ReferredObject& object);
  void remove(const ReferredObject& object);

  BytesMap<std::string, OfClass> of_class_;
  BytesMap<std::string, std::vector<const PersistentVolume*>> of_claim_;
  tsl::robin_map<const PersistentVolume*, std::unique_ptr<const VolumeReach>> reaches_;
};

}  // namespace headroom
