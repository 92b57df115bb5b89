// The command line of `headroom`, and what it asks for. Compiled with the commands: parsing options
// is most of what their files are made of.
#pragma once

namespace headroom {

// Parses the command line, runs its command, and returns the exit code. Throws what a command
// throws.
int run_command_line(int argc, char** argv);

}  // namespace headroom
