# Builds with assertions and installs what needs no LibTorch, tests the scheduler, then builds a project that finds the
# package, and runs it. Nothing is optimized: what is tested is the build.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_BUILD_TYPE=Debug -DCOGEN_TORCH=OFF -DCOGEN_DEPS=${FOLDER}/nothing
  -S ${REPOSITORY} -B ${FOLDER}/cogen)
run(${CMAKE_COMMAND} --build ${FOLDER}/cogen
  --target test_scheduler cogen_json cogen_tokenizer cogen_chat_template cogen_checkpoint)
run(${CMAKE_CTEST_COMMAND} --test-dir ${FOLDER}/cogen --output-on-failure --tests-regex "^scheduler$" --no-tests=error)
file(REMOVE_RECURSE ${FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${FOLDER}/cogen --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
  -S ${CONSUMER} -B ${FOLDER}/build)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
