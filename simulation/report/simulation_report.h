// What a simulation came to, as text for people and as JSON for scripts.
//
// Everything that depends on the machine and the moment stands under "speed".
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "simulation/simulation.h"

namespace headroom {

// The same arrivals under one profile.
struct ProfileRun {
  std::string profile;  // its name for people
  SimulationReport report;
};

void print_report(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                  const SimulationReport& report);
// Runs with series side by side.
void print_comparison(std::FILE* file, const SimulationInput& input, std::uint64_t seed,
                      std::span<const ProfileRun> runs);
// Has everything of the text, and more. Of one run, its figures stand beside those of the input; of
// several, each in an entry of "runs". A series is as series_json.h says.
std::string json_report(const SimulationInput& input, std::uint64_t seed,
                        std::span<const ProfileRun> runs);

}  // namespace headroom
