# cogen_fuzz(<name> SOURCES <file>... [LINK <target>...] [CORPUS <folder>] [DICTIONARY <file>])
# One libFuzzer program fuzz_<name>; its sources define LLVMFuzzerTestOneInput. It exists where AddressSanitizer is on (preset asan),
# and ctest runs it for COGEN_FUZZ_SECONDS, beginning from the corpus.
# For a longer campaign: build/asan/tests/fuzz_<name> -max_total_time=600 <own folder> <corpus>
# What that has found is committed after build/asan/tests/fuzz_<name> -merge=1 <corpus> <own folder>.
set(COGEN_FUZZ_SECONDS 10 CACHE STRING "How long ctest runs each fuzzer")

function(cogen_fuzz name)
  if(NOT COGEN_SANITIZE MATCHES "address" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 fuzz "" "CORPUS;DICTIONARY" "SOURCES;LINK")
  set(seeds "")
  if(fuzz_CORPUS)
    cmake_path(ABSOLUTE_PATH fuzz_CORPUS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(seeds ${fuzz_CORPUS})
  endif()
  set(dictionary "")
  if(fuzz_DICTIONARY)
    set(dictionary -dict=${CMAKE_CURRENT_SOURCE_DIR}/${fuzz_DICTIONARY})
  endif()
  set(found ${CMAKE_CURRENT_BINARY_DIR}/fuzz_${name}_found)
  file(MAKE_DIRECTORY ${found})

  add_executable(fuzz_${name} ${fuzz_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${fuzz_LINK} cogen_settings)
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  foreach(target IN ITEMS fuzz_${name} LISTS fuzz_LINK)  # what the fuzzer has to see the branches of
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME fuzz_${name}
    COMMAND fuzz_${name} -max_total_time=${COGEN_FUZZ_SECONDS} -seed=1 -rss_limit_mb=4096 -timeout=60 ${dictionary}
      ${found} ${seeds})
  cogen_test_environment(fuzz_${name})
endfunction()
