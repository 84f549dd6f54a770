// Pausing a consumer on a real nats-server: nothing more is handed out, nothing that was handed out is lost.
#include "prod/nats/nats_bus.h"

#include <functional>
#include <set>

#include "prod/kernel/test_tcp_relay.h"
#include "prod/nats/test_nats_fixture.h"

namespace lockstep::prod {
namespace {

/// Counts deliveries by their stream sequence and gives no answer; may do something at a certain one.
struct Counter final : engine::DeliverySink {
    std::set<engine::StreamSequence> deliveries;
    std::size_t twice = 0;
    std::function<void()> on_first;
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override {
        if (!deliveries.insert(delivery->sequence()).second) ++twice;
        if (on_first) std::exchange(on_first, nullptr)();
    }
};

class NatsPauseTest : public NatsFixture {
protected:
    static constexpr int kBacklog = 400;

    void SetUp() override {
        NatsFixture::SetUp();
        if (!server) return;
        bus = prepared();
    }
    static engine::ConsumerSpec patient() {
        auto wanted = spec();
        wanted.ack_wait = 10min;  // what is lost stays so for the length of the test
        wanted.max_ack_pending = 100'000;
        return wanted;
    }
    void fill(int messages, std::size_t bytes = 2000) {
        for (int i = 0; i < messages; ++i) {
            const std::string payload(bytes, 'x');
            ASSERT_TRUE(wait(bus->publish_core("sys.job.submit", payload)).applied());
        }
        // Answered after all of those were taken in.
        publish(*bus, "sys.job.submit", "last");
    }
    engine::ConsumerState state() {
        const auto outcome = wait(bus->consumer_state("CORDUM_SYS", spec().durable, in(5s)));
        EXPECT_TRUE(outcome.applied() && outcome.value());
        return outcome.applied() && outcome.value() ? *outcome.value() : engine::ConsumerState{};
    }

    /// What the server had for us before has been read.
    void round_trip() { ASSERT_TRUE(wait(bus->stream_state("CORDUM_SYS", in(5s))).applied()); }
    void ask(const std::string& subject) {
        auto admin = NatsConnection::connect(loop, options());
        ASSERT_TRUE(admin);
        ASSERT_TRUE(wait((*admin)->request(subject, "", "", in(5s))).applied());
    }
    void remove_consumer() { ask("$JS.API.CONSUMER.DELETE.CORDUM_SYS." + spec().durable); }
    void empty_stream() { ask("$JS.API.STREAM.PURGE.CORDUM_SYS"); }

    std::unique_ptr<NatsBus> bus;
};

/// The consumer is of one mind with its only subscriber: neither hands anything out nor takes anything in any more.
TEST_F(NatsPauseTest, NothingMoreIsHandedOutAndNothingIsLost) {
    for (int round = 0; round < 5; ++round) {
        fill(kBacklog);
        Counter sink;
        std::unique_ptr<engine::Consumption> consumption;
        sink.on_first = [&] { consumption->pause(); };
        auto wanted = patient();
        consumption = consume(*bus, sink, wanted);
        ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
        round_trip();
        const std::size_t received = sink.deliveries.size();
        fill(10);
        round_trip();
        EXPECT_EQ(sink.deliveries.size(), received) << "handed out to a paused subscriber";
        consumption->resume();
        constexpr std::size_t kAll = kBacklog + 1 + 11;
        EXPECT_TRUE(until([&] { return sink.deliveries.size() == kAll; })) << sink.deliveries.size() << " of " << kAll;
        EXPECT_EQ(sink.twice, 0U) << "received more than once";
        EXPECT_EQ(state().in_hand, kAll);
        consumption.reset();
        remove_consumer();
        empty_stream();
    }
}

TEST_F(NatsPauseTest, AnotherMemberOfTheGroupTakesWhatThePausedOneDoesNot) {
    auto other = connect();
    Counter paused, active;
    const auto first = consume(*bus, paused, patient());
    first->pause();
    round_trip();
    const auto second = consume(*other, active, patient());
    fill(50);
    ASSERT_TRUE(until([&] { return active.deliveries.size() == 51; }));
    first->resume();
    round_trip();
    fill(100);
    ASSERT_TRUE(until([&] { return active.deliveries.size() + paused.deliveries.size() == 152; }));
    EXPECT_EQ(active.twice + paused.twice, 0U);
}

TEST_F(NatsPauseTest, SurvivesReconnecting) {
    TcpRelay relay(server->port());
    auto with = options();
    with.url = "nats://127.0.0.1:" + std::to_string(relay.port());
    auto behind = connect(with);
    Counter sink;
    const auto consumption = consume(*behind, sink, patient());
    consumption->pause();
    relay.cut();
    ASSERT_TRUE(until([&] { return behind->connection().connected && behind->connection().id == 2; }));
    fill(10);
    ASSERT_TRUE(wait(behind->stream_state("CORDUM_SYS", in(5s))).applied());
    EXPECT_EQ(sink.deliveries.size(), 0U);
    consumption->resume();
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 11; }));
    relay.cut();
    ASSERT_TRUE(until([&] { return behind->connection().connected && behind->connection().id == 3; }));
    fill(10);
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 22; }))
        << "an ended pause is over on the next connection, too";
}

TEST_F(NatsPauseTest, SurvivesADurableThatIsMadeAnew) {
    Counter sink;
    const auto consumption = consume(*bus, sink, patient());
    consumption->pause();
    remove_consumer();
    ASSERT_TRUE(until([&] {
        const auto found = wait(bus->consumer_state("CORDUM_SYS", spec().durable, in(5s)));
        return found.applied() && found.value().has_value();
    }));
    fill(10);
    round_trip();
    EXPECT_EQ(sink.deliveries.size(), 0U);
    consumption->resume();
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 11; }));
}

TEST_F(NatsPauseTest, EndsWithItsSubscription) {
    Counter sink;
    auto consumption = consume(*bus, sink, patient());
    auto admin = NatsConnection::connect(loop, options());
    ASSERT_TRUE(admin);
    const auto bound = [&] {
        const auto info = wait((*admin)->request("$JS.API.CONSUMER.INFO.CORDUM_SYS." + spec().durable, "", "", in(5s)));
        return info.applied() && jetstream::parse_handed_out(info.value().payload)->bound;
    };
    // The server takes notice of interest that comes and goes behind the requests of others: an end that is seen before
    // its beginning was is none, and what is published in between goes to nobody until the ack wait is over.
    ASSERT_TRUE(until(bound));
    consumption->pause();
    consumption.reset();
    ASSERT_TRUE(until([&] { return !bound(); }));
    fill(3);
    const auto again = consume(*bus, sink, patient());
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 4; }));
}

}  // namespace
}  // namespace lockstep::prod
