# Compiler checks and the flags that hold for every target, generated code included.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR
    "Lockstep cannot be built with g++ ${CMAKE_CXX_COMPILER_VERSION}: g++ before 14 miscompiles ordinary C++20 "
    "coroutine code without a warning (a co_await in a condition, or an aggregate temporary in an awaited call, "
    "becomes a hang or a double free).\n"
    "Install clang 19 (Debian: apt-get install clang-19, or ./dev deps) and configure with\n"
    "  cmake --preset release\n"
    "or with -DCMAKE_CXX_COMPILER=clang++-19 in a fresh build directory.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
# Without line numbers (the other builds have them): these cost a tenth of the compilation, names are there without.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

# Only short functions are inlined: with -O1 that takes a third off the time of compiling, for a twelfth more of instructions in a run.
# What is HOT (lockstep_library) is optimised as usual: there it costs little.
add_compile_options("$<$<AND:$<CXX_COMPILER_ID:Clang>,$<NOT:$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_HOT>>>>:SHELL:-mllvm -inline-threshold=80>")
add_compile_options("$<$<AND:$<CONFIG:Release>,$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_HOT>>>:-O2>")
# The same run must give the same bits on every machine and build: no fused multiply-add where the target happens
# to have one, and no path of this machine in a message or a binary.
add_compile_options(
  -ffp-contract=off
  -fno-omit-frame-pointer
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
  -ffile-prefix-map=${CMAKE_BINARY_DIR}=./build)

if(LOCKSTEP_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all)
  if(LOCKSTEP_SANITIZE MATCHES "address.*undefined")
    # They take a quarter of the compile time and find little here: AddressSanitizer stops at a null pointer and at an access past
    # an object, too, x86 has no misaligned access, and nothing casts down a hierarchy.
    add_compile_options(-fno-sanitize=null,object-size,vptr,alignment,pointer-overflow)
  endif()
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Found once and remembered; all are conveniences, never requirements.
find_program(LOCKSTEP_CCACHE ccache)
find_library(LOCKSTEP_MIMALLOC mimalloc)
if(LOCKSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
  if(LOCKSTEP_UNITY)
    # ccache takes a precompiled header for the same one by its content: neither its age nor the macros of the date are looked at.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LOCKSTEP_CCACHE})
  endif()
endif()
if(LOCKSTEP_MIMALLOC)
  # A tenth of the compiler's time goes into malloc.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env LD_PRELOAD=${LOCKSTEP_MIMALLOC} ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(LOCKSTEP_MOLD mold)
if(LOCKSTEP_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Flags for code that is ours.
add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  # Designated initialisers that leave members at their defaults are how options are passed here.
  -Wno-missing-field-initializers
  $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
