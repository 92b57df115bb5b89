#include "server/answers/encode_capacity_quota.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "autoscaling/capacity_quota_spec.h"
#include "schema/limits.h"

namespace headroom {

namespace {

using flatbuffers::Offset;

// A quota's id: its name and what stands before it. A table with its numbers, or a short text's
// frame, takes less than kTableBytes.
constexpr std::size_t kIdBytes = kTextBytesMax + 32;
constexpr std::size_t kTableBytes = 128;
// Rows of a plan's answer that take some microseconds to write.
constexpr std::size_t kPlanRowsAtATime = 64;
// What an answer to a reservation may come to, and a page of quotas or reservations.
static_assert(kCapacityItemsPerRequestMax * sizeof(std::int64_t) +
                  kBreakRowsMax * (kIdBytes + kTextBytesMax + kTableBytes) +
                  kSkippedCapacityQuotasPerReplyMax * (kIdBytes + kMessageBytesMax + kTableBytes) <
              kFrameBytesMax);
static_assert(kQuotasPerReplyMax *
                  (kIdBytes + kTextBytesMax + kMessageBytesMax + kTableBytes +
                   kCapacityQuotaLimitsMax * (kCapacityQuotaResourceBytesMax + kTableBytes)) <
              kFrameBytesMax);
static_assert(kReservationsPerReplyMax * (kTextBytesMax + kTableBytes) < kFrameBytesMax);

std::uint32_t left_out(std::size_t all, std::size_t written) {
  return static_cast<std::uint32_t>(all - written);
}

Offset<wire::CapacityQuotaRow> encode(Builder& builder, const CapacityQuotaRow& row) {
  const auto quota = write_shared_text(builder, row.quota);
  const auto resource = write_shared_text(builder, row.resource);
  return wire::CreateCapacityQuotaRow(builder, quota, resource, saturated(row.limit),
                                      saturated(row.used), saturated(row.reserved),
                                      saturated(row.need), saturated(row.headroom),
                                      saturated(row.shortfall), row.max_nodes, row.binding);
}

Offset<wire::CapacityBreak> encode(Builder& builder, const PlanBreak& stopped) {
  const std::size_t count = std::min<std::size_t>(stopped.rows.size(), kBreakRowsMax);
  const auto rows = write_list_if_any<wire::CapacityQuotaRow>(
      builder, std::span(stopped.rows).first(count),
      [&](const CapacityQuotaRow& row) { return encode(builder, row); });
  return wire::CreateCapacityBreak(builder, static_cast<std::uint32_t>(stopped.item), stopped.fits,
                                   rows, left_out(stopped.rows.size(), count));
}

Offset<wire::CapacityBreak> encode(Builder& builder, const std::optional<PlanBreak>& stopped) {
  return stopped ? encode(builder, *stopped) : 0;
}

struct EncodedSkipped {
  ListOffset<wire::SkippedCapacityQuota> quotas;
  std::uint32_t left_out = 0;
};

EncodedSkipped encode(Builder& builder, const std::vector<SkippedCapacityQuota>& skipped) {
  const std::size_t count =
      std::min<std::size_t>(skipped.size(), kSkippedCapacityQuotasPerReplyMax);
  const auto quotas = write_list_if_any<wire::SkippedCapacityQuota>(
      builder, std::span(skipped).first(count), [&](const SkippedCapacityQuota& quota) {
        const auto id = write_shared_text(builder, quota.quota);
        return wire::CreateSkippedCapacityQuota(builder, id,
                                                write_shared_text(builder, cut(quota.why)));
      });
  return {.quotas = quotas, .left_out = left_out(skipped.size(), count)};
}

}  // namespace

void CapacityCheckEncoder::add(const CapacityCheck& answer) {
  std::vector<Offset<wire::CapacityQuotaRow>> rows;
  std::size_t wanted = 0;
  for (const CapacityQuotaRow& row : answer.rows) {
    if (binding_only_ && !row.binding) continue;
    ++wanted;
    if (rows_ >= kCapacityQuotaRowsPerReplyMax) continue;
    ++rows_;
    rows.push_back(encode(builder_, row));
  }
  const ListOffset<wire::CapacityQuotaRow> written = rows.empty() ? 0 : builder_.CreateVector(rows);
  answers_.push_back(
      wire::CreateCapacityAnswer(builder_, answer.allowed, written, left_out(wanted, rows.size())));
}

Offset<wire::CapacityChecked> CapacityCheckEncoder::finish(
    std::uint64_t epoch, const std::vector<SkippedCapacityQuota>& skipped) {
  const auto answers = builder_.CreateVector(answers_);
  const EncodedSkipped written = encode(builder_, skipped);
  return wire::CreateCapacityChecked(builder_, epoch, answers, written.quotas, written.left_out);
}

bool CapacityPlanEncoder::add_rows(const PlanAnswer& answer) {
  const std::size_t count =
      std::min<std::size_t>(answer.rows.size(), kCapacityQuotaRowsPerReplyMax);
  for (const std::size_t end = std::min(count, rows_.size() + kPlanRowsAtATime);
       rows_.size() < end;) {
    const PlanRow& row = answer.rows[rows_.size()];
    const auto quota = write_shared_text(builder_, row.quota);
    const auto resource = write_shared_text(builder_, row.resource);
    rows_.push_back(wire::CreatePlanRow(builder_, quota, resource, saturated(row.limit),
                                        saturated(row.used), saturated(row.reserved),
                                        saturated(row.added), saturated(row.removed),
                                        saturated(row.net), saturated(row.peak)));
  }
  return rows_.size() < count;
}

Offset<wire::CapacityPlanned> CapacityPlanEncoder::finish(const PlanAnswer& answer,
                                                          std::uint64_t epoch) {
  const auto net_break = encode(builder_, answer.net_break);
  const auto peak_break = encode(builder_, answer.peak_break);
  const ListOffset<wire::PlanRow> rows = rows_.empty() ? 0 : builder_.CreateVector(rows_);
  const EncodedSkipped skipped = encode(builder_, answer.skipped);
  return wire::CreateCapacityPlanned(builder_, epoch, net_break, peak_break, rows,
                                     left_out(answer.rows.size(), rows_.size()), skipped.quotas,
                                     skipped.left_out);
}

Offset<wire::CapacityReserved> encode(Builder& builder, const ReserveAnswer& answer,
                                      std::int64_t now_us, std::uint64_t epoch) {
  const auto allowed = builder.CreateVector(answer.allowed);
  const auto stopped = encode(builder, answer.stopped);
  const EncodedSkipped skipped = encode(builder, answer.skipped);
  return wire::CreateCapacityReserved(builder, epoch, answer.accepted, allowed, stopped, now_us,
                                      skipped.quotas, skipped.left_out);
}

Offset<wire::CapacityQuotaStatusReply> encode(Builder& builder,
                                              std::span<const CapacityQuotaStatus> quotas,
                                              std::uint64_t epoch) {
  const std::size_t count = std::min<std::size_t>(quotas.size(), kQuotasPerReplyMax);
  const auto written = write_list_if_any<wire::CapacityQuotaState>(
      builder, quotas.first(count), [&](const CapacityQuotaStatus& quota) {
        const auto id = builder.CreateString(quota.id);
        const auto name = builder.CreateString(quota.name);
        Offset<flatbuffers::String> invalid;
        if (!quota.invalid.empty()) invalid = write_shared_text(builder, cut(quota.invalid));
        const auto amounts = write_list_if_any<wire::CapacityAmount>(
            builder, quota.amounts, [&](const CapacityQuotaStatus::Amount& amount) {
              return wire::CreateCapacityAmount(
                  builder, write_shared_text(builder, amount.resource), saturated(amount.limit),
                  saturated(amount.used), saturated(amount.reserved));
            });
        return wire::CreateCapacityQuotaState(
            builder, id, name, static_cast<wire::CapacityQuotaClass>(quota.quota_class),
            quota.generation_in_force, quota.generation, quota.in_force, invalid, quota.nodes,
            amounts);
      });
  return wire::CreateCapacityQuotaStatusReply(builder, epoch, written, count < quotas.size());
}

Offset<wire::CapacityReservationsReply> encode(Builder& builder,
                                               std::span<const ReservationStatus> reservations,
                                               std::int64_t now_us, std::uint64_t epoch) {
  const std::size_t count = std::min<std::size_t>(reservations.size(), kReservationsPerReplyMax);
  const auto written = write_list_if_any<wire::CapacityReservation>(
      builder, reservations.first(count), [&](const ReservationStatus& reservation) {
        return wire::CreateCapacityReservation(builder, builder.CreateString(reservation.id),
                                               reservation.expires_us, reservation.nodes_left,
                                               reservation.nodes_registered);
      });
  return wire::CreateCapacityReservationsReply(builder, epoch, written, count < reservations.size(),
                                               now_us);
}

}  // namespace headroom
