# The libraries that lib needs besides LibTorch; read by the build and, in the installed package, by find_package(cogen).
# COGEN_FIND is REQUIRED, or QUIET where the reader says what is missing.
find_package(Threads ${COGEN_FIND})
find_package(Boost 1.81 ${COGEN_FIND} COMPONENTS json program_options)
find_package(fmt ${COGEN_FIND})
find_package(PkgConfig ${COGEN_FIND})
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PCRE2 ${COGEN_FIND} IMPORTED_TARGET GLOBAL libpcre2-8)
  pkg_check_modules(UTF8PROC ${COGEN_FIND} IMPORTED_TARGET GLOBAL libutf8proc)
  pkg_check_modules(XXHASH ${COGEN_FIND} IMPORTED_TARGET GLOBAL libxxhash)
endif()
