// Cluster: pods, and where they count.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/cluster/cluster.h"
#include "engine/kept/check_times.h"

namespace headroom {

namespace {

// Of an object that lies in another core's cache, or was made long ago.
void prefetch_parts(const Pod& pod) {
  prefetch_list(pod.name);
  prefetch_list(pod.uid);
  prefetch_list(pod.node_name);
  prefetch_list(pod.labels);
  prefetch_list(pod.annotations);
  prefetch_list(pod.init_containers);
  prefetch_list(pod.containers);
}
void prefetch_parts(const std::vector<Container>& containers) {
  for (const Container& container : containers) {
    prefetch_list(container.requests);
    prefetch_list(container.limits);
  }
}

}  // namespace

PodId Cluster::find_pod(std::string_view key, NameIndex::Hash hash) const {
  static_assert(kNoPod == NameIndex::kNone);
  return pod_ids_.find(hash, [&](PodId id) { return facts_.pods[id].key == key; });
}

PodId Cluster::pod_of(std::string_view key, NameIndex::Hash hash) {
  if (const PodId known = find_pod(key, hash); known != kNoPod) {
    return known;
  }
  const PodId id = released_pods_.take([this] { return facts_.pods.grow(); });
  name_pod(id, std::string(key), hash);
  journal_.put(PodIdAcquired{id});
  return id;
}

void Cluster::name_pod(PodId id, std::string key, NameIndex::Hash hash) {
  facts_.pods[id].key = std::move(key);
  facts_.pods[id].key_hash = hash;
  pod_ids_.insert(hash, id);
}

void Cluster::release_pod_if_unused(PodId id) {
  note_pod(id);
  if (!facts_.pods[id].known()) {
    clear_rank(facts_.pods[id]);
    facts_.pods[id].host_ports.reset();
    shape_book_.give(facts_.pods[id], kNoShape);
    applications_.peers().give(facts_.pods[id], kNoPeer);
  }
  if (!facts_.pods[id].known() && facts_.pods[id].mentions == 0) {
    pod_ids_.erase(facts_.pods[id].key_hash, id);
    journal_.put(PodIdReleased{id, std::move(facts_.pods[id].key)});
    facts_.pods[id] = {};
    released_pods_.give(id);
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
  bad_annotations_ += !facts_.shape_of(id).ignored.empty();
  bool first = false;
  for (const auto& policy : policies_) {
    first |= policy->count(row, id);
  }
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->count(row, id);
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
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->uncount(row, id);
  }
  subtract_from_row(row, id);
  bad_annotations_ -= !facts_.shape_of(id).ignored.empty();
  for (const auto& policy : policies_) {
    policy->uncount(row, id);
  }
  pod.counted_row = kNoRow;
}

// Another pod under the same name: the older one and its reservation are gone. The pod is
// uncounted.
void Cluster::replace_if_other(PodId id, const std::string& uid) {
  PodFacts& pod = facts_.pods[id];
  if (pod.known() && pod.uid == uid) {
    return;
  }
  pod_count_ -= pod.known();
  move_to(pod.bound_row, kNoRow);
  move_to(pod.assumed_row, kNoRow);
  move_to(pod.rank.nominated_row, kNoRow);
  pod.applied = false;
  pod.uid = PodUid(uid);
  pod.first_seen_us = now_us_;
  ++pod_count_;
}

void Cluster::update_object(PodFacts& pod, const Pod& object, const PodShape& shape) {
  const auto since = [](const std::optional<PodCondition>& condition) {
    return condition && condition->is_true ? condition->last_transition_us : std::nullopt;
  };
  shape_book_.give(pod, shape.id);
  applications_.peers().give(pod, applications_.peers().of(object));
  pod.terminal = object.terminal();
  pod.set_conditions(since(object.scheduled), since(object.initialized));
  if (HostPorts ports = shape_book_.host_ports(object); !ports.empty()) {
    pod.host_ports = std::make_shared<const HostPorts>(std::move(ports));
  } else {
    pod.host_ports.reset();
  }
  priorities_.set(pod.rank, object);
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->set_rank(pod, object);
  }
  move_to(pod.rank.nominated_row,
          object.nominated_node_name.empty() ? kNoRow : row_of(object.nominated_node_name));
}

void Cluster::clear_rank(PodFacts& pod) {
  priorities_.clear(pod.rank);
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->clear_rank(pod);
  }
}

// Everything but the key.
void Cluster::swap_facts(PodId id, PodFacts& facts) {
  PodFacts& pod = facts_.pods[id];
  std::swap(pod, facts);
  std::swap(pod.key, facts.key);
  std::swap(pod.key_hash, facts.key_hash);
}

Result<void> Cluster::check_room(const Pod& pod, std::size_t count) const {
  if (pod.name.empty()) {
    return fail(ErrorCode::kInvalid, "Pod: metadata.name is empty");
  }
  if (pod_ids_.size() + count > kPodsMax && !(count == 1 && find_pod(pod_key(pod)) != kNoPod)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: kPodsMax ({}) pods are known", pod_key(pod), kPodsMax));
  }
  if (auto checked = check_times(pod); !checked) {
    return checked;
  }
  if (rows_.size() + 2 * count > kNodesMax &&
      !(has_room_for(pod.node_name) && has_room_for(pod.nominated_node_name))) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: spec.nodeName, status.nominatedNodeName: kNodesMax ({}) names "
                            "are known",
                            pod_key(pod), kNodesMax));
  }
  return {};
}

bool Cluster::has_room_for(std::string_view node_name) const {
  return node_name.empty() || rows_.size() < kNodesMax || find_row(node_name) != kNoRow;
}

Result<void> Cluster::check_room(std::span<const Pod> pods) const {
  if (pods.size() == 1) {
    return check_room(pods.front(), 1);
  }
  NameIndex names;
  names.reserve(static_cast<std::uint32_t>(pods.size()));
  std::string key;
  for (std::uint32_t p = 0; p < pods.size(); ++p) {
    if (auto checked = check_room(pods[p], pods.size()); !checked) {
      return checked;
    }
    write_pod_key(pods[p].namespace_name, pods[p].name, key);
    const NameIndex::Hash hash = NameIndex::hash(key);
    const std::uint32_t same = names.find(hash, [&](std::uint32_t other) {
      return pods[other].name == pods[p].name &&
             pods[other].namespace_name == pods[p].namespace_name;
    });
    if (same != NameIndex::kNone) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("place: pods[{}] and pods[{}] are one: {}", same, p, key));
    }
    names.insert(hash, p);
  }
  return {};
}

Result<void> Cluster::upsert(const Pod& object) {
  if (auto checked = check_room(object, 1); !checked) {
    return checked;
  }
  prefetch_parts(object);
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const NameIndex::Hash pod_hash = NameIndex::hash(pod_key_);
  pod_ids_.prefetch(pod_hash);
  prefetch_parts(object.containers);
  prefetch_parts(object.init_containers);
  const NameIndex::Hash node_hash = NameIndex::hash(object.node_name);
  rows_.prefetch(node_hash);
  if (const PodId known = pod_ids_.guess(pod_hash); known != kNoPod) {
    prefetch_pod(known);
  } else if (!released_pods_.empty()) {
    prefetch_pod(released_pods_.last());
  }
  const std::uint32_t row_guess = rows_.guess(node_hash);
  if (row_guess != kNoRow) {
    prefetch_row(row_guess);
  }
  const auto shape = shape_book_.for_counting(object);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (row_guess != kNoRow) {
    prefetch_neighbours(row_guess);
  }
  const PodId id = pod_of(pod_key_, pod_hash);
  remember(id);
  PodFacts& pod = facts_.pods[id];
  const std::uint32_t counted_before = pod.counted_row;
  const std::uint32_t row_before = pod.row();
  uncount(id);
  replace_if_other(id, object.uid);
  pod.applied = true;
  update_object(pod, object, **shape);
  if (!object.node_name.empty()) {
    const std::uint32_t row = row_of(object.node_name, node_hash);
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
  if (facts_.pods[id].assumed_row == kNoRow) {
    applications_.set_chosen(id, {});
  }
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
  const NameIndex::Hash hash = NameIndex::hash(key);
  if (const PodId guess = pod_ids_.guess(hash); guess != kNoPod) {
    prefetch_pod(guess);
    if (const std::uint32_t row = facts_.pods[guess].counted_row; row != kNoRow) {
      prefetch_row(row);
    }
    for (const PodId near : {facts_.pods[guess].previous, facts_.pods[guess].next}) {
      if (near != kNoPod) {
        __builtin_prefetch(&facts_.pods[near], 1);
      }
    }
  }
  const PodId id = find_pod(key, hash);
  if (id == kNoPod || !facts_.pods[id].known()) {
    return;
  }
  const std::uint32_t counted_before = facts_.pods[id].counted_row;
  if (counted_before != kNoRow) {
    prefetch_neighbours(counted_before);
  }
  remember(id);
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
  if (!has_room_for(node_name)) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("assume: node {}: kNodesMax ({}) names are known", node_name, kNodesMax));
  }
  const auto shape = shape_book_.for_counting(object);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  assume(object, **shape, row_of(node_name));
  return {};
}

void Cluster::assume(const Pod& object, const PodShape& shape, std::uint32_t row) {
  prefetch_row(row);
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const NameIndex::Hash hash = NameIndex::hash(pod_key_);
  pod_ids_.prefetch(hash);
  prefetch_neighbours(row);
  const PodId id = pod_of(pod_key_, hash);
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
  replace_if_other(id, object.uid);
  update_object(pod, object, *shape_book_.at(shape.counts_as));
  move_to(pod.assumed_row, row);
  --facts_.nodes[row].mentions;
  applications_.choose_volumes(id, object, row);
  if (pod.row() != row_before) {
    pod.first_seen_us = now_us_;
  }
  recount(id, counted_before);
  journal_.put(PodBefore{id, nullptr});
}

void Cluster::forget(std::string_view key, std::string_view uid, std::string_view node_name) {
  const PodId id = find_pod(key);
  const std::uint32_t row = find_row(node_name);
  if (id == kNoPod || row == kNoRow) {
    return;
  }
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
