# The engine as a whole: against the oracle, against itself, on stories and on a real cluster.
# Sanitized and unoptimised builds run fewer rounds of the random tests.
set(HEADROOM_ROUNDS_PERCENT 100)
if(HEADROOM_SANITIZE)
  set(HEADROOM_ROUNDS_PERCENT 5)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HEADROOM_ROUNDS_PERCENT 30)
endif()

headroom_add_test(engine_property_test LABELS engine
  SOURCES engine_property_test.cpp random_cluster.cpp
  LIBRARIES headroom::engine headroom_oracle headroom_clusters)
target_compile_definitions(engine_property_test PRIVATE
  HEADROOM_ROUNDS_PERCENT=${HEADROOM_ROUNDS_PERCENT})
