// Handshakes take turns, and no more than their share of the loop.
#include "server/sockets/handshakes.h"

#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <string>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

void work_for(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

TEST(Handshakes, TakeAShareOfTheLoopAndOthersTheRest) {
  constexpr int kSteps = 40;
  constexpr std::chrono::microseconds kStep(500);
  asio::io_context io;
  Handshakes handshakes(io);
  int steps = 0, others = 0, together = 0;
  bool since_last = true;
  const std::function<void()> other = [&] {
    since_last = true;
    ++others;
    if (steps < kSteps) asio::post(io, other);
  };
  Clock::duration spent{};
  const auto start = Clock::now();
  Clock::time_point last;
  for (int peer = 0; peer < kSteps; ++peer) {
    handshakes.enter(&peer, [&] {
      if (!std::exchange(since_last, false)) ++together;
      ++steps;
      const auto began = Clock::now();
      work_for(kStep);
      last = Clock::now();
      if (steps < kSteps) spent += last - began;
    });
  }
  asio::post(io, other);
  io.run();
  EXPECT_EQ(steps, kSteps);
  EXPECT_EQ(together, 0) << "two steps without a turn of the others between them";
  EXPECT_GE(others, kSteps);
  // Each step but the last was paid for before the next one; no machine is too slow for that.
  EXPECT_GE(last - start, spent * kHandshakeShare);
}

TEST(Handshakes, FirstComeFirstServedAndWhoLeavesIsNotCalled) {
  asio::io_context io;
  Handshakes handshakes(io);
  std::string called;
  int peers[3];
  const auto enter = [&](int peer, char name) {
    handshakes.enter(&peers[peer], [&called, name] { called += name; });
  };
  enter(0, 'a');
  enter(1, 'b');
  enter(2, 'c');
  handshakes.leave(&peers[1]);
  handshakes.leave(&peers[1]);  // it is not in line any more
  io.run();
  EXPECT_EQ(called, "ac");
  // One that comes back, and one that enters within a step.
  handshakes.enter(&peers[0], [&] {
    called += 'd';
    enter(1, 'e');
    handshakes.leave(&peers[2]);
  });
  enter(2, 'f');
  io.restart();
  io.run();
  EXPECT_EQ(called, "acde");
}

}  // namespace
}  // namespace headroom
