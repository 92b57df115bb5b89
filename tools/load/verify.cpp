#include "tools/load/verify.h"

#include <fmt/format.h>

namespace headroom {

namespace {

tl::unexpected<Error> differs(std::string what) {
  return fail(ErrorCode::kConflict, "the server and the engine in process differ: " + what);
}

Result<void> compare(const wire::Decision& served, const Decision& own, const Engine& engine,
                     const Greeting& greeting, const std::string& pod) {
  const std::size_t count = served.node_names() == nullptr ? 0 : served.node_names()->size();
  if (served.feasible() != own.feasible || served.nodes() != own.nodes ||
      count != own.candidates.size()) {
    return differs(fmt::format("pod {}: {} of {} nodes feasible against {} of {}", pod,
                               served.feasible(), served.nodes(), own.feasible, own.nodes));
  }
  for (std::uint32_t c = 0; c < count; ++c) {
    const NodeScore& candidate = own.candidates[c];
    const std::string_view name = text(served.node_names()->Get(c));
    const std::size_t plugins = candidate.plugins.size();
    bool same = name == engine.node_name(candidate.node) &&
                served.totals()->Get(c) == candidate.total &&
                (plugins == 0 || served.plugins()->size() == plugins);
    for (std::uint32_t p = 0; same && p < plugins; ++p) {
      const PluginScore& score = candidate.plugins[p];
      const auto at = static_cast<std::uint32_t>(c * plugins + p);
      same = greeting.plugin_names[served.plugins()->Get(p)] == to_string(score.plugin) &&
             served.raw_scores()->Get(at) == score.raw && served.scores()->Get(at) == score.score;
    }
    if (!same) {
      return differs(fmt::format("pod {}: candidate {} is {} with {} against {} with {}", pod, c,
                                 name, served.totals()->Get(c), engine.node_name(candidate.node),
                                 candidate.total));
    }
  }
  const std::size_t reasons = served.reasons() == nullptr ? 0 : served.reasons()->size();
  bool same = reasons == own.reasons.size();
  for (std::uint32_t r = 0; same && r < reasons; ++r) {
    same = text(served.reasons()->Get(r)->reason()) == own.reasons[r].reason &&
           served.reasons()->Get(r)->nodes() == own.reasons[r].nodes;
  }
  const std::size_t rejections = served.pre_filter() == nullptr ? 0 : served.pre_filter()->size();
  same = same && rejections == own.pre_filter.size();
  for (std::uint32_t r = 0; same && r < rejections; ++r) {
    same = text(served.pre_filter()->Get(r)) == own.pre_filter[r];
  }
  return same ? Result<void>() : differs(fmt::format("pod {}: reasons", pod));
}

}  // namespace

Result<void> verify_server(const Endpoint& endpoint, const ClientOptions& options, LoadFacts& facts,
                           Feeder& feeder, std::uint32_t count) {
  Engine& engine = facts.engine();
  const auto stats = feeder.barrier(true, true);
  if (!stats) return tl::unexpected(stats.error());
  if ((*stats)->invalid() != nullptr) return differs(std::string(text((*stats)->invalid())));
  if ((*stats)->digest() != engine.digest()) {
    return differs(
        fmt::format("digest {:016x} of {} nodes and {} pods against {:016x} of {} and {}",
                    (*stats)->digest(), (*stats)->nodes(), (*stats)->pods(), engine.digest(),
                    engine.stats().nodes, engine.stats().pods));
  }
  if (const std::uint64_t own = facts.capacity_quotas().digest();
      (*stats)->capacity_digest() != own) {
    return differs(fmt::format("capacity digest {:016x} of {} CapacityQuotas against {:016x} of {}",
                               (*stats)->capacity_digest(), (*stats)->capacity_quotas(), own,
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
    if (auto same =
            compare(*(*served)->decisions()->Get(0), *own, engine, client->greeting(), pod.name);
        !same) {
      return same;
    }
  }
  return {};
}

}  // namespace headroom
