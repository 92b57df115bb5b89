// A headroomd of its own, fed with a generated cluster, for the rows that go through the socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/client.h"
#include "client/feeder.h"
#include "tools/load/daemon_process.h"
#include "tools/load/facts.h"
#include "workloads/temporary_directory.h"

namespace headroom {

// How large the rows' clusters are, at full size.
inline constexpr std::uint32_t kServedNodes = 50'000, kServedPods = 200'000;
// What the rows' clients ask for.
inline constexpr std::uint32_t kServedTopK = 16;
inline constexpr EvaluateRequest kServedRequest{
    .top_k = kServedTopK, .scores = true, .reasons = false};
// How long the daemon polls before it sleeps, unless told otherwise.
inline constexpr std::chrono::microseconds kUsualPolling(50);

class ServedCluster {
 public:
  // Both ends poll for `busy_poll` before they sleep. Starts the daemon; feed() feeds it.
  ServedCluster(LoadFacts::Objects objects, std::chrono::microseconds busy_poll,
                std::uint64_t seed);
  ServedCluster(const ServedCluster&) = delete;
  ServedCluster& operator=(const ServedCluster&) = delete;

  void feed();
  // The daemon against the engine in process: digest, and some answers.
  void check();
  Client connect() const;

  const Endpoint& endpoint() const { return endpoint_; }
  const ClientOptions& client_options() const { return client_options_; }
  LoadFacts& facts() { return *facts_; }
  Feeder& feeder() { return *feeder_; }
  const std::string& directory() const { return directory_->path(); }

 private:
  std::optional<TemporaryDirectory> directory_;
  Endpoint endpoint_;
  ClientOptions client_options_;
  std::optional<DaemonProcess> daemon_;
  std::unique_ptr<LoadFacts> facts_;
  std::unique_ptr<Feeder> feeder_;
};

// Generated, with so many pods, nine in ten of them bound.
LoadFacts::Objects generated_objects(std::uint32_t nodes, std::uint32_t pods, std::uint64_t seed);

}  // namespace headroom
