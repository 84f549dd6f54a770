#include <chrono>

#include "engine/testing/fuzz_target.h"
#include "engine/wire/subjects.h"
#include "prod/fuzz/targets.h"
#include "prod/fuzz/test_lying_server.h"
#include "prod/nats/nats_bus.h"

namespace lockstep::fuzz {

namespace {

using namespace std::chrono_literals;
using namespace prod;

struct Listener final : engine::MessageSink {
    std::size_t bytes = 0;
    void on_message(std::string_view subject, std::string_view payload) override {
        bytes += subject.size() + payload.size();
    }
};

constexpr std::string_view kInfo =
    R"(INFO {"server_id":"LIAR","version":"2.9.10","proto":1,"headers":true,"jetstream":true,"max_payload":1048576})"
    "\r\n";

engine::Task<void> ask(NatsBus& bus, engine::MonoTime deadline, bool& answered) {
    (void)co_await bus.stream_state(std::string(engine::wire::kStreamSys), deadline);
    answered = true;
}

}  // namespace

/// An input that begins with INFO is the server's greeting as well; before any other the server greets as it should.
void nats(std::string_view input) {
    static LyingServer server;
    const bool greets = !input.starts_with("INFO");
    if (greets)
        server.play({{{}, std::string(kInfo)}, {"PING\r\n", "PONG\r\n" + std::string(input)}});
    else
        server.play({{{}, std::string(input)}, {"PING\r\n", "PONG\r\n"}});
    {
        UvLoop loop;
        auto bus = NatsBus::connect(loop, {.url = "nats://127.0.0.1:" + std::to_string(server.port()),
                                           .connect_timeout = 300ms,
                                           .policy = {.reconnect_wait = 20ms},
                                           .binding_check = 1h});
        if (bus) {
            Listener listener;
            const auto subscription = (*bus)->subscribe("sys.heartbeat", "", listener);
            engine::Scope scope(loop);
            bool answered = false;
            scope.spawn(ask(**bus, loop.monotonic() + 200ms, answered));
            // What was asked is answered by its deadline, whatever the server says; and nothing is heard that was not said.
            FUZZ_MUST(loop.run_until([&] { return answered; }, 5s));
            FUZZ_MUST(listener.bytes <= input.size());
            (*bus)->close();
        } else {
            FUZZ_MUST(!bus.error().empty());
        }
    }
    server.finish();
}

}  // namespace lockstep::fuzz
