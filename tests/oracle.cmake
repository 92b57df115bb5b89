# The oracle (a scalar transcription of the rules, no code of the product) and its own test.
add_library(headroom_oracle STATIC
  oracle/capacity_proposal.cpp
  oracle/capacity_scheduling.cpp
  oracle/capacity_upstream.cpp
  oracle/disruption_budgets.cpp
  oracle/elastic_quota.cpp
  oracle/facts.cpp
  oracle/json.cpp
  oracle/limit_aware.cpp
  oracle/limit_ratio.cpp
  oracle/limit_score.cpp
  oracle/load_args.cpp
  oracle/load_aware.cpp
  oracle/load_estimate.cpp
  oracle/node_filters.cpp
  oracle/node_resources.cpp
  oracle/oracle.cpp
  oracle/pod_priority.cpp
  oracle/pod_resources.cpp
  oracle/preemption.cpp
  oracle/quantity.cpp
  oracle/resource_limit_aware.cpp
  oracle/time.cpp)
target_include_directories(headroom_oracle PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(headroom_oracle PUBLIC nlohmann_json::nlohmann_json PRIVATE headroom_options)

headroom_add_test(oracle_test SOURCES oracle_test.cpp LIBRARIES headroom_oracle)
