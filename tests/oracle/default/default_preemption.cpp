// See default_preemption.h. default-plugins.md has no rules of it; this is kube-scheduler 1.37's
// DefaultPreemption, in its own order, with what capacity-scheduling-and-node-resources.md says of
// the same steps. Two things are taken otherwise, as what it does depends on the order of a map: a
// pod in several budgets uses up one of each, and of nodes that tie the first applied is chosen.
#include "oracle/default/default_preemption.h"

#include <algorithm>

#include "oracle/pod_priority.h"
#include "oracle/quotas/disruption_budgets.h"

namespace oracle::defaults {
namespace {

// A pod on a node, with what preemption knows of it.
struct Placed {
  Pod pod;
  PodView view;
};

Placed placed_of(const Facts& facts, const Pod& pod) {
  return {pod, view_pod(facts.priorities(), Mode::kUpstream, *pod.object)};
}

void sort_most_important_first(std::vector<Placed>& pods) {
  std::sort(pods.begin(), pods.end(),
            [](const Placed& a, const Placed& b) { return more_important(a.view, b.view); });
}

// Terminating because the scheduler evicted it for another.
bool is_being_preempted(const Pod& pod) {
  if (!pod.terminating) return false;
  for (const Json& condition : child(*pod.object, "status", "conditions")) {
    if (text(condition, "type") != "DisruptionTarget") continue;
    return text(condition, "status") == "True" &&
           text(condition, "reason") == "PreemptionByScheduler";
  }
  return false;
}

class Preemption {
 public:
  Preemption(const DefaultProfile& profile, const Facts& facts, const Pod& pod)
      : profile_(profile),
        facts_(facts),
        pod_(pod),
        priority_(pod_priority(facts.priorities(), *pod.object)) {}

  // PodEligibleToPreemptOthers: why not, or "".
  std::string not_eligible(const ProfileAnswer& before) const {
    if (never_preempts(facts_.priorities(), *pod_.object)) {
      return "not eligible due to preemptionPolicy=Never.";
    }
    const auto status = before.filter.find(pod_.nominated_node_name);
    if (status == before.filter.end()) return "";
    if (status->second.code == Code::kUnschedulableAndUnresolvable) return "";
    for (const Pod* placed : facts_.pods_on(pod_.nominated_node_name)) {
      if (is_lower(*placed) && is_being_preempted(*placed)) {
        return "not eligible due to a terminating pod on the nominated node.";
      }
    }
    return "";
  }

  // SelectVictimsOnNode: all that are of lower priority go; then as many stay as may, those whose
  // going would break a budget first, the most important first.
  NodeVictims select_victims(const Node& node) const {
    NodeVictims found;
    std::vector<Placed> potential;
    for (const Pod* placed : facts_.pods_on(node.name)) {
      if (is_lower(*placed)) potential.push_back(placed_of(facts_, *placed));
    }
    if (potential.empty()) {
      found.status = unresolvable("No preemption victims found for incoming pod");
      return found;
    }
    ProfileCycle cycle(profile_.version(), profile_.args(), facts_, pod_);
    for (const Placed& one : potential) cycle.take(one.pod, node);
    found.status = cycle.filter_with_nominated(node);
    if (found.status.code != Code::kSuccess) return found;

    sort_most_important_first(potential);
    DisruptionBudgets budgets(facts_.priorities(), Mode::kUpstream);
    std::vector<Placed> violating, others;
    for (const Placed& one : potential) {
      (budgets.breaks(one.view) ? violating : others).push_back(one);
      budgets.note(one.view);
    }
    for (const std::vector<Placed>* list : {&violating, &others}) {
      for (const Placed& one : *list) {
        cycle.place(one.pod, node);
        if (cycle.filter_with_nominated(node).code == Code::kSuccess) continue;
        cycle.take(one.pod, node);
        found.victims.push_back(one.view);
        if (list == &violating) ++found.pdb_violations;
      }
    }
    oracle::sort_most_important_first(found.victims);
    if (found.victims.empty()) {
      found.status = {Code::kError, {"expected at least one victim pod on node " + node.name}};
    }
    return found;
  }

 private:
  bool is_lower(const Pod& placed) const {
    return pod_priority(facts_.priorities(), *placed.object) < priority_;
  }

  const DefaultProfile& profile_;
  const Facts& facts_;
  const Pod& pod_;
  std::int64_t priority_;
};

}  // namespace

PreemptionAnswer preempt(const DefaultProfile& profile, const Facts& facts, const Pod& pod,
                         const ProfileAnswer& before) {
  const Preemption preemption(profile, facts, pod);
  PreemptionAnswer answer;
  if (const std::string reason = preemption.not_eligible(before); !reason.empty()) {
    answer.status = unschedulable(reason);
    return answer;
  }
  std::vector<std::string> order;
  for (const Node* node : facts.nodes()) {
    order.push_back(node->name);
    // What is UnschedulableAndUnresolvable no preemption on the node resolves.
    if (before.filter.at(node->name).code != Code::kUnschedulable) continue;
    answer.candidates[node->name] = preemption.select_victims(*node);
  }
  answer.nominated_node = pick_node(order, answer.candidates);
  if (answer.nominated_node.empty()) {
    answer.status = unschedulable("preemption is not helpful for scheduling");
    return answer;
  }
  for (const PodView& victim : answer.candidates.at(answer.nominated_node).victims) {
    answer.victims.push_back(victim.key);
  }
  return answer;
}

}  // namespace oracle::defaults
