// What the same arrivals came to under several profiles, side by side, as text for people.
//
// Everything that depends on the machine and the moment stands under "speed".
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>

#include "simulation/report/profile_run.h"

namespace headroom {

// At least one run, each with a series.
void print_comparison(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                      std::span<const ProfileRun> runs);

}  // namespace headroom
