# The server's requests without sockets. See also fuzz/service_fuzz.cpp.
headroom_add_test(service_test
  SOURCES service_capacity_test.cpp service_decision_test.cpp service_feeding_test.cpp
    service_input_test.cpp service_nodes_test.cpp service_quota_test.cpp
    pending_pods_test.cpp service_reservation_test.cpp service_clock_test.cpp
    service_simulation.cpp service_simulation_test.cpp service_turns_test.cpp
  LIBRARIES headroom::client headroom_service headroom_clusters fmt::fmt LABELS threads)

# Allocations fail in it, as it replaces operator new.
headroom_add_test(service_faults_test SOURCES service_faults_test.cpp
  LIBRARIES headroom::client headroom_service headroom_clusters fmt::fmt)

headroom_add_test(handshakes_test SOURCES handshakes_test.cpp LIBRARIES headroom_sockets)

# A running headroomd over its sockets; each test has a directory and ports of its own.
headroom_hold_to_one_worker(headroomd)
function(headroom_add_daemon_test name)
  headroom_add_test(${name} SOURCES ${name}.cpp daemon_harness.cpp ${ARGN}
    LIBRARIES headroom_load headroom::client headroom_service fmt::fmt LABELS threads)
  add_dependencies(${name} headroomd)
  target_compile_definitions(${name} PRIVATE HEADROOMD_PATH="$<TARGET_FILE:headroomd>")
endfunction()

headroom_add_daemon_test(daemon_test)
headroom_add_daemon_test(daemon_client_test)
headroom_add_daemon_test(daemon_http_test)
headroom_add_daemon_test(daemon_lifecycle_test)
target_link_libraries(daemon_lifecycle_test PRIVATE nlohmann_json::nlohmann_json)
headroom_add_daemon_test(daemon_quota_test)
headroom_add_daemon_test(daemon_restart_test)
set(HEADROOM_RESTARTS 100)
if(HEADROOM_SANITIZE)
  set(HEADROOM_RESTARTS 10)
endif()
target_compile_definitions(daemon_restart_test PRIVATE HEADROOM_RESTARTS=${HEADROOM_RESTARTS})
headroom_add_daemon_test(daemon_tls_test)
