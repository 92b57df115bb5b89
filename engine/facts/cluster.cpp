#include "engine/facts/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/exact.h"

namespace headroom {

namespace {

// Node classes without nodes, beyond as many as there are nodes.
constexpr std::uint32_t kSpareClassesMax = 1024;

std::string key_of(const Pod& pod) { return pod_key(pod.namespace_name, pod.name); }

Result<PodShape*> decidable(const Pod& pod, Result<PodShape*> shape) {
  if (shape && (*shape)->filter_terms.size() > kFilterTermsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: its filters check {} things, kFilterTermsMax is {}",
                            key_of(pod), (*shape)->filter_terms.size(), kFilterTermsMax));
  }
  return shape;
}

}  // namespace

Cluster::Cluster(Profile profile, std::size_t shape_bytes_max)
    : profile_(std::move(profile)),
      has_node_ports_(enabled(PluginId::kNodePorts)),
      table_(profile_.mode == Mode::kUpstream ? BeyondInt64::kWraps : BeyondInt64::kSaturates),
      shape_bytes_max_(shape_bytes_max),
      class_reasons_{
          {PluginId::kNodePorts, "node(s) didn't have free ports for the requested pod ports"},
          {PluginId::kNodeUnschedulable, "node(s) were unschedulable"},
          {PluginId::kNodeName, "node(s) didn't match the requested node name"},
          {PluginId::kNodeAffinity, "node(s) didn't match Pod's node affinity/selector"},
          {PluginId::kTaintToleration, "node(s) had untolerated taint(s)"}} {
  const auto uses = [&](std::initializer_list<PluginId> plugins) {
    return std::any_of(plugins.begin(), plugins.end(), [&](PluginId plugin) {
      return enabled(plugin) ||
             std::any_of(profile_.scores.begin(), profile_.scores.end(),
                         [&](const ScorePlugin& score) { return score.plugin == plugin; });
    });
  };
  if (uses({PluginId::kNodeResourcesFit, PluginId::kNodeResourcesBalancedAllocation})) {
    node_resources_ = std::make_unique<NodeResources>(profile_, names_, table_);
    policies_.push_back(node_resources_.get());
  }
  if (uses({PluginId::kLimitAware})) {
    limit_aware_ = std::make_unique<LimitAware>(profile_, names_, table_);
    policies_.push_back(limit_aware_.get());
  }
  if (uses({PluginId::kResourceLimitAware})) {
    resource_limit_aware_ = std::make_unique<ResourceLimitAware>(profile_, names_, table_);
    policies_.push_back(resource_limit_aware_.get());
  }
  if (uses({PluginId::kLoadAwareScheduling})) {
    load_aware_ = std::make_unique<LoadAware>(profile_, names_, table_);
    policies_.push_back(load_aware_.get());
  }
  if (profile_.capacity_scheduling) {
    capacity_ = std::make_unique<CapacityScheduling>(profile_, pods_);
  }
}

bool Cluster::enabled(PluginId plugin) const {
  return std::find(profile_.filters.begin(), profile_.filters.end(), plugin) !=
         profile_.filters.end();
}

Policy* Cluster::policy_of(PluginId plugin) const {
  switch (plugin) {
    case PluginId::kNodeResourcesFit:
    case PluginId::kNodeResourcesBalancedAllocation:
      return node_resources_.get();
    case PluginId::kLimitAware:
      return limit_aware_.get();
    case PluginId::kResourceLimitAware:
      return resource_limit_aware_.get();
    case PluginId::kLoadAwareScheduling:
      return load_aware_.get();
    default:
      return nullptr;
  }
}

// --- Rows and names ---

std::uint32_t Cluster::find_row(std::string_view name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? kNoRow : found->second;
}

std::uint32_t Cluster::counted_row_of(std::string_view pod_key) const {
  const auto found = pod_ids_.find(pod_key);
  return found == pod_ids_.end() ? kNoRow : pods_[found->second].counted_row;
}

bool Cluster::has_ended(std::string_view pod_key, std::string_view uid) const {
  const auto found = pod_ids_.find(pod_key);
  if (found == pod_ids_.end()) {
    return false;
  }
  const PodFacts& pod = pods_[found->second];
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
  if (row >= nodes_.size()) {
    nodes_.resize(row + 1);
  }
  note_row(row);
  nodes_[row].name = std::move(name);
  rows_.emplace(nodes_[row].name, row);
  table_.commit(row);
}

void Cluster::unmention(std::uint32_t row) {
  --nodes_[row].mentions;
  note_row(row);
  release_row_if_unused(row);
}

void Cluster::release_row_if_unused(std::uint32_t row) {
  if (nodes_[row].node == nullptr && nodes_[row].mentions == 0) {
    note_row(row);
    derive(row);
    rows_.erase(nodes_[row].name);
    journal_.put(RowReleased{row, std::move(nodes_[row].name)});
    nodes_[row] = {};
    table_.release_row(row);
  }
}

void Cluster::set_class(std::uint32_t row, std::uint32_t node_class) {
  if (const std::uint32_t old = table_.node_class(row); old != kNoNodeClass) {
    --class_sizes_[old];
  }
  if (node_class != kNoNodeClass) {
    class_sizes_.resize(std::max<std::size_t>(class_sizes_.size(), node_class + 1));
    ++class_sizes_[node_class];
  }
  table_.set_class(row, node_class);
}

// After a selector read something new: row by row, to where the pause says. Shapes from before read
// nothing by which the new classes differ, so that what is cached for them stays right.
bool Cluster::split_classes(const Pause& pause) {
  while (split_at_ < nodes_.size()) {
    split_row(split_at_++);
    if (pause()) {
      return false;
    }
  }
  classes_.end_split();
  splits_done_ = splits_begun_;
  limit_classes();
  return true;
}

void Cluster::split_row(std::uint32_t row) {
  if (nodes_[row].node == nullptr || !classes_.split(*nodes_[row].node)) {
    return;
  }
  const std::uint32_t classes_before = classes_.size();
  const std::uint32_t node_class = classes_.classify(*nodes_[row].node);
  if (node_class == classes_before) {
    class_origins_.resize(classes_.size());
    class_origins_[node_class] = {table_.node_class(row), splits_done_};
  }
  set_class(row, node_class);
}

// Whether the shape reads nothing by which the class differs from the one it came from.
bool Cluster::inherits(const PodShape& shape, std::uint32_t node_class) const {
  return node_class < class_origins_.size() && class_origins_[node_class].parent != 0 &&
         shape.split <= class_origins_[node_class].splits_done;
}

// Classes that no node has any more go once they are most.
void Cluster::limit_classes() {
  if (classes_.size() <= 2 * rows_.size() + kSpareClassesMax &&
      classes_.unread_count() <= kSpareClassesMax) {
    return;
  }
  classes_.forget();
  forget_class_reasons();
  class_sizes_.clear();
  class_origins_.clear();
  for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
    if (nodes_[row].node != nullptr) {
      table_.set_class(row, kNoNodeClass);
      set_class(row, classes_.classify(*nodes_[row].node));
    }
  }
  table_.forget_changes();
}

void Cluster::set_node_columns(std::uint32_t row) {
  NodeFacts& node = nodes_[row];
  bool bad = false;
  for (Policy* policy : policies_) {
    bad |= policy->set_node(row, node);
  }
  bad_annotations_ += bad;
  bad_annotations_ -= node.bad_annotation;
  node.bad_annotation = bad;
}

void Cluster::mark(std::uint32_t row, Stale stale) {
  note_row(row);
  if (row >= stale_.size()) {
    stale_.resize(nodes_.size(), Stale::kNothing);
  }
  if (stale_[row] == Stale::kNothing) {
    stale_rows_.push_back(row);
  }
  stale_[row] = std::max(stale_[row], stale);
  if (!bulk_) {
    settle();
  }
}

void Cluster::set_bulk(bool on) {
  bulk_ = on;
  if (!on) {
    settle();
  }
}

// False if the row was not stale.
bool Cluster::derive(std::uint32_t row) {
  const Stale stale =
      row < stale_.size() ? std::exchange(stale_[row], Stale::kNothing) : Stale::kNothing;
  if (load_aware_ != nullptr && stale == Stale::kEverything) {
    load_aware_->refresh(row, now_us_);
  } else if (load_aware_ != nullptr && stale == Stale::kOnlyPods) {
    load_aware_->refresh_pods(row);
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

Result<void> Cluster::check_resources(const ResourceList& list, const std::string& object,
                                      const char* field) const {
  for (const auto& [name, quantity] : list) {
    if (quantity.nanos() < 0) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: {}.{}: {} is below 0", object, field, name,
                                                   quantity.canonical()));
    }
    if (!(name == "cpu" ? quantity.milli_value() : quantity.value())) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: {}.{}: {} is beyond int64 in its unit", object, field, name,
                              quantity.canonical()));
    }
  }
  return {};
}

Result<void> Cluster::check_resources(const Pod& pod) const {
  const std::string object = "Pod " + key_of(pod);
  Result<void> checked;
  const auto check = [&](const ResourceList& list, const char* field) {
    if (checked) {
      checked = check_resources(list, object, field);
    }
  };
  for (const Container& container : pod.containers) {
    check(container.requests, "spec.containers[].resources.requests");
    check(container.limits, "spec.containers[].resources.limits");
  }
  for (const Container& container : pod.init_containers) {
    check(container.requests, "spec.initContainers[].resources.requests");
    check(container.limits, "spec.initContainers[].resources.limits");
  }
  check(pod.pod_requests, "spec.resources.requests");
  check(pod.pod_limits, "spec.resources.limits");
  check(pod.overhead, "spec.overhead");
  return checked;
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
  if (nodes_[row].node != nullptr && *nodes_[row].node == node) {
    return {};
  }
  set_node(row, std::make_unique<const Node>(node));
  limit_classes();
  return {};
}

void Cluster::set_node(std::uint32_t row, std::unique_ptr<const Node> node) {
  const ResourceNames::Change change = rename(nodes_[row].node.get(), node.get());
  const Renaming renaming = begin_renaming(change);
  // Pods whose limit is the node's allocatable count by the new one from now on.
  const auto change_needs = [&](int sign) {
    for (PodId id = nodes_[row].first_pod; resource_limit_aware_ != nullptr && id != kNoPod;
         id = pods_[id].next) {
      add_allocatable_needs(row, *shapes_[pods_[id].shape], sign);
    }
  };
  change_needs(-1);
  NodeFacts& facts = nodes_[row];
  if ((facts.node == nullptr) != (node == nullptr)) {
    const int sign = node != nullptr ? 1 : -1;
    node_count_ += static_cast<std::uint32_t>(sign);
    for (const PodId id : facts.nominated) {
      count_nominated(id, sign);
    }
  }
  if (facts.node != nullptr) {
    soft_taints_.count(*facts.node, -1);
  }
  if (node != nullptr) {
    soft_taints_.count(*node, 1);
  }
  if (facts.node == nullptr || node == nullptr || facts.node->labels != node->labels) {
    for (const auto& [labelled, sign] : {std::pair(node.get(), 1), {facts.node.get(), -1}}) {
      if (labelled != nullptr) {
        classes_.count_labels(*labelled, sign);
      }
    }
  }
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
  change_needs(1);
  set_class(row, facts.node != nullptr ? classes_.classify(*facts.node) : kNoNodeClass);
  mark(row, Stale::kEverything);
  if (!change.names.empty()) {
    end_renaming(renaming);
  }
}

void Cluster::remove_node(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || nodes_[row].node == nullptr) {
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
    id = pods_.grow();
  } else {
    id = released_pods_.back();
    released_pods_.pop_back();
  }
  name_pod(id, std::string(key));
  journal_.put(PodIdAcquired{id});
  return id;
}

void Cluster::name_pod(PodId id, std::string key) {
  pods_[id].key = std::move(key);
  pod_ids_.emplace(pods_[id].key, id);
}

void Cluster::release_pod_if_unused(PodId id) {
  note_pod(id);
  if (!pods_[id].known() && capacity_ != nullptr) {
    capacity_->clear_rank(pods_[id]);
  }
  if (!pods_[id].known()) {
    pods_[id].host_ports.reset();
    set_shape(pods_[id], kNoShape);
  }
  if (!pods_[id].known() && pods_[id].mentions == 0) {
    pod_ids_.erase(pods_[id].key);
    journal_.put(PodIdReleased{id, std::move(pods_[id].key)});
    pods_[id] = {};
    released_pods_.push_back(id);
  }
}

void Cluster::move_to(std::uint32_t& named_row, std::uint32_t row) {
  if (row != kNoRow) {
    ++nodes_[row].mentions;
    note_row(row);
  }
  const std::uint32_t old = named_row;
  named_row = row;
  if (old != kNoRow) {
    unmention(old);
  }
}

void Cluster::link(PodId id) {
  PodFacts& pod = pods_[id];
  NodeFacts& node = nodes_[pod.counted_row];
  const bool first = load_aware_ != nullptr && load_aware_->depends_on_metric(pod);
  pod.previous = first ? kNoPod : node.last_pod;
  pod.next = first ? node.first_pod : kNoPod;
  (pod.previous == kNoPod ? node.first_pod : pods_[pod.previous].next) = id;
  (pod.next == kNoPod ? node.last_pod : pods_[pod.next].previous) = id;
}

void Cluster::unlink(PodId id) {
  PodFacts& pod = pods_[id];
  NodeFacts& node = nodes_[pod.counted_row];
  (pod.previous == kNoPod ? node.first_pod : pods_[pod.previous].next) = pod.next;
  (pod.next == kNoPod ? node.last_pod : pods_[pod.next].previous) = pod.previous;
  pod.previous = pod.next = kNoPod;
}

void Cluster::add_allocatable_needs(std::uint32_t row, const PodShape& shape, int sign) {
  for (const AllocatableNeed& need : shape.allocatable_needs) {
    const Contribution contribution{need.sum, need.at(allocatable(row, need.resource))};
    sign > 0 ? table_.add(row, {&contribution, 1}) : table_.subtract(row, {&contribution, 1});
  }
}

Quantity Cluster::allocatable(std::uint32_t row, ResourceId resource) const {
  const Node* node = nodes_[row].node.get();
  const Quantity* quantity =
      node == nullptr ? nullptr : find(node->allocatable, names_.name(resource));
  return quantity == nullptr ? Quantity() : *quantity;
}

// A pod on no node that names one waits for room there; it counts while the node exists.
void Cluster::nominate(PodId id) {
  note_row(pods_[id].rank.nominated_row);
  PodRank& rank = pods_[id].rank;
  rank.nominated = true;
  NodeFacts& node = nodes_[rank.nominated_row];
  if (node.nominated.empty()) {
    nominated_rows_.push_back(rank.nominated_row);
  }
  node.nominated.push_back(id);
  if (node.node != nullptr) {
    count_nominated(id, 1);
  }
}

void Cluster::denominate(PodId id) {
  note_row(pods_[id].rank.nominated_row);
  PodRank& rank = pods_[id].rank;
  rank.nominated = false;
  NodeFacts& node = nodes_[rank.nominated_row];
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
  const PodRank& rank = pods_[id].rank;
  capacity_->quotas().add_nominated(rank.namespace_id, rank.priority,
                                    shapes_[pods_[id].shape]->quota_request, sign);
}

// Adds the pod to the row where it belongs now, if it counts at all.
void Cluster::count(PodId id) {
  note_pod(id);
  PodFacts& pod = pods_[id];
  if (!pod.known() || pod.terminal) {
    return;
  }
  if (pod.row() == kNoRow) {
    if (pod.rank.nominated_row != kNoRow) {
      nominate(id);
    }
    return;
  }
  pod.counted_row = pod.row();
  const PodShape& shape = *shapes_[pod.shape];
  table_.add(pod.counted_row, shape.contributions);
  add_allocatable_needs(pod.counted_row, shape, 1);
  if (pod.host_ports != nullptr) {
    nodes_[pod.counted_row].ports.add(*pod.host_ports);
  }
  if (load_aware_ != nullptr) {
    load_aware_->add_pod(pod.counted_row, shape, id, pod);
  }
  if (capacity_ != nullptr) {
    capacity_->add(pod.counted_row, id, pod, shape);
  }
  link(id);
}

void Cluster::uncount(PodId id) {
  note_pod(id);
  PodFacts& pod = pods_[id];
  if (pod.rank.nominated) {
    denominate(id);
  }
  if (pod.counted_row == kNoRow) {
    return;
  }
  unlink(id);
  const PodShape& shape = *shapes_[pod.shape];
  if (capacity_ != nullptr) {
    capacity_->remove(pod.counted_row, id, pod, shape);
  }
  table_.subtract(pod.counted_row, shape.contributions);
  add_allocatable_needs(pod.counted_row, shape, -1);
  if (pod.host_ports != nullptr) {
    nodes_[pod.counted_row].ports.remove(*pod.host_ports);
  }
  if (load_aware_ != nullptr) {
    load_aware_->remove_pod(pod.counted_row, shape, id, pod);
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
  move_to(pods_[id].bound_row, kNoRow);
  move_to(pods_[id].assumed_row, kNoRow);
  move_to(pods_[id].rank.nominated_row, kNoRow);
  pods_[id].applied = false;
  pods_[id].uid = uid;
  pods_[id].first_seen_us = now_us_;
  ++pod_count_;
}

void Cluster::update_object(PodFacts& pod, const Pod& object, const PodShape& shape) {
  const auto since = [](const std::optional<PodCondition>& condition) {
    return condition && condition->is_true ? condition->last_transition_us : std::nullopt;
  };
  set_shape(pod, shape.id);
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
  const auto shape = counting_shape_of(object);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  write_pod_key(object.namespace_name, object.name, pod_key_);
  const PodId id = pod_of(pod_key_);
  remember(id);
  PodFacts& pod = pods_[id];
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
  const std::uint32_t row = pods_[id].counted_row;
  // A row that lost its last mention has been released.
  if (row_before != kNoRow && row_before != row && !nodes_[row_before].name.empty()) {
    mark(row_before, Stale::kOnlyPods);
  }
  if (row != kNoRow) {
    mark(row, Stale::kOnlyPods);
  }
}

void Cluster::remove_pod(std::string_view key) {
  const auto found = pod_ids_.find(key);
  if (found == pod_ids_.end() || !pods_[found->second].known()) {
    return;
  }
  const PodId id = found->second;
  remember(id);
  const std::uint32_t counted_before = pods_[id].counted_row;
  if (counted_before != kNoRow) {
    table_.prefetch(counted_before);
  }
  uncount(id);
  pods_[id].applied = false;
  --pod_count_;
  move_to(pods_[id].bound_row, kNoRow);
  move_to(pods_[id].assumed_row, kNoRow);
  move_to(pods_[id].rank.nominated_row, kNoRow);
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
  const auto shape = counting_shape_of(object);
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
  PodFacts& pod = pods_[id];
  const bool same = pod.known() && pod.uid == object.uid;
  if (same && pod.bound_row != kNoRow) {
    release_row_if_unused(row);
    return;
  }
  remember(id);
  ++nodes_[row].mentions;  // keeps the row while the pod lets go of it
  const std::uint32_t counted_before = pod.counted_row;
  const std::uint32_t row_before = pod.row();
  uncount(id);
  replace_if_other(pod, id, object.uid);
  update_object(pod, object, *shapes_[shape.counts_as]);
  move_to(pod.assumed_row, row);
  --nodes_[row].mentions;
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
  for (const PodId id : std::vector<PodId>(nodes_[row].nominated)) {
    if (pods_[id].rank.priority < priority && pods_[id].uid != pod.uid) {
      remember(id);
      denominate(id);
      move_to(pods_[id].rank.nominated_row, kNoRow);
      lesser.push_back(pods_[id].key);
    }
  }
  for (const std::string& victim : victims) {
    const PodId id = pod_ids_.find(victim)->second;
    remember(id);
    pods_[id].rank.deleting = true;
  }
  Pod waits = pod;
  waits.nominated_node_name = nodes_[row].name;
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
  if (pods_[id].uid != uid || pods_[id].assumed_row != row || pods_[id].bound_row != kNoRow) {
    return;
  }
  remember(id);
  uncount(id);
  move_to(pods_[id].assumed_row, kNoRow);
  pods_[id].first_seen_us = now_us_;
  if (!pods_[id].applied) {
    --pod_count_;
    move_to(pods_[id].rank.nominated_row, kNoRow);
  }
  recount(id, row);
  release_pod_if_unused(id);
}

// --- Metrics ---

// Takes the load of pods away that the row's metric is about to count in another way: those that it
// lists or will list, and those that may count by its age, or all.
void Cluster::begin_recount(std::uint32_t row, const std::vector<PodId>& listed, bool everything) {
  recounts_.clear();
  const auto add = [&](PodId id) {
    if (pods_[id].counted_row == row) {
      recounts_.push_back({id, load_aware_->depends_on_metric(pods_[id])});
    }
  };
  for (PodId id = nodes_[row].first_pod; id != kNoPod; id = pods_[id].next) {
    if (!everything && !load_aware_->depends_on_metric(pods_[id])) {
      break;
    }
    add(id);
  }
  for (const PodId id : listed) {
    add(id);
  }
  if (const MetricFacts* old = load_aware_->metric(row); old != nullptr) {
    for (const MetricFacts::PodUsage& usage : old->pods) {
      add(usage.pod);
    }
  }
  std::sort(recounts_.begin(), recounts_.end(),
            [](const Recount& a, const Recount& b) { return a.pod < b.pod; });
  recounts_.erase(std::unique(recounts_.begin(), recounts_.end(),
                              [](const Recount& a, const Recount& b) { return a.pod == b.pod; }),
                  recounts_.end());
  for (const Recount& recount : recounts_) {
    PodFacts& pod = pods_[recount.pod];
    load_aware_->remove_pod(row, *shapes_[pod.shape], recount.pod, pod);
  }
}

void Cluster::end_recount(std::uint32_t row) {
  for (const Recount& recount : recounts_) {
    PodFacts& pod = pods_[recount.pod];
    load_aware_->add_pod(row, *shapes_[pod.shape], recount.pod, pod);
    if (load_aware_->depends_on_metric(pod) != recount.stood_first) {
      unlink(recount.pod);
      link(recount.pod);
    }
  }
}

// Asks for what the update is about to read, all at once: most of its cost is waiting for memory. A
// report mostly lists the pods of the one before.
void Cluster::prefetch(const NodeMetric& metric, std::uint32_t row) const {
  table_.prefetch(row);
  const MetricFacts* old = load_aware_->metric(row);
  for (std::size_t p = 0; old != nullptr && p < old->pods.size(); ++p) {
    __builtin_prefetch(&pods_[old->pods[p].pod]);
  }
  for (const PodMetricInfo& pod : metric.pods) {
    __builtin_prefetch(pod.name.data());
    __builtin_prefetch(pod.usage.data());
  }
  for (std::size_t p = 0; old != nullptr && p < old->pods.size(); ++p) {
    __builtin_prefetch(pods_[old->pods[p].pod].key.data());
  }
}

Result<void> Cluster::upsert(const NodeMetric& metric) {
  if (metric.name.empty()) {
    return fail(ErrorCode::kInvalid, "NodeMetric: metadata.name is empty");
  }
  if (load_aware_ == nullptr) {
    return {};
  }
  const std::uint32_t row = row_of(metric.name);
  prefetch(metric, row);
  listed_.clear();
  for (const PodMetricInfo& pod : metric.pods) {
    write_pod_key(pod.namespace_name, pod.name, pod_key_);
    listed_.push_back(pod_of(pod_key_));
    ++pods_[listed_.back()].mentions;
  }
  const MetricFacts* old = load_aware_->metric(row);
  unlisted_ = listed_;
  nodes_[row].mentions += old == nullptr;
  for (std::size_t p = 0; old != nullptr && p < old->pods.size(); ++p) {
    unlisted_.push_back(old->pods[p].pod);
  }
  begin_recount(row, listed_,
                profile_.mode == Mode::kProposal && load_aware_->counts_more(row, metric));
  remember_metric(row);
  load_aware_->set_metric(row, metric, listed_);
  end_recount(row);
  // The metric keeps one mention for each pod that it holds; the others were for looking.
  for (const MetricFacts::PodUsage& usage : load_aware_->metric(row)->pods) {
    ++pods_[usage.pod].mentions;
  }
  for (const PodId id : unlisted_) {
    --pods_[id].mentions;
    note_pod(id);
  }
  for (const PodId id : unlisted_) {
    if (!pods_[id].key.empty()) {
      release_pod_if_unused(id);
    }
  }
  schedule_expiry(row);
  mark(row, Stale::kEverything);
  return {};
}

void Cluster::remove_node_metric(std::string_view name) {
  const std::uint32_t row = find_row(name);
  if (row == kNoRow || load_aware_ == nullptr || load_aware_->metric(row) == nullptr) {
    return;
  }
  unlisted_.clear();
  for (const MetricFacts::PodUsage& usage : load_aware_->metric(row)->pods) {
    unlisted_.push_back(usage.pod);
  }
  begin_recount(row, {}, true);
  remember_metric(row);
  load_aware_->put_metric(row, nullptr);
  end_recount(row);
  for (const PodId id : unlisted_) {
    --pods_[id].mentions;
    release_pod_if_unused(id);
  }
  mark(row, Stale::kEverything);
  unmention(row);
}

void Cluster::schedule_expiry(std::uint32_t row) {
  const std::int64_t due_us = load_aware_->expires_us(row);
  if (due_us == INT64_MAX || due_us <= now_us_) {
    return;
  }
  // Entries of metrics that were replaced since lapse when they fall due; begin anew where they
  // outnumber the rows.
  if (expiries_.size() > 4 * nodes_.size() + 1024) {
    expiries_.clear();
    for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
      const std::int64_t other_due_us = load_aware_->expires_us(other);
      if (other != row && other_due_us != INT64_MAX && other_due_us > now_us_) {
        expiries_.push_back({other_due_us, other});
      }
    }
    std::make_heap(expiries_.begin(), expiries_.end(), std::greater<>());
  }
  expiries_.push_back({due_us, row});
  std::push_heap(expiries_.begin(), expiries_.end(), std::greater<>());
}

Result<void> Cluster::advance(std::int64_t now_us) {
  if (now_us < now_us_) {
    return fail(ErrorCode::kInvalid,
                fmt::format("advance: {} us is before now, {} us", now_us, now_us_));
  }
  const std::int64_t before_us = std::exchange(now_us_, now_us);
  while (!expiries_.empty() && expiries_.front().due_us <= now_us) {
    const Expiry due = expiries_.front();
    std::pop_heap(expiries_.begin(), expiries_.end(), std::greater<>());
    expiries_.pop_back();
    if (load_aware_->expires_us(due.row) == due.due_us) {
      mark(due.row, Stale::kEverything);
      journal_.put(MetricExpired{due.row});
    }
  }
  journal_.put(ClockBefore{before_us});
  return {};
}

void Cluster::correct_clock(std::int64_t now_us) {
  if (now_us >= now_us_) {
    (void)advance(now_us);
    return;
  }
  const bool bulk = std::exchange(bulk_, true);  // each row once
  const std::int64_t before_us = std::exchange(now_us_, now_us);
  for (PodId id = 0; id < pods_.size(); ++id) {
    if (!pods_[id].known() || pods_[id].first_seen_us <= now_us) {
      continue;
    }
    remember(id);
    const std::uint32_t counted_before = pods_[id].counted_row;
    uncount(id);
    pods_[id].first_seen_us = now_us;
    recount(id, counted_before);
  }
  expiries_.clear();
  for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
    if (load_aware_ != nullptr && load_aware_->expires_us(row) != INT64_MAX) {
      schedule_expiry(row);
      mark(row, Stale::kEverything);
      journal_.put(MetricExpired{row});
    }
  }
  journal_.put(ClockBefore{before_us});
  set_bulk(bulk);
}

std::uint32_t Cluster::assumed_pods() const {
  std::uint32_t count = 0;
  for (PodId id = 0; id < pods_.size(); ++id) {
    count += pods_[id].assumed_row != kNoRow && pods_[id].bound_row == kNoRow;
  }
  return count;
}

// --- Shapes ---

// What follows from the pod and from what names of resources mean.
void Cluster::describe(PodShape& shape, const Pod& pod) {
  shape.contributions.clear();
  shape.allocatable_needs.clear();
  shape.load = {};
  shape.quota_request.clear();
  shape.filter_terms.clear();
  shape.filter_labels.clear();
  shape.filter_plugins.clear();
  shape.error_terms = 0;
  release_reasons(shape);
  shape.reason_of.clear();
  shape.score_terms.clear();
  shape.scores.clear();
  shape.score_labels.clear();
  shape.score_order.clear();
  shape.normalized = 0;
  shape.ignored.clear();
  shape.active_generation = UINT64_MAX;
  shape.version = ++shapes_described_;
  shape.normalize_in_double = profile_.mode == Mode::kUpstream;
  if (capacity_ != nullptr) {
    free_quota_names();
    shape.quota_request = capacity_->quota_request(pod);
  }
  bool grown = false;
  for (Policy* policy : policies_) {
    grown |= policy->describe(pod, shape);
  }
  if (grown) {
    for (std::uint32_t row = 0; row < nodes_.size(); ++row) {
      if (nodes_[row].node != nullptr) {
        set_node_columns(row);
        mark(row, Stale::kEverything);
      }
    }
    table_.forget_changes();
  }
  ProgramBuilder builder(shape);
  for (const PluginId plugin : profile_.filters) {
    if (Policy* policy = policy_of(plugin); policy != nullptr) {
      policy->add_filter(plugin, pod, builder);
    }
  }
  for (const ScorePlugin& score : profile_.scores) {
    policy_of(score.plugin)->add_score(score, pod, builder);
  }
  for (const ScorePlugin& score : profile_.scores) {
    for (std::size_t s = 0; s < shape.score_labels.size(); ++s) {
      if (shape.score_labels[s].plugin == score.plugin) {
        shape.score_order.push_back(static_cast<std::uint8_t>(s));
      }
    }
  }
  shape.index_reasons();
  shape.reason_bytes = 0;
  for (std::string_view& reason : shape.reasons) {
    shape.reason_bytes += hold_reason(reason);
  }
}

// Its key lies in shape_key_.
std::unique_ptr<PodShape> Cluster::make_shape(const Pod& pod, ShapeUse use, ShapeId id,
                                              ShapeId counts_as) {
  auto made = std::make_unique<PodShape>();
  PodShape& shape = *made;
  shape.id = id;
  shape.counts_as = counts_as;
  shape.daemon_set = pod.daemon_set;
  if (use == ShapeUse::kDecision) {
    shape.constraint = {pod.node_selector, pod.required_node_affinity, pod.tolerations};
    shape.host_ports = host_ports(pod);
  }
  shape.key = shape_key_;
  shape.key_hash = hash_bytes(shape_key_);
  if (enabled(PluginId::kNodeAffinity)) {
    shape.pinned = shape.constraint.pinned();
  }
  shape.names = names_of(pod);
  describe(shape, pod);
  if (!shape.constraint.node_selector.empty() || shape.constraint.required) {
    shape.affinity = std::make_unique<const NodeAffinity>(shape.constraint);
  }
  if (classes_.read(shape.constraint)) {
    ++splits_begun_;
    split_at_ = 0;
  }
  shape.split = splits_begun_;
  measure(shape);
  return made;
}

Result<PodShape*> Cluster::shape_of(const Pod& pod, ShapeUse use, bool lasting) {
  const HostPorts ports = use == ShapeUse::kDecision ? host_ports(pod) : HostPorts();
  write_shape_key(pod, use, ports, shape_key_);
  if (const auto found = shape_ids_.find(std::string_view(shape_key_)); found != shape_ids_.end()) {
    PodShape& shape = *shapes_[found->second];
    note_use(shape);
    return &shape;
  }
  ShapeHolds holds(*this);
  ShapeId counts_as = kNoShape;
  if (use == ShapeUse::kDecision && (has_class_constraint(pod) || !ports.empty())) {
    const auto counting = counting_shape_of(pod);
    if (!counting) {
      return counting;
    }
    holds.add(*counting);
    counts_as = (*counting)->id;
    write_shape_key(pod, use, ports, shape_key_);
  }
  if (auto checked = check_resources(pod); !checked) {
    return tl::unexpected(checked.error());
  }
  trim_shapes();
  if (counts_as != kNoShape) {
    hold(counts_as);
  }
  if (!lasting) {
    if (passing_shape_ != nullptr) {
      classes_.unread(passing_shape_->constraint);
      release_reasons(*passing_shape_);
      release(passing_shape_->counts_as);
    }
    passing_shape_ = make_shape(pod, use, kPassingShape, counts_as);
    return passing_shape_.get();
  }
  if (shape_count_ >= kShapesMax) {
    if (counts_as != kNoShape) {
      release(counts_as);
    }
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("Pod {}: kShapesMax ({}) shapes are needed", key_of(pod), kShapesMax));
  }
  const bool reused = !free_shapes_.empty();
  const ShapeId id = reused ? free_shapes_.back() : static_cast<ShapeId>(shapes_.size());
  auto made = make_shape(pod, use, id, counts_as == kNoShape ? id : counts_as);
  if (reused) {
    free_shapes_.pop_back();
    shapes_[id] = std::move(made);
  } else {
    shapes_.push_back(std::move(made));
  }
  ++shape_count_;
  shape_ids_.emplace(shapes_[id]->key, id);
  count_bytes(*shapes_[id]);
  return shapes_[id].get();
}

Result<PodShape*> Cluster::counting_shape_of(const Pod& pod) {
  return shape_of(pod, ShapeUse::kCounting, true);
}

Result<PodShape*> Cluster::decidable_shape_of(const Pod& pod) {
  // Where classes say something of the pod the shape is kept: to ask them all takes turns.
  const bool passing =
      (enabled(PluginId::kNodeAffinity) && names_its_nodes(pod.required_node_affinity)) ||
      (has_node_ports_ && has_host_ports(pod) && !has_class_constraint(pod));
  return decidable(pod, shape_of(pod, ShapeUse::kDecision, !passing));
}

Result<PodShape*> Cluster::lasting_shape_of(const Pod& pod) {
  const auto shape = decidable(pod, shape_of(pod, ShapeUse::kDecision, true));
  if (shape && !std::exchange((*shape)->handed_out, true)) {
    hold((*shape)->id);
  }
  return shape;
}

Result<PodShape*> Cluster::kept_shape_of(const Pod& pod) {
  auto shape = decidable_shape_of(pod);
  if (shape && (*shape)->id == kPassingShape) {
    return nullptr;
  }
  return shape;
}

PodShape& Cluster::shape_again(const Pod& pod, PodShape* kept) {
  return kept != nullptr ? *kept : **decidable_shape_of(pod);
}

std::vector<std::string> Cluster::named_node(const Pod& pod) const {
  return pod.node_name.empty() || !enabled(PluginId::kNodeName)
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
  if (shape.split > splits_done_ && !split_classes(pause)) {
    return false;
  }
  // A passing shape does not outlive the turn: each row's class is asked when it is looked at.
  if (shape.id == kPassingShape) {
    return true;
  }
  if (shape.class_generation != classes_.generation()) {
    shape.class_generation = classes_.generation();
    shape.class_codes.clear();
  }
  if (shape.class_codes.empty()) {
    shape.class_codes.push_back(kClassRejection | kNoNodeReason);
  }
  if (shape.pinned || shape.class_codes.size() >= classes_.size()) {
    return true;
  }
  const bool done = code_classes(shape, pause);
  count_bytes(shape);
  return done;
}

bool Cluster::code_classes(PodShape& shape, const Pause& pause) {
  while (shape.class_codes.size() < classes_.size()) {
    const auto next = static_cast<std::uint32_t>(shape.class_codes.size());
    if (inherits(shape, next)) {
      shape.class_codes.push_back(shape.class_codes[class_origins_[next].parent]);
      continue;
    }
    shape.class_codes.push_back(class_code(shape, classes_.at(next), classes_.at(next).name, true));
    if (shape.class_codes.size() < classes_.size() && pause()) {
      return false;
    }
  }
  return true;
}

std::uint32_t Cluster::row_class_code(const PodShape& shape, std::uint32_t row) {
  if (shape.split > splits_done_) {
    split_row(row);
  }
  const std::uint32_t its = table_.node_class(row);
  if (its == kNoNodeClass) {
    return kClassRejection | kNoNodeReason;
  }
  if (shape.class_generation == classes_.generation() && its < shape.class_codes.size()) {
    return shape.class_codes[its];
  }
  return class_code(shape, classes_.at(its), classes_.at(its).name, true);
}

std::uint32_t Cluster::class_code(const PodShape& shape, const NodeClass& node_class,
                                  std::string_view node_name, bool name_matches) {
  if (!passes_node_unschedulable(shape.constraint, node_class) &&
      enabled(PluginId::kNodeUnschedulable)) {
    return kUnschedulableMark;
  }
  if (!name_matches && enabled(PluginId::kNodeName)) {
    return kOtherNodeName;
  }
  if (const Taint* taint = untolerated_taint(shape.constraint, node_class);
      taint != nullptr && enabled(PluginId::kTaintToleration)) {
    return profile_.mode == Mode::kUpstream  // kube-scheduler 1.35 does not name it
               ? kUntoleratedTaint
               : kClassRejection |
                     class_reason_index(PluginId::kTaintToleration,
                                        fmt::format("node(s) had untolerated taint {{{}: {}}}",
                                                    taint->key, taint->value));
  }
  if (shape.affinity != nullptr && !shape.affinity->passes(node_class, node_name) &&
      enabled(PluginId::kNodeAffinity)) {
    return kAffinityMismatch;
  }
  return 0;
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
  for (PodId id = nodes_[row].first_pod; id != kNoPod; id = pods_[id].next) {
    look_at(pods_[id], "");
  }
  const bool counts = !first.empty();
  for (const PodId id : nodes_[row].nominated) {
    if (!counts && pods_[id].rank.priority >= priority) {
      look_at(pods_[id], ", which is nominated");
    }
  }
  return text;
}

void Cluster::without(const Pod& pod, const std::function<void()>& look) {
  write_pod_key(pod.namespace_name, pod.name, pod_key_);
  const auto found = pod_ids_.find(pod_key_);
  if (found == pod_ids_.end() || pods_[found->second].uid != pod.uid) {
    look();
    return;
  }
  const PodId id = found->second;
  if (pods_[id].rank.nominated) {
    denominate(id);
    look();
    nominate(id);
    return;
  }
  if (profile_.mode == Mode::kUpstream || pods_[id].counted_row == kNoRow) {
    look();
    return;
  }
  const std::uint32_t row = pods_[id].counted_row;
  uncount(id);
  mark(row, Stale::kOnlyPods);
  look();
  count(id);
  mark(row, Stale::kOnlyPods);
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

void Cluster::with_nominated(const Pod& pod, PodShape& shape, const std::function<void()>& look) {
  if (nominated_rows_.empty()) {
    look();
    return;
  }
  prepare_for_rows(shape);
  const std::int32_t priority = capacity_->claim(pod).priority;
  struct Added {
    std::uint32_t row;
    PodId pod;
  };
  std::vector<Added> added;
  const auto code_now = [&](std::uint32_t row) {
    if (ports_taken(shape, row)) {
      return kPortsTaken;
    }
    std::uint32_t code = 0;
    for (const FilterTerm& term : shape.active_terms) {
      code |= static_cast<std::uint32_t>(term.need > table_.headroom(row, term.column)) << term.bit;
    }
    return first_rejection(shape.program(), code);
  };
  const auto add = [&](std::uint32_t row, PodId id) {
    const PodFacts& waiting = pods_[id];
    table_.add(row, shapes_[waiting.shape]->contributions);
    if (waiting.host_ports != nullptr) {
      nodes_[row].ports.add(*waiting.host_ports);
    }
    added.push_back({row, id});
  };
  const auto take_away = [&](const Added& last) {
    const PodFacts& waiting = pods_[last.pod];
    table_.subtract(last.row, shapes_[waiting.shape]->contributions);
    if (waiting.host_ports != nullptr) {
      nodes_[last.row].ports.remove(*waiting.host_ports);
    }
  };
  for (const std::uint32_t row : nominated_rows_) {
    const std::size_t before = added.size();
    // Of a pod that names its nodes the class says nothing.
    if (nodes_[row].node == nullptr || (!shape.pinned && row_class_code(shape, row) != 0)) {
      continue;
    }
    const std::uint32_t code = code_now(row);
    for (const PodId id : nodes_[row].nominated) {
      if (pods_[id].rank.priority >= priority) {
        add(row, id);
      }
    }
    if (added.size() == before) {
      continue;
    }
    if (code_now(row) != code) {
      table_.commit(row);
      continue;
    }
    for (; added.size() > before; added.pop_back()) {
      take_away(added.back());
    }
  }
  look();
  for (std::size_t i = 0; i < added.size(); ++i) {
    take_away(added[i]);
    if (i + 1 == added.size() || added[i + 1].row != added[i].row) {
      table_.commit(added[i].row);
    }
  }
}

// --- Quotas, budgets, priorities ---

Result<void> Cluster::upsert(const ElasticQuota& quota) {
  if (capacity_ == nullptr) {
    return {};
  }
  const std::string object = "ElasticQuota " + pod_key(quota.namespace_name, quota.name);
  if (quota.name.empty()) {
    return fail(ErrorCode::kInvalid, "ElasticQuota: metadata.name is empty");
  }
  for (const auto& [list, field] : {std::pair(&quota.min, "spec.min"), {&quota.max, "spec.max"}}) {
    if (auto checked = check_resources(list->value_or(ResourceList()), object, field); !checked) {
      return checked;
    }
  }
  ElasticQuotas& quotas = capacity_->quotas();
  if (quotas.find(quota.namespace_name, quota.name) == nullptr &&
      quotas.object_count() >= kElasticQuotasMax) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("{}: kElasticQuotasMax ({}) quotas are known", object, kElasticQuotasMax));
  }
  if (!quotas.has_room_for(quota)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: with what it names quotas would name more than kResourcesMax ({}) "
                            "resources",
                            object, kResourcesMax));
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
  const std::string key = pod_key(budget.namespace_name, budget.name);
  if (budget.name.empty()) {
    return fail(ErrorCode::kInvalid, "PodDisruptionBudget: metadata.name is empty");
  }
  for (const NodeSelectorRequirement& requirement : budget.selector) {
    const bool lists = requirement.op == "In" || requirement.op == "NotIn";
    const bool known = lists || requirement.op == "Exists" || requirement.op == "DoesNotExist";
    if (requirement.key.empty() || !known || lists == requirement.values.empty()) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("PodDisruptionBudget {}: spec.selector: key \"{}\", operator \"{}\" "
                              "and {} values are no requirement",
                              key, requirement.key, requirement.op, requirement.values.size()));
    }
  }
  if (capacity_->budgets().find(key) == nullptr &&
      capacity_->budgets().count() >= kPodDisruptionBudgetsMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("PodDisruptionBudget {}: kPodDisruptionBudgetsMax ({}) are known", key,
                            kPodDisruptionBudgetsMax));
  }
  remember_budget(key);
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
  if (priority_class.name.empty()) {
    return fail(ErrorCode::kInvalid, "PriorityClass: metadata.name is empty");
  }
  if (capacity_->find_priority_class(priority_class.name) == nullptr &&
      capacity_->priority_class_count() >= kPriorityClassesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("PriorityClass {}: kPriorityClassesMax ({}) are known",
                            priority_class.name, kPriorityClassesMax));
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
  for (PodId id = 0; id < pods_.size(); ++id) {
    PodRank& rank = pods_[id].rank;
    const std::int32_t priority = capacity_->priority_now(rank);
    if (!pods_[id].known() || priority == rank.priority) {
      continue;
    }
    const std::uint32_t row = pods_[id].counted_row;
    uncount(id);
    rank.priority = priority;
    recount(id, row);
  }
}

void Cluster::notes(std::uint32_t row, std::vector<Note>& out) const {
  for (const Policy* policy : policies_) {
    policy->notes(row, nodes_[row], out);
  }
}

}  // namespace headroom
