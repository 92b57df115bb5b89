#include "engine/cluster/supposition.h"

#include <utility>

#include "kernels/exact.h"

namespace headroom {

// --- Leaving out ---

void Supposition::leave_out(const Pod& pod, std::uint32_t binds) {
  write_pod_key(pod.namespace_name, pod.name, cluster_.pod_key_);
  const PodId id = cluster_.find_pod(cluster_.pod_key_);
  if (id == kNoPod) {
    return;
  }
  const PodFacts& facts = cluster_.facts_.pods[id];
  if (facts.uid != pod.uid) {
    return;
  }
  Applications& applications = cluster_.applications_;
  if (facts.assumed_row != binds && !applications.chosen_volumes().of(id).empty()) {
    steps_.emplace_back(ChosenAside{id});  // whether or not memory lasts
    applications.set_chosen_aside(id);
  }
  if (facts.rank.nominated) {
    withdraw(id);
  } else if (cluster_.profile_.mode == Mode::kProposal && facts.counted_row != kNoRow) {
    leave_out(id);
  }
}

void Supposition::leave_out(PodId id) {
  const std::uint32_t row = cluster_.facts_.pods[id].counted_row;
  cluster_.uncount(id);
  cluster_.mark(row, Cluster::Stale::kOnlyPods);
  steps_.emplace_back(LeftOut{id, row});
}

void Supposition::withdraw(PodId id) {
  cluster_.withdraw_nomination(id);
  steps_.emplace_back(Withdrawn{id});
}

// --- Nominated pods ---

void Supposition::add_nominated(const Pod& pod, PodShape& shape) {
  if (cluster_.nominated_rows_.empty()) {
    return;
  }
  cluster_.prepare_for_rows(shape);
  const std::int32_t priority = cluster_.priorities_.of(pod).value;
  for (const std::uint32_t row : cluster_.nominated_rows_) {
    const NodeFacts& node = cluster_.facts_.nodes[row];
    // Of a pod that names its nodes the class says nothing.
    if (node.node == nullptr ||
        (!shape.pinned && cluster_.class_filters_.row_code(shape, row) != 0)) {
      continue;
    }
    const std::uint32_t code = code_of(shape, row);
    const std::size_t steps_before = steps_.size();
    for (const PodId id : node.nominated) {
      if (cluster_.facts_.pods[id].rank.priority >= priority) {
        cluster_.add_to_row(row, id);
        steps_.emplace_back(Nominated{id, row});
      }
    }
    if (steps_.size() == steps_before) {
      continue;
    }
    if (code_of(shape, row) != code) {
      cluster_.table_.commit(row);
      continue;
    }
    for (; steps_.size() > steps_before; steps_.pop_back()) {
      cluster_.subtract_from_row(row, std::get<Nominated>(steps_.back()).pod);
    }
  }
}

// What the shape's filters say of the row, as its sums are now.
std::uint32_t Supposition::code_of(const PodShape& shape, std::uint32_t row) const {
  if (cluster_.ports_taken(shape, row)) {
    return kPortsTaken;
  }
  std::uint32_t code = 0;
  for (const FilterTerm& term : shape.active_terms) {
    code |= static_cast<std::uint32_t>(term.need > cluster_.table_.truth(row, term.column))
            << term.bit;
  }
  return first_rejection(shape.program(), code);
}

// --- One row ---

Result<void> Supposition::change(std::uint32_t row, const FilterOptions& options) {
  std::vector<const PodShape*> shapes;
  for (const Pod& pod : options.with) {
    if (auto checked = cluster_.check_room(pod, options.with.size()); !checked) {
      return checked;
    }
    const auto shape = cluster_.shapes().for_counting(pod);
    if (!shape) {
      return tl::unexpected(shape.error());
    }
    shapes.push_back(*shape);
    holds_.add(*shape);
  }
  journal_ = std::exchange(cluster_.journal_, {});
  const DeferredDerivation deferred(cluster_);  // each row once
  for (const PodName& name : options.without) {
    write_pod_key(name.namespace_name, name.name, cluster_.pod_key_);
    const PodId id = cluster_.find_pod(cluster_.pod_key_);
    if (id == kNoPod) {
      continue;
    }
    const PodFacts& pod = cluster_.facts_.pods[id];
    if (pod.counted_row == row) {
      leave_out(id);
    } else if (pod.rank.nominated && pod.rank.nominated_row == row) {
      withdraw(id);
    }
  }
  for (std::size_t p = 0; p < options.with.size(); ++p) {
    assume(options.with[p], *shapes[p], row);
  }
  return {};
}

// As Cluster::assume(), but that it can be taken back whatever the pod was.
void Supposition::assume(const Pod& object, const PodShape& shape, std::uint32_t row) {
  write_pod_key(object.namespace_name, object.name, cluster_.pod_key_);
  const PodId id = cluster_.pod_of(cluster_.pod_key_);
  const PodFacts& known = cluster_.facts_.pods[id];
  const bool same = known.known() && known.uid == object.uid;
  const bool there = same && known.row() == row;
  if (same && (known.bound_row != kNoRow || (there && !known.terminal))) {
    if (there && known.counted_row == kNoRow && !known.terminal) {
      bring_back(id);  // it was left out
    }
    return;
  }
  Assumed assumed{id, row, known.counted_row, known.rank.nominated, {}};
  cluster_.uncount(id);
  assumed.before.uid = PodUid(object.uid);
  assumed.before.mentions = known.mentions;
  assumed.before.assumed_row = row;  // not mentioned: it has a node
  assumed.before.first_seen_us = there ? known.first_seen_us : cluster_.now_us_;
  cluster_.swap_facts(id, assumed.before);
  cluster_.update_object(cluster_.facts_.pods[id], object, shape);
  cluster_.recount(id, assumed.counted_row);
  steps_.emplace_back(std::move(assumed));
}

void Supposition::bring_back(PodId id) {
  cluster_.recount(id, kNoRow);
  steps_.emplace_back(BroughtBack{id});
}

// --- Taking back ---

struct Supposition::TakeBack {
  Supposition& supposed;
  Cluster& cluster;

  void operator()(const LeftOut& step) const { cluster.recount(step.pod, kNoRow); }

  void operator()(const Withdrawn& step) const { cluster.nominate(step.pod); }

  void operator()(const BroughtBack& step) const {
    const std::uint32_t row = cluster.facts_.pods[step.pod].counted_row;
    cluster.uncount(step.pod);
    cluster.mark(row, Cluster::Stale::kOnlyPods);
  }

  void operator()(const ChosenAside& step) const {
    cluster.applications_.bring_chosen_back(step.pod);
  }

  // The row is committed once, with the first of its pods.
  void operator()(const Nominated& step) const {
    cluster.subtract_from_row(step.row, step.pod);
    const Step* before = supposed.steps_.empty() ? nullptr : &supposed.steps_.back();
    const auto* other = before == nullptr ? nullptr : std::get_if<Nominated>(before);
    if (other == nullptr || other->row != step.row) {
      cluster.table_.commit(step.row);
    }
  }

  void operator()(Assumed& step) const {
    const PodId id = step.pod;
    cluster.uncount(id);
    cluster.move_to(cluster.facts_.pods[id].rank.nominated_row, kNoRow);
    cluster.clear_rank(cluster.facts_.pods[id]);
    cluster.shapes().give(cluster.facts_.pods[id], kNoShape);
    cluster.applications().peers().give(cluster.facts_.pods[id], kNoPeer);
    cluster.swap_facts(id, step.before);
    if (step.counted_row != kNoRow || step.nominated) {
      cluster.count(id);
    }
    for (const std::uint32_t row : {step.row, step.counted_row}) {
      if (row != kNoRow) {
        cluster.mark(row, Cluster::Stale::kOnlyPods);
      }
    }
    cluster.release_pod_if_unused(id);
  }
};

Supposition::~Supposition() {
  if (steps_.empty() && !journal_) {
    return;
  }
  const DeferredDerivation deferred(cluster_);  // each row once
  while (!steps_.empty()) {
    Step step = std::move(steps_.back());
    steps_.pop_back();
    std::visit(TakeBack{*this, cluster_}, step);
  }
  if (journal_) {
    cluster_.journal_ = std::move(*journal_);
  }
}

}  // namespace headroom
