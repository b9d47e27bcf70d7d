# Builds a project that has cogen as a subdirectory, and runs it. With the flags of the build that it belongs to, so that
# a compiler cache has what it compiles.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCOGEN_WERROR=ON -DCOGEN_FOLDER=${REPOSITORY} -DCOGEN_DEPS=${DEPS}
  -S ${CONSUMER} -B ${FOLDER})
run(${CMAKE_COMMAND} --build ${FOLDER})
run(${FOLDER}/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
