// Answers about CapacityQuotas as wire tables. Amounts beyond int64 become its bounds; what exceeds
// the limits of schema/limits.h is left out and counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autoscaling/capacity_quota_answers.h"
#include "server/answers/encode.h"

namespace headroom {

// The answers to one request, one after the other.
class CapacityCheckEncoder {
 public:
  CapacityCheckEncoder(Builder& builder, bool binding_only)
      : builder_(builder), binding_only_(binding_only) {}
  void add(const CapacityCheck& answer);
  flatbuffers::Offset<wire::CapacityChecked> finish(
      std::uint64_t epoch, const std::vector<SkippedCapacityQuota>& skipped);

 private:
  Builder& builder_;
  const bool binding_only_;
  std::size_t rows_ = 0;  // of all answers
  std::vector<flatbuffers::Offset<wire::CapacityAnswer>> answers_;
};

// The answer to one plan, some rows at a time.
class CapacityPlanEncoder {
 public:
  explicit CapacityPlanEncoder(Builder& builder) : builder_(builder) {}
  // Of a builder that is empty: what was added before is gone.
  void begin() { rows_.clear(); }
  // False: no row is left to add.
  bool add_rows(const PlanAnswer& answer);
  flatbuffers::Offset<wire::CapacityPlanned> finish(const PlanAnswer& answer, std::uint64_t epoch);

 private:
  Builder& builder_;
  std::vector<flatbuffers::Offset<wire::PlanRow>> rows_;
};

// Fits a frame, whatever it says: what it tells of has been done.
flatbuffers::Offset<wire::CapacityReserved> encode(Builder& builder, const ReserveAnswer& answer,
                                                   std::int64_t now_us, std::uint64_t epoch);
// The first kQuotasPerReplyMax of them.
flatbuffers::Offset<wire::CapacityQuotaStatusReply> encode(
    Builder& builder, std::span<const CapacityQuotaStatus> quotas, std::uint64_t epoch);
// The first kReservationsPerReplyMax of them.
flatbuffers::Offset<wire::CapacityReservationsReply> encode(
    Builder& builder, std::span<const ReservationStatus> reservations, std::int64_t now_us,
    std::uint64_t epoch);

}  // namespace headroom
