# Chooses clang unless the caller chose a compiler, first the one that tests run with, and refuses compilers known to break
# coroutines.
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(COGEN_CLANG NAMES clang++-16 clang++-17 clang++-18 clang++-19)
  if(COGEN_CLANG)
    set(CMAKE_CXX_COMPILER "${COGEN_CLANG}")
  endif()
endif()

# cogen_check_compiler(<variable>): what is wrong with the compiler; empty if nothing is.
function(cogen_check_compiler problem)
  set(${problem} "" PARENT_SCOPE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    string(CONCAT why
      "cogen needs clang >= 16 or GCC >= 13: GCC ${CMAKE_CXX_COMPILER_VERSION} miscompiles coroutines "
      "(temporaries in an expression that contains co_await are destroyed twice). "
      "Install clang-16 or pass -DCMAKE_CXX_COMPILER=clang++-16.")
    set(${problem} "${why}" PARENT_SCOPE)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    string(CONCAT why
      "cogen needs clang >= 16 or GCC >= 13: clang ${CMAKE_CXX_COMPILER_VERSION} fails on Asio coroutines under sanitizers.")
    set(${problem} "${why}" PARENT_SCOPE)
  endif()
endfunction()

function(cogen_require_compiler)
  cogen_check_compiler(problem)
  if(problem)
    message(FATAL_ERROR "${problem}")
  endif()
endfunction()

# Clang may keep the address of a __thread variable over a suspension point. A coroutine that goes on in another thread
# then works on what Asio keeps for the first one (free lists, private queues), while that thread does, too. Asked for by
# a call, it is always the right one. Everything that includes Asio beside cogen has to agree on this.
set(COGEN_ASIO_DEFINITIONS BOOST_ASIO_DISABLE_THREAD_KEYWORD_EXTENSION)
