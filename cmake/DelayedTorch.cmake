# cogen_delay_torch(<library> OBJECTS <object library>...)
# The functions of LibTorch that the objects call are found when the first of them is called; see cache/load_torch.cpp.
function(cogen_delay_torch library)
  cmake_parse_arguments(PARSE_ARGV 1 delayed "" "" "OBJECTS")
  set(objects)
  foreach(each IN LISTS delayed_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${each}>)
  endforeach()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${library}_objects.txt)
  set(functions ${CMAKE_CURRENT_BINARY_DIR}/${library}_torch_functions.cpp)
  file(GENERATE OUTPUT ${list} CONTENT "$<JOIN:${objects},\n>\n")
  add_custom_command(OUTPUT ${functions}
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/delayed-torch ${CMAKE_NM} ${COGEN_TORCH_ROOT}/lib/libtorch_cpu.so ${list}
      ${functions}
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/delayed-torch ${list} ${objects}
    VERBATIM)
  target_sources(${library} PRIVATE ${functions})
  set_source_files_properties(${functions} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
