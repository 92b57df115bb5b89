#include "server/sockets/event_loop.h"

#include <asio/executor_work_guard.hpp>
#include <thread>

namespace headroom {

namespace {

constexpr std::chrono::microseconds kBusyPoll(50);

}  // namespace

std::chrono::microseconds default_busy_poll() {
  return std::thread::hardware_concurrency() > 1 ? kBusyPoll : std::chrono::microseconds(0);
}

void run_event_loop(asio::io_context& io, std::chrono::microseconds busy_poll,
                    const std::function<void(const std::exception&)>& failed) {
  using Clock = std::chrono::steady_clock;
  const auto guard = asio::make_work_guard(io);
  Clock::time_point last_work = Clock::now();
  while (!io.stopped()) {
    try {
      if (io.poll_one() == 0) {
        if (Clock::now() - last_work < busy_poll) continue;
        io.run_one();
      }
    } catch (const std::exception& error) {
      failed(error);
    }
    last_work = Clock::now();
  }
}

}  // namespace headroom
