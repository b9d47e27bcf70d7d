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

include(${CMAKE_CURRENT_LIST_DIR}/LibTorchCuda.cmake)

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
  "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;--compress-mode=size;-Xcompiler=-Wall,-Wextra,-ffp-contract=off;--expt-relaxed-constexpr>")
