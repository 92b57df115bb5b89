// Reads Kubernetes objects from JSON or YAML, as kubectl prints them: a List (or any *List),
// several documents, JSON lines, or one object; from a file, standard input ("-") or memory.
//
// Whole or not at all: the first object that cannot be used is an error that names the source, the
// object, the field and the value:
//   nodes.json: Node n1: status.allocatable.cpu: "4x" is not a quantity
// An object without a name is "item 17", counting the source's objects from 1. Kinds that Headroom
// does not read are counted; nothing but their form is looked at. Text whose first character is
// { or [ is JSON, other text is YAML.
//
// Unknown fields are skipped, those that are nearly a known one are noted, null is an absent field,
// of equal keys the last wins. Negative requests, limits, overhead and allocatable are refused;
// usage may be negative. Only the annotations of annotations.h are kept. Thread safety: any number
// of threads, each with its own text. Cost: one pass over JSON; beyond the result, memory for one
// object (YAML: for the text once more).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "objects/error.h"
#include "objects/objects.h"

namespace headroom {

// Limits of what is read. Beyond one: kLimitExceeded, naming the limit. Kubernetes' own limits,
// where it has one, or far above what it can hold.
inline constexpr std::size_t kInputBytesMax = std::size_t{16} << 30;       // One source.
inline constexpr std::size_t kObjectTextBytesMax = std::size_t{16} << 20;  // etcd: 1.5 MiB.
inline constexpr std::size_t kObjectsMax = 20'000'000;                     // One source.
inline constexpr std::size_t kYamlBytesMax = std::size_t{256} << 20;       // One source.
inline constexpr std::size_t kYamlPendingBytesMax = std::size_t{4} << 20;  // See yaml_value.h.
inline constexpr std::size_t kYamlAliasBytesMax = std::size_t{16} << 20;   // Copied for aliases.
inline constexpr std::size_t kNestingMax = 128;                            // Of one object.
inline constexpr std::size_t kNameBytesMax = 253;                          // DNS subdomain.
inline constexpr std::size_t kKeyBytesMax = 317;             // Qualified name: 253 + '/' + 63.
inline constexpr std::size_t kStringBytesMax = 1024;         // A label's value and the like.
inline constexpr std::size_t kAnnotationBytesMax = 262'144;  // One annotation; Kubernetes: all.
inline constexpr std::size_t kContainersMax = 1024;          // Of a pod, init containers apart.
inline constexpr std::size_t kResourceListNamesMax = 256;    // Names in one resource list.
inline constexpr std::size_t kListMax = 10'000;         // Taints, tolerations, terms, values, ...
inline constexpr std::size_t kPodMetricsMax = 100'000;  // Of a NodeMetric.
inline constexpr std::size_t kAggregationsMax = 64;     // Of a NodeMetric, and types of each.

inline constexpr std::size_t kNearFieldsNamedMax = 10;

struct ObjectFile {
  // By kind, each in the source's order. The lists may have reserved more room than they use,
  // untouched.
  std::vector<Node> nodes;
  std::vector<NodeMetric> node_metrics;
  std::vector<Pod> pods;
  std::vector<ElasticQuota> elastic_quotas;
  std::vector<PodDisruptionBudget> pod_disruption_budgets;
  std::vector<PriorityClass> priority_classes;
  std::vector<CapacityQuota> capacity_quotas;
  std::vector<ReferredObject> referred_objects;      // of all these kinds
  std::map<std::string, std::uint64_t> other_kinds;  // "apps/v1/Deployment" to count
  // Unknown fields whose names are an edit or two from one that is read there; by name the first
  // kNearFieldsNamedMax, "Pod d/web-1: spec.containers[0].resources.reqests (requests?)".
  std::uint64_t near_count = 0;
  std::vector<std::string> near_fields;
};

// `source` names the text in errors. Errors: kInvalid, kLimitExceeded; kUnsupported for a list
// within a list and for YAML that JSON cannot say; kIo where the file cannot be read.
Result<ObjectFile> read_objects(std::string_view text, std::string_view source);
// The same in parts, for who uses the first while the next are read: one after the other their
// lists are those of the whole. `take` gets parts of up to kObjectsInPart objects; it may exchange
// one for an empty one, whose memory is used again, and returns false where it wants no more. On an
// error what has come is not all.
inline constexpr std::size_t kObjectsInPart = 256;
Result<void> read_objects(std::string_view text, std::string_view source,
                          const std::function<bool(ObjectFile& part)>& take);
// "-" is standard input. A regular file is mapped: it must not be cut short while it is read.
Result<ObjectFile> read_object_file(const std::string& path);

// One object (conformance cases, tests), JSON only. A kind that Headroom does not read is
// kUnsupported.
Result<Object> read_object(std::string_view json, std::string_view source);

// Microseconds since the Unix epoch of "2026-01-01T00:00:00Z", with any offset and fraction; what
// is finer than a microsecond is dropped. kInvalid for other text, which the message holds.
Result<std::int64_t> parse_time_us(std::string_view rfc3339);

}  // namespace headroom
