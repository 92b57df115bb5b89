// The autoscaler on any templates, quotas and pods: it refuses them with a word, or adds nodes by
// its own rules to the end. The input is objects as YAML or JSON: Nodes are templates,
// CapacityQuotas are limits, Pods wait.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "objects/reading/object_reader.h"
#include "simulation/autoscaler/cluster_autoscaler.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

constexpr std::int64_t kStartUs = 1'767'225'600'000'000;
constexpr std::int64_t kProvisionSeconds = 60;
// More is as good, and slow.
constexpr std::size_t kTemplatesTried = 4, kCapacityQuotasTried = 8, kPodsTried = 8;

void check(std::string_view text) {
  Result<ObjectFile> file = read_objects(text, "fuzz");
  if (!file || file->nodes.size() > kTemplatesTried ||
      file->capacity_quotas.size() > kCapacityQuotasTried || file->pods.size() > kPodsTried) {
    return;
  }
  const Profile profile = Profile::standard();
  Engine cluster = Engine::create(profile, {.threads = 1}).value();
  Result<ClusterAutoscaler> made =
      ClusterAutoscaler::create({.templates = std::move(file->nodes),
                                 .quotas = std::move(file->capacity_quotas),
                                 .provision_seconds = kProvisionSeconds},
                                profile, {}, kStartUs);
  if (!made) {
    HEADROOM_FUZZ_CHECK(!made.error().message.empty());
    return;
  }
  for (std::uint32_t id = 0; id < file->pods.size(); ++id) {
    Pod& pod = file->pods[id];
    pod.node_name.clear();
    made->add(id, pod);
  }
  std::int64_t now_us = kStartUs;
  std::size_t steps = 0;
  while (true) {
    const Result<AutoscalerStep> step = made->step(cluster, now_us);
    if (!step) {
      HEADROOM_FUZZ_CHECK(!step.error().message.empty());
      return;
    }
    HEADROOM_FUZZ_CHECK(made->broken_rules().empty());
    const std::int64_t next_us = made->next_ready_us();
    if (next_us == INT64_MAX) break;
    HEADROOM_FUZZ_CHECK(next_us > now_us);
    now_us = next_us;
    HEADROOM_FUZZ_CHECK(made->take_ready(now_us));
    // Pods whose nodes come in vain are given up, so this has an end.
    HEADROOM_FUZZ_CHECK(++steps <= (kPromisesPerPodMax + 1) * (kPodsTried + 1));
  }
  made->report(now_us);
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
