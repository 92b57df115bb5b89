// Socket: a connection to headroomd that carries frames.
//
// Reads poll for a while before they sleep, because waking up costs more than most answers. Nothing
// waits for longer than the timeout, whatever the server does. Thread safety: one thread at a time.
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
  std::chrono::milliseconds timeout{5000};  // of connecting, of a write, and of the next frame
  ClientTls tls;
};

class Socket {
 public:
  static Result<std::unique_ptr<Socket>> connect(const Endpoint& endpoint,
                                                 const SocketOptions& options);
  virtual ~Socket() = default;

  // All of it.
  virtual Result<void> write(std::span<const std::uint8_t> bytes) = 0;
  // The next frame, valid until the next call; at most the timeout is waited for it.
  Result<FrameBuffer::Received> receive();
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
