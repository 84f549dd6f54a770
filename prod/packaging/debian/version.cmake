# Read by cpack before it begins: the packages are of the commit that the programs in them were built of, and say so. A version is
# 0.1.0+20261126101500.f8d84f3e94f5, so that a later commit is a later version; the time of the commit is that of every file, too.
file(STRINGS ${CPACK_LOCKSTEP_COMMIT_FILE} lines REGEX "^const")
string(REGEX MATCH "kCommit = \"([0-9a-f]*)\"" unused "${lines}")
set(commit "${CMAKE_MATCH_1}")
if(commit)
  execute_process(COMMAND git -C ${CPACK_LOCKSTEP_SOURCE} show --no-patch --format=%ct ${commit}
    OUTPUT_VARIABLE seconds OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The programs were built of commit ${commit}, which ${CPACK_LOCKSTEP_SOURCE} does not know: build them again.")
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${seconds})
  string(TIMESTAMP time "%Y%m%d%H%M%S" UTC)
  set(CPACK_PACKAGE_VERSION "${CPACK_PACKAGE_VERSION}+${time}.${commit}")
  if(lines MATCHES "kDirty = true")
    string(APPEND CPACK_PACKAGE_VERSION ".dirty")
  endif()
endif()

# Read by finish.cmake, which gets no variables of this file.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP seconds %s UTC)
  set(ENV{SOURCE_DATE_EPOCH} ${seconds})
endif()
set(ENV{LOCKSTEP_PACKAGE_VERSION} ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(ENV{LOCKSTEP_PACKAGER} "${CPACK_DEBIAN_PACKAGE_MAINTAINER}")

# One build, one version.
set(same "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_RECOMMENDS "lockstepctl")
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_SUGGESTS "lockstep-rehearsal")
set(CPACK_DEBIAN_LOCKSTEP-REHEARSAL_PACKAGE_DEPENDS
    "lockstep ${same}, lockstepd ${same}, lockstep-kernel ${same}, lockstep-worker ${same}, redis-server, nats-server")
set(CPACK_DEBIAN_LOCKSTEPD_PACKAGE_RECOMMENDS "lockstepctl")
set(CPACK_DEBIAN_LOCKSTEPD_PACKAGE_SUGGESTS "lockstep-kernel, redis-server, nats-server")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "pkg-config | pkgconf, libprotobuf-dev, libfmt-dev, nlohmann-json3-dev, libexpected-dev, libssl-dev, libre2-dev, libxxhash-dev, \
zlib1g-dev, liblua5.1-0-dev, libyaml-cpp-dev, libcli11-dev, libpugixml-dev")
