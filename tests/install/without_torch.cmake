# Builds and installs what needs no LibTorch, tests the scheduler, then builds a project that finds the package, and runs
# it. With the flags of the build that it belongs to, so that a compiler cache has nearly all of it.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCOGEN_TORCH=OFF -DCOGEN_DEPS=${FOLDER}/nothing -S ${REPOSITORY}
  -B ${FOLDER})
run(${CMAKE_COMMAND} --build ${FOLDER}
  --target test_scheduler cogen_json cogen_tokenizer cogen_chat_template cogen_checkpoint)
run(${CMAKE_CTEST_COMMAND} --test-dir ${FOLDER} --output-on-failure --tests-regex "^scheduler$" --no-tests=error)
file(REMOVE_RECURSE ${FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${FOLDER} --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} ${CONFIGURATION} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -S ${CONSUMER} -B ${FOLDER}/consumer)
run(${CMAKE_COMMAND} --build ${FOLDER}/consumer)
run(${FOLDER}/consumer/consumer ${DEPS}/model/SmolLM2-135M-Instruct.Q4_1.gguf)
