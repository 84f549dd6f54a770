#include "fakes/redis/script_engine.h"

#include <openssl/evp.h>
#include <lua.hpp>

#include <array>
#include <utility>

#include "fakes/redis/script_cache.h"
#include "fakes/redis/script_library.h"

namespace lockstep::fakes::redis {

namespace {

constexpr const char* kChunkName = "@user_script";

/// How much of what lives is let lie before it is collected, in percent. Twice Lua's own: a run is short, and its texts are many.
constexpr int kCollectorPause = 400;

std::string field(lua_State* lua, int table, const char* name) {
    lua_getfield(lua, table, name);
    std::size_t length = 0;
    const char* text = lua_tolstring(lua, -1, &length);
    std::string value = text != nullptr ? std::string(text, length) : std::string();
    lua_pop(lua, 1);
    return value;
}

}  // namespace

ScriptEngine::ScriptEngine(ScriptHost& host) : host_(host), lua_(luaL_newstate()) {
    lua_gc(lua_, LUA_GCSETPAUSE, kCollectorPause);
    lua::push_sandbox(lua_, host);
    sandbox_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    globals_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    lua::push_error_handler(lua_);
    error_handler_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
}

ScriptEngine::~ScriptEngine() { lua_close(lua_); }

ScriptEngine::Loaded ScriptEngine::load(std::string_view text) {
    const auto known = known_.sha_by_text.find(text);
    if (known != known_.sha_by_text.end()) return {known->second, {}};
    ScriptCache::Script& script = ScriptCache::here().of(text);
    const std::string_view form = script.compiled.empty() ? text : std::string_view(script.compiled);
    if (luaL_loadbuffer(lua_, form.data(), form.size(), kChunkName) != 0) {
        std::string message = lua_tostring(lua_, -1);
        lua_pop(lua_, 1);
        return {{}, message};
    }
    if (script.compiled.empty()) script.compiled = compiled_form(lua_);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, sandbox_);
    lua_setfenv(lua_, -2);
    std::string sha = script.sha;
    known_.chunks.emplace(sha, luaL_ref(lua_, LUA_REGISTRYINDEX));
    known_.sha_by_text.emplace(std::string(text), sha);
    return {std::move(sha), {}};
}

void ScriptEngine::flush() { forget(known_); }

void ScriptEngine::forget(Known& other) {
    for (const auto& [sha, place] : other.chunks) luaL_unref(lua_, LUA_REGISTRYINDEX, place);
    other.chunks.clear();
    other.sha_by_text.clear();
}

void ScriptEngine::set_global_list(const char* name, std::span<const std::string_view> values) {
    lua_createtable(lua_, static_cast<int>(values.size()), 0);
    int index = 0;
    for (const std::string_view value : values) {
        lua_pushlstring(lua_, value.data(), value.size());
        lua_rawseti(lua_, -2, ++index);
    }
    lua_pushstring(lua_, name);
    lua_insert(lua_, -2);
    lua_rawset(lua_, -3);
}

engine::RedisValue ScriptEngine::run(std::string_view sha, std::span<const std::string_view> keys,
                                     std::span<const std::string_view> arguments) {
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
    set_global_list("KEYS", keys);
    set_global_list("ARGV", arguments);
    lua_pop(lua_, 1);

    lua_rawgeti(lua_, LUA_REGISTRYINDEX, error_handler_);
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, known_.chunks.find(sha)->second);
    const bool failed = lua_pcall(lua_, 0, 1, -2) != 0;
    engine::RedisValue reply = failed ? error_reply(sha) : lua::pop_reply(lua_);
    lua_pop(lua_, 1);  // the handler
    if (host_.defect) std::rethrow_exception(std::exchange(host_.defect, nullptr));
    return reply;
}

engine::RedisValue ScriptEngine::error_reply(std::string_view sha) {
    const int table = lua_gettop(lua_);
    std::string text = field(lua_, table, "err");
    const std::string source = field(lua_, table, "source");
    const std::string line = field(lua_, table, "line");
    if (!line.empty() && !source.empty()) {
        text.append(" script: ").append(sha).append(", on ").append(source).append(":").append(line).append(".");
    }
    for (char& c : text) c = c == '\r' || c == '\n' ? ' ' : c;
    lua_settop(lua_, table - 1);
    return engine::RedisValue::Error{std::move(text)};
}

std::string ScriptEngine::sha1_hex(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
        hex += kDigits[digest[i] >> 4];
        hex += kDigits[digest[i] & 15];
    }
    return hex;
}

}  // namespace lockstep::fakes::redis
