# Writes a source that says of which commit the tree is, and whether it has been changed since. Only where that is news: what
# does not change is not built again.
#
# cmake -DROOT=<tree> -DOUTPUT=<source> [-DHEADER=<header that declares kCommit and kDirty> -DNAMESPACE=<theirs>] -P this
if(NOT HEADER)
  set(HEADER sim/cli/build.h)
  set(NAMESPACE lockstep::sim::cli)
endif()
set(commit "")
set(dirty false)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${ROOT} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE unknown)
  if(unknown)
    set(commit "")
  else()
    execute_process(COMMAND ${git} -C ${ROOT} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty true)
    endif()
  endif()
endif()
set(content "// Of which commit this was built.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

const char* const kCommit = \"${commit}\";
const bool kDirty = ${dirty};

}  // namespace ${NAMESPACE}
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT content STREQUAL before)
  file(WRITE ${OUTPUT} "${content}")
endif()
