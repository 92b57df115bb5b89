// ClassChanges: which rows went from one class of nodes to another last, so that whoever keeps
// something by class can follow and need not look at all rows.
//
// A ring of kClassChangesKept: who is further behind begins anew. Changes of one row come in their
// order; who looks at a row finds it in its last class.
// Thread safety: one writer, or any number of readers. Cost: O(1) a change.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/assert.h"

namespace headroom {

// Beyond it a look at each row costs no more.
inline constexpr std::uint64_t kClassChangesKept = 1024;

class ClassChanges {
 public:
  struct Change {
    std::uint32_t row, from, to;
  };

  void append(Change change) { last_[version_++ % kClassChangesKept] = change; }
  // Grows with every row that goes to another class; never 0.
  std::uint64_t version() const { return version_; }
  // Whether all that came after a version are kept.
  bool leads_from(std::uint64_t version) const {
    return version != 0 && version_ - version <= kClassChangesKept;
  }
  // Calls visit(change) for each that came after a version from which they lead.
  template <typename Visit>
  void each_after(std::uint64_t version, Visit visit) const {
    HEADROOM_ASSERT(leads_from(version));
    for (; version < version_; ++version) {
      visit(last_[version % kClassChangesKept]);
    }
  }

 private:
  std::vector<Change> last_ = std::vector<Change>(kClassChangesKept);
  std::uint64_t version_ = 1;
};

}  // namespace headroom
