# Debian packages: cpack -G DEB makes libcogen-dev and cogen-server of a build that was configured for the prefix /usr,
# without LibTorch. See docs/packages.md.
if(COGEN_TORCH)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cogen)
set(CPACK_PACKAGE_VENDOR cogen)
set(CPACK_PACKAGE_CONTACT "cogen maintainers <maintainers@example.org>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL dev debian-dev)

find_program(dpkg_query dpkg-query)
find_program(gzip gzip)
mark_as_advanced(dpkg_query gzip)

# cogen_packages_of(<variable> <file>...): the installed packages that hold these files, as a field Depends lists them.
function(cogen_packages_of variable)
  set(names "")
  foreach(file IN LISTS ARGN)
    execute_process(COMMAND ${dpkg_query} --search ${file} OUTPUT_VARIABLE found ERROR_QUIET)
    if(found MATCHES "^([a-z0-9.+-]+)")
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(JOIN names ", " names)
  set(${variable} "${names}" PARENT_SCOPE)
endfunction()

# cogen_debian_files(<package> <component>): its copyright and its two changelogs.
function(cogen_debian_files PACKAGE component)
  set(folder ${PROJECT_BINARY_DIR}/debian/${PACKAGE})
  string(TIMESTAMP DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(cmake/debian/changelog.in ${folder}/changelog.Debian @ONLY)
  configure_file(cmake/debian/copyright ${folder}/copyright COPYONLY)
  configure_file(CHANGELOG.md ${folder}/changelog COPYONLY)
  if(gzip)
    execute_process(COMMAND ${gzip} -9nf changelog changelog.Debian WORKING_DIRECTORY ${folder})
  endif()
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${PACKAGE}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

cogen_debian_files(libcogen-dev debian-dev)
get_target_property(boost_json Boost::json IMPORTED_LOCATION_RELEASE)
find_path(FMT_INCLUDE fmt/core.h)
mark_as_advanced(FMT_INCLUDE)
string(REGEX REPLACE "\\.so\\..*$" ".so" boost_json "${boost_json}")
cogen_packages_of(CPACK_DEBIAN_LIBCOGEN-DEV_PACKAGE_DEPENDS
  ${Boost_INCLUDE_DIRS}/boost/version.hpp ${boost_json} ${FMT_INCLUDE}/fmt/core.h
  ${PCRE2_INCLUDEDIR}/pcre2.h ${UTF8PROC_INCLUDEDIR}/utf8proc.h ${XXHASH_INCLUDEDIR}/xxhash.h)
set(CPACK_DEBIAN_LIBCOGEN-DEV_PACKAGE_NAME libcogen-dev)
set(CPACK_DEBIAN_LIBCOGEN-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBCOGEN-DEV_PACKAGE_RECOMMENDS "clang-16, cmake, pkg-config")
set(CPACK_COMPONENT_LIBCOGEN-DEV_DESCRIPTION [[text generation by co_await (development files)
cogen is a C++20 library that generates text from language models. It packs
all running requests into one continuously refilled batch over shared KV
caches. Each request is a coroutine.
.
This package has its headers and static libraries, for CPUs, and what CMake
and pkg-config need to find them.]])

if(COGEN_SERVER)
  list(APPEND CPACK_COMPONENTS_ALL server debian-server)
  cogen_debian_files(cogen-server debian-server)
  set(CPACK_DEBIAN_COGEN-SERVER_PACKAGE_NAME cogen-server)
  set(CPACK_DEBIAN_COGEN-SERVER_PACKAGE_SECTION net)
  set(CPACK_DEBIAN_COGEN-SERVER_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_COGEN-SERVER_DESCRIPTION [[HTTP server for language models, on CPUs
cogen-server serves models to the clients of OpenAI's, Anthropic's and
llama-server's APIs, from GGUF files and Hugging Face folders. It has streams,
tool calls, response formats, limits, API keys, TLS and metrics.]])
endif()

include(CPack)
cpack_add_component_group(libcogen-dev)
cpack_add_component(dev GROUP libcogen-dev)
cpack_add_component(debian-dev GROUP libcogen-dev)
if(COGEN_SERVER)
  cpack_add_component_group(cogen-server)
  cpack_add_component(server GROUP cogen-server)
  cpack_add_component(debian-server GROUP cogen-server)
endif()
