#include "engine/kept/check_times.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace headroom {

namespace {

bool is_time_or_none(const std::optional<std::int64_t>& time_us) {
  return !time_us || is_time(*time_us);
}

tl::unexpected<Error> beyond(const std::string& object, const char* field, std::int64_t time_us) {
  return fail(ErrorCode::kLimitExceeded, fmt::format("{}: {}: {} us is beyond kTimeMaxUs ({})",
                                                     object, field, time_us, kTimeMaxUs));
}

}  // namespace

Result<void> check_times(const Pod& pod) {
  const auto since = [](const std::optional<PodCondition>& condition) {
    return condition ? condition->last_transition_us : std::nullopt;
  };
  for (const auto& [time_us, field] :
       {std::pair(pod.creation_us, "metadata.creationTimestamp"),
        std::pair(pod.start_us, "status.startTime"),
        std::pair(since(pod.scheduled), "status.conditions[].lastTransitionTime"),
        std::pair(since(pod.initialized), "status.conditions[].lastTransitionTime")}) {
    if (!is_time_or_none(time_us)) {
      return beyond("Pod " + pod_key(pod), field, *time_us);
    }
  }
  return {};
}

Result<void> check_times(const NodeMetric& metric) {
  return is_time_or_none(metric.update_time_us)
             ? Result<void>()
             : beyond("NodeMetric " + metric.name, "status.updateTime", *metric.update_time_us);
}

}  // namespace headroom
