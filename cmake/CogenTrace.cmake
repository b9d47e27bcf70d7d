# cogen_traced(<target>): its functions begin and end with instructions that do nothing until tests/trace has a handler
# called there (clang's XRay). That is done in the build with AddressSanitizer, whose debugging information says where
# functions stand.
set(COGEN_TRACED OFF)
if(COGEN_TESTS AND COGEN_TORCH AND COGEN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"
   AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Given to the linker as any library: with -fxray-instrument it would be linked as a whole, and what both run-time
  # libraries have in common be defined twice.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.xray-x86_64.a
    OUTPUT_VARIABLE COGEN_TRACE_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(EXISTS "${COGEN_TRACE_RUNTIME}")
    set(COGEN_TRACED ON)
  endif()
  find_program(COGEN_SYMBOLIZER NAMES llvm-symbolizer-16 llvm-symbolizer PATHS /usr/lib/llvm-16/bin)
endif()

function(cogen_traced target)
  if(COGEN_TRACED)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-fxray-instrument;-fxray-instruction-threshold=1;-fno-optimize-sibling-calls>")
  endif()
endfunction()
