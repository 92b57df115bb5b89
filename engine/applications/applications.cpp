#include "engine/applications/applications.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/applications/terms.h"
#include "engine/table/heap_bytes.h"
#include "engine/table/value_bytes.h"
#include "objects/assert.h"

namespace headroom {

namespace {

// A key of more domains than that is no matter of classes, of which there would be as many.
constexpr std::uint32_t kClassDomainsMax = 2048;
// Of what shapes may take.
constexpr std::size_t kBytesShare = 4;

constexpr PluginId kScores[] = {PluginId::kTaintToleration,  PluginId::kNodeAffinity,
                                PluginId::kVolumeBinding,    PluginId::kPodTopologySpread,
                                PluginId::kInterPodAffinity, PluginId::kImageLocality};
static_assert(std::size(kScores) == kApplicationScoresMax);

bool uses(const Profile& profile, PluginId plugin) {
  return profile.filters_by(plugin) || profile.scores_by(plugin);
}

// NodeAffinity's PreFilter: whether every required term names nodes, and together none.
bool names_conflict(const std::optional<std::vector<NodeSelectorTerm>>& required) {
  if (!required || required->empty()) {
    return false;
  }
  for (const NodeSelectorTerm& term : *required) {
    std::optional<std::vector<std::string>> names;
    for (const NodeSelectorRequirement& field : term.match_fields) {
      if (field.key != "metadata.name" || field.op != "In") {
        continue;
      }
      std::vector<std::string> both;
      for (const std::string& name : field.values) {
        if (!names || std::find(names->begin(), names->end(), name) != names->end()) {
          both.push_back(name);
        }
      }
      names = std::move(both);
    }
    if (!names || !names->empty()) {
      return false;
    }
  }
  return true;
}

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
      any_(uses(profile, PluginId::kPodTopologySpread) ||
           uses(profile, PluginId::kInterPodAffinity) ||
           uses(profile, PluginId::kVolumeRestrictions) ||
           uses(profile, PluginId::kNodeVolumeLimits) || uses(profile, PluginId::kVolumeBinding) ||
           uses(profile, PluginId::kVolumeZone) || uses(profile, PluginId::kNodeDeclaredFeatures) ||
           std::any_of(std::begin(kScores), std::end(kScores),
                       [&](PluginId plugin) { return profile.scores_by(plugin); })),
      spreads_(uses(profile, PluginId::kPodTopologySpread)),
      pod_affinity_(uses(profile, PluginId::kInterPodAffinity)),
      soft_affinity_(profile.scores_by(PluginId::kNodeAffinity)),
      volumes_(uses(profile, PluginId::kVolumeRestrictions) ||
               uses(profile, PluginId::kNodeVolumeLimits) ||
               uses(profile, PluginId::kVolumeBinding) || uses(profile, PluginId::kVolumeZone)),
      image_locality_(profile.scores_by(PluginId::kImageLocality)),
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
      classes_.unread(application->reads);
    }
  }
  for (PeerId id = 0; id < peers_.id_limit(); ++id) {
    if (peers_.exists(id)) {
      peers_.at(id).subscriptions.clear();
    }
  }
  use_order_.clear();
  in_namespace_.clear();
  crossing_.clear();
  ids_.clear();
  topology_.release_all();
  bytes_ = 0;
  first_rows_generation_ = 0;
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
  for (const Subscription& subscription : peer.subscriptions) {
    feed(*subscription.application, subscription.feed, pod.counted_row, 1);
  }
  if (peer.volumes.empty()) {
    return;
  }
  if (pod.counted_row >= volume_pods_.size()) {
    volume_pods_.resize(pod.counted_row + 1);
  }
  volume_pods_[pod.counted_row].push_back(id);
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
  for (const Subscription& subscription : peer.subscriptions) {
    feed(*subscription.application, subscription.feed, pod.counted_row, -1);
  }
  if (peer.volumes.empty()) {
    return;
  }
  std::erase(volume_pods_[pod.counted_row], id);
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
  const std::size_t cells = counter.places.size();
  Counter::Cell& its = counter.at(cell);
  its.sum += sign * feed.weight;
  its.pods += static_cast<std::uint32_t>(sign);
  if (its.pods == 0) {
    counter.erase(cell);
  }
  if (counter.fine) {
    note(application, {feed.counter, cell});
  } else if (counter.places.size() != cells) {
    application.version = ++versions_;
  }
}

void Applications::note(Application& application, FineChange change) {
  if (application.kept == nullptr) {
    return;
  }
  if (application.fine_changes.size() == kFineChangesMax) {
    application.fine_changes.clear();
    application.version = ++versions_;
  }
  application.fine_changes.push_back(change);
}

Counter::Cell& Counter::at(std::uint32_t domain) {
  const auto [place, is_new] = places.try_emplace(
      domain, free.empty() ? static_cast<std::uint32_t>(cells.size()) : free.back());
  if (is_new && free.empty()) {
    cells.emplace_back();
  } else if (is_new) {
    free.pop_back();
    cells[place->second] = {};
  }
  return cells[place->second];
}

void Counter::erase(std::uint32_t domain) {
  const auto found = places.find(domain);
  free.push_back(found->second);
  places.erase(found);
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
  if (before != nullptr && after != nullptr && before->labels == after->labels &&
      before->taints == after->taints && before->unschedulable == after->unschedulable &&
      before->images == after->images && before->declared_features == after->declared_features) {
    return;
  }
  const Whole whole(*this);
  ++nodes_generation_;
  topology_.set_node(row, after);
  if (image_locality_) {
    images_.change(row, before, after);
  }
}

void Applications::change(ReferredKind kind) {
  // Volumes are looked at as they are; what selects, and whom, is part of what was counted.
  if (kind <= ReferredKind::kStatefulSet) {
    ++referred_generation_;
  }
}

const std::vector<PodId>& Applications::volume_pods(std::uint32_t row) const {
  static const std::vector<PodId> kNone;
  return row < volume_pods_.size() ? volume_pods_[row] : kNone;
}

const std::vector<PodId>& Applications::claim_pods(std::string_view claim) const {
  static const std::vector<PodId> kNone;
  const auto found = claim_pods_.find(claim);
  return found == claim_pods_.end() ? kNone : found->second;
}

void Applications::rows_apart(const Application& application,
                              std::vector<std::uint32_t>& rows) const {
  for (const Counter& counter : application.counters) {
    if (!counter.fine) {
      continue;
    }
    for (const auto& place : counter.places) {
      rows_of(counter, place.first, rows);
    }
  }
}

void Applications::rows_of(const Counter& counter, std::uint32_t cell,
                           std::vector<std::uint32_t>& rows) const {
  if (counter.key == kByRow) {
    rows.push_back(cell);
    return;
  }
  topology_.each_row(counter.key, cell, [&](std::uint32_t row) { rows.push_back(row); });
}

// --- Finding and making ---

void Applications::write_key(const Pod& pod) {
  ValueWriter writer(std::move(key_));
  writer(pod.node_selector, pod.required_node_affinity, pod.tolerations);
  if (spreads_ || pod_affinity_ || volumes_) {
    writer(pod.namespace_name, pod.labels);
  }
  if (spreads_) {
    writer(pod.topology_spread,
           pod.topology_spread.empty() ? pod.controller : std::optional<OwnerReference>());
  }
  if (pod_affinity_) {
    writer(pod.pod_affinity, pod.pod_anti_affinity);
  }
  if (soft_affinity_) {
    writer(pod.preferred_node_affinity);
  }
  if (image_locality_) {
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
      for (const Container& container : *containers) {
        writer(container.image);
      }
    }
    writer(std::uint64_t{pod.init_containers.size() + pod.containers.size()});
  }
  if (!pod.volumes.empty()) {
    writer(pod.volumes);
    const bool ephemeral = std::any_of(pod.volumes.begin(), pod.volumes.end(),
                                       [](const Volume& volume) { return volume.ephemeral; });
    if (ephemeral) {
      writer(pod.name, pod.uid);
    }
  }
  writer(pod.required_features);
  key_ = std::move(writer).take();
}

Application* Applications::for_decision(const Pod& pod) {
  if (!any_) {
    return nullptr;
  }
  if (broken_) {
    begin_anew();
  }
  const Whole whole(*this);
  write_key(pod);
  const auto known = ids_.find(std::string_view(key_));
  if (known != ids_.end()) {
    Application& application = *known->second;
    use_order_.splice(use_order_.begin(), use_order_, application.use_place);
    return &application;
  }
  std::unique_ptr<Application> made = make(pod);
  Application& application = *made;
  ids_.emplace(application.key, std::move(made));
  application.use_place = use_order_.insert(use_order_.begin(), &application);
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

std::unique_ptr<Application> Applications::make(const Pod& pod) const {
  auto made = std::make_unique<Application>();
  Application& application = *made;
  application.key = key_;
  application.namespace_name = pod.namespace_name;
  application.constraint = {pod.node_selector, pod.required_node_affinity, pod.tolerations};
  application.labels = pod.labels;
  if (pod_affinity_) {
    application.affinity = pod.pod_affinity;
    application.anti_affinity = pod.pod_anti_affinity;
  }
  if (spreads_) {
    application.own_spread = pod.topology_spread;
    application.controller = pod.controller;
  }
  if (soft_affinity_) {
    application.preferred = pod.preferred_node_affinity;
  }
  application.required_features = pod.required_features;
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    for (const Container& container : *containers) {
      ++application.image_count;
      application.images.push_back(image_with_tag(container.image));
    }
  }
  for (const Volume& volume : pod.volumes) {
    // From 1.36 on image volumes score, from 1.37 on they count among the images.
    if (!volume.image.empty() && profile_.kubernetes_version != KubernetesVersion::k135) {
      application.images.push_back(image_with_tag(volume.image));
      application.image_count += profile_.kubernetes_version >= KubernetesVersion::k137;
    }
    if (volumes_ && (volume.claim || volume.ephemeral || volume.disk)) {
      application.volumes.push_back(volume);
      if (volume.ephemeral) {
        application.volumes.back().claim = pod.name + "-" + volume.name;
        application.pod_name = pod.name;
        application.uid = pod.uid;
      }
    }
  }
  describe(application);
  return made;
}

void Applications::describe(Application& application) const {
  if (!application.constraint.node_selector.empty() || application.constraint.required) {
    application.node_affinity = std::make_unique<const NodeAffinity>(application.constraint);
  }
  application.pinned = names_its_nodes(application.constraint.required);
  application.affinity_conflict = names_conflict(application.constraint.required);
  const auto prefer = [&](const std::vector<PreferredSchedulingTerm>& terms) {
    for (const PreferredSchedulingTerm& term : terms) {
      const NodeSelectorTerm& preference = term.preference;
      if (term.weight == 0 ||
          (preference.match_expressions.empty() && preference.match_fields.empty())) {
        continue;
      }
      application.bad_preference |= !is_valid(preference);
      Application::Preferred& made = application.preferences.emplace_back();
      made.weight = term.weight;
      made.constraint = std::make_unique<const ClassConstraint>(
          ClassConstraint{{}, std::vector<NodeSelectorTerm>{preference}, {}});
      made.affinity = std::make_unique<const NodeAffinity>(*made.constraint);
    }
  };
  if (soft_affinity_) {
    prefer(application.preferred);
    prefer(profile_.node_affinity.preferred);
  }
}

// --- What follows from other facts ---

bool Applications::is_current(const Application& application) const {
  return application.current && is_described(application);
}

bool Applications::is_described(const Application& application) const {
  return application.described && application.nodes_generation == nodes_generation_ &&
         application.referred_generation == referred_generation_ &&
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

// All of it but what the counters come to.
void Applications::describe_counters(Application& application) {
  forget(application);
  const auto constraints = spreads_ ? spread_constraints(application, profile_.topology_spread,
                                                         referred_, application.system_defaults)
                                    : std::vector<TopologySpreadConstraint>();
  for (const TopologySpreadConstraint& constraint : constraints) {
    SpreadConstraint& made = (constraint.hard ? application.hard : application.soft).emplace_back();
    made.its = constraint;
    made.self = selects(constraint.selector, application.labels);
    made.hostname = !constraint.hard && constraint.topology_key == kHostnameKey;
    made.key = hold_key(application, constraint.topology_key);
  }
  for (const PodAffinityTerm& term : application.affinity.required) {
    counter(application, Counter::Kind::kAffinity, term.topology_key);
  }
  for (const PodAffinityTerm& term : application.anti_affinity.required) {
    counter(application, Counter::Kind::kAntiAffinity, term.topology_key);
  }
  add_spread(application);
  application.matches_own_affinity =
      !application.affinity.required.empty() &&
      std::all_of(application.affinity.required.begin(), application.affinity.required.end(),
                  [&](const PodAffinityTerm& term) {
                    return own_term_matches(term, application.namespace_name, application.labels,
                                            application, referred_, profile_.kubernetes_version);
                  });
  // Others' terms bring keys, and these classes that have to be told apart: peers first.
  subscribe_all(application);
  read_classes(application);
  application.described = true;
  application.nodes_generation = nodes_generation_;
  application.referred_generation = referred_generation_;
  application.class_generation = classes_.classes().generation();
}

TopologyKeyId Applications::hold_key(Application& application, std::string_view key) {
  for (const TopologyKeyId held : application.keys) {
    if (topology_.name(held) == key) {
      return held;
    }
  }
  const TopologyKeyId id = topology_.hold(key);
  application.keys.push_back(id);
  return id;
}

std::uint32_t Applications::counter(Application& application, Counter::Kind kind,
                                    std::string_view key, std::uint32_t index) {
  const TopologyKeyId id = hold_key(application, key);
  for (std::uint32_t c = 0; c < application.counters.size(); ++c) {
    const Counter& known = application.counters[c];
    if (known.kind == kind && known.key == id && known.index == index) {
      return c;
    }
  }
  Counter& made = application.counters.emplace_back();
  made.kind = kind;
  made.key = id;
  made.index = index;
  // Of a soft constraint's domains the number counts, among feasible nodes: a matter of classes.
  made.fine = kind != Counter::Kind::kSoftSpread &&
              (key == kHostnameKey || topology_.domain_count(id) > kClassDomainsMax);
  const bool everywhere = topology_.node_count(id) == node_count_;
  application.rows_only |= made.fine && !everywhere &&
                           (kind == Counter::Kind::kAffinity || kind == Counter::Kind::kHardSpread);
  return static_cast<std::uint32_t>(application.counters.size() - 1);
}

void Applications::add_spread(Application& application) {
  for (std::uint32_t i = 0; i < application.hard.size(); ++i) {
    application.hard[i].counter =
        counter(application, Counter::Kind::kHardSpread, application.hard[i].its.topology_key, i);
  }
  for (std::uint32_t i = 0; i < application.soft.size(); ++i) {
    SpreadConstraint& constraint = application.soft[i];
    if (!constraint.hostname) {
      constraint.counter =
          counter(application, Counter::Kind::kSoftSpread, constraint.its.topology_key, i);
      continue;
    }
    constraint.counter = static_cast<std::uint32_t>(application.counters.size());
    Counter& made = application.counters.emplace_back();
    made.kind = Counter::Kind::kSoftSpread;
    made.index = i;
    application.rows_only |= topology_.node_count(constraint.key) != node_count_;
  }
}

// What classes have to tell apart, and to it that they do. Where something is not a matter of
// classes, each row is looked at.
void Applications::read_classes(Application& application) {
  ClassConstraint reads;
  std::vector<NodeSelectorTerm>& terms = reads.required.emplace();
  // Which nodes take part in a constraint.
  if (!application.hard.empty() || !application.soft.empty()) {
    reads.node_selector = application.constraint.node_selector;
    if (application.constraint.required && !application.pinned) {
      terms = *application.constraint.required;
    }
  }
  for (const Counter& counter : application.counters) {
    if (!counter.fine) {
      terms.push_back({{{topology_.name(counter.key), "Exists", {}}}, {}});
    }
  }
  bool by_name = false;
  for (const Application::Preferred& preferred : application.preferences) {
    const NodeSelectorTerm& term = preferred.constraint->required->front();
    by_name |= !term.match_fields.empty();
    terms.push_back({term.match_expressions, {}});
  }
  application.rows_only |= by_name || application.pinned || !application.volumes.empty() ||
                           !application.required_features.empty();
  if (std::exchange(application.reads_held, false)) {
    classes_.unread(application.reads);
  }
  application.reads = std::move(reads);
  // Who reads nothing does not wait for what others begin to read.
  const bool nothing =
      application.reads.node_selector.empty() && application.reads.required->empty();
  application.split = nothing ? 0 : classes_.read(application.reads);
  application.reads_held = !nothing;
}

// Domains with a node that takes part.
void Applications::count_domains(Application& application) {
  std::vector<bool> seen;
  for (SpreadConstraint& constraint : application.hard) {
    const bool all_take_part =
        !application.pinned &&
        std::all_of(constraint.takes_part.begin() + 1, constraint.takes_part.end(),
                    [](bool takes) { return takes; }) &&
        std::all_of(application.hard.begin(), application.hard.end(),
                    [this](const SpreadConstraint& other) {
                      return topology_.node_count(other.key) == node_count_;
                    });
    if (all_take_part) {
      constraint.domains = topology_.domain_count(constraint.key);
      continue;
    }
    constraint.domains = 0;
    seen.assign(topology_.domain_limit(constraint.key), false);
    for (std::uint32_t row = 0; row < facts_.nodes.size(); ++row) {
      const std::uint32_t cell =
          facts_.nodes[row].node == nullptr
              ? kNoDomain
              : cell_of(application, application.counters[constraint.counter], row);
      if (cell != kNoDomain && !seen[cell]) {
        seen[cell] = true;
        ++constraint.domains;
      }
    }
  }
}

// --- Peers ---

const std::vector<Feed>* Applications::feeds(const Application& application, PeerId peer) const {
  const auto found = application.feeds.find(peer);
  return found == application.feeds.end() ? nullptr : &found->second;
}

std::vector<Feed> Applications::feeds_of(Application& application, const PodPeer& peer) {
  std::vector<Feed> feeds;
  const auto add = [&](std::uint32_t counter, std::int64_t weight, std::int64_t given_back) {
    for (Feed& known : feeds) {
      if (known.counter == counter) {
        known.weight += weight;
        known.given_back += given_back;
        return;
      }
    }
    feeds.push_back({counter, weight, given_back});
  };
  for (const auto* constraints : {&application.hard, &application.soft}) {
    for (const SpreadConstraint& constraint : *constraints) {
      if (peer.namespace_name != application.namespace_name ||
          !selects(constraint.its.selector, peer.labels)) {
        continue;
      }
      const bool counts = !peer.deleting && !constraint.its.selector->empty();
      if (counts || constraint.its.hard) {
        add(constraint.counter, counts, constraint.its.hard);
      }
    }
  }
  if (!pod_affinity_) {
    return feeds;
  }
  const auto own_matches = [&](const PodAffinityTerm& term) {
    return own_term_matches(term, peer.namespace_name, peer.labels, application, referred_,
                            profile_.kubernetes_version);
  };
  const auto at = [&](Counter::Kind kind, const PodAffinityTerm& term, std::int64_t weight) {
    add(counter(application, kind, term.topology_key), weight, weight);
  };
  const std::vector<PodAffinityTerm>& required = application.affinity.required;
  if (!required.empty() && std::all_of(required.begin(), required.end(), own_matches)) {
    for (const PodAffinityTerm& term : required) {
      at(Counter::Kind::kAffinity, term, 1);
    }
  }
  for (const PodAffinityTerm& term : application.anti_affinity.required) {
    if (own_matches(term)) {
      at(Counter::Kind::kAntiAffinity, term, 1);
    }
  }
  for (const PodAffinityTerm& term : application.affinity.preferred) {
    if (own_matches(term)) {
      at(Counter::Kind::kPreferred, term, term.weight);
    }
  }
  for (const PodAffinityTerm& term : application.anti_affinity.preferred) {
    if (own_matches(term)) {
      at(Counter::Kind::kPreferred, term, -std::int64_t{term.weight});
    }
  }
  if (!peer.has_terms()) {
    return feeds;
  }
  const auto others_matches = [&](const PodAffinityTerm& term) {
    return others_term_matches(term, peer, application, referred_);
  };
  for (const PodAffinityTerm& term : peer.anti_affinity.required) {
    if (others_matches(term)) {
      at(Counter::Kind::kOthersAnti, term, 1);
    }
  }
  const std::int64_t hard_weight = profile_.inter_pod_affinity.hard_pod_affinity_weight;
  for (const PodAffinityTerm& term : peer.affinity.required) {
    if (hard_weight > 0 && others_matches(term)) {
      at(Counter::Kind::kPreferred, term, hard_weight);
    }
  }
  for (const PodAffinityTerm& term : peer.affinity.preferred) {
    if (others_matches(term)) {
      at(Counter::Kind::kPreferred, term, term.weight);
    }
  }
  for (const PodAffinityTerm& term : peer.anti_affinity.preferred) {
    if (others_matches(term)) {
      at(Counter::Kind::kPreferred, term, -std::int64_t{term.weight});
    }
  }
  return feeds;
}

void Applications::subscribe(Application& application, PodPeer& peer) {
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
    if (peers_.exists(id)) {
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
  application.hard.clear();
  application.soft.clear();
  for (const TopologyKeyId key : application.keys) {
    topology_.release(key);
  }
  application.keys.clear();
  application.rows_only = false;
  application.described = application.current = false;
}

void Applications::find_first_rows() {
  const NodeClasses& classes = classes_.classes();
  if (first_rows_generation_ == nodes_generation_ &&
      first_rows_class_generation_ == classes.generation() &&
      first_rows_classes_ == classes.size()) {
    return;
  }
  first_rows_generation_ = nodes_generation_;
  first_rows_class_generation_ = classes.generation();
  first_rows_classes_ = classes.size();
  first_rows_.assign(classes.size(), kNoRow);
  for (std::uint32_t row = table_.size(); row-- > 0;) {
    first_rows_[table_.node_class(row)] = row;
  }
}

// --- Keeping ---

void Applications::measure(Application& application) {
  std::size_t bytes = allocated_bytes(sizeof(Application)) + 2 * heap_bytes(application.key) +
                      application.kept_bytes;
  for (const Counter& counter : application.counters) {
    bytes += counter.places.bucket_count() * 16 + counter.cells.capacity() * sizeof(Counter::Cell);
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
    classes_.unread(application.reads);
  }
  bytes_ -= application.bytes;
  use_order_.erase(application.use_place);
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

// --- Checking ---

Result<void> Applications::validate() {
  if (broken_) {
    begin_anew();
  }
  for (Application* application : use_order_) {
    if (!is_current(*application)) {
      continue;
    }
    const std::vector<Counter> before = application->counters;
    const auto domains = [&] {
      std::vector<std::uint32_t> all;
      for (const SpreadConstraint& constraint : application->hard) {
        all.push_back(constraint.domains);
      }
      return all;
    };
    const std::vector<std::uint32_t> domains_before = domains();
    std::map<PeerId, std::size_t> feeds;
    for (const auto& [id, its] : application->feeds) {
      feeds.emplace(id, its.size());
    }
    // Held meanwhile, so that keys and their domains keep their numbers, which are history.
    std::vector<TopologyKeyId> held;
    for (const TopologyKeyId key : application->keys) {
      held.push_back(topology_.hold(topology_.name(key)));
    }
    application->described = false;
    rebuild(*application);
    for (const TopologyKeyId key : held) {
      topology_.release(key);
    }
    // In what order keys came is history.
    const bool same = std::all_of(before.begin(), before.end(), [&](const Counter& counter) {
      const Counter* again = nullptr;
      for (const Counter& other : application->counters) {
        if (other.kind == counter.kind && other.key == counter.key &&
            other.index == counter.index) {
          again = &other;
        }
      }
      if (again == nullptr) {
        return counter.empty();
      }
      return again->places.size() == counter.places.size() &&
             std::all_of(counter.places.begin(), counter.places.end(), [&](const auto& place) {
               const std::uint32_t other = again->place_of(place.first);
               return other != kNoCell &&
                      again->cells[other].sum == counter.cells[place.second].sum &&
                      again->cells[other].pods == counter.cells[place.second].pods;
             });
    });
    std::map<PeerId, std::size_t> feeds_now;
    for (const auto& [id, its] : application->feeds) {
      feeds_now.emplace(id, its.size());
    }
    if (!same || domains() != domains_before || feeds != feeds_now) {
      return fail(
          ErrorCode::kConflict,
          fmt::format("validate: the counters of an application in namespace {} differ from "
                      "its pods",
                      application->namespace_name));
    }
  }
  return {};
}

}  // namespace headroom
