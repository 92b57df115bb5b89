// headroomd, from its options to its exit: sockets, signals, reloads.
//
// Threads: once a process, from its main thread, which it keeps: it serves all sockets, owns the
// engines and takes the process's signals. Others answer HTTP and free replaced clusters.
#pragma once

#include "server/options.h"

namespace headroom {

inline constexpr int kExitCannotRun = 1;

// Runs until SIGTERM or SIGINT; returns the exit code. Says on the log why it cannot run.
int run_daemon(const DaemonOptions& options);

}  // namespace headroom
