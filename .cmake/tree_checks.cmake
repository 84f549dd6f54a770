# Rules of the tree that the build can see: every source file is built by somebody, the folders include each other in
# one direction only, what comments refer to is written down, each header compiles alone, the engine links alone, takes nothing
# from outside by itself, and is the same in every program. Included last.

set(LOCKSTEP_FOLDERS engine fakes sim reports)
if(LOCKSTEP_PROD)
  list(APPEND LOCKSTEP_FOLDERS prod)
endif()
if(LOCKSTEP_BENCH)
  list(APPEND LOCKSTEP_FOLDERS bench)
endif()

# Every source file belongs to a target: a test that nobody builds is a comment.
function(lockstep_collect_sources folder result)
  set(files "")
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      if(source AND NOT source MATCHES "^\\$<")
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir} NORMALIZE)
        list(APPEND files ${source})
      endif()
    endforeach()
  endforeach()
  get_property(children DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(child IN LISTS children)
    lockstep_collect_sources(${child} more)
    list(APPEND files ${more})
  endforeach()
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

function(lockstep_check_unregistered_files)
  lockstep_collect_sources(${CMAKE_SOURCE_DIR} registered)
  get_property(others GLOBAL PROPERTY LOCKSTEP_REGISTERED_FILES)
  list(APPEND registered ${others})
  set(patterns "")
  foreach(folder IN LISTS LOCKSTEP_FOLDERS)
    foreach(ending cpp lua proto)
      list(APPEND patterns ${CMAKE_SOURCE_DIR}/${folder}/*.${ending})
    endforeach()
  endforeach()
  file(GLOB_RECURSE present CONFIGURE_DEPENDS ${patterns})
  if(present AND registered)
    list(REMOVE_ITEM present ${registered})
  endif()
  if(present)
    list(TRANSFORM present REPLACE "^${CMAKE_SOURCE_DIR}/" "  ")
    list(JOIN present "\n" listing)
    set(kind WARNING)
    if(LOCKSTEP_STRICT)
      set(kind FATAL_ERROR)
    endif()
    message(${kind} "No target builds these files; name them in the CMakeLists.txt of their folder:\n${listing}")
  endif()
endfunction()
lockstep_check_unregistered_files()

# Sets `result` to the headers of the tree that `path` includes, and those that these include.
function(lockstep_included path result)
  get_property(known GLOBAL PROPERTY LOCKSTEP_INCLUDED_BY_${path} SET)
  if(NOT known)
    set(included "")
    set(lines "")
    if(EXISTS ${CMAKE_SOURCE_DIR}/${path})  # or it is generated
      file(STRINGS ${CMAKE_SOURCE_DIR}/${path} lines REGEX "^#include \"")
    endif()
    list(TRANSFORM lines REPLACE "^#include \"([^\"]*)\".*" "\\1")
    foreach(header IN LISTS lines)
      lockstep_included(${header} further)
      list(APPEND included ${header} ${further})
    endforeach()
    list(REMOVE_DUPLICATES included)
    set_property(GLOBAL PROPERTY LOCKSTEP_INCLUDED_BY_${path} "${included}")
  endif()
  get_property(included GLOBAL PROPERTY LOCKSTEP_INCLUDED_BY_${path})
  set(${result} "${included}" PARENT_SCOPE)
endfunction()

# Headers that take long to compile and that many others include: each of those is checked behind the first of these that it includes,
# precompiled.
set(LOCKSTEP_HEADS
  sim/model/model.h sim/scenario/document.h sim/scenario/scenario.h engine/config/context.h engine/ports/bus.h engine/runtime/task.h
  engine/runtime/time.h)

# Each header has its include guard, compiles alone, and what it defines links: one program for each share of the headers. Not part of the
# default build; the ctest entries build them.
function(lockstep_add_header_checks)
  get_property(libraries GLOBAL PROPERTY LOCKSTEP_LIBRARIES)
  set(headers "")
  foreach(library IN LISTS libraries)
    get_target_property(folder ${library} LOCKSTEP_FOLDER)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(SORT headers)
  set(number 0)
  foreach(path IN LISTS headers)
    file(STRINGS ${CMAKE_SOURCE_DIR}/${path} guard LIMIT_COUNT 1 REGEX "^#pragma once$")
    if(NOT guard)
      message(FATAL_ERROR "${path} has no #pragma once: a second inclusion fails. Write it above the first #include.")
    endif()
    set(unit ${LOCKSTEP_GENERATED_DIR}/header_check/${path}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${path}\"\n")
    math(EXPR share "${number} % 4")
    lockstep_included(${path} included)
    set(behind none)
    foreach(head IN LISTS LOCKSTEP_HEADS)
      if(head IN_LIST included)
        set(behind ${head})
        break()
      endif()
    endforeach()
    list(APPEND units_${share}_${behind} ${unit})
    math(EXPR number "${number} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/header_check/main.cpp CONTENT "int main() {}\n")
  foreach(share RANGE 3)
    set(target header_check_${share})
    add_executable(${target} EXCLUDE_FROM_ALL ${LOCKSTEP_GENERATED_DIR}/header_check/main.cpp)
    foreach(head IN ITEMS none ${LOCKSTEP_HEADS})
      if("${units_${share}_${head}}" STREQUAL "")
        continue()
      endif()
      string(MAKE_C_IDENTIFIER ${target}_${head} units)
      add_library(${units} OBJECT EXCLUDE_FROM_ALL ${units_${share}_${head}})
      # The test framework as well, for the headers that fixtures live in.
      target_link_libraries(${units} PRIVATE ${libraries} deps::gtest deps::rapidcheck lockstep_warnings)
      target_compile_options(${units} PRIVATE -O0 "SHELL:-Xclang -fno-pch-timestamp")
      if(NOT head STREQUAL none)
        target_precompile_headers(${units} PRIVATE ${CMAKE_SOURCE_DIR}/${head})
      endif()
      target_link_libraries(${target} PRIVATE ${units})
    endforeach()
    target_link_libraries(${target} PRIVATE ${libraries} deps::gtest deps::rapidcheck)
    set_target_properties(header_check_${share} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME headers_compile_alone_${share} COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target header_check_${share})
    lockstep_test_properties(headers_compile_alone_${share} LABELS tree TIMEOUT 1200)
    set_tests_properties(headers_compile_alone_${share} PROPERTIES RUN_SERIAL ON)
    lockstep_tier(headers_compile_alone_${share} SHARE OF ${share})
  endforeach()
endfunction()

if(LOCKSTEP_TESTS)
  lockstep_add_header_checks()

  add_test(NAME include_direction COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
           -P ${CMAKE_SOURCE_DIR}/.cmake/include_direction.cmake)
  lockstep_test_properties(include_direction LABELS tree TIMEOUT 60)
  add_test(NAME includes_against_the_direction_are_caught COMMAND ${CMAKE_COMMAND}
           -DSCRATCH=${CMAKE_BINARY_DIR}/planted_includes -P ${CMAKE_SOURCE_DIR}/.cmake/include_direction.cmake)
  lockstep_test_properties(includes_against_the_direction_are_caught LABELS tree TIMEOUT 60)

  add_test(NAME rare_branches_are_listed COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
           -P ${CMAKE_SOURCE_DIR}/.cmake/rare_branches.cmake)
  lockstep_test_properties(rare_branches_are_listed LABELS tree TIMEOUT 60)

  add_test(NAME rules_name_no_script COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
           -P ${CMAKE_SOURCE_DIR}/.cmake/blind_rules.cmake)
  lockstep_test_properties(rules_name_no_script LABELS tree TIMEOUT 60)

  add_test(NAME references_lead_somewhere COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}
           -P ${CMAKE_SOURCE_DIR}/.cmake/references.cmake)
  lockstep_test_properties(references_lead_somewhere LABELS tree TIMEOUT 60)
  add_test(NAME references_that_lead_nowhere_are_caught COMMAND ${CMAKE_COMMAND}
           -DSCRATCH=${CMAKE_BINARY_DIR}/planted_references -P ${CMAKE_SOURCE_DIR}/.cmake/references.cmake)
  lockstep_test_properties(references_that_lead_nowhere_are_caught LABELS tree TIMEOUT 60)

  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_Interpreter_FOUND)
    add_test(NAME changelog_tells_of_this_version COMMAND Python3::Interpreter -B ${CMAKE_SOURCE_DIR}/.cmake/changelog_test.py
      ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${PROJECT_VERSION})
    lockstep_test_properties(changelog_tells_of_this_version LABELS tree TIMEOUT 60)
    add_test(NAME every_preset_configures COMMAND Python3::Interpreter -B ${CMAKE_SOURCE_DIR}/.cmake/presets_test.py ${CMAKE_COMMAND}
      ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/presets)
    lockstep_test_properties(every_preset_configures LABELS tree TIMEOUT 900)
    lockstep_tier(every_preset_configures SHARE)
  endif()

  # The whole archive, so that a symbol that only another folder could provide is missed here and not in production.
  file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/engine_links_alone.cpp CONTENT "int main() {}\n")
  add_executable(engine_links_alone ${LOCKSTEP_GENERATED_DIR}/engine_links_alone.cpp)
  target_link_libraries(engine_links_alone PRIVATE
    -Wl,--whole-archive lockstep_engine -Wl,--no-whole-archive)
  set_target_properties(engine_links_alone PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME engine_links_alone COMMAND engine_links_alone)
  lockstep_test_properties(engine_links_alone LABELS tree TIMEOUT 60)

  # Fakes and policy as well: what they took from outside, a replay could not give them again.
  add_test(NAME engine_and_fakes_keep_to_their_ports COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
    -DSCRATCH=${CMAKE_BINARY_DIR}/symbols
    "-DARCHIVES=$<TARGET_FILE:lockstep_engine>;$<TARGET_FILE:lockstep_policy>;$<TARGET_FILE:lockstep_fakes>"
    -P ${CMAKE_SOURCE_DIR}/.cmake/outside_world.cmake)
  lockstep_test_properties(engine_and_fakes_keep_to_their_ports LABELS tree TIMEOUT 60)
  add_test(NAME references_to_the_outside_are_caught COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
    -DSCRATCH=${CMAKE_BINARY_DIR}/symbols/planted -DCOMPILER=${CMAKE_CXX_COMPILER}
    -P ${CMAKE_SOURCE_DIR}/.cmake/outside_world.cmake)
  lockstep_test_properties(references_to_the_outside_are_caught LABELS tree TIMEOUT 60)

  if(CMAKE_GENERATOR STREQUAL "Ninja" AND TARGET lockstep)
    set(programs bin/lockstep)
    if(TARGET lockstepd)
      list(APPEND programs bin/lockstepd)
    endif()
    add_test(NAME simulator_and_daemon_link_one_engine COMMAND ${CMAKE_COMMAND} -DNINJA=${CMAKE_MAKE_PROGRAM}
      -DARCHIVE=engine/$<TARGET_FILE_NAME:lockstep_engine> -DSOURCES=${CMAKE_SOURCE_DIR}/engine
      "-DPROGRAMS=${programs}" -P ${CMAKE_SOURCE_DIR}/.cmake/one_engine.cmake
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    lockstep_test_properties(simulator_and_daemon_link_one_engine LABELS tree TIMEOUT 60)
  endif()
endif()
