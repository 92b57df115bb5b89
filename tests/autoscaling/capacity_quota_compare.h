// CapacityQuotas' answers in the oracle's words, and how two answers differ.
#pragma once

#include <string>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "objects/error.h"
#include "oracle/quotas/capacity_quota_answers.h"

namespace headroom {

// Their ids; a quota without a reason is never equal to the oracle's.
std::vector<std::string> skipped_ids(const std::vector<SkippedCapacityQuota>& skipped);
oracle::CapacityQuotaCheck to_oracle(const CapacityCheck& answer);
oracle::CapacityQuotaPlan to_oracle(const PlanAnswer& answer);
oracle::CapacityQuotaReserved to_oracle(const ReserveAnswer& answer);
std::vector<oracle::LiveReservation> to_oracle(const std::vector<ReservationStatus>& answer);
oracle::CapacityQuotaHeadroom to_oracle(const TemplateHeadroom& answer);
std::vector<oracle::CapacityQuotaStatus> to_oracle(const std::vector<CapacityQuotaStatus>& answer);
oracle::CapacityQuotaWhatIf to_oracle(const WhatIf& answer);

// "" where both are the same.
template <typename Expected, typename Came>
std::string capacity_quota_difference(const std::string& what, const Expected& expected,
                                      const Came& came) {
  const Expected answer = to_oracle(came);
  if (answer == expected) return "";
  return what + "\n expected " + to_text(expected) + "\n came     " + to_text(answer) + "\n";
}

// Of answers that may be errors: those agree by code.
template <typename Expected, typename Came>
std::string capacity_quota_difference(const std::string& what, const Result<Expected>& expected,
                                      const Result<Came>& came) {
  if (expected && came) return capacity_quota_difference(what, *expected, *came);
  const auto outcome = [](const auto& result) {
    return result ? std::string("success") : std::string(to_string(result.error().code));
  };
  if (outcome(expected) == outcome(came)) return "";
  return what + "\n expected " + outcome(expected) + "\n came     " + outcome(came) + "\n";
}

}  // namespace headroom
