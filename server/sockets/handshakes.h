// Handshakes: turns of the TLS handshakes that are under way. Nobody knows yet who these peers are,
// and each costs a signature: those who open connections as fast as they can get a share of the
// loop, not the loop.
//
// One step of one handshake at a time, first come, first served. After a step that took t the next
// waits for (kHandshakeShare - 1) * t, in which all others have their turns: a decision waits for
// one step at most, and decisions have all but one part in kHandshakeShare of the time.
//
// Thread safety: the control thread. Invariant: a peer is in line once at most; whoever ends leaves
// it. Cost: O(peers in line) to leave, which kConnectionsBeforeHelloMax bounds.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

namespace headroom {

inline constexpr int kHandshakeShare = 4;

class Handshakes {
 public:
  explicit Handshakes(asio::io_context& io) : timer_(io) {}
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // `step` is called when the peer's turn has come, unless it leaves before.
  void enter(const void* peer, std::function<void()> step) {
    line_.push_back({peer, std::move(step)});
    if (!waiting_) next_later(std::chrono::nanoseconds(0));
  }
  void leave(const void* peer) {
    std::erase_if(line_, [peer](const Waiting& waiting) { return waiting.peer == peer; });
  }

 private:
  struct Waiting {
    const void* peer;
    std::function<void()> step;
  };

  // Also where nobody is in line any more: whoever comes next waits for the last step's sake.
  void next_later(std::chrono::nanoseconds pause) {
    timer_.expires_after(pause);
    timer_.async_wait([this](const asio::error_code& stopped) {
      if (!stopped) next();
    });
    waiting_ = true;
  }

  void next() {
    waiting_ = false;
    if (line_.empty()) return;
    const std::function<void()> step = std::move(line_.front().step);
    line_.pop_front();
    const auto start = std::chrono::steady_clock::now();
    const auto pause = [&] {
      next_later((std::chrono::steady_clock::now() - start) * (kHandshakeShare - 1));
    };
    try {
      step();
    } catch (...) {  // its end, not that of the others
      pause();
      throw;
    }
    pause();
  }

  asio::steady_timer timer_;
  std::deque<Waiting> line_;
  bool waiting_ = false;  // for the timer: nobody else sets it
};

}  // namespace headroom
