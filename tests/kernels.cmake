# The kernels on every instruction set, how one is chosen, and the engine's small parts: the node
# table, histograms, node classes, annotations.
headroom_add_test(kernels_test SOURCES kernels_test.cpp LIBRARIES headroom::kernels)
foreach(name dispatch_test node_table_test raw_histogram_test node_class_test annotations_test)
  headroom_add_test(${name} SOURCES ${name}.cpp LIBRARIES headroom::engine)
endforeach()

# Unoptimised and sanitized code leaves small functions out of line; only what ships must not.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HEADROOM_SANITIZE)
  foreach(names "sse42|sse4_2" avx2 avx512)
    string(REGEX REPLACE "[|].*" "" isa ${names})
    add_test(NAME kernel_symbols_${isa}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kernel_symbols_test.sh ${CMAKE_NM} ${names}
        $<TARGET_OBJECTS:headroom_kernels_${isa}> COMMAND_EXPAND_LISTS)
  endforeach()
endif()
