// What an autoscaler added and what kept it from adding more, as text and as JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/simulation.h"

namespace headroom {

void print_growth(std::FILE* file, const GrowthReport& growth);
nlohmann::ordered_json growth_json(const GrowthReport& growth);

// Lines of JSON among those of the decisions.
std::string scale_up_line(const ScaleUp& scale_up);
std::string no_template_line(std::int64_t time_us, const NoTemplate& pod);

}  // namespace headroom
