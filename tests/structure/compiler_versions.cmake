# Which compilers cogen_require_compiler() accepts, and what it says of the others. Calls itself once for each.
if(DEFINED CMAKE_CXX_COMPILER_ID)
  include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/Compiler.cmake)
  cogen_require_compiler()
  return()
endif()

function(check compiler version expected)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DCMAKE_CXX_COMPILER_ID=${compiler} -DCMAKE_CXX_COMPILER_VERSION=${version}
      -DCMAKE_CXX_COMPILER=chosen -P ${CMAKE_CURRENT_LIST_FILE}
    RESULT_VARIABLE status ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(expected STREQUAL "accepted")
    if(NOT status EQUAL 0)
      message(SEND_ERROR "${compiler} ${version} should be accepted, but: ${said}")
    endif()
  elseif(status EQUAL 0 OR NOT said MATCHES "${expected}")
    message(SEND_ERROR "${compiler} ${version} should be refused with \"${expected}\", but: ${said}")
  endif()
endfunction()

check(GNU 12.2.0 "GCC 12.2.0 miscompiles coroutines")
check(GNU 13.1.0 accepted)
check(GNU 14.2.0 accepted)
check(Clang 14.0.6 "clang 14.0.6 fails on Asio coroutines under sanitizers")
check(Clang 16.0.6 accepted)
check(Clang 19.1.0 accepted)
