// NotConsidered: what a pod asks for, or a node says, that no decision looks at yet. A decision
// made without it may differ from kube-scheduler's, so every answer names it.
//
// A set is one word: it costs a pod nothing. The order is the wire's (schema/headroom.fbs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

enum class NotConsidered : std::uint8_t {
  kSchedulingGates,
  kSchedulerName,
  kRequiredPodAffinity,
  kRequiredPodAntiAffinity,
  kPreferredPodAffinity,
  kPreferredPodAntiAffinity,
  kPreferredNodeAffinity,
  kHardTopologySpread,
  kSoftTopologySpread,
  kPersistentVolumeClaims,
  kVolumes,
  kResourceClaims,
  kPreferNoScheduleTaints,
};
inline constexpr std::uint32_t kNotConsideredCount = 13;

// In people's words: "required pod anti-affinity".
const char* to_string(NotConsidered what);

class NotConsideredSet {
 public:
  void add(NotConsidered what) { bits_ |= bit(what); }
  void add(NotConsideredSet other) { bits_ |= other.bits_; }
  void remove(NotConsideredSet other) { bits_ &= ~other.bits_; }
  bool contains(NotConsidered what) const { return (bits_ & bit(what)) != 0; }
  bool empty() const { return bits_ == 0; }
  std::vector<NotConsidered> list() const;  // in the order of the enum
  friend bool operator==(NotConsideredSet, NotConsideredSet) = default;

 private:
  static std::uint32_t bit(NotConsidered what) { return 1U << static_cast<std::uint32_t>(what); }
  std::uint32_t bits_ = 0;
};

}  // namespace headroom
