// Work: a request that is answered in turns, so that it keeps no other waiting: new shapes and
// their classes, batches of pods, many facts, looks at the whole state, questions of capacity.
//
// The service gives one work at a time a turn of about kWorkTurnTime, in the order in which they
// stand in line; other connections have theirs between two of them. What these change is seen by
// the next turn. The peer's later frames wait, so that it is answered in its order, and the frame
// of the request stays where it is. Thread safety: the control thread.
#pragma once

#include <chrono>

#include "engine/engine.h"
#include "objects/error.h"

namespace headroom {

// A turn of a request that takes long. Others wait for one turn, and the piece of work that ends
// it.
inline constexpr std::chrono::microseconds kWorkTurnTime(1000);
// A turn of facts: a feeder waits for nobody, and who decides meanwhile has one behind each
// request.
inline constexpr std::chrono::microseconds kFeedTurnTime(100);

class Work {
 public:
  virtual ~Work() = default;
  virtual std::chrono::microseconds turn_time() const { return kWorkTurnTime; }
  // A turn: at least a piece of the work, then up to where `pause` ends it. True when what the
  // request is answered with is complete; an error is an answer, too.
  virtual Result<bool> turn(const Pause& pause) = 0;
  // The peer has gone. What it will not be told of is undone with the work's end.
  virtual void drop() {}
};

}  // namespace headroom
