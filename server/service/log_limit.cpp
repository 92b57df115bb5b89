#include "server/service/log_limit.h"

#include <fmt/format.h>

#include <utility>

namespace headroom {

namespace {

constexpr std::chrono::seconds kSecond(1);

}  // namespace

void LogLimit::write(LogLevel level, const char* what, LogFields fields) {
  if (level == LogLevel::kWarning) {
    const Clock::time_point now = now_();
    Second& second = warnings_[what];
    if (now - second.begin >= kSecond) {
      tell(what, second);
      second = {.begin = now};
    }
    if (second.written == kWarningsPerSecondMax) {
      ++second.left_out;
      return;
    }
    ++second.written;
  }
  log_(level, what, fields);
}

void LogLimit::tick() {
  const Clock::time_point now = now_();
  for (auto& [what, second] : warnings_) {
    if (now - second.begin >= kSecond) tell(what, second);
  }
}

void LogLimit::tell(const std::string& what, Second& second) {
  const std::uint64_t left_out = std::exchange(second.left_out, 0);
  if (left_out == 0) return;
  log_(LogLevel::kWarning, "warnings left out",
       {{"warning", what},
        {"count", fmt::to_string(left_out)},
        {"kWarningsPerSecondMax", fmt::to_string(kWarningsPerSecondMax)}});
}

}  // namespace headroom
