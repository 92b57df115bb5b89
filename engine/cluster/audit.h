// Audit: the digest of all facts, or a validation of all that is kept of them, in turns.
//
// Facts and questions may come between the turns. The digest is that of the facts at the last one:
// what changed after it was looked at is looked at again. A validation checks each row, pod, shape
// and application by itself, as it is when its turn comes; the sums over all of them are those of
// the last turn. An audit that outlives its engine must not have another turn.
//
// Thread safety: that of the engine. Cost: O(nodes + pods) in all, a few microseconds between two
// questions for a pause, but for an application, which is counted anew; the end O(quotas). Who
// changes everything all the time puts it off for kAuditCatchUpTurns turns: what is left then is
// done in one.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/options.h"
#include "objects/audit_items.h"
#include "objects/error.h"

namespace headroom {

inline constexpr std::uint32_t kAuditCatchUpTurns = 256;

class Cluster;

// What an audit has seen, and what changed since: the cluster notes it as long as it is held.
struct AuditNotes {
  AuditItems rows, pods;
};

class Audit {
 public:
  Audit(Cluster& cluster, AuditOptions options);
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  // True when nothing is left to look at. An error says what is not as it should be.
  Result<bool> turn(const Pause& pause);
  // Then, before facts change: the answer.
  Result<void> end();
  std::uint64_t digest() const { return digest_; }  // of one that has ended
  // Whether the sums differed, so that each was looked at: then the answer is an error.
  bool looked_closer() const { return looked_closer_; }

 private:
  Result<bool> look();  // at one item; false: there is none
  Result<void> look_at_row(std::uint32_t row);
  Result<void> look_at_pod(std::uint32_t id);
  std::uint64_t balance_of_row(std::uint32_t row) const;
  std::uint64_t balance_of_pod(std::uint32_t id) const;
  std::uint64_t balance_of_rest() const;

  Cluster& cluster_;
  const AuditOptions options_;
  std::shared_ptr<AuditNotes> notes_;
  std::uint32_t shape_ = 0;  // the next
  std::uint32_t applications_left_ = 0;
  std::uint32_t catching_up_ = 0;  // turns since all was seen once
  std::uint64_t digest_ = 0;
  bool looked_closer_ = false;
};

}  // namespace headroom
