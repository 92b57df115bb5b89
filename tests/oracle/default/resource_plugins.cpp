// See resource_plugins.h.
#include "oracle/default/resource_plugins.h"

#include <algorithm>

#include "oracle/policies/policies.h"

namespace oracle::defaults {
namespace {

NodeView view_of(const Facts& facts, const Node& node) {
  NodeView view;
  view.node = node.object.get();
  for (const Pod* placed : facts.pods_on(node.name)) {
    view.pods.push_back(PlacedPod{placed->uid, 0, placed->object.get()});
  }
  return view;
}

// "Reasons are sorted".
Status sorted(Status status) {
  std::sort(status.reasons.begin(), status.reasons.end());
  return status;
}

}  // namespace

Cycle ResourcePlugin::cycle() const {
  return Cycle{Mode::kUpstream, 0, pod().object.get(), &args(), version()};
}

Status NodeNamePlugin::filter(const Node& node) {
  return filter_node_name(cycle(), view_of(facts(), node));
}

Status NodePortsPlugin::filter(const Node& node) {
  return filter_node_ports(cycle(), view_of(facts(), node));
}

Status NodeResourcesFitPlugin::filter(const Node& node) {
  return sorted(filter_node_resources_fit(cycle(), view_of(facts(), node)));
}

Status NodeResourcesFitPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) {
  return {};
}

std::int64_t NodeResourcesFitPlugin::score(const Node& node) {
  return score_node_resources_fit(cycle(), view_of(facts(), node)).value;
}

Status BalancedAllocationPlugin::pre_score(const std::vector<const Node*>& /*feasible*/) {
  return {pre_score_balanced_allocation(cycle()), {}};
}

std::int64_t BalancedAllocationPlugin::score(const Node& node) {
  return score_balanced_allocation(cycle(), view_of(facts(), node)).value;
}

Status LimitAwarePlugin::filter(const Node& node) {
  return sorted(filter_limit_aware(cycle(), view_of(facts(), node)));
}

Status LimitAwarePlugin::pre_score(const std::vector<const Node*>& /*feasible*/) { return {}; }

std::int64_t LimitAwarePlugin::score(const Node& node) {
  return score_limit_aware(cycle(), view_of(facts(), node)).value;
}

void LimitAwarePlugin::normalize(Scores& scores) {
  scores = normalize_min_max(Mode::kUpstream, scores);
}

}  // namespace oracle::defaults
