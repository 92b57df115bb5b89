#include "tools/load/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom {

namespace {

tl::unexpected<Error> differs(std::string what) {
  return fail(ErrorCode::kConflict, "the server and the engine in process differ: " + what);
}

Result<void> compare(const answers::Decision& served, const Decision& own, const Engine& engine,
                     const Greeting& greeting, const std::string& pod) {
  const std::size_t count = served.candidates.size();
  if (served.feasible != own.feasible || served.nodes != own.nodes ||
      count != own.candidates.size()) {
    return differs(fmt::format("pod {}: {} of {} nodes feasible against {} of {}", pod,
                               served.feasible, served.nodes, own.feasible, own.nodes));
  }
  for (std::size_t c = 0; c < count; ++c) {
    const NodeScore& candidate = own.candidates[c];
    const answers::Candidate& its = served.candidates[c];
    const std::size_t plugins = candidate.plugins.size();
    bool same = its.node_name == engine.node_name(candidate.node) && its.total == candidate.total &&
                its.plugins.size() == plugins;
    for (std::size_t p = 0; same && p < plugins; ++p) {
      const PluginScore& score = candidate.plugins[p];
      const std::size_t plugin = its.plugins[p].plugin;
      same = plugin < greeting.plugin_names.size() &&
             greeting.plugin_names[plugin] == to_string(score.plugin) &&
             its.plugins[p].raw == score.raw && its.plugins[p].score == score.score;
    }
    if (!same) {
      return differs(fmt::format("pod {}: candidate {} is {} with {} against {} with {}", pod, c,
                                 its.node_name, its.total, engine.node_name(candidate.node),
                                 candidate.total));
    }
  }
  const bool same = std::equal(served.reasons.begin(), served.reasons.end(), own.reasons.begin(),
                               own.reasons.end(),
                               [](const auto& its, const auto& ours) {
                                 return its.reason == ours.reason && its.nodes == ours.nodes;
                               }) &&
                    served.pre_filter == own.pre_filter;
  return same ? Result<void>() : differs(fmt::format("pod {}: reasons", pod));
}

}  // namespace

Result<void> verify_server(const Endpoint& endpoint, const ClientOptions& options, LoadFacts& facts,
                           Feeder& feeder, std::uint32_t count) {
  Engine& engine = facts.engine();
  const auto stats = feeder.barrier(true, true);
  if (!stats) return tl::unexpected(stats.error());
  if (!stats->invalid.empty()) return differs(stats->invalid);
  if (stats->digest != engine.digest()) {
    return differs(fmt::format(
        "digest {:016x} of {} nodes and {} pods against {:016x} of {} and {}", stats->digest,
        stats->nodes, stats->pods, engine.digest(), engine.stats().nodes, engine.stats().pods));
  }
  if (const std::uint64_t own = facts.capacity_quotas().digest(); stats->capacity_digest != own) {
    return differs(fmt::format("capacity digest {:016x} of {} CapacityQuotas against {:016x} of {}",
                               stats->capacity_digest, stats->capacity_quotas, own,
                               facts.capacity_quotas().stats().quotas));
  }
  Result<Client> client = Client::connect(endpoint, options);
  if (!client) return tl::unexpected(client.error());
  const std::vector<Pod>& pods = facts.request_pods();
  for (std::uint32_t p = 0; p < count; ++p) {
    const Pod& pod = pods[p % pods.size()];
    const EvaluateRequest request{.top_k = 16, .scores = true, .raw_scores = true, .reasons = true};
    const auto served = client->evaluate(pod, request);
    if (!served) return tl::unexpected(served.error());
    const auto own = engine.evaluate(pod, {.top_k = request.top_k});
    if (!own) return tl::unexpected(own.error());
    if (auto same = compare(served->decisions[0], *own, engine, client->greeting(), pod.name);
        !same) {
      return same;
    }
  }
  return {};
}

}  // namespace headroom
