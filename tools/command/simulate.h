// `headroom simulate`: places the pods of a trace, a dump or a simulated cluster and reports.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace headroom {

// `command_line`: what the program was called with, for the report.
void add_simulate_command(CLI::App& app, int& exit_code, std::string command_line);

}  // namespace headroom
