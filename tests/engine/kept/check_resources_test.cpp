// Amounts that a pod cannot have are refused in each of its lists, with the list's name.
#include "engine/kept/check_resources.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace headroom::check_resources_test {
namespace {

TEST(CheckResources, EveryListOfAPod) {
  using Set = std::function<void(Pod&, ResourceList)>;
  const std::pair<const char*, Set> lists[] = {
      {"spec.containers[].resources.requests",
       [](Pod& pod, ResourceList list) { pod.containers[0].requests = std::move(list); }},
      {"spec.containers[].resources.limits",
       [](Pod& pod, ResourceList list) { pod.containers[0].limits = std::move(list); }},
      {"status.containerStatuses[].resources.requests",
       [](Pod& pod, ResourceList list) { pod.containers[0].actuated_requests = std::move(list); }},
      {"status.containerStatuses[].allocatedResources",
       [](Pod& pod, ResourceList list) { pod.containers[0].allocated_requests = std::move(list); }},
      {"spec.initContainers[].resources.requests",
       [](Pod& pod, ResourceList list) { pod.init_containers[0].requests = std::move(list); }},
      {"spec.initContainers[].resources.limits",
       [](Pod& pod, ResourceList list) { pod.init_containers[0].limits = std::move(list); }},
      {"status.initContainerStatuses[].resources.requests",
       [](Pod& pod, ResourceList list) {
         pod.init_containers[0].actuated_requests = std::move(list);
       }},
      {"status.initContainerStatuses[].allocatedResources",
       [](Pod& pod, ResourceList list) {
         pod.init_containers[0].allocated_requests = std::move(list);
       }},
      {"spec.resources.requests",
       [](Pod& pod, ResourceList list) { pod.pod_requests = std::move(list); }},
      {"spec.resources.limits",
       [](Pod& pod, ResourceList list) { pod.pod_limits = std::move(list); }},
      {"spec.overhead", [](Pod& pod, ResourceList list) { pod.overhead = std::move(list); }},
      {"status.resources.requests",
       [](Pod& pod, ResourceList list) { pod.actuated_requests = std::move(list); }},
      {"status.allocatedResources",
       [](Pod& pod, ResourceList list) { pod.allocated_requests = std::move(list); }},
  };
  for (const auto& [field, set] : lists) {
    Pod pod;
    pod.namespace_name = "a";
    pod.name = "p";
    pod.containers.emplace_back();
    pod.init_containers.emplace_back();
    set(pod, {{"cpu", Quantity::from_value(8)}});
    EXPECT_TRUE(check_resources(pod)) << field;
    set(pod, {{"cpu", Quantity::from_value(-8)}});
    EXPECT_EQ(check_resources(pod).error().message,
              std::string("Pod a/p: ") + field + ".cpu: -8 is below 0");
    set(pod, {{"cpu", *Quantity::parse("9223372036854775807")}});
    EXPECT_EQ(check_resources(pod).error().code, ErrorCode::kLimitExceeded) << field;
  }
}

}  // namespace
}  // namespace headroom::check_resources_test
