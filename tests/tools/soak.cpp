// A soak of headroomd: a cluster lives on it. Pods come, are placed, are bound and go; metrics
// change; the feeder resyncs, with a clock that jumps a day ahead and back; the daemon is killed.
// All the while an own account says that no node was given more than it has, and after every resync
// the digest is that of an engine in process. Afterwards, without kills, resident memory stays
// within 2 % of what it was when warm.
//
//   soak SECONDS [SEED]
//
// Prints its seed, and what it did.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "client/feeder.h"
#include "engine/engine.h"
#include "tests/support/draws.h"
#include "tests/support/must.h"
#include "tools/load/daemon_process.h"
#include "workloads/temporary_directory.h"

namespace headroom {
namespace {

constexpr std::uint32_t kNodes = 2000;
constexpr std::uint32_t kArrivals = 400;    // pods a round
constexpr std::uint32_t kLifetime = 40;     // rounds
constexpr std::uint32_t kMetrics = 200;     // reports a round
constexpr std::uint32_t kResyncEvery = 25;  // rounds
constexpr std::uint32_t kKills = 3;
constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr double kGrowthMax = 0.02;
// What the pages of a warm daemon vary by: a short soak compares two periods alone.
constexpr std::size_t kPagesVaryBytes = 2 << 20;
constexpr int kShortSeconds = 60;

Quantity quantity(const std::string& text) { return must(Quantity::parse(text)); }

// What pods take and nodes have, by our own account.
struct Account {
  std::int64_t cpu_milli = 0, memory_mib = 0, pods = 0;
};

class Soak {
 public:
  Soak(std::string program, std::uint64_t seed)
      : program_(std::move(program)),
        draws_(seed),
        directory_(must(TemporaryDirectory::make("headroom-soak"))),
        endpoint_(must(Endpoint::parse("unix://" + directory_.path() + "/s"))) {
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      Node node;
      node.name = fmt::format("node-{:05}", n);
      node.labels = {{"kubernetes.io/hostname", node.name}, {"zone", fmt::format("z{}", n % 3)}};
      node.allocatable = {
          {"cpu", quantity("16")}, {"memory", quantity("64Gi")}, {"pods", quantity("110")}};
      node.capacity = node.allocatable;
      nodes_.push_back(std::move(node));
    }
    used_.resize(kNodes);
    metrics_.resize(kNodes);
    start();
    feeder_ = std::make_unique<Feeder>(
        endpoint_,
        Feeder::Options{
            .client = {.name = "soak-feeder", .socket = {}},
            .clock = [this] { return now_us_; },
            .on_refused = [](const Error& error) { throw std::runtime_error(error.message); }},
        [this](const Feeder::Emit& emit) {
          for (const Node& node : nodes_) emit(node);
          for (const auto& metric : metrics_) {
            if (metric) emit(*metric);
          }
          for (const auto& [key, pod] : pods_) emit(pod);
        });
    resync();
  }

  void round() {
    ++rounds_;
    now_us_ += 1'000'000;
    leave();
    report_usage();
    const std::vector<std::string> arrived = arrive();
    schedule(arrived);
    if (rounds_ % kResyncEvery == 0) {
      // A day ahead, and back with the next one.
      now_us_ += ahead_ ? -kDayUs : kDayUs;
      ahead_ = !ahead_;
      resync();
    }
  }

  void kill() {
    daemon_->signal(SIGKILL);
    daemon_->wait();
    daemon_.reset();
    start();
    resync();
    ++kills_;
  }

  // As the loader sees it; sampled where the cluster is as it was at the last sample.
  std::size_t resident_bytes() const {
    std::ifstream status(fmt::format("/proc/{}/status", daemon_->pid()));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
    }
    throw std::runtime_error("no VmRSS");
  }

  std::string done() const {
    return fmt::format("{} rounds, {} pods placed, {} that found no node, {} resyncs, {} kills",
                       rounds_, placed_, unplaced_, resyncs_, kills_);
  }

 private:
  void start() {
    daemon_ = must(DaemonProcess::start(program_,
                                        {"--listen", endpoint_.text(), "--metrics", "none",
                                         "--log-level", "error", "--cache-mib", "64"},
                                        endpoint_));
    client_ = must(Client::connect(endpoint_, {.name = "soak-scheduler", .socket = {}}));
  }

  // The facts from the beginning, then the same in process.
  void resync() {
    must(feeder_->resync());
    const auto stats = feeder_->barrier(true, true);
    if (!stats) throw std::runtime_error(stats.error().message);
    Engine engine = must(Engine::create(Profile::standard()));
    must(engine.advance(now_us_));
    for (const Node& node : nodes_) must(engine.upsert(node));
    for (const auto& metric : metrics_) {
      if (metric) must(engine.upsert(*metric));
    }
    for (const auto& [key, pod] : pods_) must(engine.upsert(pod));
    if (!stats->invalid.empty()) throw std::runtime_error(stats->invalid);
    if (stats->digest != engine.digest()) throw std::runtime_error("digests differ after a resync");
    if (stats->reserved_pods != 0)
      throw std::runtime_error("a reservation outlived its pod's binding");
    ++resyncs_;
  }

  Account need_of(const Pod& pod) const {
    const ResourceList& requests = pod.containers.front().requests;
    return {*find(requests, "cpu")->milli_value(), *find(requests, "memory")->value() >> 20, 1};
  }
  void count(const Pod& pod, std::int64_t sign) {
    Account& account =
        used_[static_cast<std::size_t>(std::strtoul(pod.node_name.c_str() + 5, nullptr, 10))];
    const Account need = need_of(pod);
    account.cpu_milli += sign * need.cpu_milli;
    account.memory_mib += sign * need.memory_mib;
    account.pods += sign * need.pods;
    if (account.cpu_milli > 16'000 || account.memory_mib > 64 << 10 || account.pods > 110) {
      throw std::runtime_error(pod.node_name + " was given more than it has");
    }
  }

  void leave() {
    while (!generations_.empty() && generations_.size() >= kLifetime) {
      for (const std::string& key : generations_.front()) {
        const auto found = pods_.find(key);
        if (!found->second.node_name.empty()) count(found->second, -1);
        must(feeder_->remove_pod(found->second.namespace_name, found->second.name));
        pods_.erase(found);
      }
      generations_.pop_front();
    }
  }

  void report_usage() {
    for (std::uint32_t m = 0; m < kMetrics; ++m) {
      const std::size_t n = draws_.below(kNodes);
      NodeMetric metric;
      metric.name = nodes_[n].name;
      metric.report_interval_seconds = 60;
      metric.update_time_us = now_us_;
      metric.has_node_metric = true;
      metric.node_usage = {{"cpu", quantity(fmt::format("{}m", draws_.below(9'000)))},
                           {"memory", quantity(fmt::format("{}Mi", draws_.below(40'000)))}};
      must(feeder_->upsert(metric));
      metrics_[n] = std::move(metric);
    }
  }

  std::vector<std::string> arrive() {
    std::vector<std::string> keys;
    for (std::uint32_t a = 0; a < kArrivals; ++a) {
      Pod pod;
      pod.namespace_name = fmt::format("team-{}", draws_.below(20));
      pod.name = fmt::format("pod-{}", ++names_);
      pod.uid = fmt::format("uid-{}", names_);
      // One in fifty has a shape that nobody else has.
      const std::uint64_t milli =
          draws_.one_in(50) ? 100 + draws_.below(10'000) : 100 * (1 + draws_.below(20));
      Container container;
      container.name = "main";
      container.requests = {
          {"cpu", quantity(fmt::format("{}m", milli))},
          {"memory", quantity(fmt::format("{}Mi", 128 * (1 + draws_.below(16))))}};
      container.limits = container.requests;
      pod.containers.push_back(std::move(container));
      must(feeder_->upsert(pod));
      keys.push_back(pod_key(pod.namespace_name, pod.name));
      pods_.emplace(keys.back(), std::move(pod));
    }
    generations_.push_back(keys);
    must(feeder_->flush());
    if (const auto applied = feeder_->barrier(); !applied)
      throw std::runtime_error(applied.error().message);
    return keys;
  }

  // Half of them in batches, half one by one; then they are bound, as a kubelet's watch would tell.
  void schedule(const std::vector<std::string>& keys) {
    const std::size_t half = keys.size() / 2;
    std::vector<PodRef> refs;
    for (std::size_t k = 0; k < half; ++k) refs.push_back(PodRef::by_uid(pods_.at(keys[k]).uid));
    const auto placed = client_->place(refs, false);
    if (!placed) throw std::runtime_error(placed.error().message);
    for (std::size_t k = 0; k < half; ++k) {
      bind(pods_.at(keys[k]), placed->node_names[k]);
    }
    for (std::size_t k = half; k < keys.size(); ++k) {
      Pod& pod = pods_.at(keys[k]);
      const auto evaluated = client_->evaluate(PodRef::by_uid(pod.uid));
      if (!evaluated) throw std::runtime_error(evaluated.error().message);
      const answers::Decision& decision = evaluated->decisions[0];
      const std::string node =
          decision.candidates.empty() ? std::string() : decision.candidates[0].node_name;
      if (!node.empty()) {
        const auto reserved = client_->reserve(PodRef::by_uid(pod.uid), node);
        if (!reserved) throw std::runtime_error(reserved.error().message);
      }
      bind(pod, node);
    }
    must(feeder_->flush());
  }

  void bind(Pod& pod, const std::string& node_name) {
    if (node_name.empty()) {
      ++unplaced_;
      return;
    }
    ++placed_;
    pod.node_name = node_name;
    count(pod, 1);
    must(feeder_->upsert(pod));
  }

  const std::string program_;
  Draws draws_;
  const TemporaryDirectory directory_;
  const Endpoint endpoint_;
  std::optional<DaemonProcess> daemon_;
  std::optional<Client> client_;
  std::unique_ptr<Feeder> feeder_;
  std::vector<Node> nodes_;
  std::vector<std::optional<NodeMetric>> metrics_;
  std::vector<Account> used_;
  std::map<std::string, Pod> pods_;                   // by key
  std::deque<std::vector<std::string>> generations_;  // keys of the pods of the last rounds
  std::int64_t now_us_ = 1'767'225'600'000'000;
  bool ahead_ = false;
  std::uint64_t rounds_ = 0, names_ = 0, placed_ = 0, unplaced_ = 0, resyncs_ = 0, kills_ = 0;
};

int run(int seconds, std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  fmt::print("HEADROOM_SEED={}\n", seed);
  Soak soak(headroomd_beside_this_program(), seed);
  const auto start = Clock::now();
  const auto past = [&](double share) {
    return std::chrono::duration<double>(Clock::now() - start).count() > share * seconds;
  };
  for (std::uint32_t k = 0; k < kKills; ++k) {
    for (std::uint32_t r = 0; r < kResyncEvery + 3 || !past(0.1 * (k + 1)); ++r) soak.round();
    soak.kill();
  }
  // Warm: the cluster is full, both clocks were seen, both clusters of a resync were there. The
  // highest of a whole period, since a resync takes and gives back.
  const auto highest = [&] {
    std::size_t bytes = 0;
    for (std::uint32_t r = 0; r < 2 * kResyncEvery; ++r) {
      soak.round();
      bytes = std::max(bytes, soak.resident_bytes());
    }
    return bytes;
  };
  std::uint32_t periods = 0;
  do {
    highest();
  } while (++periods < 2 || !past(0.6));
  const std::size_t before = highest();
  do {
    highest();
  } while (!past(0.9));
  const std::size_t after = highest();
  fmt::print("{}\nresident memory: {} KiB warm, {} KiB at the end ({:+.2f} %)\n", soak.done(),
             before >> 10, after >> 10,
             100.0 * (static_cast<double>(after) - static_cast<double>(before)) /
                 static_cast<double>(before));
  const std::size_t varies = seconds < kShortSeconds ? kPagesVaryBytes : 0;
  if (static_cast<double>(after) >
      static_cast<double>(before) * (1 + kGrowthMax) + static_cast<double>(varies)) {
    fmt::print("resident memory grew by more than {} % and {} KiB\n", 100 * kGrowthMax,
               varies >> 10);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 0;
  if (seconds < 1 || argc > 3) {
    fmt::print(stderr, "usage: soak SECONDS [SEED]\n");
    return 2;
  }
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10)
                                      : static_cast<std::uint64_t>(std::time(nullptr));
  try {
    return headroom::run(seconds, seed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}\n", error.what());
    return 1;
  }
}
