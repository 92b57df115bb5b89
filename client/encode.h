// Objects and requests as wire tables. What a client must compute is nothing: this only copies.
//
// Thread safety: pure functions over the builder. Cost: one copy of the fields; no allocation once
// the builder has grown, but for objects with lists of more than some dozen items.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "objects/objects.h"
#include "schema/headroom_generated.h"
#include "schema/write.h"

namespace headroom {

// A pod to decide on: by uid where it was fed as pending, else whole.
struct PodRef {
  const Pod* pod = nullptr;
  std::string_view uid;

  PodRef(const Pod& whole) : pod(&whole) {}  // NOLINT: a pod is a way to name itself
  static PodRef by_uid(std::string_view uid) { return PodRef(uid); }

 private:
  explicit PodRef(std::string_view known) : uid(known) {}
};

struct ReserveRequest {
  PodRef pod;
  std::string_view node_name;
};

struct EvaluateRequest {
  std::uint32_t top_k = 1;
  bool scores = false;
  bool raw_scores = false;  // with scores
  bool reasons = false;
  const ReserveRequest* reserve = nullptr;  // done first
};

// All nodes from place `from` on, or these; see schema/headroom.fbs.
struct EvaluateNodesRequest {
  std::span<const std::string> node_names = {};
  std::uint32_t from = 0;
  // With one node name: as if these were not there, and these were.
  std::span<const PodName> without_pods = {};
  std::span<const PodRef> with_pods = {};
};

// Nodes that may be created: labels and capacity count.
struct CapacityItem {
  const Node* node = nullptr;  // not null
  std::int64_t count = 0;
};

struct CapacityReserveRequest {
  std::string_view id;
  std::span<const CapacityItem> items;
  std::int64_t expires_us = 0;
  wire::ReserveMode mode = wire::ReserveMode::All;
};

flatbuffers::Offset<wire::Node> encode(Builder& builder, const Node& node);
flatbuffers::Offset<wire::Pod> encode(Builder& builder, const Pod& pod);
flatbuffers::Offset<wire::NodeMetric> encode(Builder& builder, const NodeMetric& metric);
flatbuffers::Offset<wire::ElasticQuota> encode(Builder& builder, const ElasticQuota& quota);
flatbuffers::Offset<wire::PodDisruptionBudget> encode(Builder& builder,
                                                      const PodDisruptionBudget& budget);
flatbuffers::Offset<wire::PriorityClass> encode(Builder& builder,
                                                const PriorityClass& priority_class);
flatbuffers::Offset<wire::CapacityQuota> encode(
    Builder& builder, const CapacityQuota& quota,
    wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota);
flatbuffers::Offset<wire::ReferredObject> encode(Builder& builder, const ReferredObject& object);

// `quota_class`: of a CapacityQuota.
flatbuffers::Offset<wire::Change> encode_upsert(
    Builder& builder, const Object& object,
    wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota);
flatbuffers::Offset<wire::Change> encode_removed_node(Builder& builder, std::string_view name);
flatbuffers::Offset<wire::Change> encode_removed_pod(Builder& builder,
                                                     std::string_view namespace_name,
                                                     std::string_view name);
flatbuffers::Offset<wire::Change> encode_removed_node_metric(Builder& builder,
                                                             std::string_view name);
flatbuffers::Offset<wire::Change> encode_removed_elastic_quota(Builder& builder,
                                                               std::string_view namespace_name,
                                                               std::string_view name);
flatbuffers::Offset<wire::Change> encode_removed_pod_disruption_budget(
    Builder& builder, std::string_view namespace_name, std::string_view name);
flatbuffers::Offset<wire::Change> encode_removed_priority_class(Builder& builder,
                                                                std::string_view name);
// `key`: as key_of() has it.
flatbuffers::Offset<wire::Change> encode_removed_referred_object(Builder& builder,
                                                                 ReferredKind kind,
                                                                 std::string_view key);
flatbuffers::Offset<wire::Change> encode_removed_capacity_quota(
    Builder& builder, std::string_view name,
    wire::CapacityQuotaClass quota_class = wire::CapacityQuotaClass::CapacityQuota);

flatbuffers::Offset<wire::Evaluate> encode_evaluate(Builder& builder, std::span<const PodRef> pods,
                                                    const EvaluateRequest& request);
flatbuffers::Offset<wire::EvaluateNodes> encode_evaluate_nodes(Builder& builder, const PodRef& pod,
                                                               const EvaluateNodesRequest& request);
flatbuffers::Offset<wire::Place> encode_place(Builder& builder, std::span<const PodRef> pods,
                                              bool reasons);
flatbuffers::Offset<wire::Reserve> encode_reserve(Builder& builder, const ReserveRequest& request);
flatbuffers::Offset<wire::Unreserve> encode_unreserve(Builder& builder, const Pod& pod,
                                                      std::string_view node_name);
// `after` without a name: from the first.
flatbuffers::Offset<wire::Reservations> encode_reservations(Builder& builder, const PodName& after);
flatbuffers::Offset<wire::Explain> encode_explain(Builder& builder, const PodRef& pod,
                                                  std::string_view node_name);
flatbuffers::Offset<wire::BoundVolumes> encode_bound_volumes(Builder& builder, const PodRef& pod,
                                                             std::string_view node_name);
flatbuffers::Offset<wire::PostFilter> encode_post_filter(Builder& builder, const PodRef& pod,
                                                         bool candidates);
flatbuffers::Offset<wire::ElasticQuotaStatus> encode_elastic_quota_status(Builder& builder,
                                                                          std::string_view after);
flatbuffers::Offset<wire::ExplainVictims> encode_explain_victims(Builder& builder,
                                                                 const PodRef& pod,
                                                                 std::string_view node_name);
flatbuffers::Offset<wire::CapacityCheck> encode_capacity_check(Builder& builder,
                                                               std::span<const CapacityItem> items,
                                                               bool binding_only);
flatbuffers::Offset<wire::CapacityPlan> encode_capacity_plan(Builder& builder,
                                                             std::span<const CapacityItem> add,
                                                             std::span<const std::string> remove);
flatbuffers::Offset<wire::CapacityReserve> encode_capacity_reserve(
    Builder& builder, const CapacityReserveRequest& request);
flatbuffers::Offset<wire::CapacityRelease> encode_capacity_release(Builder& builder,
                                                                   std::string_view id);
flatbuffers::Offset<wire::CapacityQuotaStatus> encode_capacity_quota_status(Builder& builder,
                                                                            std::string_view after);
flatbuffers::Offset<wire::CapacityReservations> encode_capacity_reservations(
    Builder& builder, std::string_view after);

}  // namespace headroom
