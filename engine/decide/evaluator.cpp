#include "engine/decide/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/exact.h"

namespace headroom {

namespace {

Result<void> check(const EvaluateOptions& options) {
  if (options.top_k == 0 || options.top_k > kTopKMax) {
    return fail(ErrorCode::kInvalid,
                fmt::format("top_k: {} is not in [1, kTopKMax = {}]", options.top_k, kTopKMax));
  }
  return {};
}

}  // namespace

Evaluator::Evaluator(Cluster& cluster, const Kernels& kernels, const EngineOptions& options)
    : cluster_(cluster), tie_order_{options.seed}, cache_(cluster, kernels, options) {}

// --- One decision ---

Result<void> Evaluator::evaluate(const Pod& pod, const EvaluateOptions& options,
                                 Decision& decision) {
  const auto shape = cluster_.shapes().for_decision(pod);
  return shape ? evaluate(pod, **shape, options, decision) : tl::unexpected(shape.error());
}

Result<PodShape*> Evaluator::prepared_shape(const Pod& pod, const Pause& pause) {
  ShapeBook& shapes = cluster_.shapes();
  const std::uint64_t descriptions = shapes.descriptions();
  const auto shape = shapes.for_decision(pod);
  if (!shape) {
    return shape;
  }
  // Of a pod that names thousands of nodes a new shape is a long piece, its application another,
  // and what the shape reads a third. A passing shape would be made anew.
  const bool pauses = shapes.descriptions() != descriptions && (*shape)->id != kPassingShape;
  if ((pauses && pause()) || !tell_apart(pod, pause) || !cluster_.prepare(**shape, pause) ||
      !look_ahead(pod, **shape, pause)) {
    return nullptr;
  }
  return shape;
}

Result<bool> Evaluator::prepare(const Pod& pod, const Pause& pause) {
  const auto shape = prepared_shape(pod, pause);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  return *shape != nullptr;
}

Result<bool> Evaluator::evaluate(const Pod& pod, const EvaluateOptions& options, const Pause& pause,
                                 Decision& decision) {
  const auto shape = prepared_shape(pod, pause);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (*shape == nullptr) {
    return false;
  }
  if (auto evaluated = evaluate(pod, **shape, options, decision); !evaluated) {
    return tl::unexpected(evaluated.error());
  }
  return true;
}

Result<void> Evaluator::evaluate(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                                 Decision& decision) {
  if (auto checked = check(options); !checked) {
    return checked;
  }
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  if (const PreFilterStatus status = cluster_.pre_filter(pod, shape);
      status.code == Code::kSuccess) {
    decide_on_nodes(pod, shape, options, decision);
  } else {
    ++decisions_;
    reject(status.code, status.reasons, decision);
  }
  decision.not_considered = cluster_.not_considered(pod);
  return {};
}

Result<void> Evaluator::decide(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                               Decision& decision) {
  const std::uint32_t row = cluster_.nominated_row_of(pod);
  if (row == kNoRow || !takes(pod, shape, row, false)) {
    return evaluate(pod, shape, options, decision);
  }
  if (auto checked = check(options); !checked) {
    return checked;
  }
  ++decisions_;
  begin(decision);
  decision.feasible = 1;
  decision.candidates.assign(1, {.node = static_cast<NodeIndex>(row), .total = 0, .plugins = {}});
  decision.not_considered = cluster_.not_considered(pod);
  return {};
}

Result<bool> Evaluator::passes(const Pod& pod, std::uint32_t row) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  return takes(pod, **shape, row, true);
}

bool Evaluator::takes(const Pod& pod, PodShape& shape, std::uint32_t row, bool scored) {
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  if (cluster_.pre_filter(pod, shape).code != Code::kSuccess) {
    return false;
  }
  supposed.add_nominated(pod, shape);
  // Columns first, which cost little beside the application.
  cluster_.prepare_for_rows(shape);
  std::uint32_t code = column_code(shape, row, cluster_.named_node(pod));
  for (const FilterTerm& term : shape.active_terms) {
    if (!scored && (code & kClassRejection) == 0 && shape.filter_labels[term.bit].of_score) {
      code &= ~(1u << term.bit);
    }
  }
  if (code != 0) {
    return false;
  }
  const AskedPod asked = ask_for_rows(pod, shape);
  return asked.passes_pre_filter() && (!asked.look || asked.look->code(row) == 0);
}

void Evaluator::decide_on_nodes(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                                Decision& decision) {
  Supposition supposed(cluster_);
  supposed.add_nominated(pod, shape);
  AskedPod asked = ask(pod, shape);
  decide(asked, options, decision);
}

bool Evaluator::tell_apart(const Pod& pod, const Pause& pause) {
  Application* application = cluster_.applications().for_decision(pod);
  return application == nullptr || cluster_.applications().tell_apart(*application, pause);
}

AskedPod Evaluator::ask(const Pod& pod, PodShape& shape) {
  return ask(pod, shape, cluster_.applications().for_decision(pod));
}

AskedPod Evaluator::ask(const Pod& pod, PodShape& shape, Application* application) {
  AskedPod asked = begin_asking(pod, shape, application);
  cluster_.prepare(shape);
  look_at_application(pod, asked);
  return asked;
}

AskedPod Evaluator::ask_for_rows(const Pod& pod, PodShape& shape) {
  AskedPod asked = begin_asking(pod, shape, cluster_.applications().for_decision(pod));
  cluster_.prepare_for_rows(shape);
  look_at_application(pod, asked);
  return asked;
}

// Before the shape is prepared: the application may be new, and tell classes apart.
AskedPod Evaluator::begin_asking(const Pod& pod, PodShape& shape, Application* application) {
  // May split classes, whose codes the shape is to have.
  if (application != nullptr) {
    cluster_.applications().prepare(*application);
  }
  return {shape, cluster_.named_node(pod), application, {}};
}

void Evaluator::look_at_application(const Pod& pod, AskedPod& asked) {
  if (asked.application == nullptr) {
    return;
  }
  // Once more, where classes were numbered anew since.
  cluster_.applications().prepare(*asked.application);
  asked.look.emplace(cluster_.applications(), *asked.application);
  if (cluster_.nominated_rows().empty()) {
    return;
  }
  const std::int32_t priority = cluster_.priorities().of(pod).value;
  for (const std::uint32_t row : cluster_.nominated_rows()) {
    std::vector<PodId> pods = cluster_.node(row).nominated;
    std::erase_if(pods, [&](PodId id) { return cluster_.pod(id).rank.priority < priority; });
    if (!pods.empty() && cluster_.node(row).node != nullptr) {
      asked.look->expect(row, pods);
    }
  }
}

void Evaluator::reject(Code code, std::vector<std::string> reasons, Decision& decision) const {
  begin(decision);
  decision.candidates.clear();
  decision.code = code;
  decision.feasible = 0;
  decision.pre_filter = std::move(reasons);
}

Result<PreFilterStatus> Evaluator::pre_filter(const Pod& pod) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  return cluster_.pre_filter(pod, **shape);
}

Result<ShapeIndex> Evaluator::shape_of(const Pod& pod) {
  const auto shape = cluster_.shapes().for_good(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (cluster_.applications().for_decision(pod) == nullptr) {
    return static_cast<ShapeIndex>((*shape)->id);
  }
  std::string key = cluster_.applications().whole_key(pod);
  key.append(reinterpret_cast<const char*>(&(*shape)->id), sizeof(ShapeId));
  if (handed_out_.size() >= kPodsMax && !handed_out_ids_.contains(key)) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("shape_of: kPodsMax ({}) shapes with what they ask of other pods are "
                            "handed out",
                            kPodsMax));
  }
  const auto next = static_cast<std::uint32_t>(handed_out_.size());
  const auto [known, is_new] = handed_out_ids_.try_emplace(std::move(key), next);
  if (is_new) {
    handed_out_.push_back({pod, (*shape)->id, {}});
    handed_out_.back().pod.node_name.clear();
  }
  return static_cast<ShapeIndex>(known->second);
}

Result<PodShape*> Evaluator::shape_at(ShapeIndex index) {
  auto id = static_cast<std::uint32_t>(index);
  const bool handed_out = cluster_.applications().any();
  if (handed_out && id < handed_out_.size()) {
    return cluster_.shapes().at(handed_out_[id].shape);  // which stays
  }
  PodShape* shape = handed_out ? nullptr : cluster_.shapes().at(static_cast<ShapeId>(id));
  if (shape == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("shape {} is not known", id));
  }
  return shape;
}

Result<void> Evaluator::evaluate(ShapeIndex index, const EvaluateOptions& options,
                                 Decision& decision) {
  if (auto checked = check(options); !checked) {
    return checked;
  }
  const auto shape = shape_at(index);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (cluster_.applications().any()) {
    HandedOut& its = handed_out_[static_cast<std::uint32_t>(index)];
    AskedPod asked =
        ask(its.pod, **shape, cluster_.applications().for_decision(its.pod, its.application));
    decide(asked, options, decision);
    return {};
  }
  AskedPod asked{**shape, {}, nullptr, {}};
  cluster_.prepare(**shape);
  decide(asked, options, decision);
  return {};
}

Result<bool> Evaluator::has_room(ShapeIndex index, std::uint32_t row) {
  const auto shape = shape_at(index);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  cluster_.prepare_for_rows(**shape);
  return column_code(**shape, row, {}) == 0;
}

// The shape is prepared.
void Evaluator::decide(AskedPod& asked, const EvaluateOptions& options, Decision& decision) {
  ++decisions_;
  if (!asked.passes_pre_filter()) {
    reject(Code::kUnschedulableAndUnresolvable, asked.look->pre_filter(), decision);
    return;
  }
  PodShape& shape = asked.shape;
  if (is_cacheable(asked)) {
    CachedShape& found = cache_.bring_up(shape);
    const bool wide = found.wide();
    if (!wide && asked.look) {
      decide_applied(found, asked, options, decision);
    } else if (!wide) {
      decide_cached(found, shape, options, decision);
    }
    cache_.count(shape);
    if (!wide) {
      return;
    }
  }
  decide_exact(exact_answer(asked, false), asked, options, decision);
}

void Evaluator::begin(Decision& decision) const {
  decision.code = Code::kSuccess;
  decision.nodes = cluster_.node_count();
  decision.reasons.clear();
  decision.pre_filter.clear();
  decision.not_considered = {};
  decision.epoch = cluster_.table().epoch();
}

void Evaluator::end_in_error(Decision& decision) {
  decision.code = Code::kError;
  decision.candidates.clear();
}

void Evaluator::end(const PodShape& shape, const std::vector<CodeCount>& codes,
                    const EvaluateOptions& options, Decision& decision) const {
  if (decision.feasible == 0) {
    decision.code = Code::kUnschedulable;
  }
  std::uint32_t nodes[kFilterTermsMax] = {};  // by reason of the shape
  for (const CodeCount& count : codes) {
    if (count.rows == 0 || count.code == (kClassRejection | kNoNodeReason)) {
      continue;
    }
    std::uint32_t terms = count.code;
    if (is_error(shape, count.code)) {
      end_in_error(decision);
      terms &= shape.error_terms;  // an error keeps the plugin from looking further
    }
    if ((count.code & kClassRejection) != 0) {
      const Rejection& rejection = cluster_.rejections().at(count.code);
      for (std::size_t i = 0; options.reasons && i < rejection.reasons.size(); ++i) {
        decision.reasons.push_back({rejection.reasons[i], count.rows});
      }
      continue;
    }
    // A row counts once for each of its reasons, even where two of its terms say the same.
    std::uint32_t said = 0;
    for (std::uint32_t bits = terms; bits != 0; bits &= bits - 1) {
      const std::uint8_t reason = shape.reason_of[static_cast<std::size_t>(std::countr_zero(bits))];
      nodes[reason] += (said >> reason & 1) != 0 ? 0 : count.rows;
      said |= 1u << reason;
    }
  }
  if (!options.reasons) {
    return;
  }
  const bool by_class = !decision.reasons.empty();
  for (std::size_t r = 0; r < shape.reasons.size(); ++r) {
    if (nodes[r] != 0) {
      decision.reasons.push_back({shape.reasons[r], nodes[r]});
    }
  }
  if (by_class) {
    std::sort(decision.reasons.begin(), decision.reasons.end(),
              [](const auto& a, const auto& b) { return a.reason < b.reason; });
    // Several codes may give one reason.
    std::size_t kept = 0;
    for (std::size_t i = 1; i < decision.reasons.size(); ++i) {
      if (decision.reasons[i].reason == decision.reasons[kept].reason) {
        decision.reasons[kept].nodes += decision.reasons[i].nodes;
      } else {
        decision.reasons[++kept] = decision.reasons[i];
      }
    }
    decision.reasons.resize(kept + 1);
  }
}

void Evaluator::decide_cached(CachedShape& found, const PodShape& shape,
                              const EvaluateOptions& options, Decision& decision) {
  begin(decision);
  decision.feasible = found.feasible();
  found.best(options.top_k, tie_order_, best_);
  decision.candidates.resize(best_.size());
  for (std::size_t i = 0; i < best_.size(); ++i) {
    NodeScore& candidate = decision.candidates[i];
    candidate.node = static_cast<NodeIndex>(best_[i].row);
    candidate.total = best_[i].total;
    candidate.plugins.clear();
    for (const std::uint8_t s : options.plugin_scores ? shape.score_order : no_scores_) {
      const std::int32_t raw = found.raw(best_[i].row, s);
      candidate.plugins.push_back({raw, found.normalized(raw, s), shape.score_labels[s].plugin});
    }
  }
  end(shape, found.codes(), options, decision);
}

void Evaluator::decide_exact(const ExactAnswer& answer, const AskedPod& asked,
                             const EvaluateOptions& options, Decision& decision) const {
  begin(decision);
  decision.candidates.clear();
  decision.feasible = static_cast<std::uint32_t>(answer.rows.size());
  std::vector<const ExactRow*> ranked;
  for (const ExactRow& row : answer.rows) {
    ranked.push_back(&row);
  }
  const auto count = std::min<std::size_t>(options.top_k, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end(), [&](const ExactRow* a, const ExactRow* b) {
                      // Ties by the same order as in the cache: the key of equal totals.
                      return a->total != b->total
                                 ? a->total > b->total
                                 : tie_order_.key({a->row, 0}) > tie_order_.key({b->row, 0});
                    });
  for (std::size_t i = 0; i < count; ++i) {
    decision.candidates.push_back(
        {static_cast<NodeIndex>(ranked[i]->row), ranked[i]->total,
         options.plugin_scores ? plugin_scores(asked, *ranked[i], applied_of(answer, *ranked[i]))
                               : PluginScores()});
  }
  end(asked.shape, answer.codes, options, decision);
  if (answer.invalid_score) {
    end_in_error(decision);
  }
}

void Evaluator::drop_cache() noexcept {
  cache_.clear();
  cluster_.applications().drop_kept();
  for (ExactLook& look : looks_) {
    look.key.clear();
  }
}

// --- Many pods ---

Result<std::vector<Decision>> Evaluator::evaluate(std::span<const Pod> pods,
                                                  const EvaluateOptions& options) {
  if (auto checked = check(options); !checked) {
    return tl::unexpected(checked.error());
  }
  PodShapes shapes(cluster_.shapes());
  std::vector<PodShape*> looking;  // of pods that may look at nodes
  for (const Pod& pod : pods) {
    const auto shape = shapes.add(pod);
    if (!shape) {
      return tl::unexpected(shape.error());
    }
    const bool looks =
        *shape != nullptr && cluster_.pre_filter(pod, **shape).code == Code::kSuccess;
    looking.push_back(looks ? *shape : nullptr);
  }
  const std::size_t at_once = cache_.at_once();
  std::vector<Decision> decisions(pods.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    if (p % at_once == 0) {
      cache_.bring_up_all(std::span(looking).subspan(p, std::min(at_once, pods.size() - p)),
                          options.top_k, tie_order_);
    }
    if (const PodShape* next = shapes.kept(p + 1); next != nullptr) {
      cache_.fetch(*next);
    }
    if (auto evaluated = evaluate(pods[p], shapes.at(p, pods[p]), options, decisions[p]);
        !evaluated) {
      return tl::unexpected(evaluated.error());
    }
  }
  return decisions;
}

EngineStats Evaluator::stats() const {
  EngineStats stats;
  stats.decisions = decisions_;
  stats.cache_hits = cache_.hits();
  stats.cold_passes = cache_.cold_passes();
  stats.rows_replayed = cache_.rows_replayed();
  stats.cache_bytes = cluster_.shapes().bytes();
  stats.bad_annotations = cluster_.bad_annotations();
  stats.nodes = cluster_.node_count();
  stats.pods = cluster_.pod_count();
  stats.shapes = cluster_.shapes().count();
  stats.applications = cluster_.applications().count();
  stats.resources = cluster_.resources().count();
  stats.resources_beyond = cluster_.resources().beyond_count();
  stats.node_classes = cluster_.row_classes().classes().size() - 1;
  if (const CapacityScheduling* capacity_scheduling = cluster_.capacity_scheduling()) {
    stats.elastic_quotas = capacity_scheduling->elastic_quotas().elastic_quota_count();
  }
  return stats;
}

}  // namespace headroom
