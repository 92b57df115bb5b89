#include "engine/preempt/preemption_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace headroom {

namespace {

// What keeps a victim from staying, with the others gone.
std::string why_victim(const RankedPod& victim, const Preemptor& preemptor, DryRun& dry_run) {
  dry_run.put_back(victim);
  std::vector<std::string> lacking;
  std::uint32_t code = dry_run.filter_code();
  if ((code & kClassRejection) != 0) {
    lacking.emplace_back(preemptor.cluster.rejections().at(std::exchange(code, 0)).reasons.front());
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

std::string why_not_victim(const RankedPod& pod, const Preemptor& preemptor,
                           const DryRun& dry_run) {
  const NamespaceFacts& facts = preemptor.capacity_scheduling.elastic_quotas().at(pod.namespace_id);
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

}  // namespace

Victim victim_of(const Cluster& cluster, PodId id) {
  const PodFacts& pod = cluster.pod(id);
  Victim victim;
  victim.namespace_name = pod.namespace_name();
  victim.name = pod.name();
  victim.uid = pod.uid.text();
  victim.priority = pod.rank.priority;
  victim.node = static_cast<NodeIndex>(pod.counted_row);
  return victim;
}

std::string fit_error(std::uint32_t nodes, const std::map<std::string, std::uint32_t>& reasons) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) {
    parts.push_back(fmt::format("{} {}", count, reason));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("0/{} nodes are available:{}{}{}", nodes, parts.empty() ? "" : " ",
                     fmt::join(parts, ", "), parts.empty() ? "" : ".");
}

NodeVictims describe_node(const Evaluator& evaluator, const Preemptor& preemptor, const Pod& pod,
                          std::uint32_t row, DryRunOutcome outcome, const DryRun& dry_run,
                          NodeDetail detail) {
  const Cluster& cluster = preemptor.cluster;
  NodeVictims node;
  node.node = static_cast<NodeIndex>(row);
  switch (outcome) {
    case DryRunOutcome::kVictims:
      node.pdb_violations = dry_run.rank().broken;
      for (const RankedPod* victim : dry_run.victims()) {
        node.victims.push_back(victim_of(cluster, victim->pod));
      }
      break;
    case DryRunOutcome::kNobody:
      node.code = Code::kUnschedulableAndUnresolvable;
      // DefaultPreemption's words, which count nodes; in mode Upstream CapacityScheduling's.
      node.reasons = {cluster.profile().mode == Mode::kProposal
                          ? "No preemption victims found for incoming pod"
                          : fmt::format("No victims found on node {} for preemptor pod {}",
                                        cluster.node(row).name, pod.name)};
      break;
    case DryRunOutcome::kFilters:
      if (detail.reasons.empty()) {
        evaluator.describe(preemptor.shape, row, dry_run.code(), detail);
      }
      node.code = detail.code;
      node.reasons = std::move(detail.reasons);
      break;
    case DryRunOutcome::kElasticQuotas:
      node.code = Code::kUnschedulable;
      node.reasons = {"global quota max exceeded"};
      break;
    case DryRunOutcome::kReprievedTwice:
      node.code = Code::kError;
      node.reasons = {fmt::format("no corresponding pod {} in pods of node {}",
                                  cluster.pod(dry_run.failed()->pod).name(),
                                  cluster.node(row).name)};
      break;
    case DryRunOutcome::kOutranked:  // not without a bar
    case DryRunOutcome::kNotNeeded:
      node.code = preemptor.upstream ? Code::kError : Code::kUnschedulable;
      node.reasons = {
          fmt::format("expected at least one victim pod on node \"{}\"", cluster.node(row).name)};
      break;
  }
  return node;
}

std::vector<PodVerdict> explain_victims(const Preemptor& preemptor, std::uint32_t row) {
  std::vector<PodVerdict> verdicts;
  DryRun dry_run(preemptor);
  const bool helps = dry_run.run(row) == DryRunOutcome::kVictims;
  const std::span<const RankedPod> pods = preemptor.capacity_scheduling.pods_of(row);
  for (std::size_t i = pods.size(); i-- > 0;) {
    PodVerdict& verdict = verdicts.emplace_back();
    verdict.pod = victim_of(preemptor.cluster, pods[i].pod);
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
