// `headroom conformance`: runs recorded conformance cases through the engine.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_conformance_command(CLI::App& app, int& exit_code);

}  // namespace headroom
