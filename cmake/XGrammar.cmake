# XGrammar, compiled from the sources that scripts/bootstrap unpacked: its own build turns warnings into errors and asks for
# link-time optimization. Where it is left out or not found, lib/answers/grammar says so of what a request asks for.
set(COGEN_XGRAMMAR_ROOT "${COGEN_DEPS}/xgrammar" CACHE PATH "Folder with the sources of XGrammar")

set(found OFF)
if(EXISTS "${COGEN_XGRAMMAR_ROOT}/cpp/grammar_matcher.cc")
  set(found ON)
endif()
option(COGEN_XGRAMMAR "Constrain generations by JSON schemas, regular expressions and grammars, with XGrammar" ${found})
if(NOT COGEN_XGRAMMAR)
  return()
endif()
if(NOT found)
  message(FATAL_ERROR
    "COGEN_XGRAMMAR=ON: XGrammar was not found in ${COGEN_XGRAMMAR_ROOT}. Run scripts/bootstrap, or pass "
    "-DCOGEN_XGRAMMAR_ROOT=<folder with cpp/ and include/>.")
endif()

set(sources
  compiled_grammar config earley_parser fsm fsm_builder grammar grammar_builder grammar_compiler grammar_functor
  grammar_matcher grammar_parser grammar_printer json_schema_converter lark_converter regex_converter structural_tag
  suffix_automata testing tokenizer_info
  converter_ext/cohere converter_ext/deepseek converter_ext/glm converter_ext/kimi_k3 converter_ext/minimax
  converter_ext/minimax_m3 converter_ext/qwen
  support/logging support/recursion_guard)
list(TRANSFORM sources PREPEND "${COGEN_XGRAMMAR_ROOT}/cpp/")
list(TRANSFORM sources APPEND ".cc")

add_library(cogen_xgrammar OBJECT ${sources})
set_target_properties(cogen_xgrammar PROPERTIES CXX_STANDARD 17)
target_include_directories(cogen_xgrammar SYSTEM PUBLIC
  ${COGEN_XGRAMMAR_ROOT}/include ${COGEN_XGRAMMAR_ROOT}/3rdparty/dlpack/include)
target_include_directories(cogen_xgrammar SYSTEM PRIVATE
  ${COGEN_XGRAMMAR_ROOT}/3rdparty/picojson ${COGEN_XGRAMMAR_ROOT}/cpp)
target_include_directories(cogen_xgrammar PRIVATE ${PROJECT_SOURCE_DIR}/lib)
# Its messages go to what lib/answers/grammar defines, instead of the standard error stream.
target_compile_definitions(cogen_xgrammar PRIVATE
  XGRAMMAR_ENABLE_CPPTRACE=0 XGRAMMAR_ENABLE_INTERNAL_CHECK=0 XGRAMMAR_LOG_CUSTOMIZE=1)
target_compile_options(cogen_xgrammar PRIVATE -w "SHELL:-include answers/grammar/xgrammar_steps.hpp"
  -fmacro-prefix-map=${COGEN_XGRAMMAR_ROOT}=xgrammar)  # its messages name no folder of the builder
if(COGEN_SANITIZE MATCHES "undefined")
  target_compile_options(cogen_xgrammar PRIVATE -fno-sanitize=undefined)
endif()
