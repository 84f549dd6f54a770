# Fails when a file includes a folder that its own folder must not know. Run as: cmake -DROOT=<tree> -P this.
#
# Every arrow ends at engine/. prod/ may also use the policy evaluator in fakes/policy/, because the reference safety
# kernel and the simulated one decide by the same rules. bench/ may include anything and is included by nobody.
#
# Tests (foo_test.cpp, test_foo.h, test_foo.cpp, and the folder prod/integration/) and prod/ordeal/, which hurts real
# servers, may also use the helpers that start them, fakes/testing/, draw from a seed by fakes/rng.h, and speak to those
# servers by their own client libraries. Tests of prod/ compare its kernel
# with the simulated one, fakes/kernel/.
#
# prod/rehearsal/ runs scenarios on real servers: it may use the scenario format, the oracles and the command line of sim/,
# and what those stand on.

set(may_include_engine "engine/")
set(may_include_fakes "engine/|fakes/")
set(may_include_sim "engine/|fakes/|reports/|sim/")
set(may_include_reports "engine/|reports/")
set(may_include_prod "engine/|fakes/policy/|prod/")

# The stubs of gRPC services belong to prod/; the engine meets the kernel only at its port.
set(forbidden_everywhere_but_prod "\\.grpc\\.pb\\.h|grpcpp/|hiredis/|nats/|uv\\.h|httplib\\.h|spdlog/|prometheus/")

set(violations "")
foreach(folder engine fakes sim reports prod)
  file(GLOB_RECURSE files ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp)
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    file(RELATIVE_PATH path ${ROOT} ${file})
    set(is_test FALSE)
    if(path MATCHES "_test\\.cpp$|/test_[^/]*$|^prod/(integration|ordeal)/")
      set(is_test TRUE)
    endif()
    set(may_include ${may_include_${folder}})
    if(path MATCHES "^prod/rehearsal/")
      set(may_include "engine/|fakes/|reports/|sim/|prod/")
    endif()
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]*)[>\"].*" "\\1" target "${line}")
      if(is_test AND target MATCHES "^fakes/testing/|^fakes/rng\\.h|^fakes/kernel/|^hiredis/|^nats/")
        continue()
      endif()
      if(target MATCHES "^(engine|fakes|sim|reports|prod|bench|scenarios)/"
         AND NOT target MATCHES "^(${may_include})")
        list(APPEND violations "  ${path} includes ${target}")
      elseif(target MATCHES "^\\.\\./|/\\.\\./")
        list(APPEND violations "  ${path} includes ${target}: includes start at the root of the tree")
      elseif(NOT folder STREQUAL "prod" AND target MATCHES "^(${forbidden_everywhere_but_prod})")
        list(APPEND violations "  ${path} includes ${target}: vendor libraries stay in prod/")
      endif()
    endforeach()
  endforeach()
endforeach()

if(violations)
  list(JOIN violations "\n" listing)
  message(FATAL_ERROR "Includes against the direction of the folders:\n${listing}")
endif()
