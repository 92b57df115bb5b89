// headroom_bench: measures Headroom and prints one table; bench/run builds and runs it.
#include <benchmark/benchmark.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "bench/checks.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "kernels/kernels.h"

namespace headroom {

namespace {

struct Row {
  const char* name;
  void (*run)(const BenchOptions&, Lines&);
};

constexpr std::array kRows = {
    Row{"kernel_vs_read", kernel_vs_read},
    Row{"kernel_vs_scalar", kernel_vs_scalar},
    Row{"cold_profile", cold_profile},
    Row{"resources_8", resources_8},
    Row{"warm", warm},
    Row{"warm_growth", warm_growth},
    Row{"warm_dirty", warm_dirty},
    Row{"batch_shapes", batch_shapes},
    Row{"place", place},
    Row{"place_churn", place_churn},
    Row{"place_generated", place_generated},
    Row{"trace_replay", trace_replay},
    Row{"fork", fork_rollback},
    Row{"c_abi_overhead", c_abi_overhead},
    Row{"events", events},
    Row{"load_dump", load_dump},
    Row{"codec", codec},
    Row{"served_minus_echo", served_latency},
    Row{"served_throughput", served_throughput},
    Row{"served_batch", served_batch},
    Row{"open_loop", open_loop},
    Row{"resync", resync},
    Row{"hostile_wait", hostile_wait},
    Row{"elastic_quota_prefilter", elastic_quota_prefilter},
    Row{"preempt_cold", preempt_cold},
    Row{"preempt_pruned", preempt_pruned},
    Row{"preempt_storm", preempt_storm},
    Row{"capacity_quota_check", capacity_quota_check},
    Row{"capacity_quota_check_batch", capacity_quota_check_batch},
    Row{"capacity_quota_event", capacity_quota_event},
    Row{"capacity_quota_edit", capacity_quota_edit},
    Row{"spread_warm", spread_warm},
    Row{"spread_hard", spread_hard},
    Row{"affinity_warm", affinity_warm},
    Row{"spread_cold", spread_cold},
    Row{"default_place", default_place},
    Row{"counter_event", counter_event},
    Row{"volumes", volumes},
    Row{"application_memory", application_memory},
    Row{"memory", memory},
};

std::string machine_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown processor";
}

double clock_ns() {
  constexpr int kReadings = 100'000;
  const Stopwatch watch;
  for (int i = 0; i < kReadings; ++i) {
    keep(watch.seconds());
  }
  return watch.seconds() / kReadings * 1e9;
}

TableHead head_of(const BenchOptions& options) {
  return {.machine = machine_name(),
          .instruction_set = active_kernels()->name,
          .compiler = HEADROOM_COMPILER,
          .cores = std::thread::hardware_concurrency(),
          .seed = options.seed,
          .clock_ns = clock_ns(),
          .sizes = options.smoke   ? "small sizes, answers only"
                   : options.scale ? "ten times the usual sizes, two repetitions"
                                   : "",
          .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
          .commit = ""};
}

// Where else the figures go; empty: nowhere.
struct Files {
  std::string json, markdown;
  std::string commit;  // what the page says
};

bool write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "{}: cannot be written\n", path);
  return !file.fail();
}

// Before any row starts threads or leaves freed memory behind, the one that forks.
Lines run_rows(const BenchOptions& options, const std::vector<std::string>& names) {
  std::array<Lines, kRows.size()> lines;
  const auto run = [&](std::size_t r) {
    const Row& row = kRows[r];
    if (!names.empty() && std::find(names.begin(), names.end(), row.name) == names.end()) {
      return;
    }
    fmt::print(stderr, "{} ...\n", row.name);
    try {
      row.run(options, lines[r]);
    } catch (const CheckFailed& failed) {
      throw CheckFailed(fmt::format("{}: wrong answer: {}", row.name, failed.what()));
    }
  };
  run(kRows.size() - 1);
  for (std::size_t r = 0; r + 1 < kRows.size(); ++r) {
    run(r);
  }
  Lines all;
  for (const Lines& some : lines) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int run_bench(const BenchOptions& options, const std::vector<std::string>& names,
              const Files& files) {
  if (active_kernels() == nullptr) {
    fmt::print(stderr, "HEADROOM_KERNELS names no instruction set that this machine has\n");
    return 1;
  }
  std::array<char, 16> program = {"headroom_bench"};
  std::array<char, 48> interleave = {"--benchmark_enable_random_interleaving=true"};
  std::array<char*, 3> arguments = {program.data(), interleave.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments.data());
  TableHead head = head_of(options);
  head.commit = files.commit;
  Lines lines;
  try {
    lines = run_rows(options, names);
  } catch (const CheckFailed& failed) {
    fmt::print(stderr, "{}\n", failed.what());
    return 1;
  }
  fmt::print("{}", table_text(head, lines));
  const bool written = write_file(files.json, table_json(head, lines)) &&
                       write_file(files.markdown, table_markdown(head, lines));
  return written ? 0 : 1;
}

}  // namespace

}  // namespace headroom

int main(int argc, char** argv) {
  CLI::App app("Measures Headroom; each row checks its own answers first.");
  headroom::BenchOptions options;
  std::vector<std::string> names;
  headroom::Files files;
  std::vector<std::string> known;
  for (const auto& row : headroom::kRows) {
    known.emplace_back(row.name);
  }
  app.add_option("--rows", names, "Only these rows, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  app.add_option("--seed", options.seed, "Of clusters and events")->capture_default_str();
  app.add_option("--json", files.json, "Write the same figures to this file");
  app.add_option("--markdown", files.markdown, "The same, as a part of a page");
  app.add_option("--commit", files.commit, "What that page says was measured");
  auto* smoke = app.add_flag("--smoke", options.smoke,
                             "Small sizes: answers are checked, times mean nothing");
  app.add_flag("--scale", options.scale,
               "Ten times the sizes: 500,000 nodes; two repetitions, without verdicts")
      ->excludes(smoke);
  CLI11_PARSE(app, argc, argv);
  return headroom::run_bench(options, names, files);
}
