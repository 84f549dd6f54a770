# Fails unless runs give the same digests whatever process they are made in: another layout of the address space, another
# heap, another locale, time zone, environment and working directory, one thread or several, another order of the files.
#
# cmake -DLOCKSTEP=<program> -DPATHS=<scenario files and folders, absolute> -DSCRATCH=<folder> -P this

file(MAKE_DIRECTORY ${SCRATCH}/elsewhere ${SCRATCH}/locales)
set(reference ${SCRATCH}/digests.json)

function(run_in title)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "WRAPPER;ARGUMENTS")
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY ${SCRATCH})
  endif()
  execute_process(COMMAND ${arg_WRAPPER} ${LOCKSTEP} verify-determinism ${arg_ARGUMENTS}
    WORKING_DIRECTORY ${arg_DIRECTORY} RESULT_VARIABLE exit OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(STRIP "${out}" out)
  message("${title}: ${out}")
  if(NOT exit EQUAL 0)
    message(FATAL_ERROR "exit ${exit}")
  endif()
endfunction()

run_in("one thread" ARGUMENTS -j 1 --write ${reference} ${PATHS})

# A German locale, with its decimal comma; made here, because a system need not have it.
set(german "LC_ALL=C.UTF-8")
find_program(localedef localedef)
if(localedef)
  execute_process(COMMAND ${localedef} -i de_DE -f UTF-8 --no-archive ${SCRATCH}/locales/de_DE.UTF-8
    RESULT_VARIABLE exit OUTPUT_QUIET ERROR_QUIET)
  # 1 = made, with warnings.
  if(exit LESS_EQUAL 1 AND EXISTS ${SCRATCH}/locales/de_DE.UTF-8/LC_NUMERIC)
    set(german LC_ALL=de_DE.UTF-8 LOCPATH=${SCRATCH}/locales)
  endif()
endif()
run_in("${german}, on the other side of the date line, four threads"
  WRAPPER ${CMAKE_COMMAND} -E env ${german} TZ=Pacific/Apia ARGUMENTS -j 4 --against ${reference} --once ${PATHS})

find_program(setarch setarch)
set(fixed "")
if(setarch)
  execute_process(COMMAND ${setarch} -R ${CMAKE_COMMAND} -E true RESULT_VARIABLE exit OUTPUT_QUIET ERROR_QUIET)
  if(exit EQUAL 0)
    set(fixed ${setarch} -R)
  endif()
endif()
if(fixed)
  run_in("without address randomisation" WRAPPER ${fixed} ARGUMENTS --against ${reference} --once ${PATHS})
else()
  message("without address randomisation: left out, this system does not let a process have that")
endif()

set(relative "")
foreach(path IN LISTS PATHS)
  cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${SCRATCH}/elsewhere OUTPUT_VARIABLE one)
  list(PREPEND relative ${one})
endforeach()
# Without the thread's own store of small blocks, the filling reaches them too.
run_in("no environment, filled memory, from another folder, files in another order" DIRECTORY ${SCRATCH}/elsewhere
  WRAPPER env -i MALLOC_PERTURB_=85 MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0
  ARGUMENTS -j 2 --against ${reference} --once ${relative})
