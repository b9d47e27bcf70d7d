# Builds the checkout that it lies in: vcpkg install cogen --overlay-ports=cmake/vcpkg
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH SOURCE_PATH)
cmake_path(GET SOURCE_PATH PARENT_PATH SOURCE_PATH)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES structured-output COGEN_XGRAMMAR)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DCOGEN_TORCH=OFF
    -DCOGEN_MPI=OFF
    -DCOGEN_TESTS=OFF
    -DCOGEN_EXAMPLES=OFF
    -DCOGEN_BENCH=OFF
    -DCOGEN_WERROR=OFF
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cogen)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
set(licenses "${SOURCE_PATH}/LICENSE")
if("structured-output" IN_LIST FEATURES)
  file(GLOB of_xgrammar "${CURRENT_PACKAGES_DIR}/share/doc/cogen/xgrammar/*")
  list(APPEND licenses ${of_xgrammar})
endif()
vcpkg_install_copyright(FILE_LIST ${licenses})
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/cogen")
