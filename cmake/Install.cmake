# Headers, static libraries and a package that find_package(cogen) understands.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed cogen_scheduler cogen_json cogen_tokenizer cogen_chat_template cogen_checkpoint)
set_target_properties(cogen_scheduler PROPERTIES EXPORT_NAME scheduler)
if(COGEN_TORCH)
  list(APPEND installed cogen_cache cogen)
  set_target_properties(cogen_cache PROPERTIES EXPORT_NAME cache)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cogen)
install(TARGETS ${installed} EXPORT cogenTargets FILE_SET HEADERS)
install(EXPORT cogenTargets NAMESPACE cogen:: DESTINATION ${package_folder})
configure_package_config_file(cmake/cogenConfig.cmake.in ${PROJECT_BINARY_DIR}/cogenConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cogenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cogenConfig.cmake
  ${PROJECT_BINARY_DIR}/cogenConfigVersion.cmake
  cmake/Compiler.cmake cmake/LibTorch.cmake cmake/Dependencies.cmake
  DESTINATION ${package_folder})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cogen)
if(COGEN_XGRAMMAR AND COGEN_TORCH)  # its objects are in the library
  install(FILES ${COGEN_XGRAMMAR_ROOT}/LICENSE ${COGEN_XGRAMMAR_ROOT}/NOTICE
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cogen/xgrammar)
endif()
