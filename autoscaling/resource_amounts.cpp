#include "autoscaling/resource_amounts.h"

#include <fmt/format.h>

#include "autoscaling/capacity_quota_spec.h"

namespace headroom {

namespace {

// `number(name)` for each resource of which there is more than 0; an unexpected number ends it, a
// null one leaves the resource out.
template <typename Number>
Result<void> read_amounts(const ResourceList& capacity, ResourceAmounts& out,
                          const Number& number) {
  out.clear();
  out.reserve(capacity.size() + 1);
  out.push_back({0, 1});
  for (const auto& [name, quantity] : capacity) {
    const Result<std::int64_t> amount = resource_amount(name, quantity);
    if (!amount) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("status.capacity.{}: {}", name, amount.error().message));
    }
    if (*amount <= 0 || name == kNodesResource) continue;
    const Result<const std::uint32_t*> found = number(name);
    if (!found) return tl::unexpected<Error>(found.error());
    if (*found != nullptr) out.push_back({**found, *amount});
  }
  return {};
}

}  // namespace

CapacityResources::CapacityResources() {
  numbers_.emplace(std::string(kNodesResource), 0);
  names_.emplace_back(kNodesResource);
}

std::uint32_t CapacityResources::add(std::string_view name) {
  if (const auto it = numbers_.find(name); it != numbers_.end()) return it->second;
  names_.emplace_back(name);
  numbers_.emplace(names_.back(), size() - 1);
  return size() - 1;
}

Result<std::uint32_t> CapacityResources::number(std::string_view name) {
  if (size() < kCapacityResourcesMax || numbers_.find(name) != numbers_.end()) return add(name);
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("kCapacityResourcesMax ({}) resources are known", kCapacityResourcesMax));
}

Result<void> CapacityResources::read(const ResourceList& capacity, ResourceAmounts& out) {
  std::uint32_t last = 0;
  return read_amounts(capacity, out, [&](std::string_view name) -> Result<const std::uint32_t*> {
    const Result<std::uint32_t> added = number(name);
    if (!added) {
      return fail(added.error().code,
                  fmt::format("status.capacity.{}: {}", name, added.error().message));
    }
    last = *added;
    return &last;
  });
}

Result<void> CapacityResources::read_known(const ResourceList& capacity,
                                           ResourceAmounts& out) const {
  return read_amounts(capacity, out, [&](std::string_view name) -> Result<const std::uint32_t*> {
    const auto it = numbers_.find(name);
    return it == numbers_.end() ? nullptr : &it->second;
  });
}

}  // namespace headroom
