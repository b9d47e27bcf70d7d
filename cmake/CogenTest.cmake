# cogen_test(<name> SOURCES <file>... [LINK <target>...] [LABELS <label>...] [THREADED_SUITES <suite>...]
#            [UNOPTIMIZED | OPTIMIZED])
# One Boost.Test program test_<name>, run by ctest. Object libraries given to LINK bring their objects.
# The label "slow" keeps an entry out of the sanitizer runs of scripts/test, and its program out of their builds;
# "threads" puts it into the one that looks for data races, which builds the target threaded_tests, and runs only
# THREADED_SUITES (or SUITE/CASES) there, where they are given, or all but those with a "!". UNOPTIMIZED is for
# tests full of coroutines, which would take two to three times as long to compile and run for a second; OPTIMIZED for
# those that compute much themselves, under a sanitizer that runs all of them, too.
# "gpu" says that it is skipped where there is no GPU, and puts it into the target gpu.
if(COGEN_TESTS AND PROJECT_IS_TOP_LEVEL)
  add_custom_target(threaded_tests)
  add_custom_target(gpu)
endif()
function(cogen_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "UNOPTIMIZED;OPTIMIZED" "" "SOURCES;LINK;LABELS;THREADED_SUITES")
  add_executable(test_${name} ${PROJECT_SOURCE_DIR}/tests/main.cpp ${test_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${test_LINK} cogen_test_data Boost::unit_test_framework cogen_settings)
  target_compile_definitions(test_${name} PRIVATE BOOST_TEST_DYN_LINK $<$<BOOL:${COGEN_TORCH}>:COGEN_TEST_DEVICES>)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set(arguments "")
  if(test_THREADED_SUITES AND COGEN_SANITIZE MATCHES "thread")
    list(TRANSFORM test_THREADED_SUITES PREPEND "--run_test=" OUTPUT_VARIABLE arguments)
  endif()
  add_test(NAME ${name} COMMAND test_${name} ${arguments})
  if(test_UNOPTIMIZED)
    target_compile_options(test_${name} PRIVATE -O0)
  else()
    target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(test_OPTIMIZED AND NOT arguments)
    cogen_test_code(test_${name} OPTIMIZED)
  else()
    cogen_test_code(test_${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${test_LABELS}")
  cogen_test_environment(${name})
  if("threads" IN_LIST test_LABELS AND PROJECT_IS_TOP_LEVEL)
    add_dependencies(threaded_tests test_${name})
  endif()
  if("gpu" IN_LIST test_LABELS)
    if(PROJECT_IS_TOP_LEVEL)
      add_dependencies(gpu test_${name})
    endif()
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "no CUDA device: [a-z_]+ is skipped")
  endif()
  if(COGEN_SANITIZE AND "slow" IN_LIST test_LABELS)
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# cogen_test_code(<target> [OPTIMIZED]): under the sanitizers tests are compiled as fast as can be. Checked code takes up to
# five times as long to optimize, and UndefinedBehaviorSanitizer, which doubles it, checks what is tested and not what
# tests it.
function(cogen_test_code target)
  if(COGEN_SANITIZE AND NOT "OPTIMIZED" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(COGEN_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# Run-time settings of ctest entries. LibTorch's operators say what is right and are small: threads of its own would only
# wait for the other test that runs meanwhile, and ThreadSanitizer cannot see into the OpenMP library where they meet.
# Each suppression of a sanitizer stands with its reason in cmake/sanitizers.
#
# intercept_tls_get_addr=0: to LLVM 16, LeakSanitizer reads two words before a block of dynamic thread-local storage as its
# size where the block lies 16 bytes into a page, as blocks of glibc before 2.25 did. Newer ones lie there by chance, and
# the process ends with "Tracer caught signal 11". Without it these blocks are found as any others that malloc() returned.
function(cogen_test_environment)
  set(environment "OMP_NUM_THREADS=1")
  set(folder ${PROJECT_SOURCE_DIR}/cmake/sanitizers)
  if(COGEN_SANITIZE MATCHES "thread")
    list(APPEND environment
      "TSAN_OPTIONS=suppressions=${folder}/thread.supp:halt_on_error=1:second_deadlock_stack=1")
  elseif(COGEN_SANITIZE MATCHES "address")
    list(APPEND environment
      "ASAN_OPTIONS=malloc_context_size=8:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1:intercept_tls_get_addr=0"
      "LSAN_OPTIONS=suppressions=${folder}/leak.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  foreach(entry IN LISTS ARGV)
    set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT ${environment})
  endforeach()
endfunction()

# cogen_mpi_test(<name> <ranks> EXPECT <regular expression> COMMAND <program> <argument>...)
# With --enable-recovery mpirun lets the other processes go on when one ends.
function(cogen_mpi_test name ranks)
  cmake_parse_arguments(PARSE_ARGV 2 test "" "EXPECT" "COMMAND")
  list(POP_FRONT test_COMMAND program)
  add_test(NAME ${name} COMMAND ${COGEN_TEST_LAUNCHER} ${MPIEXEC_EXECUTABLE} --oversubscribe --enable-recovery ${MPIEXEC_NUMPROC_FLAG} ${ranks}
    $<TARGET_FILE:${program}> ${test_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "mpi;slow" TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMP_NUM_THREADS=1")
  if(test_EXPECT)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION ${test_EXPECT})
  endif()
endfunction()
