// What becomes of messages, answers and subscriptions when connections to a real nats-server break.
#include "prod/nats/nats_connection.h"

#include <functional>
#include <optional>

#include "prod/kernel/test_tcp_relay.h"
#include "prod/nats/test_nats_fixture.h"

namespace lockstep::prod {
namespace {

/// Commands of the protocol inside of a message: whoever begins to read in the middle of one takes them for its own.
const std::string kTreacherous = "x\r\nMSG sys.job.submit 1 4\r\ntrap\r\nPONG\r\n";

class NatsConnectionTest : public NatsFixture {
protected:
    void SetUp() override {
        NatsFixture::SetUp();
        if (!server) return;
        relay = std::make_unique<TcpRelay>(server->port());
        bus = prepared();
    }

    /// Through the relay, and again at once when it is cut; silence is nobody's reason to end it.
    std::shared_ptr<NatsConnection> connect_by_relay() {
        auto with = options();
        with.url = "nats://127.0.0.1:" + std::to_string(relay->port());
        with.policy = {.reconnect_wait = 1ms, .reconnect_jitter = 0ms};
        with.ping_interval = 10min;
        auto made = NatsConnection::connect(loop, with);
        EXPECT_TRUE(made) << (made ? "" : made.error());
        return made ? *made : nullptr;
    }
    std::shared_ptr<NatsConnection> connect_directly() {
        auto made = NatsConnection::connect(loop, options());
        EXPECT_TRUE(made) << (made ? "" : made.error());
        return made ? *made : nullptr;
    }
    /// What was sent before on this connection, the server has taken in.
    void round_trip(NatsConnection& connection) {
        ASSERT_TRUE(wait(connection.request("$JS.API.INFO", "", "", in(5s))).applied());
    }
    bool connected_after(const NatsConnection& connection, std::uint64_t number) {
        return until([&] { return connection.state().connected && connection.state().id > number; });
    }

    std::unique_ptr<TcpRelay> relay;
    std::unique_ptr<NatsBus> bus;  // has made the streams
};

TEST_F(NatsConnectionTest, AMessageCutAnywhereIsNeverMisreadAndTheNextOneIsWhole) {
    const auto sender = connect_directly();
    const auto receiver = connect_by_relay();
    std::vector<std::pair<std::string, std::string>> seen;
    const auto subscription = receiver->subscribe("sys.job.submit", "workers", [&](NatsMessage message) {
        seen.emplace_back(natsMsg_GetSubject(message.get()),
                          std::string(natsMsg_GetData(message.get()),
                                      static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))));
    });
    const auto sent = std::make_pair(std::string("sys.job.submit"), kTreacherous);
    const auto next = std::make_pair(std::string("sys.job.submit"), std::string("next"));
    std::size_t offset = 0;
    for (bool whole = false; !whole; ++offset) {
        const std::uint64_t before = receiver->state().id;
        ASSERT_EQ(before, offset + 1) << "one connection for each offset, and none besides";
        round_trip(*receiver);
        seen.clear();
        relay->cut_after(offset);
        ASSERT_TRUE(sender->publish(sent.first, sent.second, "sys.reply", "with headers").applied());
        ASSERT_TRUE(until([&] { return !seen.empty() || !receiver->state().connected; }));
        whole = !seen.empty() && receiver->state().connected;
        if (whole) continue;
        ASSERT_TRUE(connected_after(*receiver, before));
        round_trip(*receiver);
        ASSERT_TRUE(seen.empty()) << "half a message at offset " << offset << ": " << seen[0].second;
        ASSERT_TRUE(sender->publish(next.first, next.second).applied());
        ASSERT_TRUE(until([&] { return !seen.empty(); })) << "nothing after the cut at offset " << offset;
        ASSERT_EQ(seen, std::vector{next}) << "after the cut at offset " << offset;
    }
    EXPECT_EQ(seen, std::vector{sent});
    EXPECT_GT(offset, kTreacherous.size());
}

TEST_F(NatsConnectionTest, AnAcknowledgementCutAnywhereIsUnknownAndTheNextOneIsItsOwn) {
    const auto connection = connect_by_relay();
    std::size_t offset = 0;
    std::uint64_t stored = 0;
    for (bool whole = false; !whole; ++offset) {
        const std::uint64_t before = connection->state().id;
        round_trip(*connection);
        relay->cut_after(offset);
        const auto cut = wait(connection->request("sys.job.submit", kTreacherous, "", in(20s)));
        ++stored;
        whole = cut.applied();
        if (whole) continue;
        ASSERT_EQ(cut.kind(), OutcomeKind::unknown);
        ASSERT_EQ(cut.unknown().connection, before);
        ASSERT_TRUE(connected_after(*connection, before));
        const auto after = wait(connection->request("sys.job.submit", "next", "", in(20s)));
        ASSERT_TRUE(after.applied()) << "offset " << offset << ": " << after.failure().detail;
        const auto ack = jetstream::parse_publish_ack(after.value().payload);
        ASSERT_TRUE(ack) << "offset " << offset << ": " << after.value().payload;
        ASSERT_EQ(ack->sequence.value(), ++stored) << "offset " << offset;
        ASSERT_EQ(after.value().connection, connection->state().id);
    }
    EXPECT_GT(offset, 30U) << "an acknowledgement is longer than that";
}

TEST_F(NatsConnectionTest, SubscriptionsAreMadeAgainBeforeAnybodyHearsOfTheConnection) {
    const auto receiver = connect_by_relay();
    int heard = 0;
    const auto subscription = receiver->subscribe("sys.job.submit", "", [&](NatsMessage) { ++heard; });
    round_trip(*receiver);
    bool published = false;
    receiver->on_established([&] { published = receiver->publish("sys.job.submit", "to ourselves").applied(); });
    relay->cut();
    ASSERT_TRUE(until([&] { return published; }));
    EXPECT_TRUE(until([&] { return heard == 1; }));
}

TEST_F(NatsConnectionTest, ASubscriptionMadeWithoutAConnectionTakesPartInTheNextOne) {
    const auto receiver = connect_by_relay();
    relay->refuse();
    ASSERT_TRUE(until([&] { return !receiver->state().connected; }));
    int heard = 0;
    const auto subscription = receiver->subscribe("sys.job.submit", "", [&](NatsMessage) { ++heard; });
    EXPECT_EQ(receiver->publish("sys.job.submit", "x").kind(), OutcomeKind::not_applied);
    relay->accept_again();
    ASSERT_TRUE(connected_after(*receiver, 1));
    round_trip(*receiver);
    ASSERT_TRUE(receiver->publish("sys.job.submit", "x").applied());
    EXPECT_TRUE(until([&] { return heard == 1; }));
}

// The loop goes on while a connection is being made, also to a server that takes it and says nothing.
TEST_F(NatsConnectionTest, ConnectingDoesNotHoldUpTheLoop) {
    const auto connection = connect_by_relay();
    freeze();
    relay->cut();
    ASSERT_TRUE(until([&] { return !connection->state().connected; }));
    struct Tick final : engine::Work {
        explicit Tick(UvLoop& on) : loop(on) {}
        void run() override {
            ++count;
            loop.post_at(*this, loop.monotonic() + 1ms);
        }
        UvLoop& loop;
        int count = 0;
    };
    Tick tick(loop);
    loop.post(tick);
    // An attempt takes two seconds to give up; ticks go on all the time.
    EXPECT_TRUE(until([&] { return tick.count >= 100; }, 1900ms));
    server->thaw();
    EXPECT_TRUE(connected_after(*connection, 1));
}

TEST_F(NatsConnectionTest, MayBeLetGoWhileItConnects) {
    auto connection = connect_by_relay();
    freeze();
    relay->cut();
    ASSERT_TRUE(until([&] { return !connection->state().connected; }));
    pass(20ms);
    const std::weak_ptr<NatsConnection> weak = connection;
    connection.reset();
    EXPECT_TRUE(weak.expired());
    server->thaw();
    pass(50ms);
}

TEST_F(NatsConnectionTest, AnAnswerThatComesLateIsNobodyElses) {
    const auto service = connect_directly();
    const auto asker = connect_by_relay();
    std::vector<std::string> asked;  // where the answers are to go
    const auto subscription = service->subscribe(
        "service", "", [&](NatsMessage message) { asked.emplace_back(natsMsg_GetReply(message.get())); });
    round_trip(*service);
    EXPECT_EQ(wait(asker->request("service", "first", "", in(50ms))).kind(), OutcomeKind::unknown);
    std::optional<engine::Outcome<NatsReply>> second;
    engine::Scope scope(loop);
    scope.spawn(keep(asker->request("service", "second", "", in(20s)), second));
    ASSERT_TRUE(until([&] { return asked.size() == 2; }));
    ASSERT_TRUE(service->publish(asked[0], "late").applied());
    ASSERT_TRUE(service->publish(asked[1] + "0", "of a number that was never given").applied());
    ASSERT_TRUE(service->publish(asked[1] + "x", "of no number").applied());
    round_trip(*service);
    round_trip(*asker);
    EXPECT_FALSE(second);
    ASSERT_TRUE(service->publish(asked[1], "its own").applied());
    ASSERT_TRUE(until([&] { return second.has_value(); }));
    ASSERT_TRUE(second->applied());
    EXPECT_EQ(second->value().payload, "its own");
}

TEST_F(NatsConnectionTest, AnAnswerToAnOldConnectionIsNobodyElses) {
    const auto service = connect_directly();
    const auto asker = connect_by_relay();
    std::vector<std::string> asked;
    const auto subscription = service->subscribe(
        "service", "", [&](NatsMessage message) { asked.emplace_back(natsMsg_GetReply(message.get())); });
    round_trip(*service);
    std::optional<engine::Outcome<NatsReply>> first, second;
    engine::Scope scope(loop);
    scope.spawn(keep(asker->request("service", "first", "", in(20s)), first));
    ASSERT_TRUE(until([&] { return asked.size() == 1; }));
    relay->cut();
    ASSERT_TRUE(until([&] { return first.has_value(); }));
    EXPECT_EQ(first->kind(), OutcomeKind::unknown);
    ASSERT_TRUE(connected_after(*asker, 1));
    scope.spawn(keep(asker->request("service", "second", "", in(20s)), second));
    ASSERT_TRUE(until([&] { return asked.size() == 2; }));
    ASSERT_TRUE(service->publish(asked[0], "to the old connection").applied());
    round_trip(*service);
    round_trip(*asker);
    EXPECT_FALSE(second);
    ASSERT_TRUE(service->publish(asked[1], "its own").applied());
    ASSERT_TRUE(until([&] { return second.has_value(); }));
    ASSERT_TRUE(second->applied());
    EXPECT_EQ(second->value().payload, "its own");
    EXPECT_EQ(second->value().connection, 2U);
}

// A server that dies without having read all that it was sent resets the connection. The error then stands behind what it
// had sent itself, which is more than one read takes here.
TEST_F(NatsConnectionTest, AServerThatIsKilledUnderABacklogIsNoticedAtOnce) {
    auto with = options();
    with.ping_interval = 10min;
    UvLoop idle;  // turns only when it is told to, so that the socket fills up
    const auto receiver = NatsConnection::connect(idle, with);
    ASSERT_TRUE(receiver);
    const auto subscription = (*receiver)->subscribe("bulk", "", [](NatsMessage) {});
    ASSERT_TRUE(carry_out(idle, (*receiver)->request("$JS.API.INFO", "", "", in(5s))).applied());
    const auto sender = connect_directly();
    const std::string large(900'000, 'x');
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(sender->publish("bulk", large).applied());
    round_trip(*sender);
    freeze();
    ASSERT_TRUE((*receiver)->publish("elsewhere", "the server does not read this any more").applied());
    int turns = 0;
    idle.run_until([&] { return ++turns == 3; }, 1s);
    ASSERT_TRUE((*receiver)->state().connected);
    server->kill();
    EXPECT_TRUE(idle.run_until([&] { return !(*receiver)->state().connected; }, 10s));
}

}  // namespace
}  // namespace lockstep::prod
