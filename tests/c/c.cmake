# The C ABI: from plain C, its answers beside those of C++, and what the library shows.
enable_language(C)

find_package(Threads REQUIRED)

# Strict C11 on libheadroom.
function(headroom_add_c_program name source)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Werror)
  target_link_libraries(${name} PRIVATE headroom::c Threads::Threads)
  if(HEADROOM_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${HEADROOM_SANITIZE})
    target_compile_definitions(${name} PRIVATE HEADROOM_SANITIZED)
    target_link_options(${name} PRIVATE -fsanitize=${HEADROOM_SANITIZE})
    # clang links the checks that only C++ code asks for with C++ programs alone.
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

headroom_add_c_program(c_abi_test c/c_abi_test.c)
add_dependencies(all_tests c_abi_test)
add_dependencies(threads_tests c_abi_test)
add_test(NAME c_abi COMMAND c_abi_test ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(c_abi PROPERTIES LABELS threads)

headroom_add_test(c_abi_answers_test SOURCES c/c_abi_answers_test.cpp
  LIBRARIES headroom::c headroom::engine headroom::autoscaling headroom_workloads)

add_test(NAME c_abi_symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/c/c_abi_symbols_test.sh ${CMAKE_NM}
  $<TARGET_FILE:headroom_c> ${PROJECT_SOURCE_DIR}/c/headroom.h)
set_tests_properties(c_abi_symbols PROPERTIES LABELS release-only)
