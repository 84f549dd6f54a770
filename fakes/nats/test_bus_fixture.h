// The vocabulary of tests over a simulated bus: a server, some nodes with clients, and sinks that keep what they got.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/scope.h"
#include "engine/wire/subjects.h"
#include "fakes/nats/client.h"
#include "fakes/nats/server.h"
#include "fakes/testing/manual_world.h"

namespace lockstep::fakes {

struct KeptDeliveries final : engine::DeliverySink {
    std::vector<std::unique_ptr<engine::Delivery>> all;
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override { all.push_back(std::move(delivery)); }
    [[nodiscard]] std::size_t size() const { return all.size(); }
    [[nodiscard]] engine::Delivery& last() const { return *all.back(); }
};

struct KeptMessages final : engine::MessageSink {
    std::vector<std::string> payloads;
    void on_message(std::string_view, std::string_view payload) override { payloads.emplace_back(payload); }
};

class BusTest : public ::testing::Test {
protected:
    static constexpr NodeId kServer{0};
    static constexpr NodeId kA{1};
    static constexpr NodeId kB{2};
    static constexpr std::chrono::seconds kPatience{5};

    BusTest() { connect_all(); }

    void connect_all() {
        a = std::make_unique<NatsClient>(world, server, kA);
        b = std::make_unique<NatsClient>(world, server, kB);
        world.run_until([this] { return a->connection().connected && b->connection().connected; });
    }

    /// Runs it beside others, and keeps what comes of it.
    template <class T>
    static engine::Task<void> keep(engine::Task<T> task, std::optional<T>& result) {
        result.emplace(co_await std::move(task));
    }
    /// Runs the world until the task has finished.
    template <class T>
    T finish(engine::Task<T> task) {
        std::optional<T> result;
        scope.spawn(keep(std::move(task), result));
        EXPECT_TRUE(world.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }

    engine::Outcome<engine::PublishAck> publish(NatsClient& client, std::string subject, std::string payload = "p",
                                                std::string id = "") {
        return finish(client.publish(std::move(subject), std::move(payload), std::move(id), deadline()));
    }
    /// Publishes, and expects that the stream has taken it.
    void store(NatsClient& client, std::string subject, std::string payload = "p", std::string id = "") {
        EXPECT_TRUE(publish(client, std::move(subject), std::move(payload), std::move(id)).applied());
    }
    std::unique_ptr<engine::Subscription> consume(NatsClient& client, engine::DeliverySink& sink) {
        auto bound = finish(client.consume(spec, sink, deadline()));
        EXPECT_TRUE(bound.applied());
        return std::move(bound).value();
    }
    [[nodiscard]] engine::MonoTime deadline() const { return world.now() + kPatience; }
    void settle() { world.run_for(std::chrono::milliseconds(10)); }

    testing::ManualWorld world;
    NatsServer server{world, NatsServerOptions{.node = kServer}};
    engine::Scope scope{world.executor()};
    std::unique_ptr<NatsClient> a;
    std::unique_ptr<NatsClient> b;
    engine::ConsumerSpec spec{.stream = std::string(engine::wire::kStreamSys),
                              .subject = std::string(engine::wire::kSubjectSubmit),
                              .queue = std::string(engine::wire::kQueueScheduler),
                              .durable = "dur",
                              .ack_wait = std::chrono::seconds(30),
                              .max_deliver = 5,
                              .max_ack_pending = 100};
};

}  // namespace lockstep::fakes
