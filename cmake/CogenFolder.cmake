# cogen_folder(<name> SOURCES <file>... [LINK <target>...])
# One folder of lib: an object library cogen_<name>, compiled alone and collected into the target cogen.
function(cogen_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "" "" "SOURCES;LINK")
  add_library(cogen_${name} OBJECT ${folder_SOURCES})
  target_include_directories(cogen_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib/include ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(cogen_${name} PUBLIC ${folder_LINK} PRIVATE cogen_settings)
  set_property(GLOBAL APPEND PROPERTY COGEN_FOLDERS cogen_${name})
endfunction()
