# CapacityQuota: the oracle on the shared cases, random sequences against the oracle, stories.
headroom_add_test(quota_oracle_test SOURCES quota_oracle_test.cpp
  LIBRARIES headroom::objects headroom_oracle)

headroom_add_test(quota_stories_test SOURCES quota_stories_test.cpp
  LIBRARIES headroom::autoscaling)

# Rounds as in engine.cmake.
headroom_add_test(capacity_quota_property_test
  SOURCES capacity_quota_property_test.cpp quota_compare.cpp quota_run.cpp quota_run_facts.cpp
    quota_run_questions.cpp quota_script.cpp quota_step_text.cpp random_quotas.cpp
  LIBRARIES headroom::autoscaling headroom_oracle)
target_compile_definitions(capacity_quota_property_test PRIVATE
  HEADROOM_ROUNDS_PERCENT=${HEADROOM_ROUNDS_PERCENT})

# Mode Upstream: cluster-autoscaler's own unit tests by name.
headroom_add_test(upstream_quota_test SOURCES upstream_quota_test.cpp LIBRARIES headroom::autoscaling)
