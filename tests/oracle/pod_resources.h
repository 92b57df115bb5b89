// Requests and limits of one pod, straight from its JSON, each rule with its source.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "oracle/json.h"
#include "oracle/quantity.h"
#include "oracle/version.h"

namespace oracle {

// Resource name to exact billionths.
using Resources = std::map<std::string, Int128>;

// Resource name to whole units (thousandths for cpu).
using Amounts = std::map<std::string, std::int64_t>;

inline const std::string kCpu = "cpu", kMemory = "memory";

inline constexpr Int128 kDefaultCpu = 100'000'000;           // 100m
inline constexpr Int128 kDefaultMemory = Int128{200} << 20;  // 200Mi, in bytes
inline constexpr Int128 kDefaultMemoryNano = kDefaultMemory * 1'000'000'000;

// A JSON resource list; throws std::invalid_argument that names a value that does not parse.
Resources read_resources(const Json& list);

// One amount in its unit: cpu in thousandths, everything else whole.
std::int64_t to_unit(const std::string& resource, Int128 nano);
Amounts to_units(const Resources& resources);

// 0 for what is absent.
std::int64_t amount(const Amounts& amounts, const std::string& resource);

bool is_extended_resource(const std::string& name);   // v1helper.IsExtendedResourceName
bool is_scalar_resource(const std::string& name);     // schedutil.IsScalarResourceName
bool is_pod_level_resource(const std::string& name);  // cpu, memory, hugepages-*

struct RequestsOptions {
  Resources non_missing;              // what a container without that key counts as
  std::optional<Version> resized_as;  // as that version does
  bool skip_pod_level = false;
};

// component-helpers PodRequests.
Resources pod_requests(const Json& pod, const RequestsOptions& options = {});
// component-helpers PodLimits.
Resources pod_limits(const Json& pod);
// NodeInfo's NonZeroRequested: cpu and memory.
Resources non_zero_requests(const Json& pod, std::optional<Version> resized_as);
// scheduler-plugins' computePodResourceRequest: rounds per container.
Amounts elastic_quota_requests(const Json& pod);
// qos.ComputePodQOS: "Guaranteed", "Burstable" or "BestEffort".
std::string pod_qos_class(const Json& pod);

// What one container counts as for a resource; nullopt where neither limit nor request is set.
using ContainerLimit =
    std::function<std::optional<Int128>(const Resources& requests, const Resources& limits)>;

// proposal-rules.md, Common: the pod's limit for one resource over a container limit, `fallback`
// standing in for containers that set neither.
Int128 shaped_limit(const Json& pod, const std::string& resource, const ContainerLimit& container,
                    Int128 fallback);

}  // namespace oracle
