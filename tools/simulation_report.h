// What a simulation came to, as text for people and as JSON for scripts.
//
// Everything that depends on the machine and the moment stands under "speed".
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "tools/simulation.h"

namespace headroom {

void print_report(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                  const SimulationReport& report);
// Has everything of the text, and more.
std::string json_report(const SimulationInput& input, std::uint64_t seed,
                        const SimulationReport& report);

}  // namespace headroom
