# must(<command>…): runs it; `output` is what it printed. One that fails ends the script with what it said.
macro(must)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE complaint RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}${complaint}")
  endif()
endmacro()
