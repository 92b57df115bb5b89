// Listeners: the sockets that headroomd accepts connections on, and who may connect.
//
// Unix sockets have a mode and, if given, a list of users; TCP is for loopback addresses, or with
// mutual TLS; anything else is refused with the reason. A socket file that no server listens on any
// more is replaced, a live one is not.
//
// Nobody keeps others out: peers of Unix sockets and of TCP are counted apart, and so are those
// that have not said hello, of which the oldest gives way. Where kConnectionsMax are open, one that
// was silent for kIdleSecondsMax gives way, or else one of the principal that has most of them, if
// the new one's has fewer. What has to go is of the address or principal that has the most. Thread
// safety: the control thread's.
#pragma once

#include <sys/types.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schema/endpoint.h"
#include "server/sockets/access.h"
#include "server/sockets/connection.h"

namespace headroom {

struct ListenOptions {
  std::vector<Endpoint> endpoints;  // where the service manager gave no sockets
  std::uint32_t socket_mode = 0600;
  std::vector<std::uint32_t> allowed_users;  // by id; empty: whom the mode lets in
  Access access;
  std::shared_ptr<asio::ssl::context> tls;  // nullptr: no TLS
};

class Listeners final : private Connections {
 public:
  Listeners(asio::io_context& io, FrameHandler& handler, Metrics& metrics, LogFunction log);
  ~Listeners() override;
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  // Opens all or, on an error, none.
  Result<void> open(const ListenOptions& options);
  // For connections to come.
  void set_tls(std::shared_ptr<asio::ssl::context> tls) { tls_ = std::move(tls); }
  // Once a second: who takes nothing of its replies is cut off.
  void tick();
  // No new connections; those there are get their last replies.
  void close();
  std::size_t connection_count() const { return connections_.size(); }
  // Where it listens, as endpoints; ports that were 0 with the number they got.
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  void unlink_all();

  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  struct Listener {
    Acceptor acceptor;
    asio::steady_timer pause;  // after a failure
    Endpoint::Kind kind;
    std::string unlink_path;  // to remove at the end; empty: it is not ours
    // What was made there: another daemon may have put its own in the place.
    dev_t device = 0;
    ino_t inode = 0;
  };

  Result<void> open_unix(const Endpoint& endpoint, std::uint32_t mode);
  Result<void> open_tcp(const Endpoint& endpoint);
  Result<void> take_activated(int descriptor);
  void add(int descriptor, Endpoint::Kind kind, std::string address, std::string unlink_path);
  void accept(Listener& listener);
  void accepted(const Listener& listener, PlainSocket socket);
  bool user_allowed(std::optional<uid_t> user) const;
  Result<void> admit(Connection& newcomer, std::span<const std::string> principals) override;
  void ended(Connection& connection) override { connections_.erase(&connection); }
  void held(std::ptrdiff_t bytes) override;
  void make_room_before_hello(const Connection& newcomer);
  bool make_room(const Connection& newcomer, std::span<Connection* const> others);
  void let_go(Connection& connection, LetGo why);

  asio::io_context& io_;
  Metrics& metrics_;
  LogFunction log_;
  Turns turns_;
  Handshakes handshakes_;
  ConnectionContext context_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::string> addresses_;
  std::vector<std::uint32_t> allowed_users_;
  Access access_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::set<Connection*> connections_;
  std::ptrdiff_t held_bytes_ = 0;  // of all of them
};

}  // namespace headroom
