// Applications: what events change of them: pods that begin or end to count, nodes, and the objects
// that pods refer to.
#include <algorithm>
#include <new>

#include "engine/applications/applications.h"
#include "engine/applications/claim.h"
#include "engine/applications/terms.h"
#include "engine/applications/volumes.h"

namespace headroom {

namespace {

// Preferred terms that are held against classes, some 50 ns each, before the pause is asked.
constexpr std::size_t kTermsBetweenPauses = 1024;

}  // namespace

// A supposition that is taken back counts a pod again: what cannot be, for want of memory, is made
// up for by the next look.
void Applications::count(PodId id) noexcept {
  const PodFacts& pod = facts_.pods[id];
  if (pod.peer == kNoPeer) {
    return;
  }
  peers_.link(id);
  try {
    feed_all_of(pod, 1);
    if (!broken_) {
      count_volumes_of(id);
    }
  } catch (const std::bad_alloc&) {
    broken_ = true;
  }
}

void Applications::uncount(PodId id) noexcept {
  const PodFacts& pod = facts_.pods[id];
  if (pod.peer == kNoPeer) {
    return;
  }
  peers_.unlink(id);
  try {
    feed_all_of(pod, -1);
    if (!broken_) {
      uncount_volumes_of(id);
    }
  } catch (const std::bad_alloc&) {
    broken_ = true;
  }
}

void Applications::count_volumes_of(PodId id) {
  const PodFacts& pod = facts_.pods[id];
  const PodPeer& peer = peers_.at(pod.peer);
  if (peer.volumes.empty()) {
    return;
  }
  make_row_volumes(pod.counted_row).pods.push_back(id);
  count_volumes(peer, pod.counted_row, 1);
  for (const Volume& volume : peer.volumes) {
    if (volume.claim) {
      claim_pods_[pod_key(peer.namespace_name, *volume.claim)].push_back(id);
    }
  }
}

void Applications::uncount_volumes_of(PodId id) {
  const PodFacts& pod = facts_.pods[id];
  const PodPeer& peer = peers_.at(pod.peer);
  if (peer.volumes.empty()) {
    return;
  }
  std::erase(row_volumes_[pod.counted_row].pods, id);
  count_volumes(peer, pod.counted_row, -1);
  for (const Volume& volume : peer.volumes) {
    if (!volume.claim) {
      continue;
    }
    const auto pods = claim_pods_.find(pod_key(peer.namespace_name, *volume.claim));
    if (pods == claim_pods_.end()) {
      continue;  // a claim that two volumes name
    }
    std::erase(pods.value(), id);
    if (pods->second.empty()) {
      claim_pods_.erase(pods);
    }
  }
}

void Applications::count_volumes(const PodPeer& peer, std::uint32_t row, int sign) {
  const auto more = static_cast<std::uint32_t>(sign);
  for (const Volume& volume : peer.volumes) {
    row_volumes_[row].volumes += more;
    row_volumes_[row].ephemeral += volume.ephemeral ? more : 0;
  }
}

void Applications::feed(Application& application, const Feed& feed, std::uint32_t row, int sign) {
  if (broken_ || !is_current(application)) {
    return;
  }
  Counter& counter = application.counters[feed.counter];
  // Weights of preferred terms may come to 0: their pair was touched all the same.
  if (feed.weight == 0 && counter.kind != Counter::Kind::kPreferred) {
    return;
  }
  const std::uint32_t cell = cell_of(application, counter, row);
  if (cell == kNoDomain) {
    return;
  }
  if (counter.fine()) {
    FineSums& sums = *application.fine_sums[counter.sums];
    const FineSums::Standing before = sums.feed(cell, counter.number, feed.weight, sign);
    if (sums.crowded()) {
      sums.renumber();
      application.version = ++versions_;
    } else {
      note(application, application.standing_changes, {counter.sums, cell, before});
    }
    return;
  }
  FedCell& its = counter.cells[cell];
  its.feed(feed.weight, sign);
  if (its.pods == 0) {
    counter.cells.erase(cell);
  }
  note(application, application.sum_changes, {feed.counter, cell});
}

template <typename Change>
void Applications::note(Application& application, std::vector<Change>& changes, Change change) {
  if (application.kept == nullptr) {
    return;
  }
  if (changes.size() == kSumChangesMax) {
    changes.clear();
    application.version = ++versions_;
  }
  changes.push_back(change);
}

std::uint32_t Applications::cell_of(const Application& application, const Counter& counter,
                                    std::uint32_t row) const {
  if (counter.kind == Counter::Kind::kHardSpread || counter.kind == Counter::Kind::kSoftSpread) {
    const bool hard = counter.kind == Counter::Kind::kHardSpread;
    const SpreadConstraint& constraint =
        (hard ? application.hard : application.soft)[counter.index];
    if (counter.key == kByRow) {
      return row;
    }
    // Only nodes with the keys of all hard, or all soft, constraints; but for System's defaults.
    if (hard || !application.system_defaults) {
      for (const SpreadConstraint& other : hard ? application.hard : application.soft) {
        if (topology_.domain(other.key, row) == kNoDomain) {
          return kNoDomain;
        }
      }
    }
    if (!takes_part(application, constraint, row)) {
      return kNoDomain;
    }
    if (!hard) {
      return soft_domain(application, counter.key, row);
    }
  }
  return topology_.domain(counter.key, row);
}

bool Applications::takes_part(const Application& application, const SpreadConstraint& constraint,
                              std::uint32_t row) const {
  const std::uint32_t node_class = table_.node_class(row);
  if (node_class == kNoNodeClass) {
    return false;
  }
  if (application.pinned) {
    return takes_part(application, constraint, classes_.classes().at(node_class),
                      facts_.nodes[row].name);
  }
  if (node_class >= constraint.takes_part.size()) {
    extend(application, constraint);
  }
  return constraint.takes_part[node_class];
}

// By the two policies alone.
bool Applications::takes_part(const Application& application, const SpreadConstraint& constraint,
                              const NodeClass& node_class, std::string_view name) const {
  return (!constraint.its.honors_affinity || application.node_affinity == nullptr ||
          application.node_affinity->passes(node_class, name)) &&
         (!constraint.its.honors_taints ||
          untolerated_taint(application.constraint, node_class) == nullptr);
}

void Applications::extend(const Application& application,
                          const SpreadConstraint& constraint) const {
  const NodeClasses& classes = classes_.classes();
  for (auto c = static_cast<std::uint32_t>(constraint.takes_part.size()); c < classes.size(); ++c) {
    const NodeClass& its = classes.at(c);
    constraint.takes_part.push_back(takes_part(application, constraint, its, its.name));
  }
}

bool Applications::weigh_preferences(Application& application, const Pause& pause) const {
  const NodeClasses& classes = classes_.classes();
  std::vector<std::int64_t>& weighed = application.preference;
  if (application.preference_generation != classes.generation()) {
    application.preference_generation = classes.generation();
    weighed.clear();
  }
  if (application.preferences.empty()) {
    return true;
  }
  std::size_t held = 0;  // since the pause was asked
  while (weighed.size() < classes.size()) {
    const NodeClass& its = classes.at(static_cast<std::uint32_t>(weighed.size()));
    std::int64_t sum = 0;
    for (const Application::Preferred& preferred : application.preferences) {
      sum += !preferred.by_name && preferred.affinity->passes(its, its.name) ? preferred.weight : 0;
    }
    weighed.push_back(sum);
    if ((held += application.preferences.size()) >= kTermsBetweenPauses) {
      held = 0;
      if (pause() && weighed.size() < classes.size()) {
        return false;
      }
    }
  }
  return true;
}

// Its pods are taken out as they counted before, and counted as they do now.
void Applications::change_node(std::uint32_t row, const KeptNode* before, const KeptNode* after,
                               const std::function<void()>& reclassify) {
  if (!any_) {
    reclassify();
    return;
  }
  const Whole whole(*this);
  // Nothing that is kept of a decision follows from them.
  if (image_locality_) {
    images_.change(row, before, after);
  }
  if (before != nullptr && after != nullptr && before->labels == after->labels &&
      before->traits->taints == after->traits->taints &&
      before->traits->unschedulable == after->traits->unschedulable &&
      before->traits->declared_features == after->traits->declared_features) {
    reclassify();
    return;
  }
  const std::vector<KeyKind> kinds = key_kinds();
  feed_pods_of(row, -1);
  reclassify();
  node_count_ += (after != nullptr) - (before != nullptr);
  topology_.set_node(row, after);
  if (kinds != key_kinds() ||
      (before != nullptr && after != nullptr && moves_finely(*before, *after))) {
    ++keys_generation_;
  }
  ++node_changes_;
  feed_pods_of(row, 1);
  if ((before == nullptr) != (after == nullptr)) {
    set_csi_node(row, after == nullptr ? nullptr
                                       : referred_.find<CsiNode>(ReferredKind::kCsiNode,
                                                                 facts_.nodes[row].name));
  }
}

void Applications::feed_pods_of(std::uint32_t row, int sign) {
  for (PodId id = facts_.nodes[row].first_pod; id != kNoPod; id = facts_.pods[id].next) {
    if (facts_.pods[id].peer != kNoPeer) {
      feed_all_of(facts_.pods[id], sign);
    }
  }
}

void Applications::feed_all_of(const PodFacts& pod, int sign) {
  for (const Subscription& its : peers_.kin_of(pod.peer).subscriptions) {
    feed(*its.application, its.feed, pod.counted_row, sign);
  }
}

std::vector<Applications::KeyKind> Applications::key_kinds() const {
  std::vector<KeyKind> kinds;
  for (TopologyKeyId key = 0; key < key_users_.size(); ++key) {
    KeyKind& its = kinds.emplace_back();
    if (key_users_[key] != 0) {
      its.fine = is_fine(key);
      its.everywhere = its.fine && topology_.node_count(key) == node_count_;
      its.has_empty = topology_.find_domain(key, "") != kNoDomain;
    }
  }
  return kinds;
}

bool Applications::moves_finely(const KeptNode& before, const KeptNode& after) const {
  for (TopologyKeyId key = 0; key < key_users_.size(); ++key) {
    if (key_users_[key] == 0 || !is_fine(key)) {
      continue;
    }
    const std::string* was = find(before.labels, topology_.name(key));
    const std::string* is = find(after.labels, topology_.name(key));
    if (was == nullptr || is == nullptr ? was != is : *was != *is) {
      return true;
    }
  }
  return false;
}

void Applications::change(ReferredKind kind, const ReferredObject* before,
                          const ReferredObject* after, std::uint32_t row) {
  const Whole whole(*this);
  if (after != nullptr) {
    if (const auto* service = std::get_if<Service>(after); service && service->selector) {
      for (const auto& label : *service->selector) {
        read_.add(label.first);
      }
    } else if (const auto* controller = std::get_if<WorkloadController>(after)) {
      read_.add(controller->selector);
    }
  }
  // Once broken they may refer to what is gone: mend() reads them anew.
  if (!broken_) {
    chosen_volumes_.change(before, after);
  }
  if (!broken_ && kind == ReferredKind::kCsiNode && row != kNoRow) {
    set_csi_node(row, after == nullptr ? nullptr : std::get_if<CsiNode>(after));
  }
  // What selects, and whom, is part of what was counted; a node's CSINode is looked at as it is.
  if (kind == ReferredKind::kNamespace) {
    namespace_changes(std::get<Namespace>(after != nullptr ? *after : *before).name);
  } else if (kind <= ReferredKind::kStatefulSet) {
    for (const ReferredObject* object : {before, after}) {
      if (object != nullptr) {
        selector_changes(*object);
      }
    }
  } else if (kind != ReferredKind::kCsiNode) {
    ++volumes_generation_;
  }
}

void Applications::choose_volumes(PodId id, const Pod& pod, std::uint32_t row) {
  set_chosen(id, {});  // before it is looked at what there is
  if (!profile_.filters_by(PluginId::kVolumeBinding) || facts_.nodes[row].node == nullptr ||
      !has_claims(pod)) {
    return;
  }
  if (broken_) {
    mend();
  }
  Application asks;
  asks.namespace_name = pod.namespace_name;
  maker_.read_volumes(pod, asks);
  set_chosen(id, VolumeLook::chosen_on(row, *this, asks));
}

void Applications::set_chosen(PodId id, ChosenVolumes::Choices choices) {
  const bool had = !chosen_volumes_.of(id).empty();
  if (!had && choices.empty()) {
    return;
  }
  if (broken_) {
    mend();
  }
  const Whole whole(*this);
  ++volumes_generation_;
  if (had) {
    chosen_volumes_.remove(id);
  }
  if (!choices.empty()) {
    chosen_volumes_.add(id, std::move(choices));
  }
}

void Applications::set_chosen_aside(PodId id) {
  if (broken_) {
    mend();
  }
  const Whole whole(*this);
  ++volumes_generation_;
  chosen_volumes_.set_aside(id);
}

void Applications::bring_chosen_back(PodId id) noexcept {
  ++volumes_generation_;
  try {
    chosen_volumes_.bring_back(id, !broken_);
  } catch (const std::bad_alloc&) {
    broken_ = true;
  }
}

// Terms of its own pods, and of others, may mean other namespaces by their labels: whoever they
// select is another one.
void Applications::namespace_changes(std::string_view name) {
  for (Application* application : crossing_) {
    application->described = false;
  }
  const auto there = in_namespace_.find(name);
  if (there == in_namespace_.end() || peers_.crossing().empty()) {
    return;
  }
  for (Application* application : there->second) {
    application->described = false;
  }
}

// Replica sets come and go all the time: who is spread by other selectors is where it was.
void Applications::selector_changes(const ReferredObject& object) {
  const auto* service = std::get_if<Service>(&object);
  const auto there =
      in_namespace_.find(service != nullptr ? service->namespace_name
                                            : std::get<WorkloadController>(object).namespace_name);
  if (there == in_namespace_.end()) {
    return;
  }
  for (Application* application : there->second) {
    if (selects_by_default(object, *application)) {
      application->described = false;
    }
  }
}

Applications::RowVolumes& Applications::make_row_volumes(std::uint32_t row) {
  if (row >= row_volumes_.size()) {
    row_volumes_.resize(row + 1);
  }
  return row_volumes_[row];
}

void Applications::set_csi_node(std::uint32_t row, const CsiNode* csi_node) {
  if (csi_node == nullptr && row >= row_volumes_.size()) {
    return;
  }
  RowVolumes& its = make_row_volumes(row);
  its.csi_node = csi_node;
  its.least_limit = INT64_MAX;
  for (std::size_t d = 0; csi_node != nullptr && d < csi_node->drivers.size(); ++d) {
    its.least_limit = std::min(its.least_limit, csi_node->drivers[d].count.value_or(INT64_MAX));
  }
}

const Applications::RowVolumes& Applications::row_volumes(std::uint32_t row) const {
  static const RowVolumes kNone;
  return row < row_volumes_.size() ? row_volumes_[row] : kNone;
}

const std::vector<PodId>& Applications::claim_pods(std::string_view claim) const {
  static const std::vector<PodId> kNone;
  const auto found = claim_pods_.find(claim);
  return found == claim_pods_.end() ? kNone : found->second;
}

}  // namespace headroom
