// Socket: a connection to headroomd that carries frames.
//
// Reads poll for a while before they sleep, because waking up costs more than most answers. Nothing
// waits beyond its deadline, whatever the server does. Thread safety: one thread at a time.
// Errors: kIo, after which the socket is of no use: an answer that comes late is nobody's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "schema/endpoint.h"
#include "schema/frame.h"

namespace headroom {

struct ClientTls {
  std::string certificate, key;  // PEM files: the client's chain, and its key
  std::string server_ca;         // PEM file: who signs the server's certificate
  // In the server's certificate; empty: its address.
  std::string server_name;
};

struct SocketOptions {
  std::chrono::microseconds busy_poll{50};
  // Of connecting, of a write and of the next frame; of a Client's call as a whole.
  std::chrono::milliseconds timeout{5000};
  ClientTls tls;
};

class Socket {
 public:
  using Clock = std::chrono::steady_clock;

  static Result<std::unique_ptr<Socket>> connect(const Endpoint& endpoint,
                                                 const SocketOptions& options) {
    return connect(endpoint, options, Clock::now() + options.timeout);
  }
  static Result<std::unique_ptr<Socket>> connect(const Endpoint& endpoint,
                                                 const SocketOptions& options,
                                                 Clock::time_point deadline);
  virtual ~Socket() = default;

  // All of it: after an error the last frame of it is not whole at the server.
  virtual Result<void> write(std::span<const std::uint8_t> bytes, Clock::time_point deadline) = 0;
  Result<void> write(std::span<const std::uint8_t> bytes) {
    return write(bytes, Clock::now() + options_.timeout);
  }
  // The next frame, valid until the next call.
  Result<FrameBuffer::Received> receive(Clock::time_point deadline);
  Result<FrameBuffer::Received> receive() { return receive(Clock::now() + options_.timeout); }
  // The same, if it is there already: else its `frame` is nullptr.
  Result<FrameBuffer::Received> receive_now();

 protected:
  explicit Socket(const SocketOptions& options) : options_(options) {}
  // 0: nothing is there now.
  virtual Result<std::size_t> read_now(std::span<std::uint8_t> room) = 0;
  virtual Result<void> await_readable(std::chrono::milliseconds timeout) = 0;

  const SocketOptions options_;

 private:
  FrameBuffer buffer_{kFrameBytesMax};
};

}  // namespace headroom
