// The limits of the connection to Redis, the same in production and in the simulation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/ports/redis.h"

namespace lockstep::engine {

struct RedisConnectionOptions {
    /// The server as people call it, for messages; without a password.
    std::string server = "Redis";
    /// Sent on each new connection ahead of everything else (AUTH, SELECT); a PING that must be answered follows. Each has to
    /// be accepted.
    std::vector<RedisCommand> log_in;
    /// For one attempt to connect, name resolution and log-in included.
    Duration connect_timeout = std::chrono::seconds(2);
    /// Pauses between failed attempts: doubling from the first to the last. Short, because Redis is on the path of every
    /// job, and capped, because every replica knocks.
    Duration reconnect_pause_min = std::chrono::milliseconds(20);
    Duration reconnect_pause_max = std::chrono::seconds(1);
    /// A connection that lives shorter than this was refused in disguise (too many clients, say): there is a pause before the
    /// next attempt, as after one that failed.
    Duration short_lived = std::chrono::seconds(1);
    /// The connection is given up when a reply is overdue and nothing at all has arrived for this long. Shorter, and a
    /// server that is at work on one long command loses all its callers; longer, and a dead connection holds up more of them.
    Duration silence_max = kRedisSilenceMax;
    /// How many replicas of the server must have what a call wrote before it is answered as applied; 0: none is asked. Where they
    /// have not within `replicas_patience`, the call is *unknown*: the primary has done it, and a replica that takes its place may
    /// not know of it. Calls behind it wait meanwhile.
    std::int64_t replicas_required = 0;
    Duration replicas_patience = std::chrono::milliseconds(500);
    /// Unanswered calls and their bytes that are kept, sent or still to be sent: what comes on top is refused. The calls of
    /// one replica at its busiest are some thousands; the bytes bound what a long outage can pile up in memory.
    std::size_t calls_max = 20'000;
    std::size_t bytes_max = std::size_t{64} << 20U;
};

/// With what the tunables say of replicas.
[[nodiscard]] inline RedisConnectionOptions with_replicas(std::int64_t required, Duration patience,
                                                          RedisConnectionOptions options = {}) {
    options.replicas_required = required;
    options.replicas_patience = patience;
    return options;
}

/// AUTH and SELECT, as far as needed. An empty password: no AUTH; an empty user: the default user; database 0: no SELECT.
[[nodiscard]] std::vector<RedisCommand> redis_log_in(const std::string& user, const std::string& password,
                                                     int database);

}  // namespace lockstep::engine
