// `headroom simulate`: places the pods of a trace, a dump or a simulated cluster and reports.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_simulate_command(CLI::App& app, int& exit_code);

}  // namespace headroom
