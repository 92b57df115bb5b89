// What an autoscaler did, and what it had no template for, as JSON: in reports, and as lines among
// those of the decisions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulation/autoscaler/autoscaler_answers.h"

namespace headroom {

nlohmann::ordered_json scale_up_json(const ScaleUp& scale_up);
nlohmann::ordered_json no_template_json(const NoTemplate& pod);

std::string scale_up_line(const ScaleUp& scale_up);
std::string no_template_line(std::int64_t time_us, const NoTemplate& pod);

}  // namespace headroom
