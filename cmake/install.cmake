# `cmake --install`: the libraries, their headers, and a package for find_package(headroom), whose
# target is headroom::engine. With the command, if it was built.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(headroom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)

install(TARGETS headroom_kernels headroom_objects headroom_engine EXPORT headroomTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder kernels objects engine)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headroom/${folder} FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT headroomTargets NAMESPACE headroom:: DESTINATION ${headroom_package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/headroomConfig.cmake.in
  ${PROJECT_BINARY_DIR}/headroomConfig.cmake INSTALL_DESTINATION ${headroom_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headroomConfig.cmake
  ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake DESTINATION ${headroom_package_dir})

if(TARGET headroom)
  install(TARGETS headroom RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
