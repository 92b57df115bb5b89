// The text of the three tables of data/, compiled into the program so that it needs no file.
#pragma once

#include <string_view>

namespace headroom {

extern const std::string_view kOpenbNodesTable;
extern const std::string_view kOpenbPodShapesTable;
extern const std::string_view kOpenbPodsTable;

}  // namespace headroom
