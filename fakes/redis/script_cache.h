// What is the same about a script in every simulated server of a process: the SHA-1 of its text, and what it compiles to. A run begins
// with an empty server, and a search makes thousands of them, so each script is hashed and parsed once and not once for each.
#pragma once

#include <string>
#include <string_view>

#include "fakes/by_text.h"

struct lua_State;

namespace lockstep::fakes::redis {

class ScriptCache {
public:
    struct Script {
        std::string sha;       // lower-case hexadecimal
        std::string compiled;  // as lua_dump writes it, with names and lines; empty: it has not been compiled here yet
    };

    /// That of the calling thread.
    static ScriptCache& here();

    /// Valid until the next call.
    Script& of(std::string_view text);

private:
    ByText<Script> scripts_;
};

/// The function on top of the stack, which stays there.
[[nodiscard]] std::string compiled_form(lua_State* lua);

}  // namespace lockstep::fakes::redis
