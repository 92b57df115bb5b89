// Evaluator: decisions row by row, from the truth alone. For shapes whose need depends on the node,
// that name their nodes or ask for host ports, and for totals that no word holds.
#include <algorithm>
#include <utility>

#include "engine/applications/claim.h"
#include "engine/decide/evaluator.h"
#include "kernels/exact.h"

namespace headroom {

// --- Row by row ---

// The truth of a row, less what the pod needs there where that depends on the node. Valid until
// the next is asked for.
Truth Evaluator::row_truth(const PodShape& shape, std::uint32_t row) {
  const NodeTable& table = cluster_.table();
  if (shape.allocatable_needs.empty()) {
    return table.truth_of(row);
  }
  std::vector<std::int64_t>& truth = truth_;
  truth.resize(table.column_count());
  for (ColumnId id = 0; id < truth.size(); ++id) {
    truth[id] = table.truth(row, id);
  }
  for (const AllocatableNeed& need : shape.allocatable_needs) {
    const std::string& resource = cluster_.resources().name(need.resource);
    const std::int64_t amount = need.at(cluster_.node(row).exact_allocatable(resource));
    std::int64_t& headroom = truth[need.headroom];
    headroom = __builtin_sub_overflow(headroom, amount, &headroom) ? INT64_MIN : headroom;
  }
  return {nullptr, truth.data(), nullptr};
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
  if (shape.pinned && !std::binary_search(shape.pinned->begin(), shape.pinned->end(), name)) {
    return kNotNamed;
  }
  const bool name_matches = named.empty() || named.front() == name;
  return cluster_.class_filters().code(shape, cluster_.row_classes().classes().at(node_class), name,
                                       name_matches);
}

std::uint32_t Evaluator::row_code(const AskedPod& asked, std::uint32_t row) {
  const bool has_node = cluster_.node(row).node != nullptr;
  if (has_node && !asked.passes_pre_filter()) {
    return asked.look->pre_filter_code();
  }
  const std::uint32_t code = column_code(asked.shape, row, asked.named);
  return code == 0 && asked.look ? asked.look->code(row) : code;
}

Result<std::vector<ReferredObject>> Evaluator::bound_volumes(const Pod& pod, std::uint32_t row) {
  std::vector<ReferredObject> objects;
  if (!has_claims(pod)) {
    return objects;
  }
  const auto found = cluster_.shapes().for_decision(pod);
  if (!found) {
    return tl::unexpected(found.error());
  }
  Supposition supposed(cluster_);
  supposed.leave_out(pod, row);
  const AskedPod asked = ask_for_rows(pod, **found);
  if (asked.look && row_code(asked, row) == 0) {
    objects = asked.look->bound_volumes(row);
  }
  return objects;
}

// What the row's class and columns say.
std::uint32_t Evaluator::column_code(const PodShape& shape, std::uint32_t row,
                                     const std::vector<std::string>& named) {
  if (const std::uint32_t by_class = row_class_code(shape, row, named); by_class != 0) {
    return by_class;
  }
  if (cluster_.ports_taken(shape, row)) {
    return kPortsTaken;
  }
  return exact_code(shape.program(), row_truth(shape, row));
}

void Evaluator::count_code(std::vector<CodeCount>& codes, std::uint32_t code, std::uint32_t rows) {
  const auto known = std::find_if(codes.begin(), codes.end(),
                                  [&](const CodeCount& count) { return count.code == code; });
  known == codes.end() ? codes.push_back({code, rows}) : void(known->rows += rows);
}

Evaluator::ExactAnswer Evaluator::exact_answer(AskedPod& asked, bool every_row) {
  PodShape& shape = asked.shape;
  ExactAnswer answer;
  const std::vector<std::string>* names = !asked.named.empty() ? &asked.named
                                          : shape.pinned       ? &*shape.pinned
                                                               : nullptr;
  const bool only_application = asked.application != nullptr && asked.application->rows_only;
  if (names == nullptr) {
    // The application alone may be all that is looked at row by row.
    if (every_row || !only_application || !rows_of_columns(shape, answer)) {
      rows_of_look(shape, every_row, answer);
    }
  } else if (every_row) {
    for (std::uint32_t row = 0; row < cluster_.table().size(); ++row) {
      answer.row_codes.push_back(look_at(asked, row, answer));
    }
  } else {
    rows_named(asked, *names, answer);
  }
  if (asked.look) {
    apply(asked, answer);
  }
  score_exactly(shape, answer);
  return answer;
}

// The code of the row, which is counted; with none it is one of the answer's rows.
std::uint32_t Evaluator::look_at(const AskedPod& asked, std::uint32_t row, ExactAnswer& answer) {
  const std::uint32_t code = column_code(asked.shape, row, asked.named);
  if (code != 0) {
    count_code(answer.codes, code, 1);
  } else {
    ExactRow& feasible = answer.rows.emplace_back();
    feasible.row = row;
    read_raw(asked.shape, row, feasible.raw);
  }
  return code;
}

// What is kept of the shape, brought up to date. Who asks for every row looks at each anew: tests
// hold the others against it.
void Evaluator::rows_of_look(PodShape& shape, bool every_row, ExactAnswer& answer) {
  const bool follows = cache_.on() && shape.row_by_row() && !every_row;
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
      count_code(answer.codes, last, std::exchange(rows, 0));
    }
    last = code;
    ++rows;
  }
  if (rows != 0) {
    count_code(answer.codes, last, rows);
  }
  if (every_row) {
    answer.row_codes = known.codes;
  }
}

// All other nodes are rejected by name, class by class.
void Evaluator::rows_named(const AskedPod& asked, const std::vector<std::string>& names,
                           ExactAnswer& answer) {
  const PodShape& shape = asked.shape;
  const RowClasses& classes = cluster_.row_classes();
  std::vector<std::uint32_t> others(classes.classes().size());
  for (std::uint32_t node_class = 1; node_class < others.size(); ++node_class) {
    others[node_class] = classes.nodes_in(node_class);
  }
  std::vector<std::string> looked_at = names;
  if (shape.pinned && !asked.named.empty()) {
    // Of the nodes that its affinity names each says whether it is the one; all others are not
    // named.
    looked_at = *shape.pinned;
    looked_at.push_back(asked.named.front());
    std::sort(looked_at.begin(), looked_at.end());
    looked_at.erase(std::unique(looked_at.begin(), looked_at.end()), looked_at.end());
  }
  for (const std::string& name : looked_at) {
    const std::uint32_t row = cluster_.find_row(name);
    if (row != kNoRow && cluster_.table().node_class(row) != kNoNodeClass) {
      --others[cluster_.table().node_class(row)];
      (void)look_at(asked, row, answer);
    }
  }
  for (std::uint32_t node_class = 1; node_class < others.size(); ++node_class) {
    if (others[node_class] != 0) {
      const std::uint32_t code =
          shape.pinned ? kNotNamed
                       : cluster_.class_filters().code(shape, classes.classes().at(node_class), "",
                                                       asked.named.empty());
      count_code(answer.codes, code, others[node_class]);
    }
  }
  std::sort(answer.rows.begin(), answer.rows.end(),
            [](const ExactRow& a, const ExactRow& b) { return a.row < b.row; });
}

// From the shape's cached answer. False: there is none that tells it.
bool Evaluator::rows_of_columns(PodShape& shape, ExactAnswer& answer) {
  if (!cache_.on() || shape.row_by_row()) {
    return false;
  }
  CachedShape& found = cache_.bring_up(shape);
  const bool tells = !found.wide();
  answer.rows.reserve(tells ? found.feasible() : 0);
  for (std::uint32_t row = 0; tells && row < cluster_.table().size(); ++row) {
    if (!found.is_feasible(row)) {
      continue;
    }
    ExactRow& feasible = answer.rows.emplace_back();
    feasible.row = row;
    for (std::uint32_t s = 0; s < shape.scores.size(); ++s) {
      feasible.raw[s] = found.raw(row, s);
    }
  }
  if (tells) {
    answer.codes = found.codes();
  }
  cache_.count(shape);
  return tells;
}

// Of the rows that pass their columns and classes, what the application says.
void Evaluator::apply(AskedPod& asked, ExactAnswer& answer) const {
  ApplicationLook& look = *asked.look;
  std::vector<ScoredRows>& applied = answer.applied;
  if (!look.pre_filter().empty()) {
    // Before any filter.
    const std::uint32_t code = look.pre_filter_code();
    for (std::uint32_t& its : answer.row_codes) {
      its = its == (kClassRejection | kNoNodeReason) ? its : code;
    }
    answer.rows.clear();
    answer.codes = {{code, cluster_.node_count()}};
    return;
  }
  applied.reserve(answer.rows.size());
  std::size_t kept = 0;
  for (const ExactRow& row : answer.rows) {
    const std::uint32_t code = look.code(row.row);
    if (code == 0) {
      applied.emplace_back().row = row.row;
      answer.rows[kept++] = row;
      continue;
    }
    count_code(answer.codes, code, 1);
    if (!answer.row_codes.empty()) {
      answer.row_codes[row.row] = code;
    }
  }
  answer.rows.resize(kept);
  ScoreScale scale;
  look.score(applied, false, nullptr, scale);
  for (std::size_t i = 0; i < kept; ++i) {
    answer.rows[i].total = applied[i].total;
  }
  answer.invalid_score = look.failed();
}

void Evaluator::read_raw(const PodShape& shape, std::uint32_t row, std::int64_t* raw) {
  const Truth truth = row_truth(shape, row);
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
  const std::uint32_t code = column_code(shape, row, {});
  look.codes[row] = code;
  if (code == 0) {
    read_raw(shape, row, look.raw[row].data());
  }
}

// True when it is what the rows say now. The shape is prepared.
bool Evaluator::bring_up(ExactLook& look, PodShape& shape, const Pause& pause) {
  const NodeTable& table = cluster_.table();
  if (look.next == 0 || look.epoch < table.log().oldest() ||
      look.shapes_generation != cluster_.shapes().generation() ||
      look.class_generation != cluster_.row_classes().classes().generation()) {
    look.next = 0;
    look.epoch = table.epoch();
    look.shapes_generation = cluster_.shapes().generation();
    look.class_generation = cluster_.row_classes().classes().generation();
  }
  look.codes.resize(table.size());
  look.raw.resize(table.size());
  table.log().for_each_after(look.epoch, [&](std::uint32_t row) {
    if (row < look.next) {
      look_at(look, shape, row);
    }
  });
  look.epoch = table.epoch();
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
  if (!shape.row_by_row() || shape.pinned || !cache_.on() || !cluster_.named_node(pod).empty()) {
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

PluginScores Evaluator::plugin_scores(const AskedPod& asked, const ExactRow& row,
                                      const ScoredRows* applied) const {
  const PodShape& shape = asked.shape;
  const auto of_columns = [&](std::size_t s) {
    return PluginScore{
        row.raw[s],
        static_cast<std::int32_t>(std::clamp<std::int64_t>(row.score[s], INT32_MIN, INT32_MAX)),
        shape.score_labels[s].plugin};
  };
  PluginScores scores;
  if (applied == nullptr) {
    for (const std::uint8_t s : shape.score_order) {
      scores.push_back(of_columns(s));
    }
    return scores;
  }
  const std::vector<ApplicationScore>& of_application = cluster_.applications().scores();
  std::size_t next = 0, next_column = 0;  // both are in the profile's order
  for (const ScorePlugin& score : cluster_.profile().scores) {
    if (next < of_application.size() && of_application[next].plugin == score.plugin) {
      if (!asked.look->skips(next)) {
        scores.push_back({applied->raw[next], applied->score[next], score.plugin});
      }
      ++next;
    } else if (next_column < shape.score_order.size() &&
               shape.score_labels[shape.score_order[next_column]].plugin == score.plugin) {
      scores.push_back(of_columns(shape.score_order[next_column++]));
    }
  }
  return scores;
}

}  // namespace headroom
