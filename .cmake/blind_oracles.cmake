# Oracles go by keys, values and messages: one that knew a script by its name would judge how the engine does something, and go
# blind when it does it by another script. Fails where one names a script. What tells oracles stories may name them.
#
#   cmake -D ROOT=<source folder> -P blind_oracles.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB scripts ${ROOT}/engine/*/scripts/*.lua)
list(FILTER scripts EXCLUDE REGEX "common\\.lua$")
list(LENGTH scripts count)
if(count EQUAL 0)
  message(FATAL_ERROR "there are no scripts in the folders of the engine")
endif()
list(TRANSFORM scripts REPLACE "^.*/(.+)\\.lua$" "\\1")
list(JOIN scripts "|" names)

set(problems "")
file(GLOB sources RELATIVE ${ROOT} ${ROOT}/sim/oracles/*.cpp ${ROOT}/sim/oracles/*.h)
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/forged_world\\.")
foreach(source IN LISTS sources)
  file(STRINGS ${ROOT}/${source} lines REGEX "\"(${names})\"")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    list(APPEND problems "  ${source}: ${line}")
  endforeach()
endforeach()
if(problems)
  list(JOIN problems "\n" text)
  message(FATAL_ERROR "these oracles know a script by its name:\n${text}")
endif()
list(LENGTH sources judges)
message(STATUS "${judges} files of oracles, and none names one of ${count} scripts")
