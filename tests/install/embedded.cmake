# Builds a project that has cogen as a subdirectory, and runs it. Without optimisation: that it builds is what counts.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCOGEN_FOLDER=${REPOSITORY} -DCOGEN_DEPS=${DEPS}
  -S ${CONSUMER} -B ${FOLDER})
run(${CMAKE_COMMAND} --build ${FOLDER})
run(${FOLDER}/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
