// DaemonProcess: a headroomd that a tool or a test started, and its end.
//
// Its owner's: where that goes, so does the process, and until it has ended the owner waits. It has
// our standard error and not our standard output. Thread safety: one thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "objects/error.h"
#include "schema/endpoint.h"

namespace headroom {

// headroomd beside the running program, as it is built and installed.
std::string headroomd_beside_this_program();

class DaemonProcess {
 public:
  // Starts it with these arguments, which make it listen on `endpoint`, and waits until it does.
  // Errors: kIo, with its exit code where it ended.
  static Result<DaemonProcess> start(const std::string& program, std::vector<std::string> arguments,
                                     const Endpoint& endpoint);
  DaemonProcess(DaemonProcess&& other) noexcept;
  DaemonProcess& operator=(DaemonProcess&& other) noexcept;
  // Stops it if it still runs.
  ~DaemonProcess();

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Waits for its end; its exit code, or minus the signal that ended it.
  int wait();
  // SIGTERM, then wait().
  int stop();

 private:
  explicit DaemonProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

}  // namespace headroom
