#include <algorithm>
#include <chrono>

#include "engine/runtime/scope.h"
#include "engine/testing/fuzz_target.h"
#include "prod/fuzz/targets.h"
#include "prod/fuzz/test_lying_server.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::fuzz {

namespace {

using namespace std::chrono_literals;
using namespace prod;

engine::Task<void> ask(engine::Redis& redis, engine::RedisCommand command, engine::MonoTime deadline, int& answered) {
    (void)co_await redis.command(std::move(command), deadline);
    ++answered;
}

}  // namespace

void redis(std::string_view input) {
    static LyingServer server;
    constexpr int questions = 4;  // sometimes fewer than the answers
    server.play({{"PING\r\n", "+PONG\r\n"}, {"the last one", std::string(input)}});
    {
        UvLoop loop;
        HiredisClient client(loop, {.host = "127.0.0.1", .port = server.port()},
                             {.reconnect_pause_min = 1h, .reconnect_pause_max = 1h});
        engine::Scope scope(loop);
        int answered = 0;
        const engine::MonoTime deadline = loop.monotonic() + 500ms;
        for (int i = 1; i < questions; ++i) scope.spawn(ask(client, {"GET", "a"}, deadline, answered));
        scope.spawn(ask(client, {"HMGET", "the last one", "a", "b"}, deadline, answered));
        // Every call is answered, whatever the server says.
        FUZZ_MUST(loop.run_until([&] { return answered == questions; }, 5s));
    }
    server.finish();
}

}  // namespace lockstep::fuzz
