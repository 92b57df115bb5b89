#include "autoscaling/capacity_quota_spec.h"

#include <fmt/format.h>

#include "objects/selector_syntax.h"

namespace headroom {

namespace {

Result<CapacityQuotaLimit> read_limit(const std::string& resource, const std::string& text,
                                      const StringMap& aliases) {
  const std::string field = "spec.limits.resources." + resource;
  if (resource.empty() || resource.size() > kCapacityQuotaResourceBytesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("{}: {} bytes in a name; kCapacityQuotaResourceBytesMax is {}", field,
                            resource.size(), kCapacityQuotaResourceBytesMax));
  }
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) {
    return fail(quantity.error().code, fmt::format("{}: {}", field, quantity.error().message));
  }
  if (*quantity < Quantity()) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: \"{}\" is negative", field, text));
  }
  constexpr Int128 kNanosOfMilli = 1'000'000, kNanosOfUnit = 1'000'000'000;
  const std::string* alias = resource == kNodesResource ? nullptr : find(aliases, resource);
  const std::string& counted = alias == nullptr ? resource : *alias;
  const Int128 limit = quantity->nanos() / (counted == "cpu" ? kNanosOfMilli : kNanosOfUnit);
  if (limit > INT64_MAX) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: \"{}\" is beyond int64", field, text));
  }
  return CapacityQuotaLimit{resource, counted, limit};
}

}  // namespace

Result<void> check_selector(const LabelSelector& selector) {
  for (const NodeSelectorRequirement& asked : selector) {
    if (const std::string problem = problem_of_requirement(asked, false); !problem.empty()) {
      return fail(ErrorCode::kInvalid, "spec.selector: " + problem);
    }
  }
  return {};
}

Result<CapacityQuotaSpec> read_capacity_quota_spec(const CapacityQuota& quota,
                                                   const StringMap& aliases) {
  if (Result<void> ok = check_selector(quota.selector); !ok) {
    return tl::unexpected<Error>(std::move(ok.error()));
  }
  if (quota.limits.size() > kCapacityQuotaLimitsMax) {
    return fail(
        ErrorCode::kLimitExceeded,
        fmt::format("spec.limits.resources: {} entries are more than kCapacityQuotaLimitsMax ({})",
                    quota.limits.size(), kCapacityQuotaLimitsMax));
  }
  CapacityQuotaSpec spec;
  spec.selector = quota.selector;
  for (const auto& [resource, text] : quota.limits) {
    Result<CapacityQuotaLimit> limit = read_limit(resource, text, aliases);
    if (!limit) return tl::unexpected<Error>(std::move(limit.error()));
    spec.limits.push_back(std::move(*limit));
  }
  return spec;
}

}  // namespace headroom
