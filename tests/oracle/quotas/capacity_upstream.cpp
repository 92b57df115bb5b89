// CapacityScheduling as scheduler-plugins does it: reference 2.1 to 2.5, its quirks included.
#include <algorithm>
#include <limits>

#include "oracle/pod_priority.h"
#include "oracle/policies/limit_score.h"
#include "oracle/quotas/capacity_scheduling.h"
#include "oracle/quotas/disruption_budgets.h"

namespace oracle {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
const char* const kBasic[] = {"cpu", "memory", "ephemeral-storage"};

// newElasticQuotaInfo, 2.1: only a list that is absent as a whole has defaults for cpu, memory and
// ephemeral-storage; a key missing from a present list is 0 there.
Amounts bound_of(const std::optional<Amounts>& list, std::int64_t missing) {
  if (list) return *list;
  Amounts bound;
  for (const char* name : kBasic) bound[name] = missing;
  return bound;
}

// cmp2, 2.2: true ("over") when a + b > y in cpu, memory or ephemeral-storage, or in any other
// resource that is a key of `a`, with `bound` for what y lacks.
bool is_over(const Amounts& a, const Amounts& b, const Amounts& y, std::int64_t bound) {
  Amounts sum = a;
  add_in_go(sum, b);
  for (const char* name : kBasic) {
    if (amount(sum, name) > amount(y, name)) return true;
  }
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) {
    const std::string& name = entry.first;
    return !is_basic_resource(name) && amount(sum, name) > (y.contains(name) ? y.at(name) : bound);
  });
}

Amounts used_of(const ElasticQuota& quota) { return sums_in_int64(Mode::kUpstream, quota.used); }

bool is_over_min_with(const ElasticQuota& quota, const Amounts& request) {
  return is_over(request, used_of(quota), bound_of(quota.min, 0), 0);
}

bool is_over_max_with(const ElasticQuota& quota, const Amounts& request) {
  return is_over(request, used_of(quota), bound_of(quota.max, kUnbounded), kUnbounded);
}

bool is_over_min(const ElasticQuota& quota) {
  return is_over(used_of(quota), {}, bound_of(quota.min, 0), 0);
}

// aggregatedUsedOverMinWith, over all quotas.
bool is_total_over_min_with(const Situation& situation, const Amounts& request) {
  Amounts used = request, min;
  for (const auto& [space, quota] : situation.quotas) {
    add_in_go(used, used_of(quota));
    add_in_go(min, bound_of(quota.min, 0));
  }
  return is_over(used, {}, min, 0);
}

class Upstream {
 public:
  explicit Upstream(const CapacityCycle& cycle)
      : cycle_(cycle),
        start_(read_situation(*cycle.facts, Mode::kUpstream, *cycle.pod)),
        incoming_(view_pod(*cycle.facts, Mode::kUpstream, *cycle.pod)) {
    read_nominated();
  }

  CapacityAnswer run() const {
    CapacityAnswer answer;
    answer.pre_filter = pre_filter();
    const bool rejected = answer.pre_filter.code != Code::kSuccess;
    std::vector<std::string> tried;
    bool feasible = false;
    for (const std::string& node : start_.node_names) {
      // RunPreFilterPlugins: a rejection there is every node's status.
      const NodeStatus status = rejected ? NodeStatus{answer.pre_filter, ""} : filter(start_, node);
      if (status.code == Code::kUnschedulable) tried.push_back(node);
      feasible = feasible || status.code == Code::kSuccess;
      if (!rejected) answer.nodes[node] = status;
    }
    if (!feasible) answer.post_filter = post_filter(answer, tried);
    return answer;
  }

 private:
  // 2.3: nominated pods of the same namespace from the pod's priority on, and those of other
  // namespaces whose quota is not over its min; the pod's own request is in both sums.
  void read_nominated() {
    in_quota_ = all_ = incoming_.elastic_quota_requests;
    for (const PodView& pod : start_.nominated) {
      const ElasticQuota* quota = start_.elastic_quota_of(pod);
      if (quota == nullptr) continue;
      if (pod.space == incoming_.space) {
        if (pod.priority < incoming_.priority) continue;
        add_in_go(in_quota_, pod.elastic_quota_requests);
        add_in_go(all_, pod.elastic_quota_requests);
      } else if (!is_over_min(*quota)) {
        add_in_go(all_, pod.elastic_quota_requests);
      }
    }
  }

  NodeStatus filter(const Situation& situation, const std::string& node) const {
    return filter_with_nominated(cycle_, situation, incoming_, node);
  }

  Status pre_filter() const {
    const ElasticQuota* quota = start_.elastic_quota_of(incoming_);
    if (quota == nullptr) return {};
    const std::string who = "Pod " + incoming_.key + " is rejected in PreFilter because ";
    if (is_over_max_with(*quota, in_quota_)) {
      return {Code::kUnschedulable,
              {who + "ElasticQuota " + incoming_.space + " is more than Max"}};
    }
    if (is_total_over_min_with(start_, all_)) {
      return {Code::kUnschedulable, {who + "total ElasticQuota used is more than min"}};
    }
    return {};
  }

  // 2.5, step 3; `more`: with the pod its quota would be over its min.
  bool may_take(const Situation& situation, const PodView& pod, bool more) const {
    const ElasticQuota* quota = situation.elastic_quota_of(pod);
    const bool lower = pod.priority < incoming_.priority;
    if (situation.elastic_quota_of(incoming_) == nullptr) return quota == nullptr && lower;
    if (quota == nullptr) return false;
    if (pod.space == incoming_.space) return more && lower;
    return !more && is_over_min(*quota);
  }

  // PodEligibleToPreemptOthers; for terminating pods of the own namespace `more` plays no part.
  std::string not_eligible(const CapacityAnswer& answer) const {
    if (never_preempts_) return "not eligible due to preemptionPolicy=Never.";
    const std::string nominated = text(child(*incoming_.pod, "status"), "nominatedNodeName");
    const auto status = answer.nodes.find(nominated);
    if (status != answer.nodes.end() &&
        status->second.code == Code::kUnschedulableAndUnresolvable) {
      return "";
    }
    const bool more = is_over_min_before();
    const bool waits = waits_for_victims(start_, incoming_, [&](const PodView& pod) {
      const bool own =
          start_.elastic_quota_of(incoming_) != nullptr && pod.space == incoming_.space;
      return may_take(start_, pod, own || more);
    });
    return waits ? "not eligible due to a terminating pod on the nominated node." : "";
  }

  bool is_over_min_before() const {
    const ElasticQuota* quota = start_.elastic_quota_of(incoming_);
    return quota != nullptr && is_over_min_with(*quota, in_quota_);
  }

  PostFilter post_filter(const CapacityAnswer& before,
                         const std::vector<std::string>& tried) const {
    PostFilter answer;
    answer.status.code = Code::kUnschedulable;
    const std::string reason = not_eligible(before);
    if (!reason.empty()) {
      answer.status.reasons = {reason};
      return answer;
    }
    std::map<std::string, NodeVictims> nodes;
    for (const std::string& node : tried) nodes[node] = select_victims(node);
    choose_candidate(start_, nodes, answer);
    if (answer.nominated_node.empty()) answer.status = failure(nodes);
    answer.candidates = std::move(nodes);
    return answer;
  }

  // Errors win over the text of FitError, which counts reasons and sorts what it says.
  Status failure(const std::map<std::string, NodeVictims>& nodes) const {
    Status errors;
    std::map<std::string, std::size_t> counts;
    for (const auto& [name, node] : nodes) {
      if (node.status.code == Code::kError) errors.code = Code::kError;
      for (const std::string& reason : node.status.reasons) {
        ++counts[reason];
        if (node.status.code == Code::kError) errors.reasons.push_back(reason);
      }
    }
    if (errors.code == Code::kError) return errors;
    const std::size_t absent = start_.node_names.size() - nodes.size();
    if (absent != 0) counts["Preemption is not helpful for scheduling"] = absent;
    std::vector<std::string> lines;
    for (const auto& [reason, count] : counts)
      lines.push_back(std::to_string(count) + " " + reason);
    std::sort(lines.begin(), lines.end());
    std::string said = "0/" + std::to_string(start_.node_names.size()) + " nodes are available:";
    for (const std::string& line : lines) said += (line == lines.front() ? " " : ", ") + line;
    if (!lines.empty()) said += ".";
    return {Code::kUnschedulable, {said}};
  }

  // SelectVictimsOnNode.
  NodeVictims select_victims(const std::string& node) const {
    NodeVictims found;
    Situation now = start_;
    std::vector<PodView> potential = now.pods.at(node);
    sort_most_important_first(potential);
    std::reverse(potential.begin(), potential.end());
    const bool more = is_over_min_before();
    std::erase_if(potential, [&](const PodView& pod) {
      if (!may_take(now, pod, more)) return true;
      now.take(pod);
      return false;
    });
    if (potential.empty()) {
      found.status = {Code::kUnschedulableAndUnresolvable,
                      {"No victims found on node " + node + " for preemptor pod " +
                       text(child(*incoming_.pod, "metadata"), "name")}};
      return found;
    }
    found.status = filter(now, node);
    if (found.status.code != Code::kSuccess) return found;
    // Step 6: without nominated pods.
    if (breaks_elastic_quota(now, incoming_.elastic_quota_requests,
                             incoming_.elastic_quota_requests)) {
      found.status = {Code::kUnschedulable, {"global quota max exceeded"}};
      return found;
    }
    reprieve(now, node, potential, found);
    return found;
  }

  bool breaks_elastic_quota(const Situation& now, const Amounts& in_quota,
                            const Amounts& all) const {
    const ElasticQuota* quota = now.elastic_quota_of(incoming_);
    return quota != nullptr &&
           (is_over_max_with(*quota, in_quota) || is_total_over_min_with(now, all));
  }

  // Steps 7 to 9: those that violate a budget first, each list most important first.
  void reprieve(Situation& now, const std::string& node, std::vector<PodView> potential,
                NodeVictims& found) const {
    sort_most_important_first(potential);
    DisruptionBudgets budgets(*cycle_.facts, Mode::kUpstream);
    std::vector<PodView> violating, others;
    for (const PodView& pod : potential) {
      (budgets.breaks(pod) ? violating : others).push_back(pod);
      budgets.note(pod);
    }
    for (const std::vector<PodView>* list : {&violating, &others}) {
      for (const PodView& pod : *list) {
        now.put_back(pod);
        const bool fits = filter(now, node).code == Code::kSuccess;
        if (!fits) now.take(pod);
        const bool quota_bad = breaks_elastic_quota(now, in_quota_, all_);
        if (!fits && quota_bad) {
          // The original removes the pod a second time.
          found.victims.clear();
          found.status = {Code::kError,
                          {"no corresponding pod " + text(child(*pod.pod, "metadata"), "name") +
                           " in pods of node " + node}};
          return;
        }
        if (fits && quota_bad) now.take(pod);
        if (!fits || quota_bad) found.victims.push_back(pod);
        // A victim taken only for the quota is not counted.
        if (!fits && list == &violating) ++found.pdb_violations;
      }
    }
    sort_most_important_first(found.victims);
    if (found.victims.empty()) {
      found.status = {Code::kError, {"expected at least one victim pod on node \"" + node + "\""}};
    }
  }

  const CapacityCycle& cycle_;
  const Situation start_;
  const PodView incoming_;
  const bool never_preempts_ = never_preempts(*cycle_.facts, *cycle_.pod);
  Amounts in_quota_, all_;  // with the incoming pod's request
};

}  // namespace

CapacityAnswer capacity_upstream(const CapacityCycle& cycle) { return Upstream(cycle).run(); }

}  // namespace oracle
