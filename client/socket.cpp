#include "client/socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/ssl/host_name_verification.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <optional>
#include <thread>
#include <type_traits>

namespace headroom {

namespace {

using asio::error_code;
using Clock = std::chrono::steady_clock;
using PlainSocket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<PlainSocket>;

// Between attempts where a Unix socket has no room for another connection.
constexpr std::chrono::milliseconds kConnectPause(10);

tl::unexpected<Error> io_error(const Endpoint& endpoint, const std::string& what) {
  return fail(ErrorCode::kIo, fmt::format("{}: {}", endpoint.text(), what));
}

template <typename Stream>
class StreamSocket final : public Socket {
 public:
  using Socket::write;

  StreamSocket(const Endpoint& endpoint, const SocketOptions& options,
               std::unique_ptr<asio::ssl::context> tls)
      : Socket(options), endpoint_(endpoint), tls_(std::move(tls)), stream_(make_stream()) {}

  Result<void> open(Clock::time_point deadline) {
    if (endpoint_.kind == Endpoint::Kind::kUnix) {
      if (auto connected =
              connect(asio::local::stream_protocol::endpoint(endpoint_.path), deadline);
          !connected) {
        return connected;
      }
    } else {
      error_code error;
      const asio::ip::address address = asio::ip::make_address(endpoint_.host, error);
      if (error) return io_error(endpoint_, error.message());
      if (auto connected = connect(asio::ip::tcp::endpoint(address, endpoint_.port), deadline);
          !connected) {
        return connected;
      }
      stream_.lowest_layer().set_option(asio::ip::tcp::no_delay(true), error);
    }
    if constexpr (std::is_same_v<Stream, TlsStream>) return shake_hands(deadline);
    return {};
  }

  Result<void> write(std::span<const std::uint8_t> bytes, Clock::time_point deadline) override {
    if constexpr (std::is_same_v<Stream, TlsStream>) return write_records(bytes, deadline);
    while (!bytes.empty()) {
      error_code error;
      const std::size_t written =
          stream_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
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

  // Not the library's, which waits without end.
  Result<void> connect(const asio::generic::stream_protocol::endpoint& address,
                       Clock::time_point deadline) {
    auto& socket = stream_.lowest_layer();
    error_code error;
    socket.open(address.protocol(), error);
    if (!error) socket.non_blocking(true, error);
    if (error) return io_error(endpoint_, error.message());
    while (::connect(socket.native_handle(), address.data(),
                     static_cast<socklen_t>(address.size())) != 0) {
      if (errno == EISCONN) break;
      if (errno == EAGAIN) {
        // A Unix socket whose server has not accepted those before.
        if (Clock::now() > deadline) return too_late();
        std::this_thread::sleep_for(kConnectPause);
      } else if (errno == EINPROGRESS || errno == EALREADY) {
        if (auto waited = await(POLLOUT, deadline - Clock::now()); !waited) return waited;
      } else if (errno != EINTR) {
        return io_error(endpoint_, error_code(errno, asio::system_category()).message());
      }
    }
    return {};
  }

  Result<void> shake_hands(Clock::time_point deadline) {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      const std::string& name =
          options_.tls.server_name.empty() ? endpoint_.host : options_.tls.server_name;
      stream_.set_verify_callback(asio::ssl::host_name_verification(name));
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

  // A record that was begun has to be sent whole, which no single write promises.
  Result<void> write_records(std::span<const std::uint8_t> bytes, Clock::time_point deadline) {
    std::optional<error_code> done;
    asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                      [&done](const error_code& error, std::size_t) { done = error; });
    io_.restart();
    io_.run_until(deadline);
    if (!done) {
      error_code ignored;
      stream_.lowest_layer().close(ignored);
      io_.run();  // the handler refers to what is here
      return too_late();
    }
    if (*done) return io_error(endpoint_, done->message());
    return {};
  }

  tl::unexpected<Error> too_late() const {
    return io_error(endpoint_, fmt::format("no answer within {} ms", options_.timeout.count()));
  }

  Result<void> await(short events, Clock::duration left) {
    pollfd waiting{.fd = stream_.lowest_layer().native_handle(), .events = events, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int ready = milliseconds <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(milliseconds));
    if (ready == 0) return too_late();
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
                                                const SocketOptions& options,
                                                Clock::time_point deadline) {
  if (endpoint.kind != Endpoint::Kind::kTls) {
    auto socket = std::make_unique<StreamSocket<PlainSocket>>(endpoint, options, nullptr);
    if (auto opened = socket->open(deadline); !opened) return tl::unexpected(opened.error());
    return socket;
  }
  auto context = make_tls_context(endpoint, options.tls);
  if (!context) return tl::unexpected(context.error());
  auto socket = std::make_unique<StreamSocket<TlsStream>>(endpoint, options, std::move(*context));
  if (auto opened = socket->open(deadline); !opened) return tl::unexpected(opened.error());
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

Result<FrameBuffer::Received> Socket::receive(Clock::time_point deadline) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    const Result<FrameBuffer::Received> received = receive_now();
    if (!received || received->frame != nullptr) return received;
    const Clock::time_point now = Clock::now();
    if (now - start < options_.busy_poll) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    if (auto waited = await_readable(left); !waited) return tl::unexpected(waited.error());
  }
}

}  // namespace headroom
