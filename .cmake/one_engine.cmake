# Fails unless the simulator and the programs of a deployment link one and the same engine: a single archive, made from
# files that are compiled once. Read from the build graph, in the build folder.
#
# cmake -DNINJA=<ninja> -DARCHIVE=<path in the build folder> -DSOURCES=<folder> -DPROGRAMS=<paths in the build folder> -P this

cmake_path(GET ARCHIVE FILENAME name)
foreach(program IN LISTS PROGRAMS)
  execute_process(COMMAND ${NINJA} -t query ${program} OUTPUT_VARIABLE edges COMMAND_ERROR_IS_FATAL ANY)
  # `||` are inputs that only have to be there first.
  string(REGEX MATCHALL "\n    (\\| )?[^|\n]*${name}" inputs "${edges}")
  list(TRANSFORM inputs REPLACE "^\n *(\\| )?" "")
  list(REMOVE_DUPLICATES inputs)
  if(NOT inputs STREQUAL ARCHIVE)
    message(FATAL_ERROR "${program} should link ${ARCHIVE} and no other engine, but links: ${inputs}")
  endif()
  string(REGEX MATCH "\n    [^\n]*/engine/[^\n]*\\.o\n|\n    engine/[^\n]*\\.o\n" object "${edges}")
  if(object)
    message(FATAL_ERROR "${program} links a part of the engine beside the archive: ${object}")
  endif()
endforeach()

# The archive itself: every object from its own folder's target, and no file of the engine compiled for another one.
file(STRINGS compile_commands.json files REGEX "^ *\"file\": \"${SOURCES}/.*\\.cpp\"")
# Where sources are compiled in batches, a batch names them.
file(STRINGS compile_commands.json batches REGEX "^ *\"file\": \".*/unity_[^/]*\\.cxx\"")
foreach(batch IN LISTS batches)
  string(REGEX REPLACE "^ *\"file\": \"(.*)\".*$" "\\1" batch "${batch}")
  file(STRINGS ${batch} united REGEX "^#include \"${SOURCES}/.*\\.cpp\"")
  list(TRANSFORM united REPLACE "^#include " "")
  list(APPEND files ${united})
endforeach()
list(TRANSFORM files REPLACE "^ *\"file\": " "")
list(FILTER files EXCLUDE REGEX "_test\\.cpp\"|/test_[^/]*\\.cpp\"|/engine/testing/")
list(LENGTH files compiled)
list(REMOVE_DUPLICATES files)
list(LENGTH files distinct)
if(compiled EQUAL 0 OR NOT compiled EQUAL distinct)
  message(FATAL_ERROR "${compiled} compilations of ${distinct} files of the engine")
endif()

file(SHA256 ${ARCHIVE} hash)
list(LENGTH PROGRAMS count)
message("${count} programs (${PROGRAMS}) link ${ARCHIVE}, made from ${distinct} files compiled once; SHA-256 ${hash}")
