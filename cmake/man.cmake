# The programs' manual pages, made from their --help: part of every build on a system with Python.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND AND NOT HEADROOM_SANITIZE)
  set(man_pages)
  foreach(page headroom.1 headroomd.8)
    cmake_path(GET page STEM program)
    cmake_path(GET page EXTENSION LAST_ONLY section)
    string(SUBSTRING ${section} 1 -1 section)
    set(man_page ${PROJECT_BINARY_DIR}/${page})
    add_custom_command(OUTPUT ${man_page}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/man --section ${section} --output ${man_page}
        $<TARGET_FILE:${program}>
      DEPENDS ${program} ${PROJECT_SOURCE_DIR}/tools/man
      VERBATIM)
    list(APPEND man_pages ${man_page})
    install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
  add_custom_target(man ALL DEPENDS ${man_pages})
else()
  message(STATUS "No manual pages: they take Python 3")
endif()
