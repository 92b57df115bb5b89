// Lint: limits that cannot do what their author meant, found without running anything.
//
// What is said of selectors is proved for all labels, not only for those that are there: a
// contradictory selector matches no node that could exist, and a dominated limit never binds
// whatever nodes come. The other findings compare with the nodes and templates that are given.
//
// Thread safety: a plain function. Cost: O(nodes + templates + quotas * (quotas + their kinds)).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "autoscaling/capacity_quotas.h"
#include "objects/objects.h"

namespace headroom {

enum class LintKind : std::uint8_t {
  kInvalidSpec,  // It is skipped, or an older one is in force; nothing else is said of it.
  kNoLimits,     // It limits nothing.
  kContradictorySelector,  // No labels satisfy it.
  kSelectsNothing,         // No node and no template matches it.
  // A label of the selector that no template has: what gets it after it was created is not checked
  // before. Of NotIn and DoesNotExist: that no node has either, so that it excludes nothing.
  kUnknownLabelKey,
  kUnknownLabelValue,
  // Another quota selects at least its nodes and limits them at least as tightly: it never binds.
  kDominated,
  // A limit above 0 that the smallest matching template exceeds, even when nothing is used.
  kNeverFits,
};
// "InvalidSpec", "NoLimits", ...
const char* to_string(LintKind kind);

struct LintFinding {
  LintKind kind = LintKind::kInvalidSpec;
  std::string quota;    // its id
  std::string subject;  // the resource, label key or key=value in question; empty: all of the quota
  std::string other;    // kDominated: the id of the other quota
  std::string message;  // a sentence about the quota
  friend bool operator==(const LintFinding&, const LintFinding&) = default;
};

// By quota (class, then name), kind and subject. Without templates the nodes stand for them. Of two
// quotas that say the same, the later one is dominated.
std::vector<LintFinding> lint(std::span<const CapacityQuotaUpsert> quotas,
                              std::span<const Node> nodes, std::span<const Node> templates,
                              const CapacityQuotasOptions& options = {});

}  // namespace headroom
