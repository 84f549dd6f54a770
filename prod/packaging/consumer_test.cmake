# K2: installs what developers get, moves the prefix, and has a project of somebody else built against it, by the CMake package and by
# pkg-config. The same seed of the same file must give there what `lockstep` says of it.
#
# cmake -DBUILD=<build folder> -DSOURCE=<tree> -DFOLDER=<scratch> -DCOMPILER=<c++> -DLAUNCHER=<ccache or nothing> -DLINKER_FLAGS=<flags> -P this
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)

file(REMOVE_RECURSE ${FOLDER})
must(${CMAKE_COMMAND} --install ${BUILD} --component dev --prefix ${FOLDER}/staged)
must(${CMAKE_COMMAND} --install ${BUILD} --component lockstep --prefix ${FOLDER}/staged)
file(RENAME ${FOLDER}/staged ${FOLDER}/moved)

# Where it was built and where it was installed first is said nowhere. Debug information says "./engine/…".
foreach(place ${BUILD} ${SOURCE} ${FOLDER}/staged)
  execute_process(COMMAND grep --recursive --files-with-matches --fixed-strings ${place} ${FOLDER}/moved OUTPUT_VARIABLE telling)
  if(NOT telling STREQUAL "")
    message(FATAL_ERROR "${place} stands in what was installed:\n${telling}")
  endif()
endforeach()
file(GLOB_RECURSE headers RELATIVE ${FOLDER}/moved ${FOLDER}/moved/include/*)
set(strays "${headers}")
list(FILTER strays INCLUDE REGEX "test|fixture|\\.cpp$|\\.grpc\\.pb\\.h$")
if(strays)
  message(FATAL_ERROR "headers of tests are installed: ${strays}")
endif()

must(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${FOLDER}/build -D CMAKE_PREFIX_PATH=${FOLDER}/moved
     -D CMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS}")
must(${CMAKE_COMMAND} --build ${FOLDER}/build)
set(file share/lockstep/scenarios/happy-path.json)
must(${FOLDER}/build/run_file ${FOLDER}/moved/${file} 7)
string(REGEX MATCH "^happy-path [0-9a-f]+ passed" said_by_library "${output}")
must(${FOLDER}/moved/bin/lockstep run ${FOLDER}/moved/${file} --seed 7 --json)
string(JSON digest GET "${output}" results 0 digest)
if(NOT said_by_library STREQUAL "happy-path ${digest} passed")
  message(FATAL_ERROR "the library says \"${said_by_library}\", and lockstep ${digest}")
endif()

# An invariant of its own is judged by all subcommands, whatever the file names.
must(${FOLDER}/build/own_rules run ${FOLDER}/moved/${file} -v)
if(NOT output MATCHES "\n  sent_once +[1-9]")
  message(FATAL_ERROR "sent_once was not put to the test: ${output}")
endif()
execute_process(COMMAND ${FOLDER}/build/own_rules run ${FOLDER}/moved/share/lockstep/scenarios/worker-goes-stale-during-a-commit.json
  OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR NOT output MATCHES "sent_once at [0-9.]+s on scheduler-[0-9], job [^:]+: it is sent 2 times")
  message(FATAL_ERROR "own_rules ended with ${status}: ${output}")
endif()

# The same by pkg-config, engine only.
file(GLOB_RECURSE modules ${FOLDER}/moved/*/lockstep-engine.pc)
cmake_path(GET modules PARENT_PATH modules)
set(ENV{PKG_CONFIG_PATH} ${modules})
must(pkg-config --cflags lockstep-engine)
separate_arguments(flags UNIX_COMMAND "${output}")
must(pkg-config --libs lockstep-engine)
separate_arguments(libraries UNIX_COMMAND "${output} ${LINKER_FLAGS}")
must(${LAUNCHER} ${COMPILER} -c ${CMAKE_CURRENT_LIST_DIR}/consumer/check_workflow.cpp -o ${FOLDER}/check_workflow.o ${flags})
must(${COMPILER} ${FOLDER}/check_workflow.o -o ${FOLDER}/check_workflow ${libraries})
must(pkg-config --exists --print-errors "lockstep-sim >= 0.1")
foreach(program ${FOLDER}/check_workflow ${FOLDER}/build/check_workflow)
  file(WRITE ${FOLDER}/sound.json "{\"id\":\"w\",\"steps\":{\"a\":{\"topic\":\"job.default\"}}}")
  execute_process(COMMAND ${program} INPUT_FILE ${FOLDER}/sound.json OUTPUT_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT output STREQUAL "1 steps: a\n")
    message(FATAL_ERROR "${program} ended with ${status}: ${output}")
  endif()
  file(WRITE ${FOLDER}/broken.json "{\"id\":\"w\",\"steps\":{\"a\":{\"topic\":\"job.default\", \"depends_on\":[\"b\"]}}}")
  execute_process(COMMAND ${program} INPUT_FILE ${FOLDER}/broken.json OUTPUT_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 2 OR NOT output MATCHES "^stdin:1:")
    message(FATAL_ERROR "${program} ended with ${status} at a step that depends on nothing there is: ${output}")
  endif()
endforeach()
file(REMOVE_RECURSE ${FOLDER}/moved ${FOLDER}/build)  # 200 MB
