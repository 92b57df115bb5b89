#include "simulation/autoscaler/template_nodes.h"

#include <algorithm>
#include <utility>

#include "objects/labels.h"

namespace headroom {
namespace {

// The first feasible row: no scores, no texts.
constexpr EvaluateOptions kFirstFit{.top_k = 1, .plugin_scores = false, .reasons = false};

}  // namespace

Node node_of(const Node& node_template, const std::string& name) {
  Node node = node_template;
  node.name = name;
  set_entry(node.labels, kHostnameLabel, name);
  return node;
}

Result<Engine> make_judge(Profile profile, std::span<const ReferredObject> referred_objects) {
  profile.scores.clear();
  profile.capacity_scheduling = false;
  Result<Engine> judge = Engine::create(std::move(profile), {.shape_cache = false, .threads = 1});
  for (std::size_t i = 0; judge && i < referred_objects.size(); ++i) {
    Result<void> added = judge->upsert(referred_objects[i]);
    if (!added) return tl::unexpected(added.error());
  }
  return judge;
}

Result<std::string> first_fit(Engine& judge, const Pod& pod) {
  Result<Decision> decision = judge.evaluate(pod, kFirstFit);
  if (!decision) return tl::unexpected(decision.error());
  if (decision->candidates.empty()) return std::string();
  return std::string(judge.node_name(decision->candidates.front().node));
}

}  // namespace headroom
