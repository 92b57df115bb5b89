#include "engine/resource_names.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "engine/engine.h"

namespace headroom {

ResourceId ResourceNames::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? kNoResource : static_cast<ResourceId>(found - names_.begin());
}

ResourceId ResourceNames::add(std::string_view name) {
  const ResourceId known = find(name);
  if (known != kNoResource || size() == kResourcesMax) {
    return known;
  }
  names_.emplace_back(name);
  return size() - 1;
}

bool ResourceNames::before(ResourceId a, ResourceId b) const {
  return a <= kEphemeralStorage || b <= kEphemeralStorage ? a < b : names_[a] < names_[b];
}

std::vector<ResourceId> ResourceNames::order() const {
  std::vector<ResourceId> ids(names_.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](ResourceId a, ResourceId b) { return before(a, b); });
  return ids;
}

std::int64_t amount(ResourceId resource, const Quantity& quantity) {
  const auto rounded = resource == kCpu ? quantity.milli_value() : quantity.value();
  return rounded ? *rounded : (quantity.nanos() < 0 ? INT64_MIN : INT64_MAX);
}

std::int64_t amount_of(const Amounts& amounts, ResourceId resource) {
  for (const auto& [id, value] : amounts) {
    if (id == resource) {
      return value;
    }
  }
  return 0;
}

}  // namespace headroom
