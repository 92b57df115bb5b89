// The arguments of LoadAwareScheduling; args.h has the contract.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/profile/args/args.h"

namespace headroom {

struct LoadAwareArgs {
  struct Aggregated {
    ResourcePercents usage_thresholds;
    std::string usage_aggregation_type;  // avg, p50, p90, p95, p99; empty: off
    std::int64_t usage_aggregated_duration_us = 0;
    std::string score_aggregation_type;
    std::int64_t score_aggregated_duration_us = 0;
    friend bool operator==(const Aggregated&, const Aggregated&) = default;
  };
  bool filter_expired_node_metrics = true;
  bool enable_schedule_when_node_metrics_expired = false;
  std::int64_t node_metric_expiration_seconds = 180;
  std::map<std::string, std::int64_t> resource_weights = {{"cpu", 1}, {"memory", 1}};
  std::int64_t dominant_resource_weight = 0;
  ResourcePercents usage_thresholds = {{"cpu", 65}, {"memory", 95}};
  ResourcePercents prod_usage_thresholds;
  bool score_according_prod_usage = false;
  bool prod_usage_include_sys = false;
  ResourcePercents estimated_scaling_factors = {{"cpu", 85}, {"memory", 70}};
  std::optional<std::int64_t> estimated_seconds_after_pod_scheduled;
  std::optional<std::int64_t> estimated_seconds_after_initialized;
  bool allow_customize_estimation = false;
  std::optional<Aggregated> aggregated;
  std::vector<std::string> supported_resources;
  friend bool operator==(const LoadAwareArgs&, const LoadAwareArgs&) = default;
};

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

void read_args(const ConfigValue& value, const Profile& profile, LoadAwareArgs& args);
Result<void> check_args(const LoadAwareArgs& args, const Profile& profile,
                        ResourceCheck& resources);

}  // namespace headroom
