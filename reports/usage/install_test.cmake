# Installs the pages of a program under a prefix of its own, and holds them against what it prints.
# Run as: cmake -D INSTALL_SCRIPT=<its folder of the build>/cmake_install.cmake -D NAME=<program> -D PROGRAM=<its file> -D FOLDER=<scratch>
#         -P install_test.cmake
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} -D CMAKE_INSTALL_PREFIX=${FOLDER} -P ${INSTALL_SCRIPT}
                RESULT_VARIABLE failed OUTPUT_QUIET)
if(failed)
  message(FATAL_ERROR "the installation failed")
endif()
function(expect file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE said RESULT_VARIABLE failed)
  file(READ ${FOLDER}/share/${file} text)
  if(failed OR said STREQUAL "" OR NOT text STREQUAL said)
    message(FATAL_ERROR "${file} is not what \"${NAME} ${ARGN}\" prints")
  endif()
endfunction()
expect(man/man1/${NAME}.1 man)
expect(bash-completion/completions/${NAME} completion bash)
expect(zsh/site-functions/_${NAME} completion zsh)
expect(fish/vendor_completions.d/${NAME}.fish completion fish)
