// What simulations came to, as JSON for scripts and for the page.
//
// Everything that depends on the machine and the moment stands under "speed".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "simulation/report/profile_run.h"

namespace headroom {

// Has everything of the text, and more. Of one run, its figures stand beside those of the input; of
// several, each in an entry of "runs". A series is as series_json.h says.
std::string json_report(const SimulationInput& input, std::uint64_t seed,
                        std::span<const ProfileRun> runs);

}  // namespace headroom
