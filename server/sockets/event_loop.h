// Runs an io_context on the calling thread, polling for a while before it sleeps.
//
// Waking a sleeping thread costs some 70 us on a virtual machine, a poll well below one. So after
// the last piece of work the loop polls for `busy_poll` before it blocks; a server that has nothing
// to do sleeps.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>

namespace headroom {

// Until io.stop(). What a handler throws (no memory, most likely) ends that handler only, and is
// told to `failed`.
void run_event_loop(asio::io_context& io, std::chrono::microseconds busy_poll,
                    const std::function<void(const std::exception&)>& failed);

// 0 on one processor, where polling keeps the peer from running.
std::chrono::microseconds default_busy_poll();

}  // namespace headroom
