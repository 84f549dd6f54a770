# Precompiled headers for the builds that repeat the release build with other flags (LOCKSTEP_PCH). The release build goes
# without them: it proves that every source includes what it uses.

set(LOCKSTEP_PRECOMPILED
  <algorithm> <chrono> <coroutine> <filesystem> <fstream> <functional> <map> <memory> <optional> <ranges> <set> <string>
  <variant> <vector>
  <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>
  <engine/wire/messages.h>)

# One target compiles them for all libraries and programs, one for all tests.
function(lockstep_precompile name)
  file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp CONTENT "// It carries a precompiled header.\n")
  add_library(${name} OBJECT ${LOCKSTEP_GENERATED_DIR}/${name}.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${LOCKSTEP_GENERATED_DIR})
  target_link_libraries(${name} PRIVATE lockstep_proto deps::fmt deps::json deps::expected)
  target_precompile_headers(${name} PRIVATE ${LOCKSTEP_PRECOMPILED})
endfunction()

if(LOCKSTEP_PCH)
  # A precompiled header fits only sources with the same flag, and some libraries of the daemon bring it along.
  add_compile_options(-pthread)
  lockstep_precompile(lockstep_precompiled)
  if(LOCKSTEP_TESTS)
    lockstep_precompile(lockstep_precompiled_tests)
    target_link_libraries(lockstep_precompiled_tests PRIVATE deps::gtest)
    target_precompile_headers(lockstep_precompiled_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# lockstep_use_precompiled(<target> [TESTS])
function(lockstep_use_precompiled target)
  if(LOCKSTEP_PCH)
    set(source lockstep_precompiled)
    if(ARGV1 STREQUAL "TESTS")
      set(source lockstep_precompiled_tests)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${source})
  endif()
endfunction()
