#include "server/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace headroom {

namespace {

// When the machine started, in seconds since the Unix epoch.
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  double seconds = 0;
  while (file >> word) {
    if (word == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

struct Stat {
  std::optional<double> started_ticks;  // since the machine did
  std::optional<double> resident_pages;
};

// Fields 22 and 24 of the process's stat.
Stat read_stat() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the second field, which may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double started = 0, resident = 0;
  if (!(fields >> started >> skipped >> resident)) return {};
  return {started, resident};
}

std::optional<double> open_files() {
  std::error_code failed;
  double files = -1;  // one is the directory's own
  std::filesystem::directory_iterator file("/proc/self/fd", failed);
  for (; !failed && file != std::filesystem::directory_iterator(); file.increment(failed)) ++files;
  return failed ? std::nullopt : std::optional(files);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

std::vector<prometheus::MetricFamily> process_metrics() {
  std::vector<prometheus::MetricFamily> families;
  const auto tell = [&](const char* name, const char* help, std::optional<double> value,
                        prometheus::MetricType type = prometheus::MetricType::Gauge) {
    if (!value) return;
    prometheus::ClientMetric metric;
    (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
    families.push_back({name, help, type, {metric}});
  };
  const auto page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const Stat stat = read_stat();
  const std::optional<double> boot = boot_time();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  tell("process_cpu_seconds_total", "CPU time of the process, its own and the kernel's for it.",
       seconds(used.ru_utime) + seconds(used.ru_stime), prometheus::MetricType::Counter);
  tell("process_resident_memory_bytes", "Memory that the process holds.",
       stat.resident_pages ? std::optional(*stat.resident_pages * page_bytes) : std::nullopt);
  tell("process_open_fds", "Open files and sockets.", open_files());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  tell("process_max_fds", "How many of them there may be.", static_cast<double>(files.rlim_cur));
  tell("process_start_time_seconds", "When the process started, since the Unix epoch.",
       boot && stat.started_ticks ? std::optional(*boot + *stat.started_ticks / ticks_per_second)
                                  : std::nullopt);
  return families;
}

}  // namespace headroom
