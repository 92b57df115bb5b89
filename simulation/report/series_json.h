// A simulation's series as JSON: columns, with an entry for each sample.
//
//   axis             "time", or "decisions": what samples are evenly spread over
//   from             the first sample's time
//   seconds          since then; decisions: up to then
//   nodes, pods, pending
//   placed, failed, preemptors, victims, victims_placed_again   since the sample before
//   failures         [{reason, pods: since the sample before}]
//   resources        those that some pod asks for: {name, unit, allocatable, and by measure
//                    (requested, limits; of cpu and memory also estimated_usage, usage): {sum, and
//                    over the nodes that have some, in percent of their allocatable: mean, p50,
//                    p90, p99, max; nodes_above_100; hot_nodes, above hot_percent; nodes: by
//                    bucket}}
//   bucket_percent   upper end of each bucket of nodes; null: there is none
//   elastic_quota_totals  over all of them, {name, unit, used, borrowed, lent}
//   elastic_quotas   {namespace, name, resources: {name, unit, min, max, used, borrowed, lent}},
//                    the kElasticQuotaSeriesMax that borrowed, lent or lost most
//   capacity_quotas  {quota, resource, unit, limit, used, reserved, nodes_refused}, the
//                    kLimitSeriesMax that blocked longest
//   summary          by resource and measure, of all samples: mean_percent, p99_percent,
//                    nodes_above_100, hot_nodes on average; max_percent, nodes_above_100_max,
//                    hot_nodes_max
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulation/simulation.h"

namespace headroom {

inline constexpr std::size_t kElasticQuotaSeriesMax = 20;
inline constexpr std::size_t kLimitSeriesMax = 20;

const char* to_string(Measure measure);

// What a measure of a resource came to in all samples; shares in percent of allocatable.
struct MeasureSummary {
  double mean_percent = 0, p99_percent = 0, max_percent = 0;
  double nodes_above_100 = 0, hot_nodes = 0;  // on average
  std::uint32_t nodes_above_100_max = 0, hot_nodes_max = 0;
};
MeasureSummary summary(const SimulationSeries& series, std::size_t resource, Measure measure);
// Estimated and simulated usage are known of cpu and memory.
bool has_measure(const std::string& resource, Measure measure);

// The report has a series.
nlohmann::ordered_json series_json(const SimulationReport& report);
// Decisions per second of the engine's time, from sample to sample; null where none was made.
nlohmann::ordered_json decisions_per_second_json(const SimulationSeries& series);

// As dump(2), but a list of numbers or texts stays on one line.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace headroom
