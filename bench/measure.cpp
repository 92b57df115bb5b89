#include "bench/measure.h"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace headroom {

namespace {

// The figures are taken from the times themselves.
class SilentReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

double sorted_at(std::vector<double> values, double share) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(last * share + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

double Times::quantile(double share) const {
  std::vector<double> each;
  for (const std::vector<double>& times : repetitions_) {
    each.push_back(sorted_at(times, share));
  }
  return sorted_at(std::move(each), 0.5);
}

const Times& Measurement::add(std::string name, std::int64_t iterations,
                              std::function<double()> work) {
  items_.push_back({std::move(name), iterations, std::move(work), {}});
  return items_.back().times;
}

void Measurement::run(std::int32_t repetitions) {
  benchmark::ClearRegisteredBenchmarks();
  for (Item& item : items_) {
    benchmark::RegisterBenchmark(item.name.c_str(),
                                 [&item](benchmark::State& state) {
                                   std::vector<double> times;
                                   times.reserve(static_cast<std::size_t>(item.iterations));
                                   for ([[maybe_unused]] auto iteration : state) {
                                     const double seconds = item.work();
                                     state.SetIterationTime(seconds);
                                     times.push_back(seconds);
                                   }
                                   item.times.repetitions_.push_back(std::move(times));
                                 })
        ->Iterations(item.iterations)
        ->Repetitions(repetitions)
        ->UseManualTime();
  }
  SilentReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace headroom
