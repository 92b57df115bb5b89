// CapacityAudit: the digest of a CapacityQuotas, or a validation of it, in turns.
//
// Nodes are looked at one by one, and facts may come between the turns: the answer is that of the
// last one, since what changed is looked at again. One that outlives its CapacityQuotas must not
// have another turn.
//
// Thread safety: that of the CapacityQuotas. Cost: O(nodes + quotas * classes) in all; the end
// O(classes + limits + reservations).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "objects/audit_items.h"
#include "objects/error.h"

namespace headroom {

class CapacityFacts;

// What an audit has seen, and what changed since: the facts note it as long as it is held.
struct CapacityAuditNotes {
  AuditItems nodes;
  std::uint32_t classes = 0;  // that were held against the quotas' selectors
};

class CapacityAudit {
 public:
  CapacityAudit(CapacityFacts& facts, AuditOptions options);
  CapacityAudit(const CapacityAudit&) = delete;
  CapacityAudit& operator=(const CapacityAudit&) = delete;

  // Up to where `pause` says so, at least a piece; true when nothing is left to look at. An error
  // says what is not as it should be.
  Result<bool> turn(const std::function<bool()>& pause);
  // Then, before facts change: the answer.
  Result<void> end();
  std::uint64_t digest() const { return digest_; }  // of one that has ended

 private:
  Result<bool> look();  // at one item; false: there is none

  CapacityFacts& facts_;
  const AuditOptions options_;
  std::shared_ptr<CapacityAuditNotes> notes_;
  std::uint64_t digest_ = 0;
};

}  // namespace headroom
