// The headroom command: runs its command line; what it could not work out or write is an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "simulation/text/printable.h"
#include "tools/command/exit_code.h"
#include "tools/command/run.h"

int main(int argc, char** argv) {
  int exit_code = headroom::kExitBadInput;
  try {
    exit_code = headroom::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "headroom: {}\n", headroom::printable(error.what()));
  }
  // Nobody may take half an answer for one.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    if (exit_code != headroom::kExitBadInput) {
      fmt::print(stderr, "headroom: cannot write standard output\n");
    }
    return headroom::kExitBadInput;
  }
  return exit_code;
}
