# cogen_test(<name> SOURCES <file>... [LINK <target>...])
# One Boost.Test program test_<name>, run by ctest. Object libraries given to LINK bring their objects.
function(cogen_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LINK")
  add_executable(test_${name} ${PROJECT_SOURCE_DIR}/tests/main.cpp ${test_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${test_LINK} Boost::unit_test_framework cogen_settings)
  target_compile_definitions(test_${name} PRIVATE
    BOOST_TEST_DYN_LINK COGEN_TEST_DATA="${PROJECT_SOURCE_DIR}/tests" COGEN_DEPS="${COGEN_DEPS}")
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND test_${name})
endfunction()
