# The oracle (a scalar transcription of the rules, no code of the product) and its own test.
add_library(headroom_oracle STATIC
  oracle/broken_line.cpp
  oracle/quotas/capacity_proposal.cpp
  oracle/quotas/capacity_quota.cpp
  oracle/quotas/capacity_quota_amounts.cpp
  oracle/quotas/capacity_quota_answers.cpp
  oracle/quotas/capacity_quota_plans.cpp
  oracle/quotas/capacity_quota_rows.cpp
  oracle/quotas/capacity_quota_total.cpp
  oracle/quotas/capacity_reservations.cpp
  oracle/quotas/capacity_scheduling.cpp
  oracle/quotas/capacity_upstream.cpp
  oracle/quotas/disruption_budgets.cpp
  oracle/quotas/elastic_quota.cpp
  oracle/facts.cpp
  oracle/json.cpp
  oracle/label_selector.cpp
  oracle/policies/limit_aware.cpp
  oracle/policies/limit_ratio.cpp
  oracle/policies/limit_score.cpp
  oracle/policies/load_args.cpp
  oracle/policies/load_aware.cpp
  oracle/policies/load_estimate.cpp
  oracle/policies/node_filters.cpp
  oracle/policies/node_ports.cpp
  oracle/policies/node_resources.cpp
  oracle/oracle.cpp
  oracle/pod_priority.cpp
  oracle/pod_resources.cpp
  oracle/preemption.cpp
  oracle/quantity.cpp
  oracle/policies/resource_limit_aware.cpp
  oracle/time.cpp)
headroom_compile_together(headroom_oracle 16)
# Of the product: the plain values of objects/objects.h, no function.
target_include_directories(headroom_oracle PUBLIC ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR})
target_link_libraries(headroom_oracle PUBLIC nlohmann_json::nlohmann_json tl::expected)
headroom_is_a_judge(headroom_oracle)

# Its own tests link nothing of the product, and a judge is not sanitized: a sanitizer has nothing to look at there.
if(NOT HEADROOM_SANITIZE)
  headroom_add_test(oracle_test BUSY SOURCES oracle/oracle_test.cpp LIBRARIES headroom_oracle)
endif()

# The default plugins of kube-scheduler, a library of their own so that either compiles without the
# other's test.
add_library(headroom_oracle_default STATIC
  oracle/default/volumes/claims.cpp
  oracle/default/volumes/csi_volume.cpp
  oracle/default/default_preemption.cpp
  oracle/default/default_profile.cpp
  oracle/default/facts.cpp
  oracle/default/go_log.cpp
  oracle/default/image_locality.cpp
  oracle/default/inter_pod_affinity.cpp
  oracle/default/node_affinity_score.cpp
  oracle/default/node_declared_features.cpp
  oracle/default/volumes/node_volume_limits.cpp
  oracle/default/objects.cpp
  oracle/default/plugin.cpp
  oracle/default/resource_plugins.cpp
  oracle/default/scheduling_gates.cpp
  oracle/default/selectors.cpp
  oracle/default/taint_toleration_score.cpp
  oracle/default/topology_spread.cpp
  oracle/default/volumes/volume_binding.cpp
  oracle/default/volumes/volume_restrictions.cpp
  oracle/default/volumes/volume_zone.cpp)
headroom_compile_together(headroom_oracle_default 21)
target_link_libraries(headroom_oracle_default PUBLIC headroom_oracle)
headroom_is_a_judge(headroom_oracle_default)

# Random pods that ask for other pods, nodes and volumes, for whatever holds something against this oracle.
add_library(headroom_random_applications STATIC support/random_applications.cpp)
target_link_libraries(headroom_random_applications PUBLIC headroom_oracle_default)
headroom_is_a_judge(headroom_random_applications)

if(NOT HEADROOM_SANITIZE)
  headroom_add_test(oracle_default_test BUSY SOURCES oracle/default_test.cpp oracle/default_rules_test.cpp
    oracle/default_property_test.cpp LIBRARIES headroom_random_applications)
  headroom_compile_together(oracle_default_test 3)
endif()

# What shim/oracle compares with kube-scheduler's plugins, by hand (CONTRIBUTING.md); tools/test files compiles it.
add_executable(oracle_scenarios EXCLUDE_FROM_ALL oracle/scenarios.cpp)
target_link_libraries(oracle_scenarios PRIVATE headroom_random_applications)
headroom_is_a_judge(oracle_scenarios)
