#include "engine/kept/check_resources.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "engine/limits.h"

namespace headroom {

Result<void> check_resources(const ResourceList& list, const std::string& object,
                             const char* field) {
  for (const auto& [name, quantity] : list) {
    if (quantity.nanos() < 0) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: {}.{}: {} is below 0", object, field, name,
                                                   quantity.canonical()));
    }
    if (!resource_amount(name, quantity)) {
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
  std::set<std::string_view> names;
  const auto check = [&](const ResourceList& list, const char* field) {
    if (checked) {
      checked = check_resources(list, object, field);
    }
    for (auto its = list.begin(); checked && its != list.end(); ++its) {
      names.insert(its->first);
      if (names.size() > kResourcesPerPodMax) {
        checked = fail(ErrorCode::kLimitExceeded,
                       fmt::format("{}: {}.{}: kResourcesPerPodMax ({}) other resources are named",
                                   object, field, its->first, kResourcesPerPodMax));
      }
    }
  };
  const auto check_reported = [&](const auto& of, const char* actuated, const char* allocated) {
    if (of.actuated_requests) {
      check(*of.actuated_requests, actuated);
    }
    check(of.allocated_requests, allocated);
  };
  for (const Container& container : pod.containers) {
    check(container.requests, "spec.containers[].resources.requests");
    check(container.limits, "spec.containers[].resources.limits");
    check_reported(container, "status.containerStatuses[].resources.requests",
                   "status.containerStatuses[].allocatedResources");
  }
  for (const Container& container : pod.init_containers) {
    check(container.requests, "spec.initContainers[].resources.requests");
    check(container.limits, "spec.initContainers[].resources.limits");
    check_reported(container, "status.initContainerStatuses[].resources.requests",
                   "status.initContainerStatuses[].allocatedResources");
  }
  check(pod.pod_requests, "spec.resources.requests");
  check(pod.pod_limits, "spec.resources.limits");
  check(pod.overhead, "spec.overhead");
  check_reported(pod, "status.resources.requests", "status.allocatedResources");
  return checked;
}

}  // namespace headroom
