// The files of this folder and the charting library, compiled into the program.
#pragma once

#include <string_view>

namespace headroom {

extern const std::string_view kReportPage;
extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;
extern const std::string_view kChartLibrary;

}  // namespace headroom
