# What the programs consist of, as SPDX, beside them: part of every build on a system with Debian's packages.
find_package(Python3 3.9 COMPONENTS Interpreter)
find_program(DPKG_QUERY dpkg-query)
if(Python3_Interpreter_FOUND AND DPKG_QUERY AND NOT HEADROOM_SANITIZE)
  set(sbom ${PROJECT_BINARY_DIR}/headroom.spdx.json)
  add_custom_command(OUTPUT ${sbom}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/sbom --output ${sbom}
      $<TARGET_FILE:headroomd> $<TARGET_FILE:headroom> $<TARGET_FILE:headroom_c>
    DEPENDS headroomd headroom headroom_c ${PROJECT_SOURCE_DIR}/tools/sbom ${PROJECT_SOURCE_DIR}/NOTICE
    VERBATIM)
  add_custom_target(sbom ALL DEPENDS ${sbom})
  install(FILES ${sbom} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headroom)
  add_test(NAME sbom COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/tools/sbom_test.py ${sbom}
    $<TARGET_FILE:headroomd>)
  set_tests_properties(sbom PROPERTIES LABELS release-only)
else()
  message(STATUS "No SBOM: it takes Python 3 and dpkg-query")
endif()
