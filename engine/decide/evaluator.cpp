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

// What a cached shape takes, about: itself and its histograms; two words a row and some for the
// totals.
constexpr std::size_t kEntryBytes = 8 << 10;
std::size_t bytes_of_entry(const NodeTable& table) {
  return kEntryBytes + std::size_t{table.size()} * 12;
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
      arena_(options.threads > 0 ? options.threads : tbb::task_arena::automatic),
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

Result<bool> Evaluator::prepare(const Pod& pod, const Pause& pause) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  return cluster_.prepare(**shape, pause) && look_ahead(pod, **shape, pause);
}

Result<bool> Evaluator::evaluate(const Pod& pod, const EvaluateOptions& options, const Pause& pause,
                                 Decision& decision) {
  const auto shape = cluster_.shapes().for_decision(pod);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  if (!cluster_.prepare(**shape, pause) || !look_ahead(pod, **shape, pause)) {
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
    begin(decision);
    decision.code = status.code;
    decision.feasible = 0;
    decision.pre_filter = status.reasons;
  }
  decision.not_considered = cluster_.not_considered(pod);
  return {};
}

void Evaluator::decide_on_nodes(const Pod& pod, PodShape& shape, const EvaluateOptions& options,
                                Decision& decision) {
  Supposition supposed(cluster_);
  supposed.add_nominated(pod, shape);
  decide(shape, cluster_.named_node(pod), options, decision);
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

Result<void> Evaluator::evaluate(ShapeIndex index, const EvaluateOptions& options,
                                 Decision& decision) {
  if (auto checked = check(options); !checked) {
    return checked;
  }
  PodShape* shape = cluster_.shapes().at(static_cast<ShapeId>(index));
  if (shape == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("shape {} is not known", static_cast<std::uint32_t>(index)));
  }
  decide(*shape, {}, options, decision);
  return {};
}

void Evaluator::decide(PodShape& shape, const std::vector<std::string>& named,
                       const EvaluateOptions& options, Decision& decision) {
  ++decisions_;
  cluster_.prepare(shape);
  if (named.empty() && !shape.row_by_row()) {
    CachedShape& found = bring_up(shape);
    const bool wide = found.wide();
    if (!wide) {
      decide_cached(found, shape, options, decision);
    }
    count_cached(shape);
    if (!wide) {
      return;
    }
  }
  decide_exact(exact_answer(shape, named, false), shape, options, decision);
}

void Evaluator::begin(Decision& decision) const {
  decision.code = Code::kSuccess;
  decision.nodes = cluster_.node_count();
  decision.candidates.clear();
  decision.reasons.clear();
  decision.pre_filter.clear();
  decision.not_considered = {};
  decision.epoch = cluster_.table().epoch();
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
      decision.code = Code::kError;
      terms &= shape.error_terms;  // an error keeps the plugin from looking further
    }
    if ((count.code & kClassRejection) != 0) {
      if (options.reasons) {
        decision.reasons.push_back(
            {cluster_.class_filters().reason(count.code).reason, count.rows});
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

void Evaluator::decide_exact(const ExactAnswer& answer, const PodShape& shape,
                             const EvaluateOptions& options, Decision& decision) const {
  begin(decision);
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
         options.plugin_scores ? plugin_scores(shape, *ranked[i]) : PluginScores()});
  }
  end(shape, answer.codes, options, decision);
  if (answer.invalid_score) {
    decision.code = Code::kError;
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

// --- Row by row ---

// The truth of a row, less what the pod needs there where that depends on the node. Valid until
// the next is asked for.
const std::int64_t* Evaluator::row_truth(const PodShape& shape, std::uint32_t row) {
  const NodeTable& table = cluster_.table();
  if (shape.allocatable_needs.empty()) {
    return table.truth_of(row);
  }
  std::vector<std::int64_t>& truth = truth_;
  truth.assign(table.truth_of(row), table.truth_of(row) + table.column_count());
  for (const AllocatableNeed& need : shape.allocatable_needs) {
    const std::string& resource = cluster_.resources().name(need.resource);
    const std::int64_t amount = need.at(cluster_.node(row).exact_allocatable(resource));
    std::int64_t& headroom = truth[need.headroom];
    headroom = __builtin_sub_overflow(headroom, amount, &headroom) ? INT64_MIN : headroom;
  }
  return truth.data();
}

std::uint32_t Evaluator::row_class_code(const PodShape& shape, std::uint32_t row,
                                        const std::vector<std::string>& named) {
  // Tells the row apart by what the shape's selectors read, where no pass over all rows has yet.
  const std::uint32_t code = cluster_.class_filters().row_code(shape, row);
  if (named.empty() && !shape.pinned) {
    return code;
  }
  const std::uint32_t node_class = cluster_.table().node_class(row);
  if (node_class == kNoNodeClass) {
    return kClassRejection | kNoNodeReason;
  }
  const std::string& name = cluster_.node(row).name;
  const bool name_matches = named.empty() || named.front() == name;
  return cluster_.class_filters().code(shape, cluster_.row_classes().classes().at(node_class), name,
                                       name_matches);
}

std::uint32_t Evaluator::row_code(const PodShape& shape, std::uint32_t row,
                                  const std::vector<std::string>& named) {
  if (const std::uint32_t by_class = row_class_code(shape, row, named); by_class != 0) {
    return by_class;
  }
  if (cluster_.ports_taken(shape, row)) {
    return kPortsTaken;
  }
  return exact_code(shape.program(), row_truth(shape, row));
}

Evaluator::ExactAnswer Evaluator::exact_answer(PodShape& shape,
                                               const std::vector<std::string>& named,
                                               bool every_row) {
  ExactAnswer answer;
  const auto count_code = [&](std::uint32_t code, std::uint32_t rows) {
    const auto known = std::find_if(answer.codes.begin(), answer.codes.end(),
                                    [&](const CodeCount& count) { return count.code == code; });
    if (known == answer.codes.end()) {
      answer.codes.push_back({code, rows});
    } else {
      known->rows += rows;
    }
  };
  const auto look = [&](std::uint32_t row) {
    const std::uint32_t code = row_code(shape, row, named);
    if (code != 0) {
      count_code(code, 1);
    } else {
      ExactRow& feasible = answer.rows.emplace_back();
      feasible.row = row;
      read_raw(shape, row, feasible.raw);
    }
    if (every_row) {
      answer.row_codes.push_back(code);
    }
  };
  const std::vector<std::string>* names = !named.empty() ? &named
                                          : shape.pinned ? &*shape.pinned
                                                         : nullptr;
  if (names == nullptr) {
    // Who asks for every row looks at each anew: tests hold the others against it.
    const bool follows = options_.shape_cache && shape.row_by_row() && !every_row;
    ExactLook* kept = follows ? look_of(shape) : nullptr;
    ExactLook& known = kept != nullptr ? *kept : passing_look_;
    known.next = kept != nullptr ? known.next : 0;
    (void)bring_up(known, shape, kInOneTurn);
    answer.rows.reserve(
        static_cast<std::size_t>(std::count(known.codes.begin(), known.codes.end(), 0U)));
    std::uint32_t last = 0, rows = 0;  // a code that comes often in a row
    for (std::uint32_t row = 0; row < known.codes.size(); ++row) {
      const std::uint32_t code = known.codes[row];
      if (code == 0) {
        ExactRow& feasible = answer.rows.emplace_back();
        feasible.row = row;
        std::copy_n(known.raw[row].data(), shape.scores.size(), feasible.raw);
        continue;
      }
      if (code != last && rows != 0) {
        count_code(last, std::exchange(rows, 0));
      }
      last = code;
      ++rows;
    }
    if (rows != 0) {
      count_code(last, rows);
    }
    if (every_row) {
      answer.row_codes = known.codes;
    }
  } else if (every_row) {
    for (std::uint32_t row = 0; row < cluster_.table().size(); ++row) {
      look(row);
    }
  } else {
    // All other nodes are rejected by name, class by class.
    std::vector<std::uint32_t> others(cluster_.row_classes().classes().size());
    for (std::uint32_t node_class = 1; node_class < others.size(); ++node_class) {
      others[node_class] = cluster_.row_classes().nodes_in(node_class);
    }
    for (const std::string& name : *names) {
      const std::uint32_t row = cluster_.find_row(name);
      if (row != kNoRow && cluster_.table().node_class(row) != kNoNodeClass) {
        --others[cluster_.table().node_class(row)];
        look(row);
      }
    }
    for (std::uint32_t node_class = 1; node_class < others.size(); ++node_class) {
      if (others[node_class] != 0) {
        count_code(cluster_.class_filters().code(
                       shape, cluster_.row_classes().classes().at(node_class), "", named.empty()),
                   others[node_class]);
      }
    }
    std::sort(answer.rows.begin(), answer.rows.end(),
              [](const ExactRow& a, const ExactRow& b) { return a.row < b.row; });
  }
  score_exactly(shape, answer);
  return answer;
}

void Evaluator::read_raw(const PodShape& shape, std::uint32_t row, std::int64_t* raw) {
  const std::int64_t* truth = row_truth(shape, row);
  for (std::size_t s = 0; s < shape.scores.size(); ++s) {
    raw[s] = exact_score(shape.scores[s], truth);
  }
}

// The shape's, or one that nobody needs for now.
ExactLook* Evaluator::look_of(const PodShape& shape) {
  ++look_uses_;
  ExactLook* free = nullptr;
  for (ExactLook& look : looks_) {
    if (look.key == shape.key) {
      look.used = look_uses_;
      return &look;
    }
    const bool under_way =
        !look.key.empty() && !look.complete && look_uses_ - look.used <= kExactLookAbandoned;
    if (!under_way && (free == nullptr || look.used < free->used)) {
      free = &look;
    }
  }
  if (free != nullptr) {
    free->key = shape.key;
    free->used = look_uses_;
    free->next = 0;
    free->complete = false;
  }
  return free;
}

void Evaluator::look_at(ExactLook& look, const PodShape& shape, std::uint32_t row) {
  const std::uint32_t code = row_code(shape, row, {});
  look.codes[row] = code;
  if (code == 0) {
    read_raw(shape, row, look.raw[row].data());
  }
}

// True when it is what the rows say now. The shape is prepared.
bool Evaluator::bring_up(ExactLook& look, PodShape& shape, const Pause& pause) {
  const NodeTable& table = cluster_.table();
  if (look.next == 0 || look.epoch < table.oldest() ||
      look.shapes_generation != cluster_.shapes().generation() ||
      look.class_generation != cluster_.row_classes().classes().generation()) {
    look.next = 0;
    look.epoch = table.epoch();
    look.shapes_generation = cluster_.shapes().generation();
    look.class_generation = cluster_.row_classes().classes().generation();
  }
  look.codes.resize(table.size());
  look.raw.resize(table.size());
  for (; look.epoch < table.epoch(); ++look.epoch) {
    if (const std::uint32_t row = table.changed_row(look.epoch); row < look.next) {
      look_at(look, shape, row);
    }
  }
  while (look.next < table.size()) {
    look_at(look, shape, look.next++);
    if (pause()) {
      break;
    }
  }
  look.complete = look.next == table.size();
  return look.complete;
}

// Of a shape that is decided row by row: so that exact_answer() finds each row's say.
bool Evaluator::look_ahead(const Pod& pod, PodShape& shape, const Pause& pause) {
  if (!shape.row_by_row() || shape.pinned || !options_.shape_cache ||
      !cluster_.named_node(pod).empty()) {
    return true;
  }
  ExactLook* look = look_of(shape);
  return look != nullptr && bring_up(*look, shape, pause);
}

Evaluator::Extremes Evaluator::extremes_of(const PodShape& shape, const ExactAnswer& answer) {
  Extremes extremes;
  for (std::uint32_t n = 0; n < shape.normalized && !answer.rows.empty(); ++n) {
    const auto [lo, hi] = std::minmax_element(
        answer.rows.begin(), answer.rows.end(),
        [n](const ExactRow& a, const ExactRow& b) { return a.raw[n] < b.raw[n]; });
    extremes.lo[n] = lo->raw[n];
    extremes.hi[n] = hi->raw[n];
  }
  return extremes;
}

bool Evaluator::normalize_row(const PodShape& shape, const Extremes& extremes,
                              ExactRow& row) const {
  bool valid = true;
  for (std::size_t s = 0; s < shape.scores.size(); ++s) {
    row.score[s] = s < shape.normalized ? normalize(row.raw[s], extremes.lo[s], extremes.hi[s],
                                                    shape.normalize_in_double)
                                        : row.raw[s];
    // A node whose sums wrapped (mode Upstream) fails no decision about others.
    if (cluster_.table().beyond_int64(row.row)) {
      row.score[s] = std::clamp<std::int64_t>(row.score[s], 0, 100);
    }
    row.total += shape.score_labels[s].weight * row.score[s];
    valid = valid && row.score[s] >= 0 && row.score[s] <= 100;
  }
  return valid;
}

void Evaluator::score_exactly(const PodShape& shape, ExactAnswer& answer) {
  const Extremes extremes = extremes_of(shape, answer);
  for (ExactRow& row : answer.rows) {
    answer.invalid_score = !normalize_row(shape, extremes, row) || answer.invalid_score;
  }
}

PluginScores Evaluator::plugin_scores(const PodShape& shape, const ExactRow& row) const {
  PluginScores scores;
  for (const std::uint8_t s : shape.score_order) {
    scores.push_back(
        {row.raw[s],
         static_cast<std::int32_t>(std::clamp<std::int64_t>(row.score[s], INT32_MIN, INT32_MAX)),
         shape.score_labels[s].plugin});
  }
  return scores;
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
  stats.resources = cluster_.resources().count();
  stats.resources_beyond = cluster_.resources().beyond_count();
  stats.node_classes = cluster_.row_classes().classes().size() - 1;
  return stats;
}

}  // namespace headroom
