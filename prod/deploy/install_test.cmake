# Installs this folder under a prefix that the configuration did not know, and looks where things are.
# Run as: cmake -D INSTALL_SCRIPT=<build>/prod/deploy/cmake_install.cmake -D FOLDER=<scratch> -P install_test.cmake
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} -D CMAKE_INSTALL_PREFIX=${FOLDER}/opt -P ${INSTALL_SCRIPT}
                RESULT_VARIABLE failed OUTPUT_QUIET)
if(failed)
  message(FATAL_ERROR "the installation failed")
endif()
foreach(file lib/systemd/system/lockstepd.service lib/systemd/system/lockstep-kernel.service
             lib/systemd/system/lockstep-front.service share/lockstep/examples/cells.yaml share/lockstep/examples/scale.md
             share/lockstep/examples/lockstepd.env share/lockstep/examples/lockstepd-production.env
             share/lockstep/examples/nats-server-production.conf share/lockstep/examples/pools.yaml
             share/lockstep/monitoring/lockstep.rules.yml share/lockstep/monitoring/lockstep.json)
  if(NOT EXISTS ${FOLDER}/opt/${file})
    message(FATAL_ERROR "${file} is not below the prefix")
  endif()
endforeach()
file(READ ${FOLDER}/opt/lib/systemd/system/lockstepd.service unit)
foreach(line "ExecStart=${FOLDER}/opt/bin/lockstepd" "ExecStartPre=${FOLDER}/opt/bin/lockstepd --check"
             "ExecReload=/bin/kill -HUP $MAINPID")
  string(FIND "${unit}" "${line}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "lockstepd.service does not say: ${line}")
  endif()
endforeach()
