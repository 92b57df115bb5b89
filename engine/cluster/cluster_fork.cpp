// Cluster::fork, rollback, commit: what is remembered of a change, and how it is taken back.
#include <utility>

#include "engine/cluster/audit.h"
#include "engine/cluster/cluster.h"
#include "objects/assert.h"

namespace headroom {

namespace {

template <typename T>
std::unique_ptr<const T> copy_of(const T* known) {
  return known == nullptr ? nullptr : std::make_unique<const T>(*known);
}

}  // namespace

// --- Remembering ---

void Cluster::remember(PodId id) {
  note_pod(id);
  const PodFacts& pod = facts_.pods[id];
  if (!journal_.open() || !pod.known()) {
    return;
  }
  priorities_.retain(pod.rank);
  if (capacity_scheduling_ != nullptr) {
    capacity_scheduling_->retain_rank(pod.rank);
  }
  shape_book_.hold(pod.shape);
  if (pod.peer != kNoPeer) {
    applications_.peers().hold(pod.peer);
  }
  journal_.put(
      PodBefore{id, std::make_unique<PodFacts>(pod), applications_.chosen_volumes().of(id)});
}

void Cluster::remember_elastic_quota(std::string_view namespace_name, std::string_view name) {
  if (journal_.open()) {
    journal_.put(ElasticQuotaBefore{
        pod_key(namespace_name, name),
        copy_of(capacity_scheduling_->elastic_quotas().find(namespace_name, name))});
  }
}

void Cluster::remember_budget(std::string_view key) {
  if (journal_.open()) {
    journal_.put(
        BudgetBefore{std::string(key), copy_of(capacity_scheduling_->budgets().find(key))});
  }
}

void Cluster::remember_priority_class(std::string_view name) {
  if (journal_.open()) {
    journal_.put(PriorityClassBefore{std::string(name), copy_of(priorities_.find(name))});
  }
}

// --- Taking back ---

// The journal is closed meanwhile, and rows and ids are released by the undoing of what acquired
// them alone.
struct Cluster::TakeBack {
  Cluster& cluster;

  void operator()(const RowAcquired& change) const {
    HEADROOM_ASSERT(cluster.facts_.nodes[change.row].mentions == 0);
    cluster.release_row_if_unused(change.row);
  }

  void operator()(RowReleased& change) const {
    cluster.table_.acquire_row(change.row);
    cluster.name_row(change.row, std::move(change.name));
  }

  void operator()(const PodIdAcquired& change) const {
    HEADROOM_ASSERT(!cluster.facts_.pods[change.id].known() &&
                    cluster.facts_.pods[change.id].mentions == 0);
    cluster.release_pod_if_unused(change.id);
  }

  void operator()(PodIdReleased& change) const {
    HEADROOM_ASSERT(cluster.released_pods_.last() == change.id);
    cluster.released_pods_.take();
    const NameIndex::Hash hash = NameIndex::hash(change.key);  // before it is moved
    cluster.name_pod(change.id, std::move(change.key), hash);
  }

  void operator()(NodeBefore& change) const {
    cluster.set_node(change.row, std::move(change.node));
  }

  void operator()(MetricBefore& change) const {
    cluster.load_aware_->put(change.row, std::move(change.metric), cluster.now_us_);
    cluster.mark(change.row, Stale::kEverything);
  }

  void operator()(PodBefore& change) const {
    PodFacts& pod = cluster.facts_.pods[change.id];
    const std::uint32_t row_before = pod.counted_row;
    cluster.uncount(change.id);
    for (const std::uint32_t row : {pod.bound_row, pod.assumed_row, pod.rank.nominated_row}) {
      if (row != kNoRow) {
        --cluster.facts_.nodes[row].mentions;
      }
    }
    cluster.clear_rank(pod);
    cluster.shape_book_.give(pod, kNoShape);
    cluster.applications_.peers().give(pod, kNoPeer);
    cluster.pod_count_ -= pod.known();
    PodFacts before = change.facts != nullptr ? std::move(*change.facts) : PodFacts();
    before.mentions = pod.mentions;
    // What follows from the facts.
    before.counted_row = kNoRow;
    before.previous = before.next = kNoPod;
    before.peer_previous = before.peer_next = kNoPod;
    before.load = {};
    before.rank.nominated = false;
    cluster.swap_facts(change.id, before);
    for (const std::uint32_t row : {pod.bound_row, pod.assumed_row, pod.rank.nominated_row}) {
      if (row != kNoRow) {
        ++cluster.facts_.nodes[row].mentions;
      }
    }
    cluster.pod_count_ += pod.known();
    cluster.applications_.set_chosen(change.id, std::move(change.chosen));
    cluster.recount(change.id, row_before);
  }

  void operator()(const ElasticQuotaBefore& change) const {
    const std::string_view key = change.key;
    const std::size_t slash = key.find('/');
    cluster.put_elastic_quota(key.substr(0, slash), key.substr(slash + 1), change.quota.get());
  }

  void operator()(const BudgetBefore& change) const {
    change.budget != nullptr ? cluster.capacity_scheduling_->upsert(*change.budget)
                             : cluster.capacity_scheduling_->remove_budget(change.key);
  }

  void operator()(const PriorityClassBefore& change) const {
    change.priority_class != nullptr ? cluster.priorities_.upsert(*change.priority_class)
                                     : cluster.priorities_.remove(change.name);
    cluster.refresh_priorities();
  }

  void operator()(ReferredBefore& change) const {
    cluster.put(change.kind, change.key, std::move(change.object));
  }

  // Comes after the clock went back: it lies before it in the journal.
  void operator()(const MetricExpired& change) const {
    cluster.load_aware_->watch_expiry(change.row, cluster.now_us_);
    cluster.mark(change.row, Stale::kEverything);
  }

  void operator()(const ClockBefore& change) const { cluster.now_us_ = change.now_us; }
};

void Cluster::rollback() {
  Journal journal = std::exchange(journal_, {});  // taking back is no change to remember
  const DeferredDerivation deferred(*this);       // each row once
  try {
    while (std::optional<Journal::Change> change = journal.take_back()) {
      std::visit(TakeBack{*this}, *change);
    }
  } catch (...) {
    journal_ = std::move(journal);  // the forks around this one are open all the same
    throw;
  }
  journal_ = std::move(journal);
  if (!audits_.empty()) {
    tell_audits([](AuditNotes& notes) { notes = {}; });  // they begin anew
  }
}

void Cluster::commit() {
  for (Journal::Change& change : journal_.commit()) {
    if (const auto* pod = std::get_if<PodBefore>(&change);
        pod != nullptr && pod->facts != nullptr) {
      clear_rank(*pod->facts);
      shape_book_.give(*pod->facts, kNoShape);
      applications_.peers().give(*pod->facts, kNoPeer);
    }
  }
}

}  // namespace headroom
