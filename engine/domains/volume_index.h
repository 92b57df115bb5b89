// VolumeIndex: which volumes without a claim, and which storage, a node's labels lead to, so that a
// claim that waits is held against few on each node.
//
// A volume is usable where its node affinity says; CSI drivers tell the capacity of storage by
// topology. Both mostly ask for one label with one value (a hostname, a zone): they are found by
// it, as a domain of the key, which the index holds in the topology. Follows from the objects.
// Thread safety: one writer, or any number of readers; refers to the objects. Cost: a change is
// O(log those of the same label and value), with a key that is new O(nodes); a look O(label keys
// that are asked for + what is visited).
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domains/topology.h"
#include "engine/kept/referred_objects.h"
#include "engine/table/node_class.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// Where a volume can be used: by its node affinity. Names are not looked at, and terms that no node
// can match are left out, as NodeAffinity does.
class VolumeReach {
 public:
  explicit VolumeReach(const PersistentVolume& volume);

  bool has(const KeptNode& node) const;

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
  // With what a node reads first, so that it goes to the object only where that is enough.
  struct Object {
    const T* its;
    std::int64_t bytes_max;  // no claim for more can have it
    std::int64_t capacity_bytes;
    bool asks_for_more;  // than that label: it has to be asked
    bool operator<(const Object& other) const { return comes_first(*its, *other.its); }
    friend bool operator==(const Object&, const Object&) = default;
  };

  void add(Topology& topology, const T& object);
  void remove(Topology& topology, const T& object);
  // What it holds; it is not used any more.
  void release(Topology& topology) const;
  bool empty() const { return size_ == 0; }
  // How often each() calls: once a value for an object that asks for several.
  std::size_t size() const { return size_; }
  template <typename Visit>
  void each(Visit visit) const {
    const auto visit_one = [&](const Object& object) {
      visit(object.its);
      return false;
    };
    others_.find(visit_one);
    for (const OfKey& of_key : by_key_) {
      for (const auto& of_domain : of_key.by_domain) {
        of_domain.second.find(visit_one);
      }
    }
  }
  // The first that takes(object) takes, of all that may want the row's node; or nullptr. Valid
  // until one is added or removed.
  template <typename Takes>
  const Object* first(const Topology& topology, std::uint32_t row, Takes takes) const {
    const Object* found = nullptr;
    const auto look = [&](const List& list) {
      const Object* its = list.find([&](const Object& object) {
        return (found != nullptr && !(object < *found)) || takes(object);
      });
      found = its != nullptr && (found == nullptr || *its < *found) ? its : found;
    };
    look(others_);
    for (const OfKey& of_key : by_key_) {
      const DomainId domain = topology.domain(of_key.key, row);
      const auto its = domain == kNoDomain ? of_key.by_domain.end() : of_key.by_domain.find(domain);
      if (its != of_key.by_domain.end()) {
        look(its->second);
      }
    }
    return found;
  }
  // Of the same objects, with the same topology.
  friend bool operator==(const ByLabel& a, const ByLabel& b) {
    return a.size_ == b.size_ && a.others_ == b.others_ &&
           std::is_permutation(a.by_key_.begin(), a.by_key_.end(), b.by_key_.begin(),
                               b.by_key_.end());
  }

 private:
  // Objects in their order. The first lies in the list itself: where each node has its own there
  // is no other, and who looks at all nodes need not wait for another line of memory.
  class List {
   public:
    bool insert(const Object& object);  // false: it is there
    bool erase(const Object& object);   // false: it is not there
    bool empty() const { return first_.its == nullptr; }
    std::size_t size() const {
      return empty() ? 0 : 1 + (others_ == nullptr ? 0 : others_->size());
    }
    // The first for which is_it(object) holds, or nullptr.
    template <typename IsIt>
    const Object* find(IsIt is_it) const {
      if (empty()) {
        return nullptr;
      }
      if (is_it(first_)) {
        return &first_;
      }
      if (others_ == nullptr) {
        return nullptr;
      }
      const auto found = std::find_if(others_->begin(), others_->end(), is_it);
      return found == others_->end() ? nullptr : &*found;
    }
    friend bool operator==(const List& a, const List& b) {
      return a.first_ == b.first_ && a.size() == b.size() &&
             (a.size() < 2 || *a.others_ == *b.others_);
    }

   private:
    Object first_{};
    std::unique_ptr<std::set<Object>> others_;  // nullptr: none
  };
  struct OfKey {
    TopologyKeyId key;
    tsl::robin_map<DomainId, List> by_domain;

    friend bool operator==(const OfKey&, const OfKey&) = default;
  };

  auto find(const Topology& topology, std::string_view key);

  std::vector<OfKey> by_key_;  // of a key while some object asks for it
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

  explicit VolumeIndex(Topology& topology) : topology_(topology) {}
  ~VolumeIndex();
  VolumeIndex(const VolumeIndex&) = delete;
  VolumeIndex& operator=(const VolumeIndex&) = delete;
  // Knows nothing any more; for a topology that is about to release all.
  void forget() noexcept;

  // The object is another one now; nullptr: there is, or was, none.
  void change(const ReferredObject* before, const ReferredObject* after);
  // Into one that knows nothing.
  void read(const ReferredObjects& objects);

  // The same of the same objects, with the same topology.
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

  Topology& topology_;
  BytesMap<std::string, OfClass> of_class_;
  BytesMap<std::string, std::vector<const PersistentVolume*>> of_claim_;
  tsl::robin_map<const PersistentVolume*, std::unique_ptr<const VolumeReach>> reaches_;
};

}  // namespace headroom
