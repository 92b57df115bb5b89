# The engine as a whole: against the oracle, against itself, on stories and on a real cluster.
# Sanitized, emulated and unoptimised builds run fewer rounds of the random tests.
set(HEADROOM_ROUNDS_PERCENT 100)
if(HEADROOM_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(HEADROOM_ROUNDS_PERCENT 10)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HEADROOM_ROUNDS_PERCENT 30)
endif()

# Random clusters, and what an engine and the oracle say of them.
add_library(headroom_random_clusters STATIC
  engine/random/answer_checks.cpp
  engine/random/applications_script.cpp
  engine/random/cached_and_plain.cpp
  engine/random/configurations.cpp
  engine/random/configured_engines.cpp
  engine/random/elastic_quota_check.cpp
  engine/random/engine_snapshot.cpp
  engine/random/random_cluster.cpp
  engine/random/random_elastic_quotas.cpp
  engine/random/script.cpp
  engine/random/script_runner.cpp)
headroom_compile_together(headroom_random_clusters 10)
headroom_is_a_judge(headroom_random_clusters)
target_link_libraries(headroom_random_clusters PUBLIC headroom::engine headroom_oracle headroom_random_applications
  headroom_workloads
  PRIVATE GTest::gtest)

# headroom_add_engine_test(NAME [BUSY] SOURCES FILE...)
function(headroom_add_engine_test name)
  headroom_add_test(${name} ${ARGN} LIBRARIES headroom_random_clusters nlohmann_json::nlohmann_json
    LABELS engine)
  target_compile_definitions(${name} PRIVATE HEADROOM_ROUNDS_PERCENT=${HEADROOM_ROUNDS_PERCENT})
endfunction()

headroom_add_engine_test(engine_test SOURCES
  engine/annotations_test.cpp
  engine/applications/applications_test.cpp
  engine/decide/applied_rows_test.cpp
  engine/decide/best_rows_test.cpp
  engine/applications/bound_volumes_test.cpp
  engine/applications/chosen_volumes_test.cpp
  engine/table/change_log_test.cpp
  engine/kept/check_resources_test.cpp
  engine/elastic_quota_stories_test.cpp
  engine/domains/domain_standings_test.cpp
  engine/domains/fine_sums_test.cpp
  engine/fork_test.cpp
  engine/applications/explain_look_test.cpp
  engine/applications/explain_volumes_test.cpp
  engine/preempt/cross_node_test.cpp
  engine/kept/host_ports_test.cpp
  engine/applications/images_test.cpp
  engine/kept/kept_node_test.cpp
  engine/kept/pod_uid_test.cpp
  engine/applications/label_bits_test.cpp
  engine/large_cluster_test.cpp
  engine/many_domains_test.cpp
  engine/classes/node_class_test.cpp
  engine/classes/node_labels_test.cpp
  engine/node_figures_test.cpp
  engine/table/node_table_test.cpp
  engine/classes/row_classes_test.cpp
  engine/not_considered_test.cpp
  engine/order_test.cpp
  engine/passes_test.cpp
  engine/preemption_test.cpp
  engine/profile/plugin_args_errors_test.cpp
  engine/profile/plugin_args_test.cpp
  engine/profile/profile_errors_test.cpp
  engine/profile/profile_reader_test.cpp
  engine/decide/raw_histogram_test.cpp
  engine/real_cluster_test.cpp
  engine/decide/rows_apart_test.cpp
  engine/decide/tie_order_test.cpp
  engine/random/script_test.cpp
  engine/state_test.cpp
  engine/stories_test.cpp
  engine/scheduling_gates_test.cpp
  engine/applications/volume_classes_test.cpp
  engine/domains/volume_index_test.cpp)
headroom_compile_together(engine_test 16)
# Two threads: ThreadSanitizer looks as well.
headroom_add_test(upsert_text_test SOURCES engine/upsert_text_test.cpp
  LIBRARIES headroom::engine headroom_workloads fmt::fmt LABELS threads)
headroom_add_engine_test(engine_property_test BUSY SOURCES engine/engine_property_test.cpp)
headroom_add_engine_test(default_profile_property_test BUSY SOURCES engine/default_profile_property_test.cpp)
# ../shared/attacks where the engine itself was at fault, each under its own name.
headroom_add_engine_test(engine_attacks_test SOURCES attacks/names_test.cpp attacks/one_pod_test.cpp attacks/resources_test.cpp
  attacks/shapes_test.cpp attacks/wrap_test.cpp)
headroom_compile_together(engine_attacks_test 4)
