#include "server/sockets/listener.h"

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
#include <map>
#include <string_view>

#include "objects/assert.h"

namespace headroom {

namespace {

constexpr int kBacklog = 128;
constexpr std::chrono::milliseconds kAcceptPause(100);
// Of TCP: silence until a probe, time between probes, unanswered probes until the end.
constexpr int kKeepAliveSeconds = 60, kKeepAliveProbeSeconds = 15, kKeepAliveProbes = 4;

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

std::optional<uid_t> user_of(PlainSocket& socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  return credentials.uid;
}

std::string peer_address(PlainSocket& socket) {
  asio::ip::tcp::endpoint address;
  auto size = static_cast<socklen_t>(address.capacity());
  return getpeername(socket.native_handle(), address.data(), &size) == 0
             ? address.address().to_string()
             : "?";
}

// Answers go at once; a peer whose machine is gone is noticed within two minutes.
void set_tcp_options(PlainSocket& socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket.native_handle(), level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

bool same_kind(const Connection& a, const Connection& b) {
  return (a.kind == Endpoint::Kind::kUnix) == (b.kind == Endpoint::Kind::kUnix);
}

// Of those, per principal.
std::map<std::string_view, std::size_t> count_by_principal(std::span<Connection* const> those) {
  std::map<std::string_view, std::size_t> counts;
  for (const Connection* connection : those) ++counts[connection->principal];
  return counts;
}

}  // namespace

Listeners::Listeners(asio::io_context& io, FrameHandler& handler, Metrics& metrics, LogFunction log)
    : io_(io),
      metrics_(metrics),
      log_(std::move(log)),
      turns_(io, handler),
      handshakes_(io),
      context_{handler, metrics, log_, *this, turns_, handshakes_} {}

Listeners::~Listeners() {
  // Those whose operations end with the loop would ask for the others then.
  while (!connections_.empty()) (*connections_.begin())->abort();
  unlink_all();
}

void Listeners::unlink_all() {
  for (const auto& listener : listeners_) {
    const std::string path = std::exchange(listener->unlink_path, {});
    struct stat now {};
    if (!path.empty() && ::lstat(path.c_str(), &now) == 0 && now.st_dev == listener->device &&
        now.st_ino == listener->inode) {
      ::unlink(path.c_str());
    }
  }
}

Result<void> Listeners::open(const ListenOptions& options) {
  allowed_users_ = options.allowed_users;
  access_ = options.access;
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
  if (!opened) {
    unlink_all();
    listeners_.clear();
    addresses_.clear();
    return opened;
  }
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
  struct stat made {};
  if (!unlink_path.empty()) ::lstat(unlink_path.c_str(), &made);
  listeners_.push_back(
      std::make_unique<Listener>(Listener{std::move(acceptor), asio::steady_timer(io_), kind,
                                          std::move(unlink_path), made.st_dev, made.st_ino}));
  addresses_.push_back(std::move(address));
}

void Listeners::accept(Listener& listener) {
  listener.acceptor.async_accept(
      [this, &listener](const asio::error_code& error, PlainSocket socket) {
        if (error == asio::error::operation_aborted || !listener.acceptor.is_open()) return;
        if (!error) {
          accept(listener);
          accepted(listener, std::move(socket));
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

void Listeners::accepted(const Listener& listener, PlainSocket socket) {
  const bool tls = listener.kind == Endpoint::Kind::kTls;
  std::string principal = "tcp";
  if (listener.kind == Endpoint::Kind::kUnix) {
    const std::optional<uid_t> user = user_of(socket);
    principal = user ? fmt::format("user:{}", *user) : "user:?";
    if (!user_allowed(user)) {
      metrics_.connection_refused(Refusal::kUser);
      log_(LogLevel::kWarning, "connection refused",
           {{"reason", user ? fmt::format("user {} is not allowed", *user)
                            : "a peer without credentials is not allowed"}});
      return;
    }
  } else {
    set_tcp_options(socket);
    if (tls) principal = peer_address(socket);
  }
  const std::shared_ptr<Connection> connection =
      tls ? make_connection(std::move(socket), tls_, context_)
          : make_connection(std::move(socket), context_);
  connection->kind = listener.kind;
  connection->principal = std::move(principal);
  make_room_before_hello(*connection);
  connections_.insert(connection.get());
  connection->start();
}

bool Listeners::user_allowed(std::optional<uid_t> user) const {
  if (allowed_users_.empty()) return true;
  return user && (*user == ::geteuid() || std::find(allowed_users_.begin(), allowed_users_.end(),
                                                    *user) != allowed_users_.end());
}

// --- Room for all --------------------------------------------------------------------------------

void Listeners::make_room_before_hello(const Connection& newcomer) {
  std::vector<Connection*> silent;
  for (Connection* connection : connections_) {
    if (!connection->greeted && same_kind(*connection, newcomer)) silent.push_back(connection);
  }
  if (silent.size() < kConnectionsBeforeHelloMax) return;
  const auto counts = count_by_principal(silent);
  const auto goes_first = [&](const Connection* a, const Connection* b) {
    const std::size_t of_a = counts.at(a->principal), of_b = counts.at(b->principal);
    return of_a != of_b ? of_a > of_b : a->since < b->since;
  };
  let_go(**std::min_element(silent.begin(), silent.end(), goes_first), LetGo::kHello);
}

Result<void> Listeners::admit(Connection& newcomer, std::span<const std::string> principals) {
  newcomer.roles = access_.roles_of(principals);
  if (newcomer.roles.empty()) {
    metrics_.connection_refused(Refusal::kRole);
    const std::string reason = fmt::format("{} has no role", newcomer.principal);
    log_(LogLevel::kWarning, "connection refused", {{"reason", reason}});
    return fail(ErrorCode::kForbidden, reason);
  }
  std::vector<Connection*> others;
  for (Connection* connection : connections_) {
    if (connection->admitted && same_kind(*connection, newcomer)) others.push_back(connection);
  }
  if (others.size() >= kConnectionsMax && !make_room(newcomer, others)) {
    metrics_.connection_refused(Refusal::kTooMany);
    const std::string reason =
        fmt::format("connections: kConnectionsMax ({}) are open", kConnectionsMax);
    log_(LogLevel::kWarning, "connection refused",
         {{"principal", newcomer.principal}, {"reason", reason}});
    return fail(ErrorCode::kLimitExceeded, reason);
  }
  newcomer.admitted = true;
  return {};
}

// One of the others goes; false: none has to.
bool Listeners::make_room(const Connection& newcomer, std::span<Connection* const> others) {
  const auto longest_silent = [&](auto&& may_go) {
    Connection* found = nullptr;
    for (Connection* other : others) {
      if (may_go(*other) && (found == nullptr || other->heard_at < found->heard_at)) found = other;
    }
    return found;
  };
  if (Connection* goes = longest_silent([](const Connection& c) { return !c.greeted; })) {
    let_go(*goes, LetGo::kHello);
    return true;
  }
  // The feeder may have nothing to say for long, and would have to say everything again.
  const auto idle_since = Connection::Clock::now() - std::chrono::seconds(kIdleSecondsMax);
  if (Connection* goes = longest_silent(
          [&](const Connection& c) { return !c.feeds && c.heard_at < idle_since; })) {
    let_go(*goes, LetGo::kIdle);
    return true;
  }
  // One more for the newcomer's principal must not be more than the other's are then.
  const auto counts = count_by_principal(others);
  const auto own = counts.find(newcomer.principal);
  const std::size_t fair = (own == counts.end() ? 0 : own->second) + 2;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second < fair) return false;
  let_go(*longest_silent([&](const Connection& c) { return c.principal == most->first; }),
         LetGo::kShare);
  return true;
}

void Listeners::let_go(Connection& connection, LetGo why) {
  metrics_.let_go(why);
  log_(LogLevel::kWarning, "connection let go: others need its place",
       {{"client", connection.name}, {"principal", connection.principal}, {"why", to_string(why)}});
  connection.abort();
}

void Listeners::held(std::ptrdiff_t bytes) {
  held_bytes_ += bytes;
  HEADROOM_ASSERT(held_bytes_ >= 0);
  while (held_bytes_ > static_cast<std::ptrdiff_t>(kBufferedBytesMax)) {
    std::map<std::string_view, std::size_t> sums;
    for (const Connection* c : connections_) sums[c->principal] += c->held_bytes();
    const auto goes_first = [&](const Connection* a, const Connection* b) {
      const std::size_t of_a = sums[a->principal], of_b = sums[b->principal];
      return of_a != of_b ? of_a > of_b : a->held_bytes() > b->held_bytes();
    };
    metrics_.let_go(LetGo::kMemory);
    (*std::min_element(connections_.begin(), connections_.end(), goes_first))
        ->cut_off("cut off: all together hold too much memory, and it most", "kBufferedBytesMax",
                  kBufferedBytesMax);
  }
}

void Listeners::tick() {
  const auto then = Connection::Clock::now() - std::chrono::seconds(kStalledSecondsMax);
  for (Connection* connection : connections_) {
    if (!connection->stalled_since(then)) continue;
    metrics_.rejected(RequestRejection::kSlowReader);
    connection->cut_off("cut off: it does not read its replies", "kStalledSecondsMax",
                        kStalledSecondsMax);
  }
}

void Listeners::close() {
  for (const auto& listener : listeners_) {
    asio::error_code ignored;
    listener->acceptor.close(ignored);
    listener->pause.cancel();
  }
  unlink_all();
  // stop() may end a connection, which takes it out of the set.
  const std::set<Connection*> connections = connections_;
  for (Connection* connection : connections) connection->stop();
}

}  // namespace headroom
