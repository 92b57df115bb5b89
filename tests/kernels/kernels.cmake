# The kernels on every instruction set, and how one is chosen.
headroom_add_test(kernels_test SOURCES kernels/dispatch_test.cpp kernels/filters_test.cpp kernels/kernels_test.cpp
    kernels/narrowing_test.cpp kernels/totals_test.cpp
  LIBRARIES headroom::kernels headroom::engine LABELS kernels)

# Unoptimised and sanitized code leaves small functions out of line; only what ships must not.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HEADROOM_SANITIZE)
  if(TARGET headroom_kernels_neon)
    set(instruction_sets neon)
  else()
    set(instruction_sets "sse42|sse4_2" avx2 avx512)
  endif()
  foreach(names ${instruction_sets})
    string(REGEX REPLACE "[|].*" "" isa ${names})
    add_test(NAME kernel_symbols_${isa}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kernels/kernel_symbols_test.sh ${CMAKE_NM} ${names}
        $<TARGET_OBJECTS:headroom_kernels_${isa}> COMMAND_EXPAND_LISTS)
  endforeach()
endif()
