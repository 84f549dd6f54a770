# How a third-party library gets its one name, `deps::<library>`. Part of the installed package, too, where the same libraries are
# found for whoever links ours: there LOCKSTEP_DEPENDENCY_SCOPE is empty, so that each folder that asks has targets of its own.

include(CMakeFindDependencyMacro)

# lockstep_dependency(<name> <targets that it links>…)
function(lockstep_dependency name)
  # Exports write down the name of the target, not that of the alias.
  if(NOT TARGET lockstep_deps_${name})
    add_library(lockstep_deps_${name} INTERFACE IMPORTED ${LOCKSTEP_DEPENDENCY_SCOPE})
    target_link_libraries(lockstep_deps_${name} INTERFACE ${ARGN})
    add_library(deps::${name} ALIAS lockstep_deps_${name})
  endif()
endfunction()

# lockstep_pkgconfig(<name> <module of pkg-config>): what is missing is handled as find_dependency does.
macro(lockstep_pkgconfig name module)
  pkg_check_modules(LOCKSTEP_PC_${name} QUIET IMPORTED_TARGET ${LOCKSTEP_DEPENDENCY_SCOPE} ${module})
  if(LOCKSTEP_PC_${name}_FOUND)
    lockstep_dependency(${name} PkgConfig::LOCKSTEP_PC_${name})
  else()
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "${CMAKE_FIND_PACKAGE_NAME} needs ${module}, which pkg-config does not know.")
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    if(${CMAKE_FIND_PACKAGE_NAME}_FIND_REQUIRED)
      message(FATAL_ERROR "${${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE}")
    endif()
    return()
  endif()
endmacro()
