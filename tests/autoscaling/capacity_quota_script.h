// Scripts for CapacityQuotas: changes and questions, put to the product and to the oracle, which
// have to agree after each. A script that fails is made as short as it can be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autoscaling/capacity_quotas.h"
#include "oracle/quotas/capacity_quota.h"

namespace headroom {

// Changes. After each: validate(), status, reservations, the clock, the kinds of nodes; and status
// changes only with the digest.
struct NodeStep {
  Node node;
};
struct NodeGoneStep {
  std::string name;
};
struct CapacityQuotaEditStep {
  CapacityQuota quota;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
struct CapacityQuotaGoneStep {
  std::string name;
  CapacityQuotaClass quota_class = CapacityQuotaClass::kCapacityQuota;
};
struct ReserveStep {
  std::string id;
  std::vector<oracle::CapacityQuotaItem> items;
  std::int64_t expires_us = 0;
  ReserveMode mode = ReserveMode::kAll;
};
struct ReleaseStep {
  std::string id;
};
struct AdvanceStep {
  std::int64_t now_us = 0;
};
// A fresh copy replaces the facts, as in a resync: without some nodes and with others, later. Not
// in a fork.
struct AdoptStep {
  std::vector<std::string> gone;
  std::vector<Node> added;
  std::int64_t later_us = 0;
};
// Many keys, classes of labels, resources or sets of labels that come and go again: what is kept of
// them is dropped at some point, which no answer shows.
enum class Churn : std::uint8_t { kKeys, kClasses, kResources, kLabelSets };
struct ChurnStep {
  Churn churn = Churn::kKeys;
};
struct ForkStep {};
struct RollbackStep {};  // nothing without a fork, as CommitStep
struct CommitStep {};

// Questions.
struct CheckStep {
  std::vector<oracle::CapacityQuotaItem> items;  // each by itself
};
struct PlanStep {
  std::vector<oracle::CapacityQuotaItem> add;
  std::vector<std::string> remove;
};
struct HeadroomStep {
  std::vector<Node> templates;
};
struct MaxTotalStep {
  std::vector<oracle::CapacityQuotaItem> items;
};
struct WhatIfStep {
  std::vector<CapacityQuotaChange> changes;
  std::vector<Node> templates;
};
// The plan, where it is accepted, in a random order: no limit that it touches is passed.
struct CarryOutStep {
  std::vector<oracle::CapacityQuotaItem> add;
  std::vector<std::string> remove;
  std::uint64_t seed = 0;
};
// The same facts in another order give the same digest.
struct ReplayStep {
  std::uint64_t seed = 0;
};

using CapacityQuotaStep =
    std::variant<NodeStep, NodeGoneStep, CapacityQuotaEditStep, CapacityQuotaGoneStep, ReserveStep,
                 ReleaseStep, AdvanceStep, AdoptStep, ChurnStep, ForkStep, RollbackStep, CommitStep,
                 CheckStep, PlanStep, HeadroomStep, MaxTotalStep, WhatIfStep, CarryOutStep,
                 ReplayStep>;

struct CapacityQuotaScript {
  CapacityQuotasOptions options;
  std::vector<CapacityQuotaStep> steps;
};

// What differs, with the step's number; nullopt where nothing does.
std::optional<std::string> run_capacity_quota_script(const CapacityQuotaScript& script);

// For a script that fails: the steps that are left when as many as possible are taken out, and what
// differs.
std::string capacity_quota_failure_report(CapacityQuotaScript script);

}  // namespace headroom
