#include "engine/table/check_resources.h"

#include <fmt/format.h>

namespace headroom {

Result<void> check_resources(const ResourceList& list, const std::string& object,
                             const char* field) {
  for (const auto& [name, quantity] : list) {
    if (quantity.nanos() < 0) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: {}.{}: {} is below 0", object, field, name,
                                                   quantity.canonical()));
    }
    if (!(name == "cpu" ? quantity.milli_value() : quantity.value())) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{}: {}.{}: {} is beyond int64 in its unit", object, field, name,
                              quantity.canonical()));
    }
  }
  return {};
}

Result<void> check_resources(const Pod& pod) {
  const std::string object = "Pod " + pod_key(pod.namespace_name, pod.name);
  Result<void> checked;
  const auto check = [&](const ResourceList& list, const char* field) {
    if (checked) {
      checked = check_resources(list, object, field);
    }
  };
  for (const Container& container : pod.containers) {
    check(container.requests, "spec.containers[].resources.requests");
    check(container.limits, "spec.containers[].resources.limits");
  }
  for (const Container& container : pod.init_containers) {
    check(container.requests, "spec.initContainers[].resources.requests");
    check(container.limits, "spec.initContainers[].resources.limits");
  }
  check(pod.pod_requests, "spec.resources.requests");
  check(pod.pod_limits, "spec.resources.limits");
  check(pod.overhead, "spec.overhead");
  return checked;
}

}  // namespace headroom
