# Debian packages: `cpack -G DEB` in the build folder, or `./dev packages`. One for each program, one for developers. Included last.
#
# Component X of the installation and component X-debian, which only packages have (files in /etc, documents), make package X.

set(LOCKSTEP_PACKAGER "Lockstep maintainers <maintainers@lockstep.invalid>" CACHE STRING "Maintainer of the Debian packages: who builds them")

find_package(Python3 COMPONENTS Interpreter QUIET)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})  # the commit is added by debian/version.cmake
set(CPACK_SET_DESTDIR ON)  # the units name the place of the programs, which is /usr/bin then
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/prod/packaging/debian/version.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/prod/packaging/debian/finish.cmake)
set(CPACK_LOCKSTEP_COMMIT_FILE ${LOCKSTEP_GENERATED_DIR}/commit.cpp)
set(CPACK_LOCKSTEP_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_LOCKSTEP_STRIP ${CMAKE_STRIP})
set(CPACK_LOCKSTEP_PYTHON ${Python3_EXECUTABLE})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${LOCKSTEP_PACKAGER}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENTS_ALL "")

# lockstep_debian_package(<install component> NAME <package> SECTION <section> SUMMARY <line> DESCRIPTION <text> [UNIT <service>])
macro(lockstep_debian_package component)
  cmake_parse_arguments(arg "" "NAME;SECTION;SUMMARY;DESCRIPTION;UNIT" "" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component} ${component}-debian)
  string(TOUPPER ${component}-debian upper_debian)
  set(CPACK_COMPONENT_${upper}_GROUP ${component})
  set(CPACK_COMPONENT_${upper_debian}_GROUP ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${arg_NAME})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${arg_SECTION})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_DESCRIPTION}")
  if(EXISTS ${CMAKE_SOURCE_DIR}/prod/packaging/debian/${arg_NAME}.lintian-overrides)
    install(FILES ${CMAKE_SOURCE_DIR}/prod/packaging/debian/${arg_NAME}.lintian-overrides DESTINATION /usr/share/lintian/overrides
      RENAME ${arg_NAME} COMPONENT ${component}-debian EXCLUDE_FROM_ALL)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/prod/packaging/debian/copyright DESTINATION /usr/share/doc/${arg_NAME}
    COMPONENT ${component}-debian EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION /usr/share/doc/${arg_NAME} RENAME changelog
    COMPONENT ${component}-debian EXCLUDE_FROM_ALL)
  if(arg_UNIT)
    set(unit ${arg_UNIT})
    foreach(script postinst prerm postrm)
      configure_file(${CMAKE_SOURCE_DIR}/prod/packaging/debian/${script}.in ${CMAKE_BINARY_DIR}/package/${component}/${script}
        @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
      list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/${component}/${script})
    endforeach()
  endif()
endmacro()

# lockstep_debian_conffiles(<install component> [SECRET] <files>…): to /etc/lockstep. What may come to hold passwords only root reads.
macro(lockstep_debian_conffiles component)
  set(files ${ARGN})
  set(mode OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  if("${ARGV1}" STREQUAL "SECRET")
    list(POP_FRONT files)
    set(mode OWNER_READ OWNER_WRITE GROUP_READ)
  endif()
  string(TOUPPER ${component} upper)
  foreach(file IN LISTS files)
    install(FILES ${CMAKE_SOURCE_DIR}/prod/deploy/${file} DESTINATION /etc/lockstep PERMISSIONS ${mode}
      COMPONENT ${component}-debian EXCLUDE_FROM_ALL)
    file(APPEND ${CMAKE_BINARY_DIR}/package/${component}/conffiles "/etc/lockstep/${file}\n")
  endforeach()
  list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/${component}/conffiles)
  list(REMOVE_DUPLICATES CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA)
endmacro()
file(REMOVE_RECURSE ${CMAKE_BINARY_DIR}/package/lockstepd ${CMAKE_BINARY_DIR}/package/lockstep-front
  ${CMAKE_BINARY_DIR}/package/lockstep-kernel)

lockstep_debian_package(lockstep NAME lockstep SECTION devel
  SUMMARY "deterministic simulator of a job scheduler"
  DESCRIPTION "Runs scenario files against the scheduler's engine in a simulated cluster,
where crashes, pauses, lost answers and lying clocks replay to the bit from a
seed.")
lockstep_debian_package(lockstep-rehearsal NAME lockstep-rehearsal SECTION devel
  SUMMARY "scenarios of the job scheduler simulator on real servers"
  DESCRIPTION "Runs scenario files of lockstep on redis-server, nats-server and the programs
of a deployment, and judges them by the same rules: lockstep run --real. And
starts a whole deployment to try things with: lockstep dev.")
lockstep_debian_package(lockstepd NAME lockstepd SECTION net UNIT lockstepd.service
  SUMMARY "job scheduler and workflow engine on Redis and NATS JetStream"
  DESCRIPTION "Takes jobs from NATS JetStream, asks a safety kernel before every dispatch and
keeps all state in Redis.
.
The service is neither enabled nor started at installation: it needs its
servers, whose addresses stand in /etc/lockstep/lockstepd.env.")
lockstep_debian_package(lockstep-front NAME lockstep-front SECTION net UNIT lockstep-front.service
  SUMMARY "front of several cells of a job scheduler"
  DESCRIPTION "Routes each tenant's jobs to the cell that /etc/lockstep/cells.yaml names or a hash
chooses, a Redis and a NATS with their replicas of lockstepd, and brings results
back.
.
The service is neither enabled nor started at installation.")
lockstep_debian_package(lockstep-kernel NAME lockstep-kernel SECTION net UNIT lockstep-kernel.service
  SUMMARY "reference safety kernel of a job scheduler"
  DESCRIPTION "Decides by the policy file /etc/lockstep/safety.yaml whether a job may be
dispatched, by gRPC.
.
The service is neither enabled nor started at installation.")
lockstep_debian_package(lockstep-worker NAME lockstep-worker SECTION net
  SUMMARY "worker of a job scheduler that runs a command for each job"
  DESCRIPTION "Works on the jobs that lockstepd sends: sleeps, echoes their input, or runs a
command for each.")
lockstep_debian_package(lockstepctl NAME lockstepctl SECTION admin
  SUMMARY "command line of operators of a job scheduler"
  DESCRIPTION "Submits, shows, cancels and approves jobs, runs workflows, handles dead
letters, and says what is wrong with a deployment of lockstepd.")
lockstep_debian_package(dev NAME liblockstep-dev SECTION libdevel
  SUMMARY "engine and simulator of a job scheduler, for developers"
  DESCRIPTION "Static libraries and headers, with a CMake package (Lockstep, components engine
and sim) and modules of pkg-config (lockstep-engine, lockstep-sim).")
lockstep_debian_conffiles(lockstepd pools.yaml timeouts.yaml)
lockstep_debian_conffiles(lockstepd SECRET lockstepd.env)
lockstep_debian_conffiles(lockstep-front cells.yaml)
lockstep_debian_conffiles(lockstep-kernel safety.yaml)

include(CPack)
