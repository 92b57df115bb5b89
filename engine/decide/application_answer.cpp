// Evaluator: decisions over a cached answer of the columns and what an application adds to it,
// class by class.
//
// All rows of a class are in the same domains of the keys that classes read, and so alike to an
// application, but for the rows in whose domains of other keys (hostnames) pods count: these are
// looked at one by one. Cost: O(classes + such rows), and the search.
#include <algorithm>

#include "engine/decide/evaluator.h"
#include "engine/table/heap_bytes.h"

namespace headroom {

namespace {

constexpr std::uint32_t kNoEntry = UINT32_MAX;

}  // namespace

const Evaluator::Applied& Evaluator::apply_by_class(CachedShape& found, AskedPod& asked) {
  Application& application = *asked.application;
  ApplicationLook& look = *asked.look;
  // With nominated pods rows count otherwise, for this decision alone.
  const bool keeps = options_.shape_cache && look.locates() && !look.expects_any();
  if (keeps && application.kept == nullptr) {
    application.kept = std::make_unique<Applied>();
  }
  Applied& applied = keeps ? static_cast<Applied&>(*application.kept) : applied_;
  const NodeTable& table = cluster_.table();
  const bool same = keeps && applied.application_version == application.version &&
                    applied.shape_version == asked.shape.version &&
                    applied.feasible_version == found.feasible_version() &&
                    applied.class_changes == table.class_changes();
  if (!same) {
    applied.application_version = 0;  // also where memory ends half way
    find_entries(found, asked, applied);
    applied.application_version = application.version;
    applied.shape_version = asked.shape.version;
    applied.feasible_version = found.feasible_version();
    applied.class_changes = table.class_changes();
  }
  std::vector<ScoredRows>& entries = applied.entries;
  if (look.filters()) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      ScoredRows& its = entries[i];
      its.code = its.rows == 0                  ? kClassRejection | kNoNodeReason
                 : keeps && !look.looks_apart() ? look.code(applied.located, i)
                                                : look.code(its.row, nullptr, its.plain);
    }
  }
  look.score(entries, true, keeps ? &applied.located : nullptr, same && !look.filters());
  sum_up(asked, applied);
  if (keeps && !same) {
    cluster_.applications().set_kept_bytes(
        application, allocated_bytes(sizeof(Applied)) +
                         allocated_bytes(entries.capacity() * sizeof(ScoredRows)) +
                         heap_bytes(applied.located.places) + heap_bytes(applied.located.keys) +
                         heap_bytes(applied.entry_of_class) + heap_bytes(applied.extras.by_class) +
                         allocated_bytes(applied.extras.by_row.capacity() * 8));
  }
  return applied;
}

// Which rows stand for which.
void Evaluator::find_entries(CachedShape& found, AskedPod& asked, Applied& applied) {
  const NodeTable& table = cluster_.table();
  const Applications& applications = cluster_.applications();
  const ApplicationLook& look = *asked.look;
  const std::vector<std::uint32_t>& feasible = found.feasible_by_class(table);
  const std::vector<std::uint32_t>& first_rows = applications.first_rows();
  std::vector<ScoredRows>& entries = applied.entries;
  entries.clear();
  applied.located.places.clear();
  applied.located.keys.clear();
  applied.entry_of_class.assign(first_rows.size(), kNoEntry);
  const auto add = [&](std::uint32_t row, std::uint32_t rows, bool plain) {
    ScoredRows& its = entries.emplace_back();
    its.row = row;
    its.rows = rows;
    its.plain = plain;
    if (look.locates()) {
      look.locate(row, plain, applied.located);
    }
  };
  for (std::uint32_t c = 1; c < feasible.size(); ++c) {
    if (feasible[c] != 0) {
      HEADROOM_ASSERT(first_rows[c] != kNoRow);
      applied.entry_of_class[c] = static_cast<std::uint32_t>(entries.size());
      add(first_rows[c], feasible[c], true);
    }
  }
  applied.classes = entries.size();
  apart_.clear();
  applications.rows_apart(*asked.application, apart_);
  for (const auto& [row, change] : look.expected()) {
    apart_.push_back(row);
  }
  std::sort(apart_.begin(), apart_.end());
  apart_.erase(std::unique(apart_.begin(), apart_.end()), apart_.end());
  for (const std::uint32_t row : apart_) {
    const std::uint32_t its_class = table.node_class(row);
    if (its_class == kNoNodeClass || found.code(row) != 0) {
      continue;
    }
    HEADROOM_ASSERT(applied.entry_of_class[its_class] != kNoEntry);
    ScoredRows& of_class = entries[applied.entry_of_class[its_class]];
    if (--of_class.rows == 0) {
      of_class.code = kClassRejection | kNoNodeReason;
    }
    add(row, 1, false);
  }
}

// What the entries add to rows, and how many these are.
void Evaluator::sum_up(AskedPod& asked, Applied& applied) {
  const NodeTable& table = cluster_.table();
  const Applications& applications = cluster_.applications();
  ApplicationLook& look = *asked.look;
  applied.feasible = 0;
  applied.rejects = false;
  RowExtras& extras = applied.extras;
  extras.classes = table.columns().node_class;
  extras.by_class.assign(applied.entry_of_class.size(), -1);
  extras.by_row.clear();
  extras.more = nullptr;
  extras.greatest = 0;
  extras.rejects_classes = false;
  extras.same.reset();
  bool all_same = true;
  for (std::size_t i = 0; i < applied.entries.size(); ++i) {
    const ScoredRows& its = applied.entries[i];
    const std::int32_t extra = its.code == 0 ? static_cast<std::int32_t>(its.total) : -1;
    const bool rejected = its.code != 0 && its.rows != 0;
    if (i < applied.classes) {
      extras.rejects_classes |= rejected;
    } else {
      extras.by_row.emplace_back(its.row, extra);
    }
    applied.rejects |= rejected;
    if (its.rows != 0) {
      all_same = all_same && extra >= 0 && extra == extras.same.value_or(extra);
      extras.same = extra;
    }
    if (its.code == 0) {
      applied.feasible += its.rows;
      extras.greatest = std::max(extras.greatest, extra);
    }
  }
  // By the class that it stands for: its row may be in a finer one by now, where others read more.
  for (std::uint32_t c = 0; c < applied.entry_of_class.size(); ++c) {
    if (const std::uint32_t entry = applied.entry_of_class[c]; entry != kNoEntry) {
      const ScoredRows& its = applied.entries[entry];
      extras.by_class[c] = its.code == 0 ? static_cast<std::int32_t>(its.total) : -1;
    }
  }
  if (!all_same) {
    extras.same.reset();
  }
  if (look.most_image_score() != 0) {
    std::int64_t weight = 0;
    for (const ApplicationScore& score : applications.scores()) {
      weight += score.plugin == PluginId::kImageLocality ? score.weight : 0;
    }
    extras.greatest += static_cast<std::int32_t>(weight * look.most_image_score());
    extras.more = [&look, weight](std::uint32_t row) {
      return static_cast<std::int32_t>(weight * look.image_score(row));
    };
  }
}

const ScoredRows& Evaluator::entry_of(const Applied& applied, std::uint32_t row) const {
  const auto& by_row = applied.extras.by_row;
  if (const auto found = applied.extras.find(row); found != by_row.end()) {
    return applied.entries[applied.entries.size() - by_row.size() +
                           static_cast<std::size_t>(found - by_row.begin())];
  }
  return applied.entries[applied.entry_of_class[cluster_.table().node_class(row)]];
}

void Evaluator::decide_applied(CachedShape& found, AskedPod& asked, const EvaluateOptions& options,
                               Decision& decision) {
  begin(decision);
  const Applied& applied = apply_by_class(found, asked);
  decision.feasible = applied.feasible;
  found.best(options.top_k, tie_order_, applied.extras, applied.feasible, best_);
  decision.candidates.resize(best_.size());
  const PodShape& shape = asked.shape;
  for (std::size_t i = 0; i < best_.size(); ++i) {
    NodeScore& candidate = decision.candidates[i];
    candidate.node = static_cast<NodeIndex>(best_[i].row);
    candidate.total = best_[i].total;
    candidate.plugins.clear();
    if (!options.plugin_scores) {
      continue;
    }
    ExactRow row{};
    row.row = best_[i].row;
    for (std::uint32_t s = 0; s < shape.scores.size(); ++s) {
      const std::int32_t raw = found.raw(row.row, s);
      row.raw[s] = raw;
      row.score[s] = found.normalized(raw, s);
    }
    const ScoredRows its = with_images(asked, entry_of(applied, row.row), row.row);
    candidate.plugins = plugin_scores(asked, row, &its);
  }
  const std::vector<CodeCount>* codes = &found.codes();
  if (applied.rejects) {
    codes_ = found.codes();
    for (const ScoredRows& its : applied.entries) {
      if (its.code != 0 && its.rows != 0) {
        count_code(codes_, its.code, its.rows);
      }
    }
    codes = &codes_;
  }
  end(shape, *codes, options, decision);
  if (asked.look->failed()) {
    decision.code = Code::kError;
  }
}

// What stands for others says nothing of the row's images.
ScoredRows Evaluator::with_images(const AskedPod& asked, ScoredRows entry,
                                  std::uint32_t row) const {
  const std::vector<ApplicationScore>& scores = cluster_.applications().scores();
  for (std::size_t s = 0; s < scores.size() && asked.look->most_image_score() != 0; ++s) {
    if (scores[s].plugin == PluginId::kImageLocality) {
      entry.raw[s] = asked.look->image_score(row);
      entry.score[s] = static_cast<std::int32_t>(entry.raw[s]);
      entry.total += scores[s].weight * entry.score[s];
    }
  }
  return entry;
}

}  // namespace headroom
