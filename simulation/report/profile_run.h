// ProfileRun: the same arrivals under one profile, of which reports have one or several.
#pragma once

#include <string>

#include "simulation/simulation.h"

namespace headroom {

struct ProfileRun {
  std::string profile;  // its name for people
  SimulationReport report;
};

}  // namespace headroom
