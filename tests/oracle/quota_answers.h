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

enum class QuotaClass { kClusterWide, kMaxNodes, kNodeGroup, kCapacityQuota };

struct QuotaRow {
  std::string quota, resource;
  Int128 limit = 0, used = 0, reserved = 0, need = 0, headroom = 0, shortfall = 0;
  std::int64_t max_nodes = 0;
  bool binding = false;
  bool exceeded() const { return need > headroom; }
  friend bool operator==(const QuotaRow&, const QuotaRow&) = default;
};

struct QuotaCheck {
  std::int64_t allowed = 0;
  std::vector<QuotaRow> rows;
  std::vector<std::string> skipped;  // ids of quotas without a spec that can be used
  friend bool operator==(const QuotaCheck&, const QuotaCheck&) = default;
};

struct QuotaPlanBreak {
  std::size_t item = 0;
  std::int64_t fits = 0;
  // The binding rows: used without the removed nodes (net), reserved with the items before.
  std::vector<QuotaRow> rows;
  friend bool operator==(const QuotaPlanBreak&, const QuotaPlanBreak&) = default;
};

struct QuotaPlanRow {
  std::string quota, resource;
  Int128 limit = 0, used = 0, reserved = 0, added = 0, removed = 0, net = 0, peak = 0;
  friend bool operator==(const QuotaPlanRow&, const QuotaPlanRow&) = default;
};

struct QuotaPlan {
  std::optional<QuotaPlanBreak> net_break, peak_break;
  std::vector<QuotaPlanRow> rows;
  std::vector<std::string> skipped;
  friend bool operator==(const QuotaPlan&, const QuotaPlan&) = default;
};

struct QuotaReserved {
  bool accepted = false;
  std::vector<std::int64_t> allowed;
  std::optional<QuotaPlanBreak> stopped;
  std::vector<std::string> skipped;
  friend bool operator==(const QuotaReserved&, const QuotaReserved&) = default;
};

struct LiveReservation {
  std::string id;
  std::int64_t expires_us = 0, left = 0, registered = 0;
  friend bool operator==(const LiveReservation&, const LiveReservation&) = default;
};

struct QuotaHeadroom {
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
  friend bool operator==(const QuotaHeadroom&, const QuotaHeadroom&) = default;
};

struct QuotaStatus {
  struct Amount {
    std::string resource;
    Int128 limit = 0, used = 0, reserved = 0;
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  std::string id, name;
  QuotaClass quota_class = QuotaClass::kCapacityQuota;
  std::int64_t generation_in_force = 0, generation = 0;
  bool in_force = false, invalid = false;
  std::uint64_t nodes = 0;
  std::vector<Amount> amounts;
  friend bool operator==(const QuotaStatus&, const QuotaStatus&) = default;
};

struct QuotaWhatIf {
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
  friend bool operator==(const QuotaWhatIf&, const QuotaWhatIf&) = default;
};

// For people, where two answers differ.
std::string to_text(Int128 number);
std::string to_text(const QuotaCheck& answer);
std::string to_text(const QuotaPlan& answer);
std::string to_text(const QuotaReserved& answer);
std::string to_text(const std::vector<LiveReservation>& answer);
std::string to_text(const QuotaHeadroom& answer);
std::string to_text(const std::vector<QuotaStatus>& answer);
std::string to_text(const QuotaWhatIf& answer);

}  // namespace oracle
