#include "tools/command/run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include "tools/command/command_line.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"

namespace headroom {

int run_command_line(int argc, char** argv) {
  int exit_code = kExitSuccess;
  CLI::App app{"headroom: scores the nodes of a Kubernetes cluster, exactly and fast.", "headroom"};
  app.set_version_flag("--version", "headroom " HEADROOM_VERSION);
  app.require_subcommand(0, 1);
  app.footer(R"(Examples:
  headroom simulate                        place a real cluster's 8,152 pods on its 1,523 nodes
  headroom simulate --nodes 50000          the same on a generated cluster of 50,000 nodes
  headroom generate --nodes 200 > c.json   a synthetic cluster, as kubectl would print it
  headroom simulate --cluster c.json       place the pending pods of a cluster
  headroom explain --help                  why a pod may or may not run on a node
  headroom capacity-quota --cluster c.json          what capacity quotas allow, and what stops growth
  headroom load                            what the daemon sustains, beside an echo server
  headroom conformance cases.jsonl         compare with recorded decisions

Each command has its own --help.
Exit codes: 0 it worked; 1 it worked and found failures (a failing conformance case, a limit in the way);
2 the command line, a file or an object cannot be used, or the output cannot be written: the message says
what to do.
)");
  std::string command_line = "headroom";
  for (int a = 1; a < argc; ++a) command_line += ' ' + shell_word(argv[a]);
  add_simulate_command(app, exit_code, std::move(command_line));
  add_generate_command(app, exit_code);
  add_explain_command(app, exit_code);
  add_capacity_quota_command(app, exit_code);
  add_load_command(app, exit_code);
  add_conformance_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitSuccess : kExitBadInput;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return kExitBadInput;
  }
  return exit_code;
}

}  // namespace headroom
