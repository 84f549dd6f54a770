// Runs the Lua scripts of a simulated server in an embedded Lua 5.1, the version that Redis 7.0 embeds.
//
// Scripts see KEYS, ARGV, `redis` (call, pcall, error_reply, status_reply, sha1hex, log) and of Lua `string`, `table`, `math`
// and the base functions that neither load code nor reach around the sandbox. As in Redis, a global that does not exist is an error, and
// so is writing to one. What is not there, on purpose:
//
// 1. cjson, cmsgpack, struct and bit: our scripts do without, and an embedded Lua has none.
// 2. math.random, os and io: a script is a function of its arguments and of the keys.
// 3. A time limit and BUSY: a script takes no time. One that loops for ever hangs the simulation.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/ports/redis.h"
#include "fakes/by_text.h"

struct lua_State;

namespace lockstep::fakes::redis {

/// Who executes the commands that a script calls.
class ScriptHost {
public:
    virtual ~ScriptHost() = default;
    /// REQUIRES: at least the command's name.
    virtual engine::RedisValue call_from_script(std::span<const std::string_view> args) = 0;

    /// What a call threw while a script ran; the engine throws it on after the script.
    std::exception_ptr defect;
};

class ScriptEngine {
public:
    /// The scripts that a server knows.
    class Known {
        friend class ScriptEngine;
        ByText<int> chunks;               // by sha: the compiled function's place in Lua's registry
        ByText<std::string> sha_by_text;  // so that a text sent again and again is hashed once
    };

    /// The host must outlive the engine.
    explicit ScriptEngine(ScriptHost& host);
    ScriptEngine(const ScriptEngine&) = delete;
    ScriptEngine& operator=(const ScriptEngine&) = delete;
    ~ScriptEngine();

    struct Loaded {
        std::string sha;
        std::string error;  // why it does not compile; empty when it does
    };
    /// Compiles a script, once per text.
    Loaded load(std::string_view text);
    [[nodiscard]] bool knows(std::string_view sha) const { return known_.chunks.contains(sha); }
    /// Forgets every script.
    void flush();
    /// What this server knows changes places with what another one does, whose scripts this engine has compiled too.
    void exchange(Known& other) { std::swap(known_, other); }
    /// That one is no more.
    void forget(Known& other);

    /// REQUIRES: knows(sha).
    engine::RedisValue run(std::string_view sha, std::span<const std::string_view> keys,
                           std::span<const std::string_view> arguments);

    [[nodiscard]] static std::string sha1_hex(std::string_view text);

private:
    void set_global_list(const char* name, std::span<const std::string_view> values);
    engine::RedisValue error_reply(std::string_view sha);

    ScriptHost& host_;
    lua_State* lua_;
    Known known_;
    int error_handler_ = 0;
    int globals_ = 0;
    int sandbox_ = 0;
};

}  // namespace lockstep::fakes::redis
