# `cmake --install`: the libraries, their headers, and a package for find_package(headroom), whose
# targets are headroom::engine, headroom::c and, with COMPONENTS client, headroom::client; for C also
# one for pkg-config. With the programs, and what goes with them, if they were built.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(headroom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)

install(TARGETS headroom_kernels headroom_objects headroom_layout headroom_autoscaling headroom_engine
  EXPORT headroomTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder kernels objects layout autoscaling engine)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headroom/${folder} FILES_MATCHING PATTERN "*.h")
endforeach()
install(TARGETS headroom_c EXPORT headroomTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/c/headroom.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT headroomTargets NAMESPACE headroom:: DESTINATION ${headroom_package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/headroomConfig.cmake.in
  ${PROJECT_BINARY_DIR}/headroomConfig.cmake INSTALL_DESTINATION ${headroom_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake DESTINATION ${headroom_package_dir})

file(RELATIVE_PATH headroom_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/headroom.pc.in ${PROJECT_BINARY_DIR}/headroom.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/headroom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headroom)

if(TARGET headroom_client)
  install(TARGETS headroom_wire headroom_client EXPORT headroomClientTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(folder schema client)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headroom/${folder} FILES_MATCHING PATTERN "*.h")
  endforeach()
  install(FILES ${wire_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headroom/schema)
  install(EXPORT headroomClientTargets NAMESPACE headroom:: DESTINATION ${headroom_package_dir})
endif()

if(TARGET headroom)
  install(TARGETS headroom headroomd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/schema/headroom.fbs ${PROJECT_SOURCE_DIR}/schema/README.md
    DESTINATION ${CMAKE_INSTALL_DATADIR}/headroom/schema)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy
    DESTINATION ${CMAKE_INSTALL_DATADIR}/headroom)
endif()
