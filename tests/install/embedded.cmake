# Builds a project that has cogen as a subdirectory, without LibTorch, and runs it. Then that is installed, and found by
# another project. Tests and examples can be configured without LibTorch, too.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(model ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
set(golden ${REPOSITORY}/tests/golden/llama_gguf/model.gguf)  # a tiny one
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCOGEN_WERROR=ON -DCOGEN_TORCH=OFF -DCOGEN_INSTALL=ON
  -DCOGEN_FOLDER=${REPOSITORY} -DCOGEN_DEPS=${DEPS}
  -S ${CONSUMER} -B ${FOLDER})
run(${CMAKE_COMMAND} --build ${FOLDER})
run(${FOLDER}/consumer ${golden} cpu)
refuse_libtorch(${FOLDER}/consumer)

file(REMOVE_RECURSE ${FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${FOLDER} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -S ${CONSUMER}/../parts -B ${FOLDER}/parts)
run(${CMAKE_COMMAND} --build ${FOLDER}/parts)
run(${FOLDER}/parts/parts ${model})
run(${FOLDER}/parts/consumer ${golden} cpu)

run(${CMAKE_COMMAND} ${CONFIGURATION} -DCOGEN_TORCH=OFF -DCOGEN_DEPS=${DEPS} -S ${REPOSITORY} -B ${FOLDER}/whole)
