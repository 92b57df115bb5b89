// Streams the objects of a ClusterGenerator as text.
#include <fmt/format.h>

#include <memory>

#include "simulation/text/printable.h"
#include "tools/command/command_line.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/progress.h"
#include "tools/command/text_output.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"

namespace headroom {
namespace {

constexpr std::uint32_t kGeneratedNodesMax = 1'000'000;
constexpr std::uint32_t kGeneratedPodsMax = 20'000'000;
constexpr std::uint32_t kGeneratedElasticQuotasMax = 10'000;
constexpr std::uint32_t kFillPermilleMax = 10'000;

struct GenerateOptions {
  ClusterGenerator::Options cluster{.nodes = 100, .pods = 1000};
  std::string output = "-";
  bool json_lines = false;
};

int generate(const GenerateOptions& options) {
  Result<TextOutput> output = TextOutput::open(options.output);
  if (!output) {
    print_error("generate", output.error().message);
    return kExitBadInput;
  }
  const ClusterGenerator generator(options.cluster);
  const std::uint32_t nodes = options.cluster.nodes, pods = options.cluster.pods;
  std::uint64_t referred = 0;
  generator.visit_referred_objects([&](const ReferredObject&) { ++referred; });
  bool first = true;
  std::uint64_t done = 0;
  {
    ProgressBar progress("writing objects", std::uint64_t{generator.priority_class_count()} +
                                                generator.elastic_quota_count() +
                                                generator.budget_count() +
                                                generator.capacity_quota_count() + referred +
                                                std::uint64_t{nodes} * 2 + pods);
    std::string& text = output->text();
    const auto write = [&](const auto& object) {
      if (!first) text += options.json_lines ? "\n" : ",\n";
      first = false;
      append_json(text, object);
      output->write_full();
      progress.update(++done);
    };
    if (!options.json_lines) text += "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n";
    generator.visit_quotas(write);
    generator.visit_referred_objects(write);
    for (std::uint32_t n = 0; n < nodes; ++n) write(generator.node(n));
    for (std::uint32_t p = 0; p < pods; ++p) write(generator.pod(p));
    for (std::uint32_t n = 0; n < nodes; ++n) {
      if (generator.has_node_metric(n)) write(generator.node_metric(n));
    }
    if (!first) text += '\n';
    if (!options.json_lines) text += "]}\n";
  }
  if (Result<void> closed = output->close(); !closed) {
    print_error("generate", closed.error().message);
    return kExitBadInput;
  }
  return kExitSuccess;
}

}  // namespace

void add_generate_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand(
      "generate", "Write a synthetic cluster as Kubernetes JSON, calibrated to the openb trace");
  add_number(*command, "--nodes", options->cluster.nodes, 1, kGeneratedNodesMax, "Nodes");
  add_number(*command, "--pods", options->cluster.pods, 0, kGeneratedPodsMax, "Pods");
  add_number(*command, "--seed", options->cluster.seed, 0, kSeedMax, "Same seed, same bytes");
  add_number(*command, "--bound", options->cluster.bound_permille, 0, 1000,
             "Pods to put on nodes, in thousandths; the others are pending");
  add_number(*command, "--elastic-quotas", options->cluster.quotas, 0, kGeneratedElasticQuotasMax,
             "Namespaces with an ElasticQuota each, with PodDisruptionBudgets and "
             "PriorityClasses; 0: none of these");
  add_number(*command, "--capacity-quotas", options->cluster.capacity_quotas, 0,
             kGeneratedElasticQuotasMax,
             "CapacityQuotas over the nodes' zones, pools and machine types");
  command->add_flag(
      "--applications", options->cluster.applications,
      "Make the pods those of Deployments, StatefulSets and Jobs, with Services, spread, "
      "affinity, images and claims");
  add_number(*command, "--fill", options->cluster.fill_permille, 1, kFillPermilleMax,
             "What all pods may request, in thousandths of what the nodes have; above 1000, "
             "some find no place");
  command->add_option("-o,--output", options->output, "Where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_flag("--json-lines", options->json_lines,
                    "One object per line, without the List around them");
  command->footer(
      R"(Node shapes, pod shapes and lifetimes are the trace's. Limits above requests, usage below
requests, metrics, taints, labels, annotations, selectors and tolerations are drawn from the seed.
When so many pods would not fit so many nodes, their requests are scaled down.

With --elastic-quotas the pods belong to team-000, team-001 and so on, in uneven shares: a third of
the teams has fewer pods than its min is for, and a third has more and borrows. Mins together stay
within what the nodes have. Pods are of the priority classes batch, experiment, standard and
production.

CapacityQuotas nest and overlap, and let in 2 to 25 percent more than there is.

With --applications the pods belong to applications of 1 to 300 pods, each of one template. Seven in
ten of those that live long keep their pods apart, by anti-affinity or constraints of their own; the
others rely on the cluster's default spread. Nodes have images and CSINodes, some StatefulSets claims.

Examples:
  headroom generate --nodes 200 --pods 1000 --seed 7 --output cluster.json
  headroom simulate --cluster cluster.json
  headroom generate --nodes 200 --pods 3000 --elastic-quotas 12 --fill 1200 --output full.json
  headroom generate --nodes 200 --pods 3000 --applications --output applications.json
  headroom generate --nodes 5 --pods 0 --json-lines | head -1
)");
  command->callback([options, &exit_code] { exit_code = generate(*options); });
}

}  // namespace headroom
