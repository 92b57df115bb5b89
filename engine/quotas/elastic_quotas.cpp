#include "engine/quotas/elastic_quotas.h"

#include <algorithm>

#include "engine/kept/digest.h"
#include "objects/pod_resources.h"

namespace headroom {

namespace {

constexpr ResourceMask bit(ResourceId resource) { return ResourceMask{1} << resource; }
// framework.Resource has fields for these, which are 0 where a list does not name them.
constexpr ResourceMask kAlwaysCompared = bit(kCpu) | bit(kMemory) | bit(kEphemeralStorage);

template <typename Numbers>
void add(ResourceSums& sum, const Numbers& amounts, int sign, std::uint32_t count) {
  for (ResourceId r = 0; r < count; ++r) {
    sum[r] += static_cast<Int128>(amounts[r]) * sign;
  }
}

void add(ResourceSums& sum, const Amounts& request, int sign) {
  for (const auto& [r, amount] : request) {
    sum[r] += static_cast<Int128>(amount) * sign;
  }
}

// The names in the lists of the quota, each once.
std::vector<std::string> names_of(const ElasticQuota* quota) {
  std::vector<std::string> names;
  if (quota != nullptr) {
    for (const auto* list : {&quota->min, &quota->max}) {
      for (const auto& [name, quantity] : list->value_or(ResourceList())) {
        names.push_back(name);
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, "");  // of which no pod can request any
  return names;
}

}  // namespace

NamespaceId ElasticQuotas::namespace_of(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) {
    return found->second;
  }
  const NamespaceId id = released_namespaces_.take([this] { return namespaces_.grow(); });
  namespaces_[id].name = name;
  ids_.emplace(name, id);
  return id;
}

NamespaceId ElasticQuotas::hold_namespace(std::string_view name) {
  const NamespaceId id = namespace_of(name);
  retain_namespace(id);
  return id;
}

void ElasticQuotas::release_namespace(NamespaceId id) {
  --namespaces_[id].users;
  free_if_unused(id);
}

// What its pods used and asked for has been taken away with them.
void ElasticQuotas::free_if_unused(NamespaceId id) {
  if (NamespaceFacts& facts = namespaces_[id]; facts.users == 0 && !facts.has_elastic_quota()) {
    ids_.erase(facts.name);
    facts = {};
    released_namespaces_.give(id);
  }
}

NamespaceId ElasticQuotas::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? kNoNamespace : found->second;
}

const ElasticQuota* ElasticQuotas::find(std::string_view namespace_name,
                                        std::string_view name) const {
  const NamespaceId id = find(namespace_name);
  if (id == kNoNamespace) {
    return nullptr;
  }
  const auto found = namespaces_[id].quotas.find(std::string(name));
  return found == namespaces_[id].quotas.end() ? nullptr : &found->second;
}

void ElasticQuotas::put(std::string_view namespace_name, std::string_view name,
                        const ElasticQuota* quota) {
  const NamespaceId id = namespace_of(namespace_name);
  NamespaceFacts& facts = namespaces_[id];
  change(facts, [&] {
    object_count_ -= facts.quotas.erase(std::string(name)) != 0;
    if (quota != nullptr) {
      facts.quotas.emplace(name, *quota);
      ++object_count_;
    }
  });
  free_if_unused(id);
}

bool ElasticQuotas::has_room_for(const ElasticQuota& quota) const {
  return names_.has_room_for(names_of(&quota));
}

void ElasticQuotas::hold(const ElasticQuota* before, const ElasticQuota* quota,
                         ResourceNames::Change& change) {
  const std::vector<std::string> known = names_of(before);
  for (const std::string& name : names_of(quota)) {
    if (!std::binary_search(known.begin(), known.end(), name)) {
      names_.hold(name, change);
    }
  }
}

void ElasticQuotas::release(const ElasticQuota* before, const ElasticQuota* quota,
                            ResourceNames::Change& change) {
  const std::vector<std::string> kept = names_of(quota);
  for (const std::string& name : names_of(before)) {
    if (!std::binary_search(kept.begin(), kept.end(), name)) {
      names_.release(name, change);
    }
  }
}

Amounts ElasticQuotas::request_of(const ResourceList& requests) {
  Amounts request;
  for (const auto& [name, quantity] : requests) {
    // framework.NewResource drops what is no resource of a node.
    if (name == "pods" || (mode_ == Mode::kUpstream && !is_counted_resource(name))) {
      continue;
    }
    if (const ResourceId id = names_.borrow(name); id != kNoResource) {
      request.emplace_back(id, amount(id, quantity));
    }
  }
  std::sort(request.begin(), request.end(),
            [&](const auto& a, const auto& b) { return names_.before(a.first, b.first); });
  return request;
}

// Takes the namespace out of the totals, changes its quotas, and adds it again.
template <typename Change>
void ElasticQuotas::change(NamespaceFacts& facts, Change apply) {
  ++generation_;
  const ResourceMask named_before = named_;
  include(facts, -1);
  apply();
  if (facts.has_elastic_quota()) {
    set_bounds(facts);
  }
  include(facts, 1);
  if (named_ != named_before) {
    // Other resources tell who is over its min.
    for (NamespaceId id = 0; id < namespaces_.size(); ++id) {
      if (namespaces_[id].has_elastic_quota()) {
        refresh_over_min(namespaces_[id]);
      }
    }
  }
}

void ElasticQuotas::include(NamespaceFacts& facts, int sign) {
  if (!facts.has_elastic_quota()) {
    return;
  }
  elastic_quota_count_ += static_cast<std::uint32_t>(sign);
  for (ResourceId r = 0; r < names_.size(); ++r) {
    named_by_[r] += (facts.min_names >> r & 1) != 0 ? static_cast<std::uint32_t>(sign) : 0;
    named_ = named_by_[r] != 0 ? named_ | bit(r) : named_ & ~bit(r);
  }
  add(total_min_, facts.min, sign, names_.size());
  add(total_used_, facts.used, sign, names_.size());
  facts.over_min = sign > 0 ? is_over_min(facts) : facts.over_min;
  for (const auto& nominated : facts.nominated) {
    add(nominated_within_, nominated.amounts, sign, facts.over_min ? 0 : names_.size());
  }
  facts.over_min = sign > 0 && facts.over_min;
}

// newElasticQuotaInfo: a list that is absent as a whole bounds nothing; one that is present bounds
// cpu, memory and ephemeral-storage by 0 where it does not name them. Proposal: what max does not
// name is unlimited.
void ElasticQuotas::set_bounds(NamespaceFacts& facts) {
  facts.min.fill(0);
  facts.max.fill(INT64_MAX);
  const ElasticQuota& quota = facts.elastic_quota();
  if (mode_ == Mode::kUpstream && quota.max) {
    facts.max[kCpu] = facts.max[kMemory] = facts.max[kEphemeralStorage] = 0;
  }
  const auto read = [&](const std::optional<ResourceList>& list, ElasticQuotaAmounts& bounds,
                        ResourceMask& read_names) {
    for (const auto& [name, quantity] : list.value_or(ResourceList())) {
      // It is held, but for "".
      const ResourceId resource = names_.find(name);
      // framework.NewResource drops what is no resource of a node.
      if (resource != kNoResource && resource != kPods &&
          (mode_ == Mode::kProposal || (kAlwaysCompared >> resource & 1) != 0 ||
           is_scalar_resource(name))) {
        bounds[resource] = amount(resource, quantity);
        read_names |= bit(resource);
      }
    }
  };
  ResourceMask max_names = 0;
  facts.min_names = 0;
  read(quota.min, facts.min, facts.min_names);
  read(quota.max, facts.max, max_names);
}

bool ElasticQuotas::is_over_min(const NamespaceFacts& facts) const {
  for (ResourceId r = 0; r < names_.size(); ++r) {
    if ((min_compared() >> r & 1) != 0 && compared(facts.used[r]) > facts.min[r]) {
      return true;
    }
  }
  return false;
}

void ElasticQuotas::refresh_over_min(NamespaceFacts& facts) {
  const bool over_min = is_over_min(facts);
  if (over_min != facts.over_min) {
    facts.over_min = over_min;
    for (const auto& nominated : facts.nominated) {
      add(nominated_within_, nominated.amounts, over_min ? -1 : 1, names_.size());
    }
  }
}

void ElasticQuotas::add_used(NamespaceId id, const Amounts& request, int sign) {
  NamespaceFacts& facts = namespaces_[id];
  add(facts.used, request, sign);
  if (facts.has_elastic_quota()) {
    add(total_used_, request, sign);
    refresh_over_min(facts);
  }
}

void ElasticQuotas::add_nominated(NamespaceId id, std::int32_t priority, const Amounts& request,
                                  int sign) {
  NamespaceFacts& facts = namespaces_[id];
  auto at = std::find_if(facts.nominated.begin(), facts.nominated.end(),
                         [&](const auto& group) { return group.priority <= priority; });
  if (at == facts.nominated.end() || at->priority != priority) {
    at = facts.nominated.insert(at, {priority, 0, {}, {}});
  }
  add(at->amounts, request, sign);
  for (const auto& [r, asked] : request) {
    at->names[r] += static_cast<std::uint32_t>(sign);
  }
  at->pods += static_cast<std::uint32_t>(sign);
  if (at->pods == 0) {
    facts.nominated.erase(at);
  }
  if (facts.has_elastic_quota() && !facts.over_min) {
    add(nominated_within_, request, sign);
  }
}

ElasticQuotaStanding ElasticQuotas::standing(NamespaceId id, std::int32_t priority,
                                             const Amounts& request) const {
  ElasticQuotaStanding standing;
  if (id == kNoNamespace || !namespaces_[id].has_elastic_quota()) {
    return standing;
  }
  standing.has_elastic_quota = true;
  const NamespaceFacts& facts = namespaces_[id];
  const std::uint32_t count = names_.size();
  ResourceMask named_by_pods = 0, asked = 0;
  std::copy_n(nominated_within_.begin(), count, standing.all.begin());
  for (const auto& nominated : facts.nominated) {
    if (!facts.over_min) {
      add(standing.all, nominated.amounts, -1, count);
    }
    if (nominated.priority >= priority) {
      add(standing.all, nominated.amounts, 1, count);
      add(standing.own, nominated.amounts, 1, count);
      for (ResourceId r = 0; r < count; ++r) {
        named_by_pods |= nominated.names[r] != 0 ? bit(r) : 0;
      }
    }
  }
  add(standing.own, request, 1);
  add(standing.all, request, 1);
  for (const auto& [r, amount] : request) {
    named_by_pods |= bit(r);
    asked |= amount > 0 ? bit(r) : 0;
  }
  const bool upstream = mode_ == Mode::kUpstream;
  standing.max_checked = upstream ? kAlwaysCompared | named_by_pods : asked;
  standing.total_checked = upstream ? ~ResourceMask{0} : asked & named_;
  const ResourceMask min_checked = upstream ? standing.max_checked : standing.total_checked;
  standing.within_min = true;
  for (ResourceId r = 0; r < count; ++r) {
    const Int128 own = compared(facts.used[r] + standing.own[r]);
    const Int128 all = compared(total_used_[r] + standing.all[r]);
    // An unlimited max stays so, whatever is used.
    standing.over_max |= own > facts.max[r] && facts.max[r] != INT64_MAX ? bit(r) : 0;
    standing.over_total |= all > compared(total_min_[r]) ? bit(r) : 0;
    standing.within_min =
        standing.within_min && !((min_checked >> r & 1) != 0 && own > facts.min[r]);
  }
  standing.over_max &= standing.max_checked;
  standing.over_total &= standing.total_checked;
  return standing;
}

std::vector<ElasticQuotaStatus> ElasticQuotas::status(std::string_view after,
                                                      std::size_t most) const {
  std::vector<NamespaceId> ids;
  for (NamespaceId id = 0; id < namespaces_.size(); ++id) {
    if (namespaces_[id].has_elastic_quota() && (after.empty() || namespaces_[id].name > after)) {
      ids.push_back(id);
    }
  }
  const std::size_t count = std::min(most, ids.size());
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
      [&](NamespaceId a, NamespaceId b) { return namespaces_[a].name < namespaces_[b].name; });
  ids.resize(count);
  const std::vector<ResourceId> order = names_.order();
  std::vector<ElasticQuotaStatus> all;
  for (const NamespaceId id : ids) {
    const NamespaceFacts& facts = namespaces_[id];
    ElasticQuotaStatus& status = all.emplace_back();
    status.namespace_name = facts.name;
    status.name = facts.elastic_quota().name;
    status.over_min = facts.over_min;
    for (const ResourceId r : order) {
      Int128 waiting = 0;
      for (const auto& nominated : facts.nominated) {
        waiting += nominated.amounts[r];
      }
      const std::string& name = names_.name(r);
      const auto names = [&](const std::optional<ResourceList>& list) {
        return list && headroom::find(*list, name) != nullptr;
      };
      if (names(facts.elastic_quota().min) || names(facts.elastic_quota().max) ||
          facts.used[r] != 0 || waiting != 0) {
        status.amounts.push_back(
            {name, facts.min[r], facts.max[r], shown(facts.used[r]), shown(waiting)});
      }
    }
  }
  return all;
}

bool ElasticQuotas::consistent() const {
  ResourceSums used{}, within{}, min{};
  ResourceMask names = 0;
  std::uint32_t count = 0, objects = 0;
  for (NamespaceId id = 0; id < namespaces_.size(); ++id) {
    const NamespaceFacts& facts = namespaces_[id];
    objects += static_cast<std::uint32_t>(facts.quotas.size());
    if (!facts.has_elastic_quota()) {
      continue;
    }
    ++count;
    names |= facts.min_names;
    add(min, facts.min, 1, names_.size());
    add(used, facts.used, 1, names_.size());
    if (facts.over_min != is_over_min(facts)) {
      return false;
    }
    for (const auto& nominated : facts.nominated) {
      if (!facts.over_min) {
        add(within, nominated.amounts, 1, names_.size());
      }
    }
  }
  return count == elastic_quota_count_ && objects == object_count_ && names == named_ &&
         min == total_min_ && used == total_used_ && within == nominated_within_;
}

std::uint64_t ElasticQuotas::digest() const {
  Digest digest;
  for (NamespaceId id = 0; id < namespaces_.size(); ++id) {
    const NamespaceFacts& facts = namespaces_[id];
    for (const auto& [name, quota] : facts.quotas) {
      digest.add("quota", facts.name, name, std::int64_t{quota.min.has_value()},
                 std::int64_t{quota.max.has_value()});
      for (const auto& [list, bound] : {std::pair(&quota.min, "min"), {&quota.max, "max"}}) {
        for (const auto& [resource, quantity] : list->value_or(ResourceList())) {
          digest.add(bound, facts.name, name, resource,
                     static_cast<std::int64_t>(quantity.nanos()));
        }
      }
    }
    for (ResourceId r = 0; r < names_.size(); ++r) {
      if (facts.used[r] == 0 || names_.is_borrowed(r)) {
        continue;  // who has borrowed a number is no fact
      }
      digest.add("used", facts.name, names_.name(r), static_cast<std::int64_t>(facts.used[r]));
      if (facts.used[r] != saturated(facts.used[r])) {
        digest.add("used beyond int64", facts.name, names_.name(r),
                   static_cast<std::int64_t>(facts.used[r] >> 64));
      }
    }
  }
  return digest.total();
}

}  // namespace headroom
