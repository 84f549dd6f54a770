// A real nats-server with JetStream, and what tests of the binding do with it.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/wire/subjects.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/test_wait.h"
#include "prod/nats/nats_bus.h"

namespace lockstep::prod {

using namespace std::chrono_literals;
using engine::OutcomeKind;
using fakes::testing::ServerProcess;

inline ServerProcess::CommandLine nats_server(std::string config = "") {
    return [config](int port, const std::filesystem::path& folder) {
        auto line = fakes::testing::nats_server_line(port, folder);
        if (!config.empty()) {
            std::ofstream(folder / "nats.conf") << config;
            line.insert(line.end(), {"-c", (folder / "nats.conf").string()});
        }
        return line;
    };
}

/// Collects deliveries; the test gives the answers.
struct Collector final : engine::DeliverySink, engine::MessageSink {
    std::deque<std::unique_ptr<engine::Delivery>> deliveries;
    std::vector<std::pair<std::string, std::string>> messages;
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override { deliveries.push_back(std::move(delivery)); }
    void on_message(std::string_view subject, std::string_view payload) override {
        messages.emplace_back(subject, payload);
    }
    std::unique_ptr<engine::Delivery> take() {
        auto first = std::move(deliveries.front());
        deliveries.pop_front();
        return first;
    }
};

class NatsFixture : public testing::Test {
protected:
    void SetUp() override {
        if (!fakes::testing::find_program("nats-server")) GTEST_SKIP() << "nats-server is not installed";
        server = std::make_unique<ServerProcess>(nats_server());
    }

    [[nodiscard]] NatsOptions options() const {
        return {.url = "nats://127.0.0.1:" + std::to_string(server->port()),
                .policy = {.reconnect_wait = 50ms, .reconnect_jitter = 5ms},
                .ping_interval = 300ms,
                .binding_check = 500ms};
    }
    std::unique_ptr<NatsBus> connect(NatsOptions with) {
        auto bus = NatsBus::connect(loop, std::move(with));
        EXPECT_TRUE(bus) << (bus ? "" : bus.error());
        return bus ? std::move(*bus) : nullptr;
    }
    std::unique_ptr<NatsBus> connect() { return connect(options()); }
    std::unique_ptr<NatsBus> prepared() {
        auto bus = connect();
        const auto ready = wait(bus->prepare(in(10s)));
        EXPECT_TRUE(ready) << (ready ? "" : ready.error());
        return bus;
    }
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) const { return loop.monotonic() + delay; }
    template <class T>
    T wait(engine::Task<T> task) {
        return carry_out(loop, std::move(task));
    }
    bool until(const std::function<bool()>& done, engine::Duration limit = 10s) { return loop.run_until(done, limit); }
    void pass(engine::Duration time) {
        loop.run_until([] { return false; }, time);
    }
    engine::PublishAck publish(NatsBus& bus, const std::string& subject, const std::string& payload,
                               const std::string& id = "") {
        auto outcome = wait(bus.publish(subject, payload, id, in(5s)));
        EXPECT_TRUE(outcome.applied()) << (outcome.applied() ? "" : outcome.failure().detail);
        return outcome.applied() ? outcome.value() : engine::PublishAck{};
    }
    static engine::ConsumerSpec spec() {
        return {.stream = std::string(engine::wire::kStreamSys),
                .subject = std::string(engine::wire::kSubjectSubmit),
                .queue = std::string(engine::wire::kQueueScheduler),
                .durable = engine::wire::durable_name(engine::wire::kQueueScheduler, engine::wire::kSubjectSubmit),
                .ack_wait = 1s,
                .max_deliver = 10,
                .max_ack_pending = 100};
    }
    std::unique_ptr<engine::Consumption> consume(NatsBus& bus, engine::DeliverySink& sink,
                                                 engine::ConsumerSpec with = spec()) {
        auto outcome = wait(bus.consume(std::move(with), sink, in(5s)));
        EXPECT_TRUE(outcome.applied()) << (outcome.applied() ? "" : outcome.failure().detail);
        return outcome.applied() ? std::move(outcome.value()) : nullptr;
    }

    /// Stops the server, and waits a moment: the signal reaches its threads one after the other.
    void freeze() {
        server->freeze();
        pass(50ms);
    }

    UvLoop loop;
    std::unique_ptr<ServerProcess> server;
};

}  // namespace lockstep::prod
