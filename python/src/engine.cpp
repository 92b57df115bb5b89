// headroom.Engine: facts and looking.
#include "python/src/engine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "engine/upsert_objects.h"
#include "python/src/arrays.h"
#include "python/src/columns/node_columns.h"
#include "python/src/columns/pod_columns.h"
#include "python/src/objects.h"
#include "python/src/results.h"
#include "python/src/time.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

Engine make_engine(nb::handle profile, EngineOptions options) {
  Profile read = profile_of(profile);
  return value_of([&] {
    const nb::gil_scoped_release released;
    return Engine::create(std::move(read), options);
  }());
}

// Before anything is done: a warning may be an error.
void warn_of_other_kinds(const ObjectFile& file) {
  for (const auto& [kind, count] : file.other_kinds) {
    const std::string text = "objects: " + std::to_string(count) + " " + kind + " not read";
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }
}

ReferredKind referred_kind_of(const std::string& text) {
  const std::optional<ReferredKind> kind = parse_referred_kind(text);
  if (kind) return *kind;
  std::string message = "kind: \"" + text + "\" is none of ";
  for (std::uint32_t i = 0; i < kReferredKindCount; ++i) {
    message += (i == 0 ? "" : ", ") + std::string(to_string(static_cast<ReferredKind>(i)));
  }
  raise({ErrorCode::kInvalid, message});
}

constexpr auto kCount = [](const Engine&, std::size_t count) { return count; };

std::vector<std::string> node_names(const Engine& engine) {
  std::vector<std::string> names;
  for (std::uint32_t row = 0; row < engine.row_count(); ++row) {
    const std::string_view name = engine.node_name(NodeIndex{row});
    // A row may only be mentioned, by a pod that waits for its node.
    names.emplace_back(engine.find_node(name) == NodeIndex{row} ? name : std::string_view());
  }
  return names;
}

struct Table {
  std::vector<std::string> names, resources;
  std::vector<NodeFigures> figures;
  std::vector<std::int64_t> pods;
};

Result<Table> table_of(const Engine& engine, const std::vector<std::string>& resources) {
  Table table;
  table.names = node_names(engine);
  table.resources = resources;
  for (const std::string& resource : resources) {
    Result<NodeFigures> figures = engine.node_figures(resource);
    if (!figures) return tl::unexpected(figures.error());
    table.figures.push_back(std::move(*figures));
  }
  Result<NodeFigures> pods = engine.node_figures("pods");
  if (!pods) return tl::unexpected(pods.error());
  table.pods = std::move(pods->requested);
  return table;
}

nb::object present(Table&& table) {
  nb::dict allocatable, requested, limits, estimated;
  for (std::size_t r = 0; r < table.resources.size(); ++r) {
    NodeFigures& figures = table.figures[r];
    const auto add = [&](nb::dict& to, std::vector<std::int64_t>& column) {
      if (column.size() == table.names.size()) {
        to[text(table.resources[r])] = array_of(std::move(column));
      }
    };
    add(allocatable, figures.allocatable);
    add(requested, figures.requested);
    add(limits, figures.limits);
    add(estimated, figures.estimated);
  }
  nb::object pods = nb::none();
  if (table.pods.size() == table.names.size()) pods = array_of(std::move(table.pods));
  return make("NodeTable", texts(table.names), allocatable, requested, limits, estimated, pods);
}

}  // namespace

void bind_engine_facts(nb::class_<SharedEngine>& engine) {
  engine
      .def(
          "__init__",
          [](SharedEngine* self, nb::object profile, bool shape_cache, std::size_t cache_bytes_max,
             std::int32_t threads, std::int64_t seed) {
            new (self) SharedEngine(make_engine(profile, {.shape_cache = shape_cache,
                                                          .shape_cache_bytes_max = cache_bytes_max,
                                                          .threads = threads,
                                                          .seed = seed_of(seed)}));
          },
          "profile"_a = nb::none(), nb::kw_only(), "shape_cache"_a = true,
          "shape_cache_bytes_max"_a = EngineOptions().shape_cache_bytes_max, "threads"_a = 0,
          "seed"_a = 0,
          nb::sig("def __init__(self, profile: headroom._types.ProfileLike = None, *, "
                  "shape_cache: bool = True, shape_cache_bytes_max: int = 536870912, "
                  "threads: int = 0, seed: int = 0) -> None"),
          R"(An engine without facts.

profile: a KubeSchedulerConfiguration as a dict, a list of documents, YAML text, or a path;
None is the standard one. shape_cache: off, no answer changes, only its cost. threads: inside a
decision; 0 is what TBB takes. seed: 0, ties go to the lowest row; else to an order drawn from it.
Raises InvalidError, LimitExceededError or UnsupportedError naming the profile's field.)")
      .def(
          "upsert",
          [](SharedEngine& self, nb::object objects) {
            if (nb::isinstance<NodeColumns>(objects)) {
              const NodeColumns& columns = nb::cast<const NodeColumns&>(objects);
              return self.run([&](Engine& e) { return upsert(e, columns); }, kCount);
            }
            if (nb::isinstance<PodColumns>(objects)) {
              const PodColumns& columns = nb::cast<const PodColumns&>(objects);
              return self.run([&](Engine& e) { return upsert(e, columns); }, kCount);
            }
            ObjectFile file = objects_of(objects, "objects");
            if (!file.capacity_quotas.empty()) {
              file.other_kinds["CapacityQuota"] = file.capacity_quotas.size();
            }
            warn_of_other_kinds(file);
            return self.run([&](Engine& e) { return upsert_all(e, file); }, kCount);
          },
          "objects"_a,
          nb::sig("def upsert(self, objects: headroom._types.ObjectsLike | NodeColumns | "
                  "PodColumns) -> int"),
          R"(Takes nodes, pods, NodeMetrics, ElasticQuotas, PodDisruptionBudgets,
PriorityClasses and what nodes and pods refer to (the kinds of remove(), kept where a plugin of the
profile reads them) as facts; of one name the latest counts. Objects of other kinds, CapacityQuotas
among them (CapacityQuotas takes those), are passed over, and a warning counts them by kind.

objects: one or a list of dicts (as json.loads and kubectl give) or models of Kubernetes' Python
client; JSON or YAML text; a path, whose file is read; NodeColumns; PodColumns. Returns how many
were taken: all, or on an error none.)")
      .def("_fork", &SharedEngine::fork)
      .def("_end_fork", &SharedEngine::end_fork)
      .def(
          "fork",
          [](nb::handle self) { return nb::module_::import_("headroom._fork").attr("Fork")(self); },
          nb::sig("def fork(self) -> headroom._fork.Fork"),
          "Tries changes: `with engine.fork(): ...` takes back all that happens inside, the clock "
          "included, unless the fork's commit() keeps it. Forks nest; a fork costs nothing, and "
          "what happens inside a copy of what it changes.")
      .def(
          "save",
          [](SharedEngine& self, nb::object path) {
            const std::string to = path_of(path);
            value_of(self.run([&](Engine& e) { return e.save(to); }));
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Writes all facts and the time to a file, whole or not at all. Raises IoError.")
      .def_static(
          "load",
          [](nb::object path, nb::object profile, std::int32_t threads, std::int64_t seed) {
            const EngineOptions options{.threads = threads, .seed = seed_of(seed)};
            const std::string from = path_of(path);
            Profile read = profile_of(profile);
            return std::make_unique<SharedEngine>(value_of([&] {
              const nb::gil_scoped_release released;
              return Engine::load(std::move(read), from, options);
            }()));
          },
          "path"_a, "profile"_a = nb::none(), nb::kw_only(), "threads"_a = 0, "seed"_a = 0,
          nb::sig(
              "def load(path: str | os.PathLike[str], profile: headroom._types.ProfileLike = None, "
              "*, threads: int = 0, seed: int = 0) -> Engine"),
          "A new engine with what save() wrote. profile: the one that the file was saved under. "
          "Raises InvalidError where the file is none, is damaged, or is of another version or "
          "profile; IoError.")
      .def("remove_node", removal(&Engine::remove_node), "name"_a,
           "Deleting what is not there changes nothing, here and below.")
      .def("remove_pod", removal(&Engine::remove_pod), "namespace"_a, "name"_a,
           "Forgets the pod, bound or assumed.")
      .def("remove_node_metric", removal(&Engine::remove_node_metric), "name"_a,
           "Forgets the node's metric.")
      .def("remove_elastic_quota", removal(&Engine::remove_elastic_quota), "namespace"_a, "name"_a,
           "Forgets the ElasticQuota.")
      .def("remove_pod_disruption_budget", removal(&Engine::remove_pod_disruption_budget),
           "namespace"_a, "name"_a, "Forgets the PodDisruptionBudget.")
      .def("remove_priority_class", removal(&Engine::remove_priority_class), "name"_a,
           "Forgets the PriorityClass.")
      .def(
          "remove",
          [](SharedEngine& self, const std::string& kind, const std::string& name,
             const std::string& space) {
            const ReferredKind referred = referred_kind_of(kind);
            self.run([&](Engine& e) { e.remove(referred, key_of(referred, space, name)); });
          },
          "kind"_a, "name"_a, "namespace"_a = "default",
          R"(Forgets an object that nodes and pods refer to: a Namespace, Service,
ReplicationController, ReplicaSet, StatefulSet, PersistentVolume, PersistentVolumeClaim, StorageClass,
CSINode, CSIDriver or CSIStorageCapacity. namespace: not read where the kind has none.)")
      .def(
          "assume",
          [](SharedEngine& self, nb::object pod, std::string node) {
            const Pod read = pod_of(pod);
            value_of(self.run([&](Engine& e) { return e.assume(read, node); }));
          },
          "pod"_a, "node"_a,
          nb::sig("def assume(self, pod: headroom._types.ObjectsLike, node: str) -> None"),
          "The scheduler has chosen: the pod counts on the node until it is bound, forgotten or "
          "deleted.")
      .def(
          "forget",
          [](SharedEngine& self, std::string space, std::string name,
             std::optional<std::string> uid, std::string node) {
            const std::string its_uid = uid && !uid->empty() ? *uid : pod_key(space, name);
            self.run([&](Engine& e) { e.forget(space, name, its_uid, node); });
          },
          "namespace"_a, "name"_a, "uid"_a.none(), "node"_a,
          "Undoes assume() of the same uid on the same node; anything else changes nothing. uid: "
          "None, of a pod that states none.")
      .def(
          "advance",
          [](SharedEngine& self, nb::object now) {
            const std::int64_t now_us = time_us(now, "now");
            value_of(self.run([&](Engine& e) { return e.advance(now_us); }));
          },
          "now"_a, nb::sig("def advance(self, now: int | datetime.datetime) -> None"),
          "Moves the clock, which the engine never reads itself: microseconds since 1970, or a "
          "datetime with a time zone. Never backwards (InvalidError).");
}

void bind_engine_looking(nb::class_<SharedEngine>& engine) {
  engine
      .def_prop_ro(
          "now_us", [](SharedEngine& self) { return self.run(&Engine::now_us); },
          "The clock, in microseconds since 1970.")
      .def_prop_ro(
          "epoch", [](SharedEngine& self) { return self.run(&Engine::epoch); },
          "Grows with every change of a node's row.")
      .def(
          "stats", [](SharedEngine& self) { return stats_of(self.run(&Engine::stats)); },
          nb::sig("def stats(self) -> headroom._results.Stats"), "Counters.")
      .def(
          "digest", [](SharedEngine& self) { return self.run(&Engine::digest); },
          "The same for the same facts, whatever their order.")
      .def(
          "validate", [](SharedEngine& self) { value_of(self.run(&Engine::validate)); },
          "Recomputes every sum and column from the facts and compares; raises where one differs.")
      .def(
          "node_names",
          [](SharedEngine& self) {
            return texts(self.run([](Engine& e) { return node_names(e); }));
          },
          nb::sig("def node_names(self) -> list[str]"),
          "The nodes' names by row; \"\" where a row has no node.")
      .def(
          "node_of_pod",
          [](SharedEngine& self, std::string space, std::string name) -> nb::object {
            const std::string node = self.run(
                [&](Engine& e) { return std::string(e.node_name(e.node_of_pod(space, name))); });
            if (node.empty()) return nb::none();
            return text(node);
          },
          "namespace"_a, "name"_a,
          nb::sig("def node_of_pod(self, namespace: str, name: str) -> str | None"),
          "Where a pod counts: bound, or else assumed. None: nowhere.")
      .def(
          "nodes",
          [](SharedEngine& self, std::vector<std::string> resources) {
            return self.run([&](Engine& e) { return table_of(e, resources); },
                            [](Engine&, Table&& table) { return present(std::move(table)); });
          },
          "resources"_a = std::vector<std::string>{"cpu", "memory"},
          nb::sig("def nodes(self, resources: collections.abc.Sequence[str] = ('cpu', 'memory')) "
                  "-> headroom._results.NodeTable"),
          R"(What every node has and holds of these resources, as int64 arrays by row.

The arrays are made for the caller and handed over without another copy. NotFoundError: a resource
that no fact names.)")
      .def(
          "elastic_quota_status",
          [](SharedEngine& self) {
            return list_of(self.run([](Engine& e) { return e.elastic_quota_status(); }),
                           elastic_quota_status_of);
          },
          nb::sig("def elastic_quota_status(self) -> list[headroom._results.ElasticQuotaStatus]"),
          "The elastic quotas that count, by namespace.")
      .def(
          "__repr__",
          [](SharedEngine& self) {
            const EngineStats stats = self.run(&Engine::stats);
            return nb::str("<headroom.Engine: {:,} nodes, {:,} pods, {:,} decisions>")
                .attr("format")(stats.nodes, stats.pods, stats.decisions);
          },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "_repr_html_",
          [](SharedEngine& self) {
            return nb::module_::import_("headroom._html")
                .attr("engine")(stats_of(self.run(&Engine::stats)));
          },
          nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace headroom::python
