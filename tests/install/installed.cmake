# Installs what was built into an empty prefix, then builds a project that finds it there, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILT} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -S ${CONSUMER} -B ${FOLDER}/build)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
