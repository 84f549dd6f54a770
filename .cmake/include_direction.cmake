# Fails when a file includes a folder that its own folder must not know, when a module of engine/ includes one that is not below
# it, or when two folders include each other.
#
# cmake -DROOT=<tree> -P this       checks a tree
# cmake -DSCRATCH=<folder> -P this  checks the check: each plant must be caught
#
# Every arrow ends at engine/. prod/ may also use the policy evaluator in fakes/policy/, because the reference safety
# kernel and the simulated one decide by the same rules, and reports/usage/, as sim/ may: what both make of their command lines.
# bench/ may include anything of the tree and is included by nobody.
#
# Only reports/usage/ includes CLI11, whose headers take seconds of compilation each time; programs use reports/usage/command.h.
#
# Tests (foo_test.cpp, test_foo.h, test_foo.cpp, and the folder prod/integration/) and prod/ordeal/, which hurts real
# servers, may also use the helpers that start them, fakes/testing/, draw from a seed by fakes/rng.h, and speak to those
# servers by their own client libraries. Tests of prod/ compare its kernel
# with the simulated one, fakes/kernel/.
#
# prod/rehearsal/ runs scenarios on real servers: it may use the scenario format, the rules and the command line of sim/,
# and what those stand on.
#
# What judges runs knows of the engine only what an outside observer knows: wire messages, time, identifiers, and the settings' names.
#
# prod/packaging/consumer/ is the project of somebody else, which includes what is installed.
#
# The modules of engine/ stand in a table of .github/CONTRIBUTING.md, the lowest first, each with the modules that it includes.
# Their tests may include whatever is below them, engine/testing/, and what that stands on.

cmake_policy(VERSION 3.25)

set(may_include_engine "engine/")
set(may_include_fakes "engine/|fakes/")
set(may_include_sim "engine/|fakes/|reports/|sim/")
set(may_include_reports "engine/|reports/")
set(may_include_prod "engine/|fakes/policy/|prod/|reports/usage/")
set(may_include_bench "")

# No two folders include each other, tests apart.
set(folders_in_one_direction engine fakes sim reports prod)

# The stubs of gRPC services belong to prod/; the engine meets the kernel only at its port.
set(forbidden_everywhere_but_prod "\\.grpc\\.pb\\.h|grpcpp/|hiredis/|nats/|uv\\.h|httplib\\.h|spdlog/|prometheus/")

# Reads the table of modules: `modules`, the lowest first, and `below_<module>` for each. What is wrong with it goes to `mistakes`.
macro(read_modules root mistakes)
  set(modules "")
  file(STRINGS ${root}/.github/CONTRIBUTING.md rows ENCODING UTF-8 REGEX "^\\| `engine/[a-z_]+/` \\|")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^\\| `engine/([a-z_]+)/` \\|.*" "\\1" module "${row}")
    string(REGEX REPLACE ".*\\|([^|]*)\\|[ \t]*$" "\\1" names "${row}")
    string(REGEX MATCHALL "[a-z_]+" names "${names}")
    list(REMOVE_ITEM names nothing)
    set(below_${module} "${names}")
    set(included_by_${module} "")
    foreach(name IN LISTS names)
      if(NOT name IN_LIST modules)
        list(APPEND ${mistakes} "CONTRIBUTING.md: ${name} is said to be below engine/${module}/, and has no row before that one")
      endif()
    endforeach()
    if(NOT IS_DIRECTORY ${root}/engine/${module})
      list(APPEND ${mistakes} "CONTRIBUTING.md: there is no engine/${module}/: take its row out of the table of modules")
    endif()
    list(APPEND modules ${module})
  endforeach()
  file(GLOB present RELATIVE ${root}/engine ${root}/engine/*)
  foreach(module IN LISTS present)
    if(IS_DIRECTORY ${root}/engine/${module} AND NOT module IN_LIST modules)
      list(APPEND ${mistakes} "engine/${module}/ has no row in the table of modules of CONTRIBUTING.md: put it before all that include it")
    endif()
  endforeach()
endmacro()

# What is wrong with `path`, a file of engine/`module`/, including `target` of another module; nothing in `result` if it may.
macro(judge_module result path module other target is_test)
  set(${result} "")
  list(FIND modules ${module} own_place)
  list(FIND modules ${other} other_place)
  if(${is_test})
    if(NOT (other_place LESS own_place OR "${other}" STREQUAL "testing" OR "${other}" IN_LIST below_testing))
      set(${result} "${path} includes ${target}, which is not below its module (CONTRIBUTING.md, modules of engine/)")
    endif()
  else()
    list(APPEND included_by_${module} ${other})
    if(own_place GREATER_EQUAL 0 AND NOT other_place LESS own_place)
      set(${result} "${path} includes ${target}, which is not below its module (CONTRIBUTING.md, modules of engine/)")
    elseif(NOT "${other}" IN_LIST below_${module})
      set(${result} "${path} includes ${target}, and the row of engine/${module}/ in CONTRIBUTING.md does not say so: name ${other} there if the module is to stand on it")
    endif()
  endif()
endmacro()

# Sets `result` to one line for each thing that is wrong with the tree.
function(find_violations result root)
  set(violations "")
  read_modules(${root} violations)
  set(pairs "")
  foreach(top engine fakes sim reports prod bench)
    file(GLOB_RECURSE files ${root}/${top}/*.h ${root}/${top}/*.cpp)
    foreach(file IN LISTS files)
      file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
      file(RELATIVE_PATH path ${root} ${file})
      cmake_path(GET path PARENT_PATH folder)
      set(module "")
      if(path MATCHES "^engine/([a-z_]+)/")
        set(module ${CMAKE_MATCH_1})
      endif()
      set(is_test FALSE)
      if(path MATCHES "_test\\.cpp$|/test_[^/]*$|^prod/(integration|ordeal)/")
        set(is_test TRUE)
      endif()
      set(may_include ${may_include_${top}})
      if(path MATCHES "^sim/(model|spec|rules|judge)/" AND NOT is_test)
        set(may_include "engine/wire/|engine/runtime/(time|identifiers)\\.h|engine/config/tunables\\.h|fakes/|reports/|sim/")
      endif()
      if(path MATCHES "^prod/(rehearsal|packaging/consumer)/")
        set(may_include "engine/|fakes/|reports/|sim/|prod/")
      endif()
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]*)[>\"].*" "\\1" target "${line}")
        if(module AND target MATCHES "^engine/([a-z_]+)/" AND NOT CMAKE_MATCH_1 STREQUAL module)
          judge_module(wrong ${path} ${module} ${CMAKE_MATCH_1} ${target} ${is_test})
          list(APPEND violations ${wrong})
        endif()
        if(NOT is_test AND top IN_LIST folders_in_one_direction AND target MATCHES "^([a-z]+)/.*[^/]+$"
           AND CMAKE_MATCH_1 IN_LIST folders_in_one_direction)
          cmake_path(GET target PARENT_PATH other_folder)
          if(NOT other_folder STREQUAL folder AND NOT DEFINED "${folder}>${other_folder}")
            set("${folder}>${other_folder}" "${path} includes ${target}")
            list(APPEND pairs "${folder}>${other_folder}")
          endif()
        endif()
        if(is_test AND target MATCHES "^fakes/testing/|^fakes/rng\\.h|^fakes/kernel/|^hiredis/|^nats/")
          continue()
        endif()
        if(target MATCHES "^(engine|fakes|sim|reports|prod|bench|scenarios)/"
           AND NOT target MATCHES "^(${may_include})")
          list(APPEND violations "${path} includes ${target}")
        elseif(target MATCHES "^\\.\\./|/\\.\\./")
          list(APPEND violations "${path} includes ${target}: includes start at the root of the tree")
        elseif(target MATCHES "^CLI/" AND NOT folder STREQUAL "reports/usage")
          list(APPEND violations "${path} includes ${target}: only reports/usage/ does, and offers reports/usage/command.h")
        elseif(NOT top MATCHES "^(prod|bench)$" AND target MATCHES "^(${forbidden_everywhere_but_prod})")
          list(APPEND violations "${path} includes ${target}: vendor libraries stay in prod/")
        endif()
      endforeach()
    endforeach()
  endforeach()
  foreach(module IN LISTS modules)
    foreach(name IN LISTS below_${module})
      if(NOT name IN_LIST included_by_${module})
        list(APPEND violations "CONTRIBUTING.md: ${name} is said to be below engine/${module}/, which includes nothing of it: take it out of that row")
      endif()
    endforeach()
  endforeach()
  foreach(pair IN LISTS pairs)
    string(REGEX REPLACE "^(.*)>(.*)$" "\\2>\\1" reverse "${pair}")
    if(pair STRLESS reverse AND DEFINED "${reverse}")
      list(APPEND violations "two folders include each other: ${${pair}}, and ${${reverse}}")
    endif()
  endforeach()
  set(${result} "${violations}" PARENT_SCOPE)
endfunction()

if(ROOT)
  find_violations(violations ${ROOT})
  if(violations)
    list(JOIN violations "\n  " listing)
    message(FATAL_ERROR "Includes against the direction of the folders:\n  ${listing}")
  endif()
  return()
endif()

# A small tree, in which every kind of mistake is planted. Each plant is a file and a beginning of what must be said.
file(REMOVE_RECURSE ${SCRATCH})
set(plants "")
function(plant file line said)
  file(WRITE ${SCRATCH}/${file} "${line}\n")
  if(said)
    set_property(GLOBAL APPEND PROPERTY plants "${said}")
  endif()
endfunction()
file(WRITE ${SCRATCH}/.github/CONTRIBUTING.md "| module | what it does | below it |
| --- | --- | --- |
| `engine/low/` | is sound | nothing |
| `engine/ports/` | | nothing |
| `engine/middle/` | | `low` |
| `engine/idle/` | says too much | `low` |
| `engine/early/` | stands too low | `high` |
| `engine/gone/` | is not there | nothing |
| `engine/high/` | | `low`, `middle` |
| `engine/testing/` | | `ports` |
")
plant(engine/low/a.h "#pragma once" "")
plant(engine/ports/a.h "#pragma once" "")
plant(engine/low/a_test.cpp "#include \"engine/testing/a.h\"\n#include \"engine/ports/a.h\"" "")
plant(engine/low/b_test.cpp "#include \"engine/high/a.h\"" "engine/low/b_test.cpp includes engine/high/a.h, which is not below")
plant(engine/low/b.h "#include \"engine/middle/a.h\"" "engine/low/b.h includes engine/middle/a.h, which is not below")
plant(engine/middle/a.h "#include \"engine/low/a.h\"" "")
plant(engine/middle/b.h "#include \"engine/ports/a.h\"" "engine/middle/b.h includes engine/ports/a.h, and the row of")
plant(engine/idle/a.h "#pragma once" "CONTRIBUTING.md: low is said to be below engine/idle/, which includes nothing of it")
plant(engine/early/a.h "#include \"engine/high/a.h\"" "CONTRIBUTING.md: high is said to be below engine/early/, and has no row before")
plant(engine/high/a.h "#include \"engine/low/a.h\"\n#include \"engine/middle/a.h\"" "")
plant(engine/testing/a.h "#include \"engine/ports/a.h\"" "")
plant(engine/nameless/a.h "#pragma once" "engine/nameless/ has no row")
plant(fakes/one/a.h "#include \"fakes/two/a.h\"" "two folders include each other: fakes/one/a.h includes fakes/two/a.h, and fakes/two/a.h includes fakes/one/b.h")
plant(fakes/one/b.h "#pragma once" "")
plant(fakes/two/a.h "#include \"fakes/one/b.h\"" "")
plant(fakes/one/three/a.h "#pragma once" "")
plant(fakes/one/c.h "#include \"fakes/one/three/a.h\"" "")
plant(fakes/one/three/a_test.cpp "#include \"fakes/one/b.h\"" "")
plant(engine/low/c.h "#include \"fakes/one/a.h\"" "engine/low/c.h includes fakes/one/a.h")
plant(sim/a.h "#include \"prod/a.h\"" "sim/a.h includes prod/a.h")
plant(sim/model/a.h "#include \"engine/wire/a.h\"\n#include \"engine/config/tunables.h\"\n#include \"engine/policy/a.h\"" "sim/model/a.h includes engine/policy/a.h")
plant(prod/a.h "#include \"reports/page.h\"" "prod/a.h includes reports/page.h")
plant(fakes/d.h "#include <uv.h>" "fakes/d.h includes uv.h: vendor")
plant(reports/a.h "#include \"../a.h\"" "reports/a.h includes ../a.h: includes start")
plant(reports/usage/a.cpp "#include <CLI/CLI.hpp>" "")
plant(bench/load/a.cpp "#include <CLI/App.hpp>\n#include <hiredis/hiredis.h>" "bench/load/a.cpp includes CLI/App.hpp: only reports/usage/")
set_property(GLOBAL APPEND PROPERTY plants "CONTRIBUTING.md: there is no engine/gone/")
# The low module's mistake is the middle one's as well: the two include each other.
set_property(GLOBAL APPEND PROPERTY plants "two folders include each other: engine/low/b.h includes engine/middle/a.h")
# Said of the file, beside what is said of the row.
set_property(GLOBAL APPEND PROPERTY plants "engine/early/a.h includes engine/high/a.h, which is not below")

find_violations(found ${SCRATCH})
get_property(plants GLOBAL PROPERTY plants)
set(missed "")
set(unplanted "${found}")
foreach(plant IN LISTS plants)
  set(caught FALSE)
  foreach(one IN LISTS found)
    string(FIND "${one}" "${plant}" at)
    if(at EQUAL 0)
      set(caught TRUE)
      list(REMOVE_ITEM unplanted "${one}")
    endif()
  endforeach()
  if(NOT caught)
    list(APPEND missed "${plant}")
  endif()
endforeach()
if(missed OR unplanted)
  list(JOIN missed "\n  " missed)
  list(JOIN unplanted "\n  " unplanted)
  message(FATAL_ERROR "Planted, and not caught:\n  ${missed}\nFound, and not planted:\n  ${unplanted}")
endif()
list(LENGTH plants count)
message("Each of ${count} planted mistakes is caught.")
