#include "tools/load/daemon_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "client/socket.h"

extern char** environ;

namespace headroom {

namespace {

constexpr std::chrono::seconds kStartTime(20);
constexpr std::chrono::milliseconds kStartPause(5);

int exit_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

}  // namespace

std::string headroomd_beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("headroomd").string();
}

Result<DaemonProcess> DaemonProcess::start(const std::string& program,
                                           std::vector<std::string> arguments,
                                           const Endpoint& endpoint) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  // Not our standard output: who reads that would wait for the daemon, too.
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", program, std::strerror(error)));
  }
  DaemonProcess daemon(pid);
  const auto deadline = std::chrono::steady_clock::now() + kStartTime;
  while (!Socket::connect(endpoint, {})) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      daemon.pid_ = -1;
      return fail(ErrorCode::kIo, fmt::format("{} ended with {}", program, exit_of(status)));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(ErrorCode::kIo, fmt::format("{} does not listen on {} within {} s", program,
                                              endpoint.text(), kStartTime.count()));
    }
    std::this_thread::sleep_for(kStartPause);
  }
  return daemon;
}

DaemonProcess::DaemonProcess(DaemonProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)) {}

DaemonProcess& DaemonProcess::operator=(DaemonProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) stop();
}

void DaemonProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int DaemonProcess::wait() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
  return exit_of(status);
}

int DaemonProcess::stop() {
  signal(SIGTERM);
  return wait();
}

}  // namespace headroom
