#include "fakes/redis/script_library.h"

#include <array>
#include <cstdio>
#include <exception>
#include <lua.hpp>
#include <string>
#include <vector>

#include "fakes/redis/error_kind.h"

namespace lockstep::fakes::redis::lua {

namespace {

struct NamedFunction {
    const char* name;
    lua_CFunction function;
};

/// An error table as Redis makes it from a message: "-CODE text" keeps its code, anything else gets ERR.
void push_error(lua_State* lua, std::string_view message) {
    std::string text;
    if (message.starts_with('-')) {
        message.remove_prefix(1);
        text = message.find(' ') == std::string_view::npos ? "ERR " + std::string(message) : std::string(message);
    } else {
        text = "ERR " + std::string(message);
    }
    push_single_field(lua, "err", text);
}

void push_error(lua_State* lua, ErrorKind kind) { push_single_field(lua, "err", error_text(kind)); }

// redis.call and redis.pcall. Their arguments are read where they lie on Lua's stack; only numbers are written out.

struct Arguments {
    static constexpr std::size_t kInPlace = 24;
    static constexpr std::size_t kNumberSize = 32;

    std::array<std::string_view, kInPlace> small;
    std::vector<std::string_view> large;
    std::vector<std::array<char, kNumberSize>> numbers;
    std::span<const std::string_view> all;
};

bool read_arguments(lua_State* lua, int count, Arguments& into) {
    std::string_view* out = into.small.data();
    if (static_cast<std::size_t>(count) > Arguments::kInPlace) {
        into.large.resize(static_cast<std::size_t>(count));
        out = into.large.data();
    }
    for (int i = 0; i < count; ++i) {
        const int type = lua_type(lua, i + 1);
        if (type == LUA_TNUMBER) {
            // Not lua_tolstring: it keeps 14 digits only.
            if (into.numbers.empty()) into.numbers.reserve(static_cast<std::size_t>(count));
            auto& text = into.numbers.emplace_back();
            const int length = std::snprintf(text.data(), text.size(), "%.17g", lua_tonumber(lua, i + 1));
            out[i] = {text.data(), static_cast<std::size_t>(length)};
        } else if (type == LUA_TSTRING) {
            std::size_t length = 0;
            const char* text = lua_tolstring(lua, i + 1, &length);
            out[i] = {text, length};
        } else {
            return false;
        }
    }
    into.all = {out, static_cast<std::size_t>(count)};
    return true;
}

/// Leaves the result on the stack; true when it is an error.
bool execute(lua_State* lua) {
    auto& host = *static_cast<ScriptHost*>(lua_touserdata(lua, lua_upvalueindex(1)));
    const int count = lua_gettop(lua);
    if (count == 0) {
        push_error(lua, ErrorKind::script_no_arguments);
        return true;
    }
    Arguments arguments;
    if (!read_arguments(lua, count, arguments)) {
        push_error(lua, ErrorKind::script_argument_type);
        return true;
    }
    try {
        const engine::RedisValue reply = host.call_from_script(arguments.all);
        push_reply(lua, reply);
        return reply.error() != nullptr;
    } catch (const std::exception&) {
        // A broken invariant in an observer. Lua would swallow it; it is thrown again once the script has ended.
        host.defect = std::current_exception();
        push_error(lua, "an observer failed");
        return true;
    }
}

int redis_call(lua_State* lua) {
    const bool failed = execute(lua);
    return failed ? lua_error(lua) : 1;
}

int redis_pcall(lua_State* lua) {
    execute(lua);
    return 1;
}

/// Raises an error of the library's own.
int raise(lua_State* lua, ErrorKind kind) {
    push_error(lua, kind);
    return lua_error(lua);
}

int redis_error_reply(lua_State* lua) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_error(lua, ErrorKind::script_bad_call);
        return 1;
    }
    const std::string text = lua_tostring(lua, 1);
    push_error(lua, text.starts_with('-') ? text : "-" + text);
    return 1;
}

int redis_status_reply(lua_State* lua) {
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        push_error(lua, ErrorKind::script_bad_call);
        return 1;
    }
    std::size_t length = 0;
    const char* text = lua_tolstring(lua, 1, &length);
    push_single_field(lua, "ok", {text, length});
    return 1;
}

int redis_sha1hex(lua_State* lua) {
    if (lua_gettop(lua) != 1) return raise(lua, ErrorKind::script_sha_arity);
    std::size_t length = 0;
    const char* text = lua_tolstring(lua, 1, &length);
    push_text(lua, ScriptEngine::sha1_hex({text, length}));
    return 1;
}

/// The real server writes to its log file, which nobody reads here.
int redis_log(lua_State* lua) {
    if (lua_gettop(lua) < 2) return raise(lua, ErrorKind::script_log_arity);
    if (lua_type(lua, 1) != LUA_TNUMBER) return raise(lua, ErrorKind::script_log_level_type);
    const auto level = lua_tointeger(lua, 1);
    if (level < 0 || level > 3) return raise(lua, ErrorKind::script_log_level);
    return 0;
}

// The sandbox.

int missing_global(lua_State* lua) {
    // The caller's position comes first, as for any error of the script itself.
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}

int refuse_write(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

/// pcall as Redis has it: what redis.call raised arrives as its text, as scripts written for older servers expect.
int protected_call(lua_State* lua) {
    luaL_checkany(lua, 1);
    const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (status != 0 && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1)) {
            lua_replace(lua, -2);
        } else {
            lua_pop(lua, 1);
        }
    }
    lua_pushboolean(lua, status == 0 ? 1 : 0);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/// Replaces the table on top of the stack by a view of it that cannot be written to.
void make_read_only(lua_State* lua) {
    lua_newtable(lua);
    lua_createtable(lua, 0, 2);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

constexpr const char* kBaseFunctions[] = {"assert",   "error",  "getmetatable", "ipairs",       "next",     "pairs",
                                          "rawequal", "rawget", "select",       "setmetatable", "tonumber", "tostring",
                                          "type",     "unpack", "xpcall",       "_VERSION"};

/// Copies a library that has been opened into the table on top of the stack, read-only.
void offer_library(lua_State* lua, const char* name) {
    lua_getglobal(lua, name);
    make_read_only(lua);
    lua_setfield(lua, -2, name);
}

void push_redis_library(lua_State* lua, ScriptHost& host) {
    lua_newtable(lua);
    for (const auto& [name, function] : {NamedFunction{"call", redis_call}, NamedFunction{"pcall", redis_pcall}}) {
        lua_pushlightuserdata(lua, &host);
        lua_pushcclosure(lua, function, 1);
        lua_setfield(lua, -2, name);
    }
    for (const auto& [name, function] :
         {NamedFunction{"error_reply", redis_error_reply}, NamedFunction{"status_reply", redis_status_reply},
          NamedFunction{"sha1hex", redis_sha1hex}, NamedFunction{"log", redis_log}}) {
        lua_pushcfunction(lua, function);
        lua_setfield(lua, -2, name);
    }
    int level = 0;
    for (const char* name : {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}) {
        lua_pushinteger(lua, level++);
        lua_setfield(lua, -2, name);
    }
    make_read_only(lua);
}

/// Where the error that is being handled was raised: the innermost function that is not one of ours.
bool find_position(lua_State* lua, lua_Debug& position) {
    if (lua_getstack(lua, 1, &position) == 0) return false;
    lua_getinfo(lua, "nSl", &position);
    if (std::string_view(position.what) == "C") {
        if (lua_getstack(lua, 2, &position) == 0) return false;
        lua_getinfo(lua, "nSl", &position);
    }
    return true;
}

int handle_error(lua_State* lua) {
    lua_Debug position;
    const bool found = find_position(lua, position);
    if (!lua_istable(lua, 1)) {
        lua_getglobal(lua, "tostring");
        lua_pushvalue(lua, 1);
        lua_call(lua, 1, 1);
        const char* text = lua_tostring(lua, -1);
        push_single_field(lua, "err", "ERR " + std::string(text != nullptr ? text : ""));
        lua_replace(lua, 1);
        lua_settop(lua, 1);
    }
    if (found) {
        lua_pushstring(lua, position.source);
        lua_setfield(lua, 1, "source");
        lua_pushinteger(lua, position.currentline);
        lua_setfield(lua, 1, "line");
    }
    return 1;
}

}  // namespace

void push_sandbox(lua_State* lua, ScriptHost& host) {
    for (const auto& [name, open] :
         {NamedFunction{"", luaopen_base}, NamedFunction{LUA_TABLIBNAME, luaopen_table},
          NamedFunction{LUA_STRLIBNAME, luaopen_string}, NamedFunction{LUA_MATHLIBNAME, luaopen_math}}) {
        lua_pushcfunction(lua, open);
        lua_pushstring(lua, name);
        lua_call(lua, 1, 0);
    }
    lua_getglobal(lua, LUA_MATHLIBNAME);
    for (const char* name : {"random", "randomseed"}) {
        lua_pushnil(lua);
        lua_setfield(lua, -2, name);
    }
    lua_pop(lua, 1);

    lua_newtable(lua);  // the globals
    for (const char* name : kBaseFunctions) {
        lua_getglobal(lua, name);
        lua_setfield(lua, -2, name);
    }
    lua_pushcfunction(lua, protected_call);
    lua_setfield(lua, -2, "pcall");
    for (const char* name : {LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME}) offer_library(lua, name);
    push_redis_library(lua, host);
    lua_setfield(lua, -2, "redis");
    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, missing_global);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);

    lua_pushvalue(lua, -1);
    make_read_only(lua);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, "_G");
}

void push_error_handler(lua_State* lua) { lua_pushcfunction(lua, handle_error); }

}  // namespace lockstep::fakes::redis::lua
