// Reads facts and a pod's name, and prints the explanation.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/profile/profile_reader.h"
#include "engine/upsert_objects.h"
#include "objects/text/time_text.h"
#include "simulation/input/dump.h"
#include "simulation/text/printable.h"
#include "simulation/text/suggestions.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/explain_report.h"

namespace headroom {
namespace {

struct ExplainOptions {
  std::vector<std::string> cluster_files;
  std::string config, pod, now;
  std::string node;
  bool json = false;
};

Result<Engine> load(const Dump& dump, Profile profile, std::int64_t now_us) {
  Result<Engine> engine = Engine::create(std::move(profile));
  if (!engine) return engine;
  if (Result<void> set = engine->advance(now_us); !set) return tl::unexpected(set.error());
  if (const auto taken = upsert_all(*engine, dump); !taken) return tl::unexpected(taken.error());
  return engine;
}

Result<std::string> explain(const ExplainOptions& options) {
  Result<Profile> profile =
      options.config.empty() ? Profile::standard() : read_profile_file(options.config);
  if (!profile) return tl::unexpected(profile.error());
  const Result<Dump> dump = read_dump(options.cluster_files);
  if (!dump) return tl::unexpected(dump.error());
  report_oddities(*dump, "explain");
  const auto pod = std::find_if(dump->pods.begin(), dump->pods.end(),
                                [&](const Pod& known) { return pod_key(known) == options.pod; });
  if (pod == dump->pods.end()) {
    std::vector<std::string> names;
    for (const Pod& known : dump->pods) names.push_back(pod_key(known));
    return fail(ErrorCode::kNotFound,
                fmt::format("--pod {}: no such pod, as NAMESPACE/NAME{}", options.pod,
                            suggestions(std::move(names), options.pod, "pod")));
  }
  std::int64_t now_us = newest_time_us(*dump, 0);
  if (!options.now.empty()) {
    const Result<std::int64_t> given_us = parse_time_us(options.now);
    if (!given_us) {
      return fail(given_us.error().code,
                  fmt::format("--now {}: want a time such as 2026-01-01T00:00:00Z", options.now));
    }
    now_us = *given_us;
  }
  Result<Engine> engine = load(*dump, std::move(*profile), now_us);
  if (!engine) return tl::unexpected(engine.error());
  std::optional<std::string> node;
  if (!options.node.empty()) node = options.node;
  if (node && engine->find_node(*node) == kNoNode) {
    std::vector<std::string> names;
    for (const Node& known : dump->nodes) names.push_back(known.name);
    return fail(ErrorCode::kNotFound, fmt::format("--node {}: no such node{}", *node,
                                                  suggestions(std::move(names), *node, "node")));
  }
  Result<ExplainReport> report = explain_pod(*engine, *pod, node);
  if (!report) return tl::unexpected(report.error());
  report->warnings = dump->warnings;
  return options.json ? explain_json(*report) : explain_text(*report);
}

int run(const ExplainOptions& options) {
  const Result<std::string> text = explain(options);
  if (!text) {
    print_error("explain", text.error().message);
    return kExitBadInput;
  }
  fmt::print("{}", options.json ? *text : printable(*text));
  return kExitSuccess;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Say why a pod fits or does not, and how it is scored, with every number");
  command
      ->add_option("--cluster", options->cluster_files,
                   "Files that kubectl get -o json or yaml printed; - is stdin")
      ->required();
  command->add_option("--pod", options->pod, "The pod, pending or bound, as NAMESPACE/NAME")
      ->required();
  command->add_option("--node", options->node,
                      "Explain this node; else the decision, its winner and one node per reason");
  command->add_option("--config", options->config,
                      "KubeSchedulerConfiguration, HeadroomConfiguration or both; else Headroom's "
                      "standard profile");
  command->add_option("--now", options->now,
                      "The time to explain for; else that of the newest NodeMetric in the files");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(R"(
The pod is explained as if it were to be scheduled anew: it is not counted where it is. Each line
has what went in (capacity, what is there already, what the pod needs), the formula and the result.

Examples:
  kubectl get nodes,pods,ns,svc,rs,rc,sts,pv,pvc,sc,csinodes,csidrivers,csistoragecapacities,pdb,pc \
    -A -o json > cluster.json      # ,nodemetrics,elasticquotas as well where these are installed
  headroom explain --cluster cluster.json --pod default/web-1
  headroom explain --cluster cluster.json --pod default/web-1 --node node-7 --config profile.yaml

Exit codes: 0 explained, 2 the command line, a file or an object cannot be used.)");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace headroom
