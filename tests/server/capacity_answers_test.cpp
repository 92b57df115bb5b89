// What answers to questions of capacity leave out so that each fits a frame.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "server/answers/encode_capacity_quota.h"
#include "tests/server/capacity_texts.h"
#include "tests/support/read_back.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::capacity_test {
namespace {

Offset<wire::CapacityPlanned> encode(Builder& builder, const PlanAnswer& answer,
                                     std::uint64_t epoch) {
  CapacityPlanEncoder reply(builder);
  while (reply.add_rows(answer)) {
  }
  return reply.finish(answer, epoch);
}

CapacityQuotaRow row_of(std::string_view id, bool binding) {
  CapacityQuotaRow row;
  row.quota = id;
  row.resource = "cpu";
  row.binding = binding;
  return row;
}

TEST(CapacityAnswers, LeaveOutWhatIsAboveTheirLimits) {
  Builder builder;
  const auto checked = [&](const std::vector<CapacityCheck>& answers,
                           bool binding_only) -> const wire::CapacityChecked& {
    builder.Clear();
    CapacityCheckEncoder reply(builder, binding_only);
    for (const CapacityCheck& answer : answers) reply.add(answer);
    builder.Finish(reply.finish(1, answers.back().skipped));
    return *flatbuffers::GetRoot<wire::CapacityChecked>(builder.GetBufferPointer());
  };
  std::vector<CapacityCheck> answers(2);
  answers[0].rows.assign(kCapacityQuotaRowsPerReplyMax - 1, row_of("q", false));
  answers[1].rows.assign(3, row_of("q", true));
  answers[1].rows.resize(1);
  answers[1].skipped.assign(kSkippedCapacityQuotasPerReplyMax, {"q", "because"});
  const wire::CapacityChecked& full = checked(answers, false);
  EXPECT_EQ(full.answers()->Get(0)->rows()->size(), kCapacityQuotaRowsPerReplyMax - 1);
  EXPECT_EQ(full.answers()->Get(1)->rows()->size(), 1U);
  EXPECT_EQ(full.answers()->Get(1)->rows_left_out(), 0U);
  EXPECT_EQ(full.skipped()->size(), kSkippedCapacityQuotasPerReplyMax);
  EXPECT_EQ(full.skipped_left_out(), 0U);
  answers[1].rows.assign(3, row_of("q", true));
  answers[1].skipped.resize(kSkippedCapacityQuotasPerReplyMax + 2);
  const wire::CapacityChecked& over = checked(answers, false);
  EXPECT_EQ(over.answers()->Get(1)->rows()->size(), 1U);
  EXPECT_EQ(over.answers()->Get(1)->rows_left_out(), 2U);
  EXPECT_EQ(over.skipped_left_out(), 2U);
  const wire::CapacityChecked& binding = checked(answers, true);
  EXPECT_EQ(binding.answers()->Get(0)->rows(), nullptr);
  EXPECT_EQ(binding.answers()->Get(0)->rows_left_out(), 0U);
  EXPECT_EQ(binding.answers()->Get(1)->rows()->size(), 3U);

  PlanAnswer plan;
  plan.rows.resize(kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(written<wire::CapacityPlanned>(builder,
                                           [&] { return encode(builder, plan, std::uint64_t{1}); })
                .rows_left_out(),
            0U);
  plan.rows.resize(kCapacityQuotaRowsPerReplyMax + 3);
  plan.net_break.emplace();
  plan.net_break->rows.assign(kBreakRowsMax, row_of("q", true));
  plan.peak_break.emplace();
  plan.peak_break->rows.assign(kBreakRowsMax + 1, row_of("q", true));
  const auto& planned = written<wire::CapacityPlanned>(
      builder, [&] { return encode(builder, plan, std::uint64_t{1}); });
  EXPECT_EQ(planned.rows()->size(), kCapacityQuotaRowsPerReplyMax);
  EXPECT_EQ(planned.rows_left_out(), 3U);
  EXPECT_EQ(planned.net_break()->rows()->size(), kBreakRowsMax);
  EXPECT_EQ(planned.net_break()->rows_left_out(), 0U);
  EXPECT_EQ(planned.peak_break()->rows()->size(), kBreakRowsMax);
  EXPECT_EQ(planned.peak_break()->rows_left_out(), 1U);
}

TEST(CapacityAnswers, ReasonsAreCut) {
  Builder builder;
  const std::string why(kMessageBytesMax + 1, 'w');
  PlanAnswer plan;
  plan.skipped = {{"q", why}};
  const auto& planned = written<wire::CapacityPlanned>(
      builder, [&] { return encode(builder, plan, std::uint64_t{1}); });
  EXPECT_EQ(planned.skipped()->Get(0)->why()->size(), kMessageBytesMax);
  std::vector<CapacityQuotaStatus> quotas(1);
  quotas[0].invalid = why;
  const auto& status = written<wire::CapacityQuotaStatusReply>(builder, [&] {
    return encode(builder, std::span<const CapacityQuotaStatus>(quotas), std::uint64_t{1});
  });
  EXPECT_EQ(status.quotas()->Get(0)->invalid()->size(), kMessageBytesMax);
}

// Ids and names as long as they may be, and lists that are full.
TEST(CapacityAnswers, TheLargestFitAFrame) {
  Builder builder;
  const auto fits = [&](const auto&... answer) {
    builder.Clear();
    finish_frame(builder, 1, encode(builder, answer...));
    EXPECT_LE(builder.GetSize(), kFrameBytesMax);
  };
  std::vector<std::string> ids, resources;
  for (std::uint32_t i = 0; i < kBreakRowsMax + kSkippedCapacityQuotasPerReplyMax; ++i) {
    ids.push_back(
        capacity_quota_id(CapacityQuotaClass::kCapacityQuota, fmt::format("{:01024}", i)));
    resources.push_back(fmt::format("{:01024}", i));
  }
  const std::string why(2 * kMessageBytesMax, 'w');
  ReserveAnswer reserved;
  reserved.allowed.assign(kCapacityItemsPerRequestMax, kMost);
  reserved.stopped.emplace();
  for (std::uint32_t r = 0; r < kBreakRowsMax; ++r) {
    reserved.stopped->rows.push_back(row_of(ids[r], true));
    reserved.stopped->rows.back().resource = resources[r];
  }
  for (std::uint32_t s = 0; s < kSkippedCapacityQuotasPerReplyMax; ++s) {
    reserved.skipped.push_back({ids[kBreakRowsMax + s], why});
  }
  fits(reserved, std::int64_t{1}, std::uint64_t{1});
  std::vector<CapacityQuotaStatus> quotas(kQuotasPerReplyMax);
  for (std::uint32_t q = 0; q < quotas.size(); ++q) {
    quotas[q].name = fmt::format("{:01024}", q);
    quotas[q].id = capacity_quota_id(CapacityQuotaClass::kCapacityQuota, quotas[q].name);
    quotas[q].invalid = fmt::format("{:03000}", q);
    for (std::uint32_t a = 0; a < 20; ++a) {
      quotas[q].amounts.push_back({fmt::format("{:063}", q * 20 + a), 1, 2, 3});
    }
  }
  fits(std::span<const CapacityQuotaStatus>(quotas), std::uint64_t{1});
  std::vector<ReservationStatus> reservations(kReservationsPerReplyMax);
  for (ReservationStatus& reservation : reservations) reservation.id.assign(kTextBytesMax, 'r');
  fits(std::span<const ReservationStatus>(reservations), std::int64_t{1}, std::uint64_t{1});
}

}  // namespace
}  // namespace headroom::in_memory::capacity_test
