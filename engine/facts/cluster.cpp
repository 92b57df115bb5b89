#include "engine/facts/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/table/check_resources.h"

namespace headroom {

namespace {

std::string key_of(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

}  // namespace

Cluster::Cluster(Profile profile, std::size_t shape_bytes_max)
    : profile_(std::move(profile)),
      has_node_ports_(profile_.filters_by(PluginId::kNodePorts)),
      table_(profile_.mode == Mode::kUpstream ? BeyondInt64::kWraps : BeyondInt64::kSaturates),
      policies_({profile_, names_, table_, facts_}),
      load_aware_(static_cast<LoadAware*>(policies_.of(PluginId::kLoadAwareScheduling))),
      capacity_(profile_.capacity_scheduling
                    ? std::make_unique<CapacityScheduling>(profile_, facts_)
                    : nullptr),
      row_classes_(table_, facts_),
      class_filters_(profile_, row_classes_, reasons_),
      shape_book_({profile_, policies_, capacity_.get(), row_classes_, reasons_,
                   [this] { set_all_columns(); }},
                  facts_, shape_bytes_max) {}

// --- Rows and names ---

std::uint32_t Cluster::find_row(std::string_view name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? kNoRow : found->second;
}

std::uint32_t Cluster::counted_row_of(std::string_view pod_key) const {
  const auto found = pod_ids_.find(pod_key);
  return found == pod_ids_.end() ? kNoRow : facts_.pods[found->second].counted_row;
}

bool Cluster::has_ended(std::string_view pod_key, std::string_view uid) const {
  const auto found = pod_ids_.find(pod_key);
  if (found == pod_ids_.end()) {
    return false;
  }
  const PodFacts& pod = facts_.pods[found->second];
  return pod.known() && pod.terminal && pod.uid == uid;
}

std::uint32_t Cluster::row_of(std::string_view name) {
  if (const auto found = rows_.find(name); found != rows_.end()) {
    return found->second;
  }
  const std::uint32_t row = table_.acquire_row();
  name_row(row, std::string(name));
  journal_.put(RowAcquired{row});
  return row;
}

void Cluster::name_row(std::uint32_t row, std::string name) {
  if (row >= facts_.nodes.size()) {
    facts_.nodes.resize(row + 1);
  }
  note_row(row);
  facts_.nodes[row].name = std::move(name);
  rows_.emplace(facts_.nodes[row].name, row);
  table_.commit(row);
}

void Cluster::unmention(std::uint32_t row) {
  --facts_.nodes[row].mentions;
  note_row(row);
  release_row_if_unused(row);
}

void Cluster::release_row_if_unused(std::uint32_t row) {
  if (facts_.nodes[row].node == nullptr && facts_.nodes[row].mentions == 0) {
    note_row(row);
    derive(row);
    rows_.erase(facts_.nodes[row].name);
    journal_.put(RowReleased{row, std::move(facts_.nodes[row].name)});
    facts_.nodes[row] = {};
    table_.release_row(row);
  }
}

void Cluster::set_node_columns(std::uint32_t row) {
  NodeFacts& node = facts_.nodes[row];
  bool bad = false;
  for (const auto& policy : policies_) {
    bad |= policy->set_node(row, node);
  }
  bad_annotations_ += bad;
  bad_annotations_ -= node.bad_annotation;
  node.bad_annotation = bad;
}

// After a description added columns.
void Cluster::set_all_columns() {
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    if (facts_.nodes[row].node != nullptr) {
      set_node_columns(row);
      mark(row, Stale::kEverything);
    }
  }
  table_.forget_changes();
}

void Cluster::mark(std::uint32_t row, Stale stale) {
  note_row(row);
  if (row >= stale_.size()) {
    stale_.resize(facts_.nodes.size(), Stale::kNothing);
  }
  if (stale_[row] == Stale::kNothing) {
    stale_rows_.push_back(row);
  }
  stale_[row] = std::max(stale_[row], stale);
  if (!bulk_) {
    settle();
  }
}

bool Cluster::set_bulk(bool on) {
  const bool was = std::exchange(bulk_, on);
  if (!on) {
    settle();
  }
  return was;
}

// False if the row was not stale.
bool Cluster::derive(std::uint32_t row) {
  const Stale stale =
      row < stale_.size() ? std::exchange(stale_[row], Stale::kNothing) : Stale::kNothing;
  for (const auto& policy : policies_) {
    if (stale == Stale::kEverything) {
      policy->refresh(row, now_us_);
    } else if (stale == Stale::kOnlyPods) {
      policy->refresh_pods(row);
    }
  }
  return stale != Stale::kNothing;
}

void Cluster::settle() {
  for (const std::uint32_t row : stale_rows_) {
    // A row that was released since has been derived then.
    if (derive(row)) {
      table_.commit(row);
    }
  }
  stale_rows_.clear();
}

bool Cluster::settle(const Pause& pause) {
  while (!stale_rows_.empty()) {
    const std::uint32_t row = stale_rows_.back();
    stale_rows_.pop_back();
    if (derive(row)) {
      table_.commit(row);
    }
    if (pause()) {
      return stale_rows_.empty();
    }
  }
  return true;
}

// --- Nodes ---

Result<void> Cluster::upsert(const Node& node) {
  if (node.name.empty()) {
    return fail(ErrorCode::kInvalid, "Node: metadata.name is empty");
  }
  if (auto checked = check_resources(node.allocatable, "Node " + node.name, "status.allocatable");
      !checked) {
    return checked;
  }
  if (find_row(node.name) == kNoRow && rows_.size() >= kNodesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Node {}: kNodesMax ({}) names are known", node.name, kNodesMax));
  }
  const std::uint32_t row = row_of(node.name);
  if (facts_.nodes[row].node != nullptr && *facts_.nodes[row].node == node) {
    return {};
  }
  set_node(row, std::make_unique<const Node>(node));
  row_classes_.limit();
  return {};
}

void Cluster::set_node(std::uint32_t row, std::unique_ptr<const Node> node) {
  const ResourceNames::Change change = rename(facts_.nodes[row].node.get(), node.get());
  const Renaming renaming = begin_renaming(change);
  each_counted_by_node(row, &Policy::uncount);
  NodeFacts& facts = facts_.nodes[row];
  if ((facts.node == nullptr) != (node == nullptr)) {
    const int sign = node != nullptr ? 1 : -1;
    node_count_ += static_cast<std::uint32_t>(sign);
    for (const PodId id : facts.nominated) {
      note_pod(id);
      capacity_->count_nominated(id, sign);
    }
  }
  if (facts.node != nullptr) {
    soft_taints_.count(*facts.node, -1);
  }
  if (node != nullptr) {
    soft_taints_.count(*node, 1);
  }
  row_classes_.change_node(row, facts.node.get(), node.get());
  journal_.put(NodeBefore{row, std::exchange(facts.node, std::move(node))});
  if (change.names.empty()) {
    set_allocatable(facts);
  } else {
    renumber(change);
  }
  if (facts.node != nullptr) {
    set_node_columns(row);
  } else {
    bad_annotations_ -= facts.bad_annotation;
    facts.bad_annotation = false;
  }
  each_counted_by_node(row, &Policy::count);
  mark(row, Stale::kEverything);
  if (!change.names.empty()) {
    end_renaming(renaming);
  }
}

// The pods of the row, as policies count them that look at its node for that.
template <typename Returned>
void Cluster::each_counted_by_node(std::uint32_t row,
                                   Returned (Policy::*act)(std::uint32_t, PodId)) {
  for (const auto& policy : policies_) {
    for (PodId id = facts_.nodes[row].first_pod; policy->counts_by_node() && id != kNoPod;
         id = facts_.pods[id].next) {
      (policy.get()->*act)(row, id);
    }
  }
}

void Cluster::remove_node(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || facts_.nodes[row].node == nullptr) {
    return;
  }
  set_node(row, nullptr);
  release_row_if_unused(row);
}

// --- Pods ---

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
    note_pod(id);
    capacity_->count_nominated(id, 1);
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
    note_pod(id);
    capacity_->count_nominated(id, -1);
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
  table_.add(row, facts_.shape_of(id).contributions);
  if (pod.host_ports != nullptr) {
    facts_.nodes[row].ports.add(*pod.host_ports);
  }
  bool first = false;
  for (const auto& policy : policies_) {
    first |= policy->count(row, id);
  }
  if (capacity_ != nullptr) {
    capacity_->count(row, id);
  }
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
  if (capacity_ != nullptr) {
    capacity_->uncount(row, id);
  }
  table_.subtract(row, facts_.shape_of(id).contributions);
  if (pod.host_ports != nullptr) {
    facts_.nodes[row].ports.remove(*pod.host_ports);
  }
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
  pod.terminal = object.terminal();
  pod.scheduled_us = since(object.scheduled);
  pod.initialized_us = since(object.initialized);
  if (HostPorts ports = host_ports(object); !ports.empty()) {
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

// --- Metrics ---

Result<void> Cluster::upsert(const NodeMetric& metric) {
  if (metric.name.empty()) {
    return fail(ErrorCode::kInvalid, "NodeMetric: metadata.name is empty");
  }
  if (load_aware_ == nullptr) {
    return {};
  }
  const std::uint32_t row = row_of(metric.name);
  load_aware_->prefetch(row, metric);
  listed_.clear();
  for (const PodMetricInfo& pod : metric.pods) {
    write_pod_key(pod.namespace_name, pod.name, pod_key_);
    listed_.push_back(pod_of(pod_key_));
  }
  std::unique_ptr<MetricFacts> before = load_aware_->upsert(row, metric, listed_, journal_.open());
  journal_.put(MetricBefore{row, std::move(before)});
  release_unmentioned();
  load_aware_->watch_expiry(row, now_us_);
  mark(row, Stale::kEverything);
  return {};
}

void Cluster::remove_node_metric(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || load_aware_ == nullptr || load_aware_->metric(row) == nullptr) {
    return;
  }
  journal_.put(MetricBefore{row, load_aware_->put(row, nullptr)});
  release_unmentioned();
  mark(row, Stale::kEverything);
  release_row_if_unused(row);
}

// Of what a metric listed or lists.
void Cluster::release_unmentioned() {
  for (const PodId id : load_aware_->mentioned()) {
    if (!facts_.pods[id].key.empty()) {
      release_pod_if_unused(id);
    }
  }
}

Result<void> Cluster::advance(std::int64_t now_us) {
  if (now_us < now_us_) {
    return fail(ErrorCode::kInvalid,
                fmt::format("advance: {} us is before now, {} us", now_us, now_us_));
  }
  const std::int64_t before_us = std::exchange(now_us_, now_us);
  for (std::uint32_t row;
       load_aware_ != nullptr && (row = load_aware_->expire(now_us)) != kNoRow;) {
    mark(row, Stale::kEverything);
    journal_.put(MetricExpired{row});
  }
  journal_.put(ClockBefore{before_us});
  return {};
}

void Cluster::correct_clock(std::int64_t now_us) {
  if (now_us >= now_us_) {
    (void)advance(now_us);
    return;
  }
  const Bulk bulk(*this);  // each row once
  const std::int64_t before_us = std::exchange(now_us_, now_us);
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    if (!facts_.pods[id].known() || facts_.pods[id].first_seen_us <= now_us) {
      continue;
    }
    remember(id);
    const std::uint32_t counted_before = facts_.pods[id].counted_row;
    uncount(id);
    facts_.pods[id].first_seen_us = now_us;
    recount(id, counted_before);
  }
  if (load_aware_ != nullptr) {
    for (const std::uint32_t row : load_aware_->expire_again(now_us)) {
      mark(row, Stale::kEverything);
      journal_.put(MetricExpired{row});
    }
  }
  journal_.put(ClockBefore{before_us});
}

std::uint32_t Cluster::assumed_pods() const {
  std::uint32_t count = 0;
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    count += facts_.pods[id].assumed_row != kNoRow && facts_.pods[id].bound_row == kNoRow;
  }
  return count;
}

// --- Shapes ---

std::vector<std::string> Cluster::named_node(const Pod& pod) const {
  return pod.node_name.empty() || !profile_.filters_by(PluginId::kNodeName)
             ? std::vector<std::string>()
             : std::vector<std::string>{pod.node_name};
}

void Cluster::prepare(PodShape& shape) { (void)prepare(shape, kInOneTurn); }

void Cluster::prepare_for_rows(PodShape& shape) {
  settle();
  shape.activate(table_);
}

bool Cluster::prepare(PodShape& shape, const Pause& pause) {
  prepare_for_rows(shape);
  if (!row_classes_.has_split(shape.split) && !row_classes_.split(pause)) {
    return false;
  }
  // A passing shape does not outlive the turn: each row's class is asked when it is looked at.
  if (shape.id == kPassingShape) {
    return true;
  }
  const std::size_t known = shape.class_codes.size();
  const bool done = class_filters_.prepare(shape, pause);
  if (shape.class_codes.size() != known) {
    shape_book_.count_bytes(shape);
  }
  return done;
}

std::string Cluster::taken_port(const PodShape& shape, std::uint32_t row,
                                std::int32_t priority) const {
  // Of several pods the first by name: the order of the lists depends on history.
  std::string text, first;
  const auto look_at = [&](const PodFacts& pod, const char* how) {
    const HostPort* port =
        pod.host_ports == nullptr ? nullptr : find_conflict(shape.host_ports, *pod.host_ports);
    if (port != nullptr && (first.empty() || pod.key < first)) {
      text = to_string(*port) + ": taken by pod " + pod.key + how;
      first = pod.key;
    }
  };
  for (PodId id = facts_.nodes[row].first_pod; id != kNoPod; id = facts_.pods[id].next) {
    look_at(facts_.pods[id], "");
  }
  const bool counts = !first.empty();
  for (const PodId id : facts_.nodes[row].nominated) {
    if (!counts && facts_.pods[id].rank.priority >= priority) {
      look_at(facts_.pods[id], ", which is nominated");
    }
  }
  return text;
}

NotConsideredSet Cluster::not_considered(const Pod& pod) const {
  constexpr std::string_view kDefaultScheduler = "default-scheduler";
  NotConsideredSet set = pod.not_considered;
  const std::string_view scheduler =
      pod.scheduler_name.empty() ? kDefaultScheduler : std::string_view(pod.scheduler_name);
  if (scheduler != profile_.scheduler_name) {
    set.add(NotConsidered::kSchedulerName);
  }
  if (!soft_taints_.all_tolerated(pod.tolerations)) {
    set.add(NotConsidered::kPreferNoScheduleTaints);
  }
  return set;
}

PreFilterStatus Cluster::pre_filter(const Pod& pod, const PodShape& shape) const {
  if (capacity_ == nullptr || capacity_->quotas().quota_count() == 0) {
    return {};
  }
  const PodClaim claim = capacity_->claim(pod);
  return capacity_->quotas().explain(pod, claim.namespace_id, shape.quota_request,
                                     capacity_->standing(claim, shape));
}

// --- Quotas, budgets, priorities ---

Result<void> Cluster::upsert(const ElasticQuota& quota) {
  if (capacity_ == nullptr) {
    return {};
  }
  if (auto checked = capacity_->check(quota); !checked) {
    return checked;
  }
  remember_quota(quota.namespace_name, quota.name);
  put_quota(quota.namespace_name, quota.name, &quota);
  return {};
}

void Cluster::remove_elastic_quota(std::string_view namespace_name, std::string_view name) {
  if (capacity_ != nullptr) {
    remember_quota(namespace_name, name);
    put_quota(namespace_name, name, nullptr);
  }
}

Result<void> Cluster::upsert(const PodDisruptionBudget& budget) {
  if (capacity_ == nullptr) {
    return {};
  }
  if (auto checked = capacity_->check(budget); !checked) {
    return checked;
  }
  remember_budget(pod_key(budget.namespace_name, budget.name));
  capacity_->upsert(budget);
  return {};
}

void Cluster::remove_pod_disruption_budget(std::string_view key) {
  if (capacity_ != nullptr) {
    remember_budget(key);
    capacity_->remove_budget(key);
  }
}

Result<void> Cluster::upsert(const PriorityClass& priority_class) {
  if (capacity_ == nullptr) {
    return {};
  }
  if (auto checked = capacity_->check(priority_class); !checked) {
    return checked;
  }
  remember_priority_class(priority_class.name);
  capacity_->upsert(priority_class);
  refresh_priorities();
  return {};
}

void Cluster::remove_priority_class(std::string_view name) {
  if (capacity_ != nullptr && capacity_->find_priority_class(name) != nullptr) {
    remember_priority_class(name);
    capacity_->remove_priority_class(name);
    refresh_priorities();
  }
}

// Pods that rely on a class are seldom: admission writes priorities into pods.
void Cluster::refresh_priorities() {
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    PodRank& rank = facts_.pods[id].rank;
    const std::int32_t priority = capacity_->priority_now(rank);
    if (!facts_.pods[id].known() || priority == rank.priority) {
      continue;
    }
    const std::uint32_t row = facts_.pods[id].counted_row;
    uncount(id);
    rank.priority = priority;
    recount(id, row);
  }
}

void Cluster::notes(std::uint32_t row, std::vector<Note>& out) const {
  for (const auto& policy : policies_) {
    policy->notes(row, facts_.nodes[row], out);
  }
}

NodeFigures Cluster::figures(ResourceId resource) const {
  NodeFigures figures;
  for (std::uint32_t row = 0; row < table_.size(); ++row) {
    const NodeFacts& node = facts_.nodes[row];
    figures.allocatable.push_back(node.node ? node.allocatable_of(resource) : 0);
  }
  for (const auto& policy : policies_) {
    policy->add_figures(resource, figures);
  }
  return figures;
}

}  // namespace headroom
