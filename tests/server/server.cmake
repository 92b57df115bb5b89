# The server's requests without sockets. See also fuzz/service_fuzz.cpp.
headroom_add_test(service_test
  SOURCES server/service_elastic_quota_test.cpp server/service_decision_test.cpp server/service_feeding_test.cpp
    server/service_input_test.cpp server/service_nodes_test.cpp server/service_capacity_quota_test.cpp
    server/service_capacity_check_test.cpp server/service_capacity_reservation_test.cpp server/capacity_answers_test.cpp
    server/pending_pods_test.cpp server/service_reservation_test.cpp server/service_clock_test.cpp
    server/service_referred_objects_test.cpp server/service_profiles_test.cpp
    server/service_simulation.cpp server/service_simulation_test.cpp server/service_turns_test.cpp
  LIBRARIES headroom::client headroom_service headroom_workloads fmt::fmt LABELS threads)
headroom_compile_together(service_test 7)

# Allocations fail in it, as it replaces operator new.
headroom_add_test(service_faults_test SOURCES server/service_faults_test.cpp
  LIBRARIES headroom::client headroom_service headroom_workloads fmt::fmt)

headroom_add_test(client_test SOURCES server/client_test.cpp
  LIBRARIES headroom::client headroom_service headroom_workloads)

headroom_add_test(handshakes_test SOURCES server/handshakes_test.cpp LIBRARIES headroom_sockets)

# A running headroomd over its sockets; each test has a directory and ports of its own.
headroom_hold_to_one_worker(headroomd)
function(headroom_add_daemon_test name)
  headroom_add_test(${name} SOURCES support/daemon_harness.cpp ${ARGN}
    LIBRARIES headroom_load headroom::client headroom_service fmt::fmt nlohmann_json::nlohmann_json
    LABELS threads)
  add_dependencies(${name} headroomd)
  target_compile_definitions(${name} PRIVATE HEADROOMD_PATH="$<TARGET_FILE:headroomd>")
  headroom_compile_together(${name} 12)
endfunction()

headroom_add_daemon_test(daemon_test
  server/daemon/daemon_capacity_quota_test.cpp
  server/daemon/daemon_client_test.cpp
  server/daemon/daemon_http_test.cpp
  server/daemon/daemon_lifecycle_test.cpp
  server/daemon/daemon_limits_test.cpp
  server/daemon/daemon_peers_test.cpp
  server/daemon/daemon_restart_test.cpp
  server/daemon/daemon_test.cpp
  server/daemon/daemon_tls_test.cpp)
set(HEADROOM_RESTARTS 100)
if(HEADROOM_SANITIZE)
  set(HEADROOM_RESTARTS 10)
endif()
target_compile_definitions(daemon_test PRIVATE HEADROOM_RESTARTS=${HEADROOM_RESTARTS})

# ../shared/attacks, each under its own name.
headroom_add_daemon_test(attacks_test
  support/colliding_names.cpp
  attacks/collide_dns.cpp
  attacks/cost.cpp
  attacks/descriptors.cpp
  attacks/handshakes.cpp
  attacks/httpbomb.cpp
  attacks/httpkill.cpp
  attacks/http_slow_clients.cpp
  attacks/hup.cpp
  attacks/preauth.cpp
  attacks/slow_peers.cpp)
