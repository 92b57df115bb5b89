// Drives an engine through the arrivals and departures, and adds up what happened.
#include "tools/simulation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

#include "objects/pod_resources.h"
#include "tools/cluster_generator.h"
#include "tools/object_writer.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

std::int64_t amount(std::string_view resource, const Quantity& quantity) {
  const Result<std::int64_t> value = resource == "cpu" ? quantity.milli_value() : quantity.value();
  return value.value_or(0);  // the engine has refused the object if it does not fit
}

// A pod's share of the sums: where it is and what it counts there.
struct Holding {
  struct Need {
    std::uint32_t resource;
    std::int64_t request, limit;
  };
  std::uint32_t node = 0;  // position in SimulationInput::nodes
  std::vector<Need> needs;
};

// The sums of requests and limits, by resource, for the cluster and for each node.
class Usage {
 public:
  explicit Usage(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      for (const auto& [name, quantity] : node.allocatable) {
        if (!quantity.is_zero()) resource_ids_.emplace(name, 0);
      }
    }
    for (auto& [name, id] : resource_ids_) {
      id = static_cast<std::uint32_t>(peaks_.size());
      peaks_.push_back({.name = name, .hottest_node = {}});
    }
    requested_.assign(peaks_.size(), 0);
    limits_.assign(peaks_.size(), 0);
    for (const Node& node : nodes) {
      node_ids_.emplace(node.name, static_cast<std::uint32_t>(node_names_.size()));
      node_names_.push_back(node.name);
      for (auto& [name, id] : resource_ids_) {
        const Quantity* quantity = find(node.allocatable, name);
        allocatable_.push_back(quantity == nullptr ? 0 : amount(name, *quantity));
        peaks_[id].allocatable += allocatable_.back();
      }
    }
    node_limits_.assign(allocatable_.size(), 0);
  }

  Holding holding(const Pod& pod, std::string_view node_name) const {
    Holding holding;
    const auto node = node_ids_.find(std::string(node_name));
    if (node == node_ids_.end()) return holding;  // bound to a node that is not in the input
    holding.node = node->second;
    const ResourceList requests = pod_requests(pod), limits = pod_limits(pod);
    for (const auto& [name, id] : resource_ids_) {
      const Quantity* request = find(requests, name);
      const Quantity* limit = find(limits, name);
      Holding::Need need{.resource = id,
                         .request = request == nullptr ? 0 : amount(name, *request),
                         .limit = limit == nullptr ? 0 : amount(name, *limit)};
      if (name == "pods") need.request = 1;
      need.limit = std::max(need.limit, need.request);
      if (need.limit > 0) holding.needs.push_back(need);
    }
    return holding;
  }

  void add(const Holding& holding) {
    for (const Holding::Need& need : holding.needs) {
      ResourceReport& peak = peaks_[need.resource];
      peak.requested = std::max(peak.requested, requested_[need.resource] += need.request);
      peak.limits = std::max(peak.limits, limits_[need.resource] += need.limit);
      const std::size_t cell = holding.node * peaks_.size() + need.resource;
      node_limits_[cell] += need.limit;
      // a / b > c / d without division; the products are far below the limits of Int128.
      if (allocatable_[cell] > 0 &&
          (peak.hottest_allocatable == 0 || Int128{node_limits_[cell]} * peak.hottest_allocatable >
                                                Int128{peak.hottest_limits} * allocatable_[cell])) {
        peak.hottest_limits = node_limits_[cell];
        peak.hottest_allocatable = allocatable_[cell];
        peak.hottest_node = node_names_[holding.node];
      }
    }
  }
  void remove(const Holding& holding) {
    for (const Holding::Need& need : holding.needs) {
      requested_[need.resource] -= need.request;
      limits_[need.resource] -= need.limit;
      node_limits_[holding.node * peaks_.size() + need.resource] -= need.limit;
    }
  }

  // Resources that some pod asked for.
  std::vector<ResourceReport> peaks() const {
    std::vector<ResourceReport> used;
    for (const ResourceReport& peak : peaks_) {
      if (peak.limits > 0) used.push_back(peak);
    }
    return used;
  }

 private:
  std::map<std::string, std::uint32_t> resource_ids_;
  std::unordered_map<std::string, std::uint32_t> node_ids_;
  std::vector<std::string> node_names_;
  std::vector<ResourceReport> peaks_;                    // by resource
  std::vector<std::int64_t> requested_, limits_;         // by resource, now
  std::vector<std::int64_t> allocatable_, node_limits_;  // [node * resources + resource], now
};

// A pod on a node: what to take back when it leaves.
struct Resident {
  std::string namespace_name, name;
  Holding holding;
};

class Failures {
 public:
  void add(const Decision& decision) {
    if (decision.reasons.empty()) {
      ++reports_[to_string(decision.code)].pods_mainly;
      return;
    }
    const ReasonCount* main = &decision.reasons.front();
    for (const ReasonCount& reason : decision.reasons) {
      ++reports_[std::string(reason.reason)].pods_also;
      if (reason.nodes > main->nodes) main = &reason;
    }
    ++reports_[std::string(main->reason)].pods_mainly;
  }
  std::vector<FailureReport> sorted() const {
    std::vector<FailureReport> sorted;
    for (const auto& [reason, report] : reports_) {
      sorted.push_back(report);
      sorted.back().reason = reason;
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::pair(a.pods_mainly, a.pods_also) > std::pair(b.pods_mainly, b.pods_also);
    });
    return sorted;
  }

 private:
  std::map<std::string, FailureReport> reports_;
};

// What every node reports when metrics are simulated: the usage of the pods that are on it.
class SimulatedMetrics {
 public:
  SimulatedMetrics(const std::vector<Node>& nodes, std::int64_t every_seconds, std::uint64_t seed)
      : every_us_(every_seconds * kMicrosPerSecond), seed_(seed) {
    for (const Node& node : nodes) {
      ids_.emplace(node.name, metrics_.size());
      NodeMetric& metric = metrics_.emplace_back();
      metric.name = node.name;
      metric.report_interval_seconds = every_seconds;
      metric.has_node_metric = true;
      metric.node_usage = {{"cpu", Quantity()}, {"memory", Quantity()}};
    }
  }

  bool due(std::int64_t now_us) const { return now_us >= next_us_; }

  // Reports are made every so often, whether a pod arrives or not; only the last one before `now`
  // can change a decision.
  std::vector<NodeMetric>& report(std::int64_t now_us) {
    const std::int64_t time_us = now_us - now_us % every_us_;
    next_us_ = time_us + every_us_;
    for (NodeMetric& metric : metrics_) metric.update_time_us = time_us;
    return metrics_;
  }

  void add(const Pod& pod, std::string_view node_name) {
    const auto found = ids_.find(std::string(node_name));
    if (found == ids_.end()) return;
    NodeMetric& metric = metrics_[found->second];
    const bool best_effort = pod.priority && *pod.priority >= 5000 && *pod.priority <= 5999;
    metric.pods.push_back({pod.namespace_name, pod.name, simulated_usage(pod, seed_),
                           best_effort ? "koord-batch" : "koord-prod"});
    change(metric, metric.pods.back().usage, 1);
  }
  void remove(const Resident& resident, std::uint32_t node) {
    NodeMetric& metric = metrics_[node];
    const auto pod = std::find_if(metric.pods.begin(), metric.pods.end(), [&](const auto& entry) {
      return entry.name == resident.name && entry.namespace_name == resident.namespace_name;
    });
    if (pod == metric.pods.end()) return;
    change(metric, pod->usage, -1);
    metric.pods.erase(pod);
  }

 private:
  static void change(NodeMetric& metric, const ResourceList& usage, int sign) {
    for (auto& [name, total] : metric.node_usage) {
      if (const Quantity* part = find(usage, name)) {
        total += Quantity::from_nanos(sign * part->nanos());
      }
    }
  }

  const std::int64_t every_us_;
  const std::uint64_t seed_;
  std::int64_t next_us_ = std::numeric_limits<std::int64_t>::min();
  std::vector<NodeMetric> metrics_;  // by position in SimulationInput::nodes
  std::unordered_map<std::string, std::size_t> ids_;
};

std::string decision_line(const Engine& engine, const Pod& pod, std::int64_t time_us,
                          const Decision& decision) {
  ordered_json line;
  line["pod"] = pod.namespace_name + '/' + pod.name;
  std::string time;
  append_time(time, time_us);
  line["time"] = time;
  if (!decision.candidates.empty()) {
    const NodeScore& best = decision.candidates.front();
    line["node"] = engine.node_name(best.node);
    line["total"] = best.total;
    ordered_json scores = ordered_json::object();
    for (const PluginScore& score : best.plugins) scores[to_string(score.plugin)] = score.score;
    line["scores"] = std::move(scores);
  } else {
    line["node"] = nullptr;
    ordered_json reasons = ordered_json::object();
    for (const ReasonCount& reason : decision.reasons) reasons[reason.reason] = reason.nodes;
    line["reasons"] = std::move(reasons);
    line["message"] = decision.message();
  }
  line["feasible"] = decision.feasible;
  line["nodes"] = decision.nodes;
  return line.dump() + '\n';
}

Error in_pod(const Pod& pod, const Error& error) {
  return {error.code, "pod " + pod.namespace_name + '/' + pod.name + ": " + error.message};
}

class Simulation {
 public:
  Simulation(const SimulationInput& input, const SimulationOptions& options, Engine engine)
      : input_(input), options_(options), engine_(std::move(engine)), usage_(input.nodes) {
    if (options_.metrics_every_seconds) {
      metrics_.emplace(input.nodes, *options_.metrics_every_seconds, options_.seed);
    }
  }

  Result<SimulationReport> run() {
    if (Result<void> loaded = load(); !loaded) return tl::unexpected(loaded.error());
    latencies_ns_.reserve(input_.arrivals.size());
    for (const Arrival& arrival : input_.arrivals) {
      Result<void> arrived = arrive(arrival);
      if (!arrived) return tl::unexpected(arrived.error());
      if (options_.on_progress) options_.on_progress(latencies_ns_.size());
    }
    report_.stats = engine_.stats();
    if (options_.validate) {
      if (Result<void> valid = engine_.validate(); !valid) return tl::unexpected(valid.error());
    }
    report_.failures = failures_.sorted();
    report_.resources = usage_.peaks();
    std::sort(latencies_ns_.begin(), latencies_ns_.end());
    report_.speed.latencies_ns = std::move(latencies_ns_);
    report_.speed.seconds = std::chrono::duration<double>(busy_).count();
    return std::move(report_);
  }

 private:
  struct Departure {
    std::int64_t time_us;
    std::uint32_t resident;
    // std::priority_queue has the greatest on top; the earliest departure is to be there.
    bool operator<(const Departure& other) const {
      return std::pair(time_us, resident) > std::pair(other.time_us, other.resident);
    }
  };

  Result<void> load() {
    const auto checked = [](Result<void> result, const char* kind, const std::string& name) {
      if (result) return result;
      return Result<void>(fail(result.error().code,
                               std::string(kind) + ' ' + name + ": " + result.error().message));
    };
    Result<void> result = engine_.advance(input_.start_us);
    for (const Node& node : input_.nodes) {
      if (result) result = checked(engine_.upsert(node), "node", node.name);
    }
    for (const NodeMetric& metric : input_.node_metrics) {
      if (result) result = checked(engine_.upsert(metric), "NodeMetric", metric.name);
    }
    for (const Pod& pod : input_.present_pods) {
      if (result) {
        result = checked(engine_.upsert(pod), "pod", pod.namespace_name + '/' + pod.name);
      }
      if (!result) break;
      if (pod.node_name.empty() || pod.terminal()) continue;
      std::int64_t departure_us = kNeverUs;
      if (pod.creation_us && pod.active_deadline_seconds) {
        departure_us = *pod.creation_us + *pod.active_deadline_seconds * kMicrosPerSecond;
      }
      settle(pod, pod.node_name, departure_us);
    }
    return result;
  }

  Result<void> arrive(const Arrival& arrival) {
    const std::int64_t now_us = std::max(arrival.time_us, input_.start_us);
    while (!departures_.empty() && departures_.top().time_us <= now_us) depart();
    if (Result<void> moved = move_clock(now_us); !moved) return moved;
    const Pod pod = input_.make_pod(arrival.pod);

    const Clock::time_point begin = Clock::now();
    Result<Decision> decision = engine_.evaluate(
        pod, {.top_k = 1, .plugin_scores = static_cast<bool>(options_.on_decision)});
    if (!decision) return tl::unexpected(in_pod(pod, decision.error()));
    std::string_view node_name;
    if (!decision->candidates.empty()) {
      node_name = engine_.node_name(decision->candidates.front().node);
      Result<void> assumed = engine_.assume(pod, node_name);
      if (!assumed) return tl::unexpected(in_pod(pod, assumed.error()));
    }
    const Clock::duration latency = Clock::now() - begin;
    busy_ += latency;
    latencies_ns_.push_back(std::chrono::nanoseconds(latency).count());

    if (options_.on_decision) {
      options_.on_decision(decision_line(engine_, pod, now_us, *decision));
    }
    if (node_name.empty()) {
      ++report_.failed;
      failures_.add(*decision);
    } else {
      ++report_.placed;
      settle(pod, node_name, arrival.departure_us);
    }
    return {};
  }

  Result<void> move_clock(std::int64_t now_us) {
    const Clock::time_point begin = Clock::now();
    Result<void> result = engine_.advance(now_us);
    if (result && metrics_ && metrics_->due(now_us)) {
      for (const NodeMetric& metric : metrics_->report(now_us)) {
        if (result) result = engine_.upsert(metric);
        ++report_.metric_reports;
      }
    }
    busy_ += Clock::now() - begin;
    return result;
  }

  // Counts a pod where it now is.
  void settle(const Pod& pod, std::string_view node_name, std::int64_t departure_us) {
    Holding holding = usage_.holding(pod, node_name);
    usage_.add(holding);
    if (metrics_) metrics_->add(pod, node_name);
    if (!options_.departures || departure_us == kNeverUs) return;
    std::uint32_t slot;
    if (free_slots_.empty()) {
      slot = static_cast<std::uint32_t>(residents_.size());
      residents_.emplace_back();
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
    residents_[slot] = {pod.namespace_name, pod.name, std::move(holding)};
    departures_.push({departure_us, slot});
  }

  void depart() {
    const std::uint32_t slot = departures_.top().resident;
    departures_.pop();
    const Resident& resident = residents_[slot];
    const Clock::time_point begin = Clock::now();
    engine_.remove_pod(resident.namespace_name, resident.name);
    busy_ += Clock::now() - begin;
    usage_.remove(resident.holding);
    if (metrics_) metrics_->remove(resident, resident.holding.node);
    free_slots_.push_back(slot);
    ++report_.departed;
  }

  const SimulationInput& input_;
  const SimulationOptions& options_;
  Engine engine_;
  Usage usage_;
  Failures failures_;
  std::optional<SimulatedMetrics> metrics_;
  std::vector<Resident> residents_;
  std::vector<std::uint32_t> free_slots_;
  std::priority_queue<Departure> departures_;
  std::vector<std::int64_t> latencies_ns_;
  Clock::duration busy_{};
  SimulationReport report_;
};

}  // namespace

double SpeedReport::latency_us(std::uint32_t permille) const {
  if (latencies_ns.empty()) return 0;
  const std::size_t rank = (latencies_ns.size() * permille + 999) / 1000;
  return static_cast<double>(latencies_ns[std::max<std::size_t>(rank, 1) - 1]) / 1000;
}

Result<SimulationReport> simulate(const SimulationInput& input, const SimulationOptions& options) {
  Result<Engine> engine = Engine::create(options.profile, options.engine);
  if (!engine) return tl::unexpected(engine.error());
  return Simulation(input, options, std::move(*engine)).run();
}

}  // namespace headroom
