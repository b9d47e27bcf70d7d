# cogen_public_headers(<target> <root> <header>...): a header set that is installed, and compiled header by header by the
# target verify_headers.
function(cogen_public_headers target root)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${root} FILES ${ARGN})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  if(PROJECT_IS_TOP_LEVEL)
    add_dependencies(verify_headers ${target}_verify_interface_header_sets)
  endif()
endfunction()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(verify_headers)
endif()
set(root ${PROJECT_SOURCE_DIR}/lib/values/include)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${root}/*.hpp)
cogen_public_headers(cogen_values ${root} ${headers})

set(root ${PROJECT_SOURCE_DIR}/scheduler/include)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${root}/*.hpp)
cogen_public_headers(cogen_scheduler ${root} ${headers})

set(root ${PROJECT_SOURCE_DIR}/lib/include)
set(of_tokenizer ${root}/cogen/token.hpp ${root}/cogen/detail/gguf_vocabulary.hpp ${root}/cogen/text/tokenizer.hpp)
set(of_chat_template ${root}/cogen/detail/indirect.hpp ${root}/cogen/text/chat_template.hpp)
set(of_checkpoint ${root}/cogen/load/checkpoint.hpp ${root}/cogen/load/model_config.hpp)
foreach(library IN ITEMS checkpoint tokenizer chat_template)
  cogen_public_headers(cogen_${library} ${root} ${of_${library}})
endforeach()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${root}/*.hpp)
list(REMOVE_ITEM headers ${of_checkpoint} ${of_tokenizer} ${of_chat_template})
cogen_public_headers(cogen ${root} ${headers})

# The others in cogen/cache are for devices, in lib.
set(root ${PROJECT_SOURCE_DIR}/cache/include)
set(of_torch ${root}/cogen/extend/tensors.hpp)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS
  ${root}/cogen/detail/*.hpp ${root}/cogen/extend/*.hpp ${root}/cogen/cache/cache.hpp)
list(REMOVE_ITEM headers ${of_torch})
cogen_public_headers(cogen_cache ${root} ${headers})
if(COGEN_TORCH)
  cogen_public_headers(cogen_torch ${root} ${of_torch})
endif()
