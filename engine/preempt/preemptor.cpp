#include "engine/preempt/preemptor.h"

#include <algorithm>
#include <utility>

namespace headroom {

void GivenBack::extend(const Cluster& cluster) {
  if (generation_ != cluster.shapes().generation()) {
    *this = {};
    generation_ = cluster.shapes().generation();
  }
  const std::uint32_t sums = cluster.table().sum_count();
  const std::uint32_t resources = cluster.capacity_scheduling()->elastic_quotas().resource_count();
  by_sum_.resize(std::max<std::size_t>(by_sum_.size(), sums));
  by_resource_.resize(std::max<std::size_t>(by_resource_.size(), resources));
  const std::uint32_t shapes = cluster.shapes().id_limit();
  const auto grow = [&](std::vector<std::vector<std::int64_t>>& tables) {
    for (std::vector<std::int64_t>& table : tables) {
      if (table.size() < shapes) {
        table.resize(shapes);
      }
    }
  };
  grow(by_sum_);
  grow(by_resource_);
  versions_.resize(shapes);
  for (ShapeId id = 0; id < shapes; ++id) {
    const PodShape* shape = cluster.shapes().at(id);
    if (shape == nullptr || std::exchange(versions_[id], shape->version) == shape->version) {
      continue;
    }
    for (std::vector<std::int64_t>& amounts : by_sum_) {
      amounts[id] = 0;
    }
    for (std::vector<std::int64_t>& amounts : by_resource_) {
      amounts[id] = 0;
    }
    for (const Contribution& contribution : shape->contributions) {
      by_sum_[contribution.sum][id] += contribution.amount;
    }
    for (const auto& [resource, amount] : shape->elastic_quota_request) {
      by_resource_[resource][id] = amount;
    }
  }
}

Preemptor::Preemptor(const Cluster& of_cluster, const GivenBack& given_back, const Pod& pod,
                     const PodShape& its_shape, const ApplicationLook* its_look)
    : cluster(of_cluster),
      capacity_scheduling(*of_cluster.capacity_scheduling()),
      shape(its_shape),
      look(its_look != nullptr && its_look->filters() ? its_look : nullptr),
      claim(capacity_scheduling.claim(pod)),
      standing(capacity_scheduling.standing(claim, its_shape)),
      upstream(of_cluster.profile().mode == Mode::kUpstream),
      reclaims(standing.has_elastic_quota && standing.within_min),
      budgets(capacity_scheduling.budgets().count() != 0) {
  const NodeTable& table = cluster.table();
  for (const FilterTerm& term : shape.active_terms) {
    if (shape.filter_labels[term.bit].of_score) {
      continue;
    }
    const SumId sum = table.sum_of(term.column);
    terms.push_back({term.bit, term.column, sum, term.need, given_back.of_sum(sum)});
  }
  const ElasticQuotas& quotas = capacity_scheduling.elastic_quotas();
  gives.resize(quotas.namespace_count());
  for (NamespaceId id = 0; id < gives.size(); ++id) {
    const NamespaceFacts& facts = quotas.at(id);
    gives[id] = !standing.has_elastic_quota ? !facts.has_elastic_quota()
                : !reclaims
                    ? id == claim.namespace_id
                    : id != claim.namespace_id && facts.has_elastic_quota() && facts.over_min;
  }
  if (!standing.has_elastic_quota) {
    return;
  }
  const NamespaceFacts& own = quotas.at(claim.namespace_id);
  if (reclaims && !upstream) {
    for (NamespaceId id = 0; id < quotas.namespace_count() && !nominated_return; ++id) {
      nominated_return = quotas.at(id).has_elastic_quota() && quotas.at(id).over_min &&
                         !quotas.at(id).nominated.empty();
    }
  }
  // A bound that holds now holds with fewer pods as well, unless nominated pods return.
  for (ResourceId r = 0; r < quotas.resource_count(); ++r) {
    const std::int64_t request = amount_of(shape.elastic_quota_request, r);
    const auto add = [&](bool is_own, Int128 bound, Int128 used, Int128 asked) {
      const Int128 unused = bound - used;
      if (!holds(unused - asked) || (nominated_return && !is_own)) {
        bounds.push_back({r, is_own, unused - asked, unused - request, given_back.of_resource(r)});
      }
    };
    // An unlimited max stays so, whatever is used.
    if ((standing.max_checked >> r & 1) != 0 && own.max[r] != INT64_MAX) {
      add(true, own.max[r], own.used[r], standing.own[r]);
    }
    if ((standing.total_checked >> r & 1) != 0) {
      add(false, quotas.total_min()[r], quotas.total_used()[r], standing.all[r]);
    }
  }
}

}  // namespace headroom
