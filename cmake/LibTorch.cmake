# Imported targets for the LibTorch in COGEN_TORCH_ROOT, or for one given by CMAKE_PREFIX_PATH / Torch_DIR; without one,
# there are none. Read by the build and, in the installed package, by find_package(cogen).
# find_package(Torch) is the fallback only: with a CUDA build of LibTorch it insists on a CUDA toolkit and changes global flags.
# LibTorch's folder is searched after the system's, because it also holds a newer fmt than the one that is linked.
if(EXISTS "${COGEN_TORCH_ROOT}/lib/libtorch_cpu.so")
  add_library(cogen_c10 SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_c10 PROPERTIES IMPORTED_LOCATION "${COGEN_TORCH_ROOT}/lib/libc10.so")
  add_library(cogen_libtorch SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_libtorch PROPERTIES
    IMPORTED_LOCATION "${COGEN_TORCH_ROOT}/lib/libtorch_cpu.so"
    INTERFACE_COMPILE_OPTIONS "SHELL:-idirafter \"${COGEN_TORCH_ROOT}/include\""
    INTERFACE_LINK_LIBRARIES cogen_c10)
else()
  find_package(Torch QUIET)
  if(NOT Torch_FOUND)
    return()
  endif()
  add_library(cogen_libtorch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(cogen_libtorch INTERFACE ${TORCH_LIBRARIES})
endif()
# Operators are included one by one: all of them take a compiler seven seconds in each file.
target_compile_definitions(cogen_libtorch INTERFACE AT_PER_OPERATOR_HEADERS)
add_library(cogen::libtorch ALIAS cogen_libtorch)
