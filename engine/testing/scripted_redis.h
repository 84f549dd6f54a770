// A Redis port whose answers a test writes by hand.
#pragma once

#include <functional>
#include <vector>

#include "engine/ports/redis.h"
#include "engine/testing/virtual_loop.h"

namespace lockstep::engine::testing {

class ScriptedRedis final : public Redis {
public:
    using Replies = Outcome<std::vector<RedisValue>>;

    /// The clock outlives the port.
    explicit ScriptedRedis(const VirtualClock& clock) : clock_(clock) {}

    /// Answers one exchange; it comes `latency` after it was sent.
    std::function<Replies(const std::vector<RedisCommand>&)> answer;
    Duration latency{};

    /// The first command of each exchange.
    [[nodiscard]] const std::vector<RedisCommand>& calls() const { return calls_; }

    [[nodiscard]] static Replies reply(RedisValue value);
    [[nodiscard]] static Replies not_applied();
    [[nodiscard]] static Replies not_sent();
    /// No answer in time; the connection still stands.
    [[nodiscard]] static Replies unknown();
    /// The connection broke before the answer.
    [[nodiscard]] static Replies cut_off();

private:
    Task<Replies> exchange(RedisCommands commands, MonoTime deadline) override;

    const VirtualClock& clock_;
    std::vector<RedisCommand> calls_;
};

}  // namespace lockstep::engine::testing
