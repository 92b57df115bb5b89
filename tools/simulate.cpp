// Reads the input of a simulation and runs it.
#include "tools/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <unordered_set>

#include "engine/profile_reader.h"
#include "tools/cluster_generator.h"
#include "tools/command_line.h"
#include "tools/dump.h"
#include "tools/exit_code.h"
#include "tools/openb.h"
#include "tools/progress.h"
#include "tools/simulation_report.h"
#include "tools/table.h"
#include "tools/text_output.h"

namespace headroom {
namespace {

constexpr std::uint32_t kSimulatedNodesMax = 1'000'000;
constexpr std::uint32_t kSimulatedPodsMax = 50'000'000;
constexpr std::uint32_t kRepeatMax = 1000;
constexpr std::uint32_t kPodsPerGeneratedNode = 4;
constexpr std::uint32_t kSimulatedQuotasMax = 10'000;
constexpr std::int64_t kProvisionSecondsMax = 86'400;

struct SimulateOptions {
  std::vector<std::string> cluster_files;
  std::vector<std::string> pods;  // files with --cluster, a number with --nodes
  std::optional<std::uint32_t> nodes;
  std::uint32_t repeat = 1;
  std::uint64_t seed = 1;
  bool random_ties = false, no_departures = false, no_cache = false, validate = false;
  bool json = false;
  std::int32_t threads = 1;
  std::optional<std::int64_t> metrics_every_seconds;
  std::string config, out;
  bool preemption = false, no_preemption = false;
  std::uint32_t quotas = 0;
  std::vector<std::string> template_files, capacity_quota_files;
  std::int64_t provision_seconds = 60;
  std::optional<std::uint32_t> start_nodes;
};

// --- The three inputs. -------------------------------------------------------------------------

// Copy r of the trace begins where the last pod of copy r - 1 arrives.
SimulationInput trace_input(const SimulateOptions& options) {
  const OpenbTrace& trace = openb_trace();
  const auto pods = static_cast<std::uint32_t>(trace.pods.size());
  SimulationInput input;
  input.title = options.repeat == 1 ? "the openb trace"
                                    : fmt::format("the openb trace, {} times", options.repeat);
  const std::size_t nodes =
      std::min<std::size_t>(options.start_nodes.value_or(kSimulatedNodesMax), trace.nodes.size());
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

// The pods arrive evenly over twice the median lifetime, so that about half of them overlap.
Result<SimulationInput> generated_input(const SimulateOptions& options) {
  const std::uint32_t nodes = *options.nodes;
  std::uint32_t pods = nodes * kPodsPerGeneratedNode;
  if (!options.pods.empty()) {
    const std::string& text = options.pods.front();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pods);
    if (options.pods.size() > 1 || error != std::errc() || end != text.data() + text.size() ||
        pods > kSimulatedPodsMax) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("--pods {}: with --nodes it takes one number, at most {}",
                              fmt::join(options.pods, " "), kSimulatedPodsMax));
    }
  }
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
  input.nodes.reserve(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) input.nodes.push_back(generator->node(n));
  for (std::uint32_t c = 0; c < generator->priority_class_count(); ++c) {
    input.priority_classes.push_back(generator->priority_class(c));
  }
  for (std::uint32_t q = 0; q < generator->quota_count(); ++q) {
    input.elastic_quotas.push_back(generator->elastic_quota(q));
  }
  for (std::uint32_t b = 0; b < generator->budget_count(); ++b) {
    input.pod_disruption_budgets.push_back(generator->budget(b));
  }
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

Result<SimulationInput> dump_input(const SimulateOptions& options) {
  Result<Dump> cluster = read_dump(options.cluster_files);
  if (!cluster) return tl::unexpected(cluster.error());
  Result<Dump> extra = read_dump(options.pods);
  if (!extra) return tl::unexpected(extra.error());
  report_other_kinds(*cluster, "simulate");
  report_other_kinds(*extra, "simulate");
  if (cluster->nodes.empty()) {
    return fail(ErrorCode::kInvalid,
                "the --cluster files have no Node; make one with: kubectl get "
                "nodes,pods,nodemetrics -A -o json > cluster.json");
  }
  if (!extra->nodes.empty() || !extra->node_metrics.empty()) {
    return fail(ErrorCode::kInvalid,
                "the --pods files have nodes or metrics; give those with --cluster");
  }
  if (!extra->elastic_quotas.empty() || !extra->pod_disruption_budgets.empty() ||
      !extra->priority_classes.empty() || !extra->capacity_quotas.empty()) {
    return fail(ErrorCode::kInvalid,
                "the --pods files have quotas, budgets or priority classes; give those with "
                "--cluster");
  }

  std::unordered_set<std::string> known;
  for (const Pod& pod : cluster->pods) known.insert(full_name(pod));
  for (const Pod& pod : extra->pods) {
    if (known.contains(full_name(pod))) {
      return fail(ErrorCode::kConflict, "pod " + full_name(pod) +
                                            " is in the --pods files and in the --cluster files;"
                                            " take it out of one");
    }
  }

  SimulationInput input;
  for (const std::string& path : options.cluster_files) {
    if (!input.title.empty()) input.title += ", ";
    input.title += path == "-" ? "standard input" : path;
  }
  input.start_us = newest_time_us(*cluster, kTraceStartUs);
  input.nodes = std::move(cluster->nodes);
  input.node_metrics = std::move(cluster->node_metrics);
  input.elastic_quotas = std::move(cluster->elastic_quotas);
  input.pod_disruption_budgets = std::move(cluster->pod_disruption_budgets);
  input.priority_classes = std::move(cluster->priority_classes);
  input.capacity_quotas = std::move(cluster->capacity_quotas);
  auto pending = std::make_shared<std::vector<Pod>>();
  for (Pod& pod : cluster->pods) {
    if (pod.node_name.empty() && !pod.terminal()) {
      pending->push_back(std::move(pod));
    } else {
      input.present_pods.push_back(std::move(pod));
    }
  }
  const auto waiting = static_cast<std::ptrdiff_t>(pending->size());
  for (Pod& pod : extra->pods) {
    if (pod.terminal()) continue;
    pod.node_name.clear();
    pending->push_back(std::move(pod));
  }
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

Result<SimulationInput> make_input(const SimulateOptions& options) {
  if (!options.cluster_files.empty()) return dump_input(options);
  if (options.nodes) return generated_input(options);
  if (!options.pods.empty()) {
    return fail(ErrorCode::kInvalid,
                "--pods needs a cluster: give --cluster FILE with it, or --nodes NUMBER");
  }
  return trace_input(options);
}

// --- The autoscaler. ---------------------------------------------------------------------------

Result<AutoscalerOptions> read_autoscaler(const SimulateOptions& options) {
  Result<Dump> templates = read_dump(options.template_files);
  if (!templates) return tl::unexpected(templates.error());
  report_other_kinds(*templates, "simulate");
  if (templates->nodes.empty()) {
    return fail(ErrorCode::kInvalid, "the --autoscale files have no Node to take as a template");
  }
  if (!templates->pods.empty() || !templates->node_metrics.empty()) {
    return fail(ErrorCode::kInvalid,
                "the --autoscale files have pods or metrics; a template is a Node");
  }
  Result<Dump> quotas = read_dump(options.capacity_quota_files);
  if (!quotas) return tl::unexpected(quotas.error());
  report_other_kinds(*quotas, "simulate");
  if (!options.capacity_quota_files.empty() && quotas->capacity_quotas.empty()) {
    return fail(ErrorCode::kInvalid, "the --capacity-quotas files have no CapacityQuota");
  }
  if (!quotas->nodes.empty() || !quotas->pods.empty()) {
    return fail(ErrorCode::kInvalid,
                "the --capacity-quotas files have nodes or pods; give those with --cluster");
  }
  AutoscalerOptions autoscaler;
  autoscaler.templates = std::move(templates->nodes);
  autoscaler.quotas = std::move(templates->capacity_quotas);
  for (CapacityQuota& quota : quotas->capacity_quotas) {
    autoscaler.quotas.push_back(std::move(quota));
  }
  autoscaler.provision_us = options.provision_seconds * kMicrosPerSecond;
  return autoscaler;
}

// Capacity quotas count what nodes have, not what they let pods have.
void report_nodes_without_capacity(const std::vector<Node>& nodes) {
  const auto count = std::count_if(nodes.begin(), nodes.end(),
                                   [](const Node& node) { return node.capacity.empty(); });
  if (count > 0) {
    fmt::print(stderr,
               "headroom simulate: {} nodes have no status.capacity; capacity quotas count only "
               "the nodes themselves\n",
               grouped(count));
  }
}

// --- The command. ------------------------------------------------------------------------------

// The exit code.
Result<int> run(const SimulateOptions& options) {
  SimulationOptions simulation;
  if (!options.config.empty()) {
    Result<Profile> profile = read_profile_file(options.config);
    if (!profile) return tl::unexpected(profile.error());
    simulation.profile = std::move(*profile);
  }
  simulation.engine.shape_cache = !options.no_cache;
  simulation.engine.threads = options.threads;
  if (options.random_ties) simulation.engine.seed = options.seed;
  simulation.seed = options.seed;
  simulation.departures = !options.no_departures;
  simulation.metrics_every_seconds = options.metrics_every_seconds;
  simulation.validate = options.validate;
  if (options.preemption) simulation.preemption = true;
  if (options.no_preemption) simulation.preemption = false;

  if (!options.template_files.empty()) {
    Result<AutoscalerOptions> autoscaler = read_autoscaler(options);
    if (!autoscaler) return tl::unexpected(autoscaler.error());
    simulation.autoscaler = std::move(*autoscaler);
  }

  Result<SimulationInput> input = make_input(options);
  if (!input) return tl::unexpected(input.error());
  if (simulation.autoscaler) report_nodes_without_capacity(input->nodes);

  std::optional<TextOutput> out;
  if (!options.out.empty()) {
    Result<TextOutput> opened = TextOutput::open(options.out);
    if (!opened) return tl::unexpected(opened.error());
    out.emplace(std::move(*opened));
    simulation.on_decision = [&out](const std::string& line) {
      out->text() += line;
      out->write_full();
    };
  }
  std::optional<ProgressBar> progress(std::in_place, "placing pods", input->arrivals.size());
  simulation.on_progress = [&progress](std::uint64_t done) { progress->update(done); };
  Result<SimulationReport> report = simulate(*input, simulation);
  progress.reset();
  if (!report) return tl::unexpected(report.error());
  if (out) {
    if (Result<void> closed = out->close(); !closed) return tl::unexpected(closed.error());
  }
  std::FILE* const report_file = options.out == "-" ? stderr : stdout;
  if (options.json) {
    fmt::print(report_file, "{}\n", json_report(*input, options.seed, *report));
  } else {
    print_report(report_file, *input, options.seed, *report);
  }
  return report->violations.empty() ? kExitSuccess : kExitFailures;
}

}  // namespace

void add_simulate_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Place the pods of a trace, a dump or a generated cluster, in arrival order");
  CLI::Option* cluster =
      command
          ->add_option("--cluster", options->cluster_files,
                       "What kubectl printed (JSON or YAML; - is standard input): pods that have a "
                       "node stay there, pending ones are placed")
          ->type_name("FILE");
  CLI::Option* nodes =
      command->add_option("--nodes", options->nodes, "Generate a cluster of so many nodes")
          ->type_name("NUMBER")
          ->check(between(1u, kSimulatedNodesMax))
          ->excludes(cluster);
  command
      ->add_option("--pods", options->pods,
                   "With --cluster, files of more pods, each placed anew when it was "
                   "created; with "
                   "--nodes, how many pods to place (default: 4 for each node)")
      ->type_name("FILE|NUMBER");
  command
      ->add_option("--quotas", options->quotas,
                   "With --nodes, namespaces with an ElasticQuota each, budgets and priorities")
      ->type_name("NUMBER")
      ->check(between(0u, kSimulatedQuotasMax))
      ->needs(nodes)
      ->capture_default_str();
  command
      ->add_option("--repeat", options->repeat, "Play the trace so many times, one after another")
      ->type_name("NUMBER")
      ->check(between(1u, kRepeatMax))
      ->excludes(cluster)
      ->excludes(nodes)
      ->capture_default_str();
  command
      ->add_option("--config", options->config,
                   "KubeSchedulerConfiguration (YAML); default: LimitAware, LoadAwareScheduling, "
                   "NodeResourcesFit, NodeResourcesBalancedAllocation")
      ->type_name("FILE");
  command->add_option("--seed", options->seed, "What the input lacks is drawn from it")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_flag("--random-ties", options->random_ties,
                    "Break ties in an order drawn from the seed, not by the lowest row");
  CLI::Option* preemption = command->add_flag(
      "--preemption", options->preemption,
      "Pods without a place take that of others, and pods that arrive together are placed by "
      "priority, although the input has neither ElasticQuota nor PriorityClass");
  command->add_flag("--no-preemption", options->no_preemption, "Nobody has to go for another pod")
      ->excludes(preemption);
  CLI::Option* autoscale =
      command
          ->add_option("--autoscale", options->template_files,
                       "Nodes to take as templates, the preferred first: pods that find no place "
                       "wait, and such nodes are added for them")
          ->type_name("FILE");
  command
      ->add_option("--capacity-quotas", options->capacity_quota_files,
                   "CapacityQuotas that limit what is added, besides those in the --autoscale and "
                   "--cluster files")
      ->type_name("FILE")
      ->needs(autoscale);
  command
      ->add_option("--provision-seconds", options->provision_seconds,
                   "How long a node takes to come")
      ->check(between(std::int64_t{1}, kProvisionSecondsMax))
      ->type_name("SECONDS")
      ->needs(autoscale)
      ->capture_default_str();
  command
      ->add_option("--start-nodes", options->start_nodes,
                   "With --autoscale, begin with so many nodes of the trace (default: all)")
      ->check(between(0u, kSimulatedNodesMax))
      ->type_name("NUMBER")
      ->needs(autoscale)
      ->excludes(cluster)
      ->excludes(nodes);
  command->add_flag("--no-departures", options->no_departures, "No pod ever leaves");
  command
      ->add_option("--metrics-every", options->metrics_every_seconds,
                   "Every node reports the usage of its pods so often (default: never)")
      ->check(between(std::int64_t{1}, std::int64_t{86'400}))
      ->type_name("SECONDS");
  command
      ->add_option("--out", options->out,
                   "Write each decision as a line of JSON; -: to standard output, the report to "
                   "standard error")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->add_option("--threads", options->threads, "Threads inside a decision; 0: all cores")
      ->type_name("NUMBER")
      ->check(between(0, 1024))
      ->capture_default_str();
  command->add_flag("--no-cache", options->no_cache,
                    "Evaluate every node for every pod; no answer changes");
  command->add_flag("--validate", options->validate,
                    "Recompute every sum of the engine at the end and compare; check the rules "
                    "of quotas and of the autoscaler at every moment");
  command->footer(
      R"(Without --cluster and --nodes it plays the openb trace: 8,152 pods on 1,523 nodes of a real
GPU cluster. Each pod is placed on its best node when it arrives and leaves when its time ends: at
the trace's deletion time, or, for Kubernetes pods, activeDeadlineSeconds after it arrived. A pod
that fits nowhere is counted as failed and not tried again. Pods of a generated cluster arrive
evenly over twice the median lifetime, so that about half of them overlap.

Where the input has elastic quotas or priority classes, a pod that finds no place asks who must go so
that it has one. The victims leave, and wait for a new place behind those of higher priority; who
finds none then is not tried again. The report says what every quota used, borrowed, lent and took
back, and, over time, how many pods had to go.

With --autoscale a pod that fits nowhere waits. When no node has room for it, the template whose
node takes the most of the waiting pods is asked for, of equal ones the first in the files, as many
of them as the pods need and capacity quotas allow; then the next. The nodes come --provision-seconds
later, and no node ever goes. Whenever a pod leaves or a node comes, who waits is tried again; who
waited leaves as much later. Pods fail that still wait when nothing more can happen. The report says
what was added, and which limit of which capacity quota was in the way for how long.

The trace has no metrics, so load scores are 0 unless --metrics-every is given; the metrics of a
dump are used as they are, and the clock starts at the newest of them. Same input and seed, same
bytes in --out and, but for the lines under "speed", in the report.

Examples:
  headroom simulate
  headroom simulate --no-departures --out decisions.jsonl
  headroom simulate --nodes 50000 --pods 200000 --seed 7
  headroom simulate --nodes 500 --pods 6000 --quotas 12 --no-departures
  kubectl get nodes,pods,nodemetrics -A -o json | headroom simulate --cluster -
  kubectl get nodes,pods,nodemetrics,elasticquotas,pdb,priorityclasses -A -o json > cluster.json
  headroom simulate --cluster cluster.json --pods new-pods.yaml --config scheduler.yaml --json
  headroom simulate --start-nodes 20 --autoscale templates.yaml --capacity-quotas quotas.yaml

Exit codes: 0 simulated, 1 --validate found a rule broken, 2 the input cannot be used.
)");
  command->callback([options, &exit_code] {
    const Result<int> done = run(*options);
    exit_code = done.value_or(kExitBadInput);
    if (!done) fmt::print(stderr, "headroom simulate: {}\n", done.error().message);
  });
}

}  // namespace headroom
