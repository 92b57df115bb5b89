# Every attack that once worked, under its own name, against a running headroomd.
headroom_add_test(attacks_test
  SOURCES daemon_harness.cpp colliding_names.cpp
    attacks/collide_dns.cpp
    attacks/cost.cpp
    attacks/descriptors.cpp
    attacks/handshakes.cpp
    attacks/httpbomb.cpp
    attacks/httpkill.cpp
    attacks/http_slow_clients.cpp
    attacks/hup.cpp
    attacks/preauth.cpp
    attacks/slow_peers.cpp
  LIBRARIES headroom_load headroom::client headroom_service fmt::fmt LABELS threads)
target_include_directories(attacks_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_dependencies(attacks_test headroomd)
target_compile_definitions(attacks_test PRIVATE HEADROOMD_PATH="$<TARGET_FILE:headroomd>")
