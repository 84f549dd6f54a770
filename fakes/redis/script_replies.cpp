#include <lua.hpp>
#include <string>
#include <utility>

#include "fakes/redis/script_library.h"

// Replies as Lua values, and Lua values as replies.

namespace lockstep::fakes::redis::lua {

void push_text(lua_State* lua, std::string_view text) { lua_pushlstring(lua, text.data(), text.size()); }

void push_single_field(lua_State* lua, const char* name, std::string_view text) {
    lua_createtable(lua, 0, 1);
    push_text(lua, text);
    lua_setfield(lua, -2, name);
}

void push_reply(lua_State* lua, const engine::RedisValue& reply) {
    if (const auto* text = reply.bulk()) {
        push_text(lua, *text);
    } else if (const auto* number = reply.integer()) {
        lua_pushnumber(lua, static_cast<lua_Number>(*number));
    } else if (const auto* status = reply.status()) {
        push_single_field(lua, "ok", status->text);
    } else if (const auto* error = reply.error()) {
        push_single_field(lua, "err", error->text);
    } else if (const auto* elements = reply.array()) {
        luaL_checkstack(lua, 4, "reply too deep");
        lua_createtable(lua, static_cast<int>(elements->size()), 0);
        int index = 0;
        for (const engine::RedisValue& element : *elements) {
            push_reply(lua, element);
            lua_rawseti(lua, -2, ++index);
        }
    } else {
        lua_pushboolean(lua, 0);
    }
}

engine::RedisValue pop_reply(lua_State* lua) {
    using engine::RedisValue;
    // Redis casts; a number out of range becomes the smallest integer there, as on the processors it runs on.
    constexpr double kTwoTo63 = 9223372036854775808.0;
    const auto text_at = [lua](int index) {
        std::size_t length = 0;
        const char* text = lua_tolstring(lua, index, &length);
        return std::string(text, length);
    };
    const auto single_line = [](std::string text) {
        for (char& c : text) c = c == '\r' || c == '\n' ? ' ' : c;
        return text;
    };
    const auto string_field = [lua](const char* name) {
        lua_pushstring(lua, name);
        lua_rawget(lua, -2);
        if (lua_type(lua, -1) == LUA_TSTRING) return true;
        lua_pop(lua, 1);
        return false;
    };

    RedisValue reply;
    switch (lua_type(lua, -1)) {
        case LUA_TSTRING: reply = text_at(-1); break;
        case LUA_TNUMBER: {
            const double number = lua_tonumber(lua, -1);
            const bool fits = number >= -kTwoTo63 && number < kTwoTo63;
            reply = fits ? static_cast<std::int64_t>(number) : INT64_MIN;
            break;
        }
        case LUA_TBOOLEAN:
            if (lua_toboolean(lua, -1) != 0) reply = std::int64_t{1};
            break;
        case LUA_TTABLE: {
            if (string_field("err")) {
                reply = RedisValue::Error{single_line(text_at(-1))};
                lua_pop(lua, 1);
                break;
            }
            if (string_field("ok")) {
                reply = RedisValue::Status{single_line(text_at(-1))};
                lua_pop(lua, 1);
                break;
            }
            luaL_checkstack(lua, 4, "reply too deep");
            RedisValue::Array elements;
            elements.reserve(lua_objlen(lua, -1));
            for (int index = 1;; ++index) {
                lua_rawgeti(lua, -1, index);
                if (lua_isnil(lua, -1)) break;
                elements.push_back(pop_reply(lua));
            }
            lua_pop(lua, 1);
            reply = std::move(elements);
            break;
        }
        default: break;
    }
    lua_pop(lua, 1);
    return reply;
}

}  // namespace lockstep::fakes::redis::lua
