# The CUDA toolkit, and LibTorch's CUDA half as imported targets. A program that is linked with them also runs where there
# is no GPU and no driver: it is told that there is no device.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(COGEN_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NOT COGEN_NVCC)
    message(FATAL_ERROR "COGEN_CUDA=ON needs the CUDA toolkit: nvcc was found neither on the PATH nor in /usr/local/cuda.")
  endif()
  set(CMAKE_CUDA_COMPILER ${COGEN_NVCC})
endif()
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
if(COGEN_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${COGEN_CCACHE}")
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc with clang
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)

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
  INTERFACE_LINK_LIBRARIES "cogen_c10_cuda;cogen_torch;CUDA::cudart")
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

# The headers of cuDNN, and of what makes its graphs. The library is what LibTorch's CUDA half loads.
find_path(COGEN_CUDNN_INCLUDE cudnn.h HINTS "${COGEN_TORCH_ROOT}/../nvidia/cudnn/include")
find_path(COGEN_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS "${COGEN_TORCH_ROOT}/../include")
mark_as_advanced(COGEN_CUDNN_INCLUDE COGEN_CUDNN_FRONTEND_INCLUDE)
if(NOT COGEN_CUDNN_INCLUDE OR NOT COGEN_CUDNN_FRONTEND_INCLUDE)
  message(FATAL_ERROR
    "COGEN_CUDA=ON needs the headers of cuDNN 9 and of its frontend: cudnn.h or cudnn_frontend.h was not found. Run "
    "scripts/bootstrap --cuda, or pass -DCOGEN_CUDNN_INCLUDE=<folder> and -DCOGEN_CUDNN_FRONTEND_INCLUDE=<folder>.")
endif()
add_library(cogen_cudnn INTERFACE IMPORTED GLOBAL)
target_include_directories(cogen_cudnn SYSTEM INTERFACE ${COGEN_CUDNN_INCLUDE} ${COGEN_CUDNN_FRONTEND_INCLUDE})
target_compile_definitions(cogen_cudnn INTERFACE
  CUDNN_FRONTEND_SKIP_JSON_LIB NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING)
target_link_libraries(cogen_cudnn INTERFACE CUDA::cudart ${CMAKE_DL_LIBS})

# What every kernel is compiled with.
add_library(cogen_cuda_settings INTERFACE)
target_compile_options(cogen_cuda_settings INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;--compress-mode=size;-Xcompiler=-Wall,-Wextra;--expt-relaxed-constexpr>")
