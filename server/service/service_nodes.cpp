// RequestService: what every node says of a pod, and what single nodes would say. Changes no fact.
#include <fmt/format.h>

#include <algorithm>

#include "server/service/service.h"

namespace headroom {

Result<void> RequestService::evaluate_nodes(Peer& peer, std::uint64_t id,
                                            const wire::EvaluateNodes& request) {
  const std::uint32_t names = size_of(request.node_names());
  const std::pair<const char*, std::uint32_t> lists[] = {
      {"without_pods", size_of(request.without_pods())},
      {"with_pods", size_of(request.with_pods())}};
  if (auto checked = check_items("node_names", names); !checked) return checked;
  for (const auto& [field, size] : lists) {
    if (auto checked = check_items(field, size); !checked) return checked;
    if (size != 0 && names != 1) {
      return fail(
          ErrorCode::kInvalid,
          fmt::format("{}: {} pods with {} node names: they take exactly one", field, size, names));
    }
  }
  if (names != 0 && request.from() != 0) {
    return fail(ErrorCode::kInvalid,
                fmt::format("from: {}: it is of all nodes, not of node_names", request.from()));
  }
  if (names == 0) {
    return ask(peer, *request.pod(), [this, &peer, id, &request](const Pod& pod) -> Result<void> {
      Engine& engine = engine_of(peer);
      if (auto done = engine.evaluate_nodes(pod, nodes_decision_); !done) return done;
      finish(id, nodes_encoder_.encode_page(builder_, nodes_decision_, engine, epoch(),
                                            request.from()));
      return {};
    });
  }
  const Result<const Pod*> pod = resolve(*request.pod(), pod_);
  if (!pod) return tl::unexpected(pod.error());
  Engine& engine = engine_of(peer);
  if (auto resolved = resolve_what_if(engine, request); !resolved) return resolved;
  // Where nobody is to be asked the pre-filter says what it says of the facts.
  const FilterOptions as_if =
      nodes_.empty() ? FilterOptions() : FilterOptions{.without = without_, .with = pods_};
  if (auto done = engine.filter(**pod, nodes_, as_if, nodes_decision_); !done) return done;
  finish(id, nodes_encoder_.encode(builder_, nodes_decision_, engine, epoch()));
  return {};
}

// Into nodes_, those that are known; without_, which points into the request; and pods_.
Result<void> RequestService::resolve_what_if(const Engine& engine,
                                             const wire::EvaluateNodes& request) {
  nodes_.clear();
  for (const flatbuffers::String* name : *request.node_names()) {
    if (auto checked = check_text("node_names", text(name)); !checked) return checked;
    const NodeIndex node = engine.find_node(text(name));
    if (node != kNoNode) nodes_.push_back(node);
  }
  std::vector<NodeIndex> sorted = nodes_;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return fail(ErrorCode::kInvalid,
                fmt::format("node_names: {} comes twice", engine.node_name(*twice)));
  }
  without_.clear();
  for (std::uint32_t p = 0; p < size_of(request.without_pods()); ++p) {
    const wire::PodKey& key = *request.without_pods()->Get(p);
    for (const std::string_view name : {text(key.namespace_name()), text(key.name())}) {
      if (auto checked = check_text("without_pods", name); !checked) return checked;
    }
    without_.push_back({text(key.namespace_name()), text(key.name())});
  }
  return resolve_each("with_pods", request.with_pods());
}

}  // namespace headroom
