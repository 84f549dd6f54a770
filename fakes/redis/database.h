// A simulated Redis without the network: executes commands of sessions on one keyspace, at the instants it is told.
// Replies and error texts are those of redis 7.0.15, byte for byte, for the commands of command_table.cpp;
// differential_test.cpp compares them with the real server. What differs on purpose:
//
// 1. HGETALL, HKEYS-like listings, SMEMBERS, KEYS and SCAN list in sorted (SCAN: hashed) order; the real order is arbitrary.
// 2. There is one database (SELECT 0), no ACL, no RESP3, no Pub/Sub, no blocking, no cluster, no BYLEX ranges.
// 3. Keys past their expiry do not count in DBSIZE.
// 4. SCRIPT knows LOAD, EXISTS and FLUSH; what scripts can use is written in script_engine.h.
#pragma once

#include <functional>
#include <map>

#include "engine/runtime/time.h"
#include "fakes/redis/command.h"
#include "fakes/redis/keyspace.h"
#include "fakes/redis/script_engine.h"
#include "fakes/redis/session.h"

namespace lockstep::fakes::redis {

class Database final : private ScriptHost {
public:
    Database();

    [[nodiscard]] Keyspace& keyspace() { return keyspace_; }
    [[nodiscard]] const Keyspace& keyspace() const { return keyspace_; }
    [[nodiscard]] ScriptEngine& scripts() { return scripts_; }
    [[nodiscard]] Watches& watches() { return watches_; }

    /// One command as it comes in from a connection, by the server's wall clock.
    RedisValue execute(Session& session, Args args, engine::WallTime now);
    /// Removes what has expired by now; `execute` does so by itself.
    void expire_due(engine::WallTime now);

    /// While set, commands that may grow memory are refused (maxmemory reached, nothing to evict).
    void set_out_of_memory(bool out) { out_of_memory_ = out; }
    [[nodiscard]] bool out_of_memory() const { return out_of_memory_; }
    /// Whether the last `execute` has refused something for that reason.
    [[nodiscard]] bool refused_for_memory() const { return refused_for_memory_; }
    /// While set, the server answers LOADING to everything but a few.
    void set_loading(bool loading) { loading_ = loading; }

    /// Runs `handler` wherever the server would run the command's own, inside scripts too: how a test makes a server that
    /// does not do as Redis does. REQUIRES: a name of the command table
    /// that outlives this.
    void substitute(std::string_view command, std::function<RedisValue(Call&)> handler) {
        substituted_.insert_or_assign(command, std::move(handler));
    }

    /// Runs a command whose name and arity are known to be right. For EXEC.
    RedisValue run(const Command& command, Session& session, Args args);
    RedisValue run_script(Session& session, const std::string& sha, Args keys, Args arguments);

    /// What scripts have called so far.
    [[nodiscard]] std::size_t commands_of_scripts() const { return commands_of_scripts_; }

private:
    RedisValue call_from_script(Args args) override;
    /// The reason why the command is not even looked at, or nil.
    RedisValue refusal(const Command* command, const Session& session, Args args);
    RedisValue refuse_for_memory();
    /// Makes a refusal the reply: it dooms an open transaction.
    static RedisValue refuse(const Command* command, Session& session, RedisValue reason);

    Keyspace keyspace_;
    Watches watches_;
    ScriptEngine scripts_;
    std::map<std::string_view, std::function<RedisValue(Call&)>> substituted_;
    bool out_of_memory_ = false;
    bool refused_for_memory_ = false;
    bool loading_ = false;
    std::int64_t now_us_ = 0;

    // Of the script that is running.
    Session* script_session_ = nullptr;
    std::size_t commands_of_scripts_ = 0;
    bool script_has_written_ = false;
    bool script_out_of_memory_ = false;
};

}  // namespace lockstep::fakes::redis
