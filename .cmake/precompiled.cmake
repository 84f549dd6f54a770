# Precompiled headers: for tests (LOCKSTEP_PCH=TESTS), or for everything (ALL) in the builds that repeat the release build with
# other flags. Libraries and programs of the release build go without: it proves that every source includes what it uses.

set(LOCKSTEP_PRECOMPILED
  <algorithm> <chrono> <coroutine> <filesystem> <fstream> <functional> <map> <memory> <optional> <ranges> <set> <string>
  <variant> <vector>
  <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>
  <engine/wire/messages.h>)

# The sources of tests, not what they test: optimised they take twice as long to compile, and nobody measures them.
set(LOCKSTEP_TEST_OPTIONS "$<$<CONFIG:Release>:-O0>")
if(LOCKSTEP_SANITIZE)
  set(LOCKSTEP_TEST_OPTIONS -O0)
endif()

# One target compiles them for all libraries and programs, one for all tests.
function(lockstep_precompile name)
  file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp CONTENT "// It carries a precompiled header.\n")
  add_library(${name} OBJECT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${LOCKSTEP_GENERATED_DIR})
  target_link_libraries(${name} PRIVATE lockstep_proto deps::fmt deps::json deps::expected)
  target_precompile_headers(${name} PRIVATE ${LOCKSTEP_PRECOMPILED})
  # Without the time of its making, so that ccache knows it again.
  target_compile_options(${name} PRIVATE -pthread "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

if(NOT LOCKSTEP_PCH MATCHES "^(OFF|TESTS|ALL)$")
  message(FATAL_ERROR "LOCKSTEP_PCH is ${LOCKSTEP_PCH}; it may be OFF, TESTS or ALL.")
endif()
if(LOCKSTEP_PCH)
  if(LOCKSTEP_PCH STREQUAL "ALL")
    lockstep_precompile(lockstep_precompiled)
  endif()
  if(LOCKSTEP_TESTS)
    lockstep_precompile(lockstep_precompiled_tests)
    target_link_libraries(lockstep_precompiled_tests PRIVATE deps::gtest)
    target_precompile_headers(lockstep_precompiled_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(lockstep_precompiled_tests PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  endif()
endif()

# lockstep_use_precompiled(<target> [TESTS])
#
# Called when a test has its sources: it notes them as LOCKSTEP_PRECOMPILED_SOURCES.
function(lockstep_use_precompiled target)
  if(NOT LOCKSTEP_PCH)
    return()
  endif()
  if(ARGV1 STREQUAL "TESTS")
    target_precompile_headers(${target} REUSE_FROM lockstep_precompiled_tests)
    target_compile_options(${target} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source NORMALIZE)
      set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PRECOMPILED_SOURCES ${source})
    endforeach()
  elseif(LOCKSTEP_PCH STREQUAL "ALL")
    target_precompile_headers(${target} REUSE_FROM lockstep_precompiled)
  else()
    return()
  endif()
  # A precompiled header fits only sources with the same flag, and some libraries of the daemon bring it along.
  target_compile_options(${target} PRIVATE -pthread)
endfunction()
