// How much an engine holds. What goes beyond is refused with kLimitExceeded, which names the limit.
#pragma once

#include <cstdint>

namespace headroom {

inline constexpr std::uint32_t kNodesMax = 4'000'000;
inline constexpr std::uint32_t kPodsMax = 64'000'000;
inline constexpr std::uint32_t kResourcesMax = 64;
// Of one pod: resources that its lists name in all, and terms in one list of those that decisions
// hold against every class of nodes (topologySpreadConstraints, podAffinity, ...).
inline constexpr std::uint32_t kResourcesPerPodMax = 128;
inline constexpr std::uint32_t kTermsPerListMax = 256;
inline constexpr std::uint32_t kTopKMax = 1024;
inline constexpr std::uint32_t kScorePluginsMax = 11;
inline constexpr std::uint32_t kElasticQuotasMax = 100'000;
inline constexpr std::uint32_t kPodDisruptionBudgetsMax = 1'000'000;
inline constexpr std::uint32_t kPriorityClassesMax = 10'000;
inline constexpr std::int64_t kThreadsMax = 1024;  // that work on a decision

}  // namespace headroom
