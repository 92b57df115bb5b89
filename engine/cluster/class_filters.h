// ClassFilters: NodeUnschedulable, NodeName, TaintToleration and NodeAffinity, which a node's class
// decides; and what a code of a class, or of taken ports, means.
//
// Source: kube-scheduler v1.37 (kubernetes/pkg/scheduler/framework/plugins), which asks NodeName
// first; NodeUnschedulable was first until 1.36. Mode Proposal names the taint. Thread safety: one
// thread at a time. Cost: a class is asked once for a shape.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/classes/row_classes.h"
#include "engine/profile/profile.h"
#include "engine/table/pod_shape.h"
#include "engine/table/rejections.h"

namespace headroom {

class ClassFilters {
 public:
  ClassFilters(const Profile& profile, RowClasses& rows, Rejections& rejections);

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
  const Rejection& rejection(std::uint32_t code) const { return rejections_.at(code); }

 private:
  std::uint32_t code_of_taint(const Taint& taint);
  bool code_classes(PodShape& shape, const Pause& pause);

  const bool name_first_;
  const bool unschedulable_, node_name_, taint_toleration_, node_affinity_;
  const bool names_taint_;
  RowClasses& rows_;
  Rejections& rejections_;
  ClassConstraint added_;                               // what the profile asks for besides
  std::unique_ptr<const NodeAffinity> added_affinity_;  // of it; nullptr: nothing
};

}  // namespace headroom
