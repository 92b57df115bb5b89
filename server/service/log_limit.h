// LogLimit: keeps peers from filling the log with warnings. Of each so many a second are written;
// those beyond are counted, and told in one line when the second is over. Lines of other levels are
// written as they come.
//
// Thread safety: the control thread's. Cost: a look into a map of a few texts per warning.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/log_function.h"

namespace headroom {

inline constexpr std::uint32_t kWarningsPerSecondMax = 20;

class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LogLimit(LogFunction log, std::function<Clock::time_point()> now = Clock::now)
      : log_(std::move(log)), now_(std::move(now)) {}

  void write(LogLevel level, const char* what, LogFields fields);
  // Now and then: tells what was left out of seconds that are over.
  void tick();

 private:
  struct Second {
    Clock::time_point begin;
    std::uint32_t written = 0;
    std::uint64_t left_out = 0;
  };

  void tell(const std::string& what, Second& second);

  const LogFunction log_;
  const std::function<Clock::time_point()> now_;
  std::map<std::string, Second, std::less<>> warnings_;  // by their text, of which there are few
};

}  // namespace headroom
