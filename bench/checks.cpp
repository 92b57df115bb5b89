#include "bench/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

namespace {

void check_candidate(const NodeScore& candidate, NodeIndex node, std::int64_t total) {
  check(candidate.node == node && candidate.total == total,
        fmt::format("candidate row {} total {}, row by row: row {} total {}",
                    static_cast<std::uint32_t>(candidate.node), candidate.total,
                    static_cast<std::uint32_t>(node), total));
}

}  // namespace

void check(bool holds, const std::string& what) {
  if (!holds) {
    throw CheckFailed(what);
  }
}

void check_decision(Engine& engine, const Pod& pod, const EvaluateOptions& options,
                    const Decision& decision) {
  std::vector<NodeDetail> details = value_of(engine.evaluate_all(pod));
  std::erase_if(details, [](const NodeDetail& detail) { return detail.code != Code::kSuccess; });
  check(decision.feasible == details.size(),
        fmt::format("{} nodes are feasible, row by row {}", decision.feasible, details.size()));
  const std::size_t best = std::min<std::size_t>(options.top_k, details.size());
  std::partial_sort(details.begin(), details.begin() + static_cast<std::ptrdiff_t>(best),
                    details.end(), [](const NodeDetail& a, const NodeDetail& b) {
                      return a.total != b.total ? a.total > b.total : a.node < b.node;
                    });
  check(decision.candidates.size() == best, "number of candidates");
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const NodeScore& candidate = decision.candidates[i];
    check_candidate(candidate, details[i].node, details[i].total);
    for (std::size_t s = 0; s < candidate.plugins.size(); ++s) {
      check(candidate.plugins[s].raw == details[i].plugins[s].raw &&
                candidate.plugins[s].score == details[i].plugins[s].score,
            "scores by plugin");
    }
  }
}

void check_equal(const Decision& a, const Decision& b) {
  check(a.feasible == b.feasible && a.candidates.size() == b.candidates.size(),
        "decisions differ in their number of nodes");
  for (std::size_t i = 0; i < a.candidates.size(); ++i) {
    check_candidate(a.candidates[i], b.candidates[i].node, b.candidates[i].total);
  }
}

}  // namespace headroom
