// `headroom load`: what a headroomd sustains, and what of that is the transport.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_load_command(CLI::App& app, int& exit_code);

}  // namespace headroom
