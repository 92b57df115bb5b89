# The engine as a whole: against the oracle, against itself, on stories and on a real cluster.
# Sanitized and unoptimised builds run fewer rounds of the random tests.
set(HEADROOM_ROUNDS_PERCENT 100)
if(HEADROOM_SANITIZE)
  set(HEADROOM_ROUNDS_PERCENT 10)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HEADROOM_ROUNDS_PERCENT 30)
endif()

function(headroom_add_engine_test name)
  headroom_add_test(${name} SOURCES ${name}.cpp ${ARGN}
    LIBRARIES headroom::engine headroom_oracle headroom_clusters LABELS engine)
  target_compile_definitions(${name} PRIVATE HEADROOM_ROUNDS_PERCENT=${HEADROOM_ROUNDS_PERCENT})
endfunction()

headroom_add_engine_test(capacity_stories_test)
headroom_add_engine_test(engine_property_test capacity_check.cpp engine_snapshot.cpp random_capacity.cpp
  random_cluster.cpp script_runner.cpp)
headroom_add_engine_test(fork_test capacity_check.cpp engine_snapshot.cpp)
headroom_add_engine_test(host_ports_test)
headroom_add_engine_test(large_cluster_test)
headroom_add_engine_test(node_figures_test)
headroom_add_engine_test(not_considered_test)
headroom_add_engine_test(order_test random_capacity.cpp random_cluster.cpp)
headroom_add_engine_test(preemption_test)
headroom_add_engine_test(real_cluster_test)
headroom_add_engine_test(state_test)
headroom_add_engine_test(stories_test)
# ../shared/attacks where the engine itself was at fault, each under its own name.
headroom_add_test(engine_attacks_test SOURCES attacks/names_test.cpp attacks/resources_test.cpp
    attacks/shapes_test.cpp attacks/wrap_test.cpp
  LIBRARIES headroom::engine fmt::fmt LABELS engine)
