// What a load test saw, as people and as scripts read it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/load/run.h"

namespace headroom {

// What a run left to tell.
struct LoadOutcome {
  LoadPlan plan;  // of the last run
  LoadResult served;
  std::optional<LoadResult> echo;
  LoadKind echo_kind = LoadKind::kEvaluate;
  double feed_seconds = 0;
  std::uint64_t fed_objects = 0;
  std::optional<bool> verified;  // nullopt: not looked at
  std::uint32_t verified_answers = 0;
  std::int64_t busy_poll_us = 0;  // of this end, and of a headroomd that was started for the run
  bool own_daemon = true;
  std::string difference;
  // --find-limit: the bound, what was tried (rate, p99 in us), and the highest rate within it.
  double limit_bound_us = 0;
  std::vector<std::pair<double, double>> limit_steps;
  std::optional<double> limit_rate;

  bool failed() const { return served.errors > 0 || served.lost > 0 || (verified && !*verified); }
};

void print_outcome(const LoadOutcome& outcome);
// The same figures, and the histograms.
nlohmann::ordered_json outcome_json(const LoadOutcome& outcome);
// The quantiles as a picture (SVG).
std::string outcome_plot(const LoadOutcome& outcome);

}  // namespace headroom
