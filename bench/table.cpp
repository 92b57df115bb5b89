#include "bench/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simulation/text/table.h"

namespace headroom {

namespace {

std::string target_text(const TableLine& line) {
  if (!line.target) {
    return "";
  }
  return fmt::format("{} {:.6g}{}{}",
                     line.target->kind == Target::Kind::kAtMost ? "at most" : "at least",
                     line.target->value, line.unit.empty() ? "" : " ", line.unit);
}

}  // namespace

std::string verdict(const TableLine& line) {
  if (!line.target || !line.value) {
    return "";
  }
  const bool most = line.target->kind == Target::Kind::kAtMost;
  const double ratio = *line.value / line.target->value;
  if (most ? ratio <= 1 : ratio >= 1) {
    return "met";
  }
  return ratio >= 2 ? fmt::format("missed: {:.1f} times", ratio)
                    : fmt::format("missed by {:.0f} %", (most ? ratio - 1 : 1 - ratio) * 100);
}

std::string table_text(const TableHead& head, const std::vector<TableLine>& lines) {
  Table table("lllll");
  table.row({"row", "what", "measured", "target", "verdict"});
  table.rule();
  for (const TableLine& line : lines) {
    table.row({line.row, line.what, line.measured, target_text(line),
               head.sizes.empty() ? verdict(line) : ""});
  }
  return fmt::format("{}, {} cores, {}, seed {}, {}, a clock reading {:.0f} ns{}\n\n", head.machine,
                     head.cores, head.instruction_set, head.seed, head.compiler, head.clock_ns,
                     head.sizes.empty() ? "" : ", " + head.sizes) +
         table.text("");
}

std::string table_json(const TableHead& head, const std::vector<TableLine>& lines) {
  nlohmann::ordered_json json;
  json["machine"] = head.machine;
  json["cores"] = head.cores;
  json["instruction_set"] = head.instruction_set;
  json["compiler"] = head.compiler;
  json["seed"] = head.seed;
  json["clock_ns"] = head.clock_ns;
  json["sizes"] = head.sizes;
  json["lines"] = nlohmann::ordered_json::array();
  std::string row;
  for (const TableLine& line : lines) {
    row = line.row.empty() ? row : line.row;
    nlohmann::ordered_json item;
    item["row"] = row;
    item["what"] = line.what;
    item["measured"] = line.measured;
    if (line.value) {
      item["value"] = *line.value;
      item["unit"] = line.unit;
    }
    if (line.target) {
      item["target"] = target_text(line);
    }
    if (line.target && head.sizes.empty()) {
      item["verdict"] = verdict(line);
    }
    for (const auto& [name, value] : line.figures) {
      item["figures"][name] = value;
    }
    json["lines"].push_back(std::move(item));
  }
  return json.dump(2) + "\n";
}

std::string table_markdown(const TableHead& head, const std::vector<TableLine>& lines) {
  std::string text = fmt::format(
      "Measured on {} at commit {} with `bench/run`, seed {}: {}, {} cores, {}, {}, a clock "
      "reading "
      "{:.0f} ns{}.\n\n| row | what | measured | target | |\n| --- | --- | --- | --- | --- |\n",
      head.date, head.commit, head.seed, head.machine, head.cores, head.instruction_set,
      head.compiler, head.clock_ns, head.sizes.empty() ? "" : "; " + head.sizes);
  for (const TableLine& line : lines) {
    const std::string row = line.row.empty() ? "" : fmt::format("`{}`", line.row);
    const std::string said = head.sizes.empty() ? verdict(line) : "";
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row, line.what, line.measured,
                        target_text(line), said == "met" ? "**met**" : said);
  }
  return text;
}

}  // namespace headroom
