# The C ABI: from plain C, its answers beside those of C++, and what the library shows.
enable_language(C)

add_executable(c_abi_test c/c_abi_test.c)
set_target_properties(c_abi_test PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON
  C_EXTENSIONS OFF)
target_compile_options(c_abi_test PRIVATE -Wall -Wextra -Wpedantic -Werror)
find_package(Threads REQUIRED)
target_link_libraries(c_abi_test PRIVATE headroom::c Threads::Threads)
if(HEADROOM_SANITIZE)
  target_compile_options(c_abi_test PRIVATE -fsanitize=${HEADROOM_SANITIZE})
  target_link_options(c_abi_test PRIVATE -fsanitize=${HEADROOM_SANITIZE})
endif()
add_dependencies(all_tests c_abi_test)
add_dependencies(threads_tests c_abi_test)
add_test(NAME c_abi COMMAND c_abi_test ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(c_abi PROPERTIES LABELS threads)

headroom_add_test(c_abi_answers_test SOURCES c/c_abi_answers_test.cpp
  LIBRARIES headroom::c headroom::engine headroom::autoscaling headroom_workloads)

add_test(NAME c_abi_symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/c/c_abi_symbols_test.sh ${CMAKE_NM}
  $<TARGET_FILE:headroom_c> ${PROJECT_SOURCE_DIR}/c/headroom.h)
set_tests_properties(c_abi_symbols PROPERTIES LABELS release-only)
