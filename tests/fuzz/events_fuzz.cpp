// Any sequence of events on an engine, forks among them: its state stays what the facts say
// (validate() after every event), a rollback restores it, and with its cache it answers as it does
// without. Bytes are the draws of a RandomCluster.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/engine/random/random_cluster.h"
#include "tests/fuzz/check.h"
#include "tests/support/answer_text.h"

namespace headroom {
namespace {

constexpr int kEventsMax = 100;

Engine create(const Profile& profile, const EngineOptions& options) {
  Result<Engine> engine = Engine::create(profile, options);
  HEADROOM_FUZZ_CHECK(engine);
  return std::move(*engine);
}

std::string answer(Engine& engine, const Pod& pod, std::uint32_t top_k) {
  const Result<Decision> decision = engine.evaluate(pod, {.top_k = top_k});
  return decision ? decision_text(engine, *decision) : decision.error().message;
}

// Who would have to go, without the cost.
std::string preemption(Engine& engine, const Pod& pod, bool bound) {
  const Result<PostFilter> answer = engine.post_filter(pod, {.bound = bound});
  if (!answer) return answer.error().message;
  std::string text = to_string(answer->code);
  text.append(" ").append(engine.node_name(answer->nominated_node));
  for (const Victim& victim : answer->victims) {
    text += " " + victim.namespace_name + "/" + victim.name;
  }
  return text + (answer->cross_node ? " across" : "") +
         (answer->cross_node_would_help ? " across would help" : "");
}

// A fork, or the end of one. `digests`: at the open ones.
void change_forks(Draws& draws, std::vector<std::uint64_t>& digests, Engine& cached,
                  Engine& plain) {
  if (digests.empty() || draws.one_in(2)) {
    digests.push_back(cached.digest());
    cached.fork();
    plain.fork();
    return;
  }
  const bool kept = draws.one_in(3);
  for (Engine* engine : {&cached, &plain}) kept ? engine->commit() : engine->rollback();
  HEADROOM_FUZZ_CHECK(cached.validate());
  HEADROOM_FUZZ_CHECK(kept || cached.digest() == digests.back());
  digests.pop_back();
}

void check(std::span<const std::uint8_t> bytes) {
  Draws draws(bytes);
  const RandomProfile random = random_profile(draws);
  const std::size_t cache_bytes = draws.one_in(4) ? 1 : EngineOptions().shape_cache_bytes_max;
  Engine cached = create(random.profile, {.shape_cache_bytes_max = cache_bytes, .threads = 1});
  Engine plain = create(random.profile, {.shape_cache = false, .threads = 1});
  const Engine::Bulk bulk = plain.bulk();
  RandomCluster cluster(draws, random.profile);
  std::vector<std::uint64_t> digests;
  for (int e = 0; e < kEventsMax && !draws.used_up(); ++e) {
    const nlohmann::json event = cluster.event();
    const Result<void> applied = apply_event(cached, event);
    HEADROOM_FUZZ_CHECK(applied.has_value() == apply_event(plain, event).has_value());
    HEADROOM_FUZZ_CHECK(cached.validate());
    if (draws.one_in(8)) change_forks(draws, digests, cached, plain);
    if (!draws.one_in(2)) continue;
    const Pod pod = to_pod(cluster.pod_to_place());
    const std::uint32_t top_k = draws.one_in(2) ? 1 : 16;
    HEADROOM_FUZZ_CHECK(answer(cached, pod, top_k) == answer(plain, pod, top_k));
    if (random.profile.capacity_scheduling) {
      const std::string bounded = preemption(cached, pod, /*bound=*/true);
      HEADROOM_FUZZ_CHECK(bounded == preemption(plain, pod, /*bound=*/true));
      HEADROOM_FUZZ_CHECK(bounded == preemption(plain, pod, /*bound=*/false));
    }
    HEADROOM_FUZZ_CHECK(cached.validate());
  }
  HEADROOM_FUZZ_CHECK(plain.validate());
  HEADROOM_FUZZ_CHECK(cached.digest() == plain.digest());
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({data, size});
  return 0;
}
