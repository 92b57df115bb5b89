// What a quota script does: its steps on CapacityQuotas and on the oracle.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "oracle/quotas/capacity_quota.h"
#include "tests/autoscaling/capacity_quota_script.h"
#include "tests/support/difference.h"
#include "tests/support/draws.h"

namespace headroom {

std::vector<PlanItem> plan_items(const std::vector<oracle::CapacityQuotaItem>& items);
oracle::CapacityQuotaClass to_oracle(CapacityQuotaClass quota_class);
// The reservation that the node names, or "".
std::string reservation_of(const Node& node);

// "success", or the error's code.
template <typename Value>
std::string outcome_of(const Result<Value>& result) {
  return result ? "success" : to_string(result.error().code);
}
template <typename Expected, typename Came>
std::string outcome_difference(const std::string& what, const Result<Expected>& expected,
                               const Result<Came>& came) {
  return difference(what, outcome_of(expected), outcome_of(came));
}

template <typename List>
void shuffle(List& list, Draws& draws) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draws.below(i)]);
}

class CapacityQuotaRun {
 public:
  explicit CapacityQuotaRun(const CapacityQuotasOptions& options)
      : options_(options),
        product_(options),
        oracle_(options.ignore_deleting, options.aliases),
        digest_(product_.digest()) {}

  // What differs; "" where nothing does.
  std::string perform(const CapacityQuotaStep& step) {
    return std::visit([&](const auto& one) { return perform(one); }, step);
  }

 private:
  std::string perform(const NodeStep& step);
  std::string perform(const NodeGoneStep& step);
  std::string perform(const CapacityQuotaEditStep& step);
  std::string perform(const CapacityQuotaGoneStep& step);
  std::string perform(const ReserveStep& step);
  std::string perform(const ReleaseStep& step);
  std::string perform(const AdvanceStep& step);
  std::string perform(const AdoptStep& step);
  std::string perform(const ChurnStep& step);
  std::string perform(const ForkStep& step);
  std::string perform(const RollbackStep& step);
  std::string perform(const CommitStep& step);
  std::string perform(const CheckStep& step);
  std::string perform(const PlanStep& step);
  std::string perform(const HeadroomStep& step);
  std::string perform(const MaxTotalStep& step);
  std::string perform(const WhatIfStep& step);
  std::string perform(const CarryOutStep& step);
  std::string perform(const ReplayStep& step);

  // Remembers that the node took from the reservation that it names, where it did.
  void note_taker(const oracle::CapacityReservations& before, const Node& node);
  // After a change.
  std::string with_state(std::string text);
  std::string kinds_difference() const;
  // After a question.
  std::string unchanged(const std::string& text) const {
    return text + difference("digest", digest_, product_.digest());
  }
  // Limits that the plan touches and that are over, as text.
  std::string overshot(const std::vector<oracle::CapacityQuotaItem>& add) const;

  CapacityQuotasOptions options_;
  CapacityQuotas product_;
  oracle::CapacityQuotas oracle_;
  CapacityCheck reused_;
  std::uint64_t digest_ = 0;
  std::string state_;  // what the digest was of

  // A live reservation as it was made, and the nodes that took from it, as they first appeared.
  struct Held {
    std::vector<oracle::CapacityQuotaItem> items;
    std::vector<Node> takers;
  };
  std::map<std::string, Held> held_;
  struct Fork {
    std::map<std::string, Held> held;
    std::uint64_t digest = 0;
  };
  std::vector<Fork> forks_;
};

}  // namespace headroom
