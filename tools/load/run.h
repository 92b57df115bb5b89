// One run of a load test: requests of a mix, in a closed or an open loop, beside a stream of
// events, from one thread that polls all its connections.
//
// Closed loop: every connection keeps `depth` requests under way. Open loop: requests are due at a
// fixed rate whatever the server does, and a latency counts from when its request was due, so that
// a stall shows in every request that it delays.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "client/client.h"
#include "tools/load/facts.h"
#include "tools/load/latency_histogram.h"

namespace headroom {

enum class LoadKind : std::uint8_t {
  kEvaluate,  // one pod
  kReserve,   // reserve the pod evaluated last and evaluate the next, in one round trip
  kPlace,     // a batch
};
inline constexpr std::size_t kLoadKinds = 3;
const char* to_string(LoadKind kind);

inline constexpr std::uint32_t kLoadConnectionsMax = 128;
inline constexpr std::uint32_t kLoadDepthMax = 1024;

struct LoadPlan {
  std::uint32_t connections = 1;
  std::uint32_t depth = 1;       // closed loop
  double rate = 0;               // open loop: requests a second; 0: closed loop
  double events_per_second = 0;  // fed beside the requests
  double seconds = 5;
  // Before that, in the same way, without being measured: caches fill, and processors wake up.
  double warm_up_seconds = 1;
  std::uint32_t top_k = 16;
  bool scores = true;
  std::array<std::uint32_t, kLoadKinds> mix = {1, 0, 0};
  std::uint32_t place_pods = 64;  // of a batch
  std::uint64_t seed = 1;
};

struct LoadResult {
  std::array<LatencyHistogram, kLoadKinds> latency;  // from send or due to reply, by kind
  std::uint64_t pods = 0;                            // decided on
  std::uint64_t events = 0;
  std::uint64_t conflicts = 0;  // reservations of nodes that no longer fit
  std::uint64_t unplaced = 0;   // pods without a node
  std::uint64_t errors = 0;     // Errors and answers that cannot be
  std::string first_error;
  std::uint64_t lost = 0;  // requests without a reply, or due and never sent
  double seconds = 0;

  std::uint64_t requests() const;
  LatencyHistogram all() const;
};

// What one request of each kind and its answer look like, for an echo server of the same sizes.
struct LoadSample {
  std::vector<std::uint8_t> request, reply;
};

class LoadRun {
 public:
  // `feeder` may be nullptr where no events are asked for. `progress` is told seconds.
  LoadRun(const Endpoint& endpoint, const ClientOptions& options, LoadFacts& facts, Feeder* feeder);
  // Runs; what it reserved is unreserved at the end.
  Result<LoadResult> run(const LoadPlan& plan, const std::function<void(double)>& progress);
  // Against an echo server: the sample's request again and again, in the same loop.
  static Result<LoadResult> run_echo(const Endpoint& endpoint, const SocketOptions& options,
                                     const LoadPlan& plan, const LoadSample& sample);
  // A request of the kind and the server's answer to it.
  Result<LoadSample> sample(const LoadPlan& plan, LoadKind kind);

 private:
  const Endpoint endpoint_;
  const ClientOptions options_;
  LoadFacts& facts_;
  Feeder* const feeder_;
};

}  // namespace headroom
