// What a report says over time: samples, their JSON, and the page that has it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "simulation/report/profile_comparison.h"
#include "simulation/report/report_page.h"
#include "simulation/report/series_json.h"
#include "simulation/report/simulation_json.h"
#include "simulation/text/printable.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "tools/command/command_line.h"
#include "tools/command/text_output.h"
#include "workloads/cluster_generator.h"

namespace headroom::report_test {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kSecondUs = 1'000'000;

Node node(const std::string& name, std::int64_t cpu_milli) {
  Node node = node_of(name, millicores(cpu_milli));
  node.capacity = node.allocatable;
  return node;
}

// Asks for three cores and may use six.
Pod pod(std::uint32_t index) {
  return pod_of("default", "pod-" + std::to_string(index), cores(3),
                {.limits = cores(6), .phase = "Pending"});
}

// A node of four cores and one of 16.
SimulationInput two_nodes(std::vector<Arrival> arrivals) {
  SimulationInput input;
  input.title = "two nodes";
  input.nodes = {node("n1", 4000), node("n2", 16000)};
  input.arrivals = std::move(arrivals);
  input.make_pod = pod;
  return input;
}

Result<SimulationReport> run(const SimulationInput& input, SimulationOptions options = {}) {
  options.series = true;
  options.validate = true;
  return simulate(input, options);
}

ordered_json json_of(const SimulationInput& input, const SimulationReport& report) {
  const ProfileRun runs[] = {{"standard", report}};
  return ordered_json::parse(json_report(input, 1, runs));
}

TEST(Series, FiguresOfASmallRun) {
  // 127 intervals of a second.
  const SimulationInput input = two_nodes({
      {.time_us = 10 * kSecondUs, .departure_us = 100 * kSecondUs, .pod = 0},
      {.time_us = 20 * kSecondUs, .departure_us = 50 * kSecondUs, .pod = 1},
      {.time_us = 127 * kSecondUs, .pod = 2},
  });
  const auto report = run(input);
  ASSERT_TRUE(report) << report.error().message;
  const ordered_json json = json_of(input, *report);
  EXPECT_EQ("standard", json["profile"]);
  const ordered_json& series = json["series"];
  EXPECT_EQ("time", series["axis"]);
  EXPECT_EQ("1970-01-01T00:00:00Z", series["from"]);
  ASSERT_EQ(kSamplesMax, series["seconds"].size());
  EXPECT_EQ(0, series["seconds"][0]);
  EXPECT_EQ(127, series["seconds"][127]);
  ASSERT_EQ("cpu", series["resources"][0]["name"]);
  const ordered_json& cpu = series["resources"][0];
  const auto sums = [&](const char* measure, std::size_t sample) {
    return cpu[measure]["sum"][sample].get<std::int64_t>();
  };
  EXPECT_EQ(20'000, cpu["allocatable"][0]);
  EXPECT_EQ(0, sums("requested", 9));
  EXPECT_EQ(3000, sums("requested", 10));
  EXPECT_EQ(3000, sums("requested", 19));
  EXPECT_EQ(6000, sums("requested", 20));
  EXPECT_EQ(12'000, sums("limits", 49));
  EXPECT_EQ(12'000, sums("estimated_usage", 49));
  EXPECT_EQ(6000, sums("limits", 50));
  EXPECT_EQ(0, sums("limits", 100));
  EXPECT_EQ(6000, sums("limits", 127));
  EXPECT_EQ(1, series["placed"][20]);
  EXPECT_EQ(0, series["placed"][21]);
  EXPECT_EQ(3, series["decisions"][127]);
  EXPECT_EQ(2, series["pods"][49]);
  EXPECT_EQ(1, series["pods"][50]);
  // The larger node has the most left: both pods are there, with limits of 12 of 16 cores.
  const ordered_json& limits = cpu["limits"];
  EXPECT_EQ(75.0, limits["max"][49]);
  EXPECT_EQ(37.5, limits["mean"][49]);
  EXPECT_EQ(0.0, limits["p50"][49]);
  EXPECT_EQ(75.0, limits["p99"][49]);
  EXPECT_EQ(1, limits["nodes"][49][0]);  // empty
  EXPECT_EQ(1, limits["nodes"][49][8]);  // 70 to 80 %
  EXPECT_EQ(1, cpu["estimated_usage"]["hot_nodes"][49]);
  EXPECT_EQ(0, limits["nodes_above_100"][49]);
  EXPECT_EQ(json["speed"]["decisions_per_second"].size(), series["seconds"].size());
}

TEST(Series, AddsUpBeyondInt64) {
  constexpr std::int64_t kMost = INT64_MAX - 807;  // whole cores
  SimulationInput input = two_nodes(
      {{.time_us = 0, .pod = 0}, {.time_us = 1, .pod = 1}, {.time_us = 127 * kSecondUs, .pod = 2}});
  input.nodes = {node("n1", kMost), node("n2", kMost)};
  input.make_pod = [](std::uint32_t index) {
    Pod all = pod(index);
    all.containers[0].requests = {{"cpu", Quantity::from_milli(index < 2 ? kMost : 0)}};
    all.containers[0].limits = all.containers[0].requests;
    return all;
  };
  const auto report = run(input);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->placed, 3u);
  const ordered_json cpu = json_of(input, *report)["series"]["resources"][0];
  EXPECT_EQ(cpu["allocatable"].back(), INT64_MAX);
  for (const char* measure : {"requested", "limits", "estimated_usage"}) {
    EXPECT_GT(cpu[measure]["sum"].back().get<std::int64_t>(), kMost / 2) << measure;
    EXPECT_LE(cpu[measure]["max"].back(), 100.0) << measure;
  }
  EXPECT_EQ(cpu["limits"]["sum"].back(), INT64_MAX);
}

TEST(Series, NodesAboveAllocatableAndPendingPods) {
  SimulationInput input = two_nodes({
      {.time_us = 0, .departure_us = 60 * kSecondUs, .pod = 0},
      {.time_us = 1, .departure_us = 90 * kSecondUs, .pod = 1},
      {.time_us = 127 * kSecondUs, .pod = 2},
  });
  input.nodes = {node("n1", 4000)};
  const auto report = run(input);
  ASSERT_TRUE(report) << report.error().message;
  const ordered_json series = json_of(input, *report)["series"];
  EXPECT_EQ(1, series["nodes"][0]);
  const ordered_json& limits = series["resources"][0]["limits"];
  EXPECT_EQ(150.0, limits["max"][1]);
  EXPECT_EQ(1, limits["nodes_above_100"][1]);
  EXPECT_EQ(1, limits["nodes"][1][15]);  // 140 to 150 %, its end included
  EXPECT_EQ(1, series["failed"][1]);
  EXPECT_EQ("Insufficient cpu", series["failures"][0]["reason"]);
  EXPECT_EQ(1, series["failures"][0]["pods"][1]);
  EXPECT_EQ(0, series["pending"][0]);
  EXPECT_EQ(1, series["pending"][89]);
  EXPECT_EQ(0, series["pending"][90]);  // its time has ended
  const ordered_json& of_all = series["summary"]["cpu"]["limits"];
  EXPECT_EQ(150.0, of_all["max_percent"]);
  EXPECT_EQ(1, of_all["nodes_above_100_max"]);
  // Samples 1 to 59, and the last one.
  EXPECT_DOUBLE_EQ(60.0 / 128, of_all["nodes_above_100"]);
}

TEST(Series, PodsOfOneMomentAreSpreadOverTheDecisions) {
  std::vector<Arrival> arrivals;
  for (std::uint32_t p = 0; p < 300; ++p) arrivals.push_back({.time_us = 0, .pod = p});
  const SimulationInput input = two_nodes(std::move(arrivals));
  const auto report = run(input);
  ASSERT_TRUE(report) << report.error().message;
  const ordered_json series = json_of(input, *report)["series"];
  EXPECT_EQ("decisions", series["axis"]);
  EXPECT_EQ(101u, series["decisions"].size());
  EXPECT_EQ(3, series["decisions"][1]);
  EXPECT_EQ(3, series["placed"][1]);
  EXPECT_EQ(300, series["decisions"].back());
  EXPECT_EQ(report->failed, series["pending"].back());
}

// With an autoscaler it goes on for long after the last arrival: each pod waits for the one before.
TEST(Series, NeverMoreSamplesAndNothingIsLost) {
  std::vector<Arrival> arrivals;
  for (std::uint32_t p = 0; p < 40; ++p) {
    arrivals.push_back(
        {.time_us = p * kSecondUs, .departure_us = (p + 1000) * kSecondUs, .pod = p});
  }
  SimulationInput input = two_nodes(std::move(arrivals));
  input.nodes = {node("n1", 4000)};
  SimulationOptions options;
  options.autoscaler = AutoscalerOptions{.templates = {node("small", 1000)}, .quotas = {}};
  const auto report = run(input, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(40u, report->placed);
  const SimulationSeries& series = *report->series;
  EXPECT_LE(series.samples.size(), kSamplesMax);
  EXPECT_GE(series.samples.size(), kSamplesMax / 2);
  std::uint64_t placed = 0;
  std::int64_t before_us = -1;
  for (const Sample& sample : series.samples) {
    placed += sample.placed;
    EXPECT_GT(sample.time_us, before_us);
    before_us = sample.time_us;
  }
  EXPECT_EQ(report->placed, placed);
  EXPECT_EQ(39u, series.samples[1].pending);
  EXPECT_EQ(0u, series.samples.back().pending);
  EXPECT_EQ(report->growth->end_us, series.samples.back().time_us);
}

TEST(Series, HalvingKeepsEveryCount) {
  const std::vector<Node> nodes = {node("n1", 4000)};
  const ClusterUsage usage(nodes);
  const ElasticQuotaLedger ledger({}, Mode::kProposal);
  for (const std::int64_t end_us : {5000, 4992}) {  // 4992: the last sample's own moment
    SCOPED_TRACE(end_us);
    SeriesRecorder recorder(usage, {.begin_us = 0, .end_us = 127, .arrivals = 1}, 1);
    const auto moment = [&](std::int64_t time_us) {
      return SeriesRecorder::Moment{.time_us = time_us, .ledger = ledger, .autoscaler = nullptr};
    };
    recorder.take(moment(0));
    for (std::int64_t now_us = 1; now_us <= end_us; ++now_us) {
      recorder.count_placed();
      recorder.count_failed(now_us % 2 == 0 ? "even" : "odd");
      if (now_us == recorder.next_us() && now_us < 5000) recorder.take(moment(now_us));
    }
    const SimulationSeries series = recorder.finish(moment(end_us));
    std::uint64_t placed = 0, even = 0, odd = 0;
    for (const Sample& sample : series.samples) {
      placed += sample.placed;
      if (sample.failures.size() > 0) odd += sample.failures[0];
      if (sample.failures.size() > 1) even += sample.failures[1];
    }
    EXPECT_EQ(end_us, static_cast<std::int64_t>(placed));
    EXPECT_EQ(end_us / 2, static_cast<std::int64_t>(odd));
    EXPECT_EQ(end_us / 2, static_cast<std::int64_t>(even));
    EXPECT_LE(series.samples.size(), kSamplesMax);
    // Evenly spread, but for the last.
    const std::int64_t step_us = series.samples[1].time_us;
    for (std::size_t s = 0; s + 1 < series.samples.size(); ++s) {
      EXPECT_EQ(static_cast<std::int64_t>(s) * step_us, series.samples[s].time_us);
    }
  }
}

// Quotas, priorities, departures and metrics: the same decisions, and sums that fit the report.
TEST(Series, ChangesNoDecisionAndAddsUp) {
  std::uint64_t seed = test_seed();
  for (int round = 0; round < 6; ++round, ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto generator = std::make_shared<ClusterGenerator>(
        ClusterGenerator::Options{.nodes = 12,
                                  .pods = 300,
                                  .seed = seed,
                                  .bound_permille = 0,
                                  .follow_trace = true,
                                  .quotas = round % 2 == 0 ? 4u : 0u});
    SimulationInput input;
    input.title = "generated";
    for (std::uint32_t n = 0; n < 12; ++n) input.nodes.push_back(generator->node(n));
    for (std::uint32_t q = 0; q < generator->elastic_quota_count(); ++q) {
      input.elastic_quotas.push_back(generator->elastic_quota(q));
    }
    input.start_us = generator->options().now_us;
    for (std::uint32_t p = 0; p < 300; ++p) {
      const std::int64_t time_us = input.start_us + p * 30 * kSecondUs;
      input.arrivals.push_back(
          {.time_us = time_us, .departure_us = time_us + 3600 * kSecondUs, .pod = p});
    }
    input.make_pod = [generator](std::uint32_t p) { return generator->pod(p); };
    SimulationOptions options;
    options.metrics_every_seconds = 60;
    std::vector<std::string> lines, lines_with_series;
    options.on_decision = [&](const std::string& line) { lines.push_back(line); };
    const Result<SimulationReport> plain = simulate(input, options);
    options.on_decision = [&](const std::string& line) { lines_with_series.push_back(line); };
    const Result<SimulationReport> report = run(input, options);
    ASSERT_TRUE(plain && report);
    EXPECT_EQ(lines, lines_with_series);
    EXPECT_FALSE(plain->series);

    const SimulationSeries& series = *report->series;
    std::uint64_t placed = 0, failed = 0, reasons = 0, victims = 0, again = 0;
    for (const Sample& sample : series.samples) {
      placed += sample.placed;
      failed += sample.failed;
      victims += sample.victims;
      again += sample.victims_placed_again;
      for (const std::uint64_t pods : sample.failures) reasons += pods;
      for (std::size_t m = 0; m < kMeasures; ++m) {
        for (std::size_t r = 0; r < series.resources.size(); ++r) {
          const Distribution& at = sample.by_nodes[m][r];
          std::uint32_t nodes = 0;
          for (const std::uint32_t count : at.buckets) nodes += count;
          EXPECT_EQ(at.nodes, nodes);
          EXPECT_LE(at.p50, at.p90);
          EXPECT_LE(at.p90, at.p99);
          EXPECT_LE(at.p99, at.max);
        }
      }
      for (std::size_t r = 0; r < series.resources.size(); ++r) {
        EXPECT_LE(sample.sums[0][r], sample.sums[1][r]) << series.resources[r];
        EXPECT_LE(sample.sums[0][r], sample.allocatable[r]) << series.resources[r];
      }
    }
    EXPECT_EQ(report->placed, placed);
    EXPECT_EQ(report->failed, failed);
    EXPECT_EQ(report->failed, reasons);
    EXPECT_EQ(report->preemption.victims, victims);
    EXPECT_EQ(report->preemption.victims_placed_again, again);
    const ordered_json json = json_of(input, *report);
    for (const ordered_json& quota :
         json["series"].value("elastic_quotas", ordered_json::array())) {
      const auto reported = std::find_if(
          json["elastic_quotas"].begin(), json["elastic_quotas"].end(),
          [&](const ordered_json& other) { return other["namespace"] == quota["namespace"]; });
      ASSERT_NE(json["elastic_quotas"].end(), reported);
      for (std::size_t r = 0; r < quota["resources"].size(); ++r) {
        EXPECT_EQ((*reported)["resources"][r]["used"], quota["resources"][r]["used"].back());
        EXPECT_EQ((*reported)["resources"][r]["lent"], quota["resources"][r]["lent"].back());
      }
    }
  }
}

TEST(ReportJson, SeveralRunsStandBesideEachOther) {
  const SimulationInput input = two_nodes({{.time_us = 0, .pod = 0}});
  const auto report = run(input);
  ASSERT_TRUE(report);
  const ProfileRun runs[] = {{"one", *report}, {"two", *report}};
  const ordered_json json = ordered_json::parse(json_report(input, 7, runs));
  EXPECT_EQ("two nodes", json["input"]);
  EXPECT_EQ(7, json["seed"]);
  ASSERT_EQ(2u, json["runs"].size());
  EXPECT_EQ("two", json["runs"][1]["profile"]);
  EXPECT_EQ(json["runs"][0]["series"], json["runs"][1]["series"]);
  EXPECT_FALSE(json.contains("series"));
}

// Each run has moments of its own; a row is of one.
TEST(Comparison, IsOfOneMoment) {
  const SimulationInput input = two_nodes({{.time_us = 0, .pod = 0}, {.time_us = 1, .pod = 1}});
  const auto report = run(input);
  ASSERT_TRUE(report);
  ProfileRun runs[] = {{"one", *report}, {"two", *report}};
  const std::vector<std::int64_t> seconds[] = {{0, 1, 2, 3, 4}, {0, 2, 4, 8}};
  for (std::size_t r = 0; r < 2; ++r) {
    SimulationSeries& series = *runs[r].report.series;
    const Sample sample = series.samples.back();
    series.samples.clear();
    for (const std::int64_t second : seconds[r]) {
      Sample& at = series.samples.emplace_back(sample);
      at.time_us = second * kSecondUs;
      for (Distribution& limits : at.by_nodes[static_cast<std::size_t>(Measure::kLimits)]) {
        limits.above_allocatable = 100 + static_cast<std::uint32_t>(second);
      }
    }
  }
  std::FILE* file = std::tmpfile();
  print_comparison(file, input, 1, runs);
  std::rewind(file);
  std::string text(16'384, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  for (const auto& [second, numbers] :
       {std::pair("01Z", "101 +100"), std::pair("02Z", "102 +102"), std::pair("03Z", "103 +102"),
        std::pair("04Z", "104 +104")}) {
    const std::string row = std::string("00:00:") + second + " +" + numbers + "\n";
    EXPECT_TRUE(std::regex_search(text, std::regex(row))) << row << text;
  }
}

TEST(ReportJson, ListsOfNumbersStayOnOneLine) {
  const ordered_json json = {{"a", {1, 2, 3}}, {"b", {{"c", nullptr}}}, {"d", {{1}, {2}}}};
  const std::string text = json_text(json);
  EXPECT_NE(std::string::npos, text.find("\"a\": [1,2,3],\n")) << text;
  EXPECT_EQ(json, ordered_json::parse(text));
  EXPECT_EQ("\"\\\"<\\n\"", json_text("\"<\n"));
}

// What stands between an element's begin and the next end of a script.
std::string element(const std::string& page, const std::string& id) {
  const std::string begin = "<script id=\"" + id + "\" type=\"application/json\">";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

TEST(ReportPage, HasTheJsonAndNoMarkupOfIt) {
  const std::string name = "</script><script>alert(1)</script><!--{{data}}{{script}}";
  SimulationInput input = two_nodes({{.time_us = 0, .pod = 0}});
  input.title = name;
  const auto report = run(input);
  ASSERT_TRUE(report);
  const ProfileRun runs[] = {{name, *report}};
  const std::string json = json_report(input, 1, runs);
  const std::string page = report_page(json, "headroom simulate " + name);
  EXPECT_EQ(ordered_json::parse(json), ordered_json::parse(element(page, "data")));
  EXPECT_EQ("headroom simulate " + name, ordered_json::parse(element(page, "origin"))["command"]);
  EXPECT_EQ(std::string::npos, page.find("<script>alert"));
  const std::string empty = report_page("{}", "");
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  for (const char* tag : {"<script", "</script>", "<!--"}) {
    EXPECT_EQ(count(empty, tag), count(page, tag)) << tag;
  }
  EXPECT_EQ(4u, count(page, "</script>"));
  EXPECT_NE(std::string::npos, page.find("Chart.js v"));  // the library's notice
}

TEST(Printable, NothingCommandsTheTerminal) {
  EXPECT_EQ(printable("caf\xC3\xA9 \xE2\x82\xAC\n\tplain"), "caf\xC3\xA9 \xE2\x82\xAC\n\tplain");
  EXPECT_EQ(printable("\x1b[31mred\x1b]0;title\a"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(printable("over\rwritten \x7f \xC2\x9B"
                      "2J"),
            "over\\x0dwritten \\x7f \\x9b"
            "2J");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

class WritesBeside : public ::testing::Test {
 protected:
  std::string read(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetUp() override { std::filesystem::create_directory(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_),
                                                  std::filesystem::directory_iterator()));
  }
  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("beside." + std::to_string(::getpid()));
};

TEST_F(WritesBeside, AFileTakesItsPlaceWhole) {
  const std::string path = directory_ / "report.html";
  {
    Result<TextOutput> output = TextOutput::open(path);
    ASSERT_TRUE(output);
    output->text() = "first";
    ASSERT_TRUE(output->close());
  }
  EXPECT_EQ(read("report.html"), "first");
  {
    // Not closed: an error came first.
    Result<TextOutput> output = TextOutput::open(path);
    ASSERT_TRUE(output);
    output->text() = std::string(2 << 20, 'x');
    output->write_full();
    EXPECT_EQ(read("report.html"), "first");
  }
  EXPECT_EQ(read("report.html"), "first");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WritesBeside, AFullDiskLeavesNoHalfOfAFile) {
  const std::string path = directory_ / "report.html";
  Result<TextOutput> output = TextOutput::open(path);
  ASSERT_TRUE(output);
  const rlimit none = {0, RLIM_INFINITY};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  output->text() = std::string(2 << 20, 'x');
  const Result<void> closed = output->close();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kIo);
  { const TextOutput gone = std::move(*output); }
  EXPECT_EQ(files(), 0u);
}

TEST_F(WritesBeside, ADeviceStaysADevice) {
  Result<TextOutput> output = TextOutput::open("/dev/full");
  ASSERT_TRUE(output);
  output->text() = "x";
  const Result<void> closed = output->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(CommandLine, WordsAreQuotedForAShell) {
  EXPECT_EQ("--nodes=5", shell_word("--nodes=5"));
  EXPECT_EQ("data/limit-aware.yaml", shell_word("data/limit-aware.yaml"));
  EXPECT_EQ("'a b'", shell_word("a b"));
  EXPECT_EQ("''", shell_word(""));
  EXPECT_EQ("'it'\\''s; $(x)'", shell_word("it's; $(x)"));
}

}  // namespace
}  // namespace headroom::report_test
