// EchoServer: headroomd's sockets and event loop with nothing behind them. Answers every frame with
// one and the same reply, so that what the transport costs can be told from what the engine costs.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "objects/error.h"
#include "schema/endpoint.h"

namespace headroom {

class EchoServer {
 public:
  // Runs on a thread of its own until destroyed. `reply` is a finished frame.
  static Result<std::unique_ptr<EchoServer>> start(const Endpoint& endpoint,
                                                   std::span<const std::uint8_t> reply,
                                                   std::chrono::microseconds busy_poll);
  ~EchoServer();

 private:
  struct Impl;
  explicit EchoServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
