# What every target of the project is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(COGEN_CCACHE ccache)
if(COGEN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${COGEN_CCACHE}")
endif()

add_library(cogen_settings INTERFACE)
target_compile_features(cogen_settings INTERFACE cxx_std_20)
target_compile_options(cogen_settings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>"
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-gnu-zero-variadic-macro-arguments>")
# A processor that multiplies and adds in one instruction rounds once where another rounds twice. Multiply-adds are fused
# only where the source says so, that results depend neither on the processor nor on the compiler's choice.
target_compile_options(cogen_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
# A unity build shows the names of one file to the next, and GCC's -Wshadow objects to parameters named as members.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_UNITY_BUILD)
  target_compile_options(cogen_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wshadow>")
endif()
# GCC takes what a view refers to for a part of the view, and a file that a unity build includes for a header, where unnamed
# namespaces would be a mistake.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cogen_settings INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference;$<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-subobject-linkage>>")
endif()
# libstdc++ 12 sorts by a function that it marks as deprecated, and clang 18 says so wherever std::stable_sort is called.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
  target_compile_options(cogen_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>")
endif()
if(COGEN_WERROR)
  target_compile_options(cogen_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()

if(COGEN_SANITIZE)
  add_compile_options(-fsanitize=${COGEN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COGEN_SANITIZE})
  if(COGEN_SANITIZE MATCHES "thread")
    # Asio counts references down with release and passes a fence before it destroys, and ThreadSanitizer knows no
    # fences. Without <atomic> Asio counts with boost::detail::atomic_count, whose orders it sees.
    add_compile_definitions(BOOST_ASIO_DISABLE_STD_ATOMIC)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(COGEN_LLD NAMES ld.lld ld.lld-16 PATHS /usr/lib/llvm-16/bin)
  if(COGEN_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
