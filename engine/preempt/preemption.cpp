#include "engine/preempt/preemption.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "engine/preempt/cross_node.h"
#include "engine/preempt/preemption_words.h"
#include "kernels/exact.h"

namespace headroom {

namespace {

// Rows that a worker looks at before it asks for more.
constexpr std::uint32_t kStretchRows = 256;
// Most of a dry run's time is waiting for the node's pods, where they are not asked for before.
constexpr std::size_t kRowsAhead = 4;

Preemption::Best better_of(Preemption::Best a, Preemption::Best b) {
  const bool first = b.victims.empty() || (!a.victims.empty() && a.rank < b.rank);
  Preemption::Best& better = first ? a : b;
  const Preemption::Best& other = first ? b : a;
  better.dry_runs += other.dry_runs;
  better.failed |= other.failed;
  better.gave_up |= other.gave_up;
  return std::move(better);
}

}  // namespace

Preemption::Preemption(Cluster& cluster, Evaluator& evaluator, const Kernels& kernels,
                       const EngineOptions& options)
    : cluster_(cluster),
      evaluator_(evaluator),
      kernels_(kernels),
      arena_(options.threads > 0 ? static_cast<int>(options.threads) : tbb::task_arena::automatic),
      victim_columns_(cluster, given_back_, arena_) {}

Result<PostFilter> Preemption::post_filter(const Pod& pod, const PostFilterOptions& options) {
  PostFilterTurns turns;
  PostFilter answer;
  if (const Result<bool> done = post_filter(pod, options, kInOneTurn, turns, answer); !done) {
    return tl::unexpected(done.error());
  }
  return answer;
}

Result<bool> Preemption::post_filter(const Pod& pod, const PostFilterOptions& options,
                                     const Pause& pause, PostFilterTurns& turns,
                                     PostFilter& answer) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (cluster_.capacity_scheduling() == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "post_filter: the profile does not enable CapacityScheduling");
  }
  answer.not_considered = cluster_.not_considered(pod);
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  return look(pod, **shape, options, pause, turns, answer);
}

// What the filters say of the row.
NodeDetail Preemption::status_of(const AskedPod& asked, std::uint32_t row) {
  NodeDetail detail;
  if (const std::uint32_t code = evaluator_.row_code(asked, row); code != 0) {
    evaluator_.describe(asked.shape, row, code, detail);
    detail.node = static_cast<NodeIndex>(row);
  }
  return detail;
}

// PodEligibleToPreemptOthers.
bool Preemption::may_preempt(const Pod& pod, const Preemptor& preemptor, AskedPod& asked,
                             std::string& why_not) {
  why_not = cluster_.waits_for_gates(pod);
  if (!why_not.empty()) {
    return false;
  }
  if (preemptor.claim.never_preempts) {
    why_not = "not eligible due to preemptionPolicy=Never.";
    return false;
  }
  const std::uint32_t row =
      pod.nominated_node_name.empty() ? kNoRow : cluster_.find_row(pod.nominated_node_name);
  if (row == kNoRow || cluster_.node(row).node == nullptr) {
    return true;
  }
  if (preemptor.upstream && !preemptor.standing.rejected()) {
    Supposition supposed(cluster_);
    supposed.add_nominated(pod, asked.shape);
    if (status_of(asked, row).code == Code::kUnschedulableAndUnresolvable) {
      return true;
    }
  }
  DryRun dry_run(preemptor);
  dry_run.begin(row);
  for (const RankedPod& other : preemptor.capacity_scheduling.pods_of(row)) {
    if (!cluster_.pod(other.pod).rank.deleting) {
      continue;
    }
    const bool own_lesser = preemptor.upstream && preemptor.standing.has_elastic_quota &&
                            other.namespace_id == preemptor.claim.namespace_id &&
                            other.priority < preemptor.claim.priority;
    if (own_lesser || dry_run.may_go(other)) {
      why_not = "not eligible due to a terminating pod on the nominated node.";
      return false;
    }
  }
  return true;
}

void Preemption::look_at(std::uint32_t row, const Preemptor& preemptor, DryRun& dry_run,
                         std::atomic<std::int64_t>& bar, Best& best) const {
  ++best.dry_runs;
  const DryRunOutcome outcome = dry_run.run(row, bar.load(std::memory_order_relaxed));
  if (outcome == DryRunOutcome::kVictims) {
    if (const VictimsRank rank = dry_run.rank(); best.victims.empty() || rank < best.rank) {
      best.rank = rank;
      best.victims.clear();
      for (const RankedPod* victim : dry_run.victims()) {
        best.victims.push_back(victim->pod);
      }
      if (rank.broken == 0 && rank.highest_priority < bar.load(std::memory_order_relaxed)) {
        // A race leaves the higher of two bars: a bound all the same.
        bar.store(rank.highest_priority, std::memory_order_relaxed);
      }
    }
  } else if (preemptor.upstream) {
    best.failed |= outcome == DryRunOutcome::kReprievedTwice ||
                   outcome == DryRunOutcome::kNotNeeded ||
                   (outcome == DryRunOutcome::kFilters &&
                    evaluator_.is_error(preemptor.shape, dry_run.code()));
  }
}

// The rows whose class does not reject the pod: no victim changes that.
std::vector<std::uint32_t> Preemption::rows_of(PodShape& shape,
                                               const std::vector<std::string>& named) {
  std::vector<std::uint32_t> rows;
  if (named.empty() && !shape.pinned) {
    for (std::uint32_t row = 0; row < cluster_.table().size(); ++row) {
      if (cluster_.class_filters().row_code(shape, row) == 0) {
        rows.push_back(row);
      }
    }
    return rows;
  }
  for (const std::string& name : named.empty() ? *shape.pinned : named) {
    const std::uint32_t row = cluster_.find_row(name);
    if (row != kNoRow && evaluator_.row_class_code(shape, row, named) == 0) {
      rows.push_back(row);
    }
  }
  return rows;
}

// What all the preemptor's victims on a row could give back at most, against what it lacks there.
std::vector<Preemption::Constraint> Preemption::constraints(const Preemptor& preemptor) {
  victim_columns_.begin();
  std::vector<VictimGroup> groups;
  if (!preemptor.standing.has_elastic_quota) {
    groups = {{VictimGroup::kNoElasticQuota, preemptor.claim.priority}};
  } else if (!preemptor.reclaims) {
    groups = {{preemptor.claim.namespace_id, preemptor.claim.priority}};
  } else {
    const ElasticQuotas& quotas = preemptor.capacity_scheduling.elastic_quotas();
    for (NamespaceId id = 0; id < quotas.namespace_count(); ++id) {
      if (id != preemptor.claim.namespace_id && quotas.at(id).has_elastic_quota() &&
          quotas.at(id).over_min) {
        groups.push_back({id, VictimGroup::kAnyPriority});
      }
    }
    if (groups.size() > kGivenBackMax) {
      groups = {{VictimGroup::kAllElasticQuotas, VictimGroup::kAnyPriority}};
    }
  }
  std::vector<Constraint> all;
  std::vector<VictimColumn> asked;
  const Columns columns = cluster_.table().columns();
  for (const Preemptor::Term& term : preemptor.terms) {
    all.push_back({columns.narrow[term.column], round_down(term.need), {}});
    asked.push_back({false, term.sum});
  }
  for (const Preemptor::Bound& bound : preemptor.bounds) {
    // Mode Upstream looks at the quotas without nominated pods first, and decides by that.
    const Int128 left = preemptor.capacity_scheduling.elastic_quotas().compared(
        preemptor.upstream ? bound.left_by_itself : bound.left);
    if (left < 0) {
      all.push_back({nullptr, round_down(std::min(saturated(-left), kUnlimited - 1)), {}});
      asked.push_back({true, bound.resource});
    }
  }
  for (const VictimGroup& group : groups) {
    const std::vector<const float*> given_back = victim_columns_.columns(group, asked);
    for (std::size_t c = 0; c < all.size(); ++c) {
      all[c].given_back.push_back(given_back[c]);
    }
  }
  return all;
}

std::vector<std::uint32_t> Preemption::within_bounds(const Preemptor& preemptor,
                                                     const std::vector<std::uint32_t>& rows) {
  const std::vector<Constraint> all = constraints(preemptor);
  const std::uint32_t size = cluster_.table().size();
  kept_.assign((size + kPadNodes) / 64 + 1, ~std::uint64_t{0});
  for (const Constraint& constraint : all) {
    kernels_.keep_rows(constraint.headroom, constraint.given_back, constraint.need_low, size,
                       kept_.data());
  }
  // Sums that wrap (mode Upstream) keep to no bound.
  for (const std::uint32_t row : cluster_.table().rows_beyond_int64()) {
    kept_[row / 64] |= std::uint64_t{1} << (row % 64);
  }
  std::vector<std::uint32_t> within;
  for (const std::uint32_t row : rows) {
    if ((kept_[row / 64] >> (row % 64) & 1) != 0) {
      within.push_back(row);
    }
  }
  return within;
}

// Only where no single node helps. Where it is off, whether it would help is all that is asked.
void Preemption::look_across(const Preemptor& preemptor, const std::vector<std::uint32_t>& rows,
                             PostFilter& answer) {
  const CrossNode cross_node(preemptor);
  if (!cross_node.may_help()) {
    return;
  }
  const bool on = preemptor.capacity_scheduling.cross_node();
  std::atomic<bool> found_one = false;
  Best best;
  arena_.execute([&] {
    best = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, rows.size(), kStretchRows), Best(),
        [&](const tbb::blocked_range<std::size_t>& stretch, Best so_far) {
          DryRun dry_run(preemptor);
          for (std::size_t i = stretch.begin(); i < stretch.end() && (on || !found_one); ++i) {
            CrossNode::Found found = cross_node.run(rows[i], dry_run);
            so_far.gave_up |= found.gave_up;
            if (!found.victims.empty() && (so_far.victims.empty() || found.rank < so_far.rank)) {
              so_far.rank = found.rank;
              so_far.victims = std::move(found.victims);
              found_one = true;
            }
          }
          return so_far;
        },
        better_of);
  });
  answer.cross_node_gave_up = best.gave_up && best.victims.empty();
  if (best.victims.empty()) {
    return;
  }
  if (!on) {
    answer.cross_node_would_help = true;
    return;
  }
  answer.cross_node = true;
  answer.victims_at_least = cross_node.victims_at_least();
  choose(best, answer);
}

void Preemption::choose(const Best& best, PostFilter& answer) const {
  answer.code = Code::kSuccess;
  answer.nominated_node = static_cast<NodeIndex>(best.rank.row);
  answer.pdb_violations = best.rank.broken;
  for (const PodId id : best.victims) {
    answer.victims.push_back(victim_of(cluster_, id));
  }
}

// False: more rows are to be described in turns to come.
bool Preemption::look(const Pod& pod, PodShape& shape, const PostFilterOptions& options,
                      const Pause& pause, PostFilterTurns& turns, PostFilter& answer) {
  AskedPod asked = evaluator_.ask(pod, shape);
  given_back_.extend(cluster_);
  answer.epoch = cluster_.table().epoch();
  const Preemptor preemptor(cluster_, given_back_, pod, shape, asked.look ? &*asked.look : nullptr);
  // Where nothing is looked for, nothing is told of what turns before found.
  const auto not_looked_for = [&answer](Code code, std::string why) {
    answer.code = code;
    answer.reasons = {std::move(why)};
    answer.stays_nominated = true;
    answer.candidates.clear();
    answer.nodes_dry_run = 0;
    return true;
  };
  std::string why_not;
  if (!may_preempt(pod, preemptor, asked, why_not)) {
    return not_looked_for(Code::kUnschedulable, std::move(why_not));
  }
  if (!preemptor.standing.rejected()) {
    Decision decision;
    evaluator_.decide_on_nodes(pod, shape, {.plugin_scores = false, .reasons = false}, decision);
    if (decision.code == Code::kError) {
      return not_looked_for(Code::kError, "a filter failed: there is no decision to improve on");
    }
    if (decision.feasible != 0) {
      return not_looked_for(Code::kUnschedulable,
                            "a node has room for the pod: nothing to preempt");
    }
  }
  if (!options.candidates) {
    choose_node(preemptor, asked, options.bound, answer);
    if (answer.nominated_node == kNoNode) {
      answer.reasons = {
          fmt::format("preemption helps on none of the {} nodes", cluster_.node_count())};
    }
    return true;
  }
  const std::uint32_t size = cluster_.table().size();
  while (turns.next_row < size) {
    describe_rows(pod, preemptor, asked, std::min(turns.next_row + kStretchRows, size), turns,
                  answer);
    if (turns.next_row < size && pause()) {
      return false;
    }
  }
  const std::uint32_t dry_runs = answer.nodes_dry_run;
  choose_node(preemptor, asked, options.bound, answer);
  answer.nodes_dry_run = dry_runs;
  answer.nodes_ruled_out = 0;
  if (answer.nominated_node != kNoNode) {
    return true;
  }
  if (!turns.errors.empty()) {
    answer.code = Code::kError;
    answer.reasons = std::move(turns.errors);
  } else {
    answer.reasons = {fit_error(cluster_.node_count(), turns.reasons)};
  }
  return true;
}

// The best node, and who has to go there or across nodes; kNoNode where nobody helps.
void Preemption::choose_node(const Preemptor& preemptor, AskedPod& asked, bool bound,
                             PostFilter& answer) {
  PodShape& shape = asked.shape;
  // What a PreFilter rejects no victim helps.
  const bool hopeless = asked.look && !asked.look->pre_filter().empty();
  const std::vector<std::uint32_t> rows =
      hopeless ? std::vector<std::uint32_t>() : rows_of(shape, asked.named);
  // A filter that may answer Error is to be heard on every node.
  bound = bound && !(preemptor.upstream && shape.error_terms != 0);
  const std::vector<std::uint32_t> within = bound ? within_bounds(preemptor, rows) : rows;
  Best best;
  // The least of the victims' highest priorities so far, where no budget is broken.
  std::atomic<std::int64_t> bar = INT64_MAX;
  arena_.execute([&] {
    best = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, within.size(), kStretchRows), Best(),
        [&](const tbb::blocked_range<std::size_t>& stretch, Best so_far) {
          DryRun dry_run(preemptor);
          for (std::size_t i = stretch.begin(); i < stretch.end(); ++i) {
            preemptor.capacity_scheduling.prefetch(
                within[std::min(i + kRowsAhead, within.size() - 1)]);
            look_at(within[i], preemptor, dry_run, bar, so_far);
          }
          return so_far;
        },
        better_of);
  });
  answer.nodes_dry_run = best.dry_runs;
  answer.nodes_ruled_out = static_cast<std::uint32_t>(rows.size() - within.size());
  if (best.victims.empty() && !preemptor.upstream) {
    look_across(preemptor, rows, answer);
  }
  if (answer.nominated_node != kNoNode) {
    return;
  }
  if (best.victims.empty()) {
    answer.code = best.failed ? Code::kError : Code::kUnschedulable;
    return;
  }
  choose(best, answer);
}

// Nodes up to row `end` with their outcome, in kube-scheduler's words.
void Preemption::describe_rows(const Pod& pod, const Preemptor& preemptor, AskedPod& asked,
                               std::uint32_t end, PostFilterTurns& turns, PostFilter& answer) {
  PodShape& shape = asked.shape;
  const std::uint32_t begin = std::exchange(turns.next_row, end);
  std::vector<NodeDetail> details(end - begin);
  {
    Supposition supposed(cluster_);
    supposed.add_nominated(pod, shape);
    for (std::uint32_t row = begin; row < end; ++row) {
      if (cluster_.table().node_class(row) != kNoNodeClass) {
        details[row - begin] = status_of(asked, row);
      }
    }
  }
  DryRun dry_run(preemptor);
  for (std::uint32_t row = begin; row < end; ++row) {
    if (cluster_.table().node_class(row) == kNoNodeClass) {
      continue;
    }
    NodeDetail& detail = details[row - begin];
    if (!preemptor.standing.rejected() && detail.code != Code::kUnschedulable) {
      ++turns.reasons["Preemption is not helpful for scheduling"];
      continue;
    }
    DryRunOutcome outcome = dry_run.run(row);
    if (detail.code != Code::kSuccess && detail.rejected_by <= PluginId::kNodeAffinity &&
        outcome != DryRunOutcome::kNobody) {
      outcome = DryRunOutcome::kFilters;  // these filters come first, and no victim changes them
    } else {
      detail = {};
    }
    ++answer.nodes_dry_run;
    const NodeVictims& node = answer.candidates.emplace_back(
        describe_node(evaluator_, preemptor, pod, row, outcome, dry_run, std::move(detail)));
    for (const std::string& reason : node.reasons) {
      node.code == Code::kError ? turns.errors.push_back(reason) : void(++turns.reasons[reason]);
    }
  }
}

Result<std::vector<PodVerdict>> Preemption::explain_victims(const Pod& pod, std::uint32_t row) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (cluster_.capacity_scheduling() == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "explain_victims: the profile does not enable CapacityScheduling");
  }
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  AskedPod asked = evaluator_.ask(pod, **shape);
  given_back_.extend(cluster_);
  const Preemptor preemptor(cluster_, given_back_, pod, **shape,
                            asked.look ? &*asked.look : nullptr);
  return headroom::explain_victims(preemptor, row);
}

}  // namespace headroom
