# What a program of somebody else needs to link the engine or the simulator: archives, headers, a CMake package (Lockstep, with the
# components engine and sim) and files for pkg-config (lockstep-engine, lockstep-sim). Install component: dev. Nothing in it says where
# it was built or installed: the prefix can be moved.

include(CMakePackageConfigHelpers)
set(LOCKSTEP_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
set(LOCKSTEP_PACKAGE_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/lockstep)

# lockstep_package_component(<name> FOLDERS <folders>… TARGETS <targets>…): each target lockstep_x becomes Lockstep::x.
function(lockstep_package_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;TARGETS")
  foreach(target IN LISTS arg_TARGETS)
    string(REGEX REPLACE "^lockstep_" "" short ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${short})
  endforeach()
  install(TARGETS ${arg_TARGETS} EXPORT Lockstep_${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    INCLUDES DESTINATION ${LOCKSTEP_PACKAGE_HEADERS})
  install(EXPORT Lockstep_${name} NAMESPACE Lockstep:: FILE Lockstep_${name}.cmake DESTINATION ${LOCKSTEP_PACKAGE_DIR} COMPONENT dev)
  install(FILES ${CMAKE_SOURCE_DIR}/.cmake/${name}_dependencies.cmake DESTINATION ${LOCKSTEP_PACKAGE_DIR} COMPONENT dev)
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/${folder}/*.h)
    list(FILTER headers EXCLUDE REGEX "(^|[/_])(test|tests|testing|fixture|mutants|fuzz)[/_.]")
    foreach(header IN LISTS headers)
      cmake_path(GET header PARENT_PATH place)
      install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${LOCKSTEP_PACKAGE_HEADERS}/${place} COMPONENT dev)
    endforeach()
  endforeach()
endfunction()

lockstep_package_component(engine FOLDERS engine TARGETS lockstep_proto lockstep_engine)
lockstep_package_component(sim FOLDERS fakes reports sim TARGETS lockstep_policy lockstep_fakes lockstep_reports lockstep_usage lockstep_scenario
  lockstep_sim lockstep_commands)
install(DIRECTORY ${LOCKSTEP_GENERATED_DIR}/proto/ DESTINATION ${LOCKSTEP_PACKAGE_HEADERS} COMPONENT dev
  FILES_MATCHING PATTERN "*.pb.h" PATTERN "*.grpc.pb.h" EXCLUDE)

configure_file(${CMAKE_SOURCE_DIR}/.cmake/LockstepConfig.cmake.in ${CMAKE_BINARY_DIR}/package/LockstepConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/LockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/.cmake/dependency.cmake ${CMAKE_BINARY_DIR}/package/LockstepConfig.cmake
              ${CMAKE_BINARY_DIR}/package/LockstepConfigVersion.cmake
        DESTINATION ${LOCKSTEP_PACKAGE_DIR} COMPONENT dev)

# From the folder of the files to the prefix, as they are installed: lib/x86_64-linux-gnu/pkgconfig, lib/pkgconfig or another.
string(REGEX REPLACE "[^/]+" ".." LOCKSTEP_UP_FROM_LIBDIR ${CMAKE_INSTALL_LIBDIR})
foreach(module engine sim)
  configure_file(${CMAKE_SOURCE_DIR}/.cmake/lockstep-${module}.pc.in ${CMAKE_BINARY_DIR}/package/lockstep-${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/lockstep-${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()
