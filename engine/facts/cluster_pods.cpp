// Cluster: pods, where they count, and where they wait for room.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/facts/cluster.h"

namespace headroom {

namespace {

std::string key_of(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

}  // namespace

PodId Cluster::pod_of(std::string_view key) {
  if (const auto found = pod_ids_.find(key); found != pod_ids_.end()) {
    return found->second;
  }
  PodId id = kNoPod;
  if (released_pods_.empty()) {
    id = facts_.pods.grow();
  } else {
    id = released_pods_.back();
    released_pods_.pop_back();
  }
  name_pod(id, std::string(key));
  journal_.put(PodIdAcquired{id});
  return id;
}

void Cluster::name_pod(PodId id, std::string key) {
  facts_.pods[id].key = std::move(key);
  pod_ids_.emplace(facts_.pods[id].key, id);
}

void Cluster::release_pod_if_unused(PodId id) {
  note_pod(id);
  if (!facts_.pods[id].known() && capacity_ != nullptr) {
    capacity_->clear_rank(facts_.pods[id]);
  }
  if (!facts_.pods[id].known()) {
    facts_.pods[id].host_ports.reset();
    shape_book_.give(facts_.pods[id], kNoShape);
    applications_.peers().give(facts_.pods[id], kNoPeer);
  }
  if (!facts_.pods[id].known() && facts_.pods[id].mentions == 0) {
    pod_ids_.erase(facts_.pods[id].key);
    journal_.put(PodIdReleased{id, std::move(facts_.pods[id].key)});
    facts_.pods[id] = {};
    released_pods_.push_back(id);
  }
}

void Cluster::move_to(std::uint32_t& named_row, std::uint32_t row) {
  if (row != kNoRow) {
    ++facts_.nodes[row].mentions;
    note_row(row);
  }
  const std::uint32_t old = named_row;
  named_row = row;
  if (old != kNoRow) {
    unmention(old);
  }
}

// A pod on no node that names one waits for room there; it counts while the node exists.
void Cluster::nominate(PodId id) {
  note_row(facts_.pods[id].rank.nominated_row);
  PodRank& rank = facts_.pods[id].rank;
  rank.nominated = true;
  NodeFacts& node = facts_.nodes[rank.nominated_row];
  if (node.nominated.empty()) {
    nominated_rows_.push_back(rank.nominated_row);
  }
  node.nominated.push_back(id);
  if (node.node != nullptr) {
    count_nominated(id, 1);
  }
}

void Cluster::withdraw_nomination(PodId id) {
  note_row(facts_.pods[id].rank.nominated_row);
  PodRank& rank = facts_.pods[id].rank;
  rank.nominated = false;
  NodeFacts& node = facts_.nodes[rank.nominated_row];
  std::erase(node.nominated, id);
  if (node.nominated.empty()) {
    std::erase(nominated_rows_, rank.nominated_row);
  }
  if (node.node != nullptr) {
    count_nominated(id, -1);
  }
}

void Cluster::count_nominated(PodId id, int sign) {
  note_pod(id);
  capacity_->count_nominated(id, sign);
}

// What a pod takes of a row by its shape and its ports.
void Cluster::add_to_row(std::uint32_t row, PodId id) {
  table_.add(row, facts_.shape_of(id).contributions);
  if (const auto& ports = facts_.pods[id].host_ports; ports != nullptr) {
    facts_.nodes[row].ports.add(*ports);
  }
}

void Cluster::subtract_from_row(std::uint32_t row, PodId id) {
  table_.subtract(row, facts_.shape_of(id).contributions);
  if (const auto& ports = facts_.pods[id].host_ports; ports != nullptr) {
    facts_.nodes[row].ports.remove(*ports);
  }
}

// Adds the pod to the row where it belongs now, if it counts at all.
void Cluster::count(PodId id) {
  note_pod(id);
  PodFacts& pod = facts_.pods[id];
  if (!pod.known() || pod.terminal) {
    return;
  }
  if (pod.row() == kNoRow) {
    if (pod.rank.nominated_row != kNoRow) {
      nominate(id);
    }
    return;
  }
  const std::uint32_t row = pod.counted_row = pod.row();
  add_to_row(row, id);
  bool first = false;
  for (const auto& policy : policies_) {
    first |= policy->count(row, id);
  }
  if (capacity_ != nullptr) {
    capacity_->count(row, id);
  }
  applications_.count(id);
  facts_.link(id, first);
}

void Cluster::uncount(PodId id) {
  note_pod(id);
  PodFacts& pod = facts_.pods[id];
  if (pod.rank.nominated) {
    withdraw_nomination(id);
  }
  const std::uint32_t row = pod.counted_row;
  if (row == kNoRow) {
    return;
  }
  facts_.unlink(id);
  applications_.uncount(id);
  if (capacity_ != nullptr) {
    capacity_->uncount(row, id);
  }
  subtract_from_row(row, id);
  for (const auto& policy : policies_) {
    policy->uncount(row, id);
  }
  pod.counted_row = kNoRow;
}

// Another pod under the same name: the older one and its reservation are gone. The pod is
// uncounted.
void Cluster::replace_if_other(PodFacts& pod, PodId id, const std::string& uid) {
  if (pod.known() && pod.uid == uid) {
    return;
  }
  pod_count_ -= pod.known();
  move_to(facts_.pods[id].bound_row, kNoRow);
  move_to(facts_.pods[id].assumed_row, kNoRow);
  move_to(facts_.pods[id].rank.nominated_row, kNoRow);
  facts_.pods[id].applied = false;
  facts_.pods[id].uid = uid;
  facts_.pods[id].first_seen_us = now_us_;
  ++pod_count_;
}

void Cluster::update_object(PodFacts& pod, const Pod& object, const PodShape& shape) {
  const auto since = [](const std::optional<PodCondition>& condition) {
    return condition && condition->is_true ? condition->last_transition_us : std::nullopt;
  };
  shape_book_.give(pod, shape.id);
  applications_.peers().give(pod, applications_.peers().of(object));
  pod.terminal = object.terminal();
  pod.scheduled_us = since(object.scheduled);
  pod.initialized_us = since(object.initialized);
  if (HostPorts ports = shape_book_.host_ports(object); !ports.empty()) {
    pod.host_ports = std::make_shared<const HostPorts>(std::move(ports));
  } else {
    pod.host_ports.reset();
  }
  if (capacity_ != nullptr) {
    capacity_->set_rank(pod, object);
    move_to(pod.rank.nominated_row,
            object.nominated_node_name.empty() ? kNoRow : row_of(object.nominated_node_name));
  }
}

// Everything but the key, whose text pod_ids_ refers to.
void Cluster::exchange(PodId id, PodFacts& facts) {
  PodFacts& pod = facts_.pods[id];
  pod_ids_.erase(pod.key);
  std::swap(pod, facts);
  std::swap(pod.key, facts.key);
  pod_ids_.emplace(pod.key, id);
}

Result<void> Cluster::check_room(const Pod& pod, std::size_t count) const {
  if (pod.name.empty()) {
    return fail(ErrorCode::kInvalid, "Pod: metadata.name is empty");
  }
  if (pod_ids_.size() + count > kPodsMax && !(count == 1 && pod_ids_.contains(key_of(pod)))) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: kPodsMax ({}) pods are known", key_of(pod), kPodsMax));
  }
  return {};
}

Result<void> Cluster::upsert(const Pod& object) {
  if (auto checked = check_room(object, 1); !checked) {
    return checked;
  }
  const auto shape = shape_book_.for_counting(object);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const PodId id = pod_of(pod_key_);
  remember(id);
  PodFacts& pod = facts_.pods[id];
  const std::uint32_t counted_before = pod.counted_row;
  const std::uint32_t row_before = pod.row();
  uncount(id);
  replace_if_other(pod, id, object.uid);
  pod.applied = true;
  update_object(pod, object, **shape);
  if (!object.node_name.empty()) {
    const std::uint32_t row = row_of(object.node_name);
    table_.prefetch(row);
    move_to(pod.bound_row, row);
    move_to(pod.assumed_row, kNoRow);
  } else if (profile_.mode == Mode::kUpstream) {
    move_to(pod.bound_row, kNoRow);
  }
  if (pod.row() != row_before) {
    pod.first_seen_us = now_us_;
  }
  recount(id, counted_before);
  journal_.put(PodBefore{id, nullptr});
  return {};
}

void Cluster::recount(PodId id, std::uint32_t row_before) {
  count(id);
  const std::uint32_t row = facts_.pods[id].counted_row;
  // A row that lost its last mention has been released.
  if (row_before != kNoRow && row_before != row && !facts_.nodes[row_before].name.empty()) {
    mark(row_before, Stale::kOnlyPods);
  }
  if (row != kNoRow) {
    mark(row, Stale::kOnlyPods);
  }
}

void Cluster::remove_pod(std::string_view key) {
  const auto found = pod_ids_.find(key);
  if (found == pod_ids_.end() || !facts_.pods[found->second].known()) {
    return;
  }
  const PodId id = found->second;
  remember(id);
  const std::uint32_t counted_before = facts_.pods[id].counted_row;
  if (counted_before != kNoRow) {
    table_.prefetch(counted_before);
  }
  uncount(id);
  facts_.pods[id].applied = false;
  --pod_count_;
  move_to(facts_.pods[id].bound_row, kNoRow);
  move_to(facts_.pods[id].assumed_row, kNoRow);
  move_to(facts_.pods[id].rank.nominated_row, kNoRow);
  recount(id, counted_before);
  release_pod_if_unused(id);
}

Result<void> Cluster::assume(const Pod& object, std::string_view node_name) {
  if (node_name.empty()) {
    return fail(ErrorCode::kInvalid, "assume: the node's name is empty");
  }
  if (auto checked = check_room(object, 1); !checked) {
    return checked;
  }
  const auto shape = shape_book_.for_counting(object);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  assume(object, **shape, row_of(node_name));
  return {};
}

void Cluster::assume(const Pod& object, const PodShape& shape, std::uint32_t row) {
  table_.prefetch(row);
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const PodId id = pod_of(pod_key_);
  PodFacts& pod = facts_.pods[id];
  const bool same = pod.known() && pod.uid == object.uid;
  if (same && pod.bound_row != kNoRow) {
    release_row_if_unused(row);
    return;
  }
  remember(id);
  ++facts_.nodes[row].mentions;  // keeps the row while the pod lets go of it
  const std::uint32_t counted_before = pod.counted_row;
  const std::uint32_t row_before = pod.row();
  uncount(id);
  replace_if_other(pod, id, object.uid);
  update_object(pod, object, *shape_book_.at(shape.counts_as));
  move_to(pod.assumed_row, row);
  --facts_.nodes[row].mentions;
  if (pod.row() != row_before) {
    pod.first_seen_us = now_us_;
  }
  recount(id, counted_before);
  journal_.put(PodBefore{id, nullptr});
}

// kube-scheduler's prepareCandidate.
std::vector<std::string> Cluster::preempt(const Pod& pod, std::uint32_t row,
                                          std::span<const std::string> victims) {
  const std::int32_t priority = capacity_->claim(pod).priority;
  std::vector<std::string> lesser;
  for (const PodId id : std::vector<PodId>(facts_.nodes[row].nominated)) {
    if (facts_.pods[id].rank.priority < priority && facts_.pods[id].uid != pod.uid) {
      remember(id);
      withdraw_nomination(id);
      move_to(facts_.pods[id].rank.nominated_row, kNoRow);
      lesser.push_back(facts_.pods[id].key);
    }
  }
  for (const std::string& victim : victims) {
    const PodId id = pod_ids_.find(victim)->second;
    remember(id);
    facts_.pods[id].rank.deleting = true;
  }
  Pod waits = pod;
  waits.nominated_node_name = facts_.nodes[row].name;
  // Its shape is known and there is room for it: nothing is refused.
  (void)upsert(waits);
  return lesser;
}

void Cluster::forget(std::string_view key, std::string_view uid, std::string_view node_name) {
  const auto found = pod_ids_.find(key);
  const std::uint32_t row = find_row(node_name);
  if (found == pod_ids_.end() || row == kNoRow) {
    return;
  }
  const PodId id = found->second;
  if (facts_.pods[id].uid != uid || facts_.pods[id].assumed_row != row ||
      facts_.pods[id].bound_row != kNoRow) {
    return;
  }
  remember(id);
  uncount(id);
  move_to(facts_.pods[id].assumed_row, kNoRow);
  facts_.pods[id].first_seen_us = now_us_;
  if (!facts_.pods[id].applied) {
    --pod_count_;
    move_to(facts_.pods[id].rank.nominated_row, kNoRow);
  }
  recount(id, row);
  release_pod_if_unused(id);
}

}  // namespace headroom
