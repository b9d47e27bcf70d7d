# Builds for 64-bit ARM on another machine: by clang, against packages of Debian installed beside its own (CONTRIBUTING.md
# says which), or in the root that CMAKE_SYSROOT names. Tests run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

find_program(COGEN_ARM64_CLANG NAMES clang++-16 clang++-17 clang++-18 clang++-19)
set(CMAKE_CXX_COMPILER "${COGEN_ARM64_CLANG}")
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)  # ld knows this machine alone

find_program(COGEN_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(COGEN_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${COGEN_QEMU}" -cpu max)
endif()
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
if(CMAKE_SYSROOT)
  if(COGEN_QEMU)
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L "${CMAKE_SYSROOT}")
  endif()
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
