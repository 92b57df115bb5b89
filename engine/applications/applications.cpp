#include "engine/applications/applications.h"

#include <algorithm>
#include <utility>

#include "engine/applications/terms.h"
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
  measure(application);
  trim();
  return &application;
}

Application* Applications::for_decision(const Pod& pod, Known& last) {
  if (last.application != nullptr && last.edition == edition() && !broken_) {
    use_order_.splice(use_order_.begin(), use_order_, last.application->use_place);
    return last.application;
  }
  last.application = for_decision(pod);
  last.edition = edition();
  return last.application;
}

// --- What follows from other facts ---

bool Applications::is_current(const Application& application) const {
  return application.current && is_described(application);
}

bool Applications::is_described(const Application& application) const {
  return application.described && application.keys_generation == keys_generation_ &&
         (application.volumes.empty() || application.volumes_generation == volumes_generation_) &&
         (!application.volumes_read_nodes || application.node_changes == node_changes_) &&
         application.class_generation == classes_.classes().generation();
}

bool Applications::is_prepared(const Application& application) const {
  const NodeClasses& classes = classes_.classes();
  return is_current(application) && application.classes_known == classes.size() &&
         application.domains_counted == node_changes_ && first_rows_.size() == classes.size() &&
         first_rows_generation_ == classes.generation() &&
         first_rows_version_ == table_.class_changes().version();
}

void Applications::prepare(Application& application) {
  if (is_prepared(application)) {
    return;
  }
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
  const std::size_t room = application.preference.capacity();
  (void)weigh_preferences(application, kInOneTurn);
  if (application.preference.capacity() != room) {
    measure(application);
  }
  application.classes_known = classes_.classes().size();
  find_first_rows();
  if (application.domains_counted != node_changes_) {
    count_domains(application);
    application.domains_counted = node_changes_;
  }
}

bool Applications::tell_apart(Application& application, const Pause& pause) {
  const Whole whole(*this);
  if (!is_described(application)) {
    describe_counters(application);
  }
  return (classes_.has_split(application.split) || classes_.split(pause)) &&
         weigh_preferences(application, pause);
}

void Applications::rebuild(Application& application) {
  (void)tell_apart(application, kInOneTurn);
  // Splitting may have numbered classes anew.
  application.class_generation = classes_.classes().generation();
  application.classes_known = 0;
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
  application.domains_counted = 0;
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
  release(application.keys);
  application.keys.clear();
  application.rows_only = application.volumes_by_row = application.volumes_read_nodes = false;
  application.described = application.current = false;
}

void Applications::release(const std::vector<TopologyKeyId>& keys) {
  for (const TopologyKeyId key : keys) {
    --key_users_[key];
    topology_.release(key);
  }
}

void Applications::find_first_rows() {
  const NodeClasses& classes = classes_.classes();
  const ClassChanges& changes = table_.class_changes();
  if (first_rows_generation_ != classes.generation() || !changes.leads_from(first_rows_version_)) {
    first_rows_ = look_for_first_rows();
    first_rows_generation_ = classes.generation();
    first_rows_version_ = changes.version();
    return;
  }
  first_rows_.resize(classes.size(), kNoRow);
  changes.each_after(first_rows_version_, [this](const ClassChange& change) {
    for (const std::uint32_t its : {change.from, change.to}) {
      std::uint32_t& first = first_rows_[its];
      if (table_.node_class(change.row) == its) {
        first = std::min(first, change.row);
      } else if (first == change.row) {
        first = next_row(its, change.row + 1);
      }
    }
  });
  first_rows_version_ = changes.version();
}

std::vector<std::uint32_t> Applications::look_for_first_rows() const {
  std::vector<std::uint32_t> first_rows(classes_.classes().size(), kNoRow);
  for (std::uint32_t row = table_.size(); row-- > 0;) {
    first_rows[table_.node_class(row)] = row;
  }
  return first_rows;
}

// Of the class, from a row on.
std::uint32_t Applications::next_row(std::uint32_t node_class, std::uint32_t row) const {
  if (classes_.nodes_in(node_class) == 0) {
    return kNoRow;
  }
  while (row < table_.size() && table_.node_class(row) != node_class) {
    ++row;
  }
  return row < table_.size() ? row : kNoRow;
}

// --- Keeping ---

void Applications::begin_anew() noexcept {
  ++dropped_;
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
  ids_.clear();
  volume_index_.forget();
  topology_.release_all();
  key_users_.clear();
  bytes_ = 0;
  first_rows_version_ = 0;
}

void Applications::mend() {
  begin_anew();
  volume_index_.read(referred_);
  chosen_volumes_.read();
  row_volumes_.clear();
  claim_pods_.clear();
  node_count_ = 0;
  for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
    set_csi_node(row, referred_.find<CsiNode>(ReferredKind::kCsiNode, facts_.nodes[row].name));
    node_count_ += facts_.nodes[row].node != nullptr;
  }
  images_ = images_of_nodes();
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    if (facts_.pods[id].counted_row != kNoRow && facts_.pods[id].peer != kNoPeer) {
      count_volumes_of(id);
    }
  }
  broken_ = false;
}

Images Applications::images_of_nodes() const {
  Images images;
  for (std::uint32_t row = 0; image_locality_ && row < facts_.nodes.size(); ++row) {
    images.change(row, nullptr, facts_.nodes[row].node.get());
  }
  return images;
}

void Applications::drop_kept() noexcept {
  for (Application* application : use_order_) {
    application->kept.reset();
    set_kept_bytes(*application, 0);
  }
}

void Applications::measure(Application& application) {
  std::size_t bytes = allocated_bytes(sizeof(Application)) + 2 * heap_bytes(application.key) +
                      heap_bytes(application.preference) +
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
  ++dropped_;
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
  const auto known = ids_.find(std::string_view(application.key));
  HEADROOM_ASSERT(known != ids_.end());
  const std::unique_ptr<Application> last = std::move(known.value());
  ids_.erase(known);
}

}  // namespace headroom
