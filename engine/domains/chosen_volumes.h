// ChosenVolumes: what pods that are assumed will have bound of their claims, so that whoever is
// decided before that takes another volume.
//
// As kube-scheduler's AssumePodVolumes keeps it from Reserve to Unreserve: a volume that a pod
// chose counts as claimed for the pod's claim, and a claim for which one will be made has the pod's
// node selected. The objects stay as they were told, and what they say of the same goes before: a
// volume with a claim is that claim's, a claim for which another volume is told has that one and
// not the chosen one (who binds may choose otherwise among equals), and one with a selected node
// waits for that. Volumes that count as claimed are kept beside the told ones, and are what the
// index of volumes has.
// Thread safety: one writer, or any number of readers. Invariant: the index has of each volume the
// claimed one, where there is one. Cost: nothing for pods without choices; a pod is O(its choices x
// what a change of the volume costs the index).
#pragma once

#include <tsl/robin_map.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/domains/volume_index.h"
#include "engine/kept/referred_objects.h"
#include "engine/table/facts.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

struct VolumeChoice {
  std::string claim, claim_uid;  // "namespace/name"
  std::string volume;            // ""; one is made on the pod's node

  friend bool operator==(const VolumeChoice&, const VolumeChoice&) = default;
};

class ChosenVolumes {
 public:
  using Choices = std::vector<VolumeChoice>;

  ChosenVolumes(const ReferredObjects& referred, VolumeIndex& index)
      : referred_(referred), index_(index) {}
  ChosenVolumes(const ChosenVolumes&) = delete;
  ChosenVolumes& operator=(const ChosenVolumes&) = delete;

  bool empty() const { return by_pod_.empty(); }
  // Nothing where the pod chose nothing.
  const Choices& of(PodId id) const;
  // Calls visit(pod, choices), in no order that means anything.
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [id, its] : by_pod_) {
      visit(id, its->choices);
    }
  }
  // The pod on whose node the claim's volume will be made; kNoPod: none.
  PodId provisions(const PersistentVolumeClaim& claim) const;

  // The pod has no choices yet; these are some.
  void add(PodId id, Choices choices);
  void remove(PodId id);
  // As if the pod, which has choices, had none, until it is brought back.
  void set_aside(PodId id);
  // Of one that is not aside nothing. `counts`: else read() comes, as it has to where this throws.
  void bring_back(PodId id, bool counts);
  // An object is told anew, or no more; nullptr: there is, or was, none. Tells the index.
  void change(const ReferredObject* before, const ReferredObject* after);
  // All that follows from the choices, anew, into an index of what is told.
  void read();

  // Makes an index of what is told one with the claimed volumes.
  void tell(VolumeIndex& index) const;
  // Whether all that follows from the choices is what it should be.
  bool consistent() const;

 private:
  struct OfPod {
    explicit OfPod(Choices its) : choices(std::move(its)) {}

    const Choices choices;
    bool aside = false;
  };
  struct OfVolume {
    std::vector<const VolumeChoice*> choices;
    std::unique_ptr<const ReferredObject> claimed;  // nullptr: it is as it was told, or not there
  };
  using OfClaim = std::vector<std::pair<const VolumeChoice*, PodId>>;

  void count(PodId id, const OfPod& pod);
  void uncount(PodId id, const OfPod& pod);
  // Whether a volume is told for the claim that is not the chosen one.
  bool has_another(const VolumeChoice& choice) const;
  // After the volume was told: for the claim that it names.
  void replace_others_of_claim(const ReferredObject* told);
  std::unique_ptr<const ReferredObject> make_claimed(const OfVolume& volume,
                                                     const ReferredObject* told) const;
  void replace(OfVolume& volume, const ReferredObject* before, const ReferredObject* after);
  void replace(std::string_view name, OfVolume& volume);

  const ReferredObjects& referred_;
  VolumeIndex& index_;
  tsl::robin_map<PodId, std::unique_ptr<OfPod>> by_pod_;  // the others refer to its choices
  BytesMap<std::string, OfVolume> by_volume_;
  BytesMap<std::string, OfClaim> by_claim_;
};

}  // namespace headroom
