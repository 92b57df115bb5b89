// RecentChanges: what changed last, each change with a version, so that whoever keeps something
// that follows from it can follow and need not look at everything.
//
// A ring of the last `kept`, in their order: who is further behind begins anew.
// Thread safety: one writer, or any number of readers. Cost: O(1) a change.
#pragma once

#include <array>
#include <cstdint>

#include "objects/assert.h"

namespace headroom {

template <typename Change, std::uint64_t kept>
class RecentChanges {
 public:
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

}  // namespace headroom
