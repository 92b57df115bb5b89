// See elastic_quota.h.
#include "oracle/quotas/elastic_quota.h"

#include <algorithm>

namespace oracle {
namespace {

std::optional<Amounts> read_bound(const Json& list) {
  if (!list.is_object()) return std::nullopt;
  return to_units(read_resources(list));
}

// README.md, fact 5: of several quotas in a namespace the first by name counts.
std::map<std::string, ElasticQuota> read_elastic_quotas(const Facts& facts) {
  std::map<std::string, ElasticQuota> quotas;
  for (const auto& [key, object] : facts.elastic_quotas()) {
    const Json& spec = child(object, "spec");
    quotas.emplace(
        text(child(object, "metadata"), "namespace"),
        ElasticQuota{read_bound(child(spec, "min")), read_bound(child(spec, "max")), {}});
  }
  return quotas;
}

}  // namespace

Int128 amount(const Sums& sums, const std::string& resource) {
  const auto found = sums.find(resource);
  return found == sums.end() ? 0 : found->second;
}

Amounts sums_in_int64(Mode mode, const Sums& sums) {
  Amounts amounts;
  for (const auto& [name, sum] : sums) amounts[name] = sum_in_int64(mode, sum);
  return amounts;
}

void add_to(Sums& sum, const Amounts& more, std::int64_t sign) {
  for (const auto& [name, units] : more) sum[name] += Int128{units} * sign;
}

void add_to(Sums& sum, const Sums& more) {
  for (const auto& [name, units] : more) sum[name] += units;
}

void add_in_go(Amounts& sum, const Amounts& more) {
  for (const auto& [name, units] : more) {
    sum[name] = sum_in_int64(Mode::kUpstream, Int128{sum[name]} + units);
  }
}

void Situation::take(const PodView& pod) {
  std::erase_if(pods[pod.node], [&](const PodView& other) { return other.key == pod.key; });
  if (ElasticQuota* quota = elastic_quota_of(pod))
    add_to(quota->used, pod.elastic_quota_requests, -1);
}

void Situation::put_back(const PodView& pod) {
  pods[pod.node].push_back(pod);
  if (ElasticQuota* quota = elastic_quota_of(pod)) add_to(quota->used, pod.elastic_quota_requests);
}

ElasticQuota* Situation::elastic_quota_of(const PodView& pod) {
  const auto found = quotas.find(pod.space);
  return found == quotas.end() ? nullptr : &found->second;
}

const ElasticQuota* Situation::elastic_quota_of(const PodView& pod) const {
  const auto found = quotas.find(pod.space);
  return found == quotas.end() ? nullptr : &found->second;
}

Situation read_situation(const Facts& facts, Mode mode, const Json& incoming) {
  Situation situation;
  situation.node_names = facts.node_names();
  situation.quotas = read_elastic_quotas(facts);
  for (const std::string& name : situation.node_names) situation.pods[name];
  const PodView self = view_pod(facts, mode, incoming);
  for (const LivePod& live : facts.live_pods()) {
    PodView pod = view_pod(facts, mode, *live.pod);
    const bool is_self = pod.key == self.key && pod.uid == self.uid;
    if (is_self && (mode == Mode::kProposal || live.node.empty())) continue;
    const bool is_nominated = live.node.empty();
    pod.node = is_nominated ? text(child(*live.pod, "status"), "nominatedNodeName") : live.node;
    // A pod on a node that does not exist still uses its quota (README.md, facts 3 and 5); a
    // nomination counts only at a node that does (capacity-scheduling.md, fact 7).
    const bool node_exists = situation.pods.contains(pod.node);
    if (is_nominated) {
      if (node_exists) situation.nominated.push_back(pod);
      continue;
    }
    if (ElasticQuota* quota = situation.elastic_quota_of(pod))
      add_to(quota->used, pod.elastic_quota_requests);
    if (node_exists) situation.pods[pod.node].push_back(pod);
  }
  return situation;
}

std::map<std::string, Amounts> elastic_quota_used(const Facts& facts, Mode mode) {
  std::map<std::string, ElasticQuota> quotas = read_elastic_quotas(facts);
  for (const LivePod& live : facts.live_pods()) {
    const PodView pod = view_pod(facts, mode, *live.pod);
    const auto quota = quotas.find(pod.space);
    if (!live.node.empty() && quota != quotas.end()) {
      add_to(quota->second.used, pod.elastic_quota_requests);
    }
  }
  std::map<std::string, Amounts> used;
  for (const auto& [space, quota] : quotas) used[space] = sums_in_int64(mode, quota.used);
  return used;
}

}  // namespace oracle
