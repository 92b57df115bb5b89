// ElasticQuotas and the pods that use them, as a situation from which pods can be taken away.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/preemption.h"

namespace oracle {

// Of any size.
using Sums = std::map<std::string, Int128>;

struct ElasticQuota {
  std::optional<Amounts> min, max;  // nullopt: the object has no such list
  Sums used;
};

// 0 for what is absent.
Int128 amount(const Sums& sums, const std::string& resource);
Amounts sums_in_int64(Mode mode, const Sums& sums);

struct Situation {
  std::vector<std::string> node_names;               // in the order of first apply
  std::map<std::string, ElasticQuota> quotas;        // by namespace
  std::map<std::string, std::vector<PodView>> pods;  // on nodes that exist
  std::vector<PodView> nominated;  // to nodes that exist, without the incoming pod

  // Moves a pod out of its node and its quota, and back.
  void take(const PodView& pod);
  void put_back(const PodView& pod);

  ElasticQuota* elastic_quota_of(const PodView& pod);
  const ElasticQuota* elastic_quota_of(const PodView& pod) const;
};

void add_to(Sums& sum, const Amounts& more, std::int64_t sign = 1);
void add_to(Sums& sum, const Sums& more);
// Two's complement, as Go adds.
void add_in_go(Amounts& sum, const Amounts& more);

// The facts as they are. Proposal leaves the incoming pod out where it is on a node already.
Situation read_situation(const Facts& facts, Mode mode, const Json& incoming);

// README.md, fact 5: what every quota's namespace uses, whichever pod comes in.
std::map<std::string, Amounts> elastic_quota_used(const Facts& facts, Mode mode);

}  // namespace oracle
