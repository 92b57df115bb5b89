// Connection: one peer's socket. Bytes in, frames to the handler, replies out.
//
// A turn of a connection handles the frames that have come, for some hundred microseconds at most;
// then the other connections have theirs. A frame whose answer takes turns (work.h) holds up those
// behind it. Replies are written when the turn ends. What a peer does not take is queued up to
// kQueuedBytesMax and kStalledSecondsMax, then the peer is cut off; what all connections hold is
// counted, up to kBufferedBytesMax. All calls on the control thread. Lives as long as an operation
// of its socket is under way.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "schema/endpoint.h"
#include "server/frame_handler.h"
#include "server/log_function.h"
#include "server/metrics.h"
#include "server/sockets/handshakes.h"
#include "server/sockets/turns.h"

namespace headroom {

class Connection : public Peer {
 public:
  using Clock = std::chrono::steady_clock;

  // Once: says hello to the handler (TLS: after the handshake, whose failure is logged with its
  // reason), if it is admitted.
  virtual void start() = 0;
  // Queued replies are still written and the peer may read them, for a while; what it sends is
  // dropped.
  void close() override = 0;
  // The same for a server that stops: a peer that has its replies is not waited for.
  virtual void stop() = 0;
  // At once; the handler is told.
  virtual void abort() = 0;
  // Soon, as abort() does, with a word in the log: the handler may be at work, perhaps for another
  // peer.
  virtual void cut_off(const char* why, const char* limit, std::size_t value) = 0;
  // Memory of its frames and replies.
  virtual std::size_t held_bytes() const = 0;
  // It has replies for the peer, who has taken nothing of them since then.
  virtual bool stalled_since(Clock::time_point then) const = 0;

  Endpoint::Kind kind = Endpoint::Kind::kUnix;
  bool admitted = false;  // it counts among kConnectionsMax
  Clock::time_point since = Clock::now(), heard_at = since;
};

// What connections have in common; all of them outlive it.
class Connections {
 public:
  virtual ~Connections() = default;
  // It is known who the peer is; it gets its roles. An error: it is told, and closed.
  virtual Result<void> admit(Connection& connection, std::span<const std::string> principals) = 0;
  virtual void ended(Connection& connection) = 0;
  // One of them holds so many bytes more, or fewer.
  virtual void held(std::ptrdiff_t bytes) = 0;
};

struct ConnectionContext {
  FrameHandler& handler;
  Metrics& metrics;
  LogFunction log;
  Connections& connections;
  Turns& turns;
  Handshakes& handshakes;
};

using PlainSocket = asio::generic::stream_protocol::socket;

// Not started yet. `context` outlives the connection.
std::shared_ptr<Connection> make_connection(PlainSocket socket, const ConnectionContext& context);
std::shared_ptr<Connection> make_connection(PlainSocket socket,
                                            std::shared_ptr<asio::ssl::context> tls,
                                            const ConnectionContext& context);

}  // namespace headroom
