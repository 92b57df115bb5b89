// trace_replay: the simulation that `headroom simulate` runs, on the trace it comes with.
#include <fmt/format.h>

#include <string>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "simulation/input/simulation_input.h"
#include "simulation/simulation.h"

namespace headroom {

namespace {

SimulationReport replay(const SimulationInput& input, SimulationOptions options) {
  options.engine.threads = 1;
  return value_of(simulate(input, options));
}

// Every decision is that of an engine that looks at every node for every pod.
void check_replay(const SimulationInput& input) {
  std::string with, without;
  SimulationOptions options;
  options.validate = true;
  options.on_decision = [&](const std::string& line) { with += line; };
  const SimulationReport report = replay(input, options);
  check(report.violations.empty(), "the sums at the end of the simulation");
  options.engine.shape_cache = false;
  options.on_decision = [&](const std::string& line) { without += line; };
  replay(input, options);
  check(with == without, "a simulation's decisions with and without the shape cache");
}

}  // namespace

void trace_replay(const BenchOptions& options, Lines& lines) {
  const SimulationInput input = trace_input({.repeat = 1, .nodes = {}, .seed = options.seed});
  check_replay(input);
  std::uint64_t placed = 0;
  Measurement measurement;
  const Times& times = measurement.add("trace_replay", 1, [&] {
    const Stopwatch watch;
    placed = replay(input, {}).placed;
    return watch.seconds();
  });
  measurement.run(options.repetitions(9));
  const auto pods = static_cast<double>(input.arrivals.size());
  lines.push_back({.row = "trace_replay",
                   .what = fmt::format("the openb trace: {} pods arrive at {} nodes and leave "
                                       "({} placed), the engine's set-up and the report included",
                                       input.arrivals.size(), input.nodes.size(), placed),
                   .measured = fmt::format("{:.3f} s ({:.0f} pods a second)", times.median(),
                                           pods / times.median()),
                   .unit = "s",
                   .value = times.median(),
                   .target = at_most(0.1),
                   .figures = {{"pods_per_second", pods / times.median()}}});
}

}  // namespace headroom
