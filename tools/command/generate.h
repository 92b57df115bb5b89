// `headroom generate`: a synthetic cluster as Kubernetes JSON.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_generate_command(CLI::App& app, int& exit_code);

}  // namespace headroom
