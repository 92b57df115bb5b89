// CapacityScheduling by proposal-rules.md, section CapacityScheduling; quotations are from there.
#include <algorithm>

#include "oracle/pod_priority.h"
#include "oracle/quotas/capacity_scheduling.h"
#include "oracle/quotas/disruption_budgets.h"

namespace oracle {
namespace {

// A pod that was taken away, and whether that went beyond a budget.
struct Taken {
  PodView pod;
  bool breaks = false;
};

class Proposal {
 public:
  explicit Proposal(const CapacityCycle& cycle)
      : cycle_(cycle),
        start_(read_situation(*cycle.facts, Mode::kProposal, *cycle.pod)),
        incoming_(view_pod(*cycle.facts, Mode::kProposal, *cycle.pod)) {
    for (const auto& [space, quota] : start_.quotas) {
      for (const auto& [name, units] : min_of(quota)) total_min_[name] += units;
    }
    for (const auto& [name, units] : incoming_.elastic_quota_requests) {
      if (units > 0) asked_[name] = units;
    }
    for (const PodView& pod : start_.nominated) {
      if (is_own(pod) && pod.priority >= incoming_.priority) {
        add_to(own_nominated_, pod.elastic_quota_requests);
      }
    }
    within_min_ = is_within_min();
  }

  CapacityAnswer run() const {
    CapacityAnswer answer;
    answer.pre_filter = pre_filter(start_);
    bool feasible = false;
    if (answer.pre_filter.code == Code::kSuccess) {
      for (const std::string& node : start_.node_names) {
        answer.nodes[node] = filter_with_nominated(cycle_, start_, incoming_, node);
        feasible = feasible || answer.nodes[node].code == Code::kSuccess;
      }
    }
    if (!feasible) answer.post_filter = post_filter();
    return answer;
  }

 private:
  // "A resource missing from max is unlimited, one missing from min is 0."
  static Amounts min_of(const ElasticQuota& quota) { return quota.min.value_or(Amounts()); }
  // "R that some quota's min names".
  bool is_named(const std::string& name) const { return total_min_.contains(name); }
  bool is_own(const PodView& pod) const { return pod.space == incoming_.space; }

  // A quota "uses more than its min" in R, over the R that some quota's min names.
  bool is_over_min(const ElasticQuota& quota, const std::string& name) const {
    return is_named(name) && amount(quota.used, name) > amount(min_of(quota), name);
  }

  bool is_over_min(const ElasticQuota& quota) const {
    return std::any_of(quota.used.begin(), quota.used.end(),
                       [&](const auto& entry) { return is_over_min(quota, entry.first); });
  }

  // "nominated pods of other quotas count whatever their priority unless their quota uses more
  // than its min", which taking victims away can change.
  Sums total_used(const Situation& now) const {
    Sums total = own_nominated_;
    for (const auto& [space, quota] : now.quotas) add_to(total, quota.used);
    for (const PodView& pod : now.nominated) {
      const ElasticQuota* quota = now.elastic_quota_of(pod);
      if (quota != nullptr && !is_own(pod) && !is_over_min(*quota)) {
        add_to(total, pod.elastic_quota_requests);
      }
    }
    return total;
  }

  // "for every R that the pod asks for".
  Status pre_filter(const Situation& now) const {
    const ElasticQuota* quota = now.elastic_quota_of(incoming_);
    if (quota == nullptr) return {};
    Status status;
    const Sums total = total_used(now);
    for (const auto& [name, units] : asked_) {
      const Amounts max = quota->max.value_or(Amounts());
      const Int128 own = amount(quota->used, name) + amount(own_nominated_, name) + units;
      if (max.contains(name) && own > max.at(name)) {
        status.reasons.push_back("quota " + incoming_.space + ": more " + name + " than its max");
      }
      if (is_named(name) && amount(total, name) + units > total_min_.at(name)) {
        status.reasons.push_back("all quotas: more " + name + " than their min");
      }
    }
    if (!status.reasons.empty()) status.code = Code::kUnschedulable;
    return status;
  }

  // "used + own nominated + request <= min for every R that it asks for and some quota's min
  // names".
  bool is_within_min() const {
    const ElasticQuota* quota = start_.elastic_quota_of(incoming_);
    if (quota == nullptr) return false;
    return std::all_of(asked_.begin(), asked_.end(), [&](const auto& entry) {
      const auto& [name, units] = entry;
      const Int128 own = amount(quota->used, name) + amount(own_nominated_, name) + units;
      return !is_named(name) || own <= amount(min_of(*quota), name);
    });
  }

  // The second and third sentence on preemptors; "a victim of another quota must use an R of which
  // its quota is over its min just before its removal".
  bool may_take(const Situation& now, const PodView& pod) const {
    const ElasticQuota* quota = now.elastic_quota_of(pod);
    const bool lower = pod.priority < incoming_.priority;
    if (now.elastic_quota_of(incoming_) == nullptr) return quota == nullptr && lower;
    if (quota == nullptr) return false;
    if (!within_min_) return is_own(pod) && lower;
    if (is_own(pod)) return false;
    return std::any_of(
        pod.elastic_quota_requests.begin(), pod.elastic_quota_requests.end(),
        [&](const auto& entry) { return entry.second > 0 && is_over_min(*quota, entry.first); });
  }

  bool has_room(const Situation& now, const std::string& node) const {
    return filter_with_nominated(cycle_, now, incoming_, node).code == Code::kSuccess;
  }

  bool elastic_quotas_hold(const Situation& now) const {
    return pre_filter(now).code == Code::kSuccess;
  }

  // "collected least important first, those that break no budget before those that do", until
  // `enough` of the situation.
  template <typename Enough>
  std::vector<Taken> collect(Situation& now, std::vector<PodView> pods, DisruptionBudgets& budgets,
                             Enough enough) const {
    sort_most_important_first(pods);
    std::reverse(pods.begin(), pods.end());
    std::vector<Taken> taken;
    for (const bool breaks : {false, true}) {
      std::vector<PodView> later;
      for (const PodView& pod : pods) {
        if (enough()) return taken;
        if (!breaks && budgets.breaks(pod)) {
          later.push_back(pod);
        } else if (may_take(now, pod)) {
          now.take(pod);
          budgets.note(pod);
          taken.push_back(Taken{pod, breaks});
        }
      }
      pods = later;
    }
    return taken;
  }

  // "reprieved most important first", those that break a budget before the others: the reverse of
  // collecting. A pod is spared where `works` still holds with it back.
  template <typename Works>
  std::vector<Taken> reprieve(Situation& now, std::vector<Taken> taken, Works works) const {
    std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) {
      return a.breaks != b.breaks ? a.breaks : more_important(a.pod, b.pod);
    });
    std::erase_if(taken, [&](const Taken& one) {
      now.put_back(one.pod);
      if (works()) return true;
      now.take(one.pod);
      return false;
    });
    return taken;
  }

  // "A PodDisruptionBudget is broken by victims beyond disruptionsAllowed".
  NodeVictims as_candidate(const std::vector<Taken>& taken) const {
    NodeVictims found;
    for (const Taken& one : taken) found.victims.push_back(one.pod);
    if (found.victims.empty()) found.status.code = Code::kUnschedulable;
    sort_most_important_first(found.victims);
    DisruptionBudgets budgets(*cycle_.facts, Mode::kProposal);
    for (const PodView& pod : found.victims) {
      found.pdb_violations += budgets.count_broken(pod);
      budgets.note(pod);
    }
    return found;
  }

  // "After the victims are gone, all checks of the pre-filter must hold."
  NodeVictims victims_on(const std::string& node) const {
    Situation now = start_;
    DisruptionBudgets budgets(*cycle_.facts, Mode::kProposal);
    const auto works = [&] { return has_room(now, node) && elastic_quotas_hold(now); };
    std::vector<Taken> taken = collect(now, now.pods.at(node), budgets, [] { return false; });
    if (!works()) return as_candidate({});
    return as_candidate(reprieve(now, std::move(taken), works));
  }

  // "victims that make room on the chosen node, plus victims anywhere, least important first, that
  // bring the quotas back". Of all of them those are spared without which both still holds.
  NodeVictims victims_anywhere(const std::string& node) const {
    Situation now = start_;
    const auto room = [&] { return has_room(now, node); };
    const auto quotas = [&] { return elastic_quotas_hold(now); };
    DisruptionBudgets scratch(*cycle_.facts, Mode::kProposal);
    std::vector<Taken> taken = collect(now, now.pods.at(node), scratch, [] { return false; });
    if (!room()) return as_candidate({});
    taken = reprieve(now, std::move(taken), room);

    DisruptionBudgets budgets(*cycle_.facts, Mode::kProposal);
    for (const Taken& one : taken) budgets.note(one.pod);
    std::vector<PodView> everywhere;
    for (const auto& [name, pods] : now.pods) {
      everywhere.insert(everywhere.end(), pods.begin(), pods.end());
    }
    const std::vector<Taken> more = collect(now, everywhere, budgets, quotas);
    if (!quotas()) return as_candidate({});
    taken.insert(taken.end(), more.begin(), more.end());
    return as_candidate(reprieve(now, std::move(taken), [&] { return room() && quotas(); }));
  }

  PostFilter post_filter() const {
    PostFilter answer;
    answer.status.code = Code::kUnschedulable;
    if (never_preempts(*cycle_.facts, *cycle_.pod)) return answer;
    if (waits_for_victims(start_, incoming_,
                          [&](const PodView& pod) { return may_take(start_, pod); })) {
      return answer;
    }
    std::map<std::string, NodeVictims> nodes;
    for (const std::string& node : start_.node_names) nodes[node] = victims_on(node);
    choose_candidate(start_, nodes, answer);
    if (!answer.nominated_node.empty()) {
      std::erase_if(nodes,
                    [](const auto& entry) { return entry.second.status.code != Code::kSuccess; });
      answer.candidates = std::move(nodes);
      return answer;
    }
    // "tried only when no single node works"; "when it is off and would help, the answer says so".
    for (const std::string& node : start_.node_names) answer.across[node] = victims_anywhere(node);
    if (child(*cycle_.args, "crossNodePreemption") == true) {
      choose_candidate(start_, answer.across, answer);
    } else {
      answer.cross_node_would_help = !pick_node(start_.node_names, answer.across).empty();
    }
    return answer;
  }

  const CapacityCycle& cycle_;
  const Situation start_;
  const PodView incoming_;
  Sums total_min_, own_nominated_;
  Amounts asked_;
  bool within_min_ = false;
};

}  // namespace

CapacityAnswer capacity_proposal(const CapacityCycle& cycle) { return Proposal(cycle).run(); }

}  // namespace oracle
