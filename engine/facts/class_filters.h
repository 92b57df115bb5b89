// ClassFilters: NodeUnschedulable, NodeName, TaintToleration and NodeAffinity, which a node's class
// decides; and what a code of a class, or of taken ports, means.
//
// Source: kube-scheduler v1.35 (kubernetes/pkg/scheduler/framework/plugins); mode Proposal names
// the taint. Thread safety: one thread at a time. Cost: a class is asked once for a shape.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/facts/reasons.h"
#include "engine/facts/row_classes.h"
#include "engine/profile/profile.h"
#include "engine/table/pod_shape.h"
#include "objects/hash.h"

namespace headroom {

// Why a class rejects a pod, or a row before its columns are looked at; PodShape::class_codes hold
// kClassRejection | index.
struct ClassReason {
  PluginId plugin;
  std::string_view reason;
};

// The reason of rows that hold no node; never shown.
inline constexpr std::uint32_t kNoNodeReason = kClassRejection - 1;
// A row whose pods have a port that the shape asks for; the first of the class reasons. Then those
// whose words are always the same.
inline constexpr std::uint32_t kPortsTaken = kClassRejection;
inline constexpr std::uint32_t kUnschedulableMark = kClassRejection | 1;
inline constexpr std::uint32_t kOtherNodeName = kClassRejection | 2;
inline constexpr std::uint32_t kAffinityMismatch = kClassRejection | 3;
inline constexpr std::uint32_t kUntoleratedTaint = kClassRejection | 4;  // mode Upstream

class ClassFilters {
 public:
  ClassFilters(const Profile& profile, RowClasses& rows, Reasons& reasons);

  // 0, or why nodes of the class reject the shape. `name_matches`: spec.nodeName is the node's or
  // empty.
  std::uint32_t code(const PodShape& shape, const NodeClass& node_class, std::string_view node_name,
                     bool name_matches);
  // The same of a row's class, for a shape that names no node: as prepare() keeps it, or else
  // worked out now.
  std::uint32_t row_code(const PodShape& shape, std::uint32_t row);
  // So that the shape, which is no passing one, keeps the code of every class. In turns: true when
  // nothing is left. Other shapes and events may come between them.
  bool prepare(PodShape& shape, const Pause& pause);
  ClassReason reason(std::uint32_t code) const { return reasons_[code & ~kClassRejection]; }
  // Of all classes; those that shapes cache codes of.
  std::uint32_t reason_count() const { return static_cast<std::uint32_t>(reasons_.size()); }

 private:
  std::uint32_t code_of_taint(const Taint& taint);
  bool code_classes(PodShape& shape, const Pause& pause);

  const bool unschedulable_, node_name_, taint_toleration_, node_affinity_;
  const bool names_taint_;
  RowClasses& rows_;
  Reasons& texts_;
  std::vector<ClassReason> reasons_;  // the first is of kPortsTaken
  // Those of taints, by their text; they stand last, and go with the classes that had them.
  BytesMap<std::string_view, std::uint32_t> of_taints_;
  std::uint64_t generation_ = 0;  // of those classes
};

}  // namespace headroom
