// The simulated server and a real redis-server, side by side: every step is made to both, every reply compared, and at the
// end everything that the two hold.
//
// What may differ is normalised here and nowhere else: the order of hashes, sets and key listings; what TIME and INFO say;
// and keys past their expiry, which the real DBSIZE counts until the server comes to remove them.
//
// Method for expiry: real time is the simulated server's time. A command is never sent about the moment at which a key
// expires, so both have it or neither. An expiry that is set relative to now may lie later in the real server by no more
// than the longest command so far took, and so may PTTL; nothing else about time is tolerated.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fakes/redis/database.h"
#include "fakes/redis/test_commands.h"
#include "fakes/redis/test_real_server.h"
#include "fakes/testing/coverage.h"

namespace lockstep::fakes::redis {

/// How often what was compared.
struct Compared {
    enum CommandColumn : std::size_t { kReplies, kErrors, kInScripts, kInTransactions };

    testing::CoverageTable commands{"command", {"replies", "errors", "in scripts", "in transactions"}};
    testing::CoverageTable types{"reply", {"times"}};
    testing::CoverageTable errors{"error", {"times"}};
    std::uint64_t expired = 0;  // keys that were seen to expire
    std::uint64_t keyspaces = 0;
};

/// The two do not do the same. Says after what.
struct Difference : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The machine was too busy for a key's expiry to stay clear of the commands about it. Proves nothing.
struct NotCalm {};

/// Whether replies and contents may tell the time. Where they may, two numbers of as many digits as milliseconds or
/// microseconds since the epoch have agree when they are no further apart than the readings of the two clocks, and so do
/// integer replies of four digits and more: milliseconds that are left.
enum class Timestamps : std::uint8_t { none, from_both_clocks };

class Comparison {
public:
    /// Empties the real server, and begins with a fresh simulated one.
    Comparison(int port, Compared& compared, Timestamps timestamps = Timestamps::none);

    [[nodiscard]] Database& simulated() { return database_; }

    /// Throws Difference or NotCalm.
    void take(const Step& step);
    /// Every key with its type, content and expiry. REQUIRES: no memory is full.
    void compare_keyspaces();

private:
    static constexpr std::size_t kConnections = 3;  // the last one is for looking at the keyspace

    void run(std::size_t connection, engine::RedisCommand command);
    /// Scans on to the end, from the first page of each: they must have found the same keys.
    void compare_scans(engine::RedisCommand command, const RedisValue& fake, const RedisValue& real);
    void wait_until_expired(std::int64_t expiry_ms);
    void set_memory_full(bool full);
    void count(const engine::RedisCommand& command, const RedisValue& reply);
    [[nodiscard]] bool agree(const engine::RedisCommand& command, const RedisValue& fake, const RedisValue& real) const;
    [[nodiscard]] bool agree_in_transaction(std::size_t connection, const RedisValue& fake, const RedisValue& real);

    Compared& compared_;
    const Timestamps timestamps_;
    Database database_;
    std::unique_ptr<RealConnection> real_[kConnections];
    std::unique_ptr<Session> fake_[kConnections];
    std::vector<engine::RedisCommand> queued_[kConnections];
    std::set<std::string> hand_on_hashes_;  // SHA-1 of scripts that call HGETALL
    std::string story_;
    std::int64_t took_ms_ = 0;          // the command that is being compared
    std::int64_t took_ms_longest_ = 0;  // any command so far
};

}  // namespace lockstep::fakes::redis
