// The report of a simulation as one HTML page that needs nothing else: its style, its script, the
// charting library and the figures are inside. simulation/report/ has the sources.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

// `json`: what json_report() says of runs with series. `command`: the command line that gives the
// page again; may be empty. Nothing in either can become markup or script.
std::string report_page(std::string_view json, std::string_view command);

}  // namespace headroom
