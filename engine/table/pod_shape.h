// PodShape: everything about a pod that can change an answer, worked out once and shared by all
// pods that have it in common (128 shapes in a real trace of 8,152 pods).
//
// A shape holds what a pod of it adds to its node (contributions), what it asks of a node's class,
// and the program that the kernels run for it. Immutable but for the members that say otherwise,
// and described anew where a name of a resource means something else. A shape lives as long as a
// pod counts by it or a caller holds it, then as long as the shape cache has room for it; those of
// pods that name their nodes or ask for host ports, which few have in common, for one decision.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/answers.h"
#include "engine/kept/host_ports.h"
#include "engine/limits.h"
#include "engine/profile/profile.h"
#include "engine/table/node_class.h"
#include "engine/table/node_table.h"
#include "engine/table/resource_names.h"
#include "kernels/kernels.h"

namespace headroom {

inline constexpr std::uint32_t kShapesMax = 1'000'000;
// What tables by number and by key, and the order of use, keep of a shape; rounded up.
inline constexpr std::size_t kShapeIndexBytes = 256;

using ShapeId = std::uint32_t;
// Of a shape that is not kept: that of a pod that names its nodes or asks for host ports.
inline constexpr ShapeId kPassingShape = UINT32_MAX;
inline constexpr ShapeId kNoShape = kPassingShape;

// What a filter term is about, for reasons and explanations. One per FilterTerm.
struct FilterLabel {
  PluginId plugin;
  std::string resource;  // empty where the term is not about one
  Code code = Code::kUnschedulable;
  // The node's whole capacity for the resource: a need above it is unresolvable. kNoColumn: never.
  ColumnId capacity;
  std::string reason;
  bool of_score = false;  // an Error that scoring answers: preemption never asks
};
inline constexpr ColumnId kNoColumn = UINT32_MAX;

struct ScoreLabel {
  PluginId plugin;
  std::int64_t weight;
  std::vector<ResourceId> resources;  // of the terms
};

// LoadAwareScheduling's view of a pod; see load_aware.h.
struct LoadShape {
  bool counted = true;                 // false: a reservation's placeholder pod
  bool prod = false;                   // priority class koord-prod
  bool estimated = false;              // some estimate is not 0
  std::vector<std::int64_t> estimate;  // by dimension
  std::int64_t after_initialized_us = 0, after_scheduled_us = 0;  // 0: no such deadline
};

// A need that depends on the node: the greatest of constant + count * allocatable. Where a
// container's limit defaults to the node's allocatable (ResourceLimitAware).
struct AllocatableNeed {
  struct Line {
    Quantity constant;
    std::int64_t count;
  };
  ResourceId resource;
  SumId sum;
  ColumnId headroom;
  std::vector<Line> lines;

  // In the resource's unit, rounded once.
  std::int64_t at(const Quantity& allocatable) const;
};

// What the policies say of the shape's pods.
struct ShapeDescription {
  std::vector<Contribution> contributions;
  std::vector<AllocatableNeed> allocatable_needs;  // contributions too, and needs of score terms
  LoadShape load;
  Amounts elastic_quota_request;  // what the pod asks of its quota, keys of 0 included

  std::vector<FilterTerm> filter_terms;
  std::vector<FilterLabel> filter_labels;
  std::vector<FilterPlugin> filter_plugins;
  std::uint32_t error_terms = 0;          // bits of the terms whose failure is an Error
  std::vector<std::string_view> reasons;  // of the terms, sorted, each once
  std::size_t reason_bytes = 0;           // of texts that no other shape had given
  std::vector<std::uint8_t> reason_of;    // by term: which of them
  std::vector<std::vector<ScoreTerm>> score_terms;
  std::vector<Score> scores;  // normalised first
  std::vector<ScoreLabel> score_labels;
  std::vector<std::uint8_t> score_order;  // indices of scores in the profile's order
  std::uint32_t normalized = 0;
  std::vector<std::string> ignored;  // annotations and labels that were not usable, for explain()
};

struct PodShape : ShapeDescription {
  ShapeId id = 0;
  ShapeId counts_as = 0;       // the shape of such pods without `constraint`
  std::string key;             // what pods of the shape have in common
  std::uint64_t key_hash = 0;  // of it
  // Grows with every description: what was cached under another one is worth nothing.
  std::uint64_t version = 0;
  std::vector<std::string> names;  // extended resources that the pods name, sorted
  bool daemon_set = false;
  bool normalize_in_double = false;

  ClassConstraint constraint;
  std::optional<std::vector<std::string>> pinned;  // constraint.pinned()
  // Mutable, once `is_read` by ShapeBook::read(): constraint as it is held against classes
  // (nullptr: it asks for none), and of RowClasses' splits the last that has to be done before a
  // decision.
  bool is_read = false;
  std::unique_ptr<const NodeAffinity> affinity;
  std::uint64_t split = 0;
  HostPorts host_ports;  // that its node must have free

  // Mutable: the code of each class so far known, and the generation of classes it is for. None
  // where the pod names its nodes.
  std::vector<std::uint32_t> class_codes;
  std::uint64_t class_generation = 0;
  // Mutable: the filter terms without those that no row can fail now (columns that are kUnlimited
  // everywhere), and the generation of NodeTable::limited() that this holds for.
  std::vector<FilterTerm> active_terms;
  std::vector<FilterPlugin> active_plugins;
  std::uint64_t active_generation = UINT64_MAX;

  // Mutable: how many need it (pods, shapes that count as it, callers), whether a caller has its
  // number for good, its place in the order of use, and the bytes that count there.
  std::uint32_t users = 0;
  bool handed_out = false;
  bool in_use_order = false;
  std::list<ShapeId>::iterator use_place;
  std::size_t cached_bytes = 0, counted_bytes = 0;

  // What it takes, as measure() found it: without class_codes and what is cached for it.
  std::size_t own_bytes = 0;
  void measure();
  // Columns do not say all: no cached answer, each row is looked at.
  bool row_by_row() const {
    return pinned.has_value() || !allocatable_needs.empty() || !host_ports.empty();
  }
  void activate(const NodeTable& table);
  Program program() const {
    return {class_codes.data(), active_terms, active_plugins, scores, normalized};
  }
};

// Collects a shape's program from the policies.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(ShapeDescription& shape) : shape_(shape) {}

  // The terms of one plugin, in the order of its reasons, then end_filter().
  void add_filter_term(FilterLabel label, ColumnId column, std::int64_t need);
  void end_filter(bool first_only);
  // `terms` and `resources` side by side.
  void add_score(PluginId plugin, std::int64_t weight, Score score, std::vector<ScoreTerm> terms,
                 std::vector<ResourceId> resources, bool normalized);
  // Once all terms and scores are there; `scores` are the profile's.
  void finish(const std::vector<ScorePlugin>& scores);

 private:
  ShapeDescription& shape_;
  std::size_t first_term_ = 0;  // of the plugin being built
};

ScoreTerm score_term(ColumnId headroom, ColumnId capacity, std::int64_t need, std::int64_t weight);

}  // namespace headroom
