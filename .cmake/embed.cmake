# Writes OUTPUT, a header that holds the text of INPUT as a string constant. Run by lockstep_embed.

cmake_path(GET INPUT STEM LAST_ONLY stem)
string(REPLACE "-" "_" stem "${stem}")
string(REPLACE "_" ";" words "${stem}")
set(constant k)
foreach(word IN LISTS words)
  string(SUBSTRING "${word}" 0 1 first)
  string(SUBSTRING "${word}" 1 -1 rest)
  string(TOUPPER "${first}" first)
  string(APPEND constant "${first}${rest}")
endforeach()

file(READ "${INPUT}" text)
string(FIND "${text}" ")embedded\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${PATH_IN_TREE} contains the delimiter that would end the literal")
endif()

file(WRITE "${OUTPUT}" "// Generated from ${PATH_IN_TREE}; edit that.
#pragma once

#include <string_view>

namespace ${NAMESPACE} {

inline constexpr std::string_view ${constant} = R\"embedded(${text})embedded\";

}  // namespace ${NAMESPACE}
")
