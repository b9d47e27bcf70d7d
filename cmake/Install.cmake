# Headers, static libraries and a package that find_package(cogen) understands: each library is a component, exported by
# itself, so that who asks for one is asked for what that one needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cogen)
set(components values scheduler json tokenizer chat_template checkpoint cache cogen)
if(COGEN_TORCH)
  list(APPEND components torch)
endif()
foreach(component IN LISTS components)
  set(target cogen_${component})
  if(component STREQUAL "cogen")
    set(target cogen)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  install(TARGETS ${target} EXPORT cogen-${component} FILE_SET HEADERS)
  install(EXPORT cogen-${component} NAMESPACE cogen:: DESTINATION ${package_folder})
endforeach()

# The LibTorch of scripts/bootstrap is installed, too, with the libraries that it looks for beside its own folder: the
# package needs nothing of the checkout. Another one stays where it is.
set(COGEN_INSTALLED_TORCH "${COGEN_TORCH_ROOT}")
if(COGEN_TORCH AND COGEN_TORCH_ROOT STREQUAL "${COGEN_DEPS}/torch/torch" AND EXISTS "${COGEN_TORCH_ROOT}")
  set(COGEN_INSTALLED_TORCH ${CMAKE_INSTALL_LIBDIR}/cogen/torch)
  install(DIRECTORY ${COGEN_DEPS}/torch/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/cogen)
endif()
if(NOT COGEN_TORCH)
  set(COGEN_INSTALLED_TORCH "")
endif()

set(COGEN_COMPONENTS ${components})
set(COGEN_HAS_NCCL OFF)
if(TARGET cogen_nccl)
  set(COGEN_HAS_NCCL ON)
endif()
configure_package_config_file(cmake/cogenConfig.cmake.in ${PROJECT_BINARY_DIR}/cogenConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS COGEN_INSTALLED_TORCH)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cogenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cogenConfig.cmake
  ${PROJECT_BINARY_DIR}/cogenConfigVersion.cmake
  cmake/Compiler.cmake cmake/LibTorch.cmake cmake/LibTorchCuda.cmake
  DESTINATION ${package_folder})
include(cmake/PkgConfig.cmake)

# A Debian package says these things in its file "copyright".
set(doc_folder ${CMAKE_INSTALL_DATADIR}/doc/cogen)
install(FILES LICENSE DESTINATION ${doc_folder} COMPONENT license)
if(COGEN_XGRAMMAR)  # its objects are in the library
  install(FILES ${COGEN_XGRAMMAR_ROOT}/LICENSE ${COGEN_XGRAMMAR_ROOT}/NOTICE DESTINATION ${doc_folder}/xgrammar
    COMPONENT license)
endif()
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/Package.cmake)
endif()
