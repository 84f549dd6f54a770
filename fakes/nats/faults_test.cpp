// What each fault does to a message, and what is told to the trace about it.
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "fakes/nats/test_bus_fixture.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;

std::string request_packet(std::string job) {
    cap::JobRequest request;
    request.set_job_id(std::move(job));
    return engine::wire::serialise(engine::wire::make_packet(std::move(request), "t", "gateway", {}));
}

TEST_F(BusTest, APublishFaultNotAppliedLeavesNothingBehind) {
    world.fault.on_publish = [](NodeId, std::string_view) { return CallFault::not_applied; };
    EXPECT_EQ(publish(*a, "sys.job.submit").kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 0U);
}

TEST_F(BusTest, APublishFaultUnknownStoresAndLosesTheAnswer) {
    world.fault.on_publish = [](NodeId, std::string_view) { return CallFault::unknown; };
    const auto before = world.now();
    EXPECT_EQ(publish(*a, "sys.job.submit").kind(), OutcomeKind::unknown);
    EXPECT_EQ(world.now() - before, 5s) << "the caller's deadline decides";
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 1U);
}

// On a connection that lives nothing is lost: the message goes with it, and so does what is written after it.
TEST_F(BusTest, APublishThatIsLostOnItsWayTakesTheConnectionAlong) {
    const engine::BusConnection before = a->connection();
    int publishes = 0;
    world.fault.on_publish = [&](NodeId, std::string_view) {
        return publishes++ == 0 ? CallFault::lost : CallFault::none;
    };
    std::optional<engine::Outcome<engine::PublishAck>> first;
    std::optional<engine::Outcome<engine::PublishAck>> second;
    scope.spawn(keep(a->publish("sys.job.submit", "p", "1", deadline()), first));
    scope.spawn(keep(a->publish("sys.job.submit", "p", "2", deadline()), second));
    world.run_for(3s);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->kind(), OutcomeKind::unknown);
    EXPECT_EQ(first->unknown().connection, before.id);
    EXPECT_EQ(second->kind(), OutcomeKind::unknown);
    EXPECT_TRUE(a->connection().connected);
    EXPECT_NE(a->connection().id, before.id);
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 0U);
    store(*a, "sys.job.submit");
}

TEST_F(BusTest, ACoreMessageThatIsLostOnItsWayReachesNobody) {
    KeptMessages messages;
    const auto subscribed = b->subscribe("sys.>", "", messages);
    settle();
    world.fault.on_publish = [](NodeId, std::string_view) { return CallFault::lost; };
    EXPECT_EQ(finish(a->publish_core("sys.heartbeat", "p")).kind(), OutcomeKind::unknown);
    world.run_for(3s);
    EXPECT_EQ(messages.payloads.size(), 0U);
    EXPECT_TRUE(a->connection().connected);
}

TEST_F(BusTest, ALostAckLeadsToRedelivery) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    store(*a, "sys.job.submit");
    settle();
    world.fault.on_lose_ack = [](std::string_view) { return true; };
    deliveries.last().ack();
    world.run_for(31s);
    EXPECT_EQ(deliveries.size(), 2U);
}

TEST_F(BusTest, ALateAckComesAfterTheRedeliveryAndStillCounts) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    store(*a, "sys.job.submit");
    settle();
    world.fault.on_delay_ack = [](std::string_view) { return 40s; };
    deliveries.last().ack();
    world.run_for(5min);
    EXPECT_EQ(deliveries.size(), 2U);
}

TEST_F(BusTest, ADoubledDeliveryArrivesTwiceWithOneCount) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    world.fault.on_duplicate_delivery = [](std::string_view) { return true; };
    store(*a, "sys.job.submit");
    settle();
    ASSERT_EQ(deliveries.size(), 2U);
    EXPECT_EQ(deliveries.all[0]->delivery_count(), deliveries.all[1]->delivery_count());
}

TEST_F(BusTest, AHeldUpDeliveryIsOvertaken) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    bool first = true;
    world.fault.on_reorder_delivery = [&](std::string_view) { return std::exchange(first, false) ? 5ms : 0ms; };
    store(*a, "sys.job.submit", "one");
    store(*a, "sys.job.submit", "two");
    settle();
    ASSERT_EQ(deliveries.size(), 2U);
    EXPECT_EQ(deliveries.all[0]->payload(), "two");
    EXPECT_EQ(world.fault.reorder_effective, 1U);
}

TEST_F(BusTest, AHeldUpDeliveryThatNothingFollowsIsLateAndNothingElse) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    world.fault.on_reorder_delivery = [&](std::string_view) { return 5ms; };
    store(*a, "sys.job.submit", "one");
    settle();
    store(*a, "sys.job.submit", "two");
    settle();
    ASSERT_EQ(deliveries.size(), 2U);
    EXPECT_EQ(world.fault.reorder_effective, 0U) << "all were held up for as long, one after the other";
}

TEST_F(BusTest, WithoutAQuorumStreamsStandStillAndCoreMessagesPass) {
    KeptDeliveries deliveries;
    KeptMessages heard;
    const auto bound = consume(*a, deliveries);
    const auto subscribed = b->subscribe("sys.heartbeat", "", heard);
    store(*a, "sys.job.submit");
    settle();
    server.lose_quorum();
    deliveries.last().ack();
    world.run_for(11s);  // by then nobody leads
    EXPECT_TRUE(finish(a->publish_core("sys.heartbeat", "p")).applied());
    EXPECT_EQ(publish(*a, "sys.job.submit", "late").kind(), OutcomeKind::unknown);
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).kind(), OutcomeKind::unknown);
    world.run_for(1min);
    EXPECT_EQ(heard.payloads.size(), 1U);
    EXPECT_EQ(deliveries.size(), 1U);
    EXPECT_TRUE(a->connection().connected);

    server.regain_quorum();
    EXPECT_EQ(finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value(), 1U);
    settle();
    ASSERT_EQ(deliveries.size(), 2U) << "nobody has heard the acknowledgement";
    EXPECT_EQ(deliveries.last().payload(), "p");
}

TEST_F(BusTest, WhatALeaderHasInItsLogIsStoredOrNotWhenTheQuorumIsBack) {
    std::uint64_t sequence = 0;
    int stored_late = 0;
    constexpr int kTimes = 20;
    for (int i = 0; i < kTimes; ++i) {
        const std::string id = std::to_string(i);
        server.lose_quorum();
        EXPECT_EQ(publish(*a, "sys.job.submit", id, id).kind(), OutcomeKind::unknown);
        server.regain_quorum();
        const auto known = finish(a->stream_state("CORDUM_SYS", deadline())).value().last_sequence.value();
        EXPECT_TRUE(known == sequence || known == sequence + 1);
        stored_late += static_cast<int>(known - sequence);
        sequence = known;
        EXPECT_EQ(publish(*a, "sys.job.submit", id, id).value().duplicate, known == static_cast<std::uint64_t>(i) + 1);
        sequence = static_cast<std::uint64_t>(i) + 1;
    }
    EXPECT_GT(stored_late, 0);
    EXPECT_LT(stored_late, kTimes);
}

TEST_F(BusTest, ACoreMessageCanBeLostForOneSubscriber) {
    KeptMessages at_a;
    KeptMessages at_b;
    const auto first = a->subscribe("sys.heartbeat", "", at_a);
    const auto second = b->subscribe("sys.heartbeat", "", at_b);
    settle();
    bool drop = true;
    world.fault.on_drop_core = [&](std::string_view) { return std::exchange(drop, false); };
    EXPECT_TRUE(finish(a->publish_core("sys.heartbeat", "p")).applied());
    settle();
    EXPECT_EQ(at_a.payloads.size() + at_b.payloads.size(), 1U);
}

TEST_F(BusTest, ACorruptedMessageIsToldAsSentBeforeAndAsDamagedAfter) {
    KeptDeliveries deliveries;
    const auto bound = consume(*a, deliveries);
    world.fault.on_corrupt = [](std::string_view, std::string& payload) {
        payload = "\xff\xff";
        return true;
    };
    store(*a, "sys.job.submit", request_packet("J"));
    settle();
    EXPECT_EQ(deliveries.last().payload(), "\xff\xff");
    const auto before = world.events.of(EventKind::publish, When::before);
    EXPECT_TRUE(before.front().has_packet);
    EXPECT_EQ(before.front().job, "J");
    EXPECT_FALSE(world.events.of(EventKind::stored).front().has_packet);
}

TEST_F(BusTest, AMessageIsToldOfAtEveryStation) {
    KeptDeliveries deliveries;
    KeptMessages messages;
    const auto bound = consume(*b, deliveries);
    const auto subscribed = b->subscribe("sys.job.>", "watchers", messages);
    settle();
    store(*a, "sys.job.submit", request_packet("J"), "id");
    settle();
    deliveries.last().nak(1s);
    settle();

    const auto told = [&](EventKind kind, When when) {
        const auto found = world.events.of(kind, when);
        EXPECT_EQ(found.size(), 1U) << to_string(kind) << ' ' << to_string(when);
        if (found.empty()) return testing::SeenEvent{};
        EXPECT_EQ(found.front().job, "J");
        EXPECT_TRUE(found.front().has_packet);
        EXPECT_EQ(found.front().subject, "sys.job.submit");
        return found.front();
    };
    EXPECT_EQ(told(EventKind::publish, When::before).message_id, "id");
    EXPECT_EQ(told(EventKind::publish, When::applied).outcome, EventOutcome::applied);
    const auto answered = told(EventKind::publish, When::answered);
    EXPECT_EQ(answered.outcome, EventOutcome::applied);
    EXPECT_EQ(answered.sequence, 1U);
    EXPECT_EQ(answered.node, kA);
    EXPECT_EQ(told(EventKind::stored, When::applied).stream, "CORDUM_SYS");
    const auto delivered = told(EventKind::deliver, When::applied);
    EXPECT_EQ(delivered.node, kB);
    EXPECT_EQ(delivered.name, "dur");
    EXPECT_EQ(delivered.number, 1);
    const auto core = told(EventKind::core_deliver, When::applied);
    EXPECT_EQ(core.node, kB);
    EXPECT_EQ(core.name, "watchers");
    EXPECT_EQ(told(EventKind::nak, When::before).number, std::chrono::nanoseconds(1s).count());
    EXPECT_EQ(told(EventKind::nak, When::applied).node, kB);
}

// A fault placed on an event may kill the node in the middle of a call.
TEST_F(BusTest, ANodeThatDiesBeforeItSendsSendsNothing) {
    world.events.kill_when = [](const Event& event) {
        return event.kind == EventKind::publish && event.when == When::before;
    };
    scope.spawn([](NatsClient& client, engine::MonoTime deadline) -> engine::Task<void> {
        const auto sent = co_await client.publish("sys.job.submit", "p", "", deadline);
        ADD_FAILURE() << "went on after its death: " << to_string(sent.kind());
    }(*a, deadline()));
    world.run_for(20s);
    EXPECT_TRUE(world.events.of(EventKind::stored).empty());
    scope.cancel();
}

TEST_F(BusTest, ANodeThatDiesAsItsMessageIsStoredHearsNoAnswer) {
    world.events.kill_when = [](const Event& event) {
        return event.kind == EventKind::publish && event.when == When::applied;
    };
    EXPECT_EQ(publish(*a, "sys.job.submit").kind(), OutcomeKind::unknown);
    EXPECT_EQ(world.events.of(EventKind::stored).size(), 1U);
}

TEST_F(BusTest, TheSameSeedTellsTheSameStory) {
    const auto story = [] {
        testing::ManualWorld small(7);
        NatsServer hub(small, NatsServerOptions{.node = kServer});
        KeptMessages sinks[3];
        std::vector<std::unique_ptr<NatsClient>> clients;
        std::vector<std::unique_ptr<engine::Subscription>> subscriptions;
        for (int i = 0; i < 3; ++i) {
            clients.push_back(std::make_unique<NatsClient>(small, hub, NodeId{i + 1}));
            subscriptions.push_back(clients.back()->subscribe("sys.x", "q", sinks[i]));
        }
        small.run_for(10ms);
        engine::Scope tasks(small.executor());
        for (int i = 0; i < 20; ++i) {
            tasks.spawn([](NatsClient& client) -> engine::Task<void> {
                const auto sent = co_await client.publish_core("sys.x", "p");
                EXPECT_TRUE(sent.applied());
            }(*clients[0]));
        }
        small.run_for(10ms);
        std::vector<int> receivers;
        for (const auto& event : small.events.of(EventKind::core_deliver)) receivers.push_back(event.node.value);
        return receivers;
    };
    const auto first = story();
    EXPECT_EQ(first.size(), 20U);
    EXPECT_EQ(first, story());
}

}  // namespace
}  // namespace lockstep::fakes
