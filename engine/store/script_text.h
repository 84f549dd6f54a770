// A script and what it needs of a library of Lua, put together to one text. Redis makes every function and table of a text anew in each
// call of it, so what a script does not use costs it nothing only if it is not there.
#pragma once

#include <string>
#include <string_view>

#include "engine/ports/redis.h"

namespace lockstep::engine {

/// The parts of `library` that `script` uses, and those that these use, in the library's order and without the
/// comments between them. A part is what a line that begins with `local` declares, functions or variables, with all lines up to the next
/// one; used is what is named outside of comments.
[[nodiscard]] std::string parts_used(std::string_view library, std::string_view script);

/// `text` behind what it uses of `library`. The name in the first line survives into the text that the server sees, for its slow log
/// and for ours.
[[nodiscard]] RedisScript with_library(std::string_view name, std::string_view library, std::string_view text);

}  // namespace lockstep::engine
