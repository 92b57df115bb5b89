// Is a server's state, and are its answers, what the engine in process has?
#pragma once

#include "tools/load/facts.h"

namespace headroom {

// Holds the server against the engine in process, while nothing is under way: the digests of all
// facts, and `count` answers with all their scores and reasons. An error (kConflict) says where
// they differ.
Result<void> verify_server(const Endpoint& endpoint, const ClientOptions& options, LoadFacts& facts,
                           Feeder& feeder, std::uint32_t count);

}  // namespace headroom
