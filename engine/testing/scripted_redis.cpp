#include "engine/testing/scripted_redis.h"

namespace lockstep::engine::testing {

ScriptedRedis::Replies ScriptedRedis::reply(RedisValue value) {
    std::vector<RedisValue> replies;
    replies.push_back(std::move(value));
    return replies;
}

ScriptedRedis::Replies ScriptedRedis::not_applied() {
    return NotApplied{{FailureCause::disconnected, "no connection"}};
}

ScriptedRedis::Replies ScriptedRedis::not_sent() {
    return NotApplied{{FailureCause::timeout, "not sent before the deadline"}};
}

ScriptedRedis::Replies ScriptedRedis::unknown() { return Unknown{{FailureCause::timeout, "no answer"}, 0}; }

ScriptedRedis::Replies ScriptedRedis::cut_off() { return Unknown{{FailureCause::disconnected, "connection lost"}, 0}; }

Task<ScriptedRedis::Replies> ScriptedRedis::exchange(RedisCommands commands, MonoTime) {
    calls_.push_back(commands->front());
    if (latency > Duration{0}) co_await clock_.sleep(latency);
    co_return answer(*commands);
}

}  // namespace lockstep::engine::testing
