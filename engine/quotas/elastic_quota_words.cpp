#include "engine/quotas/elastic_quota_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "objects/pod_resources.h"

namespace headroom {

namespace {

// "team-b/quota 2000, team-c/quota 500": by how much other quotas are within their min, or over.
std::string other_quotas(const ElasticQuotas& quotas, NamespaceId id, ResourceId resource,
                         bool over) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (NamespaceId other = 0; other < quotas.namespace_count(); ++other) {
    const NamespaceFacts& facts = quotas.at(other);
    const std::int64_t unused =
        quotas.shown(facts.min[resource] - quotas.compared(facts.used[resource]));
    if (other != id && facts.has_elastic_quota() && (over ? unused < 0 : unused > 0)) {
      found.emplace_back(over ? quotas.shown(-static_cast<Int128>(unused)) : unused,
                         pod_key(facts.name, facts.elastic_quota().name));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kNamed, found.size()); ++i) {
    texts.push_back(fmt::format("{} {}", found[i].second,
                                amount_in_words(quotas.names().name(resource), found[i].first)));
  }
  if (found.size() > kNamed) {
    texts.push_back(fmt::format("{} more", found.size() - kNamed));
  }
  return texts.empty() ? "nobody" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

PreFilterStatus explain_pre_filter(const ElasticQuotas& quotas, const Pod& pod, NamespaceId id,
                                   const Amounts& request, const ElasticQuotaStanding& standing) {
  PreFilterStatus status;
  if (!standing.rejected()) {
    return status;
  }
  status.code = Code::kUnschedulable;
  const NamespaceFacts& facts = quotas.at(id);
  if (quotas.mode() == Mode::kUpstream) {
    const std::string key = pod_key(pod.namespace_name, pod.name);
    status.reasons.push_back(
        standing.over_max != 0
            ? fmt::format(
                  "Pod {} is rejected in PreFilter because ElasticQuota {} is more than Max", key,
                  facts.name)
            : fmt::format("Pod {} is rejected in PreFilter because total ElasticQuota used is more "
                          "than min",
                          key));
    return status;
  }
  for (const auto& [r, amount] : request) {
    const auto text = [&name = quotas.names().name(r)](std::int64_t its) {
      return amount_in_words(name, its);
    };
    if ((standing.over_max >> r & 1) != 0) {
      status.reasons.push_back(fmt::format(
          "ElasticQuota {}: {}: used {} + nominated {} + requested {} is more than max {}",
          pod_key(facts.name, facts.elastic_quota().name), quotas.names().name(r),
          text(quotas.shown(facts.used[r])), text(quotas.shown(standing.own[r] - amount)),
          text(amount), text(facts.max[r])));
    }
    if ((standing.over_total >> r & 1) != 0) {
      status.reasons.push_back(fmt::format(
          "ElasticQuota {}: {}: of all quotas used {} + nominated {} + requested {} is more than "
          "min {}",
          pod_key(facts.name, facts.elastic_quota().name), quotas.names().name(r),
          text(quotas.shown(quotas.total_used()[r])), text(quotas.shown(standing.all[r] - amount)),
          text(amount), text(quotas.shown(quotas.total_min()[r]))));
    }
  }
  return status;
}

void explain_elastic_quota(const ElasticQuotas& quotas, NamespaceId id, const Amounts& request,
                           const ElasticQuotaStanding& standing, std::vector<ExplainTerm>& out) {
  const auto line = [&](ResourceId r) -> ExplainTerm& {
    ExplainTerm& term = out.emplace_back();
    term.plugin = PluginId::kCapacityScheduling;
    term.extension_point = "PreFilter";
    term.resource = r == kNoResource ? "" : quotas.names().name(r);
    return term;
  };
  if (!standing.has_elastic_quota) {
    line(kNoResource).note = "the namespace has no ElasticQuota";
    return;
  }
  const NamespaceFacts& facts = quotas.at(id);
  const std::string quota = "ElasticQuota " + pod_key(facts.name, facts.elastic_quota().name);
  for (const ResourceId r : quotas.names().order()) {
    const std::int64_t need = amount_of(request, r);
    const auto text = [&name = quotas.names().name(r)](std::int64_t its) {
      return amount_in_words(name, its);
    };
    const bool bound = facts.max[r] != INT64_MAX && (standing.max_checked >> r & 1) != 0;
    const bool total =
        (standing.total_checked >> r & 1) != 0 &&
        (quotas.total_min()[r] != 0 || quotas.total_used()[r] != 0 || standing.all[r] != 0);
    if (bound) {
      ExplainTerm& term = line(r);
      term.capacity = facts.max[r];
      term.aggregate = quotas.shown(facts.used[r] + standing.own[r] - need);
      term.need = need;
      term.formula = "used + nominated + requested <= max";
      term.result = quotas.shown(facts.used[r] + standing.own[r]);
      term.passed = (standing.over_max >> r & 1) == 0;
      term.note =
          fmt::format("{}: used {}, nominated {}, min {}", quota, text(quotas.shown(facts.used[r])),
                      text(quotas.shown(standing.own[r] - need)), text(facts.min[r]));
    }
    if (total) {
      ExplainTerm& term = line(r);
      term.capacity = quotas.shown(quotas.total_min()[r]);
      term.aggregate = quotas.shown(quotas.total_used()[r] + standing.all[r] - need);
      term.need = need;
      term.formula = "used + nominated + requested, of all quotas, <= min of all quotas";
      term.result = quotas.shown(quotas.total_used()[r] + standing.all[r]);
      term.passed = (standing.over_total >> r & 1) == 0;
      const Int128 used = quotas.compared(facts.used[r] + standing.own[r]);
      term.note =
          used > facts.min[r]
              ? fmt::format("with the pod {} borrows {} beyond its min {}; min not used: {}", quota,
                            text(quotas.shown(used - facts.min[r])), text(facts.min[r]),
                            other_quotas(quotas, id, r, false))
              : fmt::format("with the pod {} uses {} of its min {}; over their min: {}", quota,
                            text(quotas.shown(used)), text(facts.min[r]),
                            other_quotas(quotas, id, r, true));
    }
  }
}

}  // namespace headroom
