// `headroom quota`: what the capacity quotas of a cluster allow, and what a change would do.
#pragma once

#include <CLI/CLI.hpp>

namespace headroom {

void add_capacity_quota_command(CLI::App& app, int& exit_code);

}  // namespace headroom
