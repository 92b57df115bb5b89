// events, load_dump, memory: taking facts in and keeping them.
#include <fmt/format.h>

#include "bench/checks.h"
#include "bench/clusters/clusters.h"
#include "bench/growth.h"
#include "bench/measure.h"
#include "bench/rows/rows.h"
#include "engine/upsert_objects.h"
#include "objects/hash.h"
#include "objects/reading/object_reader.h"
#include "workloads/cluster_generator.h"
#include "workloads/object_writer.h"
#include "workloads/random.h"

namespace headroom {

namespace {

Engine empty_engine() {
  Engine engine = value_of(Engine::create(bench_profile(), kOneThread));
  check_done(engine.advance(kTraceStartUs));
  return engine;
}

// Resident bytes that the nodes, the pods and the metrics of a cluster add; and how many pods are
// bound.
std::vector<std::int64_t> measure_growth(const ClusterGenerator& generator) {
  std::vector<std::int64_t> growth(4);
  Engine engine = empty_engine();
  Growth memory;
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    check_done(engine.upsert(generator.node(n)));
  }
  growth[0] = memory.grown();
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    check_done(engine.upsert(generator.pod(p)));
    growth[3] += generator.is_bound(p);
  }
  growth[1] = memory.grown();
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    if (generator.has_node_metric(n)) {
      check_done(engine.upsert(generator.node_metric(n)));
    }
  }
  growth[2] = memory.grown();
  check(engine.stats().nodes == generator.options().nodes, "nodes");
  check(engine.stats().pods == generator.options().pods, "pods");
  check_done(engine.validate());
  return growth;
}

// As kubelets list them: kImagesOfNode of what the cluster's registries have, each by digest and
// tag.
constexpr std::uint32_t kImagesOfNode = 50, kImages = 2000;

void add_images(Node& node, Random& random) {
  for (std::uint32_t i = 0; i < kImagesOfNode; ++i) {
    const std::uint64_t number = random.below(kImages);
    const std::string name =
        fmt::format("registry.example.com/team-{}/application-{}", number % 40, number);
    node.images.push_back({.names = {fmt::format("{}@sha256:{:064x}", name, mix(number)),
                                     fmt::format("{}:v1.{}", name, number % 10)},
                           .size_bytes = static_cast<std::int64_t>(number + 50) << 20});
  }
}

// Resident bytes that the nodes' images add.
std::vector<std::int64_t> measure_image_growth(const ClusterGenerator& generator,
                                               std::uint64_t seed) {
  Engine engine = value_of(Engine::create(Profile::standard(), kOneThread));
  Random random{seed};
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    check_done(engine.upsert(generator.node(n)));
  }
  Growth memory;
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    Node node = generator.node(n);
    add_images(node, random);
    check_done(engine.upsert(node));
  }
  const std::int64_t grown = memory.grown();
  check_done(engine.validate());
  return {grown};
}

std::string make_dump(const ClusterGenerator& generator, Engine& engine) {
  std::string text = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n";
  const auto add = [&](const auto& object) {
    check_done(engine.upsert(object));
    append_json(text, object);
    text += ",\n";
  };
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    add(generator.node(n));
  }
  for (std::uint32_t p = 0; p < generator.options().pods; ++p) {
    add(generator.pod(p));
  }
  for (std::uint32_t n = 0; n < generator.options().nodes; ++n) {
    if (generator.has_node_metric(n)) {
      add(generator.node_metric(n));
    }
  }
  text.resize(text.size() - 2);
  text += "\n]}\n";
  return text;
}

}  // namespace

void events(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), pods = nodes * 4,
                      rounds = options.size(100'000);
  const ClusterGenerator generator(
      {.nodes = nodes, .pods = pods, .seed = options.seed, .bound_permille = 1000});
  Engine engine = empty_engine();
  std::vector<Pod> present, absent;
  std::vector<NodeMetric> metrics;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    check_done(engine.upsert(generator.node(n)));
  }
  for (std::uint32_t p = 0; p < pods; ++p) {
    if (!generator.is_bound(p)) {
      continue;
    }
    Pod pod = generator.pod(p);
    if (absent.size() <= rounds / 2) {
      absent.push_back(pod);
    } else {
      check_done(engine.upsert(pod));
      if (present.size() < absent.size()) {
        present.push_back(pod);
      }
    }
  }
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (generator.has_node_metric(n)) {
      metrics.push_back(generator.node_metric(n));
      check_done(engine.upsert(metrics.back()));
    }
  }
  check(!present.empty() && !metrics.empty(), "a cluster with pods and metrics");
  std::size_t listed = 0;
  for (const NodeMetric& metric : metrics) {
    listed += metric.pods.size();
  }
  const std::size_t count = std::min(present.size(), absent.size());

  Random random{options.seed};
  double bind_seconds = 0, delete_seconds = 0, metric_seconds = 0;
  Measurement measurement;
  const Times& times = measurement.add("events", 1, [&] {
    // Every metric reports a little more than last time.
    for (NodeMetric& metric : metrics) {
      *metric.update_time_us += 1000;
      for (auto& [name, quantity] : metric.node_usage) {
        quantity += Quantity::from_milli(random.between(0, 1000));
      }
    }
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
      check_done(engine.upsert(absent[i]));
    }
    const double bound = watch.seconds();
    for (std::size_t i = 0; i < count; ++i) {
      engine.remove_pod(present[i].namespace_name, present[i].name);
    }
    const double removed = watch.seconds();
    for (std::size_t i = 0; i < count; ++i) {
      check_done(engine.upsert(metrics[i * 7919 % metrics.size()]));
    }
    const double seconds = watch.seconds();
    bind_seconds = bound;
    delete_seconds = removed - bound;
    metric_seconds = seconds - removed;
    std::swap(absent, present);
    return seconds;
  });
  measurement.run(options.repetitions(9));
  check_done(engine.validate());
  const auto ns = [&](double seconds) { return seconds / static_cast<double>(count) * 1e9; };
  const double rate = 3 * static_cast<double>(count) / times.median();
  lines.push_back({.row = "events",
                   .what = fmt::format(
                       "pods bound, pods deleted, metrics updated ({:.1f} pods each), {} nodes",
                       static_cast<double>(listed) / static_cast<double>(metrics.size()), nodes),
                   .measured = fmt::format(
                       "{:.2f} million a second (bind {:.0f}, delete {:.0f}, metric {:.0f} ns)",
                       rate / 1e6, ns(bind_seconds), ns(delete_seconds), ns(metric_seconds)),
                   .unit = "million a second",
                   .value = rate / 1e6,
                   .target = at_least(2),
                   .figures = {{"bind_ns", ns(bind_seconds)},
                               {"delete_ns", ns(delete_seconds)},
                               {"metric_ns", ns(metric_seconds)}}});
}

void load_dump(const BenchOptions& options, Lines& lines) {
  const ClusterGenerator generator(
      {.nodes = options.size(20'000), .pods = options.size(200'000), .seed = options.seed});
  std::string text;
  std::uint64_t digest = 0;
  {
    Engine engine = empty_engine();
    text = make_dump(generator, engine);
    digest = engine.digest();
  }
  {
    Engine engine = empty_engine();
    check(value_of(upsert_text(engine, text, "dump")) > 0, "the dump is not empty");
    check(engine.digest() == digest, "the dump makes another state than its objects");
  }
  Measurement measurement;
  const Times& parse = measurement.add("parse", 1, [&] {
    const Stopwatch watch;
    const ObjectFile file = value_of(read_objects(text, "dump"));
    return watch.seconds();
  });
  const Times& whole = measurement.add("parse and apply", 1, [&] {
    Engine engine = empty_engine();
    const Stopwatch watch;
    (void)value_of(upsert_text(engine, text, "dump"));
    return watch.seconds();
  });
  measurement.run(options.repetitions(5));
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  const double rate = megabytes / whole.median(), parse_rate = megabytes / parse.median();
  lines.push_back(
      {.row = "load_dump",
       .what = fmt::format("{} nodes, {} pods and metrics, {:.0f} MB of JSON: parse and "
                           "apply",
                           generator.options().nodes, generator.options().pods, megabytes),
       .measured = fmt::format("{:.0f} MB/s (parse alone {:.0f})", rate, parse_rate),
       .unit = "MB/s",
       .value = rate,
       .target = at_least(300),
       .figures = {{"parse_mb_per_second", parse_rate}, {"megabytes", megabytes}}});
}

void memory(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000), pods = options.size(1'000'000);
  const ClusterGenerator generator({.nodes = nodes, .pods = pods, .seed = options.seed});
  const std::vector<std::int64_t> growth =
      measured_apart(4, [&] { return measure_growth(generator); });
  const auto per = [&](std::int64_t bytes, std::uint32_t count) {
    return static_cast<double>(bytes) / count;
  };
  const double pod_bytes = per(growth[1], pods), node_bytes = per(growth[0], nodes),
               metric_bytes = per(growth[2], nodes);
  lines.push_back({.row = "memory",
                   .what = fmt::format("{} pods ({} bound), names included", pods, growth[3]),
                   .measured = fmt::format("{:.0f} bytes a pod", pod_bytes),
                   .unit = "bytes",
                   .value = pod_bytes,
                   .target = at_most(350),
                   .figures = {}});
  lines.push_back({.row = "",
                   .what = fmt::format("{} nodes, names included", nodes),
                   .measured = fmt::format("{:.0f} bytes a node", node_bytes),
                   .unit = "bytes",
                   .value = node_bytes,
                   .target = at_most(2048),
                   .figures = {}});
  lines.push_back(
      {.row = "",
       .what = "a node with its metric, in which its pods' usage is",
       .measured = fmt::format("{:.0f} bytes, of which the metric {:.0f}; {:.0f} MB in all",
                               node_bytes + metric_bytes, metric_bytes,
                               static_cast<double>(growth[0] + growth[1] + growth[2]) / 1e6),
       .unit = "bytes",
       .value = node_bytes + metric_bytes,
       .target = at_most(2048),
       .figures = {}});
  const double image_bytes = per(
      measured_apart(1, [&] { return measure_image_growth(generator, options.seed); })[0], nodes);
  lines.push_back({.row = "",
                   .what = fmt::format("{} images on each node, of {}, by digest and tag; "
                                       "standard profile",
                                       kImagesOfNode, kImages),
                   .measured = fmt::format("{:.0f} bytes a node", image_bytes),
                   .unit = "bytes",
                   .value = image_bytes,
                   .target = {},
                   .figures = {}});
}

}  // namespace headroom
