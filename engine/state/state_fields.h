// The members of a profile, for state files: as engine/kept/object_fields.h has those of objects.
// A struct that gains one does not compile until it is saved, and then kStateVersion grows.
#pragma once

#include "engine/kept/object_fields.h"
#include "engine/profile/profile.h"

namespace headroom {

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
  const auto& [resources] = args;
  state(resources);
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

void fields(auto& state, const NodeAffinityArgs& args) {
  const auto& [required, preferred] = args;
  state(required, preferred);
}

void fields(auto& state, const PodTopologySpreadArgs& args) {
  const auto& [system_defaults, default_constraints] = args;
  state(system_defaults, default_constraints);
}

void fields(auto& state, const InterPodAffinityArgs& args) {
  const auto& [hard_pod_affinity_weight, ignore_preferred_terms_of_existing_pods] = args;
  state(hard_pod_affinity_weight, ignore_preferred_terms_of_existing_pods);
}

void fields(auto& state, const VolumeBindingArgs& args) {
  const auto& [shape] = args;
  state(shape);
}

void fields(auto& state, const CapacitySchedulingArgs& args) {
  const auto& [cross_node_preemption] = args;
  state(cross_node_preemption);
}

void fields(auto& state, const Profile& profile) {
  const auto& [scheduler_name, mode, filters, scores, capacity_scheduling, scheduling_gates,
               version, fit, balanced, node_affinity, topology_spread, inter_pod_affinity,
               volume_binding, limit_aware, resource_limit_aware, load_aware,
               capacity_scheduling_args] = profile;
  state(scheduler_name, mode, filters, scores, capacity_scheduling, scheduling_gates, version, fit,
        balanced, node_affinity, topology_spread, inter_pod_affinity, volume_binding, limit_aware,
        resource_limit_aware, load_aware, capacity_scheduling_args);
}

}  // namespace headroom
