// ElasticQuotaLedger: what the elastic quotas of a simulation come to: who borrows, who lends, who
// had to give back.
//
// Of a resource R, by quota: borrowed is what it uses above its min. Whoever borrows has it from
// the quotas that use less than their min; whose it is nobody can tell, so that each lends in
// proportion to what it leaves unused:
//
//   idle = max(0, min - used)
//   lent = idle * min(1, sum of borrowed / sum of idle)
//
// rounded so that all that is lent adds up to all that is borrowed, as far as it is lent at all
// (where more is used than all mins together, nobody lent the rest). Reclaimed is what its
// preemptors took from other quotas, given back is what other quotas took from it: requests of
// victims.
//
// Sums are exact; what is reported of one beyond int64 is what the mode makes of it
// (engine/table/beyond_int64.h). Used is the sum of the requests of the pods on nodes, as the mode
// adds them up. Pods of namespaces without a quota do not count. Of several quotas in a namespace
// the first by name counts. Thread safety: one thread at a time. Cost: a pod's event is
// O(resources); end_step() O(quotas * resources).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/answers.h"
#include "engine/profile/profile.h"
#include "engine/table/beyond_int64.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

// One resource of one quota, in the resource's unit (cpu in thousandths).
struct ElasticQuotaResourceReport {
  std::string resource;
  std::int64_t min = 0, max = INT64_MAX;          // INT64_MAX: unlimited
  std::int64_t used = 0, borrowed = 0, lent = 0;  // at the end
  std::int64_t peak_used = 0, peak_borrowed = 0, peak_lent = 0;
  std::int64_t reclaimed = 0, given_back = 0;
};

struct ElasticQuotaReport {
  std::string namespace_name, name;
  std::vector<ElasticQuotaResourceReport> resources;  // that its min or max names, or that it used
  std::uint64_t reclaimed_pods = 0;                   // victims that it took from other quotas
  std::uint64_t given_back_pods = 0;                  // victims that others took from it
  std::uint64_t own_victims = 0;                      // victims that it took from itself
};

class ElasticQuotaLedger {
 public:
  // What a pod takes of its namespace's quota.
  struct Claim {
    static constexpr std::uint32_t kNoElasticQuota = 0xFFFFFFFF;
    std::uint32_t quota = kNoElasticQuota;
    std::vector<std::int64_t> amounts;  // by resource
  };

  ElasticQuotaLedger(std::span<const ElasticQuota> quotas, Mode mode);

  bool empty() const { return quotas_.empty(); }
  Claim claim(const Pod& pod) const;
  void add(const Claim& claim);
  void remove(const Claim& claim);
  void count_victim(const Claim& preemptor, const Claim& victim);
  // Takes the peaks of what is lent: once for all that happens at one moment.
  void end_step();
  // By namespace. What is used and lent now is the end.
  std::vector<ElasticQuotaReport> reports() const;

  struct Standing {
    std::int64_t used = 0, borrowed = 0, lent = 0;
  };
  // Now, [quota * resources + resource]; quotas in the order of reports().
  std::vector<Standing> standings() const;
  const std::vector<std::string>& resources() const { return resources_; }

  // --- What must hold; each says what does not, or nothing ---
  // A line for each quota of which an engine with the same quotas and pods uses something else.
  std::vector<std::string> differences(const std::vector<ElasticQuotaStatus>& engines) const;
  // A pod that has just been placed: its quota is within its max, where the pod asks for something.
  std::string over_max(const Claim& placed) const;
  // Mode Proposal, before victims go: those of other quotas can leave one after the other so that
  // each quota is above its min, in something that the victim uses, when it loses it.
  std::string wrongly_taken(const Claim& preemptor, std::span<const Claim> victims) const;

 private:
  struct Amount {
    std::int64_t min = 0, max = INT64_MAX, peak_lent = 0;
    Int128 used = 0, peak_used = 0, reclaimed = 0, given_back = 0;
    bool named = false;

    Int128 borrowed() const { return used > min ? used - min : 0; }
    Int128 idle() const { return used < min ? min - used : 0; }
  };
  struct Account {
    std::string namespace_name, name;
    std::vector<Amount> amounts;  // by resource
    std::uint64_t reclaimed_pods = 0, given_back_pods = 0, own_victims = 0;
  };

  // A sum as the engine shows it.
  std::int64_t shown(Int128 sum) const {
    return in_int64(sum, mode_ == Mode::kUpstream ? BeyondInt64::kWraps : BeyondInt64::kSaturates);
  }
  // Calls `f(quota, lent)` for every quota.
  template <typename F>
  void for_each_lent(std::size_t resource, F f) const;

  const Mode mode_;
  std::vector<std::string> resources_;  // sorted; those that some quota names
  std::vector<bool> compared_;          // by resource: some min names it
  std::vector<Account> quotas_;         // by namespace
  std::unordered_map<std::string, std::uint32_t, BytesHash, std::equal_to<>> quota_of_;
};

}  // namespace headroom
