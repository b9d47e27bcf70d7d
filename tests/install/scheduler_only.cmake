# Builds with assertions, tests and installs the scheduler where there is no LibTorch, then builds a project that finds it, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_BUILD_TYPE=Debug -DCOGEN_SCHEDULER_ONLY=ON -DCOGEN_DEPS=${FOLDER}/nothing
  -S ${REPOSITORY} -B ${FOLDER}/cogen)
run(${CMAKE_COMMAND} --build ${FOLDER}/cogen)
run(${CMAKE_CTEST_COMMAND} --test-dir ${FOLDER}/cogen --output-on-failure --tests-regex "^scheduler$" --no-tests=error)
file(REMOVE_RECURSE ${FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${FOLDER}/cogen --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -S ${CONSUMER} -B ${FOLDER}/build)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer)
