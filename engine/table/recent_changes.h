// RecentChanges: what changed last, each change with a version, so that whoever keeps something
// that follows from it can follow and need not look at all rows.
//
// A ring of the last `kept`: who is further behind begins anew. Changes of one row come in their
// order.
// Thread safety: one writer, or any number of readers. Cost: O(1) a change.
#pragma once

#include <array>
#include <cstdint>

#include "objects/assert.h"

namespace headroom {

template <typename Its, std::uint64_t kept>
class RecentChanges {
 public:
  using Change = Its;

  void append(Change change) { last_[version_++ % kept] = change; }
  // Grows with every change; never 0.
  std::uint64_t version() const { return version_; }
  // Whether all that came after a version are kept.
  bool leads_from(std::uint64_t version) const {
    return version != 0 && version_ - version <= kept;
  }
  // Calls visit(change) for each that came after a version from which they lead.
  template <typename Visit>
  void each_after(std::uint64_t version, Visit visit) const {
    HEADROOM_ASSERT(leads_from(version));
    for (; version < version_; ++version) {
      visit(last_[version % kept]);
    }
  }

 private:
  std::array<Change, kept> last_{};
  std::uint64_t version_ = 1;
};

// A row that went from one class of nodes to another; who looks at it finds it in its last class.
struct ClassChange {
  std::uint32_t row, from, to;
};
// Beyond it a look at each row costs no more.
inline constexpr std::uint64_t kClassChangesKept = 1024;
using ClassChanges = RecentChanges<ClassChange, kClassChangesKept>;

}  // namespace headroom
