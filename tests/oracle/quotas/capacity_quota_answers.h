// What the oracle of CapacityQuota answers: plain values, compared field by field.
//
// Ids are "cluster-wide", "max-nodes", "NodeGroup/<name>", "CapacityQuota/<name>"; everything is in
// the order of quotas (by class, then name), within one by resource.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/quantity.h"

namespace oracle {

enum class CapacityQuotaClass { kClusterWide, kMaxNodes, kNodeGroup, kCapacityQuota };

struct CapacityQuotaRow {
  std::string quota, resource;
  Int128 limit = 0, used = 0, reserved = 0, need = 0, headroom = 0, shortfall = 0;
  std::int64_t max_nodes = 0;
  bool binding = false;
  bool exceeded() const { return need > headroom; }
  friend bool operator==(const CapacityQuotaRow&, const CapacityQuotaRow&) = default;
};

struct CapacityQuotaCheck {
  std::int64_t allowed = 0;
  std::vector<CapacityQuotaRow> rows;
  std::vector<std::string> skipped;  // ids of quotas without a spec that can be used
  friend bool operator==(const CapacityQuotaCheck&, const CapacityQuotaCheck&) = default;
};

struct CapacityQuotaPlanBreak {
  std::size_t item = 0;
  std::int64_t fits = 0;
  // The binding rows: used without the removed nodes (net), reserved with the items before.
  std::vector<CapacityQuotaRow> rows;
  friend bool operator==(const CapacityQuotaPlanBreak&, const CapacityQuotaPlanBreak&) = default;
};

struct CapacityQuotaPlanRow {
  std::string quota, resource;
  Int128 limit = 0, used = 0, reserved = 0, added = 0, removed = 0, net = 0, peak = 0;
  friend bool operator==(const CapacityQuotaPlanRow&, const CapacityQuotaPlanRow&) = default;
};

struct CapacityQuotaPlan {
  std::optional<CapacityQuotaPlanBreak> net_break, peak_break;
  std::vector<CapacityQuotaPlanRow> rows;
  std::vector<std::string> skipped;
  friend bool operator==(const CapacityQuotaPlan&, const CapacityQuotaPlan&) = default;
};

struct CapacityQuotaReserved {
  bool accepted = false;
  std::vector<std::int64_t> allowed;
  std::optional<CapacityQuotaPlanBreak> stopped;
  std::vector<std::string> skipped;
  friend bool operator==(const CapacityQuotaReserved&, const CapacityQuotaReserved&) = default;
};

struct LiveReservation {
  std::string id;
  std::int64_t expires_us = 0, left = 0, registered = 0;
  friend bool operator==(const LiveReservation&, const LiveReservation&) = default;
};

struct CapacityQuotaHeadroom {
  struct Row {
    std::string quota, resource;
    Int128 headroom = 0, stranded = 0;
    std::int64_t max_nodes = 0;
    bool binding = false;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::int64_t max_nodes = 0;
  std::vector<Row> rows;
  std::vector<std::string> skipped;
  friend bool operator==(const CapacityQuotaHeadroom&, const CapacityQuotaHeadroom&) = default;
};

struct CapacityQuotaStatus {
  struct Amount {
    std::string resource;
    Int128 limit = 0, used = 0, reserved = 0;
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  std::string id, name;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
  std::int64_t generation_in_force = 0, generation = 0;
  bool in_force = false, invalid = false;
  std::uint64_t nodes = 0;
  std::vector<Amount> amounts;
  friend bool operator==(const CapacityQuotaStatus&, const CapacityQuotaStatus&) = default;
};

struct CapacityQuotaWhatIf {
  struct Amounts {
    Int128 limit = 0, used = 0, reserved = 0;
    friend bool operator==(const Amounts&, const Amounts&) = default;
  };
  struct Row {
    std::string quota, resource;
    std::optional<Amounts> before, after;
    bool newly_over = false;
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct Template {
    std::string name;
    std::int64_t before = 0, after = 0;
    std::vector<std::string> blocked_by;
    friend bool operator==(const Template&, const Template&) = default;
  };
  std::vector<Row> rows;
  std::vector<Template> templates;
  std::vector<std::string> skipped;
  friend bool operator==(const CapacityQuotaWhatIf&, const CapacityQuotaWhatIf&) = default;
};

// For people, where two answers differ.
std::string to_text(Int128 number);
std::string to_text(const CapacityQuotaCheck& answer);
std::string to_text(const CapacityQuotaPlan& answer);
std::string to_text(const CapacityQuotaReserved& answer);
std::string to_text(const std::vector<LiveReservation>& answer);
std::string to_text(const CapacityQuotaHeadroom& answer);
std::string to_text(const std::vector<CapacityQuotaStatus>& answer);
std::string to_text(const CapacityQuotaWhatIf& answer);

}  // namespace oracle
