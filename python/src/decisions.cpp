// headroom.Engine: decisions. None changes a fact but place().
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "objects/writing/referred_json_writer.h"
#include "python/src/columns/pod_columns.h"
#include "python/src/engine.h"
#include "python/src/errors.h"
#include "python/src/objects.h"
#include "python/src/results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headroom::python {
namespace {

// Presents a list, each of it by `present`.
template <auto present>
constexpr auto kListOf = [](const Engine& engine, const auto& values) {
  return list_of(values, [&](const auto& value) { return present(engine, value); });
};

// A pod's name as "namespace/name", for FilterOptions::without.
PodName pod_name_of(const std::string& key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string::npos) {
    invalid("without: " + key + " is no namespace/name");
  }
  const std::string_view view = key;
  return {view.substr(0, slash), view.substr(slash + 1)};
}

}  // namespace

void bind_engine_decisions(nb::class_<SharedEngine>& engine) {
  engine
      .def(
          "evaluate",
          [](SharedEngine& self, nb::object pod, std::int64_t top_k, bool plugin_scores,
             bool reasons) {
            const EvaluateOptions options{top_k_of(top_k), plugin_scores, reasons};
            const Pod read = pod_of(pod);
            return self.run([&](Engine& e) { return e.evaluate(read, options); }, decision_of);
          },
          "pod"_a, nb::kw_only(), "top_k"_a = 1, "plugin_scores"_a = true, "reasons"_a = true,
          nb::sig("def evaluate(self, pod: headroom._types.ObjectsLike, *, top_k: int = 1, "
                  "plugin_scores: bool = True, reasons: bool = True) -> "
                  "headroom._results.Decision"),
          R"(Which nodes may run the pod, and the top_k best of them (1 to 1,024), best first.

pod: a dict, a model of Kubernetes' Python client, JSON or YAML text, or a path; without
apiVersion and kind it is a v1 Pod. Of all nodes, also where the pod is nominated to one, which
place() tries first. Raises InvalidError or LimitExceededError naming the option or the pod's
field.)")
      .def(
          "evaluate_many",
          [](SharedEngine& self, nb::object pods, std::int64_t top_k, bool plugin_scores,
             bool reasons) {
            const EvaluateOptions options{top_k_of(top_k), plugin_scores, reasons};
            const std::vector<Pod> read = pods_of(pods);
            return self.run([&](Engine& e) { return e.evaluate(read, options); },
                            kListOf<decision_of>);
          },
          "pods"_a, nb::kw_only(), "top_k"_a = 1, "plugin_scores"_a = true, "reasons"_a = true,
          nb::sig("def evaluate_many(self, pods: headroom._types.ObjectsLike, *, top_k: int = 1, "
                  "plugin_scores: bool = True, reasons: bool = True) -> "
                  "list[headroom._results.Decision]"),
          "Many pods against one state, in parallel; answers in the pods' order.")
      .def(
          "evaluate_all",
          [](SharedEngine& self, nb::object pod) {
            const Pod read = pod_of(pod);
            return self.run([&](Engine& e) { return e.evaluate_all(read); },
                            kListOf<node_detail_of>);
          },
          "pod"_a,
          nb::sig("def evaluate_all(self, pod: headroom._types.ObjectsLike) -> "
                  "list[headroom._results.NodeDetail]"),
          "Every node's answer with its reasons and scores, in row order. Costs a full pass and an "
          "object for every node.")
      .def(
          "evaluate_nodes",
          [](SharedEngine& self, nb::object pod) {
            const Pod read = pod_of(pod);
            return self.run(
                [&](Engine& e) -> Result<NodesDecision> {
                  NodesDecision decision;
                  const Result<void> done = e.evaluate_nodes(read, decision);
                  if (!done) return tl::unexpected(done.error());
                  return decision;
                },
                [](const Engine&, NodesDecision&& decision) {
                  return nodes_decision_of(std::move(decision));
                });
          },
          "pod"_a,
          nb::sig("def evaluate_nodes(self, pod: headroom._types.ObjectsLike) -> "
                  "headroom._results.NodesDecision"),
          "Every node's total or verdict, as arrays. Costs as a decision, and some nanoseconds a "
          "node.")
      .def(
          "filter",
          [](SharedEngine& self, nb::object pod, std::string node, std::vector<std::string> without,
             nb::object assumed) {
            const Pod read = pod_of(pod);
            std::vector<PodName> names;
            for (const std::string& key : without) names.push_back(pod_name_of(key));
            const std::vector<Pod> with = pods_of(assumed, "assumed");
            return self.run(
                [&](Engine& e) { return e.filter(read, node, {.without = names, .with = with}); },
                node_detail_of);
          },
          "pod"_a, "node"_a, nb::kw_only(), "without"_a = std::vector<std::string>(),
          "assumed"_a = nb::make_tuple(),
          nb::sig("def filter(self, pod: headroom._types.ObjectsLike, node: str, *, "
                  "without: collections.abc.Sequence[str] = (), "
                  "assumed: headroom._types.ObjectsLike = ()) -> headroom._results.NodeDetail"),
          R"(May this node run the pod? Without scores.

without: pods as "namespace/name" that are looked away from. assumed: pods that are taken to be
there. NotFoundError if the node is not known.)")
      .def(
          "explain",
          [](SharedEngine& self, nb::object pod, std::string node) {
            const Pod read = pod_of(pod);
            return self.run([&](Engine& e) { return e.explain(read, node); },
                            [](const Engine&, const Explanation& explanation) {
                              return explanation_of(explanation);
                            });
          },
          "pod"_a, "node"_a,
          nb::sig("def explain(self, pod: headroom._types.ObjectsLike, node: str) -> "
                  "headroom._results.Explanation"),
          "What one node says of the pod, step by step: the numbers that went in, and what came "
          "out.")
      .def(
          "bound_volumes",
          [](SharedEngine& self, nb::object pod, std::string node) {
            const Pod read = pod_of(pod);
            return self.run([&](Engine& e) { return e.bound_volumes(read, node); },
                            [](const Engine&, const std::vector<ReferredObject>& objects) {
                              const nb::object loads = nb::module_::import_("json").attr("loads");
                              return list_of(objects, [&](const ReferredObject& object) {
                                return loads(to_json(object));
                              });
                            });
          },
          "pod"_a, "node"_a,
          nb::sig("def bound_volumes(self, pod: headroom._types.ObjectsLike, node: str) -> "
                  "list[dict[str, object]]"),
          R"(What the cluster would write of the pod's claims that wait, were it bound to the node.

Each claim's volume, and the claim, bound, as upsert() takes them; none where no claim waits or the
node rejects the pod. Nothing changes: who plays the cluster upserts them before it assumes the pod.
NotFoundError if the node is not known.)")
      .def(
          "place",
          [](SharedEngine& self, nb::object pods, std::int64_t top_k, bool plugin_scores,
             bool reasons, bool preempt) {
            const EvaluateOptions options{top_k_of(top_k), plugin_scores, reasons};
            const std::vector<Pod> read = pods_of(pods);
            return self.run([&](Engine& e) { return e.place(read, options, preempt); },
                            kListOf<placement_of>);
          },
          "pods"_a, nb::kw_only(), "top_k"_a = 1, "plugin_scores"_a = true, "reasons"_a = true,
          "preempt"_a = false,
          nb::sig("def place(self, pods: headroom._types.ObjectsLike, *, top_k: int = 1, "
                  "plugin_scores: bool = True, reasons: bool = True, preempt: bool = False) -> "
                  "list[headroom._results.Placement]"),
          R"(One pod after the other, each assumed on its best node before the next is asked.

A pod that is nominated to a node goes there where that still takes it, without scores. On an error
none is placed; InvalidError: one pod is there twice. With preempt a pod that finds none asks who
must go (post_filter), and waits for its victims' place. For many pods place_columns() costs
less.)")
      .def(
          "place_columns",
          [](SharedEngine& self, const PodColumns& columns, bool scores, bool reasons) {
            return self.run(
                [&](Engine& e) {
                  return place(e, columns, {.scores = scores, .reasons = reasons});
                },
                [](const Engine&, PlacedPods&& placed) {
                  return placed_pods_of(std::move(placed));
                });
          },
          "pods"_a, nb::kw_only(), "scores"_a = false, "reasons"_a = true,
          nb::sig("def place_columns(self, pods: PodColumns, *, scores: bool = False, "
                  "reasons: bool = True) -> headroom._results.PlacedPods"),
          R"(place() for pods in columns: where each was placed, as arrays in the pods' order.

scores: also the chosen nodes' scores by plugin. reasons: also why pods were not placed. The
arrays are handed over without a copy and own their memory. On an error none is placed.
ConflictError: pods without names of their own, and pods of the names that they would get are
known.)")
      .def(
          "pre_filter",
          [](SharedEngine& self, nb::object pod) {
            const Pod read = pod_of(pod);
            return self.run(
                [&](Engine& e) { return e.pre_filter(read); },
                [](const Engine&, const PreFilterStatus& status) { return pre_filter_of(status); });
          },
          "pod"_a,
          nb::sig("def pre_filter(self, pod: headroom._types.ObjectsLike) -> "
                  "headroom._results.PreFilterStatus"),
          "May the pod's namespace have it, by its elastic quota?")
      .def(
          "post_filter",
          [](SharedEngine& self, nb::object pod, bool candidates) {
            const Pod read = pod_of(pod);
            return self.run(
                [&](Engine& e) { return e.post_filter(read, {.candidates = candidates}); },
                post_filter_of);
          },
          "pod"_a, nb::kw_only(), "candidates"_a = false,
          nb::sig("def post_filter(self, pod: headroom._types.ObjectsLike, *, "
                  "candidates: bool = False) -> headroom._results.PostFilter"),
          R"(Who must go so that the pod has its place? For a pod that evaluate() finds
unschedulable. Nothing changes: the caller deletes the victims. candidates: every node's outcome.)")
      .def(
          "explain_victims",
          [](SharedEngine& self, nb::object pod, std::string node) {
            const Pod read = pod_of(pod);
            return self.run([&](Engine& e) { return e.explain_victims(read, node); },
                            kListOf<pod_verdict_of>);
          },
          "pod"_a, "node"_a,
          nb::sig("def explain_victims(self, pod: headroom._types.ObjectsLike, node: str) -> "
                  "list[headroom._results.PodVerdict]"),
          "The node's pods, most important first: which would have to go for the pod, and why.");
}

}  // namespace headroom::python
