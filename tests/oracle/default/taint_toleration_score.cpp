// See taint_toleration_score.h.
#include "oracle/default/taint_toleration_score.h"

namespace oracle::defaults {

Status TaintTolerationPlugin::filter(const Node& node) {
  if (!has_untolerated_taint(node.taints, pod().tolerations)) return {};
  return unresolvable("node(s) had untolerated taint(s)");
}

Status TaintTolerationPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) { return {}; }

// "PreferNoSchedule taints not tolerated by tolerations of that or no effect".
std::int64_t TaintTolerationPlugin::score(const Node& node) {
  std::int64_t count = 0;
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" && !is_tolerated(taint, pod().tolerations)) ++count;
  }
  return count;
}

Status NodeUnschedulablePlugin::filter(const Node& node) {
  if (!node.unschedulable) return {};
  if (is_tolerated({"node.kubernetes.io/unschedulable", "", "NoSchedule"}, pod().tolerations)) {
    return {};
  }
  return unresolvable("node(s) were unschedulable");
}

}  // namespace oracle::defaults
