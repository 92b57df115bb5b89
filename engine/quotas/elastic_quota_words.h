// What elastic quotas say of one incoming pod, to people: the pre-filter's reasons, and every
// comparison with its numbers.
//
// It decides nothing: `standing` does, which is the quotas' for the pod. Pure functions. Thread
// safety: as the quotas'. Cost: O(resources); who lends and who borrows O(namespaces) for each.
#pragma once

#include <vector>

#include "engine/answers.h"
#include "engine/quotas/elastic_quotas.h"

namespace headroom {

// What the pre-filter says of the pod. `request`: as ElasticQuotas::request_of() has it.
PreFilterStatus explain_pre_filter(const ElasticQuotas& quotas, const Pod& pod, NamespaceId id,
                                   const Amounts& request, const ElasticQuotaStanding& standing);
// The same with the numbers, one line for each comparison, and who lends or borrows.
void explain_elastic_quota(const ElasticQuotas& quotas, NamespaceId id, const Amounts& request,
                           const ElasticQuotaStanding& standing, std::vector<ExplainTerm>& out);

}  // namespace headroom
