// Rejections: why a node rejects a pod before or beside its columns, by the number that stands in a
// row's code (kClassRejection | number).
//
// The first ones are fixed: their words are always the same. Others are made where a text names
// something. They go together, between two decisions, and with them the classes of nodes, by which
// alone numbers are kept from one decision to the next.
// Thread safety: one writer, or any number of readers. Cost: O(1) for a number; O(log numbers) to
// make one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/answers.h"
#include "engine/profile/profile.h"
#include "engine/table/reasons.h"
#include "kernels/kernels.h"

namespace headroom {

struct Rejection {
  PluginId plugin;
  Code code;
  std::vector<std::string_view> reasons;  // sorted
};

// The reason of rows that hold no node; never shown.
inline constexpr std::uint32_t kNoNodeReason = kClassRejection - 1;

// A row whose pods have a port that the pod asks for.
inline constexpr std::uint32_t kPortsTaken = kClassRejection;
inline constexpr std::uint32_t kUnschedulableMark = kClassRejection | 1;
inline constexpr std::uint32_t kOtherNodeName = kClassRejection | 2;
inline constexpr std::uint32_t kAffinityMismatch = kClassRejection | 3;
inline constexpr std::uint32_t kUntoleratedTaint = kClassRejection | 4;  // mode Upstream
inline constexpr std::uint32_t kAddedAffinityMismatch = kClassRejection | 5;
// The pod's affinity names nodes, and this is none of them.
inline constexpr std::uint32_t kNotNamed = kClassRejection | 6;
inline constexpr std::uint32_t kSpreadKeyMissing = kClassRejection | 7;
inline constexpr std::uint32_t kSpreadTooSkewed = kClassRejection | 8;
inline constexpr std::uint32_t kPodAffinity = kClassRejection | 9;
inline constexpr std::uint32_t kPodAntiAffinity = kClassRejection | 10;
inline constexpr std::uint32_t kOthersAntiAffinity = kClassRejection | 11;
inline constexpr std::uint32_t kDiskTaken = kClassRejection | 12;
inline constexpr std::uint32_t kClaimInUse = kClassRejection | 13;
inline constexpr std::uint32_t kTooManyVolumes = kClassRejection | 14;
inline constexpr std::uint32_t kVolumeZoneMismatch = kClassRejection | 15;
inline constexpr std::uint32_t kFeaturesMissing = kClassRejection | 16;
inline constexpr std::uint32_t kForeignClaim = kClassRejection | 17;

// Numbers beyond the fixed ones: of taints, claims and CSI drivers that nodes lack. From the half
// on the next decision begins anew.
inline constexpr std::uint32_t kMadeRejectionsMax = 65'536;

class Rejections {
 public:
  explicit Rejections(Reasons& texts);

  const Rejection& at(std::uint32_t code) const { return all_[code & ~kClassRejection]; }
  // What is beyond kMadeRejectionsMax has a number that was made for the plugin and code.
  std::uint32_t make(PluginId plugin, Code code, const std::vector<std::string>& reasons);
  bool is_half_full() const { return made_.size() >= kMadeRejectionsMax / 2; }
  // Those that were made are no more.
  void forget();
  std::uint32_t count() const { return static_cast<std::uint32_t>(all_.size()); }

 private:
  using Key = std::tuple<PluginId, Code, std::vector<std::string>>;

  Reasons& texts_;
  std::vector<Rejection> all_;
  std::map<Key, std::uint32_t> made_;
};

}  // namespace headroom
