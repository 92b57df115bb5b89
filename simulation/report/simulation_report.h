// What a simulation came to, as text for people.
//
// Everything that depends on the machine and the moment stands under "speed".
#pragma once

#include <cstdint>
#include <cstdio>

#include "simulation/simulation.h"

namespace headroom {

void print_report(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                  const SimulationReport& report);
// What in the input nobody measured: the end of every report.
void print_notes(std::FILE* file, const SimulationInput& input);

}  // namespace headroom
