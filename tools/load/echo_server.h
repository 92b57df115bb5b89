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
  const Endpoint& endpoint() const { return endpoint_; }  // with the port that it got

 private:
  struct Impl;
  EchoServer(std::unique_ptr<Impl> impl, Endpoint endpoint);
  std::unique_ptr<Impl> impl_;
  const Endpoint endpoint_;
};

}  // namespace headroom
