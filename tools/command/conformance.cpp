// Runs files of conformance cases and reports what differs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulation/text/printable.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/conformance/case.h"

namespace headroom {
namespace {

struct ConformanceOptions {
  std::vector<std::string> files;
  std::string name;
  bool json = false;
};

struct CaseFailure {
  std::string name;
  std::vector<ConformanceDifference> differences;
};

struct ConformanceTotals {
  std::size_t passed = 0;
  std::vector<CaseFailure> failures;
};

void print_failure(const CaseFailure& failure) {
  fmt::print("FAILED {}\n", printable(failure.name));
  for (const ConformanceDifference& difference : failure.differences) {
    fmt::print("  {}\n    expected  {}\n    got       {}\n", printable(difference.field),
               printable(difference.expected), printable(difference.got));
  }
}

// A line that is no case counts as a failed one, by its place in the file.
void run_lines(std::istream& lines, const std::string& path, const ConformanceOptions& options,
               ConformanceTotals& totals) {
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    CaseFailure failure{fmt::format("{}:{}", path, number), {}};
    const nlohmann::json recorded =
        nlohmann::json::parse(line, /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (!recorded.is_object()) {
      failure.differences.push_back({"line", "a case, as a JSON object", line.substr(0, 60)});
    } else {
      if (recorded.contains("name") && recorded.at("name").is_string()) {
        failure.name = recorded.at("name");
      }
      if (failure.name.find(options.name) == std::string::npos) continue;
      failure.differences = run_conformance_case(recorded);
    }
    if (failure.differences.empty()) {
      ++totals.passed;
      continue;
    }
    if (!options.json) print_failure(failure);
    totals.failures.push_back(std::move(failure));
  }
}

void print_json(const ConformanceTotals& totals) {
  nlohmann::ordered_json report = {{"passed", totals.passed},
                                   {"failed", totals.failures.size()},
                                   {"failures", nlohmann::ordered_json::array()}};
  for (const CaseFailure& failure : totals.failures) {
    nlohmann::ordered_json listed = {{"name", failure.name},
                                     {"differences", nlohmann::ordered_json::array()}};
    for (const ConformanceDifference& difference : failure.differences) {
      listed["differences"].push_back({{"field", difference.field},
                                       {"expected", difference.expected},
                                       {"got", difference.got}});
    }
    report["failures"].push_back(std::move(listed));
  }
  using nlohmann::json;
  fmt::print("{}\n", report.dump(2, ' ', false, json::error_handler_t::replace));
}

int conformance(const ConformanceOptions& options) {
  ConformanceTotals totals;
  for (const std::string& path : options.files) {
    std::ifstream file;
    if (path != "-") file.open(path);
    std::istream& lines = path == "-" ? std::cin : file;
    if (lines) run_lines(lines, path, options, totals);
    // Of a directory nothing can be read.
    if (lines.bad() || (path != "-" && !file.is_open())) {
      print_error("conformance", path + ": " + std::strerror(errno));
      return kExitBadInput;
    }
  }
  if (totals.passed == 0 && totals.failures.empty()) {
    print_error("conformance",
                options.name.empty()
                    ? fmt::format("{}: no case", fmt::join(options.files, ", "))
                    : fmt::format("--name {}: no case has that in its name", options.name));
    return kExitBadInput;
  }
  if (options.json) {
    print_json(totals);
  } else {
    fmt::print("{} passed, {} failed\n", totals.passed, totals.failures.size());
  }
  return totals.failures.empty() ? kExitSuccess : kExitFailures;
}

}  // namespace

void add_conformance_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ConformanceOptions>();
  CLI::App* command = app.add_subcommand(
      "conformance", "Run recorded cases through the engine and print what differs");
  command->add_option("FILE", options->files, "Files of cases, one JSON object a line; - is stdin")
      ->required();
  command->add_option("--name", options->name, "Only cases whose name has this text in it");
  command->add_flag("--json", options->json, "Report as JSON");
  command->footer(
      "A case states objects, steps and what must come of them. A plugin or step that is not "
      "known\n"
      "fails the case.\n\n"
      "Examples:\n"
      "  headroom conformance ../shared/conformance/limit-aware.jsonl\n"
      "      runs a file of cases; its last line is \"N passed, N failed\"\n"
      "  headroom conformance --name golden ../shared/conformance/*.jsonl\n"
      "      runs the cases whose name has \"golden\" in it\n\n"
      "Exit codes: 0 all passed, 1 some failed, 2 a file cannot be read or there is no such case.");
  command->callback([options, &exit_code] { exit_code = conformance(*options); });
}

}  // namespace headroom
