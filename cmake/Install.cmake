# Headers, static libraries and a package that find_package(cogen) understands.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed cogen_values cogen_scheduler cogen_json cogen_tokenizer cogen_chat_template cogen_checkpoint)
set_target_properties(cogen_scheduler PROPERTIES EXPORT_NAME scheduler)
if(COGEN_TORCH)
  list(APPEND installed cogen_cache cogen)
  set_target_properties(cogen_cache PROPERTIES EXPORT_NAME cache)
endif()

# The LibTorch of scripts/bootstrap is installed, too, with the libraries that it looks for beside its own folder: the
# package needs nothing of the checkout. Another one stays where it is.
set(COGEN_INSTALLED_TORCH "${COGEN_TORCH_ROOT}")
if(COGEN_TORCH AND COGEN_TORCH_ROOT STREQUAL "${COGEN_DEPS}/torch/torch" AND EXISTS "${COGEN_TORCH_ROOT}")
  set(COGEN_INSTALLED_TORCH ${CMAKE_INSTALL_LIBDIR}/cogen/torch)
  install(DIRECTORY ${COGEN_DEPS}/torch/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/cogen)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cogen)
install(TARGETS ${installed} EXPORT cogenTargets FILE_SET HEADERS)
install(EXPORT cogenTargets NAMESPACE cogen:: DESTINATION ${package_folder})
configure_package_config_file(cmake/cogenConfig.cmake.in ${PROJECT_BINARY_DIR}/cogenConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS COGEN_INSTALLED_TORCH)
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
