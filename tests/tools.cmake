# The command and what it generates, the installed package, and the rules of the tree.
headroom_add_test(tools_test SOURCES tools_test.cpp LIBRARIES headroom_clusters)
headroom_add_test(simulation_test SOURCES simulation_test.cpp LIBRARIES headroom_commands)

add_test(NAME cli COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli_test.sh $<TARGET_FILE:headroom>)
add_test(NAME structure
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/structure_test.sh ${PROJECT_SOURCE_DIR})
add_test(NAME package
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/package_test.sh ${PROJECT_BINARY_DIR})
# Neither depends on how the build was made; the package of a sanitized build is of no use.
set_tests_properties(structure package PROPERTIES LABELS release-only)
