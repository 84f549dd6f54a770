#include "fakes/redis/script_cache.h"

#include <lua.hpp>

#include "fakes/redis/script_engine.h"

namespace lockstep::fakes::redis {

namespace {

/// More than a server has in use; somebody who makes up scripts for ever begins anew.
constexpr std::size_t kScriptsMax = 512;

int append_part(lua_State*, const void* part, std::size_t size, void* form) {
    static_cast<std::string*>(form)->append(static_cast<const char*>(part), size);
    return 0;
}

}  // namespace

ScriptCache& ScriptCache::here() {
    static thread_local ScriptCache cache;
    return cache;
}

ScriptCache::Script& ScriptCache::of(std::string_view text) {
    const auto known = scripts_.find(text);
    if (known != scripts_.end()) return known->second;
    if (scripts_.size() >= kScriptsMax) scripts_.clear();
    return scripts_.emplace(text, Script{ScriptEngine::sha1_hex(text), {}}).first->second;
}

std::string compiled_form(lua_State* lua) {
    std::string form;
    lua_dump(lua, append_part, &form);
    return form;
}

}  // namespace lockstep::fakes::redis
