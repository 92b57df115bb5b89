#include "engine/table/pod_shape.h"

#include <algorithm>

#include "kernels/exact.h"
#include "layout/heap_bytes.h"
#include "objects/assert.h"

namespace headroom {

std::int64_t AllocatableNeed::at(const Quantity& allocatable) const {
  Quantity most;
  for (const Line& line : lines) {
    const Quantity need =
        Quantity::from_nanos(line.constant.nanos() + line.count * allocatable.nanos());
    most = most < need ? need : most;
  }
  return amount(resource, most);
}

static std::size_t heap_bytes(const AllocatableNeed& need) { return heap_bytes(need.lines); }
static std::size_t heap_bytes(const HostPort& port) { return heap_bytes(port.ip); }
static std::size_t heap_bytes(const FilterLabel& label) {
  return heap_bytes(label.resource) + heap_bytes(label.reason);
}
static std::size_t heap_bytes(const ScoreLabel& label) { return heap_bytes(label.resources); }

void PodShape::measure() {
  own_bytes = allocated_bytes(sizeof(PodShape)) + kShapeIndexBytes + reason_bytes +
              heap_bytes(key) + heap_bytes(names) + heap_bytes(contributions) +
              heap_bytes(allocatable_needs) + heap_bytes(load.estimate) +
              heap_bytes(elastic_quota_request) + heap_bytes(constraint.node_selector) +
              heap_bytes(constraint.required) + heap_bytes(constraint.tolerations) +
              (affinity == nullptr ? 0 : affinity->bytes()) + heap_bytes(pinned) +
              heap_bytes(host_ports) + heap_bytes(filter_terms) + heap_bytes(filter_labels) +
              heap_bytes(filter_plugins) + heap_bytes(reasons) + heap_bytes(reason_of) +
              heap_bytes(score_terms) + heap_bytes(scores) + heap_bytes(score_labels) +
              heap_bytes(score_order) + heap_bytes(ignored) +
              // The active ones are of them.
              heap_bytes(filter_terms) + heap_bytes(filter_plugins);
}

void PodShape::activate(const NodeTable& table) {
  if (active_generation == table.limited_generation()) {
    return;
  }
  active_generation = table.limited_generation();
  active_terms.clear();
  active_plugins.clear();
  auto term = filter_terms.begin();
  for (FilterPlugin plugin : filter_plugins) {
    const auto end = term + plugin.count;
    plugin.count = 0;
    for (; term != end; ++term) {
      if (table.limited(term->column)) {
        active_terms.push_back(*term);
        ++plugin.count;
      }
    }
    if (plugin.count != 0) {
      active_plugins.push_back(plugin);
    }
  }
}

void ProgramBuilder::add_filter_term(FilterLabel label, ColumnId column, std::int64_t need) {
  const auto bit = static_cast<std::uint32_t>(shape_.filter_terms.size());
  shape_.error_terms |= label.code == Code::kError && bit < kFilterTermsMax ? 1u << bit : 0;
  shape_.filter_terms.push_back({column, bit, need, round_down(need), round_up(need)});
  shape_.filter_labels.push_back(std::move(label));
}

void ProgramBuilder::end_filter(bool first_only) {
  const std::size_t count = shape_.filter_terms.size() - first_term_;
  if (count != 0) {
    // Beyond kFilterTermsMax no decision is made; see ShapeBook::for_decision().
    const auto mask = static_cast<std::uint32_t>(
        ((std::uint64_t{1} << std::min<std::size_t>(count, kFilterTermsMax)) - 1)
        << std::min<std::size_t>(first_term_, 32));
    shape_.filter_plugins.push_back({static_cast<std::uint32_t>(count), mask, first_only});
  }
  first_term_ = shape_.filter_terms.size();
}

void ProgramBuilder::add_score(PluginId plugin, std::int64_t weight, Score score,
                               std::vector<ScoreTerm> terms, std::vector<ResourceId> resources,
                               bool normalized) {
  HEADROOM_ASSERT(terms.size() <= kScoreTermsMax && terms.size() == resources.size());
  HEADROOM_ASSERT(shape_.scores.size() < kScoresMax);
  HEADROOM_ASSERT(!normalized || shape_.normalized < kNormalizedMax);
  score.count = static_cast<std::uint32_t>(terms.size());
  score.weight_sum = score.dominant_weight;
  for (const ScoreTerm& term : terms) {
    score.weight_sum += term.weight;
  }
  const auto at =
      static_cast<std::ptrdiff_t>(normalized ? shape_.normalized++ : shape_.scores.size());
  shape_.scores.insert(shape_.scores.begin() + at, score);
  shape_.score_terms.insert(shape_.score_terms.begin() + at, std::move(terms));
  shape_.score_labels.insert(shape_.score_labels.begin() + at,
                             {plugin, weight, std::move(resources)});
  for (std::size_t s = 0; s < shape_.scores.size(); ++s) {
    shape_.scores[s].terms = shape_.score_terms[s].data();
  }
}

void ProgramBuilder::finish(const std::vector<ScorePlugin>& scores) {
  for (const ScorePlugin& score : scores) {
    for (std::size_t s = 0; s < shape_.score_labels.size(); ++s) {
      if (shape_.score_labels[s].plugin == score.plugin) {
        shape_.score_order.push_back(static_cast<std::uint8_t>(s));
      }
    }
  }
  std::vector<std::string_view>& reasons = shape_.reasons;
  for (const FilterLabel& label : shape_.filter_labels) {
    reasons.push_back(label.reason);
  }
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  for (const FilterLabel& label : shape_.filter_labels) {
    const auto found = std::lower_bound(reasons.begin(), reasons.end(), label.reason);
    shape_.reason_of.push_back(static_cast<std::uint8_t>(found - reasons.begin()));
  }
}

ScoreTerm score_term(ColumnId headroom, ColumnId capacity, std::int64_t need, std::int64_t weight) {
  return {headroom, capacity, need, static_cast<float>(need), static_cast<std::int32_t>(weight)};
}

}  // namespace headroom
