#include "engine/applications/applications.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/applications/terms.h"
#include "engine/table/value_bytes.h"
#include "layout/heap_bytes.h"
#include "objects/assert.h"

namespace headroom {

namespace {

// Of what shapes may take.
constexpr std::size_t kBytesShare = 4;

constexpr PluginId kScores[] = {PluginId::kTaintToleration,  PluginId::kNodeAffinity,
                                PluginId::kVolumeBinding,    PluginId::kPodTopologySpread,
                                PluginId::kInterPodAffinity, PluginId::kImageLocality};
static_assert(std::size(kScores) == kApplicationScoresMax);

}  // namespace

Applications::Applications(const Profile& profile, Facts& facts, const NodeTable& table,
                           RowClasses& classes, const ReferredObjects& referred,
                           Rejections& rejections, std::size_t bytes_max)
    : profile_(profile),
      facts_(facts),
      table_(table),
      classes_(classes),
      referred_(referred),
      rejections_(rejections),
      bytes_max_(bytes_max / kBytesShare),
      any_(profile.uses({PluginId::kPodTopologySpread, PluginId::kInterPodAffinity,
                         PluginId::kVolumeRestrictions, PluginId::kNodeVolumeLimits,
                         PluginId::kVolumeBinding, PluginId::kVolumeZone,
                         PluginId::kNodeDeclaredFeatures}) ||
           std::any_of(std::begin(kScores), std::end(kScores),
                       [&](PluginId plugin) { return profile.scores_by(plugin); })),
      spreads_(profile.uses({PluginId::kPodTopologySpread})),
      pod_affinity_(profile.uses({PluginId::kInterPodAffinity})),
      image_locality_(profile.scores_by(PluginId::kImageLocality)),
      maker_(profile, read_),
      topology_(facts),
      peers_(profile, facts) {
  for (const ScorePlugin& score : profile.scores) {
    if (std::find(std::begin(kScores), std::end(kScores), score.plugin) != std::end(kScores)) {
      scores_.push_back({score.plugin, score.weight});
    }
  }
  peers_.on_change([this](PodPeer& peer) { peer_made(peer); },
                   [this](PodPeer& peer) { peer_gone(peer); });
}

Applications::~Applications() = default;

// --- Events ---

void Applications::begin_anew() noexcept {
  for (const auto& [key, application] : ids_) {
    if (application->reads_held) {
      classes_.unread(application->reads.constraint, application->reads.keys);
    }
  }
  for (PeerId id = 0; id < peers_.id_limit(); ++id) {
    if (peers_.is_kin(id)) {
      peers_.at(id).subscriptions.clear();
    }
  }
  use_order_.clear();
  check_order_.clear();
  in_namespace_.clear();
  crossing_.clear();
  naming_image_.clear();
  ids_.clear();
  volume_index_.forget();
  topology_.release_all();
  bytes_ = 0;
  first_rows_.clear();
}

void Applications::mend() {
  begin_anew();
  volume_index_.read(referred_);
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    set_csi_node(row, referred_.find<CsiNode>(ReferredKind::kCsiNode, facts_.nodes[row].name));
  }
  broken_ = false;
}

void Applications::drop_kept() noexcept {
  for (Application* application : use_order_) {
    application->kept.reset();
    set_kept_bytes(*application, 0);
  }
}

void Applications::count(PodId id) {
  const PodFacts& pod = facts_.pods[id];
  if (pod.peer == kNoPeer) {
    return;
  }
  const Whole whole(*this);
  peers_.link(id);
  const PodPeer& peer = peers_.at(pod.peer);
  for (const Subscription& subscription : peers_.kin_of(pod.peer).subscriptions) {
    feed(*subscription.application, subscription.feed, pod.counted_row, 1);
  }
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

void Applications::uncount(PodId id) {
  const PodFacts& pod = facts_.pods[id];
  if (pod.peer == kNoPeer) {
    return;
  }
  const Whole whole(*this);
  peers_.unlink(id);
  const PodPeer& peer = peers_.at(pod.peer);
  for (const Subscription& subscription : peers_.kin_of(pod.peer).subscriptions) {
    feed(*subscription.application, subscription.feed, pod.counted_row, -1);
  }
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
  its.sum += sign * feed.weight;
  its.pods += static_cast<std::uint32_t>(sign);
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
    // A class that is new since: there are none while several threads look.
    extend(application, const_cast<SpreadConstraint&>(constraint));
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

void Applications::extend(const Application& application, SpreadConstraint& constraint) const {
  const NodeClasses& classes = classes_.classes();
  for (auto c = static_cast<std::uint32_t>(constraint.takes_part.size()); c < classes.size(); ++c) {
    const NodeClass& its = classes.at(c);
    constraint.takes_part.push_back(takes_part(application, constraint, its, its.name));
  }
}

void Applications::change_node(std::uint32_t row, const Node* before, const Node* after) {
  if (!any_) {
    return;
  }
  node_count_ += (after != nullptr) - (before != nullptr);
  const Whole whole(*this);
  if (before != nullptr && after != nullptr && before->labels == after->labels &&
      before->taints == after->taints && before->unschedulable == after->unschedulable &&
      before->declared_features == after->declared_features) {
    change_images(row, *before, *after);
    return;
  }
  if ((before == nullptr) != (after == nullptr)) {
    set_csi_node(row, after == nullptr
                          ? nullptr
                          : referred_.find<CsiNode>(ReferredKind::kCsiNode, after->name));
  }
  ++nodes_generation_;
  topology_.set_node(row, after);
  if (image_locality_) {
    images_.change(row, before, after);
  }
}

// Images come and go all the time: who names none of these is where it was.
void Applications::change_images(std::uint32_t row, const Node& before, const Node& after) {
  if (!image_locality_) {
    return;
  }
  for (const std::string_view name : images_.change(row, &before, &after)) {
    if (const auto naming = naming_image_.find(name); naming != naming_image_.end()) {
      for (Application* application : naming->second) {
        application->version = ++versions_;
      }
    }
  }
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
    volume_index_.change(before, after);
  }
  if (!broken_ && kind == ReferredKind::kCsiNode && row != kNoRow) {
    set_csi_node(row, after == nullptr ? nullptr : std::get_if<CsiNode>(after));
  }
  // What selects, and whom, is part of what was counted; a node's CSINode is looked at as it is.
  if (kind == ReferredKind::kNamespace) {
    ++namespaces_generation_;
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

// --- Finding ---

void Applications::note_read(const Pod& pod) {
  if (spreads_) {
    for (const TopologySpreadConstraint& constraint : pod.topology_spread) {
      read_.add(constraint.selector);
      for (const std::string& key : constraint.match_label_keys) {
        read_.add(key);
      }
    }
  }
  if (pod_affinity_) {
    read_.add(pod.pod_affinity);
    read_.add(pod.pod_anti_affinity);
  }
}

Application* Applications::for_decision(const Pod& pod) {
  if (!any_) {
    return nullptr;
  }
  note_read(pod);
  if (broken_) {
    mend();
  }
  const Whole whole(*this);
  const std::string& key = maker_.key(pod);
  const auto known = ids_.find(std::string_view(key));
  if (known != ids_.end()) {
    Application& application = *known->second;
    use_order_.splice(use_order_.begin(), use_order_, application.use_place);
    return &application;
  }
  std::unique_ptr<Application> made = maker_.make(pod, key);
  Application& application = *made;
  ids_.emplace(application.key, std::move(made));
  application.use_place = use_order_.insert(use_order_.begin(), &application);
  application.check_place = check_order_.insert(check_order_.end(), &application);
  application.crosses =
      crosses_namespaces(application.affinity) || crosses_namespaces(application.anti_affinity);
  in_namespace_[application.namespace_name].push_back(&application);
  if (application.crosses) {
    crossing_.push_back(&application);
  }
  for (std::size_t i = 0; image_locality_ && i < application.images.size(); ++i) {
    naming_image_[application.images[i]].push_back(&application);
  }
  measure(application);
  trim();
  return &application;
}

// --- What follows from other facts ---

bool Applications::is_current(const Application& application) const {
  return application.current && is_described(application);
}

bool Applications::is_described(const Application& application) const {
  return application.described && application.nodes_generation == nodes_generation_ &&
         application.namespaces_generation == namespaces_generation_ &&
         (application.volumes.empty() || application.volumes_generation == volumes_generation_) &&
         application.class_generation == classes_.classes().generation();
}

void Applications::prepare(Application& application) {
  const Whole whole(*this);
  if (!is_current(application)) {
    rebuild(application);
  }
  // Classes that are new since tell apart what others read.
  for (auto* constraints : {&application.hard, &application.soft}) {
    for (SpreadConstraint& constraint : *constraints) {
      extend(application, constraint);
    }
  }
  find_first_rows();
}

bool Applications::tell_apart(Application& application, const Pause& pause) {
  const Whole whole(*this);
  if (!is_described(application)) {
    describe_counters(application);
  }
  return classes_.has_split(application.split) || classes_.split(pause);
}

void Applications::rebuild(Application& application) {
  (void)tell_apart(application, kInOneTurn);
  // Splitting may have numbered classes anew.
  application.class_generation = classes_.classes().generation();
  for (auto* list : {&application.hard, &application.soft}) {
    for (SpreadConstraint& constraint : *list) {
      constraint.takes_part.clear();
      extend(application, constraint);
    }
  }
  application.current = true;
  application.version = ++versions_;
  for (const auto& fed : application.feeds) {
    peers_.each_pod(peers_.at(fed.first), [&](PodId pod) {
      for (const Feed& its : fed.second) {
        feed(application, its, facts_.pods[pod].counted_row, 1);
      }
    });
  }
  count_domains(application);
  measure(application);
}

// --- Peers ---

const std::vector<Feed>* Applications::feeds(const Application& application, PeerId peer) const {
  const auto found =
      peer == kNoPeer ? application.feeds.end() : application.feeds.find(peers_.at(peer).kin);
  return found == application.feeds.end() ? nullptr : &found->second;
}

void Applications::subscribe(Application& application, PodPeer& peer) {
  if (!may_meet(application.label_bits, peer.label_bits)) {
    return;
  }
  std::vector<Feed> feeds = feeds_of(application, peer);
  if (feeds.empty()) {
    return;
  }
  const std::vector<Feed>& kept =
      application.feeds.insert_or_assign(peer.id, std::move(feeds)).first->second;
  for (const Feed& feed : kept) {
    peer.subscriptions.push_back({&application, feed});
  }
}

// The peers that it may have to do with.
void Applications::subscribe_all(Application& application) {
  std::vector<PeerId> ids = peers_.in_namespace(application.namespace_name);
  ids.insert(ids.end(), peers_.crossing().begin(), peers_.crossing().end());
  bool every_namespace = false;
  for (const auto* affinity : {&application.affinity, &application.anti_affinity}) {
    for (const auto* terms : {&affinity->required, &affinity->preferred}) {
      for (const PodAffinityTerm& term : *terms) {
        every_namespace |= term.namespace_selector.has_value();
        for (const std::string& name : term.namespaces) {
          const std::vector<PeerId>& more = peers_.in_namespace(name);
          ids.insert(ids.end(), more.begin(), more.end());
        }
      }
    }
  }
  for (PeerId id = 0; every_namespace && id < peers_.id_limit(); ++id) {
    if (peers_.is_kin(id)) {
      ids.push_back(id);
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const PeerId id : ids) {
    subscribe(application, peers_.at(id));
  }
}

void Applications::peer_made(PodPeer& peer) {
  const Whole whole(*this);
  read_.add(peer.affinity);
  read_.add(peer.anti_affinity);
  const auto meet = [&](Application* application) {
    if (!is_described(*application)) {
      return;
    }
    const std::size_t counters = application->counters.size();
    subscribe(*application, peer);
    // A key that no class tells apart for it yet.
    application->described = application->counters.size() == counters;
  };
  if (peer.crosses) {
    std::for_each(use_order_.begin(), use_order_.end(), meet);
    return;
  }
  if (const auto own = in_namespace_.find(peer.namespace_name); own != in_namespace_.end()) {
    std::for_each(own->second.begin(), own->second.end(), meet);
  }
  for (Application* application : crossing_) {
    if (application->namespace_name != peer.namespace_name) {
      meet(application);
    }
  }
}

void Applications::peer_gone(PodPeer& peer) {
  for (const Subscription& subscription : peer.subscriptions) {
    subscription.application->feeds.erase(peer.id);
  }
}

void Applications::forget(Application& application) {
  for (const auto& [id, feeds] : application.feeds) {
    std::erase_if(peers_.at(id).subscriptions, [&](const Subscription& subscription) {
      return subscription.application == &application;
    });
  }
  application.feeds.clear();
  application.counters.clear();
  application.fine_sums.clear();
  application.hard.clear();
  application.soft.clear();
  for (const TopologyKeyId key : application.keys) {
    topology_.release(key);
  }
  application.keys.clear();
  application.rows_only = application.volumes_by_row = false;
  application.described = application.current = false;
}

void Applications::find_first_rows() {
  const NodeClasses& classes = classes_.classes();
  if (first_rows_class_changes_ == table_.class_changes() && first_rows_.size() == classes.size()) {
    return;
  }
  first_rows_class_changes_ = table_.class_changes();
  first_rows_.assign(classes.size(), kNoRow);
  for (std::uint32_t row = table_.size(); row-- > 0;) {
    first_rows_[table_.node_class(row)] = row;
  }
}

// --- Keeping ---

void Applications::measure(Application& application) {
  std::size_t bytes = allocated_bytes(sizeof(Application)) + 2 * heap_bytes(application.key) +
                      heap_bytes(application.reads.constraint.node_selector) +
                      heap_bytes(application.reads.constraint.required) + application.kept_bytes;
  for (const Counter& counter : application.counters) {
    bytes += counter.cells.bucket_count() * 32;
  }
  for (const auto& sums : application.fine_sums) {
    bytes += sums->bytes();
  }
  bytes += application.feeds.bucket_count() * (sizeof(PeerId) + sizeof(std::vector<Feed>) + 8);
  bytes_ += bytes - application.bytes;
  application.bytes = bytes;
}

void Applications::set_kept_bytes(Application& application, std::size_t bytes) {
  bytes_ += bytes - application.kept_bytes;
  application.bytes += bytes - application.kept_bytes;
  application.kept_bytes = bytes;
}

void Applications::trim() {
  while (use_order_.size() > 1 && (bytes_ > bytes_max_ || use_order_.size() > kApplicationsMax)) {
    drop(*use_order_.back());
  }
}

void Applications::drop(Application& application) {
  forget(application);
  if (application.reads_held) {
    classes_.unread(application.reads.constraint, application.reads.keys);
  }
  bytes_ -= application.bytes;
  use_order_.erase(application.use_place);
  check_order_.erase(application.check_place);
  const auto own = in_namespace_.find(application.namespace_name);
  std::erase(own.value(), &application);
  if (own->second.empty()) {
    in_namespace_.erase(own);
  }
  if (application.crosses) {
    std::erase(crossing_, &application);
  }
  for (const std::string& image : application.images) {
    // It may name one twice.
    if (const auto naming = naming_image_.find(image); naming != naming_image_.end()) {
      std::erase(naming.value(), &application);
      if (naming->second.empty()) {
        naming_image_.erase(naming);
      }
    }
  }
  const auto known = ids_.find(std::string_view(application.key));
  HEADROOM_ASSERT(known != ids_.end());
  const std::unique_ptr<Application> last = std::move(known.value());
  ids_.erase(known);
}

}  // namespace headroom
