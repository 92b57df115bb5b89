// Capacity quotas, nodes under them and what is answered about them as texts, for the tests of the
// service's questions of capacity.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "objects/annotations.h"
#include "tests/support/objects.h"
#include "tests/support/service_harness.h"

namespace headroom::in_memory::capacity_test {

inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kSoonUs = kNowUs + 60 * kSecondUs;

// A node, or what one would be, of the pool and with so many cores.
inline Node sized(const std::string& name, std::int64_t cpu, const std::string& pool = "a") {
  Node node = node_of(name, cpu);
  node.labels = {{"pool", pool}};
  node.capacity = cpu_and_memory(cpu * 1'000, 1 << 20);
  return node;
}

inline Node reserved_as(const std::string& id, Node node) {
  node.annotations = {{std::string(kReservationAnnotation), id}};
  return node;
}

// Of the nodes of the pool; of all where that is empty.
inline CapacityQuota capacity_quota_of(const std::string& name, StringMap limits,
                                       const std::string& pool = "") {
  LabelSelector selector;
  if (!pool.empty()) selector = {{"pool", "In", {pool}}};
  return capacity_quota(name, std::move(limits), std::move(selector));
}

inline CapacityQuota unusable(const std::string& name, std::int64_t generation = 1) {
  CapacityQuota quota = capacity_quota_of(name, {{"cpu", "4x"}});
  quota.generation = generation;
  return quota;
}

inline std::string text_of(const flatbuffers::Vector<Offset<wire::CapacityQuotaRow>>* rows) {
  std::string all;
  for (std::uint32_t r = 0; rows != nullptr && r < rows->size(); ++r) {
    const wire::CapacityQuotaRow& row = *rows->Get(r);
    all += fmt::format(
        "{}{} {} limit {} used {} reserved {} need {} headroom {} shortfall {} max {}{}",
        r == 0 ? "" : "; ", text(row.quota()), text(row.resource()), row.limit(), row.used(),
        row.reserved(), row.need(), row.headroom(), row.shortfall(), row.max_nodes(),
        row.binding() ? " binding" : "");
  }
  return all;
}

// "1: " and the rows.
inline std::string text_of(const wire::CapacityAnswer& answer) {
  return fmt::format("{}: {}", answer.allowed(), text_of(answer.rows()));
}

template <typename Reply>
inline std::string skipped_of(const Reply& reply) {
  std::string all;
  for (std::uint32_t s = 0; reply.skipped() != nullptr && s < reply.skipped()->size(); ++s) {
    const wire::SkippedCapacityQuota& quota = *reply.skipped()->Get(s);
    all += fmt::format("{}{}: {}", s == 0 ? "" : "; ", text(quota.quota()), text(quota.why()));
  }
  return all;
}
inline constexpr const char* kUnusable =
    "CapacityQuota/broken: spec.limits.resources.cpu: \"4x\" is not a quantity";

// "item 0 fits 2: " and the rows; "" where there is none.
inline std::string text_of(const wire::CapacityBreak* stopped) {
  if (stopped == nullptr) return "";
  return fmt::format("item {} fits {}: {}", stopped->item(), stopped->fits(),
                     text_of(stopped->rows()));
}

inline std::string text_of(const wire::CapacityPlanned& planned) {
  std::string all = fmt::format("net [{}] peak [{}]", text_of(planned.net_break()),
                                text_of(planned.peak_break()));
  for (std::uint32_t r = 0; planned.rows() != nullptr && r < planned.rows()->size(); ++r) {
    const wire::PlanRow& row = *planned.rows()->Get(r);
    all += fmt::format("; {} {} limit {} used {} reserved {} added {} removed {} net {} peak {}",
                       text(row.quota()), text(row.resource()), row.limit(), row.used(),
                       row.reserved(), row.added(), row.removed(), row.net(), row.peak());
  }
  return all;
}

// "accepted 2 0", or "refused 2 0".
inline std::string text_of(const wire::CapacityReserved& reserved) {
  std::string all = reserved.accepted() ? "accepted" : "refused";
  for (const std::int64_t allowed : *reserved.allowed()) all += fmt::format(" {}", allowed);
  return all;
}

// "CapacityQuota/q 1/1 nodes 2 cpu 8000 4000 0": generations, limit, used, reserved.
inline std::string text_of(const wire::CapacityQuotaStatusReply& reply) {
  std::string all;
  for (std::uint32_t q = 0; reply.quotas() != nullptr && q < reply.quotas()->size(); ++q) {
    const wire::CapacityQuotaState& quota = *reply.quotas()->Get(q);
    all += fmt::format("{}{} {}/{}{}{} nodes {}", q == 0 ? "" : "; ", text(quota.id()),
                       quota.generation_in_force(), quota.generation(),
                       quota.in_force() ? "" : " skipped",
                       quota.invalid() == nullptr ? "" : " invalid", quota.nodes());
    for (std::uint32_t a = 0; quota.amounts() != nullptr && a < quota.amounts()->size(); ++a) {
      const wire::CapacityAmount& amount = *quota.amounts()->Get(a);
      all += fmt::format(" {} {} {} {}", text(amount.resource()), amount.limit(), amount.used(),
                         amount.reserved());
    }
  }
  return all;
}

// "id left 2 registered 1", ...
inline std::string text_of(const wire::CapacityReservationsReply& reply) {
  std::string all;
  for (std::uint32_t r = 0; reply.reservations() != nullptr && r < reply.reservations()->size();
       ++r) {
    const wire::CapacityReservation& reservation = *reply.reservations()->Get(r);
    all += fmt::format("{}{} left {} registered {}", r == 0 ? "" : ", ", text(reservation.id()),
                       reservation.nodes_left(), reservation.nodes_registered());
  }
  return all;
}

}  // namespace headroom::in_memory::capacity_test
