#include "engine/preempt/preemption.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <utility>

#include "engine/preempt/cross_node.h"
#include "kernels/exact.h"

namespace headroom {

namespace {

// Rows that a worker looks at before it asks for more.
constexpr std::uint32_t kStretchRows = 256;
// Most of a dry run's time is waiting for the node's pods, where they are not asked for before.
constexpr std::size_t kRowsAhead = 4;

// framework.FitError: "0/3 nodes are available: 1 reason, 2 other reason."
std::string fit_error(std::uint32_t nodes, const std::map<std::string, std::uint32_t>& reasons) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) {
    parts.push_back(fmt::format("{} {}", count, reason));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("0/{} nodes are available:{}{}{}", nodes, parts.empty() ? "" : " ",
                     fmt::join(parts, ", "), parts.empty() ? "" : ".");
}

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

Victim Preemption::victim_of(PodId id) const {
  const PodFacts& pod = cluster_.pod(id);
  Victim victim;
  victim.namespace_name = pod.namespace_name();
  victim.name = pod.name();
  victim.uid = pod.uid.text();
  victim.priority = pod.rank.priority;
  victim.node = static_cast<NodeIndex>(pod.counted_row);
  return victim;
}

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
  if (cluster_.capacity() == nullptr) {
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
  for (const RankedPod& other : preemptor.capacity.pods_of(row)) {
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
    const ElasticQuotas& quotas = preemptor.capacity.elastic_quotas();
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
    const Int128 left = preemptor.capacity.elastic_quotas().compared(
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
  const bool on = preemptor.capacity.cross_node();
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
    answer.victims.push_back(victim_of(id));
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
            preemptor.capacity.prefetch(within[std::min(i + kRowsAhead, within.size() - 1)]);
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
    NodeVictims& node = answer.candidates.emplace_back();
    node.node = static_cast<NodeIndex>(row);
    DryRunOutcome outcome = dry_run.run(row);
    if (detail.code != Code::kSuccess && detail.rejected_by <= PluginId::kNodeAffinity &&
        outcome != DryRunOutcome::kNobody) {
      outcome = DryRunOutcome::kFilters;  // these filters come first, and no victim changes them
    } else {
      detail = {};
    }
    ++answer.nodes_dry_run;
    switch (outcome) {
      case DryRunOutcome::kVictims: {
        node.pdb_violations = dry_run.rank().broken;
        for (const RankedPod* victim : dry_run.victims()) {
          node.victims.push_back(victim_of(victim->pod));
        }
        continue;
      }
      case DryRunOutcome::kNobody:
        node.code = Code::kUnschedulableAndUnresolvable;
        // DefaultPreemption's words, which count nodes; in mode Upstream CapacityScheduling's.
        node.reasons = {cluster_.profile().mode == Mode::kProposal
                            ? "No preemption victims found for incoming pod"
                            : fmt::format("No victims found on node {} for preemptor pod {}",
                                          cluster_.node(row).name, pod.name)};
        break;
      case DryRunOutcome::kFilters:
        if (detail.reasons.empty()) {
          evaluator_.describe(shape, row, dry_run.code(), detail);
        }
        node.code = detail.code;
        node.reasons = detail.reasons;
        break;
      case DryRunOutcome::kElasticQuotas:
        node.code = Code::kUnschedulable;
        node.reasons = {"global quota max exceeded"};
        break;
      case DryRunOutcome::kReprievedTwice:
        node.code = Code::kError;
        node.reasons = {fmt::format("no corresponding pod {} in pods of node {}",
                                    cluster_.pod(dry_run.failed()->pod).name(),
                                    cluster_.node(row).name)};
        break;
      case DryRunOutcome::kOutranked:  // not without a bar
      case DryRunOutcome::kNotNeeded:
        node.code = preemptor.upstream ? Code::kError : Code::kUnschedulable;
        node.reasons = {fmt::format("expected at least one victim pod on node \"{}\"",
                                    cluster_.node(row).name)};
        break;
    }
    for (const std::string& reason : node.reasons) {
      node.code == Code::kError ? turns.errors.push_back(reason) : void(++turns.reasons[reason]);
    }
  }
}

// What keeps a victim from staying, with the others gone.
std::string Preemption::why_victim(const RankedPod& victim, const Preemptor& preemptor,
                                   DryRun& dry_run) const {
  dry_run.put_back(victim);
  std::vector<std::string> lacking;
  std::uint32_t code = dry_run.filter_code();
  if ((code & kClassRejection) != 0) {
    lacking.emplace_back(cluster_.rejections().at(std::exchange(code, 0)).reasons.front());
  }
  for (; code != 0; code &= code - 1) {
    lacking.push_back(
        preemptor.shape.filter_labels[static_cast<std::size_t>(std::countr_zero(code))].reason);
  }
  if (!dry_run.within_elastic_quotas()) {
    lacking.push_back("the quotas' bounds do not hold");
  }
  dry_run.remove(victim);
  return fmt::format("has to go: with it {}", lacking.empty()
                                                  ? "mode Upstream's order decides"
                                                  : fmt::format("{}", fmt::join(lacking, ", ")));
}

std::string Preemption::why_not_victim(const RankedPod& pod, const Preemptor& preemptor,
                                       const DryRun& dry_run) const {
  const NamespaceFacts& facts = preemptor.capacity.elastic_quotas().at(pod.namespace_id);
  const bool lower = pod.priority < preemptor.claim.priority;
  if (preemptor.may_be_victim(pod)) {
    return dry_run.collected(pod)
               ? "reprieved: everything holds with it"
               : fmt::format("namespace {} is back within its min without it", facts.name);
  }
  if (!preemptor.standing.has_elastic_quota) {
    return facts.has_elastic_quota()
               ? "has a quota, and the preemptor has none"
               : fmt::format("priority {} is not below {}", pod.priority, preemptor.claim.priority);
  }
  if (!facts.has_elastic_quota()) {
    return "its namespace has no quota";
  }
  if (preemptor.reclaims) {
    return pod.namespace_id == preemptor.claim.namespace_id
               ? "of the preemptor's own quota, which takes back from others"
               : fmt::format("namespace {} is within its min", facts.name);
  }
  return pod.namespace_id != preemptor.claim.namespace_id
             ? "of another quota: the preemptor's is beyond its min, and takes from its own only"
         : lower
             ? ""
             : fmt::format("priority {} is not below {}", pod.priority, preemptor.claim.priority);
}

Result<std::vector<PodVerdict>> Preemption::explain_victims(const Pod& pod, std::uint32_t row) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (cluster_.capacity() == nullptr) {
    return fail(ErrorCode::kUnsupported,
                "explain_victims: the profile does not enable CapacityScheduling");
  }
  std::vector<PodVerdict> verdicts;
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  AskedPod asked = evaluator_.ask(pod, **shape);
  given_back_.extend(cluster_);
  const Preemptor preemptor(cluster_, given_back_, pod, **shape,
                            asked.look ? &*asked.look : nullptr);
  DryRun dry_run(preemptor);
  const bool helps = dry_run.run(row) == DryRunOutcome::kVictims;
  const std::span<const RankedPod> pods = preemptor.capacity.pods_of(row);
  for (std::size_t i = pods.size(); i-- > 0;) {
    PodVerdict& verdict = verdicts.emplace_back();
    verdict.pod = victim_of(pods[i].pod);
    const auto victims = dry_run.victims();
    verdict.victim = helps && std::find(victims.begin(), victims.end(), &pods[i]) != victims.end();
    verdict.why = verdict.victim ? why_victim(pods[i], preemptor, dry_run)
                  : !helps && preemptor.may_be_victim(pods[i])
                      ? "could go, and the node would not help even so"
                      : why_not_victim(pods[i], preemptor, dry_run);
  }
  return verdicts;
}

}  // namespace headroom
