# How a folder declares what it builds. Usage of each function stands above it.

set(LOCKSTEP_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)

# lockstep_library(<name> [COLD] [BATCH <sources>] [FOLDER <sub-folder>] [LINK <public dependencies>…]
#                  [PRIVATE_LINK <dependencies>…] [HEADERS <header>…])
#
# The library of a top folder, or of the named sub-folder; COLD, BATCH and HEADERS as lockstep_compile takes them. Sources are added by the sub-folders: target_sources(<name> PRIVATE a.cpp a.h).
function(lockstep_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD;HOT" "BATCH;FOLDER" "LINK;PRIVATE_LINK;HEADERS")
  add_library(${name} STATIC)
  set_target_properties(${name} PROPERTIES LOCKSTEP_HOT ${arg_HOT})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${LOCKSTEP_GENERATED_DIR}>)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK} $<BUILD_INTERFACE:lockstep_warnings>)
  lockstep_compile(${name} COLD ${arg_COLD} BATCH ${arg_BATCH} HEADERS ${arg_HEADERS})
  lockstep_leave_to_its_users(${name})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES ${name})
  set_property(TARGET ${name} PROPERTY LOCKSTEP_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER})
  # A folder that holds headers only has nothing to archive, which CMake refuses.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL lockstep_complete_library ${name})")
endfunction()

# Without the tests that need servers nobody starts the daemon and its tools: what only they use is not built either.
function(lockstep_leave_to_its_users name)
  if(NOT LOCKSTEP_SERVER_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

function(lockstep_complete_library name)
  get_target_property(sources ${name} SOURCES)
  if(NOT sources MATCHES "\\.(cpp|cc)(;|$)")
    file(CONFIGURE OUTPUT ${LOCKSTEP_GENERATED_DIR}/empty.cpp CONTENT "// This library has headers only.\n")
    target_sources(${name} PRIVATE ${LOCKSTEP_GENERATED_DIR}/empty.cpp)
  endif()
endfunction()

# lockstep_add_parts()
#
# Adds each sub-folder that has a CMakeLists.txt, in alphabetical order.
function(lockstep_add_parts)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(SORT parts)
  foreach(part IN LISTS parts)
    cmake_path(GET part PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# lockstep_executable(<name> [COLD] SOURCES <files>… [LINK <libraries>…] [COMPONENT <name>])
#
# A program that users run: built into <build>/bin and installed, as part of the install component of its own name or of another one.
# Of an inline function that several libraries hold the linker takes the first: what is optimised stands first in LINK.
function(lockstep_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "COMPONENT" "SOURCES;LINK")
  if(NOT arg_COMPONENT)
    set(arg_COMPONENT ${name})
  endif()
  add_executable(${name} ${arg_SOURCES})
  if(NOT name STREQUAL lockstep)
    lockstep_leave_to_its_users(${name})
  endif()
  # First: who comes first has malloc.
  target_link_libraries(${name} PRIVATE deps::allocator ${arg_LINK} lockstep_warnings)
  lockstep_compile(${name} COLD ${arg_COLD})
  # What gRPC brings along and nothing here calls is no dependency of the program's package.
  target_link_options(${name} PRIVATE -Wl,--as-needed)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${arg_COMPONENT})
endfunction()

# lockstep_install_pages(<program>)
#
# Installs the manual page and the completions of a program that prints them by `man` and `completion SHELL`, so that they are never
# behind it, and looks where they are. Called in the folder that declares it.
function(lockstep_install_pages name)
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
  file(MAKE_DIRECTORY ${pages})
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${name} man > ${pages}/${name}.1
    COMMAND ${name} completion bash > ${pages}/${name}
    COMMAND ${name} completion zsh > ${pages}/_${name}
    COMMAND ${name} completion fish > ${pages}/${name}.fish
    VERBATIM)
  install(FILES ${pages}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${name})
  install(FILES ${pages}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${name})
  install(FILES ${pages}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT ${name})
  install(FILES ${pages}/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${name})
  if(LOCKSTEP_TESTS AND LOCKSTEP_SERVER_TESTS)  # without the latter the program may not have been built
    string(REPLACE - _ stem ${name})
    add_test(NAME ${stem}_install_test
             COMMAND ${CMAKE_COMMAND} -D INSTALL_SCRIPT=${CMAKE_CURRENT_BINARY_DIR}/cmake_install.cmake -D NAME=${name}
                     -D PROGRAM=$<TARGET_FILE:${name}> -D FOLDER=${CMAKE_CURRENT_BINARY_DIR}/installed
                     -P ${CMAKE_SOURCE_DIR}/reports/usage/install_test.cmake)
  endif()
endfunction()

# lockstep_tier(<ctest name> ALL|SHARE [PROGRAM <target>] [OF <share>])
#
# `./dev test` leaves this entry out. ALL: `./dev test --all` runs it. SHARE: that runs it for one commit in four, whose share it is (by
# turns, unless it is said OF which); `--everything` runs it always. Its program is built by the target tests_of_all or tests_of_share_N,
# and by no other. Labels carry it: "all", or "share" with "not-in-share-N" for the three others.
foreach(group all share_0 share_1 share_2 share_3)
  add_custom_target(tests_of_${group})
endforeach()
function(lockstep_tier name tier)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PROGRAM;OF" "")
  string(TOLOWER ${tier} labels)
  set(group all)
  if(tier STREQUAL SHARE)
    if("${arg_OF}" STREQUAL "")
      get_property(declared GLOBAL PROPERTY LOCKSTEP_SHARED_TESTS)
      list(LENGTH declared arg_OF)
      math(EXPR arg_OF "${arg_OF} % 4")
      set_property(GLOBAL APPEND PROPERTY LOCKSTEP_SHARED_TESTS ${name})
    endif()
    set(group share_${arg_OF})
    foreach(other RANGE 3)
      if(NOT other EQUAL arg_OF)
        list(APPEND labels not-in-share-${other})
      endif()
    endforeach()
  endif()
  set_property(TEST ${name} APPEND PROPERTY LABELS ${labels})
  if(arg_PROGRAM)
    set_target_properties(${arg_PROGRAM} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(tests_of_${group} ${arg_PROGRAM})
  endif()
endfunction()

# lockstep_test(NAME <name> SOURCES <files>… [LINK <libraries>…] [RAPIDCHECK] [LABELS <labels>…] [TIMEOUT <seconds>] [SHARDS <n>]
#               [TIER ALL|SHARE])
#
# One GoogleTest program = one ctest entry, in <build>/tests. Labels default to "unit", the timeout to 1200 s: it ends
# what hangs, and a busy machine may be many times slower than a quiet one. The tier is that of lockstep_tier; under sanitizers
# tests of engine/ are in ALL, and all others in SHARE.
# A test that needs redis-server or nats-server takes LABELS servers. One that mostly waits for them takes SHARDS: ctest then runs
# <name>_1 to <name>_<n> side by side, each with its share of the cases. LABELS long: more than a quick run of all tests has time for.
function(lockstep_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "RAPIDCHECK" "NAME;TIMEOUT;TIER;SHARDS" "SOURCES;LINK;LABELS")
  if(NOT LOCKSTEP_TESTS)
    list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_REGISTERED_FILES ${arg_SOURCES})
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1200)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LINK} deps::gtest GTest::gtest_main lockstep_warnings)
  lockstep_compile(${arg_NAME} TESTS)
  if(arg_RAPIDCHECK)
    target_link_libraries(${arg_NAME} PRIVATE deps::rapidcheck)
  endif()
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT LOCKSTEP_SERVER_TESTS AND "servers" IN_LIST arg_LABELS)
    set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
  elseif(LOCKSTEP_SANITIZE)
    set(arg_TIER SHARE)
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/engine/")
      set(arg_TIER ALL)
    endif()
  endif()
  set(environment "")
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(entry ${arg_NAME})
    if(arg_SHARDS GREATER 1)
      set(entry ${arg_NAME}_${shard})
      math(EXPR index "${shard} - 1")
      set(environment GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${entry} COMMAND ${arg_NAME} --gtest_brief=1)
    lockstep_test_properties(${entry} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
    set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT ${environment})
    if(arg_TIER)
      lockstep_tier(${entry} ${arg_TIER} PROGRAM ${arg_NAME})
    endif()
  endforeach()
endfunction()

# lockstep_test_properties(<ctest name> LABELS <labels>… TIMEOUT <seconds>)
#
# Labels, timeout, how much of the machine it takes, and the environment that every ctest entry of this project runs in.
function(lockstep_test_properties name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  # In halves of a processor: what talks to servers waits most of its time.
  set(halves 2)
  if(servers IN_LIST arg_LABELS)
    set(halves 1)
  endif()
  # Several libraries of the platform are not instrumented; what they do among themselves is not ours to report.
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}"
    PROCESSORS ${halves}
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=ignore_noninstrumented_modules=1;RC_PARAMS=${LOCKSTEP_RC_PARAMS}")
endfunction()

# lockstep_embed(TARGET <target> NAMESPACE <namespace> FILES <files>…)
#
# Makes each text file a constant: `foo/commit_state.lua` becomes the header "foo/commit_state.lua.h" with
# `inline constexpr std::string_view kCommitState` in the given namespace. Headers follow their file on every build.
function(lockstep_embed)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;NAMESPACE" "FILES")
  set(headers "")
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE input)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${input})
    set(header ${LOCKSTEP_GENERATED_DIR}/${path}.h)
    add_custom_command(
      OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DPATH_IN_TREE=${path} -DOUTPUT=${header}
              -DNAMESPACE=${arg_NAMESPACE} -P ${CMAKE_SOURCE_DIR}/.cmake/embed.cmake
      DEPENDS ${input} ${CMAKE_SOURCE_DIR}/.cmake/embed.cmake
      COMMENT "Embedding ${path}"
      VERBATIM)
    list(APPEND headers ${header})
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_REGISTERED_FILES ${input})
  endforeach()
  # A named target, because the library may be declared in another folder than its scripts.
  string(MAKE_C_IDENTIFIER "embed_${CMAKE_CURRENT_SOURCE_DIR}" step)
  string(MD5 suffix "${arg_FILES}")
  string(SUBSTRING ${suffix} 0 8 suffix)
  add_custom_target(${step}_${suffix} DEPENDS ${headers})
  add_dependencies(${arg_TARGET} ${step}_${suffix})
endfunction()

# lockstep_protobuf(TARGET <target> ROOT <folder of imports> FILES <protos>… [GRPC])
#
# Adds the generated messages (or, with GRPC, the generated service stubs) to a target that must be declared in the
# calling folder. The root is the folder that import statements are relative to, and so are the files.
function(lockstep_protobuf)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC" "TARGET;ROOT" "FILES")
  set(out ${LOCKSTEP_GENERATED_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  foreach(file IN LISTS arg_FILES)
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    if(arg_GRPC)
      set(products ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      set(flags --grpc_out=${out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    else()
      set(products ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
      set(flags --cpp_out=${out})
    endif()
    file(GLOB_RECURSE imports CONFIGURE_DEPENDS ${arg_ROOT}/*.proto)
    add_custom_command(
      OUTPUT ${products}
      COMMAND $<TARGET_FILE:protobuf::protoc> -I${arg_ROOT} ${flags} ${arg_ROOT}/${file}
      DEPENDS ${imports}
      COMMENT "Generating from ${file}"
      VERBATIM)
    target_sources(${arg_TARGET} PRIVATE ${products})
    if(NOT arg_GRPC)  # messages have the same names for what each file keeps for itself
      set_source_files_properties(${products} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_REGISTERED_FILES ${arg_ROOT}/${file})
  endforeach()
  target_include_directories(${arg_TARGET} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>)
  target_compile_options(${arg_TARGET} PRIVATE -w)
  set_target_properties(${arg_TARGET} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY})
  if(LOCKSTEP_UNITY AND NOT arg_GRPC)
    target_precompile_headers(${arg_TARGET} PRIVATE
      <google/protobuf/generated_message_reflection.h> <google/protobuf/map_field_inl.h> <google/protobuf/wire_format.h>)
    target_compile_options(${arg_TARGET} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# lockstep_fuzz(NAME <program> SOURCES <files>… [LINK <libraries>…] TARGETS <target> <runs>…)
#
# One program of fuzz targets (engine/testing/fuzz_target.h). With LOCKSTEP_FUZZ it is linked with libFuzzer and is
# <build>/fuzz/<program>; else it is a test: one ctest entry per target runs the inputs in corpus/<target> and so many mutations
# of them, the same each time. Labels: unit, fuzz.
function(lockstep_fuzz)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LINK;TARGETS")
  set(entry ${CMAKE_SOURCE_DIR}/engine/testing/fuzz_replay.cpp)
  if(LOCKSTEP_FUZZ)
    set(entry ${CMAKE_SOURCE_DIR}/engine/testing/fuzz_libfuzzer.cpp)
  endif()
  if(NOT LOCKSTEP_TESTS AND NOT LOCKSTEP_FUZZ)
    list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_REGISTERED_FILES ${arg_SOURCES})
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES} ${entry})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LINK} lockstep_warnings)
  if(LOCKSTEP_FUZZ)
    set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_FUZZ_PROGRAMS ${arg_NAME})
  else()
    set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    lockstep_compile(${arg_NAME} COLD TRUE)
  endif()
  if(NOT LOCKSTEP_FUZZ)
    set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    foreach(share RANGE 3)
      add_dependencies(tests_of_share_${share} ${arg_NAME})
    endforeach()
  endif()
  while(arg_TARGETS)
    list(POP_FRONT arg_TARGETS target runs)
    set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${target})
    # Read by `./dev fuzz`.
    file(APPEND ${CMAKE_BINARY_DIR}/fuzz_targets "${target} ${arg_NAME} ${corpus}\n")
    if(NOT LOCKSTEP_FUZZ)
      add_test(NAME fuzz_${target} COMMAND ${arg_NAME} ${target} ${corpus} ${runs} 1)
      lockstep_test_properties(fuzz_${target} LABELS unit fuzz TIMEOUT 600)
      lockstep_tier(fuzz_${target} SHARE)
    endif()
  endwhile()
endfunction()
