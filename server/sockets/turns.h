// Turns: steps of what a handler has not answered yet, one per round of the event loop, so that
// every connection that has something to say has its turn between two of them.
//
// Thread safety: the control thread. Outlives the handlers that are posted to `io`.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "server/frame_handler.h"

namespace headroom {

class Turns {
 public:
  Turns(asio::io_context& io, FrameHandler& handler) : io_(io), handler_(handler) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // After handle() has left something.
  void begin() {
    if (!stepping_) step_later();
  }

 private:
  void step_later() {
    stepping_ = true;
    asio::post(io_, [this] {
      stepping_ = false;
      if (handler_.step()) step_later();
    });
  }

  asio::io_context& io_;
  FrameHandler& handler_;
  bool stepping_ = false;  // posted
};

}  // namespace headroom
