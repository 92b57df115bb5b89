// RequestService: quotas and preemption. None of it changes a fact.
#include <fmt/format.h>

#include "server/answers/encode_elastic_quota.h"
#include "server/service/service.h"

namespace headroom {

Result<void> RequestService::post_filter(Peer& peer, std::uint64_t id,
                                         const wire::PostFilter& request) {
  // In turns where it tells of every node; another cluster is asked from its first node on.
  struct SoFar {
    std::uint64_t cluster = 0;
    PostFilterTurns turns = {};
    PostFilter answer = {};
  };
  return ask_in_turns(
      peer, *request.pod(),
      [this, &peer, id, &request, so_far = SoFar{.cluster = clusters_}](
          const Pod& pod, const Pause& pause) mutable -> Result<bool> {
        if (so_far.cluster != clusters_) so_far = {.cluster = clusters_};
        Engine& engine = engine_of(peer);
        const auto done = engine.post_filter(pod, {.candidates = request.candidates()}, pause,
                                             so_far.turns, so_far.answer);
        if (!done || !*done) return done;
        if (so_far.answer.victims.size() > kVictimsPerReplyMax) {
          return fail(ErrorCode::kLimitExceeded,
                      fmt::format("victims: {}: kVictimsPerReplyMax is {}",
                                  so_far.answer.victims.size(), kVictimsPerReplyMax));
        }
        finish(id, encode(builder_, so_far.answer, engine, epoch()));
        return true;
      });
}

// Of the facts, whichever profile the peer has.
Result<void> RequestService::elastic_quota_status(std::uint64_t id,
                                                  const wire::ElasticQuotaStatus& request) {
  // One more than a reply takes: whether there are more.
  const std::vector<ElasticQuotaStatus> quotas =
      current_->quota_engine().elastic_quota_status(text(request.after()), kQuotasPerReplyMax + 1);
  finish(id, encode(builder_, quotas, epoch()));
  return {};
}

Result<void> RequestService::explain_victims(Peer& peer, std::uint64_t id,
                                             const wire::ExplainVictims& request) {
  return ask(peer, *request.pod(), [this, &peer, id, &request](const Pod& pod) -> Result<void> {
    Engine& engine = engine_of(peer);
    const auto verdicts = engine.explain_victims(pod, text(request.node_name()));
    if (!verdicts) return tl::unexpected(verdicts.error());
    finish(id, encode(builder_, *verdicts, engine, epoch()));
    return {};
  });
}

}  // namespace headroom
