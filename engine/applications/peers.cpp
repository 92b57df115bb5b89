#include "engine/applications/peers.h"

#include <algorithm>

#include "engine/kept/value_bytes.h"
#include "objects/assert.h"

namespace headroom {

namespace {

void erase(std::vector<PeerId>& list, PeerId id) {
  const auto found = std::find(list.begin(), list.end(), id);
  *found = list.back();
  list.pop_back();
}

}  // namespace

bool crosses_namespaces(const PodAffinity& affinity) {
  const auto crosses = [](const PodAffinityTerm& term) {
    return !term.namespaces.empty() || term.namespace_selector;
  };
  return std::any_of(affinity.required.begin(), affinity.required.end(), crosses) ||
         std::any_of(affinity.preferred.begin(), affinity.preferred.end(), crosses);
}

PeerBook::PeerBook(const Profile& profile, Facts& facts)
    : facts_(facts),
      keeps_(profile.uses({PluginId::kPodTopologySpread, PluginId::kInterPodAffinity,
                           PluginId::kVolumeRestrictions, PluginId::kNodeVolumeLimits})),
      affinity_(profile.uses({PluginId::kInterPodAffinity})),
      volumes_(profile.uses({PluginId::kVolumeRestrictions, PluginId::kNodeVolumeLimits})) {}

void PeerBook::write_key(const Pod& pod) {
  ValueWriter writer(std::move(key_));
  writer(pod.namespace_name, pod.labels, pod.deleting);
  if (affinity_) {
    writer(pod.pod_affinity, pod.pod_anti_affinity);
  } else {
    writer(PodAffinity(), PodAffinity());
  }
  std::vector<Volume> volumes;
  bool ephemeral = false;
  for (std::size_t v = 0; volumes_ && v < pod.volumes.size(); ++v) {
    const Volume& volume = pod.volumes[v];
    if (!volume.claim && !volume.ephemeral && !volume.disk) {
      continue;
    }
    Volume& kept = volumes.emplace_back(volume);
    kept.image.clear();
    if (kept.ephemeral) {
      kept.claim = pod.name + "-" + volume.name;
      ephemeral = true;
    }
  }
  writer(volumes, ephemeral ? pod.uid : std::string());
  key_ = std::move(writer).take();
}

PeerId PeerBook::of(const Pod& pod) {
  if (!keeps_) {
    return kNoPeer;
  }
  write_key(pod);
  return find_or_make();
}

PeerId PeerBook::of_deleted(PeerId id) {
  if (id == kNoPeer) {
    return kNoPeer;
  }
  const PodPeer &peer = *peers_[id], &kin = *peers_[peer.kin];
  ValueWriter writer(std::move(key_));
  writer(peer.namespace_name, kin.labels, true, kin.affinity, kin.anti_affinity, peer.volumes,
         peer.uid);
  key_ = std::move(writer).take();
  return find_or_make();
}

Result<PeerId> PeerBook::of_key(std::string_view key) {
  key_ = key;
  ValueReader reader(key);
  PodPeer read;
  reader(read.namespace_name, read.labels, read.deleting, read.affinity, read.anti_affinity,
         read.volumes, read.uid);
  if (!keeps_ || reader.failed() || !reader.at_end()) {
    return fail(ErrorCode::kInvalid, "no key of a pod's peers");
  }
  return find_or_make();
}

PeerId PeerBook::find_or_make() {
  if (const auto known = ids_.find(std::string_view(key_)); known != ids_.end()) {
    return known->second;
  }
  PodPeer read;
  ValueReader reader(key_);
  reader(read.namespace_name, read.labels, read.deleting, read.affinity, read.anti_affinity,
         read.volumes, read.uid);
  HEADROOM_ASSERT(!reader.failed());
  read.key = key_;
  read.key_hash = hash_bytes(read.key);
  PeerId kin = kNoPeer;
  if (!read.volumes.empty()) {
    ValueWriter writer(std::move(key_));
    writer(read.namespace_name, read.labels, read.deleting, read.affinity, read.anti_affinity,
           std::vector<Volume>(), std::string());
    key_ = std::move(writer).take();
    kin = find_or_make();
    read.labels.clear();
    read.affinity = read.anti_affinity = {};
  }
  const PeerId id = free_.next([this] {
    peers_.emplace_back();
    return id_limit() - 1;
  });
  peers_[id] = std::make_unique<PodPeer>(std::move(read));
  free_.take();
  PodPeer& peer = *peers_[id];
  peer.id = id;
  peer.kin = kin == kNoPeer ? id : kin;
  ids_.emplace(peer.key, id);
  if (peer.kin != id) {
    hold(peer.kin);
    return id;
  }
  of_namespace_[peer.namespace_name].push_back(id);
  peer.label_bits.add(peer.labels);
  peer.label_bits.add(peer.affinity);
  peer.label_bits.add(peer.anti_affinity);
  peer.crosses = crosses_namespaces(peer.affinity) || crosses_namespaces(peer.anti_affinity);
  if (peer.crosses) {
    crossing_.push_back(id);
  }
  made_(peer);
  return id;
}

void PeerBook::give(PodFacts& facts, PeerId id) {
  if (id != kNoPeer) {
    hold(id);
  }
  if (const PeerId before = std::exchange(facts.peer, id); before != kNoPeer) {
    release(before);
  }
}

void PeerBook::release(PeerId id) {
  PodPeer& peer = *peers_[id];
  HEADROOM_ASSERT(peer.users != 0);
  if (--peer.users != 0) {
    return;
  }
  const PeerId kin = peer.kin;
  if (kin != id) {
    drop(id);
    release(kin);
    return;
  }
  HEADROOM_ASSERT(peer.first_pod == kNoPod);
  gone_(peer);
  const auto listed = of_namespace_.find(peer.namespace_name);
  erase(listed.value(), id);
  if (listed->second.empty()) {
    of_namespace_.erase(listed);
  }
  if (peer.crosses) {
    erase(crossing_, id);
  }
  drop(id);
}

void PeerBook::drop(PeerId id) {
  ids_.erase(std::string_view(peers_[id]->key));
  peers_[id].reset();
  free_.give(id);
}

const std::vector<PeerId>& PeerBook::in_namespace(std::string_view name) const {
  static const std::vector<PeerId> kNone;
  const auto found = of_namespace_.find(name);
  return found == of_namespace_.end() ? kNone : found->second;
}

void PeerBook::link(PodId id) {
  PodFacts& pod = facts_.pods[id];
  PodPeer& kin = *peers_[peers_[pod.peer]->kin];
  pod.peer_previous = kNoPod;
  pod.peer_next = kin.first_pod;
  if (kin.first_pod != kNoPod) {
    facts_.pods[kin.first_pod].peer_previous = id;
  }
  kin.first_pod = id;
}

void PeerBook::unlink(PodId id) {
  PodFacts& pod = facts_.pods[id];
  (pod.peer_previous != kNoPod ? facts_.pods[pod.peer_previous].peer_next
                               : peers_[peers_[pod.peer]->kin]->first_pod) = pod.peer_next;
  if (pod.peer_next != kNoPod) {
    facts_.pods[pod.peer_next].peer_previous = pod.peer_previous;
  }
  pod.peer_next = pod.peer_previous = kNoPod;
}

}  // namespace headroom
