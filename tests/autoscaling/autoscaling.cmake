# CapacityQuota: the oracle on the shared cases, stories, what is odd about quotas, and random sequences
# against the oracle (rounds as in engine.cmake).
headroom_add_test(capacity_quota_test
  SOURCES autoscaling/capacity_quota_oracle_test.cpp autoscaling/capacity_quota_stories_test.cpp
    autoscaling/capacity_quota_lint_test.cpp autoscaling/capacity_planning_test.cpp
  LIBRARIES headroom::autoscaling headroom_oracle)
headroom_compile_together(capacity_quota_test 4)

headroom_add_test(capacity_quota_property_test BUSY
  SOURCES autoscaling/capacity_quota_property_test.cpp autoscaling/capacity_quota_compare.cpp
    autoscaling/capacity_quota_run.cpp autoscaling/capacity_quota_run_facts.cpp
    autoscaling/capacity_quota_run_questions.cpp autoscaling/capacity_quota_script.cpp
    autoscaling/capacity_quota_step_text.cpp autoscaling/random_capacity_quotas.cpp
  LIBRARIES headroom::autoscaling headroom_oracle)
headroom_compile_together(capacity_quota_property_test 8)
target_compile_definitions(capacity_quota_property_test PRIVATE
  HEADROOM_ROUNDS_PERCENT=${HEADROOM_ROUNDS_PERCENT})
