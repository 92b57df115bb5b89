#include "engine/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/kept/check_times.h"
#include "engine/quotas/elastic_quota_words.h"
#include "objects/pod_resources.h"

namespace headroom {

Cluster::Cluster(Profile profile, std::size_t shape_bytes_max)
    : profile_(std::move(profile)),
      table_(profile_.mode == Mode::kUpstream ? BeyondInt64::kWraps : BeyondInt64::kSaturates),
      referred_(profile_),
      policies_({profile_, names_, table_, facts_}),
      load_aware_(static_cast<LoadAware*>(policies_.of(PluginId::kLoadAwareScheduling))),
      capacity_scheduling_(profile_.capacity_scheduling
                               ? std::make_unique<CapacityScheduling>(profile_, facts_, priorities_)
                               : nullptr),
      row_classes_(table_, facts_),
      rejections_(reasons_),
      applications_(profile_, facts_, table_, row_classes_, referred_, rejections_,
                    shape_bytes_max),
      class_filters_(profile_, row_classes_, rejections_),
      shape_book_({profile_, policies_, capacity_scheduling_.get(), row_classes_, reasons_}, facts_,
                  shape_bytes_max),
      considered_(profile_.considered()) {}

// --- Rows and names ---

std::uint32_t Cluster::find_row(std::string_view name) const {
  return find_row(name, NameIndex::hash(name));
}

std::uint32_t Cluster::find_row(std::string_view name, NameIndex::Hash hash) const {
  static_assert(kNoRow == NameIndex::kNone);
  return rows_.find(hash, [&](std::uint32_t row) { return facts_.nodes[row].name == name; });
}

std::uint32_t Cluster::counted_row_of(std::string_view pod_key) const {
  const PodId id = find_pod(pod_key);
  return id == kNoPod ? kNoRow : facts_.pods[id].counted_row;
}

bool Cluster::has_ended(std::string_view pod_key, std::string_view uid) const {
  const PodId id = find_pod(pod_key);
  if (id == kNoPod) {
    return false;
  }
  const PodFacts& pod = facts_.pods[id];
  return pod.known() && pod.terminal && pod.uid == uid;
}

std::uint32_t Cluster::row_of(std::string_view name, NameIndex::Hash hash) {
  if (const std::uint32_t known = find_row(name, hash); known != kNoRow) {
    return known;
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
  rows_.insert(NameIndex::hash(facts_.nodes[row].name), row);
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
    if (refresh(row)) {
      stale_[row] = Stale::kNothing;
    }
    rows_.erase(NameIndex::hash(facts_.nodes[row].name), row);
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
    derive();
  }
}

void Cluster::end_bulk(bool was) noexcept {
  bulk_ = was;
  if (was) {
    return;
  }
  try {
    derive();
  } catch (const std::bad_alloc&) {  // the next look derives what is left
  }
}

void Cluster::reserve(std::uint32_t nodes, std::uint32_t pods) {
  table_.reserve(nodes);
  facts_.nodes.reserve(nodes);
  rows_.reserve(nodes);
  pod_ids_.reserve(pods);
}

// False if the row was not stale.
bool Cluster::refresh(std::uint32_t row) {
  const Stale stale = row < stale_.size() ? stale_[row] : Stale::kNothing;
  if (stale == Stale::kNothing) {
    return false;
  }
  for (const auto& policy : policies_) {
    if (stale == Stale::kEverything) {
      policy->refresh(row, now_us_);
    } else {
      policy->refresh_pods(row);
    }
  }
  return true;
}

// Where memory ends half way the row stays stale.
void Cluster::derive(std::uint32_t row) {
  // A row that was released since has been derived then.
  if (refresh(row)) {
    table_.commit(row);
    stale_[row] = Stale::kNothing;
  }
}

void Cluster::derive() {
  for (const std::uint32_t row : stale_rows_) {
    derive(row);
  }
  stale_rows_.clear();
}

bool Cluster::derive(const Pause& pause) {
  while (!stale_rows_.empty()) {
    derive(stale_rows_.back());
    stale_rows_.pop_back();
    if (pause()) {
      return stale_rows_.empty();
    }
  }
  return true;
}

// --- The clock ---

Result<void> Cluster::advance(std::int64_t now_us) {
  if (now_us < now_us_) {
    return fail(ErrorCode::kInvalid,
                fmt::format("advance: {} us is before now, {} us", now_us, now_us_));
  }
  if (!is_time(now_us)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("advance: {} us is beyond kTimeMaxUs ({})", now_us, kTimeMaxUs));
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
  now_us = std::clamp<std::int64_t>(now_us, 0, kTimeMaxUs);
  if (now_us >= now_us_) {
    (void)advance(now_us);
    return;
  }
  const DeferredDerivation deferred(*this);  // each row once
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
  derive();
  shape.activate(table_);
  shape_book_.read(shape);
}

bool Cluster::prepare(PodShape& shape, const Pause& pause) {
  const bool is_new = !shape.is_read;
  prepare_for_rows(shape);
  // A long piece where the pod names thousands of nodes. A passing shape would be made anew.
  if (is_new && shape.id != kPassingShape && pause()) {
    return false;
  }
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
  if (profile_.kubernetes_version >= KubernetesVersion::k136 && claims_devices(pod)) {
    set.add(NotConsidered::kResourceClaims);
  }
  set.remove(considered_);
  return set;
}

std::string Cluster::waits_for_gates(const Pod& pod) const {
  return profile_.scheduling_gates && !pod.scheduling_gates.empty()
             ? fmt::format("waiting for scheduling gates: [{}]",
                           fmt::join(pod.scheduling_gates, " "))
             : std::string();
}

PreFilterStatus Cluster::pre_filter(const Pod& pod, const PodShape& shape) const {
  if (std::string gated = waits_for_gates(pod); !gated.empty()) {
    return {Code::kUnschedulableAndUnresolvable, {std::move(gated)}};
  }
  if (capacity_scheduling_ == nullptr ||
      capacity_scheduling_->elastic_quotas().elastic_quota_count() == 0) {
    return {};
  }
  const PodClaim claim = capacity_scheduling_->claim(pod);
  return explain_pre_filter(capacity_scheduling_->elastic_quotas(), pod, claim.namespace_id,
                            shape.elastic_quota_request,
                            capacity_scheduling_->standing(claim, shape));
}

// --- Quotas, budgets, priorities ---

Result<void> Cluster::upsert(const ElasticQuota& quota) {
  if (capacity_scheduling_ == nullptr) {
    return {};
  }
  if (auto checked = capacity_scheduling_->check(quota); !checked) {
    return checked;
  }
  remember_elastic_quota(quota.namespace_name, quota.name);
  put_elastic_quota(quota.namespace_name, quota.name, &quota);
  return {};
}

void Cluster::remove_elastic_quota(std::string_view namespace_name, std::string_view name) {
  if (capacity_scheduling_ != nullptr) {
    remember_elastic_quota(namespace_name, name);
    put_elastic_quota(namespace_name, name, nullptr);
  }
}

Result<void> Cluster::upsert(const PodDisruptionBudget& budget) {
  if (capacity_scheduling_ == nullptr) {
    return {};
  }
  if (auto checked = capacity_scheduling_->check(budget); !checked) {
    return checked;
  }
  remember_budget(pod_key(budget.namespace_name, budget.name));
  capacity_scheduling_->upsert(budget);
  return {};
}

void Cluster::remove_pod_disruption_budget(std::string_view key) {
  if (capacity_scheduling_ != nullptr) {
    remember_budget(key);
    capacity_scheduling_->remove_budget(key);
  }
}

Result<void> Cluster::upsert(const PriorityClass& priority_class) {
  if (auto checked = priorities_.check(priority_class); !checked) {
    return checked;
  }
  if (const PriorityClass* known = priorities_.find(priority_class.name);
      known != nullptr && *known == priority_class) {
    return {};
  }
  remember_priority_class(priority_class.name);
  priorities_.upsert(priority_class);
  refresh_priorities();
  return {};
}

void Cluster::remove_priority_class(std::string_view name) {
  if (priorities_.find(name) != nullptr) {
    remember_priority_class(name);
    priorities_.remove(name);
    refresh_priorities();
  }
}

// --- Objects that nodes and pods refer to ---

Result<void> Cluster::upsert(const ReferredObject& object) {
  const ReferredKind kind = kind_of(object);
  if (auto checked = referred_.check(object); !checked || !referred_.reads(kind)) {
    return checked;
  }
  const std::string key = key_of(object);
  if (const auto known = referred_.at(kind, key); known == nullptr || *known != object) {
    put(kind, key, std::make_shared<const ReferredObject>(object));
  }
  return {};
}

void Cluster::remove(ReferredKind kind, std::string_view key) {
  if (referred_.at(kind, key) != nullptr) {
    put(kind, key, nullptr);
  }
}

void Cluster::put(ReferredKind kind, std::string_view key,
                  std::shared_ptr<const ReferredObject> object) {
  const std::uint32_t row =
      kind == ReferredKind::kCsiNode ? find_row(key, NameIndex::hash(key)) : kNoRow;
  // Applications refer to the object that goes: from here on nothing may fail but they themselves.
  const std::shared_ptr<const ReferredObject> before = referred_.at(kind, key);
  journal_.put(ReferredBefore{kind, std::string(key), before});
  const ReferredObject* after = object.get();
  (void)referred_.put(kind, key, std::move(object));
  applications_.change(kind, before.get(), after, row);
}

// Pods that rely on a class are seldom: admission writes priorities into pods.
void Cluster::refresh_priorities() {
  for (PodId id = 0; id < facts_.pods.size(); ++id) {
    PodRank& rank = facts_.pods[id].rank;
    const std::int32_t priority = priorities_.now(rank);
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
