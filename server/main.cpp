// headroomd: reads its options and runs.
#include <fmt/format.h>

#include <exception>

#include "server/daemon.h"

int main(int argc, char** argv) {
  try {
    const headroom::CommandLine line = headroom::read_command_line(argc, argv);
    return line.exit_code ? *line.exit_code : headroom::run_daemon(line.options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "headroomd: {}\n", error.what());
    return headroom::kExitCannotRun;
  }
}
