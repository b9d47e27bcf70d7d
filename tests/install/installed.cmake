# Installs what was built into an empty prefix, moves that, then builds a project that finds it there, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILT} --prefix ${FOLDER}/first)
file(RENAME ${FOLDER}/first ${FOLDER}/prefix)

# Nothing names the checkout, the build or the first prefix.
file(GLOB_RECURSE package ${FOLDER}/prefix/*.cmake)
list(FILTER package EXCLUDE REGEX "/cogen/torch/")
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(elsewhere IN ITEMS ${REPOSITORY} ${BUILT} ${FOLDER})
    string(FIND "${text}" "${elsewhere}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${elsewhere}")
    endif()
  endforeach()
endforeach()

# Configured a second time, as after a change of its CMakeLists.txt, it finds the same.
set(project ${CMAKE_COMMAND} ${CONFIGURATION} -S ${CONSUMER} -B ${FOLDER}/build)
run(${project} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
run(${project})
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
refuse_libtorch(${FOLDER}/build/consumer)
if(EXISTS ${FOLDER}/prefix/bin/cogen-server)
  run(${FOLDER}/prefix/bin/cogen-server --version)
endif()
run(${FOLDER}/build/device_consumer ${REPOSITORY}/tests/golden/llama_gguf/model.gguf reference)

# What is missing is an answer and no error, where the project asks so.
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DCOGEN_TORCH_ROOT=${FOLDER}/nowhere
  -S ${CONSUMER}/../optional -B ${FOLDER}/optional)

# So it is with an installed build for CUDA whose half of LibTorch or toolkit is missing here.
file(GLOB_RECURSE config ${FOLDER}/prefix/*/cogenConfig.cmake)
file(READ ${config} text)
string(REPLACE "elseif(\"OFF\")" "elseif(\"ON\")" with_cuda "${text}")
if(with_cuda STREQUAL text)
  return()  # it was built with CUDA
endif()
file(WRITE ${config} "${with_cuda}")
file(MAKE_DIRECTORY ${FOLDER}/torch/lib)
foreach(name IN ITEMS c10 torch_cpu)
  file(TOUCH ${FOLDER}/torch/lib/lib${name}.so)
endforeach()
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DCOGEN_TORCH_ROOT=${FOLDER}/torch
  "-DREASON=has no CUDA half|CUDA toolkit.* was not found" -S ${CONSUMER}/../optional -B ${FOLDER}/optional_cuda)
