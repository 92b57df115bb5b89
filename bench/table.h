// The table of a benchmark run: for people, as JSON, and as a page of docs/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

// What was asked of a figure.
struct Target {
  enum class Kind { kAtMost, kAtLeast };
  Kind kind = Kind::kAtMost;
  double value = 0;
};
inline Target at_most(double value) { return {Target::Kind::kAtMost, value}; }
inline Target at_least(double value) { return {Target::Kind::kAtLeast, value}; }

struct TableLine {
  std::string row;       // empty: belongs to the row above
  std::string what;      // what was measured, with its size
  std::string measured;  // as people read it
  std::string unit;      // of `value` and the target
  std::optional<double> value;
  std::optional<Target> target;
  std::vector<std::pair<std::string, double>> figures;  // more figures, for JSON
};

struct TableHead {
  std::string machine, instruction_set, compiler;
  unsigned cores = 0;
  std::uint64_t seed = 0;
  double clock_ns = 0;       // a reading of the clock, which every time contains
  std::string sizes;         // what is unusual of them: then there are no verdicts
  std::string date, commit;  // for the page; what was not said is empty
};

// "met", "missed by 12 %", or nothing.
std::string verdict(const TableLine& line);
std::string table_text(const TableHead& head, const std::vector<TableLine>& lines);
std::string table_json(const TableHead& head, const std::vector<TableLine>& lines);
// A paragraph with all of the head, and the lines as a Markdown table.
std::string table_markdown(const TableHead& head, const std::vector<TableLine>& lines);

}  // namespace headroom
