#include "engine/decide/evaluator.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/exact.h"

namespace headroom {

namespace {

// Shapes of a batch that go through the table together: more groups than workers even the load.
constexpr std::size_t kGroupShapes = 8;

// What a cached shape takes, about: itself and its histograms; a word a row and some for the
// totals.
constexpr std::size_t kEntryBytes = 8 << 10;
std::size_t bytes_of_entry(const NodeTable& table) {
  return kEntryBytes + std::size_t{table.size()} * 6;
}

Result<void> check(const EvaluateOptions& options) {
  if (options.top_k == 0 || options.top_k > kTopKMax) {
    return fail(ErrorCode::kInvalid,
                fmt::format("top_k: {} is not in [1, kTopKMax = {}]", options.top_k, kTopKMax));
  }
  return {};
}

}  // namespace

Evaluator::Evaluator(Cluster& cluster, const Kernels& kernels, const EngineOptions& options)
    : cluster_(cluster),
      kernels_(kernels),
      options_(options),
      tie_order_{options.seed},
      arena_(options.threads > 0 ? static_cast<int>(options.threads) : tbb::task_arena::automatic),
      uncached_(kernels) {
  cluster_.shapes().on_drop([this](ShapeId shape) {
    std::unique_ptr<CachedShape> dropped = std::move(slots_[shape].cached);
    if (spares_.size() < spares_max_) {
      spares_.push_back(std::move(dropped));
    }
  });
}

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
  if (row == kNoRow || !takes(pod, shape, row)) {
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

// As far as filters go: a score that fails is not asked for where one node is all there is.
bool Evaluator::takes(const Pod& pod, PodShape& shape, std::uint32_t row) {
  Supposition supposed(cluster_);
  supposed.leave_out(pod);
  if (cluster_.pre_filter(pod, shape).code != Code::kSuccess) {
    return false;
  }
  supposed.add_nominated(pod, shape);
  const AskedPod asked = ask_for_rows(pod, shape);
  std::uint32_t code = row_code(asked, row);
  for (const FilterTerm& term : shape.active_terms) {
    if ((code & kClassRejection) == 0 && shape.filter_labels[term.bit].of_score) {
      code &= ~(1u << term.bit);
    }
  }
  return asked.passes_pre_filter() && code == 0;
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
  AskedPod asked = begin_asking(pod, shape);
  cluster_.prepare(shape);
  look_at_application(pod, asked);
  return asked;
}

AskedPod Evaluator::ask_for_rows(const Pod& pod, PodShape& shape) {
  AskedPod asked = begin_asking(pod, shape);
  cluster_.prepare_for_rows(shape);
  look_at_application(pod, asked);
  return asked;
}

// Before the shape is prepared: the application may be new, and tell classes apart.
AskedPod Evaluator::begin_asking(const Pod& pod, PodShape& shape) {
  AskedPod asked{shape, cluster_.named_node(pod), cluster_.applications().for_decision(pod), {}};
  // May split classes, whose codes the shape is to have.
  if (asked.application != nullptr) {
    cluster_.applications().prepare(*asked.application);
  }
  return asked;
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
  const auto next = static_cast<std::uint32_t>(handed_out_.size());
  const auto [known, is_new] = handed_out_ids_.try_emplace(std::move(key), next);
  if (is_new) {
    handed_out_.push_back({pod, (*shape)->id});
    handed_out_.back().pod.node_name.clear();
  }
  return static_cast<ShapeIndex>(known->second);
}

Result<void> Evaluator::evaluate(ShapeIndex index, const EvaluateOptions& options,
                                 Decision& decision) {
  if (auto checked = check(options); !checked) {
    return checked;
  }
  if (const auto i = static_cast<std::uint32_t>(index);
      cluster_.applications().any() && i < handed_out_.size()) {
    const auto& [pod, shape_id] = handed_out_[i];
    PodShape& shape = *cluster_.shapes().at(shape_id);  // which stays
    AskedPod asked = ask(pod, shape);
    decide(asked, options, decision);
    return {};
  }
  PodShape* shape =
      cluster_.applications().any() ? nullptr : cluster_.shapes().at(static_cast<ShapeId>(index));
  if (shape == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("shape {} is not known", static_cast<std::uint32_t>(index)));
  }
  AskedPod asked{*shape, {}, nullptr, {}};
  cluster_.prepare(*shape);
  decide(asked, options, decision);
  return {};
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
    CachedShape& found = bring_up(shape);
    const bool wide = found.wide();
    if (!wide && asked.look) {
      decide_applied(found, asked, options, decision);
    } else if (!wide) {
      decide_cached(found, shape, options, decision);
    }
    count_cached(shape);
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

// --- The shape cache ---

Evaluator::Slot& Evaluator::cached(const PodShape& shape) {
  if (shape.id >= slots_.size()) {
    slots_.resize(shape.id + 1);
  }
  Slot& slot = slots_[shape.id];
  if (slot.cached == nullptr) {
    if (spares_.empty()) {
      slot.cached = std::make_unique<CachedShape>(kernels_);
    } else {
      slot.cached = std::move(spares_.back());
      spares_.pop_back();
    }
    slot.cached->reset(shape);
  } else if (slot.version != shape.version) {
    slot.cached->reset(shape);
  }
  slot.version = shape.version;
  return slot;
}

void Evaluator::fetch(const PodShape& shape) const {
  if (shape.id < slots_.size() && slots_[shape.id].cached != nullptr &&
      slots_[shape.id].version == shape.version) {
    slots_[shape.id].cached->fetch(cluster_.table());
  }
}

CachedShape& Evaluator::bring_up(PodShape& shape) {
  if (!options_.shape_cache) {
    uncached_.reset(shape);
    uncached_.update(cluster_.table(), shape);
    ++cold_passes_;
    return uncached_;
  }
  Slot& slot = cached(shape);
  CachedShape& found = *slot.cached;
  const std::uint64_t cold_before = found.cold_passes();
  const std::uint64_t replayed_before = found.rows_replayed();
  found.update(cluster_.table(), shape);
  note_update(shape, cold_before, replayed_before);
  cache_hits_ += found.cold_passes() == cold_before;
  return found;
}

void Evaluator::count_cached(PodShape& shape) {
  if (options_.shape_cache) {
    cluster_.shapes().set_cached_bytes(shape, slots_[shape.id].cached->bytes());
    cluster_.shapes().trim();
  }
}

void Evaluator::note_update(const PodShape& shape, std::uint64_t cold_before,
                            std::uint64_t replayed_before) {
  const CachedShape& found = *slots_[shape.id].cached;
  cold_passes_ += found.cold_passes() - cold_before;
  rows_replayed_ += found.rows_replayed() - replayed_before;
}

void Evaluator::set_cache_bytes_max(std::size_t bytes) {
  options_.shape_cache_bytes_max = bytes;
  cluster_.shapes().set_bytes_max(bytes);
}

void Evaluator::drop_cache() noexcept {
  for (ShapeId id = 0; id < slots_.size(); ++id) {
    if (slots_[id].cached == nullptr) {
      continue;
    }
    slots_[id].cached.reset();
    if (PodShape* shape = cluster_.shapes().at(id); shape != nullptr) {
      cluster_.shapes().set_cached_bytes(*shape, 0);
    }
  }
  spares_.clear();
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
  // As many at once as half the cache has room for.
  const std::size_t at_once = std::clamp<std::size_t>(
      options_.shape_cache_bytes_max / 2 / bytes_of_entry(cluster_.table()), 1, pods.size() + 1);
  std::vector<Decision> decisions(pods.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    if (p % at_once == 0) {
      bring_up_all(std::span(looking).subspan(p, std::min(at_once, pods.size() - p)),
                   options.top_k);
    }
    if (const PodShape* next = shapes.kept(p + 1); next != nullptr) {
      fetch(*next);
    }
    if (auto evaluated = evaluate(pods[p], shapes.at(p, pods[p]), options, decisions[p]);
        !evaluated) {
      return tl::unexpected(evaluated.error());
    }
  }
  return decisions;
}

void Evaluator::bring_up_all(std::span<PodShape* const> shapes, std::uint32_t top_k) {
  const NodeTable& table = cluster_.table();
  struct Work {
    PodShape* shape;
    CachedShape* cached;
    std::uint64_t cold_before, replayed_before;
  };
  std::vector<Work> all;
  for (PodShape* shape : shapes) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Work& work) { return work.shape == shape; });
    if (known || shape == nullptr || shape->row_by_row() || !options_.shape_cache) {
      continue;
    }
    all.push_back({shape, nullptr, 0, 0});
  }
  // Room first: what goes is what the new ones are made of.
  spares_max_ = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [this](const Work& work) { return !is_cached(*work.shape); }));
  cluster_.shapes().trim(spares_max_ * bytes_of_entry(table));
  for (Work& work : all) {
    cluster_.prepare(*work.shape);
    work.cached = cached(*work.shape).cached.get();
    work.cold_before = work.cached->cold_passes();
    work.replayed_before = work.cached->rows_replayed();
  }
  // A selector of one may have split classes that those before it were prepared for.
  for (const Work& work : all) {
    cluster_.prepare(*work.shape);
  }
  // A worker takes a group of shapes through the table together, so that a block of nodes that one
  // of them brought into the cache serves them all.
  const auto update_group = [&](std::size_t first, std::size_t last) {
    std::vector<Work*> cold;
    for (std::size_t i = first; i < last; ++i) {
      if (all[i].cached->replayable(table)) {
        all[i].cached->update(table, *all[i].shape);
      } else {
        all[i].cached->begin(table);
        cold.push_back(&all[i]);
      }
    }
    for (std::uint32_t block = 0; block * kBlockNodes < table.size(); ++block) {
      for (const Work* work : cold) {
        work->cached->build(table, *work->shape, block);
      }
    }
    std::vector<RowTotal> best;
    for (const Work* work : cold) {
      work->cached->finish(table);
      // The first search is a long one, and the decision to come finds what it left.
      if (!work->cached->wide()) {
        work->cached->best(top_k, tie_order_, best);
      }
    }
  };
  const auto workers = static_cast<std::size_t>(std::max(1, arena_.max_concurrency()));
  const std::size_t size = std::clamp<std::size_t>(all.size() / workers, 1, kGroupShapes);
  arena_.execute([&] {
    tbb::parallel_for(std::size_t{0}, (all.size() + size - 1) / size, [&](std::size_t group) {
      update_group(group * size, std::min((group + 1) * size, all.size()));
    });
  });
  for (const Work& work : all) {
    note_update(*work.shape, work.cold_before, work.replayed_before);
    cluster_.shapes().set_cached_bytes(*work.shape, work.cached->bytes());
  }
  spares_max_ = 1;
  spares_.resize(std::min(spares_.size(), spares_max_));
  cluster_.shapes().trim();
}

EngineStats Evaluator::stats() const {
  EngineStats stats;
  stats.decisions = decisions_;
  stats.cache_hits = cache_hits_;
  stats.cold_passes = cold_passes_;
  stats.rows_replayed = rows_replayed_;
  stats.cache_bytes = cluster_.shapes().bytes();
  stats.bad_annotations = cluster_.bad_annotations();
  stats.nodes = cluster_.node_count();
  stats.pods = cluster_.pod_count();
  stats.shapes = cluster_.shapes().count();
  stats.applications = cluster_.applications().count();
  stats.resources = cluster_.resources().count();
  stats.resources_beyond = cluster_.resources().beyond_count();
  stats.node_classes = cluster_.row_classes().classes().size() - 1;
  if (const CapacityScheduling* capacity = cluster_.capacity()) {
    stats.elastic_quotas = capacity->elastic_quotas().elastic_quota_count();
  }
  return stats;
}

}  // namespace headroom
