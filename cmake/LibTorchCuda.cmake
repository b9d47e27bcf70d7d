# LibTorch's CUDA half and NCCL as imported targets. Read by the build and, in the installed package, by
# find_package(cogen). The CUDA toolkit has been found.
foreach(name IN ITEMS c10_cuda torch_cuda)
  if(NOT EXISTS "${COGEN_TORCH_ROOT}/lib/lib${name}.so")
    message(FATAL_ERROR
      "COGEN_CUDA=ON: lib${name}.so was not found in ${COGEN_TORCH_ROOT}/lib. Run scripts/bootstrap --cuda, or pass "
      "-DCOGEN_TORCH_ROOT=<a LibTorch with CUDA>.")
  endif()
  add_library(cogen_${name} SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_${name} PROPERTIES IMPORTED_LOCATION "${COGEN_TORCH_ROOT}/lib/lib${name}.so")
endforeach()
# Nothing calls into it by name: it registers itself when it is loaded.
set_target_properties(cogen_torch_cuda PROPERTIES
  INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed"
  INTERFACE_LINK_LIBRARIES "cogen_c10_cuda;cogen_libtorch;CUDA::cudart")
add_library(cogen::torch_cuda ALIAS cogen_torch_cuda)

# NCCL, over which GPUs exchange numbers: what LibTorch itself loads, with the header beside it or the toolkit's. Without
# it, models are not split over GPUs.
find_path(COGEN_NCCL_INCLUDE nccl.h HINTS "${COGEN_TORCH_ROOT}/../nvidia/nccl/include" ${CUDAToolkit_INCLUDE_DIRS})
find_library(COGEN_NCCL_LIBRARY NAMES libnccl.so.2 nccl
  HINTS "${COGEN_TORCH_ROOT}/../nvidia/nccl/lib" "${COGEN_TORCH_ROOT}/lib" ${CUDAToolkit_LIBRARY_DIR})
mark_as_advanced(COGEN_NCCL_INCLUDE COGEN_NCCL_LIBRARY)
if(COGEN_NCCL_INCLUDE AND COGEN_NCCL_LIBRARY)
  add_library(cogen_nccl SHARED IMPORTED GLOBAL)
  set_target_properties(cogen_nccl PROPERTIES
    IMPORTED_LOCATION "${COGEN_NCCL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${COGEN_NCCL_INCLUDE}")
else()
  message(STATUS "NCCL was not found: models are not split over GPUs")
endif()
