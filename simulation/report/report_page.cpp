#include "simulation/report/report_page.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "simulation/report/report_sources.h"

namespace headroom {
namespace {

// JSON has "<" in strings alone, and a script element ends at nothing that begins otherwise.
std::string in_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string report_page(std::string_view json, std::string_view command) {
  const nlohmann::ordered_json origin = {{"command", command}};
  const std::string data = in_script(json);
  const std::string origin_text =
      in_script(origin.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  const std::array<std::pair<std::string_view, std::string_view>, 5> parts = {{
      {"style", kReportStyle},
      {"data", data},
      {"origin", origin_text},
      {"library", kChartLibrary},
      {"script", kReportScript},
  }};
  std::string page;
  std::string_view rest = kReportPage;
  while (true) {
    const std::size_t begin = rest.find("{{");
    page += rest.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    rest.remove_prefix(begin + 2);
    const std::size_t end = rest.find("}}");
    for (const auto& [name, text] : parts) {
      if (rest.substr(0, end) == name) page += text;
    }
    rest.remove_prefix(end + 2);
  }
}

}  // namespace headroom
