// What headroomd is told: by flags, by a YAML file of the same names, or by nothing at all.
//
// Plain values, read once, before any thread is started. Each has its range here and in --help; the
// files that they name are opened later, by whoever uses them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "autoscaling/capacity_quotas.h"
#include "engine/engine.h"
#include "server/log.h"
#include "server/service/pod_reservations.h"
#include "server/sockets/listener.h"
#include "server/sockets/tls.h"

namespace headroom {

struct DaemonOptions {
  ListenOptions listen;  // `tls` is made from the next member
  TlsOptions tls;
  std::optional<HostAndPort> metrics;  // nullopt: no HTTP
  std::string profile_path;            // empty: Profile::standard()
  EngineOptions engine;
  CapacityQuotasOptions quotas;
  std::size_t memory_bytes_max = 0;
  std::chrono::seconds reservation_time = kReservationTime;
  std::chrono::microseconds busy_poll{0};
  LogOptions log;
};

struct CommandLine {
  DaemonOptions options;
  std::optional<int> exit_code;  // set: --help or a mistake was printed, and that is all
};

// Prints help and mistakes itself: what the option is, its value, and what is accepted.
CommandLine read_command_line(int argc, char** argv);

}  // namespace headroom
