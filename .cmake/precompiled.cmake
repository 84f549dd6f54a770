# Precompiled headers, where sources are compiled in batches (LOCKSTEP_UNITY). Source by source there are none: such a build shows that
# every source includes what it uses.

set(LOCKSTEP_PRECOMPILED
  <algorithm> <chrono> <coroutine> <filesystem> <fstream> <functional> <map> <memory> <optional> <ranges> <set> <string>
  <variant> <vector>
  <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>
  <engine/wire/messages.h>)

# What runs seldom (LOCKSTEP_COLD: command lines, reports, pages, the drawing of clusters) and the sources of tests are not optimised: that
# takes half of the time of their compilation, and nobody measures them.
set(LOCKSTEP_COLD_OPTIONS $<$<CONFIG:Release>:-O0>)
if(LOCKSTEP_SANITIZE)
  set(LOCKSTEP_COLD_OPTIONS -O0)
endif()

# One target compiles them for what is optimised, one for what is not, one for tests.
function(lockstep_precompile name)
  file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp CONTENT "// It carries a precompiled header.\n")
  add_library(${name} OBJECT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${LOCKSTEP_GENERATED_DIR})
  target_link_libraries(${name} PRIVATE lockstep_proto deps::fmt deps::json deps::expected)
  target_precompile_headers(${name} PRIVATE ${LOCKSTEP_PRECOMPILED})
  # Without the time of its making, so that ccache knows it again.
  target_compile_options(${name} PRIVATE ${ARGN} -pthread "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

if(LOCKSTEP_UNITY)
  lockstep_precompile(lockstep_precompiled)
  lockstep_precompile(lockstep_precompiled_cold ${LOCKSTEP_COLD_OPTIONS})
  if(LOCKSTEP_TESTS)
    lockstep_precompile(lockstep_precompiled_tests ${LOCKSTEP_COLD_OPTIONS})
    target_link_libraries(lockstep_precompiled_tests PRIVATE deps::gtest)
    target_precompile_headers(lockstep_precompiled_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# lockstep_compile(<target> [TESTS] [COLD <truth value>] [BATCH <sources>] [HEADERS <header>...])
#
# HEADERS are precompiled beside the others, for this target alone.
#
# Optimised or not, and with LOCKSTEP_UNITY in batches and with the precompiled headers of its kind. In a batch, what a file keeps for
# itself must differ by name from what the others do; what cannot share a translation unit says so by its source property
# SKIP_UNITY_BUILD_INCLUSION.
function(lockstep_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "COLD;BATCH" "HEADERS")
  set(headers lockstep_precompiled)
  if(arg_COLD OR arg_TESTS)
    target_compile_options(${target} PRIVATE ${LOCKSTEP_COLD_OPTIONS})
    set(headers lockstep_precompiled_cold)
  endif()
  if(arg_TESTS)
    set(headers lockstep_precompiled_tests)
  endif()
  if(NOT LOCKSTEP_UNITY)
    return()
  endif()
  if(arg_HEADERS)
    target_precompile_headers(${target} PRIVATE ${LOCKSTEP_PRECOMPILED} ${arg_HEADERS})
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
  # A precompiled header fits only sources with the same flag, and some libraries of the daemon bring it along.
  target_compile_options(${target} PRIVATE -pthread)
  if(NOT arg_BATCH)
    set(arg_BATCH 12)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
endfunction()
