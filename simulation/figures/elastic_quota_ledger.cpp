#include "simulation/figures/elastic_quota_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "objects/pod_resources.h"

namespace headroom {

ElasticQuotaLedger::ElasticQuotaLedger(std::span<const ElasticQuota> quotas, Mode mode)
    : mode_(mode) {
  std::map<std::string, const ElasticQuota*> counting;
  for (const ElasticQuota& quota : quotas) {
    const ElasticQuota*& first = counting[quota.namespace_name];
    if (first == nullptr || quota.name <= first->name) first = &quota;
  }
  std::map<std::string, bool> compared;
  for (const auto& [namespace_name, quota] : counting) {
    for (const auto& [list, is_min] :
         {std::pair(&quota->min, true), std::pair(&quota->max, false)}) {
      if (!*list) continue;
      for (const auto& [resource, quantity] : **list) compared[resource] |= is_min;
    }
  }
  for (const auto& [resource, is_compared] : compared) {
    resources_.push_back(resource);
    compared_.push_back(is_compared);
  }
  for (const auto& [namespace_name, quota] : counting) {
    quota_of_.emplace(namespace_name, static_cast<std::uint32_t>(quotas_.size()));
    Account& added = quotas_.emplace_back();
    added.namespace_name = namespace_name;
    added.name = quota->name;
    for (const std::string& resource : resources_) {
      Amount& bounds = added.amounts.emplace_back();
      const Quantity* min = quota->min ? find(*quota->min, resource) : nullptr;
      const Quantity* max = quota->max ? find(*quota->max, resource) : nullptr;
      if (min != nullptr) bounds.min = resource_amount(resource, *min).value_or(0);
      if (max != nullptr) bounds.max = resource_amount(resource, *max).value_or(0);
      bounds.named = min != nullptr || max != nullptr;
    }
  }
}

ElasticQuotaLedger::Claim ElasticQuotaLedger::claim(const Pod& pod) const {
  Claim claim;
  const auto found = quota_of_.find(pod.namespace_name);
  if (found == quota_of_.end()) return claim;
  claim.quota = found->second;
  const ResourceList requests =
      mode_ == Mode::kUpstream ? elastic_quota_requests(pod) : pod_requests(pod);
  for (const std::string& resource : resources_) {
    const Quantity* request = find(requests, resource);
    claim.amounts.push_back(request == nullptr ? 0
                                               : resource_amount(resource, *request).value_or(0));
  }
  return claim;
}

void ElasticQuotaLedger::add(const Claim& claim) {
  for (std::size_t r = 0; r < claim.amounts.size(); ++r) {
    Amount& at = quotas_[claim.quota].amounts[r];
    at.used += claim.amounts[r];
    at.peak_used = std::max(at.peak_used, at.used);
  }
}

void ElasticQuotaLedger::remove(const Claim& claim) {
  for (std::size_t r = 0; r < claim.amounts.size(); ++r) {
    quotas_[claim.quota].amounts[r].used -= claim.amounts[r];
  }
}

void ElasticQuotaLedger::count_victim(const Claim& preemptor, const Claim& victim) {
  if (victim.quota == Claim::kNoElasticQuota) return;
  Account& loser = quotas_[victim.quota];
  if (preemptor.quota == victim.quota || preemptor.quota == Claim::kNoElasticQuota) {
    ++loser.own_victims;
    return;
  }
  Account& winner = quotas_[preemptor.quota];
  ++loser.given_back_pods;
  ++winner.reclaimed_pods;
  for (std::size_t r = 0; r < victim.amounts.size(); ++r) {
    loser.amounts[r].given_back += victim.amounts[r];
    winner.amounts[r].reclaimed += victim.amounts[r];
  }
}

template <typename F>
void ElasticQuotaLedger::for_each_lent(std::size_t resource, F f) const {
  Int128 borrowed = 0, idle = 0;
  for (const Account& quota : quotas_) {
    borrowed += quota.amounts[resource].borrowed();
    idle += quota.amounts[resource].idle();
  }
  const Int128 lent_sum = std::min(borrowed, idle);
  // So that the product below is within Int128; 0 unless what is idle is beyond int64.
  int shift = 0;
  while (idle >> shift > INT64_MAX) ++shift;
  // What the quotas up to here lend, rounded down; the difference is one quota's.
  Int128 idle_so_far = 0, lent_so_far = 0;
  for (std::size_t q = 0; q < quotas_.size(); ++q) {
    idle_so_far += quotas_[q].amounts[resource].idle();
    Int128 lent = lent_sum;
    if (idle_so_far < idle) {
      lent = (idle_so_far >> shift) * (lent_sum >> shift) / (idle >> shift);
      lent <<= shift;
    }
    f(q, saturated(lent - lent_so_far));
    lent_so_far = lent;
  }
}

void ElasticQuotaLedger::end_step() {
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    for_each_lent(r, [&](std::size_t quota, std::int64_t lent) {
      Amount& at = quotas_[quota].amounts[r];
      at.peak_lent = std::max(at.peak_lent, lent);
    });
  }
}

std::vector<ElasticQuotaReport> ElasticQuotaLedger::reports() const {
  std::vector<ElasticQuotaReport> reports;
  for (const Account& quota : quotas_) {
    reports.push_back({.namespace_name = quota.namespace_name,
                       .name = quota.name,
                       .resources = {},
                       .reclaimed_pods = quota.reclaimed_pods,
                       .given_back_pods = quota.given_back_pods,
                       .own_victims = quota.own_victims});
  }
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    for_each_lent(r, [&](std::size_t quota, std::int64_t lent) {
      const Amount& at = quotas_[quota].amounts[r];
      if (!at.named && at.peak_used == 0) return;
      reports[quota].resources.push_back(
          {.resource = resources_[r],
           .min = at.min,
           .max = at.max,
           .used = shown(at.used),
           .borrowed = shown(at.borrowed()),
           .lent = lent,
           .peak_used = shown(at.peak_used),
           .peak_borrowed = shown(std::max<Int128>(0, at.peak_used - at.min)),
           .peak_lent = std::max(at.peak_lent, lent),
           .reclaimed = shown(at.reclaimed),
           .given_back = shown(at.given_back)});
    });
  }
  return reports;
}

std::vector<ElasticQuotaLedger::Standing> ElasticQuotaLedger::standings() const {
  std::vector<Standing> standings(quotas_.size() * resources_.size());
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    for_each_lent(r, [&](std::size_t quota, std::int64_t lent) {
      const Amount& at = quotas_[quota].amounts[r];
      standings[quota * resources_.size() + r] = {
          .used = shown(at.used), .borrowed = shown(at.borrowed()), .lent = lent};
    });
  }
  return standings;
}

std::vector<std::string> ElasticQuotaLedger::differences(
    const std::vector<ElasticQuotaStatus>& engines) const {
  std::vector<std::string> found;
  const std::vector<ElasticQuotaReport> own = reports();
  for (std::size_t q = 0; q < std::max(own.size(), engines.size()); ++q) {
    const bool same =
        q < own.size() && q < engines.size() &&
        own[q].namespace_name == engines[q].namespace_name && own[q].name == engines[q].name &&
        std::all_of(own[q].resources.begin(), own[q].resources.end(), [&](const auto& resource) {
          const auto& amounts = engines[q].amounts;
          const auto at = std::find_if(amounts.begin(), amounts.end(), [&](const auto& amount) {
            return amount.resource == resource.resource;
          });
          return resource.used == (at == amounts.end() ? 0 : at->used);
        });
    if (!same) {
      found.push_back(fmt::format(
          "ElasticQuota {}: the engine's sums are not those of the pods",
          q < own.size() ? pod_key(own[q].namespace_name, own[q].name) : std::string("?")));
    }
  }
  return found;
}

std::string ElasticQuotaLedger::over_max(const Claim& placed) const {
  for (std::size_t r = 0; r < placed.amounts.size(); ++r) {
    const Account& quota = quotas_[placed.quota];
    const Amount& at = quota.amounts[r];
    const Int128 used = mode_ == Mode::kUpstream ? shown(at.used) : at.used;
    if (placed.amounts[r] > 0 && used > at.max) {
      return fmt::format("ElasticQuota {}: {}: used {} is more than max {}",
                         pod_key(quota.namespace_name, quota.name), resources_[r], used, at.max);
    }
  }
  return {};
}

// The victims of a quota stand in the opposite order of their going: of those that are left, one
// may be the last if the others leave the quota above its min. Which one is taken does not matter:
// with fewer before it, a victim may still be the last.
std::string ElasticQuotaLedger::wrongly_taken(const Claim& preemptor,
                                              std::span<const Claim> victims) const {
  for (std::uint32_t q = 0; q < quotas_.size(); ++q) {
    if (q == preemptor.quota) continue;
    std::vector<const Claim*> left;
    std::vector<Int128> used_after(resources_.size());
    for (std::size_t r = 0; r < resources_.size(); ++r) used_after[r] = quotas_[q].amounts[r].used;
    for (const Claim& victim : victims) {
      if (victim.quota != q) continue;
      left.push_back(&victim);
      for (std::size_t r = 0; r < resources_.size(); ++r) used_after[r] -= victim.amounts[r];
    }
    while (!left.empty()) {
      const auto last = std::find_if(left.begin(), left.end(), [&](const Claim* victim) {
        for (std::size_t r = 0; r < resources_.size(); ++r) {
          if (compared_[r] && victim->amounts[r] > 0 &&
              used_after[r] + victim->amounts[r] > quotas_[q].amounts[r].min) {
            return true;
          }
        }
        return false;
      });
      if (last == left.end()) {
        return fmt::format("ElasticQuota {}: within its min, and loses a pod to another quota",
                           pod_key(quotas_[q].namespace_name, quotas_[q].name));
      }
      for (std::size_t r = 0; r < resources_.size(); ++r) used_after[r] += (*last)->amounts[r];
      left.erase(last);
    }
  }
  return {};
}

}  // namespace headroom
