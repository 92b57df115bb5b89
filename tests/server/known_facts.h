// KnownFacts: the model of what one headroomd has been told: an engine that was told the same, and
// beside it the pods that wait, by name and by uid, written as plainly as can be.
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/support/service_harness.h"

namespace headroom::in_memory {

class KnownFacts {
 public:
  KnownFacts(const Profile& profile, bool time_is_the_feeders)
      : engine(std::make_unique<Engine>(std::move(*Engine::create(profile, {.threads = 1})))),
        feeder_time(time_is_the_feeders) {}

  // A clock that was set back by more than a minute is followed; by less it is waited for.
  void follow(std::int64_t wall_us) {
    if (feeder_time) return;
    if (engine->now_us() - wall_us > 60 * kSecondUs) {
      engine->correct_clock(wall_us);
    } else if (wall_us > engine->now_us()) {
      ASSERT_TRUE(engine->advance(wall_us));
    }
  }

  void apply(const Fact& fact) {
    if (const auto* removed = std::get_if<Removed>(&fact)) {
      apply_removed(*removed);
    } else if (const auto* referred = std::get_if<RemovedReferred>(&fact)) {
      engine->remove(*parse_referred_kind(referred->kind), referred->key);
    } else {
      tell(*engine, fact);
      const auto* pod = std::get_if<Pod>(&fact);
      if (pod == nullptr) return;
      ended_.erase(pod_key(*pod));
      if (pod->terminal()) ended_[pod_key(*pod)] = pod->uid;
      if (pod->node_name.empty() && !pod->terminal()) {
        put(*pod);
      } else {
        remove(pod_key(*pod));
      }
    }
  }

  std::size_t pending() const { return pending_.size(); }
  const Pod* of_key(const std::string& key) const {
    const auto found = pending_.find(key);
    return found == pending_.end() ? nullptr : &found->second;
  }
  // The pod that was put last with it, as long as that one waits with it.
  const Pod* of_uid(const std::string& uid) const {
    const auto found = key_of_uid_.find(uid);
    return found == key_of_uid_.end() ? nullptr : &pending_.at(found->second);
  }

  // The pod, not another one of its name, was fed as terminal.
  bool has_ended(const Pod& pod) const {
    const auto found = ended_.find(pod_key(pod));
    return found != ended_.end() && found->second == pod.uid;
  }
  // It counts on a node from now on, instead of what had its name.
  void reserved(const Pod& pod) { ended_.erase(pod_key(pod)); }

  std::unique_ptr<Engine> engine;
  bool feeder_time;               // the feeder gives the time
  std::set<std::string> settled;  // in a resync: reservations that its facts end, by pod key

 private:
  void apply_removed(const Removed& removed) {
    switch (removed.kind) {
      case wire::Fact::RemovedNode:
        engine->remove_node(removed.name);
        break;
      case wire::Fact::RemovedNodeMetric:
        engine->remove_node_metric(removed.name);
        break;
      case wire::Fact::RemovedElasticQuota:
        engine->remove_elastic_quota(removed.namespace_name, removed.name);
        break;
      case wire::Fact::RemovedPod:
        engine->remove_pod(removed.namespace_name, removed.name);
        remove(pod_key(removed.namespace_name, removed.name));
        ended_.erase(pod_key(removed.namespace_name, removed.name));
        break;
      default:
        FAIL() << "a fact that the model does not know";
    }
  }

  void put(const Pod& pod) {
    remove(pod_key(pod));
    pending_[pod_key(pod)] = pod;
    key_of_uid_[pod.uid] = pod_key(pod);
  }
  void remove(const std::string& key) {
    const auto found = pending_.find(key);
    if (found == pending_.end()) return;
    const auto named = key_of_uid_.find(found->second.uid);
    if (named != key_of_uid_.end() && named->second == key) key_of_uid_.erase(named);
    pending_.erase(found);
  }

  std::map<std::string, Pod> pending_;             // fed as waiting, by key
  std::map<std::string, std::string> key_of_uid_;  // of those
  std::map<std::string, std::string> ended_;       // fed as terminal: uid by key
};

}  // namespace headroom::in_memory
