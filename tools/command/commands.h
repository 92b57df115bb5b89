// The commands of `headroom`. Each function adds one to the command line; `exit_code` is set when
// it has run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace headroom {

// `headroom simulate`: places the pods of a trace, a dump or a simulated cluster and reports.
// `command_line`: what the program was called with, for the report.
void add_simulate_command(CLI::App& app, int& exit_code, std::string command_line);
// `headroom generate`: a synthetic cluster as Kubernetes JSON.
void add_generate_command(CLI::App& app, int& exit_code);
// `headroom explain`: why a pod goes where it goes, with the numbers.
void add_explain_command(CLI::App& app, int& exit_code);
// `headroom capacity-quota`: what the capacity quotas of a cluster allow, and what a change would
// do.
void add_capacity_quota_command(CLI::App& app, int& exit_code);
// `headroom load`: what a headroomd sustains, and what of that is the transport.
void add_load_command(CLI::App& app, int& exit_code);
// `headroom conformance`: runs recorded conformance cases through the engine.
void add_conformance_command(CLI::App& app, int& exit_code);

}  // namespace headroom
