// Evaluator: decisions over a cached answer of the columns and what an application adds to it.
// Cost: that of AppliedRows, and the search.
#include <memory>

#include "engine/decide/applied_rows.h"
#include "engine/decide/evaluator.h"

namespace headroom {

const AppliedRows& Evaluator::apply_by_class(CachedShape& found, AskedPod& asked) {
  Application& application = *asked.application;
  Applications& applications = cluster_.applications();
  if (!cache_.on() || !asked.look->keeps()) {
    applied_.bring_up(found, *asked.look, applications, application, asked.shape, false);
    return applied_;
  }
  if (application.kept == nullptr) {
    application.kept = std::make_unique<AppliedRows>();
  }
  auto& applied = static_cast<AppliedRows&>(*application.kept);
  applied.bring_up(found, *asked.look, applications, application, asked.shape, true);
  applications.set_kept_bytes(application, applied.bytes());
  return applied;
}

void Evaluator::decide_applied(CachedShape& found, AskedPod& asked, const EvaluateOptions& options,
                               Decision& decision) {
  begin(decision);
  const AppliedRows& applied = apply_by_class(found, asked);
  decision.feasible = applied.feasible();
  found.best(options.top_k, tie_order_, applied.extras(), applied.feasible(), best_);
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
    const ScoredRows its = with_images(asked, applied.entry_of(row.row), row.row);
    candidate.plugins = plugin_scores(asked, row, &its);
  }
  const std::vector<CodeCount>* codes = &found.codes();
  if (applied.rejects()) {
    codes_ = found.codes();
    for (const ScoredRows& its : applied.entries()) {
      if (its.code != 0 && its.rows != 0) {
        count_code(codes_, its.code, its.rows);
      }
    }
    codes = &codes_;
  }
  end(shape, *codes, options, decision);
  if (asked.look->failed()) {
    end_in_error(decision);
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
