// ResourceNames: resource names as small numbers. cpu, memory, ephemeral-storage and pods come
// first; the others follow in the order in which they were first seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/error.h"
#include "objects/quantity.h"

namespace headroom {

using ResourceId = std::uint32_t;
inline constexpr ResourceId kCpu = 0, kMemory = 1, kEphemeralStorage = 2, kPods = 3;
inline constexpr ResourceId kNoResource = UINT32_MAX;

class ResourceNames {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  const std::string& name(ResourceId id) const { return names_[id]; }
  // kNoResource if the name was never seen. O(size()): there are few, and cpu and memory lead.
  ResourceId find(std::string_view name) const;
  // kNoResource beyond kResourcesMax.
  ResourceId add(std::string_view name);

  // The order of reasons: cpu, memory, ephemeral-storage, then by name.
  bool before(ResourceId a, ResourceId b) const;
  std::vector<ResourceId> order() const;  // all of them

 private:
  std::vector<std::string> names_ = {"cpu", "memory", "ephemeral-storage", "pods"};
};

// A quantity in the resource's unit (cpu in milli, everything else whole), rounded away from zero.
// Quantities beyond int64 are refused before they come here; what a sum makes of them saturates.
std::int64_t amount(ResourceId resource, const Quantity& quantity);

// Amounts by resource, each once, in the order of reasons.
using Amounts = std::vector<std::pair<ResourceId, std::int64_t>>;
std::int64_t amount_of(const Amounts& amounts, ResourceId resource);

}  // namespace headroom
