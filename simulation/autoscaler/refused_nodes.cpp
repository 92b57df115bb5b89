#include "simulation/autoscaler/refused_nodes.h"

#include <fmt/format.h>

#include <utility>

#include "objects/assert.h"
#include "simulation/autoscaler/pods_that_ask.h"
#include "simulation/autoscaler/template_nodes.h"

namespace headroom {

Result<std::string> RefusedNodes::add(std::uint32_t id, const Pod& pod, const Node& node_template,
                                      const Profile& profile,
                                      std::span<const ReferredObject> referred_objects) {
  if (!engine_) {
    Profile its = profile;
    its.topology_spread.default_constraints.clear();
    Result<Engine> made = make_judge(std::move(its), referred_objects);
    if (!made) return tl::unexpected(made.error());
    engine_.emplace(std::move(*made));
  }
  const Pod alone = without_others(pod);
  Result<std::string> node = first_fit(*engine_, alone);
  if (!node) return node;
  if (node->empty()) {
    *node = fmt::format("refused-{}", ++named_);
    if (Result<void> added = engine_->upsert(node_of(node_template, *node)); !added) {
      return tl::unexpected(added.error());
    }
  }
  if (Result<void> counted = engine_->assume(alone, *node); !counted) {
    return tl::unexpected(counted.error());
  }
  ++pod_counts_[*node];
  pods_.insert(id);
  new_pods_.push_back(id);
  changed_ = true;
  return node;
}

void RefusedNodes::remove(std::uint32_t id, const Pod& pod, const std::string& node) {
  HEADROOM_ASSERT(engine_.has_value() && pod_counts_.contains(node));
  engine_->remove_pod(pod.namespace_name, pod.name);
  pods_.erase(id);
  std::erase(new_pods_, id);
  changed_ = true;
  const auto found = pod_counts_.find(node);
  if (--found->second > 0) return;
  engine_->remove_node(node);
  pod_counts_.erase(found);
}

void RefusedNodes::noted() {
  new_pods_.clear();
  changed_ = false;
}

}  // namespace headroom
