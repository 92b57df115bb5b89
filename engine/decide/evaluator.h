// Evaluator: decisions over a cluster, by the kernels and the shape cache where that pays, row by
// row where it does not.
//
// Three ways to one answer, chosen per shape: cached (lines kept up to date), pinned (the pod names
// its nodes: only those are looked at), and exact (scores that no line holds, needs that depend on
// the node, host ports, every node's detail).
// Thread safety: one thread at a time; evaluate() of several pods uses TBB inside.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/answers.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/supposition.h"
#include "engine/decide/applied_rows.h"
#include "engine/decide/asked_pod.h"
#include "engine/decide/exact_look.h"
#include "engine/decide/shape_cache.h"
#include "engine/options.h"

namespace headroom {

class Evaluator {
 public:
  Evaluator(Cluster& cluster, const Kernels& kernels, const EngineOptions& options);

  Result<void> evaluate(const Pod& pod, const EvaluateOptions& options, Decision& decision);
  Result<bool> prepare(const Pod& pod, const Pause& pause);
  Result<bool> evaluate(const Pod& pod, const EvaluateOptions& options, const Pause& pause,
                        Decision& decision);
  Result<ShapeIndex> shape_of(const Pod& pod);
  Result<void> evaluate(ShapeIndex shape, const EvaluateOptions& options, Decision& decision);
  // `shape` is the pod's and decidable.
  Result<void> evaluate(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                        Decision& decision);
  // The pod's own nominated node where that takes it: no other is looked at then, and nothing
  // scored. Else evaluate(). Source: kube-scheduler's evaluateNominatedNode.
  Result<void> decide(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                      Decision& decision);
  Result<std::vector<Decision>> evaluate(std::span<const Pod> pods, const EvaluateOptions& options);
  Result<std::vector<NodeDetail>> evaluate_all(const Pod& pod);
  Result<PreFilterStatus> pre_filter(const Pod& pod);
  Result<void> evaluate_nodes(const Pod& pod, NodesDecision& decision);
  Result<NodeDetail> filter(const Pod& pod, std::uint32_t row, const FilterOptions& options);
  // `options` say something of one node at most.
  Result<void> filter(const Pod& pod, std::span<const NodeIndex> nodes,
                      const FilterOptions& options, NodesDecision& decision);
  Result<bool> passes(const Pod& pod, std::uint32_t row);
  Result<bool> has_room(ShapeIndex index, std::uint32_t row);
  Result<Explanation> explain(const Pod& pod, std::uint32_t row);
  Result<std::vector<ReferredObject>> bound_volumes(const Pod& pod, std::uint32_t row);
  EngineStats stats() const;
  void drop_cache() noexcept;

  // The decision alone, for a pod that passed the pre-filter and counts nowhere.
  void decide_on_nodes(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                       Decision& decision);
  // The pod in the parts that decide, prepared: for all rows, or for some that are looked at one by
  // one. Nominated pods are expected.
  AskedPod ask(const Pod& pod, PodShape& shape);
  AskedPod ask_for_rows(const Pod& pod, PodShape& shape);
  // A turn of what asking begins with; see Applications::tell_apart().
  bool tell_apart(const Pod& pod, const Pause& pause);
  // What one row says, for whoever looks at rows one by one. The shape is prepared.
  std::uint32_t row_code(const AskedPod& asked, std::uint32_t row);
  // What the row's class says of the shape, alone.
  std::uint32_t row_class_code(const PodShape& shape, std::uint32_t row,
                               const std::vector<std::string>& named);
  // Code and reasons of a row that rejects with `code`.
  NodeVerdict verdict(const PodShape& shape, std::uint32_t row, std::uint32_t code) const;
  void describe(const PodShape& shape, std::uint32_t row, std::uint32_t code,
                NodeDetail& detail) const;
  bool is_error(const PodShape& shape, std::uint32_t code) const;
  // A decision for the shape comes soon: begins to fetch from memory what is cached of it.
  void fetch(const PodShape& shape) const { cache_.fetch(shape); }

 private:
  // The pod's shape, and all that is looked at before rows are; nullptr: some is left for another
  // turn.
  Result<PodShape*> prepared_shape(const Pod& pod, const Pause& pause);
  // kNotFound: it was never handed out.
  Result<PodShape*> shape_at(ShapeIndex index);
  // What the rows say one by one: feasible rows with raw scores, and counts of codes.
  struct ExactRow {
    std::uint32_t row;
    std::int64_t raw[kScoresMax];
    std::int64_t score[kScoresMax];
    std::int64_t total;
  };
  struct ExactAnswer {
    std::vector<ExactRow> rows;
    std::vector<ScoredRows> applied;  // what the application says of each; empty without one
    std::vector<CodeCount> codes;
    std::vector<std::uint32_t> row_codes;  // of every row, if asked for
    bool invalid_score = false;  // outside [0, 100] after normalisation, or a plugin failed
  };
  // What the raw scores of all feasible rows range over, by normalised score.
  struct Extremes {
    std::int64_t lo[kNormalizedMax] = {}, hi[kNormalizedMax] = {};
  };
  // One row of all: why it is infeasible, or its scores among the feasible ones.
  struct RowOfAll {
    std::uint32_t code = 0;
    ExactRow scored{};  // where the code is 0
    ScoredRows applied;
    Extremes extremes;
    std::size_t feasible = 0;  // of all rows
  };

  // Whether the row's filters pass the pod. Not `scored`: a score that fails is not asked for, as
  // where one node is all there is.
  bool takes(const Pod& pod, PodShape& shape, std::uint32_t row, bool scored);
  AskedPod ask(const Pod& pod, PodShape& shape, Application* application);
  AskedPod begin_asking(const Pod& pod, PodShape& shape, Application* application);
  void look_at_application(const Pod& pod, AskedPod& asked);
  void decide(AskedPod& asked, const EvaluateOptions& options, Decision& decision);
  void decide_cached(CachedShape& found, const PodShape& shape, const EvaluateOptions& options,
                     Decision& decision);
  void decide_exact(const ExactAnswer& answer, const AskedPod& asked,
                    const EvaluateOptions& options, Decision& decision) const;
  // All but the candidates: who sets these writes over the last ones, whose memory is theirs.
  void begin(Decision& decision) const;
  // On every node, before any is looked at.
  void reject(Code code, std::vector<std::string> reasons, Decision& decision) const;
  void end(const PodShape& shape, const std::vector<CodeCount>& codes,
           const EvaluateOptions& options, Decision& decision) const;
  // A plugin failed: whatever passes, no node is chosen.
  static void end_in_error(Decision& decision);

  std::uint32_t column_code(const PodShape& shape, std::uint32_t row,
                            const std::vector<std::string>& named);
  Truth row_truth(const PodShape& shape, std::uint32_t row);
  ExactAnswer exact_answer(AskedPod& asked, bool every_row);
  std::uint32_t look_at(const AskedPod& asked, std::uint32_t row, ExactAnswer& answer);
  bool rows_of_columns(PodShape& shape, ExactAnswer& answer);
  void rows_of_look(PodShape& shape, bool every_row, ExactAnswer& answer);
  void rows_named(const AskedPod& asked, const std::vector<std::string>& names,
                  ExactAnswer& answer);
  void apply(AskedPod& asked, ExactAnswer& answer) const;
  // Over a cached answer of the columns (application_answer.cpp). Valid until the next of any
  // application.
  const AppliedRows& apply_by_class(CachedShape& found, AskedPod& asked);
  ScoredRows with_images(const AskedPod& asked, ScoredRows entry, std::uint32_t row) const;
  void decide_applied(CachedShape& found, AskedPod& asked, const EvaluateOptions& options,
                      Decision& decision);
  // Whether columns and classes, cached, tell all of it.
  static bool is_cacheable(const AskedPod& asked) {
    return asked.named.empty() && !asked.shape.row_by_row() &&
           (asked.application == nullptr || !asked.application->rows_only);
  }
  // nullptr: all looks are under way for other shapes.
  ExactLook* look_of(const PodShape& shape);
  bool bring_up(ExactLook& look, PodShape& shape, const Pause& pause);
  bool look_ahead(const Pod& pod, PodShape& shape, const Pause& pause);
  void look_at(ExactLook& look, const PodShape& shape, std::uint32_t row);
  RowOfAll row_of_all(AskedPod& asked, std::uint32_t row);
  void score_exactly(const PodShape& shape, ExactAnswer& answer);
  void read_raw(const PodShape& shape, std::uint32_t row, std::int64_t* raw);
  static void count_code(std::vector<CodeCount>& codes, std::uint32_t code, std::uint32_t rows);
  static Extremes extremes_of(const PodShape& shape, const ExactAnswer& answer);
  // False: a score is outside [0, 100].
  bool normalize_row(const PodShape& shape, const Extremes& extremes, ExactRow& row) const;
  // nullptr without an application.
  static const ScoredRows* applied_of(const ExactAnswer& answer, const ExactRow& row) {
    return answer.applied.empty()
               ? nullptr
               : &answer.applied[static_cast<std::size_t>(&row - answer.rows.data())];
  }
  PluginScores plugin_scores(const AskedPod& asked, const ExactRow& row,
                             const ScoredRows* applied) const;

  // Rows into NodesDecision (node_standings.cpp).
  class Standings;
  void begin(NodesDecision& decision) const;
  static void note_pre_filter(PreFilterStatus status, const AskedPod& asked,
                              NodesDecision& decision);
  void look_at_all(AskedPod& asked, NodesDecision& decision);
  // Of a row that rejects with `code`: is a need above the node's whole capacity?
  bool beyond_capacity(const PodShape& shape, std::uint32_t row, std::uint32_t code) const;
  bool explain_class(std::uint32_t code, Explanation& out) const;
  void explain_filters(const PodShape& shape, std::uint32_t row, Explanation& out) const;
  static void explain_normalized(const PodShape& shape, const RowOfAll& its, Explanation& out);
  void explain_notes(const PodShape& shape, std::uint32_t row, Explanation& out) const;
  Code explain_before_nodes(const Pod& pod, const PodShape& shape, Explanation& out) const;
  void explain_ports(const Pod& pod, const PodShape& shape, std::uint32_t row,
                     Explanation& out) const;
  void explain_scores(const PodShape& shape, std::uint32_t row, Explanation& out);

  Cluster& cluster_;
  const TieOrder tie_order_;
  ShapeCache cache_;
  std::array<ExactLook, kExactLooksMax> looks_;
  ExactLook passing_look_;  // where all of those are under way, or the cache is off
  std::uint64_t look_uses_ = 0;
  std::uint64_t decisions_ = 0;
  // Pods whose shapes were handed out, where they have applications: by ShapeIndex, and by both
  // keys.
  struct HandedOut {
    Pod pod;
    ShapeId shape;
    Applications::Known application;
  };
  std::vector<HandedOut> handed_out_;
  BytesMap<std::string, std::uint32_t> handed_out_ids_;
  AppliedRows applied_;               // scratch
  std::vector<CodeCount> codes_;      // scratch
  std::vector<RowTotal> best_;        // scratch
  std::vector<std::int32_t> totals_;  // scratch
  std::vector<std::int64_t> truth_;   // scratch
  NodesDecision single_;              // scratch
  const std::vector<std::uint8_t> no_scores_;
};

}  // namespace headroom
