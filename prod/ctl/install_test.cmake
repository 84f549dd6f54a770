# Installs this folder under a prefix of its own, and holds the pages there against what the program prints.
# Run as: cmake -D INSTALL_SCRIPT=<build>/prod/ctl/cmake_install.cmake -D PROGRAM=<lockstepctl> -D FOLDER=<scratch> -P install_test.cmake
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
    message(FATAL_ERROR "${file} is not what \"lockstepctl ${ARGN}\" prints")
  endif()
endfunction()
expect(man/man1/lockstepctl.1 man)
expect(bash-completion/completions/lockstepctl completion bash)
expect(zsh/site-functions/_lockstepctl completion zsh)
expect(fish/vendor_completions.d/lockstepctl.fish completion fish)
