// `headroom explain`: why a pod goes where it goes, with the numbers.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_explain_command(CLI::App& app, int& exit_code);

}  // namespace headroom
