# Imported targets for the LibTorch in COGEN_TORCH_ROOT, or for one given by CMAKE_PREFIX_PATH / Torch_DIR; without one,
# there are none. Read by the build and, in the installed package, by find_package(cogen).
# find_package(Torch) is the fallback only: with a CUDA build of LibTorch it insists on a CUDA toolkit and changes global flags.
# LibTorch's folder is searched after the system's, because it also holds a newer fmt than the one that is linked.
if(EXISTS "${COGEN_TORCH_ROOT}/lib/libtorch_cpu.so")
  add_library(cogen_c10 SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_c10 PROPERTIES IMPORTED_LOCATION "${COGEN_TORCH_ROOT}/lib/libc10.so")
  add_library(cogen_torch SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_torch PROPERTIES
    IMPORTED_LOCATION "${COGEN_TORCH_ROOT}/lib/libtorch_cpu.so"
    INTERFACE_COMPILE_OPTIONS "SHELL:-idirafter ${COGEN_TORCH_ROOT}/include"
    INTERFACE_LINK_LIBRARIES cogen_c10)
else()
  find_package(Torch QUIET)
  if(NOT Torch_FOUND)
    return()
  endif()
  add_library(cogen_torch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(cogen_torch INTERFACE ${TORCH_LIBRARIES})
endif()
add_library(cogen::torch ALIAS cogen_torch)

# LibTorch's types. Its functions are those that cogen's libraries find when they call one, where these do
# (COGEN_DELAYS_TORCH); who calls others links cogen::torch, too.
if(NOT DEFINED COGEN_DELAYS_TORCH)
  set(COGEN_DELAYS_TORCH OFF)
  if(TARGET cogen_c10 AND NOT COGEN_CUDA AND CMAKE_SYSTEM_NAME STREQUAL "Linux"
      AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(COGEN_DELAYS_TORCH ON)
  endif()
endif()
add_library(cogen_delayed_torch INTERFACE IMPORTED GLOBAL)
if(COGEN_DELAYS_TORCH AND TARGET cogen_c10)
  target_compile_options(cogen_delayed_torch INTERFACE "SHELL:-idirafter ${COGEN_TORCH_ROOT}/include")
  target_link_libraries(cogen_delayed_torch INTERFACE cogen_c10 ${CMAKE_DL_LIBS})
else()
  target_link_libraries(cogen_delayed_torch INTERFACE cogen_torch ${CMAKE_DL_LIBS})
endif()
add_library(cogen::delayed_torch ALIAS cogen_delayed_torch)
