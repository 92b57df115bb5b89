#include "simulation/input/simulation_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "objects/hash.h"
#include "objects/text/time_text.h"
#include "workloads/cluster_generator.h"
#include "workloads/openb.h"

namespace headroom {

namespace {

constexpr std::string_view kDrawnLimits =
    "Limits are drawn from the seed, by the pod's QoS class in the trace: cpu limits are 1 to 6 "
    "times the request for LS, 1 to 3 times for Burstable; memory limits 1 to 2 times for both; "
    "Guaranteed pods have their requests as limits, BE pods have none.";

}  // namespace

// Copy r of the trace begins where the last pod of copy r - 1 arrives.
SimulationInput trace_input(const TraceInputOptions& options) {
  const OpenbTrace& trace = openb_trace();
  const auto pods = static_cast<std::uint32_t>(trace.pods.size());
  SimulationInput input;
  input.title = options.repeat == 1 ? "the openb trace"
                                    : fmt::format("the openb trace, {} times", options.repeat);
  input.notes = {fmt::format("The trace has requests alone. {}", kDrawnLimits),
                 "A pod that asks for a share of a GPU is one that asks for a whole one."};
  const std::size_t nodes =
      std::min<std::size_t>(options.nodes.value_or(kSimulatedNodesMax), trace.nodes.size());
  for (std::size_t n = 0; n < nodes; ++n) input.nodes.push_back(openb_node(n));
  input.start_us = kTraceStartUs;
  input.arrivals.reserve(std::size_t{options.repeat} * pods);
  for (std::uint32_t copy = 0; copy < options.repeat; ++copy) {
    const std::int64_t begin_us =
        kTraceStartUs + copy * trace.pods.back().creation * kMicrosPerSecond;
    for (std::uint32_t p = 0; p < pods; ++p) {
      input.arrivals.push_back(
          {.time_us = begin_us + trace.pods[p].creation * kMicrosPerSecond,
           .departure_us = begin_us + trace.pods[p].deletion * kMicrosPerSecond,
           .pod = copy * pods + p});
    }
  }
  input.make_pod = [pods, seed = options.seed](std::uint32_t index) {
    Pod pod = openb_pod(index % pods, seed);
    if (const std::uint32_t copy = index / pods; copy > 0) {
      pod.name += fmt::format("-{}", copy);
      pod.uid = pod.name;
    }
    return pod;
  };
  return input;
}

void add_quotas(SimulationInput& input, const ClusterGenerator& generator) {
  const auto lists = std::tie(input.priority_classes, input.elastic_quotas,
                              input.pod_disruption_budgets, input.capacity_quotas);
  generator.visit_quotas(
      [&]<typename T>(T object) { std::get<std::vector<T>&>(lists).push_back(std::move(object)); });
}

// The pods arrive evenly over twice the median lifetime, so that about half of them overlap.
SimulationInput generated_input(const GeneratedInputOptions& options) {
  const std::uint32_t nodes = options.nodes, pods = options.pods;
  const auto generator = std::make_shared<ClusterGenerator>(ClusterGenerator::Options{
      .nodes = nodes,
      .pods = pods,
      .seed = options.seed,
      .bound_permille = 0,
      .follow_trace = true,
      .quotas = options.quotas,
  });
  SimulationInput input;
  input.title = "a generated cluster";
  input.notes = {
      fmt::format("Nodes and pods follow the openb trace, and the seed. {}", kDrawnLimits)};
  input.nodes.reserve(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) input.nodes.push_back(generator->node(n));
  add_quotas(input, *generator);
  input.start_us = generator->options().now_us;
  std::vector<std::int64_t> lifetimes(pods);
  for (std::uint32_t p = 0; p < pods; ++p) lifetimes[p] = generator->pod_lifetime_seconds(p);
  std::vector<std::int64_t> sorted = lifetimes;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const std::int64_t step_us = pods == 0 ? 0 : 2 * *middle * kMicrosPerSecond / pods;
  input.arrivals.reserve(pods);
  for (std::uint32_t p = 0; p < pods; ++p) {
    const std::int64_t time_us = input.start_us + step_us * p;
    input.arrivals.push_back(
        {.time_us = time_us, .departure_us = time_us + lifetimes[p] * kMicrosPerSecond, .pod = p});
  }
  input.make_pod = [generator](std::uint32_t index) { return generator->pod(index); };
  return input;
}

Result<SimulationInput> dump_input(std::string title, Dump cluster, Dump extra) {
  if (cluster.nodes.empty()) {
    return fail(ErrorCode::kInvalid,
                "the cluster has no Node; headroom simulate --help shows the command that makes "
                "a dump of one");
  }
  if (!extra.nodes.empty() || !extra.node_metrics.empty()) {
    return fail(ErrorCode::kInvalid,
                "the pods come with nodes or metrics; give those with the cluster");
  }
  if (!extra.elastic_quotas.empty() || !extra.pod_disruption_budgets.empty() ||
      !extra.priority_classes.empty() || !extra.capacity_quotas.empty()) {
    return fail(ErrorCode::kInvalid,
                "the pods come with quotas, budgets or priority classes; give those with the "
                "cluster");
  }

  std::unordered_set<std::string, BytesHash, std::equal_to<>> known;
  for (const Pod& pod : cluster.pods) known.insert(pod_key(pod));
  for (const Pod& pod : extra.pods) {
    if (known.contains(pod_key(pod))) {
      return fail(
          ErrorCode::kConflict,
          "pod " + pod_key(pod) + " is among the pods and in the cluster; take it out of one");
    }
  }

  SimulationInput input;
  input.title = std::move(title);
  input.warnings = std::move(cluster.warnings);
  input.warnings.insert(input.warnings.end(), extra.warnings.begin(), extra.warnings.end());
  input.start_us = newest_time_us(cluster, kTraceStartUs);
  std::vector<Pod> pods = std::exchange(cluster.pods, {});
  static_cast<ObjectLists&>(input) = std::move(cluster);
  // Pods may bring their controllers and claims along; of one name the later one counts.
  std::move(extra.referred_objects.begin(), extra.referred_objects.end(),
            std::back_inserter(input.referred_objects));
  auto pending = std::make_shared<std::vector<Pod>>();
  for (Pod& pod : pods) {
    if (pod.node_name.empty() && !pod.terminal()) {
      pending->push_back(std::move(pod));
    } else {
      input.pods.push_back(std::move(pod));
    }
  }
  const auto waiting = static_cast<std::ptrdiff_t>(pending->size());
  InputWarning ended{.what = "pods that have ended, which do not arrive", .first = {}};
  for (Pod& pod : extra.pods) {
    if (pod.terminal()) {
      ended.add(pod_key(pod));
      continue;
    }
    pod.node_name.clear();
    pod.nominated_node_name.clear();
    pending->push_back(std::move(pod));
  }
  if (ended.count > 0) input.warnings.push_back(std::move(ended));
  // What the cluster has not placed yet waits in order of creation; the others come when created.
  const auto created = [](const Pod& a, const Pod& b) { return a.creation_us < b.creation_us; };
  std::stable_sort(pending->begin(), pending->begin() + waiting, created);
  std::stable_sort(pending->begin() + waiting, pending->end(), created);
  for (std::uint32_t p = 0; p < pending->size(); ++p) {
    const Pod& pod = (*pending)[p];
    Arrival arrival{.time_us = input.start_us, .pod = p};
    if (p >= waiting && pod.creation_us) {
      arrival.time_us = std::max(arrival.time_us, *pod.creation_us);
    }
    if (pod.active_deadline_seconds) {
      arrival.departure_us = arrival.time_us + *pod.active_deadline_seconds * kMicrosPerSecond;
    }
    input.arrivals.push_back(arrival);
  }
  input.make_pod = [pending](std::uint32_t index) { return (*pending)[index]; };
  return input;
}

std::uint64_t pods_there(const SimulationInput& input) {
  return static_cast<std::uint64_t>(
      std::count_if(input.pods.begin(), input.pods.end(),
                    [](const Pod& pod) { return !pod.node_name.empty() && !pod.terminal(); }));
}

Result<void> load_objects(Engine& engine, const SimulationInput& input) {
  Result<void> result = engine.advance(input.start_us);
  const auto load = [&](const auto& objects, auto words) {
    for (const auto& object : objects) {
      if (!result) return;
      if (Result<void> known = engine.upsert(object); !known) {
        result = fail(known.error().code, words(object) + ": " + known.error().message);
      }
    }
  };
  const auto name = [](const char* kind) {
    return [kind](const auto& object) { return fmt::format("{} {}", kind, object.name); };
  };
  const auto key = [](const char* kind) {
    return [kind](const auto& object) {
      return fmt::format("{} {}/{}", kind, object.namespace_name, object.name);
    };
  };
  load(input.priority_classes, name("PriorityClass"));
  load(input.elastic_quotas, key("ElasticQuota"));
  load(input.pod_disruption_budgets, key("PodDisruptionBudget"));
  load(input.referred_objects, [](const ReferredObject& object) {
    return fmt::format("{} {}", to_string(kind_of(object)), key_of(object));
  });
  load(input.nodes, name("node"));
  load(input.node_metrics, name("NodeMetric"));
  return result;
}

}  // namespace headroom
