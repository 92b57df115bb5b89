#include "client/socket.h"

#include <fmt/format.h>
#include <poll.h>

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/ssl/host_name_verification.hpp>
#include <asio/ssl/stream.hpp>
#include <type_traits>

namespace headroom {

namespace {

using asio::error_code;
using Clock = std::chrono::steady_clock;
using PlainSocket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<PlainSocket>;

tl::unexpected<Error> io_error(const Endpoint& endpoint, const std::string& what) {
  return fail(ErrorCode::kIo, fmt::format("{}: {}", endpoint.text(), what));
}

template <typename Stream>
class StreamSocket final : public Socket {
 public:
  StreamSocket(const Endpoint& endpoint, const SocketOptions& options,
               std::unique_ptr<asio::ssl::context> tls)
      : Socket(options), endpoint_(endpoint), tls_(std::move(tls)), stream_(make_stream()) {}

  Result<void> open() {
    error_code error;
    auto& socket = stream_.lowest_layer();
    if (endpoint_.kind == Endpoint::Kind::kUnix) {
      socket.connect(asio::local::stream_protocol::endpoint(endpoint_.path), error);
    } else {
      const asio::ip::address address = asio::ip::make_address(endpoint_.host, error);
      if (error) return io_error(endpoint_, error.message());
      socket.connect(asio::ip::tcp::endpoint(address, endpoint_.port), error);
    }
    if (error) return io_error(endpoint_, error.message());
    if (endpoint_.kind != Endpoint::Kind::kUnix) {
      socket.set_option(asio::ip::tcp::no_delay(true), error);
    }
    socket.non_blocking(true, error);
    if constexpr (std::is_same_v<Stream, TlsStream>) return shake_hands();
    return {};
  }

  Result<void> write(std::span<const std::uint8_t> bytes) override {
    const Clock::time_point deadline = Clock::now() + options_.timeout;
    while (!bytes.empty()) {
      error_code error;
      const std::size_t written = write_some(bytes, error);
      bytes = bytes.subspan(written);
      if (error == asio::error::would_block) {
        if (auto waited = await(POLLOUT, deadline - Clock::now()); !waited) return waited;
      } else if (error) {
        return io_error(endpoint_, error.message());
      }
    }
    return {};
  }

 protected:
  Result<std::size_t> read_now(std::span<std::uint8_t> room) override {
    error_code error;
    const std::size_t bytes = stream_.read_some(asio::buffer(room.data(), room.size()), error);
    if (error == asio::error::would_block) return 0;
    if (error) return io_error(endpoint_, error.message());
    return bytes;
  }
  Result<void> await_readable(std::chrono::milliseconds timeout) override {
    return await(POLLIN, timeout);
  }

 private:
  Stream make_stream() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      return Stream(io_, *tls_);
    } else {
      return Stream(io_);
    }
  }

  Result<void> shake_hands() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      const std::string& name =
          options_.tls.server_name.empty() ? endpoint_.host : options_.tls.server_name;
      stream_.set_verify_callback(asio::ssl::host_name_verification(name));
      const Clock::time_point deadline = Clock::now() + options_.timeout;
      for (;;) {
        error_code error;
        stream_.handshake(asio::ssl::stream_base::client, error);
        if (!error) return {};
        if (error != asio::error::would_block) return io_error(endpoint_, error.message());
        if (auto waited = await(POLLIN, deadline - Clock::now()); !waited) return waited;
      }
    }
    return {};
  }

  std::size_t write_some(std::span<const std::uint8_t> bytes, error_code& error) {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      // A record that was begun has to be sent whole: this write waits.
      error_code ignored;
      stream_.lowest_layer().non_blocking(false, ignored);
      const std::size_t written = stream_.write_some(buffer, error);
      stream_.lowest_layer().non_blocking(true, ignored);
      return written;
    } else {
      return stream_.write_some(buffer, error);
    }
  }

  Result<void> await(short events, Clock::duration left) {
    pollfd waiting{.fd = stream_.lowest_layer().native_handle(), .events = events, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int ready = milliseconds <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(milliseconds));
    if (ready == 0) {
      return io_error(endpoint_, fmt::format("no answer within {} ms", options_.timeout.count()));
    }
    return {};
  }

  const Endpoint endpoint_;
  asio::io_context io_{1};
  std::unique_ptr<asio::ssl::context> tls_;
  Stream stream_;
};

Result<std::unique_ptr<asio::ssl::context>> make_tls_context(const Endpoint& endpoint,
                                                             const ClientTls& tls) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  context->use_certificate_chain_file(tls.certificate, error);
  if (error) return io_error(endpoint, tls.certificate + ": " + error.message());
  context->use_private_key_file(tls.key, asio::ssl::context::pem, error);
  if (error) return io_error(endpoint, tls.key + ": " + error.message());
  context->load_verify_file(tls.server_ca, error);
  if (error) return io_error(endpoint, tls.server_ca + ": " + error.message());
  context->set_verify_mode(asio::ssl::verify_peer, error);
  return context;
}

}  // namespace

Result<std::unique_ptr<Socket>> Socket::connect(const Endpoint& endpoint,
                                                const SocketOptions& options) {
  if (endpoint.kind != Endpoint::Kind::kTls) {
    auto socket = std::make_unique<StreamSocket<PlainSocket>>(endpoint, options, nullptr);
    if (auto opened = socket->open(); !opened) return tl::unexpected(opened.error());
    return socket;
  }
  auto context = make_tls_context(endpoint, options.tls);
  if (!context) return tl::unexpected(context.error());
  auto socket = std::make_unique<StreamSocket<TlsStream>>(endpoint, options, std::move(*context));
  if (auto opened = socket->open(); !opened) return tl::unexpected(opened.error());
  return socket;
}

Result<FrameBuffer::Received> Socket::receive_now() {
  for (;;) {
    const Result<FrameBuffer::Received> received = buffer_.next();
    if (!received || received->frame != nullptr) return received;
    const Result<std::size_t> bytes = read_now(buffer_.room());
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes == 0) return FrameBuffer::Received{};
    buffer_.received(*bytes);
  }
}

Result<FrameBuffer::Received> Socket::receive() {
  const Clock::time_point start = Clock::now();
  for (;;) {
    const Result<FrameBuffer::Received> received = receive_now();
    if (!received || received->frame != nullptr) return received;
    const Clock::time_point now = Clock::now();
    if (now - start < options_.busy_poll) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + options_.timeout - now);
    if (auto waited = await_readable(left); !waited) return tl::unexpected(waited.error());
  }
}

}  // namespace headroom
