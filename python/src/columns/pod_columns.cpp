#include "python/src/columns/pod_columns.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>

#include "engine/upsert_objects.h"
#include "objects/hash.h"
#include "python/src/arrays.h"
#include "python/src/columns/amount_columns.h"
#include "python/src/columns/columns.h"
#include "python/src/columns/pod_chunk.h"
#include "python/src/errors.h"
#include "python/src/objects.h"
#include "python/src/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

constexpr std::size_t kTemplatesMax = 1'000'000;

void check_places(const std::vector<std::int64_t>& places, std::size_t templates) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || static_cast<std::size_t>(places[i]) >= templates) {
      invalid("template[" + std::to_string(i) + "]: " + std::to_string(places[i]) + ": there are " +
              std::to_string(templates) + " templates");
    }
  }
}

// Names that are given; one pod twice would count once.
void check_once_each(const PodColumns& pods) {
  BytesMap<std::string, std::size_t> rows;
  rows.reserve(pods.names.size());
  for (std::size_t row = 0; row < pods.names.size(); ++row) {
    const std::size_t from =
        pods.template_of.empty() ? 0 : static_cast<std::size_t>(pods.template_of[row]);
    std::string key = pod_key(pods.templates[from].namespace_name, pods.names[row]);
    if (const auto [same, is_new] = rows.emplace(std::move(key), row); !is_new) {
      invalid("names[" + std::to_string(row) + "]: " + same->first + " is names[" +
              std::to_string(same->second) + "] too");
    }
  }
}

PodColumns read_columns(std::optional<std::size_t> size, nb::handle requests, nb::handle limits,
                        nb::handle templates, nb::handle template_of, nb::handle names,
                        std::string name_prefix, const std::string& space, nb::handle nodes) {
  PodColumns pods;
  pods.requests = amount_columns(requests, "requests", size);
  pods.limits = amount_columns(limits, "limits", size);
  if (!templates.is_none()) pods.templates = pods_of(templates, "templates");
  if (templates.is_none()) {
    if (space.empty() || space.size() > kNameBytesMax) {
      invalid("namespace: has 1 to " + std::to_string(kNameBytesMax) + " bytes");
    }
    pods.templates.resize(1);
    pods.templates.front().namespace_name = space;
    pods.templates.front().phase = "Pending";
  }
  if (pods.templates.empty() || pods.templates.size() > kTemplatesMax) {
    invalid("templates: " + std::to_string(pods.templates.size()) + " pods: give 1 to " +
            std::to_string(kTemplatesMax));
  }
  for (Pod& pod : pods.templates) {
    if (pod.containers.empty()) pod.containers.resize(1);
  }
  if (!template_of.is_none()) {
    pods.template_of = numbers_of(template_of, "template");
    check_size(size, pods.template_of.size(), "template");
    check_places(pods.template_of, pods.templates.size());
  }
  if (!names.is_none()) {
    pods.names = texts_of(names, "names");
    check_size(size, pods.names.size(), "names");
    check_names(pods.names, "names");
  }
  if (!nodes.is_none()) {
    pods.nodes = texts_of(nodes, "nodes");
    check_size(size, pods.nodes.size(), "nodes");
    check_names(pods.nodes, "nodes", true);
  }
  if (!size) invalid("size: no column says how many pods there are: give it");
  if (*size > kPodsMax) {
    raise({ErrorCode::kLimitExceeded, "size: " + std::to_string(*size) + " is beyond kPodsMax (" +
                                          std::to_string(kPodsMax) + ")"});
  }
  constexpr std::size_t kDigitsMax = 8;
  if (name_prefix.size() + kDigitsMax > kNameBytesMax) {
    invalid("name_prefix: longer than " + std::to_string(kNameBytesMax - kDigitsMax) + " bytes");
  }
  pods.size = *size;
  pods.name_prefix = std::move(name_prefix);
  check_once_each(pods);
  return pods;
}

// Adds up chunk after chunk.
class Placing {
 public:
  explicit Placing(std::size_t size) {
    placed_.rows.reserve(size);
    placed_.totals.reserve(size);
    placed_.reason.reserve(size);
  }

  void add(const Placement& placement) {
    const std::size_t index = placed_.rows.size();
    const NotConsideredSet left_out = placement.decision.not_considered;
    if (!left_out.empty()) {
      for (const NotConsidered what : left_out.list()) ++placed_.not_considered[what];
    }
    if (placement.node == kNoNode) {
      placed_.rows.push_back(-1);
      placed_.totals.push_back(0);
      placed_.reason.push_back(reason_of(placement.decision));
      return;
    }
    const NodeScore& best = placement.decision.candidates.front();
    ++placed_.placed;
    placed_.rows.push_back(static_cast<std::int32_t>(placement.node));
    placed_.totals.push_back(best.total);
    placed_.reason.push_back(-1);
    for (const PluginScore& score : best.plugins) {
      column_of(score.plugin, index).push_back(score.score);
    }
  }
  PlacedPods done() {
    for (auto& [plugin, column] : placed_.scores) column.resize(placed_.rows.size(), -1);
    return std::move(placed_);
  }

 private:
  std::vector<std::int32_t>& column_of(PluginId plugin, std::size_t index) {
    auto found = std::find_if(placed_.scores.begin(), placed_.scores.end(),
                              [&](const auto& column) { return column.first == plugin; });
    if (found == placed_.scores.end()) {
      found = placed_.scores.insert(found, {plugin, {}});
      found->second.reserve(placed_.rows.capacity());
    }
    found->second.resize(index, -1);
    return found->second;
  }
  std::int32_t reason_of(const Decision& decision) {
    // Without reasons, the code is all that is known.
    std::string_view main = to_string(decision.code);
    std::uint32_t most = 0;
    for (const ReasonCount& reason : decision.reasons) {
      if (reason.nodes > most) {
        most = reason.nodes;
        main = reason.reason;
      }
    }
    if (!decision.pre_filter.empty()) main = decision.pre_filter.front();
    const auto place = static_cast<std::int32_t>(placed_.reasons.size());
    const auto [known, is_new] = places_.emplace(main, place);
    if (is_new) placed_.reasons.emplace_back(main);
    return known->second;
  }

  PlacedPods placed_;
  std::map<std::string, std::int32_t, std::less<>> places_;  // of reasons
};

}  // namespace

Result<PlacedPods> place(Engine& engine, const PodColumns& pods, const PlaceOptions& options) {
  const EvaluateOptions asked{
      .top_k = 1, .plugin_scores = options.scores, .reasons = options.reasons};
  PodChunk chunk(pods);
  Placing placing(pods.size);
  return all_or_none(engine, [&]() -> Result<PlacedPods> {
    for (std::size_t first = 0; first < pods.size; first += kChunkPods) {
      const std::span<const Pod> some = chunk.at(first);
      if (pods.names.empty()) {
        for (const Pod& pod : some) {
          if (engine.node_of_pod(pod.namespace_name, pod.name) == kNoNode) continue;
          return fail(ErrorCode::kConflict,
                      "Pod " + pod_key(pod.namespace_name, pod.name) +
                          " is on a node already: give names, or another name_prefix");
        }
      }
      const Result<std::vector<Placement>> placements = engine.place(some, asked);
      if (!placements) return tl::unexpected(placements.error());
      for (const Placement& placement : *placements) placing.add(placement);
    }
    return placing.done();
  });
}

Result<std::size_t> upsert(Engine& engine, const PodColumns& pods) {
  PodChunk chunk(pods);
  return all_or_none_in_bulk(engine, [&]() -> Result<std::size_t> {
    for (std::size_t first = 0; first < pods.size; first += kChunkPods) {
      for (const Pod& pod : chunk.at(first)) {
        if (const Result<void> taken = engine.upsert(pod); !taken) {
          return tl::unexpected(taken.error());
        }
      }
    }
    return pods.size;
  });
}

nb::object placed_pods_of(PlacedPods&& placed) {
  nb::dict scores;
  for (auto& [plugin, column] : placed.scores) {
    scores[to_string(plugin)] = array_of(std::move(column));
  }
  nb::dict not_considered;
  for (const auto& [what, count] : placed.not_considered) {
    not_considered[to_string(what)] = count;
  }
  return make("PlacedPods", array_of(std::move(placed.rows)), array_of(std::move(placed.totals)),
              scores, array_of(std::move(placed.reason)), texts(placed.reasons), placed.placed,
              not_considered);
}

void bind_pod_columns(nb::module_& module) {
  nb::class_<PodColumns>(module, "PodColumns",
                         R"(Many pods as columns, for Engine.place_columns() and Engine.upsert().

Read once and copied: the arrays may be changed or freed afterwards, and the columns used with
any number of engines and threads.)")
      .def(
          "__init__",
          [](PodColumns* self, std::optional<std::size_t> size, nb::object requests,
             nb::object limits, nb::object templates, nb::object template_of, nb::object names,
             std::string name_prefix, std::string space, nb::object nodes) {
            new (self) PodColumns(read_columns(size, requests, limits, templates, template_of,
                                               names, std::move(name_prefix), space, nodes));
          },
          "size"_a = nb::none(), nb::kw_only(), "requests"_a = nb::none(), "limits"_a = nb::none(),
          "templates"_a = nb::none(), "template"_a = nb::none(), "names"_a = nb::none(),
          "name_prefix"_a = "pod-", "namespace"_a = "default", "nodes"_a = nb::none(),
          nb::sig(
              "def __init__(self, size: int | None = None, *, "
              "requests: collections.abc.Mapping[str, headroom._types.NumbersLike] | None = None, "
              "limits: collections.abc.Mapping[str, headroom._types.NumbersLike] | None = None, "
              "templates: headroom._types.ObjectsLike | None = None, "
              "template: headroom._types.NumbersLike | None = None, "
              "names: headroom._types.TextsLike | None = None, "
              "name_prefix: str = 'pod-', namespace: str = 'default', "
              "nodes: headroom._types.TextsLike | None = None) -> None"),
          R"(size: how many pods, where no column says it. All columns have one row a pod.

requests, limits: by resource what the pod's first container asks for: cpu in milli, all else in
whole units; 0, it does not name the resource. templates: pods that say all else (tolerations,
selectors, priority, labels, further containers, requests without a column). template: which of
them each pod is made from; the first, if not given. names: the pods' names; name_prefix and the
pod's place, if not given. namespace: of pods without templates. nodes: where pods are bound, ""
for none (Engine.upsert()).

A column of numbers is anything with the buffer protocol or DLPack (numpy), an Arrow array
(__arrow_c_array__, __arrow_c_stream__), a Series, or a sequence of ints: integers, or floats whose
values are whole. Raises TypeError for another type or shape, InvalidError naming column and row
for a negative or missing value, NaN, a fraction, a pod that is there twice, or columns of different
lengths.)")
      .def("__len__", [](const PodColumns& self) { return self.size; })
      .def(
          "__repr__",
          [](const PodColumns& self) {
            return nb::str("<headroom.PodColumns: {:,} pods of {:,} templates>")
                .attr("format")(self.size, self.templates.size());
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace headroom::python
