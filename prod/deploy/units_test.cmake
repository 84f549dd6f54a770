# O10: what systemd says of the units as they are installed: it knows every line, finds every program, and rates what they may do. Its
# scale goes from 0 to 10; what is left at 1.1 is the network, which they are there for.
#
# cmake -DBUILD=<build folder> -DFOLDER=<scratch> -DANALYZE=<systemd-analyze> -P this
file(REMOVE_RECURSE ${FOLDER})
foreach(program lockstepd lockstep-front lockstep-kernel)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component ${program} --prefix ${FOLDER} --strip
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  set(unit ${FOLDER}/lib/systemd/system/${program}.service)
  execute_process(COMMAND ${ANALYZE} verify --man=no ${unit} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR said MATCHES "${program}")  # of other units of this machine it may complain, too
    message(FATAL_ERROR "systemd-analyze verify ${program}.service ended with ${status}:\n${said}")
  endif()
  execute_process(COMMAND ${ANALYZE} security --no-pager --offline=true --threshold=15 ${unit}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "systemd-analyze security ${program}.service, at most 1.5:\n${said}")
  endif()
  string(REGEX MATCH "Overall exposure level[^\n]*" verdict "${said}")
  message("${verdict}")
endforeach()
file(REMOVE_RECURSE ${FOLDER})
