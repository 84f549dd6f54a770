# Run by cpack on what has been installed for the packages: what Debian wants compressed is compressed, and archives keep no debug
# information (programs are stripped when they are installed).

# The changelog of the packaging; that of Lockstep itself lies beside it.
set(ENV{LC_ALL} C)
execute_process(COMMAND date --utc --rfc-email --date=@$ENV{SOURCE_DATE_EPOCH} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB folders ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*)
foreach(folder IN LISTS folders)
  cmake_path(GET folder FILENAME package)
  file(WRITE ${folder}/changelog.Debian
    "${package} ($ENV{LOCKSTEP_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * What has changed in Lockstep stands in changelog.gz.\n\n -- $ENV{LOCKSTEP_PACKAGER}  ${date}\n")
endforeach()

file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/* ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog*)
foreach(page IN LISTS pages)
  if(IS_SYMLINK ${page})
    continue()
  endif()
  execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/*/usr/lib/*.a)
foreach(archive IN LISTS archives)
  execute_process(COMMAND ${CPACK_LOCKSTEP_STRIP} --strip-debug --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# What each program consists of.
file(GLOB programs ${CPACK_TEMPORARY_DIRECTORY}/*/usr/bin/*)
foreach(program IN LISTS programs)
  cmake_path(GET program FILENAME name)
  cmake_path(GET program PARENT_PATH folder)
  set(compiled_in nlohmann-json3-dev libexpected-dev libcli11-dev)
  # That of its package, which may hold several programs.
  file(GLOB documents ${folder}/../share/doc/*)
  if(name MATCHES "^lockstep(-rehearsal)?$")
    list(APPEND compiled_in libkainjow-mustache-dev)
  endif()
  execute_process(
    COMMAND ${CPACK_LOCKSTEP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../sbom.py ${name} $ENV{LOCKSTEP_PACKAGE_VERSION} ${program} ${compiled_in}
    OUTPUT_FILE ${documents}/${name}.spdx.json COMMAND_ERROR_IS_FATAL ANY)
endforeach()
