// Reads the input of a simulation and runs it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "engine/limits.h"
#include "engine/profile/profile_reader.h"
#include "simulation/input/dump.h"
#include "simulation/input/simulation_input.h"
#include "simulation/report/profile_comparison.h"
#include "simulation/report/report_page.h"
#include "simulation/report/simulation_json.h"
#include "simulation/report/simulation_report.h"
#include "simulation/text/printable.h"
#include "simulation/text/table.h"
#include "tools/command/command_line.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/progress.h"
#include "tools/command/text_output.h"
#include "workloads/openb.h"

namespace headroom {
namespace {

struct SimulateOptions {
  std::vector<std::string> cluster_files;
  std::vector<std::string> pods;  // files with --cluster, a number with --nodes
  std::optional<std::uint32_t> nodes;
  std::uint32_t repeat = 1;
  std::uint64_t seed = 1;
  bool random_ties = false, no_departures = false, no_cache = false, validate = false;
  bool json = false;
  std::int64_t threads = 1;
  std::optional<std::int64_t> metrics_every_seconds;
  std::vector<std::string> configs;
  std::string out, report, command_line;
  bool preemption = false, no_preemption = false, all_pods = false;
  std::uint32_t quotas = 0;
  std::vector<std::string> template_files, capacity_quota_files;
  std::int64_t provision_seconds = 60;
  std::optional<std::uint32_t> start_nodes;
};

// --- The three inputs. -------------------------------------------------------------------------

Result<SimulationInput> read_generated(const SimulateOptions& options) {
  std::uint32_t pods = *options.nodes * kPodsPerGeneratedNode;
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
  return generated_input(
      {.nodes = *options.nodes, .pods = pods, .quotas = options.quotas, .seed = options.seed});
}

Result<SimulationInput> read_cluster(const SimulateOptions& options) {
  Result<Dump> cluster = read_dump(options.cluster_files);
  if (!cluster) return tl::unexpected(cluster.error());
  Result<Dump> pods = read_dump(options.pods);
  if (!pods) return tl::unexpected(pods.error());
  report_oddities(*cluster, "simulate");
  report_oddities(*pods, "simulate");
  std::string title;
  for (const std::string& path : options.cluster_files) {
    if (!title.empty()) title += ", ";
    title += path == "-" ? "standard input" : path;
  }
  const std::size_t reported = cluster->warnings.size() + pods->warnings.size();
  Result<SimulationInput> input =
      dump_input(std::move(title), std::move(*cluster), std::move(*pods));
  if (input) report_warnings(std::span(input->warnings).subspan(reported), "simulate");
  return input;
}

Result<SimulationInput> make_input(const SimulateOptions& options) {
  if (!options.cluster_files.empty()) return read_cluster(options);
  if (options.nodes) return read_generated(options);
  if (!options.pods.empty()) {
    return fail(ErrorCode::kInvalid,
                "--pods needs a cluster: give --cluster FILE with it, or --nodes NUMBER");
  }
  return trace_input(
      {.repeat = options.repeat, .nodes = options.start_nodes, .seed = options.seed});
}

// --- The autoscaler. ---------------------------------------------------------------------------

// One of a kind that is not read where templates and capacity quotas are; empty: there is none.
std::string kind_out_of_place(const Dump& dump) {
  if (!dump.pods.empty()) return "Pod";
  if (!dump.node_metrics.empty()) return "NodeMetric";
  if (!dump.elastic_quotas.empty()) return "ElasticQuota";
  if (!dump.pod_disruption_budgets.empty()) return "PodDisruptionBudget";
  if (!dump.priority_classes.empty()) return "PriorityClass";
  if (!dump.referred_objects.empty()) return to_string(kind_of(dump.referred_objects.front()));
  return "";
}

Result<void> check_kinds(const char* option, const std::string& out_of_place, const char* read) {
  if (out_of_place.empty()) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("the {} files have an object of kind {}, and only {} are read from them; "
                          "give the rest with --cluster",
                          option, out_of_place, read));
}

Result<AutoscalerOptions> read_autoscaler(const SimulateOptions& options) {
  Result<Dump> templates = read_dump(options.template_files);
  if (!templates) return tl::unexpected(templates.error());
  report_oddities(*templates, "simulate");
  if (templates->nodes.empty()) {
    return fail(ErrorCode::kInvalid, "the --autoscale files have no Node to take as a template");
  }
  if (Result<void> checked = check_kinds("--autoscale", kind_out_of_place(*templates),
                                         "Nodes, which are templates, and CapacityQuotas");
      !checked) {
    return tl::unexpected(checked.error());
  }
  Result<Dump> quotas = read_dump(options.capacity_quota_files);
  if (!quotas) return tl::unexpected(quotas.error());
  report_oddities(*quotas, "simulate");
  if (!options.capacity_quota_files.empty() && quotas->capacity_quotas.empty()) {
    return fail(ErrorCode::kInvalid, "the --capacity-quotas files have no CapacityQuota");
  }
  if (Result<void> checked = check_kinds(
          "--capacity-quotas", quotas->nodes.empty() ? kind_out_of_place(*quotas) : "Node",
          "CapacityQuotas");
      !checked) {
    return tl::unexpected(checked.error());
  }
  AutoscalerOptions autoscaler;
  autoscaler.templates = std::move(templates->nodes);
  autoscaler.quotas = std::move(templates->capacity_quotas);
  for (CapacityQuota& quota : quotas->capacity_quotas) {
    autoscaler.quotas.push_back(std::move(quota));
  }
  autoscaler.provision_seconds = options.provision_seconds;
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

// --- The profiles. -----------------------------------------------------------------------------

struct NamedProfile {
  std::string name;
  Profile profile;
};

// Named after their files; without any, the standard one.
Result<std::vector<NamedProfile>> read_profiles(const std::vector<std::string>& paths) {
  if (paths.empty()) return std::vector<NamedProfile>{{"standard", Profile::standard()}};
  if (paths.size() > kProfilesMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("--config: {} files; at most {}", paths.size(), kProfilesMax));
  }
  const auto short_name = [](const std::string& path) {
    return std::filesystem::path(path).stem().string();
  };
  std::vector<NamedProfile> profiles;
  for (const std::string& path : paths) {
    if (std::count(paths.begin(), paths.end(), path) > 1) {
      return fail(ErrorCode::kInvalid, "--config " + path + ": given twice");
    }
    Result<Profile> profile = read_profile_file(path);
    if (!profile) return tl::unexpected(profile.error());
    const auto same = std::count_if(paths.begin(), paths.end(), [&](const std::string& other) {
      return short_name(other) == short_name(path);
    });
    profiles.push_back({same == 1 ? short_name(path) : path, std::move(*profile)});
  }
  return profiles;
}

// --- The command. ------------------------------------------------------------------------------

Result<SimulationOptions> make_simulation(const SimulateOptions& options, bool several) {
  SimulationOptions simulation;
  simulation.engine.shape_cache = !options.no_cache;
  simulation.engine.threads = options.threads;
  if (options.random_ties) simulation.engine.seed = options.seed;
  simulation.seed = options.seed;
  simulation.departures = !options.no_departures;
  simulation.metrics_every_seconds = options.metrics_every_seconds;
  simulation.validate = options.validate;
  simulation.all_pods = options.all_pods;
  simulation.series = several || options.json || !options.report.empty();
  if (options.preemption) simulation.preemption = true;
  if (options.no_preemption) simulation.preemption = false;
  if (!options.template_files.empty()) {
    Result<AutoscalerOptions> autoscaler = read_autoscaler(options);
    if (!autoscaler) return tl::unexpected(autoscaler.error());
    simulation.autoscaler = std::move(*autoscaler);
  }
  return simulation;
}

Result<std::optional<TextOutput>> open_output(const std::string& path) {
  if (path.empty()) return std::nullopt;
  Result<TextOutput> opened = TextOutput::open(path);
  if (!opened) return tl::unexpected(opened.error());
  return std::optional<TextOutput>(std::move(*opened));
}

// The exit code.
Result<int> run(const SimulateOptions& options) {
  if (options.configs.size() > 1 && !options.out.empty()) {
    return fail(ErrorCode::kInvalid, "--out: the decisions of one profile; give one --config");
  }
  if (options.out == "-" && options.report == "-") {
    return fail(ErrorCode::kInvalid, "--out - and --report -: standard output takes one of them");
  }
  if (!options.out.empty() && options.out == options.report) {
    return fail(ErrorCode::kInvalid,
                fmt::format("--out and --report: {}: each takes a file of its own", options.out));
  }
  Result<std::vector<NamedProfile>> profiles = read_profiles(options.configs);
  if (!profiles) return tl::unexpected(profiles.error());
  Result<SimulationOptions> simulation = make_simulation(options, profiles->size() > 1);
  if (!simulation) return tl::unexpected(simulation.error());
  Result<SimulationInput> input = make_input(options);
  if (!input) return tl::unexpected(input.error());
  if (simulation->autoscaler) report_nodes_without_capacity(input->nodes);

  Result<std::optional<TextOutput>> out = open_output(options.out);
  if (!out) return tl::unexpected(out.error());
  Result<std::optional<TextOutput>> page = open_output(options.report);
  if (!page) return tl::unexpected(page.error());
  if (*out) {
    simulation->on_decision = [&out](const std::string& line) {
      (*out)->text() += line;
      (*out)->write_full();
    };
  }
  std::vector<ProfileRun> runs;
  for (NamedProfile& profile : *profiles) {
    simulation->profile = std::move(profile.profile);
    std::optional<ProgressBar> progress(std::in_place, "placing pods", input->arrivals.size());
    simulation->on_progress = [&progress](std::uint64_t done) { progress->update(done); };
    Result<SimulationReport> report = simulate(*input, *simulation);
    progress.reset();
    if (!report) return tl::unexpected(report.error());
    runs.push_back({std::move(profile.name), std::move(*report)});
  }

  std::FILE* const report_file = options.out == "-" || options.report == "-" ? stderr : stdout;
  std::string json;
  if (options.json || *page) json = json_report(*input, options.seed, runs);
  if (*page) (*page)->text() = report_page(json, options.command_line);
  for (std::optional<TextOutput>* file : {&*out, &*page}) {
    if (!*file) continue;
    if (Result<void> closed = (*file)->close(); !closed) return tl::unexpected(closed.error());
  }
  if (options.json) {
    fmt::print(report_file, "{}\n", json);
  } else {
    print_printable(report_file, [&](std::FILE* file) {
      if (runs.size() > 1) {
        print_comparison(file, *input, options.seed, runs);
      } else {
        print_report(file, *input, options.seed, runs.front().report);
      }
    });
  }
  const bool broken = std::any_of(runs.begin(), runs.end(), [](const ProfileRun& run) {
    return !run.report.violations.empty();
  });
  return broken ? kExitFailures : kExitSuccess;
}

}  // namespace

void add_simulate_command(CLI::App& app, int& exit_code, std::string command_line) {
  auto options = std::make_shared<SimulateOptions>();
  options->command_line = std::move(command_line);
  CLI::App* command = app.add_subcommand(
      "simulate", "Place the pods of a trace, a dump or a generated cluster, in arrival order");
  CLI::Option* cluster =
      command
          ->add_option("--cluster", options->cluster_files,
                       "What kubectl printed (JSON or YAML; - is standard input): pods that have a "
                       "node stay there, pending ones are placed")
          ->type_name("FILE");
  CLI::Option* nodes = add_number(*command, "--nodes", options->nodes, 1, kSimulatedNodesMax,
                                  "Generate a cluster of so many nodes")
                           ->excludes(cluster);
  command
      ->add_option("--pods", options->pods,
                   "With --cluster, files of more pods, each placed anew when it was "
                   "created; with "
                   "--nodes, how many pods to place (default: 4 for each node)")
      ->type_name("FILE|NUMBER");
  add_number(*command, "--elastic-quotas", options->quotas, 0, kSimulatedElasticQuotasMax,
             "With --nodes, namespaces with an ElasticQuota each, budgets and priorities")
      ->needs(nodes);
  add_number(*command, "--repeat", options->repeat, 1, kRepeatMax,
             "Play the trace so many times, one after another")
      ->excludes(cluster)
      ->excludes(nodes);
  command
      ->add_option(
          "--config", options->configs,
          "KubeSchedulerConfiguration (YAML); default: the standard profile; `default`: "
          "kube-scheduler's own. Several: each places the same pods, and they are compared")
      ->type_name("FILE");
  add_number(*command, "--seed", options->seed, 0, kSeedMax,
             "What the input lacks is drawn from it");
  command->add_flag("--random-ties", options->random_ties,
                    "Break ties in an order drawn from the seed, not by the lowest row");
  CLI::Option* preemption = command->add_flag(
      "--preemption", options->preemption,
      "Pods without a place take that of others, although the input has neither ElasticQuota nor "
      "PriorityClass (profiles with CapacityScheduling)");
  command->add_flag("--no-preemption", options->no_preemption, "Nobody has to go for another pod")
      ->excludes(preemption);
  command->add_flag("--all-pods", options->all_pods,
                    "Place also pods with schedulingGates, and those that name another scheduler "
                    "than the profile; else they are left out and counted");
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
  add_number(*command, "--provision-seconds", options->provision_seconds, 1, kProvisionSecondsMax,
             "How long a node takes to come")
      ->type_name("SECONDS")
      ->needs(autoscale);
  add_number(*command, "--start-nodes", options->start_nodes, 0, kSimulatedNodesMax,
             "With --autoscale, begin with so many nodes of the trace (default: all)")
      ->needs(autoscale)
      ->excludes(cluster)
      ->excludes(nodes);
  command->add_flag("--no-departures", options->no_departures, "No pod ever leaves");
  add_number(*command, "--metrics-every", options->metrics_every_seconds, 1,
             kMetricsEverySecondsMax,
             "Every node reports the usage of its pods so often (default: never)")
      ->type_name("SECONDS");
  command
      ->add_option("--out", options->out,
                   "Write each decision as a line of JSON; -: to standard output, the report to "
                   "standard error")
      ->type_name("FILE");
  command
      ->add_option("--report", options->report,
                   "Write a page of charts and tables, which needs no network; -: to standard "
                   "output, the report to standard error")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print the report as JSON, with what happened over time");
  add_number(*command, "--threads", options->threads, 0, kThreadsMax,
             "Threads inside a decision; 0: all cores");
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

Pods that arrive together are placed by priority, as every kube-scheduler sorts them. What pods ask
for that no plugin of the profile looks at (resource claims, and what your profile disables) is
counted and named.

Where the input has elastic quotas or priority classes, and the profile CapacityScheduling, a pod that
finds no place asks who must go so that it has one. The victims leave, and wait for a new place behind those of higher priority; who
finds none then is not tried again. The report says what every quota used, borrowed, lent and took
back, and, over time, how many pods had to go.

With --autoscale a pod that fits nowhere waits. When no node has room for it, the template whose
node takes the most of the waiting pods is asked for, of equal ones the first in the files, as many
of them as the pods need and capacity quotas allow; then the next. The nodes come --provision-seconds
later, and no node ever goes. Whenever a pod leaves or a node comes, who waits is tried again, and
who waits for others whenever a pod is placed; who waited leaves as much later. Pods fail that still
wait when nothing more can happen. The report says what was added, and which limit of which capacity
quota was in the way for how long.

With several --config the profiles are compared: pods placed and failed, and, from samples evenly
spread over the time, how many nodes' limits are above what they have, how many nodes are hot by
estimated and simulated usage, and how full nodes are. --report draws it all over time. Estimated usage
is LoadAwareScheduling's estimate: the limit where it is above the request, else 85 % of the requested
cpu and 70 % of the requested memory. Simulated usage: one pod in ten, drawn from the seed for each
sample, uses all of its limits, the others a share of their requests. A node is hot above
LoadAwareScheduling's default thresholds, cpu 65 % and memory 95 %. The trace has no limits: those too
are drawn from the seed.

The trace has no metrics, so load scores are 0 unless --metrics-every is given; the metrics of a
dump are used as they are, and the clock starts at the newest of them. Same input and seed, same
bytes in --out and, but for the lines under "speed", in the report.

Examples:
  headroom simulate
  headroom simulate --no-departures --out decisions.jsonl
  headroom simulate --report report.html
  headroom simulate --config limit-aware.yaml --config least-allocated.yaml
  headroom simulate --nodes 50000 --pods 200000 --seed 7
  headroom simulate --nodes 500 --pods 6000 --elastic-quotas 12 --no-departures
  kubectl get nodes,pods,ns,svc,rs,rc,sts,pv,pvc,sc,csinodes,csidrivers,csistoragecapacities,pdb,pc \
    -A -o json > cluster.json      # ,nodemetrics,elasticquotas as well where these are installed
  headroom simulate --cluster cluster.json --all-pods
  headroom simulate --cluster cluster.json --pods new-pods.yaml --config profile.yaml --json
  headroom simulate --start-nodes 20 --autoscale templates.yaml --capacity-quotas quotas.yaml

Exit codes: 0 simulated, 1 --validate found a rule broken, 2 the input cannot be used.
)");
  command->callback([options, &exit_code] {
    const Result<int> done = run(*options);
    exit_code = done.value_or(kExitBadInput);
    if (!done) print_error("simulate", done.error().message);
  });
}

}  // namespace headroom
