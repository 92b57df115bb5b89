// The object reader on any bytes, JSON and YAML: whatever is read is the same when it is read again
// and when white space follows, its names and quantities are usable, its sums are sane, and what
// pods refer to is written as text that reads the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "objects/pod_resources.h"
#include "objects/reading/object_reader.h"
#include "objects/writing/referred_json_writer.h"
#include "tests/fuzz/check.h"

namespace headroom {
namespace {

bool equal(const Result<ObjectFile>& a, const Result<ObjectFile>& b) {
  if (!a || !b) {
    return !a && !b && a.error().code == b.error().code && a.error().message == b.error().message;
  }
  return a->nodes == b->nodes && a->pods == b->pods && a->node_metrics == b->node_metrics &&
         a->referred_objects == b->referred_objects && a->other_kinds == b->other_kinds;
}

// Sorted by name, each once, values as the reader promises them.
void check_list(const ResourceList& list, bool negative_allowed) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    HEADROOM_FUZZ_CHECK(i == 0 || list[i - 1].first < list[i].first);
    HEADROOM_FUZZ_CHECK(find(list, list[i].first) == &list[i].second);
    HEADROOM_FUZZ_CHECK(list[i].second.value().has_value());
    HEADROOM_FUZZ_CHECK(list[i].first != "cpu" || list[i].second.milli_value().has_value());
    HEADROOM_FUZZ_CHECK(negative_allowed || !(list[i].second < Quantity()));
  }
}

void check_pod(const Pod& pod) {
  HEADROOM_FUZZ_CHECK(!pod.name.empty() && !pod.namespace_name.empty());
  const ResourceList requests = pod_requests(pod);
  for (const Container& container : pod.containers) {
    check_list(container.requests, false);
    check_list(container.limits, false);
    for (const auto& [name, quantity] : container.requests) {
      const Quantity* total = find(requests, name);
      HEADROOM_FUZZ_CHECK(total != nullptr);
      // A pod-level request replaces the sum.
      HEADROOM_FUZZ_CHECK(!pod.pod_requests.empty() || !(*total < quantity));
    }
  }
  for (const KubernetesVersion version :
       {KubernetesVersion::k135, KubernetesVersion::k136, KubernetesVersion::k137}) {
    HEADROOM_FUZZ_CHECK(non_zero_requested(pod, version).size() == 2);
  }
  elastic_quota_requests(pod);
  pod_limits(pod);
  const std::string_view qos = pod_qos_class(pod);
  HEADROOM_FUZZ_CHECK(qos == "Guaranteed" || qos == "Burstable" || qos == "BestEffort");
}

void check_referred(const ReferredObject& object) {
  HEADROOM_FUZZ_CHECK(!key_of(object).empty());
  HEADROOM_FUZZ_CHECK(parse_referred_kind(to_string(kind_of(object))) == kind_of(object));
  const Result<Object> again = read_object(to_json(object), "written");
  HEADROOM_FUZZ_CHECK(again && std::get<ReferredObject>(*again) == object);
}

void check(const std::string& text) {
  const Result<ObjectFile> file = read_objects(text, "fuzz");
  HEADROOM_FUZZ_CHECK(equal(file, read_objects(text, "fuzz")));
  if (!file) {
    HEADROOM_FUZZ_CHECK(file.error().message.starts_with("fuzz: "));
    return;
  }
  // Parsed in place with text behind it, instead of from a copy.
  if (text.find('{') != std::string::npos && text.find_first_not_of(" \t\r\n") == text.find('{')) {
    HEADROOM_FUZZ_CHECK(equal(file, read_objects(text + std::string(100, '\n'), "fuzz")));
  }
  for (const Node& node : file->nodes) {
    HEADROOM_FUZZ_CHECK(!node.name.empty());
    check_list(node.allocatable, false);
  }
  for (const Pod& pod : file->pods) check_pod(pod);
  for (const ReferredObject& object : file->referred_objects) check_referred(object);
  for (const NodeMetric& metric : file->node_metrics) {
    HEADROOM_FUZZ_CHECK(!metric.name.empty());
    check_list(metric.node_usage, true);
    for (const PodMetricInfo& pod : metric.pods) check_list(pod.usage, true);
  }
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headroom::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
