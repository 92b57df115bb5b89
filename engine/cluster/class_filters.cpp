#include "engine/cluster/class_filters.h"

#include <fmt/format.h>

#include "objects/assert.h"

namespace headroom {

ClassFilters::ClassFilters(const Profile& profile, RowClasses& rows, Rejections& rejections)
    : name_first_(profile.kubernetes_version >= KubernetesVersion::k137),
      unschedulable_(profile.filters_by(PluginId::kNodeUnschedulable)),
      node_name_(profile.filters_by(PluginId::kNodeName)),
      taint_toleration_(profile.filters_by(PluginId::kTaintToleration)),
      node_affinity_(profile.filters_by(PluginId::kNodeAffinity)),
      names_taint_(profile.mode == Mode::kProposal),
      rows_(rows),
      rejections_(rejections),
      added_{{}, profile.node_affinity.required, {}} {
  if (node_affinity_ && added_.required) {
    added_affinity_ = std::make_unique<const NodeAffinity>(added_);
    // Names too, which of a constraint that names nodes only are not read: with a term of another
    // kind, that no node matches, it is no such one.
    ClassConstraint reads = added_;
    reads.required->push_back({{{"", "Exists", {}}}, {}});
    rows_.read(reads);
  }
}

std::uint32_t ClassFilters::code(const PodShape& shape, const NodeClass& node_class,
                                 std::string_view node_name, bool name_matches) {
  HEADROOM_ASSERT(shape.is_read);
  const bool other_name = node_name_ && !name_matches;
  if (other_name && name_first_) {
    return kOtherNodeName;
  }
  if (unschedulable_ && !passes_node_unschedulable(shape.constraint, node_class)) {
    return kUnschedulableMark;
  }
  if (other_name) {
    return kOtherNodeName;
  }
  if (const Taint* taint =
          taint_toleration_ ? untolerated_taint(shape.constraint, node_class) : nullptr;
      taint != nullptr) {
    return names_taint_ ? code_of_taint(*taint) : kUntoleratedTaint;
  }
  if (added_affinity_ != nullptr && !added_affinity_->passes(node_class, node_name)) {
    return kAddedAffinityMismatch;
  }
  if (node_affinity_ && shape.affinity != nullptr &&
      !shape.affinity->passes(node_class, node_name)) {
    return kAffinityMismatch;
  }
  return 0;
}

std::uint32_t ClassFilters::code_of_taint(const Taint& taint) {
  return rejections_.make(
      PluginId::kTaintToleration, Code::kUnschedulableAndUnresolvable,
      {fmt::format("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value)});
}

std::uint32_t ClassFilters::row_code(const PodShape& shape, std::uint32_t row) {
  if (!rows_.has_split(shape.split)) {
    rows_.split_row(row);
  }
  const std::uint32_t its = rows_.of(row);
  const NodeClasses& classes = rows_.classes();
  if (its == kNoNodeClass) {
    return kClassRejection | kNoNodeReason;
  }
  if (shape.class_generation == classes.generation() && its < shape.class_codes.size()) {
    return shape.class_codes[its];
  }
  return code(shape, classes.at(its), classes.at(its).name, true);
}

bool ClassFilters::prepare(PodShape& shape, const Pause& pause) {
  const NodeClasses& classes = rows_.classes();
  if (shape.class_generation != classes.generation()) {
    shape.class_generation = classes.generation();
    shape.class_codes.clear();
  }
  if (shape.class_codes.empty()) {
    shape.class_codes.push_back(kClassRejection | kNoNodeReason);
  }
  return shape.pinned || code_classes(shape, pause);
}

bool ClassFilters::code_classes(PodShape& shape, const Pause& pause) {
  const NodeClasses& classes = rows_.classes();
  while (shape.class_codes.size() < classes.size()) {
    const auto next = static_cast<std::uint32_t>(shape.class_codes.size());
    if (const std::uint32_t parent = rows_.parent_of(next, shape.split); parent != 0) {
      shape.class_codes.push_back(shape.class_codes[parent]);
      continue;
    }
    shape.class_codes.push_back(code(shape, classes.at(next), classes.at(next).name, true));
    if (shape.class_codes.size() < classes.size() && pause()) {
      return false;
    }
  }
  return true;
}

}  // namespace headroom
