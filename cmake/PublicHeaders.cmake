# The public headers of each room: a header set that is installed, and compiled one by one by the target verify_headers.
function(cogen_public_headers target root)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${root}/*.hpp)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${root} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_dependencies(verify_headers ${target}_verify_interface_header_sets)
endfunction()

add_custom_target(verify_headers)
cogen_public_headers(cogen_scheduler ${PROJECT_SOURCE_DIR}/scheduler/include)
if(NOT COGEN_SCHEDULER_ONLY)
  cogen_public_headers(cogen_cache ${PROJECT_SOURCE_DIR}/cache/include)
  cogen_public_headers(cogen ${PROJECT_SOURCE_DIR}/lib/include)
endif()
