# The command and what it generates, the installed package, and the rules of the tree.
headroom_add_test(tools_test
  SOURCES tools/application_generator_test.cpp tools/capacity_quota_report_test.cpp tools/conformance_test.cpp tools/explain_report_test.cpp
    tools/load_test.cpp tools/tools_test.cpp tools/upstream_capacity_quota_test.cpp
  LIBRARIES headroom_commands)
headroom_compile_together(tools_test 7)

add_dependencies(all_tests headroom)
add_test(NAME cli COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/cli_test.sh $<TARGET_FILE:headroom>)
set_tests_properties(cli PROPERTIES COST 60)
add_test(NAME real_dump COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/real_dump_test.sh $<TARGET_FILE:headroom>
  ${HEADROOM_SHARED_DIR})
set_tests_properties(real_dump PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME structure
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/structure_test.py ${PROJECT_SOURCE_DIR})
add_test(NAME docs COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/docs/docs_test.py ${PROJECT_SOURCE_DIR}
  $<TARGET_FILE:headroom> $<TARGET_FILE:headroomd>)
# The examples of pages and headers compile; that of headroom.h runs.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  set(docs_code ${CMAKE_CURRENT_BINARY_DIR}/docs_code.cpp)
  set(docs_code_c ${CMAKE_CURRENT_BINARY_DIR}/docs_code.c)
  set(folders autoscaling c client engine kernels layout objects schema server simulation tools workloads)
  list(TRANSFORM folders REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.h")
  file(GLOB_RECURSE documented CONFIGURE_DEPENDS ${folders})
  add_custom_command(OUTPUT ${docs_code} ${docs_code_c}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/docs_code.py ${PROJECT_SOURCE_DIR} ${docs_code}
      ${docs_code_c}
    DEPENDS docs/docs_code.py ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/embedding.md
      ${PROJECT_SOURCE_DIR}/docs/protocol.md ${documented}
    VERBATIM)
  add_library(headroom_docs_code OBJECT ${docs_code})
  target_compile_options(headroom_docs_code PRIVATE -O0)
  target_link_libraries(headroom_docs_code PRIVATE headroom_options headroom::autoscaling headroom::client
    headroom::engine)
  headroom_add_c_program(headroom_docs_code_c ${docs_code_c})
  target_compile_options(headroom_docs_code_c PRIVATE -Wno-unused-variable -Wno-unused-but-set-variable)
  add_dependencies(all_tests headroom_docs_code headroom_docs_code_c)
  add_test(NAME docs_code COMMAND headroom_docs_code_c)
  set_tests_properties(docs_code PROPERTIES PASS_REGULAR_EXPRESSION "^web-1: n1\n$")
endif()
add_test(NAME package
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/package/package_test.sh ${PROJECT_BINARY_DIR})
add_test(NAME schema COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/server/schema_test.sh ${PROJECT_SOURCE_DIR} ${HEADROOM_FLATC})
set_tests_properties(schema PROPERTIES SKIP_RETURN_CODE 77)
# A short soak; CONTRIBUTING.md has the long one.
add_executable(soak tools/soak.cpp)
headroom_is_a_judge(soak)
target_link_libraries(soak PRIVATE headroom_load headroom::client headroom::engine fmt::fmt)
add_dependencies(soak headroomd)
add_test(NAME soak COMMAND soak 5)
# None depends on how the build was made; the package of a sanitized build is of no use.
add_test(NAME incomplete COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/incomplete_test.sh ${PROJECT_SOURCE_DIR})
add_test(NAME against COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/against_test.py ${PROJECT_SOURCE_DIR})
set_tests_properties(structure docs package schema soak incomplete against PROPERTIES LABELS release-only)
