// What one scheduler script costs in the simulated Redis: embedded Lua, keyspace and reply conversion, without network.
#include <benchmark/benchmark.h>

#include "fakes/redis/direct.h"

namespace {

using lockstep::engine::RedisCommand;

/// Eight calls, as a commit makes: the yardstick of the platform measurements.
constexpr const char* kScript = R"(
local meta, job = KEYS[1], ARGV[1]
local from = redis.call('HGET', meta, 'state') or ''
redis.call('HSET', meta, 'state', 'RUNNING', 'updated_at', ARGV[2], 'attempts', 1)
redis.call('SET', 'job:state:' .. job, 'RUNNING', 'PX', 1000)
redis.call('ZREM', 'job:index:pending', job)
redis.call('ZADD', 'job:index:running', ARGV[2], job)
redis.call('SADD', 'job:tenant:active:t', job)
redis.call('PEXPIRE', meta, 1000)
redis.call('RPUSH', 'job:events:' .. job, ARGV[2] .. '|RUNNING')
return {from, job}
)";

void ScriptOfEightCalls(benchmark::State& state) {
    lockstep::fakes::redis::DirectRedis redis;
    const std::string sha(redis.run({"SCRIPT", "LOAD", kScript}).text());
    std::int64_t number = 0;
    for (auto _ : state) {
        const std::string job = std::to_string(++number % 1000);
        benchmark::DoNotOptimize(redis.run({"EVALSHA", sha, "1", "job:meta:" + job, job, "1767225600000000"}));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ScriptOfEightCalls);

void PlainSet(benchmark::State& state) {
    lockstep::fakes::redis::DirectRedis redis;
    const RedisCommand set{"SET", "key", "value", "PX", "1000"};
    for (auto _ : state) benchmark::DoNotOptimize(redis.run(set));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PlainSet);

}  // namespace
