# cogen_folder(<name> SOURCES <file>... [LINK <target>...] [TORCH])
# One folder of lib: an object library cogen_<name>, compiled alone and collected into the target cogen, or, with TORCH,
# into cogen_torch.
function(cogen_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "TORCH" "" "SOURCES;LINK")
  add_library(cogen_${name} OBJECT ${folder_SOURCES})
  target_include_directories(cogen_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib/include ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(cogen_${name} PUBLIC cogen_values ${folder_LINK} PRIVATE cogen_settings)
  cogen_traced(cogen_${name})
  if(folder_TORCH)
    set_property(GLOBAL APPEND PROPERTY COGEN_TORCH_FOLDERS cogen_${name})
  else()
    set_property(GLOBAL APPEND PROPERTY COGEN_FOLDERS cogen_${name})
  endif()
endfunction()

# cogen_library(<name> SOURCES <file>... [PUBLIC <target>...] [PRIVATE <target>...])
# A library cogen::<name> that is installed by itself.
function(cogen_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(cogen_${name} STATIC ${library_SOURCES})
  add_library(cogen::${name} ALIAS cogen_${name})
  set_target_properties(cogen_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(cogen_${name} PUBLIC cxx_std_20)
  target_include_directories(cogen_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_link_libraries(cogen_${name}
    PUBLIC ${library_PUBLIC} PRIVATE ${library_PRIVATE} $<BUILD_INTERFACE:cogen_settings>)
  cogen_traced(cogen_${name})
endfunction()
