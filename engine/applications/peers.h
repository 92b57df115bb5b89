// Peers: what decisions about other pods read of a pod on a node, each once.
//
// Pods of one namespace with equal labels and terms (those of one application, mostly) are one
// peer, so that a selector is held against each peer, never against each pod. A peer knows the
// pods of it that count, and which counters of applications they feed. Pods with volumes (each of a
// StatefulSet has its own) are a peer of their own, of the same kin: the peer that says the same
// without volumes, which knows all these.
// Thread safety: one thread at a time. Cost: a pod is a look-up by what it says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/applications/label_bits.h"
#include "engine/profile/profile.h"
#include "engine/table/facts.h"
#include "layout/free_numbers.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

struct Application;

// What a pod of the peer adds to a counter where it counts.
struct Feed {
  std::uint32_t counter = 0;
  std::int64_t weight = 0;  // while it counts
  // What preemption takes off when it takes the pod away in thought: the weight, but for
  // kube-scheduler's PodTopologySpread, which takes off pods that it never counted.
  std::int64_t given_back = 0;
};

struct Subscription {
  Application* application;
  Feed feed;
};

struct PodPeer {
  PeerId id = kNoPeer;
  PeerId kin = kNoPeer;
  std::string key;  // what its pods have in common
  std::uint64_t key_hash = 0;
  std::string namespace_name;
  std::vector<Volume> volumes;  // an ephemeral one with its claim's name
  std::string uid;              // of the only pod, where it has an ephemeral volume
  std::uint32_t users = 0;      // pods that are known, and others who hold it

  // --- Of kin ---
  StringMap labels;
  bool deleting = false;
  PodAffinity affinity, anti_affinity;
  LabelBits label_bits;  // of its labels and terms
  PodId first_pod = kNoPod;
  std::vector<Subscription> subscriptions;

  bool has_terms() const { return !affinity.empty() || !anti_affinity.empty(); }
  bool crosses = false;  // some term means pods of other namespaces too
};

// Whether some term may mean pods of other namespaces than its owner's.
bool crosses_namespaces(const PodAffinity& affinity);

class PeerBook {
 public:
  PeerBook(const Profile& profile, Facts& facts);
  PeerBook(const PeerBook&) = delete;
  PeerBook& operator=(const PeerBook&) = delete;

  // Whether some plugin of the profile reads peers at all: else there are none.
  bool keeps() const { return keeps_; }
  // Called where kin is new, before a pod of it counts, and where it is about to go.
  void on_change(std::function<void(PodPeer&)> made, std::function<void(PodPeer&)> gone) {
    made_ = std::move(made);
    gone_ = std::move(gone);
  }

  // The pod is of that peer now; kNoPeer: of none.
  void give(PodFacts& facts, PeerId id);
  PeerId of(const Pod& pod);
  // Of the same, where it is being deleted; kNoPeer of none.
  PeerId of_deleted(PeerId id);
  // By the key of a state file. kInvalid for bytes that are no key.
  Result<PeerId> of_key(std::string_view key);
  void hold(PeerId id) { ++peers_[id]->users; }
  void release(PeerId id);

  const PodPeer& at(PeerId id) const { return *peers_[id]; }
  PodPeer& at(PeerId id) { return *peers_[id]; }
  std::uint32_t id_limit() const { return static_cast<std::uint32_t>(peers_.size()); }
  bool is_kin(PeerId id) const {
    return id < peers_.size() && peers_[id] != nullptr && peers_[id]->kin == id;
  }
  const PodPeer& kin_of(PeerId id) const { return *peers_[peers_[id]->kin]; }
  // Kin, in no order that means anything.
  const std::vector<PeerId>& in_namespace(std::string_view name) const;
  // Those whose terms mean pods of other namespaces too.
  const std::vector<PeerId>& crossing() const { return crossing_; }

  // The list of the kin's pods that count.
  void link(PodId id);
  void unlink(PodId id);
  template <typename Visit>
  void each_pod(const PodPeer& kin, Visit visit) const {
    for (PodId id = kin.first_pod; id != kNoPod; id = facts_.pods[id].peer_next) {
      visit(id);
    }
  }

 private:
  void write_key(const Pod& pod);
  PeerId find_or_make();  // of key_
  void drop(PeerId id);

  Facts& facts_;
  const bool keeps_, affinity_, volumes_;
  std::vector<std::unique_ptr<PodPeer>> peers_;
  FreeNumbers free_;
  BytesMap<std::string_view, PeerId> ids_;  // into PodPeer::key
  BytesMap<std::string, std::vector<PeerId>> of_namespace_;
  std::vector<PeerId> crossing_;
  std::function<void(PodPeer&)> made_, gone_;
  std::string key_;  // scratch
};

}  // namespace headroom
