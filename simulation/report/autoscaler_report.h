// What an autoscaler added and what kept it from adding more, as text and as JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulation/simulation.h"

namespace headroom {

void print_growth(std::FILE* file, const GrowthReport& growth);
nlohmann::ordered_json growth_json(const GrowthReport& growth);

}  // namespace headroom
