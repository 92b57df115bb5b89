#include "bench/growth.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <utility>

#include "bench/checks.h"

namespace headroom {

namespace {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

Growth::Growth() {
  malloc_trim(0);
  before_ = resident_bytes();
}

std::int64_t Growth::grown() {
  const std::int64_t now = resident_bytes();
  return now - std::exchange(before_, now);
}

std::vector<std::int64_t> measured_apart(
    std::size_t count, const std::function<std::vector<std::int64_t>()>& measure) {
  std::array<int, 2> ends{};
  check(pipe(ends.data()) == 0, "pipe");
  const pid_t child = fork();
  check(child >= 0, "fork");
  const auto bytes = static_cast<ssize_t>(count * sizeof(std::int64_t));
  if (child == 0) {
    int status = 1;
    try {
      const std::vector<std::int64_t> measured = measure();
      check(measured.size() == count, "as many numbers as were asked for");
      status = write(ends[1], measured.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1;
    } catch (const CheckFailed& failed) {
      fmt::print(stderr, "memory: {}\n", failed.what());
    }
    _exit(status);
  }
  close(ends[1]);
  std::vector<std::int64_t> measured(count);
  const bool whole = read(ends[0], measured.data(), static_cast<std::size_t>(bytes)) == bytes;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  check(whole && status == 0, "the process that measures memory failed");
  return measured;
}

}  // namespace headroom
