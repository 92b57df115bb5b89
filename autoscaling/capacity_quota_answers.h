// What is asked of CapacityQuotas, and what it answers (capacity_quotas.h). Plain values.
//
// Views (ids, resources, reasons) are valid until a quota changes. Amounts: cpu in thousandths, all
// else in whole units. Rows are in the order of quotas (by class, then name) and within one by
// resource.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "objects/objects.h"

namespace headroom {

// Whose limit it is. Ids: "cluster-wide", "max-nodes", "NodeGroup/<name>", "CapacityQuota/<name>";
// the first two stand alone, whatever their name.
enum class CapacityQuotaClass : std::uint8_t {
  kClusterWide,
  kMaxNodes,
  kNodeGroup,
  kCapacityQuota
};
std::string capacity_quota_id(CapacityQuotaClass quota_class, std::string_view name);

// One limit against one request.
struct CapacityQuotaRow {
  std::string_view quota;  // its id
  std::string_view resource;
  Int128 limit = 0, used = 0, reserved = 0;
  Int128 need = 0;       // count * amount
  Int128 headroom = 0;   // limit - used - reserved; below 0: over the limit already
  Int128 shortfall = 0;  // max(0, need - headroom)
  // The most that it would take, whatever was asked; INT64_MAX: or more.
  std::int64_t max_nodes = 0;
  bool binding = false;  // max_nodes is what is allowed, and that is less than asked
};

// A quota whose spec cannot be used and that never had one that could: it limits nothing.
struct SkippedCapacityQuota {
  std::string_view quota, why;
};

struct CapacityCheck {
  std::int64_t allowed = 0;            // of the nodes asked for
  std::vector<CapacityQuotaRow> rows;  // every limit that the template touches
  std::vector<SkippedCapacityQuota> skipped;
};

struct PlanItem {
  const Node* node = nullptr;  // the template; not null, not kept
  std::int64_t count = 0;
};

struct Plan {
  std::vector<PlanItem> add;        // in this order
  std::vector<std::string> remove;  // nodes that are there
};

// Where a plan stops: the items before `item` fit, and `fits` nodes of it.
struct PlanBreak {
  std::size_t item = 0;
  std::int64_t fits = 0;
  // The binding rows, for the item's count: `reserved` with the items before it, `used` without the
  // removed nodes where they are gone.
  std::vector<CapacityQuotaRow> rows;
};

struct PlanRow {
  std::string_view quota, resource;
  Int128 limit = 0, used = 0, reserved = 0;
  Int128 added = 0, removed = 0;
  Int128 net = 0;   // used + reserved + added - removed
  Int128 peak = 0;  // used + reserved + added: all are there before the first is gone
};

struct PlanAnswer {
  // Net: the removed nodes are gone before the first is added. Absent: it fits.
  std::optional<PlanBreak> net_break;
  // Peak: they go after the last was added. A plan without this break overshoots in no order.
  std::optional<PlanBreak> peak_break;
  std::vector<PlanRow> rows;  // every limit that an added template or a removed node touches
  std::vector<SkippedCapacityQuota> skipped;
};

struct MaxTotal {
  std::int64_t total = 0;            // of `counts`
  std::vector<std::int64_t> counts;  // by item; feasible together
  std::int64_t upper_bound = 0;      // no choice has more
  std::vector<SkippedCapacityQuota> skipped;
  bool exact() const { return total == upper_bound; }
};

struct TemplateHeadroom {
  std::int64_t max_nodes = 0;  // how many more; INT64_MAX: nothing limits them
  struct Row {
    std::string_view quota, resource;
    Int128 headroom = 0;         // as in CapacityQuotaRow
    Int128 stranded = 0;         // what is left after max_nodes; as headroom where that is negative
    std::int64_t max_nodes = 0;  // as in CapacityQuotaRow
    bool binding = false;
  };
  std::vector<Row> rows;
  std::vector<SkippedCapacityQuota> skipped;
};

struct CapacityQuotaUpsert {
  CapacityQuota quota;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
struct CapacityQuotaRemoval {
  std::string name;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
// The node as it would be.
struct NodeUpsert {
  Node node;
};
using CapacityQuotaChange = std::variant<CapacityQuotaUpsert, CapacityQuotaRemoval, NodeUpsert>;

struct WhatIf {
  // Every limit that differs. Absent: there is none before, or after.
  struct Amounts {
    Int128 limit = 0, used = 0, reserved = 0;
    friend bool operator==(const Amounts&, const Amounts&) = default;
    bool over() const { return used + reserved > limit; }
  };
  struct Row {
    std::string quota, resource;
    std::optional<Amounts> before, after;
    bool newly_over = false;
  };
  // A template of which the change lets through none, or again some.
  struct Template {
    std::string name;
    std::int64_t max_nodes_before = 0, max_nodes_after = 0;
    bool newly_blocked() const { return max_nodes_before > 0 && max_nodes_after == 0; }
    std::vector<std::string> blocked_by;  // ids of the quotas that take none after
  };
  std::vector<Row> rows;
  std::vector<Template> templates;                           // those whose max_nodes differ
  std::vector<std::pair<std::string, std::string>> skipped;  // after the change: quota and why
};

struct CapacityQuotaStatus {
  std::string id, name;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
  // Of the spec in force and of the last one seen; they differ where that cannot be used.
  std::int64_t generation_in_force = 0, generation = 0;
  bool in_force = false;    // false: skipped
  std::string invalid;      // why the last spec cannot be used; empty: it can
  std::uint64_t nodes = 0;  // registered ones that the selector matches
  struct Amount {
    std::string resource;
    Int128 limit = 0, used = 0, reserved = 0;
  };
  std::vector<Amount> amounts;  // by resource; exactly those that it limits
};

enum class ReserveMode : std::uint8_t { kAll, kUpTo };

struct ReserveAnswer {
  bool accepted = false;              // kUpTo: at least one node, or none was asked for
  std::vector<std::int64_t> allowed;  // by item: how many fit, in order; held where accepted
  std::optional<PlanBreak> stopped;   // where not all fit
  std::vector<SkippedCapacityQuota> skipped;
};

struct ReservationStatus {
  std::string id;
  std::int64_t expires_us = 0;
  std::int64_t nodes_left = 0;
  std::int64_t nodes_registered = 0;
};

struct CapacityQuotasStats {
  std::uint32_t nodes = 0, quotas = 0, reservations = 0;
  // Whose last spec cannot be used: in force by an older one, or skipped.
  std::uint32_t invalid_quotas = 0;
  std::uint32_t node_classes = 0;
};

}  // namespace headroom
