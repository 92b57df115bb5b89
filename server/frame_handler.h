// FrameHandler: what a server does with the frames of its peers, as sockets see it: the service
// (service.h), or the tools' echo server.
//
// Whoever accepts connections reads their frames and gives each to the handler, which answers
// through the peer (peer.h). Thread safety: all calls come from one thread.
#pragma once

#include "objects/error.h"
#include "schema/frame.h"
#include "server/peer.h"

namespace headroom {

class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  virtual void connected(Peer& peer) = 0;
  virtual void disconnected(Peer& peer) noexcept = 0;
  // False: the answer takes turns. The frame stays where it is, and the peer's next one waits,
  // until resume() is called; step() is called until then.
  virtual bool handle(Peer& peer, const FrameBuffer::Received& received) = 0;
  // A turn for the request that has waited longest for one. False: none is left.
  virtual bool step() { return false; }
  // The peer's stream cannot go on; `error` says why.
  virtual void broken(Peer& peer, FrameFault fault, const Error& error) = 0;
};

}  // namespace headroom
