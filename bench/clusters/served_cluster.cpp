#include "bench/clusters/served_cluster.h"

#include <fmt/format.h>

#include "bench/checks.h"
#include "tools/load/verify.h"
#include "workloads/cluster_generator.h"

namespace headroom {

namespace {

constexpr std::uint32_t kCheckedAnswers = 32;

}  // namespace

ServedCluster::ServedCluster(LoadFacts::Objects objects, std::chrono::microseconds busy_poll,
                             std::uint64_t seed)
    : directory_(value_of(TemporaryDirectory::make("headroom-bench"))),
      facts_(value_of(LoadFacts::create(std::move(objects), Profile::standard(), seed))) {
  endpoint_.path = directory_->path() + "/headroomd.sock";
  client_options_.name = "headroom-bench";
  client_options_.socket.busy_poll = busy_poll;
  client_options_.socket.timeout = std::chrono::seconds(60);
  daemon_.emplace(value_of(DaemonProcess::start(
      headroomd_beside_this_program(),
      {"--listen", endpoint_.text(), "--metrics", "none", "--log-level", "error", "--threads", "1",
       "--busy-poll-us", fmt::to_string(busy_poll.count())},
      endpoint_)));
  Feeder::Options feeding;
  feeding.client = client_options_;
  feeding.clock = [this] { return facts_->now_us(); };
  feeding.on_refused = [](const Error& error) { throw CheckFailed(error.message); };
  feeder_ = std::make_unique<Feeder>(endpoint_, std::move(feeding),
                                     [this](const Feeder::Emit& emit) { facts_->for_each(emit); });
}

void ServedCluster::feed() {
  check_done(feeder_->resync());
  value_of(feeder_->barrier());
}

void ServedCluster::check() {
  check_done(verify_server(endpoint_, client_options_, *facts_, *feeder_, kCheckedAnswers));
}

Client ServedCluster::connect() const {
  return value_of(Client::connect(endpoint_, client_options_));
}

LoadFacts::Objects generated_objects(std::uint32_t nodes, std::uint32_t pods, std::uint64_t seed) {
  const ClusterGenerator generator({.nodes = nodes, .pods = pods, .seed = seed});
  LoadFacts::Objects objects;
  objects.now_us = generator.options().now_us;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    objects.nodes.push_back(generator.node(n));
    if (generator.has_node_metric(n)) {
      objects.node_metrics.push_back(generator.node_metric(n));
    }
  }
  for (std::uint32_t p = 0; p < pods; ++p) {
    objects.pods.push_back(generator.pod(p));
  }
  return objects;
}

}  // namespace headroom
