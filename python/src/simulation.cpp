#include "python/src/simulation.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "python/src/errors.h"
#include "python/src/objects.h"
#include "python/src/results.h"
#include "simulation/input/dump.h"
#include "simulation/input/simulation_input.h"
#include "simulation/report/report_page.h"
#include "simulation/report/simulation_json.h"
#include "workloads/openb.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

// Of a list or tuple each path and each text is a file of its own.
Dump dump_of(nb::handle objects, const char* what, const char* kind) {
  std::vector<ObjectFile> files;
  if (nb::isinstance<nb::list>(objects) || nb::isinstance<nb::tuple>(objects)) {
    nb::list others;
    for (const nb::handle item : nb::iter(objects)) {
      if (nb::hasattr(item, "__fspath__") || nb::isinstance<nb::str>(item) ||
          nb::isinstance<nb::bytes>(item)) {
        files.push_back(objects_of(item, what, kind));
      } else {
        others.append(item);
      }
    }
    if (!others.empty()) files.push_back(objects_of(others, what, kind));
  } else if (!objects.is_none()) {
    files.push_back(objects_of(objects, what, kind));
  }
  return make_dump(std::move(files));
}

struct Input {
  nb::object cluster, pods;
  std::optional<std::int64_t> nodes;
  std::int64_t elastic_quotas = 0, repeat = 1;
  std::uint64_t seed = 1;
};

SimulationInput read_input(const Input& input) {
  const bool plays_trace = input.cluster.is_none() && !input.nodes;
  if (!plays_trace && input.repeat != 1) {
    raise({ErrorCode::kInvalid, "repeat: of the trace only, which cluster or nodes replace"});
  }
  if (!input.nodes && input.elastic_quotas != 0) {
    raise({ErrorCode::kInvalid, "elastic_quotas: of a generated cluster only: give nodes"});
  }
  if (!input.cluster.is_none()) {
    if (input.nodes) raise({ErrorCode::kInvalid, "cluster, nodes: give one of them"});
    Dump cluster = dump_of(input.cluster, "cluster", nullptr);
    return value_of(
        dump_input("a cluster", std::move(cluster), dump_of(input.pods, "pods", "Pod")));
  }
  if (!input.nodes) {
    if (!input.pods.is_none()) {
      raise({ErrorCode::kInvalid, "pods: they need a cluster: give cluster or nodes with them"});
    }
    const std::int64_t repeat = in_range(input.repeat, "repeat", 1, kRepeatMax);
    return trace_input(
        {.repeat = static_cast<std::uint32_t>(repeat), .nodes = {}, .seed = input.seed});
  }
  const std::int64_t nodes = in_range(*input.nodes, "nodes", 1, kSimulatedNodesMax);
  const std::int64_t quotas =
      in_range(input.elastic_quotas, "elastic_quotas", 0, kSimulatedElasticQuotasMax);
  std::int64_t pods = nodes * kPodsPerGeneratedNode;
  if (!input.pods.is_none() && !nb::try_cast(input.pods, pods)) {
    throw nb::type_error("pods: with nodes it is their number");
  }
  in_range(pods, "pods", 0, kSimulatedPodsMax);
  const nb::gil_scoped_release released;
  return generated_input({.nodes = static_cast<std::uint32_t>(nodes),
                          .pods = static_cast<std::uint32_t>(pods),
                          .quotas = static_cast<std::uint32_t>(quotas),
                          .seed = input.seed});
}

// The report as JSON, and the decisions as lines of JSON.
nb::tuple simulate_json(nb::object cluster, nb::object pods, std::optional<std::int64_t> nodes,
                        std::int64_t elastic_quotas, std::int64_t repeat, nb::object profile,
                        std::int64_t stated_seed, bool departures,
                        std::optional<std::int64_t> metrics_every, std::optional<bool> preemption,
                        nb::object autoscale, std::int64_t provision_seconds, bool random_ties,
                        bool all_pods, std::int32_t threads, bool validate, bool decisions) {
  const std::uint64_t seed = seed_of(stated_seed);
  SimulationOptions options;
  options.profile = profile_of(profile);
  options.series = true;
  options.engine.threads = threads;
  options.engine.seed = random_ties ? seed : 0;
  options.seed = seed;
  options.departures = departures;
  options.metrics_every_seconds = metrics_every;
  options.preemption = preemption;
  options.validate = validate;
  options.all_pods = all_pods;
  if (autoscale.is_none() && provision_seconds != AutoscalerOptions().provision_seconds) {
    raise({ErrorCode::kInvalid, "provision_seconds: of autoscale only"});
  }
  if (!autoscale.is_none()) {
    Dump templates = dump_of(autoscale, "autoscale", "Node");
    if (templates.nodes.empty()) {
      raise({ErrorCode::kInvalid, "autoscale: no Node to take as a template"});
    }
    options.autoscaler = AutoscalerOptions{.templates = std::move(templates.nodes),
                                           .quotas = std::move(templates.capacity_quotas),
                                           .provision_seconds = provision_seconds};
  }
  std::string lines;
  if (decisions) options.on_decision = [&](const std::string& line) { lines += line; };
  const SimulationInput input = read_input({.cluster = std::move(cluster),
                                            .pods = std::move(pods),
                                            .nodes = nodes,
                                            .elastic_quotas = elastic_quotas,
                                            .repeat = repeat,
                                            .seed = seed});
  const std::string profile_name = profile.is_none() ? "standard" : "profile";
  std::string json;
  value_of([&]() -> Result<void> {
    const nb::gil_scoped_release released;
    Result<SimulationReport> report = simulate(input, options);
    if (!report) return tl::unexpected(report.error());
    const ProfileRun run{profile_name, std::move(*report)};
    json = json_report(input, seed, {&run, 1});
    return {};
  }());
  return nb::make_tuple(text(json), text(lines));
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def(
      "report_page", [](const std::string& json) { return text(report_page(json, "")); }, "json"_a);
  module.def("simulate_json", &simulate_json, nb::kw_only(), "cluster"_a = nb::none(),
             "pods"_a = nb::none(), "nodes"_a = nb::none(), "elastic_quotas"_a = 0, "repeat"_a = 1,
             "profile"_a = nb::none(), "seed"_a = 1, "departures"_a = true,
             "metrics_every"_a = nb::none(), "preemption"_a = nb::none(),
             "autoscale"_a = nb::none(), "provision_seconds"_a = 60, "random_ties"_a = false,
             "all_pods"_a = false, "threads"_a = 1, "validate"_a = false, "decisions"_a = true,
             "What headroom.simulate() reads: the report, and the decisions line by line.");
}

}  // namespace headroom::python
