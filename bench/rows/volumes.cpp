// volumes: decisions for pods with claims, under kube-scheduler's default profile. Every node has
// pods with volumes of a driver that tells how many it takes.
#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "bench/checks.h"
#include "bench/clusters/claims.h"
#include "bench/clusters/clusters.h"
#include "bench/clusters/zoned_nodes.h"
#include "bench/measure.h"
#include "bench/rows/questions.h"
#include "bench/rows/rows.h"
#include "objects/labels.h"
#include "workloads/random.h"

namespace headroom {

namespace {

constexpr const char* kNodeLabel = "topology.example.com/node";
constexpr const char* kRemote = "disk.example.com";
constexpr std::uint32_t kZoneCount = 3;
constexpr std::size_t kChecked = 3;  // decisions of each kind

enum VolumePurpose : std::uint64_t { kForNodes = 851 };

// A node with the label that its own storage is known by.
Node node_with_storage(std::uint32_t n) {
  Node node = zoned_node(n, kZoneCount, 64);
  node.labels.insert(node.labels.end() - 1, {kNodeLabel, node.name});  // sorted: before the zone's
  return node;
}

PersistentVolumeClaim team_claim(const std::string& name, const char* storage_class) {
  return waiting_claim("team", name, storage_class);
}

// The claim, and its volume, for nodes with the label.
void add_bound(Engine& engine, PersistentVolumeClaim claim, const char* key,
               const std::string& value) {
  PersistentVolume volume;
  volume.name = claim.volume_name = "pv-" + claim.name;
  volume.storage_class = claim.storage_class;
  volume.capacity_bytes = *claim.request_bytes;
  volume.access_modes = claim.access_modes;
  volume.volume_mode = claim.volume_mode;
  volume.node_affinity = {NodeSelectorTerm{{{key, "In", {value}}}, {}}};
  volume.claim_namespace = claim.namespace_name;
  volume.claim_name = claim.name;
  volume.claim_uid = claim.uid;
  volume.csi_driver = kRemote;
  volume.csi_handle = volume.name;
  claim.bind_completed = true;
  check_done(engine.upsert(ReferredObject(volume)));
  check_done(engine.upsert(ReferredObject(claim)));
}

Pod pod_with_claim(const std::string& name, const std::string& claim) {
  Pod pod;
  pod.namespace_name = "team";
  pod.name = pod.uid = name;
  pod.labels = {{"app", "store"}};
  Container container;
  container.name = "main";
  container.requests = {{"cpu", Quantity::from_milli(100)}};
  pod.containers = {container};
  Volume& volume = pod.volumes.emplace_back();
  volume.name = "data";
  volume.claim = claim;
  return pod;
}

Engine engine_with_volumes(std::uint32_t nodes) {
  Engine engine = value_of(Engine::create(Profile::kube_scheduler(), kOneThread));
  const Engine::Bulk bulk = engine.bulk();
  for (const char* name : {kRemote, kLocalStorage}) {
    for (const ReferredObject& object : storage_class_of(name, name == kLocalStorage)) {
      check_done(engine.upsert(object));
    }
  }
  for (std::uint32_t n = 0; n < nodes; ++n) {
    check_done(engine.upsert(node_with_storage(n)));
    CsiNode csi_node;
    csi_node.name = node_name(n);
    csi_node.drivers = {{kRemote, 25}, {kLocalStorage, {}}};
    check_done(engine.upsert(ReferredObject(csi_node)));
    check_done(engine.upsert(ReferredObject(
        storage_of(kLocalStorage, kNodeLabel, node_name(n), std::int64_t{n % 40} << 30))));
    const std::string name = fmt::format("store-{}", n);
    add_bound(engine, team_claim(name, kRemote), kZoneLabel, zone_name(n % kZoneCount));
    check_done(engine.assume(pod_with_claim(name, name), node_name(n)));
  }
  return engine;
}

}  // namespace

void volumes(const BenchOptions& options, Lines& lines) {
  const std::uint32_t nodes = options.size(50'000);
  Engine engine = engine_with_volumes(nodes);
  struct Kind {
    const char* what;
    // Gives a claim of that name its volume, or none.
    std::function<void(const std::string&)> make;
  };
  Random random{options.seed, kForNodes};
  const auto bound = [&](const std::string& name, const char* key, const std::string& value) {
    add_bound(engine, team_claim(name, kRemote), key, value);
  };
  const auto waits = [&](const std::string& name, const char* storage_class) {
    check_done(engine.upsert(ReferredObject(team_claim(name, storage_class))));
  };
  const Kind kinds[] = {
      {"bound to a volume in one zone",
       [&](const std::string& name) { bound(name, kZoneLabel, zone_name(1)); }},
      {"bound to a volume of one node",
       [&](const std::string& name) { bound(name, kNodeLabel, node_name(random.below(nodes))); }},
      {"which waits for a volume that is made where the pod runs",
       [&](const std::string& name) { waits(name, kRemote); }},
      {"which waits for one of the node's own storage",
       [&](const std::string& name) { waits(name, kLocalStorage); }}};
  std::uint32_t steps = 0;
  std::string node;
  Decision decision;
  const auto decide = [&](const Kind& kind) {
    Pod other = pod_with_claim(fmt::format("other-{}", steps / 2), "none");
    other.volumes.clear();
    if (steps % 2 == 0) {
      node = node_name(random.below(nodes));
      check_done(engine.assume(other, node));
    } else {
      engine.forget(other.namespace_name, other.name, other.uid, node);
    }
    const std::string name = fmt::format("pending-{}", steps++);
    kind.make(name);
    const Pod pod = pod_with_claim(name, name);
    const Stopwatch watch;
    check_done(engine.evaluate(pod, kFast, decision));
    const double seconds = watch.seconds();
    if (steps <= kChecked * std::size(kinds)) {
      check_decision(engine, pod, kFast, decision);
    }
    return seconds;
  };
  Measurement measurement;
  std::vector<const Times*> times;
  for (const Kind& kind : kinds) {
    (void)decide(kind);
    times.push_back(&measurement.add(kind.what, options.iterations(10),
                                     [&decide, &kind] { return decide(kind); }));
  }
  measurement.run(options.repetitions(3));
  for (std::size_t k = 0; k < std::size(kinds); ++k) {
    const double ms = times[k]->median() * 1e3;
    lines.push_back(
        {.row = k == 0 ? "volumes" : "",
         .what = fmt::format("a new pod with a claim of its own, {}; {} nodes, {} volumes, one pod "
                             "bound or gone since",
                             kinds[k].what, nodes, nodes),
         .measured = fmt::format("median {:.2f} ms", ms),
         .unit = "ms",
         .value = ms,
         .target = {},
         .figures = {}});
  }
}

}  // namespace headroom
