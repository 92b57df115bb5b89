#include "server/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "schema/frame.h"
#include "server/encode.h"

namespace headroom {

namespace {

constexpr int kBacklog = 128;
constexpr std::chrono::milliseconds kAcceptPause(100);

tl::unexpected<Error> system_error(const Endpoint& endpoint, const char* call) {
  return fail(ErrorCode::kIo,
              fmt::format("listen: {}: {}: {}", endpoint.text(), call, std::strerror(errno)));
}

// A descriptor that is closed unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

const sockaddr* generic(const auto& address) { return reinterpret_cast<const sockaddr*>(&address); }

// The address of a TCP socket as an endpoint.
Endpoint local_endpoint(int descriptor, Endpoint::Kind kind) {
  asio::ip::tcp::endpoint address;
  auto size = static_cast<socklen_t>(address.capacity());
  Endpoint endpoint;
  endpoint.kind = kind;
  if (getsockname(descriptor, address.data(), &size) == 0) {
    endpoint.host = address.address().to_string();
    endpoint.port = address.port();
  }
  return endpoint;
}

bool is_loopback(const std::string& host) {
  asio::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

// Tells one more connection than there may be why it is not served.
void refuse(PlainSocket& socket) {
  Builder builder;
  const std::string message =
      fmt::format("connections: kConnectionsMax ({}) are open", kConnectionsMax);
  finish_frame(
      builder, 0,
      wire::CreateError(builder, wire::ErrorCode::LimitExceeded, builder.CreateString(message)));
  asio::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(builder.GetBufferPointer(), builder.GetSize()), ignored);
}

}  // namespace

Listeners::Listeners(asio::io_context& io, FrameHandler& handler, Metrics& metrics, LogFunction log)
    : io_(io),
      metrics_(metrics),
      log_(std::move(log)),
      context_{handler, metrics, log_,
               [this](Connection* connection) { connections_.erase(connection); }} {}

Listeners::~Listeners() {
  for (const auto& listener : listeners_) {
    if (!listener->unlink_path.empty()) ::unlink(listener->unlink_path.c_str());
  }
}

Result<void> Listeners::open(const ListenOptions& options) {
  allowed_users_ = options.allowed_users;
  tls_ = options.tls;
  const int activated = sd_listen_fds(1);
  Result<void> opened;
  for (int d = 0; d < activated && opened; ++d) opened = take_activated(SD_LISTEN_FDS_START + d);
  if (activated <= 0) {
    for (const Endpoint& endpoint : options.endpoints) {
      if (!opened) break;
      opened = endpoint.kind == Endpoint::Kind::kUnix ? open_unix(endpoint, options.socket_mode)
                                                      : open_tcp(endpoint);
    }
  }
  if (!opened) return opened;
  for (const auto& listener : listeners_) accept(*listener);
  return {};
}

// What the service manager opened; its units say who may connect to a Unix socket.
Result<void> Listeners::take_activated(int descriptor) {
  if (sd_is_socket(descriptor, AF_UNIX, SOCK_STREAM, 1) > 0) {
    add(descriptor, Endpoint::Kind::kUnix, fmt::format("activated socket {}", descriptor), "");
    return {};
  }
  if (sd_is_socket(descriptor, AF_INET, SOCK_STREAM, 1) <= 0 &&
      sd_is_socket(descriptor, AF_INET6, SOCK_STREAM, 1) <= 0) {
    return fail(ErrorCode::kInvalid,
                fmt::format("activated socket {}: not a listening stream socket", descriptor));
  }
  const auto kind = tls_ != nullptr ? Endpoint::Kind::kTls : Endpoint::Kind::kTcp;
  const Endpoint endpoint = local_endpoint(descriptor, kind);
  if (kind == Endpoint::Kind::kTcp && !is_loopback(endpoint.host)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("activated socket {}: {}: TCP without TLS is for loopback addresses",
                            descriptor, endpoint.text()));
  }
  add(descriptor, kind, endpoint.text(), "");
  return {};
}

Result<void> Listeners::open_unix(const Endpoint& endpoint, std::uint32_t mode) {
  const std::filesystem::path path(endpoint.path);
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const sockaddr_un address = unix_address(endpoint.path);
  struct stat status {};
  if (::lstat(endpoint.path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      return fail(ErrorCode::kConflict,
                  fmt::format("listen: {}: there is a file that is no socket", endpoint.text()));
    }
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (probe.get() < 0) return system_error(endpoint, "socket");
    if (::connect(probe.get(), generic(address), sizeof(address)) == 0) {
      return fail(ErrorCode::kConflict,
                  fmt::format("listen: {}: another server listens there", endpoint.text()));
    }
    if (errno != ECONNREFUSED) return system_error(endpoint, "connect");
    log_(LogLevel::kInfo, "stale socket replaced", {{"path", endpoint.path}});
    ::unlink(endpoint.path.c_str());
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_error(endpoint, "socket");
  // Nobody else may connect before the mode is set.
  const mode_t mask = ::umask(0177);
  const int bound = ::bind(socket.get(), generic(address), sizeof(address));
  const int error = errno;
  ::umask(mask);
  errno = error;
  if (bound != 0) return system_error(endpoint, "bind");
  if (::chmod(endpoint.path.c_str(), mode) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    ::unlink(endpoint.path.c_str());
    return system_error(endpoint, "listen");
  }
  add(socket.release(), Endpoint::Kind::kUnix, endpoint.text(), endpoint.path);
  return {};
}

Result<void> Listeners::open_tcp(const Endpoint& endpoint) {
  asio::error_code error;
  const asio::ip::address address = asio::ip::make_address(endpoint.host, error);
  if (error) {
    return fail(ErrorCode::kInvalid, fmt::format("listen: {}: \"{}\" is not an IP address",
                                                 endpoint.text(), endpoint.host));
  }
  if (endpoint.kind == Endpoint::Kind::kTcp && !address.is_loopback()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("listen: {}: TCP without TLS is for loopback addresses; use"
                            " tls://{}:{}",
                            endpoint.text(), endpoint.host, endpoint.port));
  }
  if (endpoint.kind == Endpoint::Kind::kTls && tls_ == nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("listen: {}: needs tls-certificate, tls-key and tls-client-ca",
                            endpoint.text()));
  }
  const asio::ip::tcp::endpoint bound(address, endpoint.port);
  Descriptor socket(::socket(bound.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (socket.get() < 0) return system_error(endpoint, "socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), bound.data(), static_cast<socklen_t>(bound.size())) != 0) {
    return system_error(endpoint, "bind");
  }
  if (::listen(socket.get(), kBacklog) != 0) return system_error(endpoint, "listen");
  const std::string text = local_endpoint(socket.get(), endpoint.kind).text();
  add(socket.release(), endpoint.kind, text, "");
  return {};
}

void Listeners::add(int descriptor, Endpoint::Kind kind, std::string address,
                    std::string unlink_path) {
  sockaddr_storage local{};
  socklen_t size = sizeof(local);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &size);
  const int protocol = local.ss_family == AF_UNIX ? 0 : IPPROTO_TCP;
  Acceptor acceptor(io_, asio::generic::stream_protocol(local.ss_family, protocol), descriptor);
  listeners_.push_back(std::make_unique<Listener>(
      Listener{std::move(acceptor), asio::steady_timer(io_), kind, std::move(unlink_path)}));
  addresses_.push_back(std::move(address));
}

void Listeners::accept(Listener& listener) {
  listener.acceptor.async_accept(
      [this, &listener](const asio::error_code& error, PlainSocket socket) {
        if (error == asio::error::operation_aborted || !listener.acceptor.is_open()) return;
        if (!error) {
          accepted(listener, std::move(socket));
          accept(listener);
          return;
        }
        // Out of descriptors, or a peer that left: later the next one may fare better.
        metrics_.connection_refused(Refusal::kAccept);
        log_(LogLevel::kWarning, "accept failed", {{"reason", error.message()}});
        listener.pause.expires_after(kAcceptPause);
        listener.pause.async_wait([this, &listener](const asio::error_code& stopped) {
          if (!stopped) accept(listener);
        });
      });
}

void Listeners::accepted(Listener& listener, PlainSocket socket) {
  if (connections_.size() >= kConnectionsMax) {
    metrics_.connection_refused(Refusal::kTooMany);
    log_(LogLevel::kWarning, "connection refused",
         {{"reason", fmt::format("kConnectionsMax ({}) are open", kConnectionsMax)}});
    if (listener.kind != Endpoint::Kind::kTls) refuse(socket);
    return;
  }
  std::string peer = "?";
  if (listener.kind == Endpoint::Kind::kUnix) {
    if (!user_allowed(socket, peer)) {
      metrics_.connection_refused(Refusal::kUser);
      log_(LogLevel::kWarning, "connection refused", {{"reason", peer + " is not allowed"}});
      return;
    }
  } else {
    const int on = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  const std::shared_ptr<Connection> connection =
      listener.kind == Endpoint::Kind::kTls
          ? start_connection(std::move(socket), tls_, std::move(peer), context_)
          : start_connection(std::move(socket), std::move(peer), context_);
  connections_.insert(connection.get());
}

// `peer` becomes the user's id, for logs.
bool Listeners::user_allowed(PlainSocket& socket, std::string& peer) const {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    peer = "a peer without credentials";
    return allowed_users_.empty();
  }
  peer = fmt::format("user {}", credentials.uid);
  return allowed_users_.empty() || credentials.uid == ::geteuid() ||
         std::find(allowed_users_.begin(), allowed_users_.end(), credentials.uid) !=
             allowed_users_.end();
}

void Listeners::close() {
  for (const auto& listener : listeners_) {
    asio::error_code ignored;
    listener->acceptor.close(ignored);
    listener->pause.cancel();
    if (!listener->unlink_path.empty()) ::unlink(listener->unlink_path.c_str());
    listener->unlink_path.clear();
  }
  // stop() may end a connection, which takes it out of the set.
  const std::set<Connection*> connections = connections_;
  for (Connection* connection : connections) connection->stop();
}

}  // namespace headroom
