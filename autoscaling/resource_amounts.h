// ResourceAmounts: what one node has, as pairs of a resource's number and a whole amount.
//
// Source: proposal-rules "CapacityQuota": every capacity key by its literal name, `nodes` 1. cpu in
// thousandths, all else in whole units, rounded up. Amounts of 0 are left out.
// Thread safety: one writer, or any number of readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/hash.h"
#include "objects/objects.h"

namespace headroom {

inline constexpr std::uint32_t kCapacityResourcesMax = 4096;  // Names in all capacities and limits.

struct ResourceAmount {
  std::uint32_t resource = 0;
  std::int64_t amount = 0;
  friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};
// In the order of the list that they were read from; each resource once.
using ResourceAmounts = std::vector<ResourceAmount>;

// Numbers of resources. `nodes` is number 0.
class CapacityResources {
 public:
  CapacityResources();
  // kLimitExceeded: more than kCapacityResourcesMax names; whoever asks says of which field.
  Result<std::uint32_t> number(std::string_view name);
  // The same, whatever the limit: for names that were held already.
  std::uint32_t add(std::string_view name);
  // Of a node that is kept. kLimitExceeded: also an amount that does not fit int64; the message
  // names the resource.
  Result<void> read(const ResourceList& capacity, ResourceAmounts& out);
  // Of a template, for one question: without resources that have no number.
  Result<void> read_known(const ResourceList& capacity, ResourceAmounts& out) const;
  std::string_view name(std::uint32_t resource) const { return names_[resource]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  BytesMap<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace headroom
