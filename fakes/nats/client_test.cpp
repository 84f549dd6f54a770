#include "fakes/nats/client.h"

#include "fakes/nats/test_bus_fixture.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::FailureCause;
using engine::OutcomeKind;

TEST_F(BusTest, ADurablePublishIsAnsweredWithStreamAndSequence) {
    const auto ack = publish(*a, "sys.job.submit");
    ASSERT_EQ(ack.kind(), OutcomeKind::applied);
    EXPECT_EQ(ack.value().stream, "CORDUM_SYS");
    EXPECT_EQ(ack.value().sequence.value(), 1U);
    EXPECT_FALSE(ack.value().duplicate);
    EXPECT_EQ(ack.value().connection, 1U);
}

// BUS-05: what is classed as durable has a stream, the rest has none.
TEST_F(BusTest, SubjectsThatAreNotDurableHaveNoStreamToAnswer) {
    for (const char* subject : {"sys.job.submit", "sys.job.result", "sys.job.dlq", "job.default", "worker.w.jobs"}) {
        EXPECT_TRUE(publish(*a, subject).applied()) << subject;
    }
    const auto nobody = publish(*a, "worker.w.commands");
    ASSERT_EQ(nobody.kind(), OutcomeKind::unknown);
    EXPECT_EQ(nobody.failure().cause, FailureCause::refused);
}

// BUS-07
TEST_F(BusTest, WithoutAQueueGroupEveryReplicaGetsEveryHeartbeat) {
    KeptMessages at_a;
    KeptMessages at_b;
    const auto first = a->subscribe("sys.heartbeat", "", at_a);
    const auto second = b->subscribe("sys.heartbeat", "", at_b);
    settle();
    ASSERT_TRUE(finish(a->publish_core("sys.heartbeat", "beat")).applied());
    settle();
    EXPECT_EQ(at_a.payloads, std::vector<std::string>{"beat"});
    EXPECT_EQ(at_b.payloads, std::vector<std::string>{"beat"});
}

// BUS-08
TEST_F(BusTest, TwoReplicasOfOneGroupShareTheSubmissions) {
    KeptDeliveries at_a;
    KeptDeliveries at_b;
    const auto first = consume(*a, at_a);
    const auto second = consume(*b, at_b);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(publish(*a, "sys.job.submit").applied());
    settle();
    EXPECT_EQ(at_a.size() + at_b.size(), 10U);
    EXPECT_GT(at_a.size(), 0U);
    EXPECT_GT(at_b.size(), 0U);
}

TEST_F(BusTest, CoreSubscribersSeeWhatTheStreamTakesForADuplicate) {
    KeptMessages worker;
    const auto subscription = b->subscribe("worker.w.jobs", "worker.w.jobs", worker);
    settle();
    EXPECT_FALSE(publish(*a, "worker.w.jobs", "one", "id").value().duplicate);
    EXPECT_TRUE(publish(*a, "worker.w.jobs", "two", "id").value().duplicate);
    EXPECT_EQ(finish(a->stream_state("CORDUM_JOBS", deadline())).value().last_sequence.value(), 1U);
    EXPECT_EQ(worker.payloads, (std::vector<std::string>{"one", "two"}));
}

TEST_F(BusTest, AStreamIsLookedUpBySubjectFromASequence) {
    store(*a, "worker.w.jobs", "first", "id-1");
    store(*a, "worker.v.jobs", "other");
    const auto found = finish(b->read_stream("CORDUM_JOBS", "worker.w.jobs", engine::StreamSequence(1), deadline()));
    ASSERT_TRUE(found.applied());
    ASSERT_TRUE(found.value().has_value());
    EXPECT_EQ(found.value()->payload, "first");
    EXPECT_EQ(found.value()->message_id, "id-1");
    EXPECT_FALSE(finish(b->read_stream("CORDUM_JOBS", "worker.w.jobs", engine::StreamSequence(2), deadline()))
                     .value()
                     .has_value());
    EXPECT_EQ(finish(b->read_stream("NONE", "x", engine::StreamSequence(1), deadline())).kind(),
              OutcomeKind::not_applied);
}

TEST_F(BusTest, WhatIsReadFromAStreamIsToldByNumberAndAsTheNextOfItsSubject) {
    store(*a, "sys.job.result", "first");
    store(*a, "sys.job.result", "second");
    ASSERT_TRUE(
        finish(b->read_stream("CORDUM_SYS", "sys.job.result", engine::StreamSequence(1), deadline())).applied());
    ASSERT_TRUE(finish(b->read_message("CORDUM_SYS", engine::StreamSequence(2), deadline())).applied());
    ASSERT_TRUE(
        finish(b->read_stream("CORDUM_SYS", "sys.job.result", engine::StreamSequence(3), deadline())).applied());
    const auto told = world.events.of(EventKind::read_back);
    ASSERT_EQ(told.size(), 2U) << "nothing is told of what is not there";
    EXPECT_EQ(told[0].payload, "first");
    EXPECT_EQ(told[0].subject, "sys.job.result");
    EXPECT_EQ(told[1].payload, "second");
}

TEST_F(BusTest, WhileDisconnectedNothingIsBuffered) {
    server.restart(10s);
    settle();
    EXPECT_FALSE(a->connection().connected);
    EXPECT_EQ(publish(*a, "sys.job.submit").kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(a->publish_core("sys.heartbeat", "p")).kind(), OutcomeKind::not_applied);
    ASSERT_TRUE(world.run_until([this] { return a->connection().connected; }, 15s));
    EXPECT_EQ(a->connection().id, 2U);
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 0U);
}

TEST_F(BusTest, APublishInFlightWhenTheConnectionBreaksIsUnknownAndNamesTheConnection) {
    world.partition(kA, kServer);
    std::optional<OutcomeKind> outcome;
    std::uint64_t connection = 0;
    const auto send = [&]() -> engine::Task<void> {
        const auto ack = co_await a->publish("sys.job.submit", "p", "", world.now() + 1h);
        outcome = ack.kind();
        connection = ack.unknown().connection;
    };
    scope.spawn(send());
    world.run_for(1s);
    EXPECT_FALSE(outcome.has_value());
    world.break_connections(kA, kServer);
    world.heal();
    settle();
    EXPECT_EQ(outcome, OutcomeKind::unknown);
    EXPECT_EQ(connection, 1U);
}

TEST_F(BusTest, ADeadlineThatPassesIsUnknownAndLeavesTheConnection) {
    world.partition(kA, kServer);
    const auto ack = publish(*a, "sys.job.submit");
    ASSERT_EQ(ack.kind(), OutcomeKind::unknown);
    EXPECT_EQ(ack.failure().cause, FailureCause::timeout);
    EXPECT_EQ(ack.unknown().connection, 1U);
    EXPECT_TRUE(a->connection().connected);
    world.heal();
    settle();
    EXPECT_EQ(finish(b->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 1U) << "it arrived late";
}

TEST_F(BusTest, ASilentServerIsGivenUpAfterUnansweredPings) {
    world.partition(kA, kServer);
    world.run_for(5min);
    EXPECT_TRUE(a->connection().connected);
    world.run_for(2min);
    EXPECT_FALSE(a->connection().connected);
    world.heal();
    EXPECT_TRUE(world.run_until([this] { return a->connection().connected; }, 5s));
}

TEST_F(BusTest, ConsumersAndSubscriptionsComeBackWithTheConnection) {
    KeptDeliveries deliveries;
    KeptMessages messages;
    const auto bound = consume(*a, deliveries);
    const auto subscribed = a->subscribe("sys.job.cancel", "", messages);
    world.break_connections(kA, kServer);
    world.run_for(3s);
    EXPECT_TRUE(publish(*b, "sys.job.submit").applied());
    EXPECT_TRUE(finish(b->publish_core("sys.job.cancel", "c")).applied());
    settle();
    EXPECT_EQ(deliveries.size(), 1U);
    EXPECT_EQ(messages.payloads.size(), 1U);
}

TEST_F(BusTest, WhatALeavingMemberHadInHandGoesToAnotherAfterTheAckWait) {
    KeptDeliveries at_a;
    KeptDeliveries at_b;
    auto first = consume(*a, at_a);
    store(*a, "sys.job.submit");
    settle();
    ASSERT_EQ(at_a.size(), 1U);
    a.reset();
    const auto second = consume(*b, at_b);
    world.run_for(29s);
    EXPECT_EQ(at_b.size(), 0U);
    world.run_for(2s);
    ASSERT_EQ(at_b.size(), 1U);
    EXPECT_EQ(at_b.last().delivery_count(), 2U);
    at_a.last().ack();  // its client is gone
    first.reset();
}

TEST_F(BusTest, OnlyTheFirstVerdictCounts) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    store(*a, "sys.job.submit");
    settle();
    deliveries.last().nak(2s);
    deliveries.last().ack();
    deliveries.last().in_progress();
    world.run_for(3s);
    EXPECT_EQ(deliveries.size(), 2U);
    EXPECT_EQ(deliveries.last().delivery_count(), 2U);
}

TEST_F(BusTest, NothingIsDeliveredWhileNobodyIsBound) {
    KeptDeliveries deliveries;
    auto bound = consume(*a, deliveries);
    bound.reset();
    store(*a, "sys.job.submit");
    world.run_for(5min);
    EXPECT_EQ(deliveries.size(), 0U);
    bound = consume(*a, deliveries);
    settle();
    EXPECT_EQ(deliveries.size(), 1U);
    EXPECT_EQ(deliveries.last().delivery_count(), 1U) << "the durable was there all the time";
}

TEST_F(BusTest, ADurableWithOtherSettingsIsRefusedByName) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    spec.ack_wait = 1s;
    const auto other = finish(b->consume(spec, deliveries, deadline()));
    ASSERT_EQ(other.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(other.failure().detail, "durable dur has ack wait in ms 30000, not 1000");
}

TEST_F(BusTest, ACleanRestartKeepsMessagesCountsAndMessageIds) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    store(*a, "sys.job.submit", "p", "id");
    settle();
    server.restart(1s);
    ASSERT_TRUE(world.run_until([&] { return a->connection().id == 2; }, 10s));
    EXPECT_TRUE(publish(*a, "sys.job.submit", "p", "id").value().duplicate);
    world.run_for(30s);
    ASSERT_EQ(deliveries.size(), 2U);
    EXPECT_EQ(deliveries.last().delivery_count(), 2U);
}

TEST_F(BusTest, AKilledServerComesBackWithItsMessages) {
    world.run_for(1s);
    store(*a, "sys.job.submit");
    world.node_down(kServer);
    server.on_node_down();
    world.run_for(5s);
    EXPECT_FALSE(a->connection().connected);
    world.node_up(kServer);
    server.on_node_up();
    ASSERT_TRUE(world.run_until([&] { return a->connection().connected; }, 10s));
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 1U);
}

TEST_F(BusTest, APowerCutLosesWhatWasAcknowledgedAndNotSynced) {
    world.run_for(1s);
    ASSERT_TRUE(publish(*a, "sys.job.submit").applied());
    server.power_cut(1s);
    world.run_for(5s);
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 0U);
}

TEST_F(BusTest, AClientMayBeDestroyedWhileItConnects) {
    for (int microseconds = 0; microseconds < 600; microseconds += 50) {
        auto client = std::make_unique<NatsClient>(world, server, kA);
        world.run_for(std::chrono::microseconds(microseconds));
        client.reset();
    }
    settle();
}

TEST_F(BusTest, EverythingMayBeDestroyedAtAnyTime) {
    KeptDeliveries deliveries;
    KeptMessages messages;
    for (int microseconds = 0; microseconds < 1500; microseconds += 50) {
        auto client = std::make_unique<NatsClient>(world, server, kA);
        engine::Scope tasks(world.executor());
        std::unique_ptr<engine::Subscription> core = client->subscribe("sys.>", "", messages);
        std::unique_ptr<engine::Subscription> bound;
        const auto live = [&]() -> engine::Task<void> {
            auto made = co_await client->consume(spec, deliveries, world.now() + 1s);
            if (made.applied()) bound = std::move(made).value();
            const auto sent = co_await client->publish("sys.job.submit", "p", "", world.now() + 1s);
            EXPECT_NE(sent.kind(), OutcomeKind::not_applied);
        };
        world.run_for(500us);
        tasks.spawn(live());
        world.run_for(std::chrono::microseconds(microseconds));
        if (microseconds % 100 == 0) {
            tasks.cancel();
            client.reset();
        } else {
            client.reset();
            tasks.cancel();
        }
        deliveries.all.clear();
    }
    settle();
}

}  // namespace
}  // namespace lockstep::fakes
