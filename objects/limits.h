// Limits of what is read: of files, of objects and of what they say. Beyond one: kLimitExceeded,
// naming the limit. Kubernetes' own limits, where it has one, or far above what it can hold.
#pragma once

#include <cstddef>

namespace headroom {

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

}  // namespace headroom
