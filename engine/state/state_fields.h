// The members of what state files hold (state_bytes.h), each struct's once for both directions.
//
// Members are named by structured bindings: a struct that gains one does not compile until it is
// saved, and then kStateVersion grows.
#pragma once

#include <concepts>
#include <type_traits>

#include "engine/profile/profile.h"
#include "objects/objects.h"

namespace headroom {

// The struct, to be read into or to be written.
template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

// The greatest value of an enum that is read.
constexpr PortProtocol last_of(PortProtocol) { return PortProtocol::kSctp; }
constexpr Quantity::Format last_of(Quantity::Format) { return Quantity::Format::kDecimalSI; }

// --- Objects ---

void fields(auto& state, MaybeConst<Taint> auto& taint) {
  auto& [key, value, effect] = taint;
  state(key, value, effect);
}

void fields(auto& state, MaybeConst<NodeSelectorRequirement> auto& requirement) {
  auto& [key, op, values] = requirement;
  state(key, op, values);
}

void fields(auto& state, MaybeConst<Node> auto& node) {
  auto& [name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting] = node;
  state(name, labels, annotations, unschedulable, taints, capacity, allocatable, deleting);
}

void fields(auto& state, MaybeConst<ContainerPort> auto& port) {
  auto& [host_port, protocol, host_ip] = port;
  state(host_port, protocol, host_ip);
}

void fields(auto& state, MaybeConst<ElasticQuota> auto& quota) {
  auto& [namespace_name, name, min, max] = quota;
  state(namespace_name, name, min, max);
}

void fields(auto& state, MaybeConst<PodDisruptionBudget> auto& budget) {
  auto& [namespace_name, name, selector, disruptions_allowed, disrupted_pods] = budget;
  state(namespace_name, name, selector, disruptions_allowed, disrupted_pods);
}

void fields(auto& state, MaybeConst<PriorityClass> auto& priority_class) {
  auto& [name, value, global_default, preemption_policy] = priority_class;
  state(name, value, global_default, preemption_policy);
}

// --- The profile, which is written alone ---

void fields(auto& state, const ResourceWeight& resource) {
  const auto& [name, weight] = resource;
  state(name, weight);
}

void fields(auto& state, const ScorePlugin& score) {
  const auto& [plugin, weight] = score;
  state(plugin, weight);
}

void fields(auto& state, const NodeResourcesFitArgs::ShapePoint& point) {
  const auto& [utilization, score] = point;
  state(utilization, score);
}

void fields(auto& state, const NodeResourcesFitArgs& args) {
  const auto& [strategy, resources, shape, ignored_resources, ignored_resource_groups] = args;
  state(strategy, resources, shape, ignored_resources, ignored_resource_groups);
}

void fields(auto& state, const BalancedAllocationArgs& args) {
  const auto& [resources, score_change] = args;
  state(resources, score_change);
}

void fields(auto& state, const LimitAwareArgs& args) {
  const auto& [resources, default_ratio, bad_default_ratios] = args;
  state(resources, default_ratio, bad_default_ratios);
}

void fields(auto& state, const ResourceLimitAwareArgs& args) {
  const auto& [resources, default_limit] = args;
  state(resources, default_limit);
}

void fields(auto& state, const LoadAwareArgs::Aggregated& args) {
  const auto& [usage_thresholds, usage_type, usage_duration_us, score_type, score_duration_us] =
      args;
  state(usage_thresholds, usage_type, usage_duration_us, score_type, score_duration_us);
}

void fields(auto& state, const LoadAwareArgs& args) {
  const auto& [filter_expired, schedule_when_expired, expiration_seconds, weights, dominant_weight,
               thresholds, prod_thresholds, score_according_prod, include_sys, factors,
               after_scheduled, after_initialized, customize, aggregated, supported] = args;
  state(filter_expired, schedule_when_expired, expiration_seconds, weights, dominant_weight,
        thresholds, prod_thresholds, score_according_prod, include_sys, factors, after_scheduled,
        after_initialized, customize, aggregated, supported);
}

void fields(auto& state, const CapacitySchedulingArgs& args) {
  const auto& [cross_node_preemption] = args;
  state(cross_node_preemption);
}

void fields(auto& state, const Profile& profile) {
  const auto& [scheduler_name, mode, filters, scores, capacity_scheduling, fit, balanced,
               limit_aware, resource_limit_aware, load_aware, capacity] = profile;
  state(scheduler_name, mode, filters, scores, capacity_scheduling, fit, balanced, limit_aware,
        resource_limit_aware, load_aware, capacity);
}

}  // namespace headroom
