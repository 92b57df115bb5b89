// ResourceNames: resource names as small numbers, at most kResourcesMax at a time.
//
// cpu, memory, ephemeral-storage and pods come first and stay, as do the names that are pinned (the
// profile's). Any other has a number while some fact holds it; of more than there are numbers the
// first by name have one, so that who does is a function of the facts. A number that nobody needs
// any more is used again: what a change returns has to be looked at before the next.
// Thread safety: one writer, or any number of readers. Cost: O(names), of which there are few.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/assert.h"
#include "objects/error.h"
#include "objects/quantity.h"

namespace headroom {

using ResourceId = std::uint32_t;
inline constexpr ResourceId kCpu = 0, kMemory = 1, kEphemeralStorage = 2, kPods = 3;
inline constexpr ResourceId kNoResource = UINT32_MAX;

class ResourceNames {
 public:
  // Names that mean something else now, and numbers that lost their name.
  struct Change {
    std::vector<std::string> names;
    std::vector<ResourceId> ids;
    // Some number went to a name that was held before, or from one that still is.
    bool moved = false;
  };

  // Every number is below it; a free one has an empty name.
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  std::uint32_t count() const;  // names that have a number
  const std::string& name(ResourceId id) const {
    HEADROOM_ASSERT(id < names_.size());
    return names_[id];
  }
  // kNoResource if the name has no number; cpu and memory are found first.
  ResourceId find(std::string_view name) const;
  // For good. kNoResource beyond kResourcesMax.
  ResourceId pin(std::string_view name);
  // One fact more names it, or one less.
  void hold(std::string_view name, Change& change);
  void release(std::string_view name, Change& change);
  // Held, and without a number: there are more than kResourcesMax.
  bool beyond(std::string_view name) const;
  std::uint32_t beyond_count() const { return beyond_; }
  // Whether as many names as these, held as well, would all have numbers.
  bool has_room_for(const std::vector<std::string>& names) const;

  // A number while there is room, until somebody who holds a name needs it. kNoResource: there is
  // none.
  ResourceId borrow(std::string_view name);
  // Lets go of those that were borrowed and are not in `used`, a bit for each.
  void keep_borrowed(std::uint64_t used);
  bool is_borrowed(ResourceId id) const;
  bool is_pinned(ResourceId id) const {
    HEADROOM_ASSERT(id < pinned_.size());
    return pinned_[id];
  }
  bool full() const;
  const std::map<std::string, std::uint32_t, std::less<>>& held() const { return held_; }

  // The order of reasons: cpu, memory, ephemeral-storage, then by name.
  static bool before(std::string_view a, std::string_view b);
  bool before(ResourceId a, ResourceId b) const { return before(names_[a], names_[b]); }
  std::vector<ResourceId> order() const;  // all of them

 private:
  bool is_free(ResourceId id) const { return names_[id].empty(); }
  ResourceId take(std::string_view name);

  std::vector<std::string> names_ = {"cpu", "memory", "ephemeral-storage", "pods"};
  std::vector<bool> pinned_ = {true, true, true, true};
  std::map<std::string, std::uint32_t, std::less<>> held_;  // how often; not the pinned ones
  std::uint32_t beyond_ = 0;                                // of held_
};

// A quantity in the resource's unit (cpu in milli, everything else whole), rounded away from zero.
// Quantities beyond int64 are refused before they come here; what a sum makes of them saturates.
std::int64_t amount(ResourceId resource, const Quantity& quantity);

// Amounts by resource, each once, in the order of reasons.
using Amounts = std::vector<std::pair<ResourceId, std::int64_t>>;
std::int64_t amount_of(const Amounts& amounts, ResourceId resource);

}  // namespace headroom
