#include "engine/preempt/cross_node.h"

#include <algorithm>
#include <functional>

namespace headroom {

bool CrossNode::less_important(const RankedPod& a, const RankedPod& b) const {
  return preemptor_.capacity_scheduling.less_important(a, b);
}

CrossNode::CrossNode(const Preemptor& preemptor) : preemptor_(preemptor) {
  const Cluster& cluster = preemptor.cluster;
  // Where the quotas hold, or the pod has none, a single node says all.
  if (preemptor.bounds.empty()) {
    may_help_ = false;
    return;
  }
  for (std::uint32_t row = 0; row < cluster.table().size(); ++row) {
    if (cluster.table().node_class(row) == kNoNodeClass) {
      continue;
    }
    for (const RankedPod& pod : preemptor.capacity_scheduling.pods_of(row)) {
      if (preemptor.may_be_victim(pod)) {
        pods_.push_back({&pod, row});
      }
    }
  }
  for (const Preemptor::Bound& bound : preemptor.bounds) {
    Int128 left = bound.left;
    for (const Anywhere& other : pods_) {
      if (!bound.own || other.pod->namespace_id == preemptor.claim.namespace_id) {
        left += bound.given_back[other.pod->shape];
      }
    }
    may_help_ = may_help_ && left >= 0;
  }
  if (may_help_) {
    std::sort(pods_.begin(), pods_.end(), [this](const Anywhere& a, const Anywhere& b) {
      return less_important(*a.pod, *b.pod);
    });
    steps_of_a_node_ =
        std::max<std::uint64_t>(1024, kCrossNodeStepsMax / std::max(1u, cluster.node_count()));
  }
}

void CrossNode::reprieve(DryRun& dry_run, std::vector<Taken>& taken, bool quotas) {
  std::erase_if(taken, [&](const Taken& one) {
    dry_run.put_back(*one.pod, one.here);
    if (dry_run.fits() && (!quotas || dry_run.within_elastic_quotas())) {
      dry_run.take_from_budgets(*one.pod, -1);
      return true;
    }
    dry_run.remove(*one.pod, one.here);
    return false;
  });
}

CrossNode::Found CrossNode::run(std::uint32_t row, DryRun& dry_run) const {
  Found found;
  std::vector<Taken> taken, later;
  // But for one without which the node rejects the pod: what it wants to be near, or what others
  // are spread by.
  const auto take = [&](const RankedPod& pod, bool breaks, bool here) {
    dry_run.remove(pod, here);
    if (!dry_run.fits()) {
      dry_run.put_back(pod, here);
      return;
    }
    dry_run.take_from_budgets(pod, 1);
    taken.push_back({&pod, breaks, here});
  };
  const auto most_important_first = [this](const Taken& a, const Taken& b) {
    return a.breaks != b.breaks ? a.breaks : less_important(*b.pod, *a.pod);
  };
  // Room on the node.
  dry_run.begin(row);
  dry_run.collect();
  for (std::size_t i = 0; i < dry_run.collected().size(); ++i) {
    taken.push_back({dry_run.collected()[i], i >= dry_run.first_breaking(), true});
  }
  if (!dry_run.fits()) {
    return found;
  }
  std::sort(taken.begin(), taken.end(), most_important_first);
  reprieve(dry_run, taken, false);
  // The quotas.
  std::vector<const RankedPod*> here;
  for (const Taken& one : taken) {
    here.push_back(one.pod);
  }
  std::uint64_t steps = 0;
  for (auto at = pods_.begin(); at != pods_.end() && !dry_run.within_elastic_quotas(); ++at) {
    if (++steps > steps_of_a_node_) {
      found.gave_up = true;
      return found;
    }
    const bool same_row = at->row == row;
    if (same_row && std::find(here.begin(), here.end(), at->pod) != here.end()) {
      continue;
    }
    if (dry_run.breaks_budget(*at->pod)) {
      later.push_back({at->pod, true, same_row});
    } else if (dry_run.may_go(*at->pod)) {
      take(*at->pod, false, same_row);
    }
  }
  for (auto at = later.begin(); at != later.end() && !dry_run.within_elastic_quotas(); ++at) {
    if (dry_run.may_go(*at->pod)) {
      take(*at->pod, true, at->here);
    }
  }
  if (!dry_run.within_elastic_quotas()) {
    return found;
  }
  std::sort(taken.begin(), taken.end(), most_important_first);
  reprieve(dry_run, taken, true);
  std::vector<const RankedPod*> victims;
  for (const Taken& one : taken) {
    victims.push_back(one.pod);
  }
  std::sort(victims.begin(), victims.end(),
            [this](const RankedPod* a, const RankedPod* b) { return less_important(*b, *a); });
  found.rank = rank_of(victims, dry_run.broken_budgets(), row);
  for (const RankedPod* victim : victims) {
    found.victims.push_back(victim->pod);
  }
  return found;
}

// A bound that is exceeded needs as many victims as the largest requests take to make it good.
std::uint32_t CrossNode::victims_at_least() const {
  std::uint32_t least = 1;
  for (const Preemptor::Bound& bound : preemptor_.bounds) {
    std::vector<std::int64_t> amounts;
    for (const Anywhere& other : pods_) {
      amounts.push_back(bound.given_back[other.pod->shape]);
    }
    std::sort(amounts.begin(), amounts.end(), std::greater<>());
    Int128 left = bound.left;
    std::uint32_t count = 0;
    for (auto amount = amounts.begin(); left < 0 && amount != amounts.end(); ++amount, ++count) {
      left += *amount;
    }
    least = std::max(least, count);
  }
  return least;
}

}  // namespace headroom
