#include "engine/domains/chosen_volumes.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace headroom {

const ChosenVolumes::Choices& ChosenVolumes::of(PodId id) const {
  static const Choices kNone;
  const auto found = by_pod_.find(id);
  return found == by_pod_.end() ? kNone : found->second->choices;
}

// A claim of another uid is another one.
PodId ChosenVolumes::provisions(const PersistentVolumeClaim& claim) const {
  if (by_claim_.empty()) {
    return kNoPod;
  }
  const auto found = by_claim_.find(pod_key(claim.namespace_name, claim.name));
  if (found == by_claim_.end()) {
    return kNoPod;
  }
  for (const auto& [choice, id] : found->second) {
    if (choice->volume.empty() && choice->claim_uid == claim.uid) {
      return id;  // all of them have one node
    }
  }
  return kNoPod;
}

void ChosenVolumes::add(PodId id, Choices choices) {
  const auto made = by_pod_.emplace(id, std::make_unique<OfPod>(std::move(choices))).first;
  count(id, *made->second);
}

void ChosenVolumes::remove(PodId id) {
  const auto found = by_pod_.find(id);
  if (found == by_pod_.end()) {
    return;
  }
  const std::unique_ptr<const OfPod> gone = std::move(found.value());
  by_pod_.erase(found);  // whatever happens to the rest
  if (!gone->aside) {
    uncount(id, *gone);
  }
}

void ChosenVolumes::set_aside(PodId id) {
  OfPod& pod = *by_pod_.at(id);
  uncount(id, pod);
  pod.aside = true;
}

void ChosenVolumes::bring_back(PodId id, bool counts) {
  OfPod& pod = *by_pod_.at(id);
  if (std::exchange(pod.aside, false) && counts) {
    count(id, pod);
  }
}

void ChosenVolumes::change(const ReferredObject* before, const ReferredObject* after) {
  const auto* volume = std::get_if<PersistentVolume>(after != nullptr ? after : before);
  const auto found =
      volume == nullptr || by_volume_.empty() ? by_volume_.end() : by_volume_.find(volume->name);
  if (found == by_volume_.end()) {
    index_.change(before, after);
  } else {
    replace(found.value(), before, after);
  }
  if (volume != nullptr && !by_claim_.empty()) {
    replace_others_of_claim(before);
    replace_others_of_claim(after);
  }
}

void ChosenVolumes::replace_others_of_claim(const ReferredObject* told) {
  if (told == nullptr || std::get<PersistentVolume>(*told).claim_name.empty()) {
    return;
  }
  const auto& its = std::get<PersistentVolume>(*told);
  const auto found = by_claim_.find(pod_key(its.claim_namespace, its.claim_name));
  if (found == by_claim_.end()) {
    return;
  }
  for (const auto& [choice, id] : found->second) {
    if (!choice->volume.empty()) {
      replace(choice->volume, by_volume_.find(choice->volume).value());
    }
  }
}

void ChosenVolumes::read() {
  by_volume_.clear();
  by_claim_.clear();
  for (const auto& [id, pod] : by_pod_) {
    if (!pod->aside) {
      count(id, *pod);
    }
  }
}

void ChosenVolumes::count(PodId id, const OfPod& pod) {
  for (const VolumeChoice& choice : pod.choices) {
    by_claim_[choice.claim].emplace_back(&choice, id);
    if (choice.volume.empty()) {
      continue;
    }
    OfVolume& volume = by_volume_[choice.volume];
    volume.choices.push_back(&choice);
    replace(choice.volume, volume);
  }
}

void ChosenVolumes::uncount(PodId id, const OfPod& pod) {
  for (const VolumeChoice& choice : pod.choices) {
    const auto of_claim = by_claim_.find(choice.claim);
    std::erase(of_claim.value(), std::pair(&choice, id));
    if (of_claim->second.empty()) {
      by_claim_.erase(of_claim);
    }
    if (choice.volume.empty()) {
      continue;
    }
    const auto found = by_volume_.find(choice.volume);
    std::erase(found.value().choices, &choice);
    replace(choice.volume, found.value());
    if (found->second.choices.empty()) {
      by_volume_.erase(found);
    }
  }
}

// The index has told volumes, and claimed ones instead of some.
bool ChosenVolumes::has_another(const VolumeChoice& choice) const {
  const auto& meant = index_.meant_for(choice.claim);
  return std::any_of(meant.begin(), meant.end(), [&](const PersistentVolume* its) {
    return its->name != choice.volume &&
           (its->claim_uid.empty() || its->claim_uid == choice.claim_uid) &&
           its == referred_.find<PersistentVolume>(ReferredKind::kPersistentVolume, its->name);
  });
}

// nullptr: nobody chose it, it is not there, or it has a claim. Who chose it did so for one claim,
// or after another volume was told for the other; where only some knew its uid the volume says
// none.
std::unique_ptr<const ReferredObject> ChosenVolumes::make_claimed(
    const OfVolume& volume, const ReferredObject* told) const {
  if (told == nullptr || !std::get<PersistentVolume>(*told).claim_name.empty()) {
    return nullptr;
  }
  const VolumeChoice* first = nullptr;
  for (const VolumeChoice* choice : volume.choices) {
    const bool earlier = first == nullptr || std::tie(choice->claim_uid, choice->claim) <
                                                 std::tie(first->claim_uid, first->claim);
    if (earlier && !has_another(*choice)) {
      first = choice;
    }
  }
  if (first == nullptr) {
    return nullptr;
  }
  const VolumeChoice& choice = *first;
  PersistentVolume its = std::get<PersistentVolume>(*told);
  const std::size_t slash = choice.claim.find('/');
  its.claim_namespace = choice.claim.substr(0, slash);
  its.claim_name = choice.claim.substr(slash + 1);
  its.claim_uid = choice.claim_uid;
  return std::make_unique<const ReferredObject>(std::move(its));
}

void ChosenVolumes::replace(OfVolume& volume, const ReferredObject* before,
                            const ReferredObject* after) {
  std::unique_ptr<const ReferredObject> now = make_claimed(volume, after);
  index_.change(volume.claimed != nullptr ? volume.claimed.get() : before,
                now != nullptr ? now.get() : after);
  volume.claimed = std::move(now);
}

void ChosenVolumes::replace(std::string_view name, OfVolume& volume) {
  const auto told = referred_.at(ReferredKind::kPersistentVolume, name);
  replace(volume, told.get(), told.get());
}

void ChosenVolumes::tell(VolumeIndex& index) const {
  for (const auto& [name, volume] : by_volume_) {
    if (volume.claimed != nullptr) {
      index.change(referred_.at(ReferredKind::kPersistentVolume, name).get(), volume.claimed.get());
    }
  }
}

bool ChosenVolumes::consistent() const {
  std::size_t of_volumes = 0, of_claims = 0;
  for (const auto& [id, pod] : by_pod_) {
    if (pod->choices.empty() || pod->aside) {
      return false;
    }
    for (const VolumeChoice& choice : pod->choices) {
      const auto of_claim = by_claim_.find(choice.claim);
      if (of_claim == by_claim_.end() ||
          std::count(of_claim->second.begin(), of_claim->second.end(), std::pair(&choice, id)) !=
              1) {
        return false;
      }
      ++of_claims;
      if (choice.volume.empty()) {
        continue;
      }
      const auto found = by_volume_.find(choice.volume);
      if (found == by_volume_.end() ||
          std::count(found->second.choices.begin(), found->second.choices.end(), &choice) != 1) {
        return false;
      }
      ++of_volumes;
    }
  }
  for (const auto& [claim, choices] : by_claim_) {
    of_claims -= choices.size();
  }
  for (const auto& [name, volume] : by_volume_) {
    of_volumes -= volume.choices.size();
    const auto should =
        make_claimed(volume, referred_.at(ReferredKind::kPersistentVolume, name).get());
    if ((should == nullptr) != (volume.claimed == nullptr) ||
        (should != nullptr && *should != *volume.claimed)) {
      return false;
    }
  }
  return of_volumes == 0 && of_claims == 0;
}

}  // namespace headroom
