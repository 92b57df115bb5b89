// Connection: one peer's socket. Bytes in, frames to the handler, replies out.
//
// A turn of a connection handles the frames that have come, for some hundred microseconds at most;
// then the other connections have theirs. Replies are written when the turn ends. What a peer does
// not take is queued up to kQueuedBytesMax, then the peer is cut off. All calls on the control
// thread. Lives as long as an operation of its socket is under way.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <functional>
#include <memory>

#include "server/metrics.h"
#include "server/service.h"

namespace headroom {

class Connection : public Peer {
 public:
  // Queued replies are still written and the peer may read them, for a while; what it sends is
  // dropped.
  void close() override = 0;
  // The same for a server that stops: a peer that has its replies is not waited for.
  virtual void stop() = 0;
  // At once; the handler is told.
  virtual void abort() = 0;
};

struct ConnectionContext {
  FrameHandler& handler;
  Metrics& metrics;
  LogFunction log;
  std::function<void(Connection*)> ended;
};

using PlainSocket = asio::generic::stream_protocol::socket;

// Both say hello to the handler at once (TLS: after the handshake, whose failure is logged with its
// reason). `peer` names it in logs. `context` outlives the connection.
std::shared_ptr<Connection> start_connection(PlainSocket socket, std::string peer,
                                             const ConnectionContext& context);
std::shared_ptr<Connection> start_connection(PlainSocket socket,
                                             std::shared_ptr<asio::ssl::context> tls,
                                             std::string peer, const ConnectionContext& context);

}  // namespace headroom
