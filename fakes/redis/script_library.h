// What a script finds in its world: the library `redis`, the sandboxed globals, and the translation between replies and
// Lua values. Internal to script_engine.cpp.
#pragma once

#include <string_view>

#include "engine/ports/redis.h"
#include "fakes/redis/script_engine.h"

struct lua_State;

namespace lockstep::fakes::redis::lua {

/// Leaves two tables on the stack: the real globals, where KEYS and ARGV go, and on top the read-only view of them that
/// scripts run in.
void push_sandbox(lua_State* lua, ScriptHost& host);

/// Pushes the handler that turns whatever a script raised into a table {err, source, line}.
void push_error_handler(lua_State* lua);

void push_text(lua_State* lua, std::string_view text);
/// Pushes the table {name = text}: an error or a status, as scripts see them.
void push_single_field(lua_State* lua, const char* name, std::string_view text);

/// A reply as a script sees it: nil is false, a status is {ok=}, an error is {err=}.
void push_reply(lua_State* lua, const engine::RedisValue& reply);

/// What a script returned (the value on top of the stack) as a reply: numbers lose their fraction, a table ends at its
/// first nil. Pops the value.
[[nodiscard]] engine::RedisValue pop_reply(lua_State* lua);

}  // namespace lockstep::fakes::redis::lua
