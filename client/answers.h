// What a headroomd answers; see client.h for the questions.
//
// Plain values, which stay valid whatever the client does next. A field says what that of the same
// name says in schema/headroom.fbs, whose enums are used as they are; a text that was absent is "".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects/error.h"
#include "objects/not_considered.h"
#include "schema/headroom_generated.h"

namespace headroom::answers {

// --- Decisions ---

struct PluginScore {
  std::uint8_t plugin = 0;  // its place in Greeting::plugin_names
  std::int64_t raw = 0;     // 0 unless EvaluateRequest::raw_scores
  std::int32_t score = 0;
};

struct Candidate {
  std::string node_name;
  std::uint32_t node_index = 0;
  std::int64_t total = 0;
  std::vector<PluginScore> plugins;  // with EvaluateRequest::scores
};

struct ReasonCount {
  std::string reason;
  std::uint32_t nodes = 0;
};

struct Decision {
  wire::Code code = wire::Code::Success;
  std::uint32_t nodes = 0, feasible = 0;
  std::vector<Candidate> candidates;  // best first
  std::vector<ReasonCount> reasons;
  std::vector<std::string> pre_filter;
  std::vector<NotConsidered> not_considered;
};

struct Evaluated {
  std::uint64_t epoch = 0;
  std::vector<Decision> decisions;  // in the pods' order
  Result<void> reserved;            // why EvaluateRequest::reserve was not done
};

struct Placed {
  std::uint64_t epoch = 0;
  std::vector<std::string> node_names;      // in the pods' order; "": none was found
  std::vector<std::uint32_t> node_indices;  // likewise
  std::vector<Decision> failures;           // of the pods without a node, in their order
};

struct NodeVerdict {
  wire::Code code = wire::Code::Unschedulable;
  std::uint8_t plugin = 0;  // its place in Greeting::plugin_names
  std::vector<std::string> reasons;
};

struct NodeStanding {
  std::string node_name;
  std::optional<std::uint16_t> verdict;  // place in NodesEvaluated::verdicts; none: feasible
  std::int64_t total = 0;
};

struct NodesEvaluated {
  std::uint64_t epoch = 0;
  std::uint32_t nodes = 0;
  std::vector<std::string> pre_filter;
  std::vector<NodeVerdict> verdicts;
  std::vector<NodeStanding> rows;
  std::uint32_t next = 0;  // 0: these were the last
  std::vector<NotConsidered> not_considered;
};

struct ExplainTerm {
  std::string plugin, extension_point, resource;
  std::int64_t capacity = 0, aggregate = 0, need = 0;
  std::string formula;
  std::int64_t result = 0;
  bool passed = false;
  std::string note;
};

struct Explained {
  std::uint64_t epoch = 0;
  wire::Code code = wire::Code::Success;
  std::int64_t total = 0;
  std::vector<ExplainTerm> terms;
  std::vector<NotConsidered> not_considered;
};

struct BoundVolumes {
  std::uint64_t epoch = 0;
  std::vector<std::string> objects;  // each as JSON
};

struct Reservation {
  std::string namespace_name, name, uid, node_name, owner;
  std::int64_t reserved_us = 0, expires_us = 0;
};

struct Reservations {
  std::vector<Reservation> reservations;
  bool more = false;
  std::int64_t now_us = 0;
};

struct Stats {
  std::uint64_t incarnation = 0, epoch = 0, fed_sequence = 0;
  bool ready = false, resyncing = false;
  std::uint32_t nodes = 0, pods = 0, pending_pods = 0, reserved_pods = 0, shapes = 0;
  std::uint32_t connections = 0;
  std::uint64_t decisions = 0, cache_hits = 0, cold_passes = 0, rows_replayed = 0;
  std::uint64_t digest = 0;
  std::string invalid;
  std::uint32_t capacity_quotas = 0, capacity_quotas_invalid = 0, capacity_reservations = 0;
  std::uint64_t capacity_digest = 0;
  std::uint64_t memory_bytes = 0, memory_bytes_max = 0;
  std::int64_t time_us = 0;
};

// --- Elastic quotas and preemption ---

struct Victim {
  std::string namespace_name, name, uid;
  std::int32_t priority = 0;
  std::string node_name;
};

struct NodeVictims {
  std::string node_name;
  wire::Code code = wire::Code::Success;
  std::vector<std::string> reasons;
  std::vector<Victim> victims;
  std::int64_t pdb_violations = 0;
};

struct PostFiltered {
  std::uint64_t epoch = 0;
  wire::Code code = wire::Code::Success;
  std::string nominated_node;
  std::vector<Victim> victims;
  std::int64_t pdb_violations = 0;
  std::vector<std::string> reasons;
  bool cross_node = false, cross_node_would_help = false;
  std::uint32_t victims_at_least = 0;
  std::vector<NodeVictims> candidates;
  std::uint32_t candidates_left_out = 0;
  std::uint32_t nodes_dry_run = 0, nodes_ruled_out = 0;
  bool stays_nominated = false;
  std::vector<NotConsidered> not_considered;
};

struct PodVerdict {
  Victim pod;
  bool victim = false;
  std::string why;
};

struct ExplainedVictims {
  std::uint64_t epoch = 0;
  std::vector<PodVerdict> pods;
  std::uint32_t left_out = 0;
};

struct ElasticQuotaAmount {
  std::string resource;
  std::int64_t min = 0, max = INT64_MAX, used = 0, nominated = 0;
};

struct ElasticQuotaState {
  std::string namespace_name, name;
  bool over_min = false;
  std::vector<ElasticQuotaAmount> amounts;
};

struct ElasticQuotaStatus {
  std::uint64_t epoch = 0;
  std::vector<ElasticQuotaState> quotas;
  bool more = false;
};

// --- Capacity quotas ---

struct CapacityQuotaRow {
  std::string quota, resource;
  std::int64_t limit = 0, used = 0, reserved = 0, need = 0, headroom = 0, shortfall = 0;
  std::int64_t max_nodes = 0;
  bool binding = false;
};

struct SkippedCapacityQuota {
  std::string quota, why;
};

struct CapacityAnswer {
  std::int64_t allowed = 0;
  std::vector<CapacityQuotaRow> rows;
  std::uint32_t rows_left_out = 0;
};

struct CapacityChecked {
  std::uint64_t epoch = 0;
  std::vector<CapacityAnswer> answers;  // in the items' order
  std::vector<SkippedCapacityQuota> skipped;
  std::uint32_t skipped_left_out = 0;
};

struct CapacityBreak {
  std::uint32_t item = 0;
  std::int64_t fits = 0;
  std::vector<CapacityQuotaRow> rows;
  std::uint32_t rows_left_out = 0;
};

struct PlanRow {
  std::string quota, resource;
  std::int64_t limit = 0, used = 0, reserved = 0, added = 0, removed = 0, net = 0, peak = 0;
};

struct CapacityPlanned {
  std::uint64_t epoch = 0;
  std::optional<CapacityBreak> net_break, peak_break;
  std::vector<PlanRow> rows;
  std::uint32_t rows_left_out = 0;
  std::vector<SkippedCapacityQuota> skipped;
  std::uint32_t skipped_left_out = 0;
};

struct CapacityReserved {
  std::uint64_t epoch = 0;
  bool accepted = false;
  std::vector<std::int64_t> allowed;
  std::optional<CapacityBreak> stopped;
  std::int64_t now_us = 0;
  std::vector<SkippedCapacityQuota> skipped;
  std::uint32_t skipped_left_out = 0;
};

struct CapacityAmount {
  std::string resource;
  std::int64_t limit = 0, used = 0, reserved = 0;
};

struct CapacityQuotaState {
  std::string id, name;
  wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota;
  std::int64_t generation_in_force = 0, generation = 0;
  bool in_force = false;
  std::string invalid;
  std::uint64_t nodes = 0;
  std::vector<CapacityAmount> amounts;
};

struct CapacityQuotaStatus {
  std::uint64_t epoch = 0;
  std::vector<CapacityQuotaState> quotas;
  bool more = false;
};

struct CapacityReservation {
  std::string id;
  std::int64_t expires_us = 0, nodes_left = 0, nodes_registered = 0;
};

struct CapacityReservations {
  std::uint64_t epoch = 0;
  std::vector<CapacityReservation> reservations;
  bool more = false;
  std::int64_t now_us = 0;
};

}  // namespace headroom::answers
