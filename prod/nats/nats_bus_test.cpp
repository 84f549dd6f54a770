// The contract of the bus port, held by the binding against a real nats-server with JetStream.
#include "prod/nats/nats_bus.h"

#include "prod/nats/nkey.h"
#include "prod/nats/test_nats_fixture.h"

namespace lockstep::prod {
namespace {

using NatsBusTest = NatsFixture;

TEST_F(NatsBusTest, StoresOncePerMessageIdAndSaysSo) {
    auto bus = prepared();
    const auto first = publish(*bus, "sys.job.submit", "one", "jobreq:J1");
    EXPECT_EQ(first.stream, "CORDUM_SYS");
    EXPECT_FALSE(first.duplicate);
    EXPECT_EQ(first.connection, 1U);
    const auto again = publish(*bus, "sys.job.submit", "one", "jobreq:J1");
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.sequence, first.sequence);
    EXPECT_GT(publish(*bus, "sys.job.submit", "two", "jobreq:J2").sequence, first.sequence);
    EXPECT_EQ(publish(*bus, "worker.w1.jobs", "x").stream, "CORDUM_JOBS");
}

TEST_F(NatsBusTest, ConnectsInTheBackgroundOnceTheServerIsThere) {
    server->kill();
    auto made = NatsBus::connect_in_background(loop, options());
    ASSERT_TRUE(made) << made.error();
    NatsBus& bus = **made;
    Collector heard;
    const auto subscription = bus.subscribe("sys.job.cancel", "", heard);
    EXPECT_FALSE(bus.connection().connected);
    EXPECT_EQ(wait(bus.publish("sys.job.submit", "one", "", in(5s))).kind(), OutcomeKind::not_applied);
    server->start();
    ASSERT_TRUE(until([&] { return bus.connection().connected; }));
    ASSERT_TRUE(wait(bus.prepare(in(10s))));
    EXPECT_EQ(publish(bus, "sys.job.submit", "one").connection, 1U);
    EXPECT_TRUE(wait(bus.publish_core("sys.job.cancel", "two")).applied());
    EXPECT_TRUE(until([&] { return heard.messages.size() == 1; })) << "subscribed to before there was a connection";
}

TEST_F(NatsBusTest, AConnectionInTheBackgroundTellsOfASettingThatCannotBeUsed) {
    auto with = options();
    with.credentials_file = "/does/not/exist";
    const auto made = NatsBus::connect_in_background(loop, with);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().find("/does/not/exist"), std::string::npos) << made.error();
}

TEST_F(NatsBusTest, FindsAStoredMessageBySubject) {
    auto bus = prepared();
    const auto before = wait(bus->stream_state("CORDUM_JOBS", in(5s)));
    ASSERT_TRUE(before.applied());
    EXPECT_EQ(before.value().last_sequence.value(), 0U);
    const std::string bytes("\0\xff\r\nx", 5);
    publish(*bus, "worker.a.jobs", bytes, "jobreq:J:1");
    publish(*bus, "worker.b.jobs", "other");
    const auto found =
        wait(bus->read_stream("CORDUM_JOBS", "worker.a.jobs", before.value().last_sequence.next(), in(5s)));
    ASSERT_TRUE(found.applied());
    ASSERT_TRUE(found.value());
    EXPECT_EQ(found.value()->message_id, "jobreq:J:1");
    EXPECT_EQ(found.value()->payload, bytes);
    EXPECT_FALSE(wait(bus->read_stream("CORDUM_JOBS", "worker.a.jobs", engine::StreamSequence(2), in(5s))).value());
    EXPECT_EQ(wait(bus->stream_state("CORDUM_JOBS", in(5s))).value().last_sequence.value(), 2U);
    EXPECT_EQ(wait(bus->stream_state("NOWHERE", in(5s))).kind(), OutcomeKind::not_applied);
}

TEST_F(NatsBusTest, DeliversWithMetadataAndTakesAnAck) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "payload");
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    auto delivery = sink.take();
    EXPECT_EQ(delivery->subject(), "sys.job.submit");
    EXPECT_EQ(delivery->payload(), "payload");
    EXPECT_EQ(delivery->stream(), "CORDUM_SYS");
    EXPECT_EQ(delivery->delivery_count(), 1U);
    EXPECT_GT(delivery->sequence().value(), 0U);
    delivery->ack();
    pass(1500ms);
    EXPECT_TRUE(sink.deliveries.empty());
}

TEST_F(NatsBusTest, DeliversAgainWhatNobodyAcknowledged) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "again");
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 2; }, 5s));
    EXPECT_EQ(sink.deliveries[1]->delivery_count(), 2U);
    EXPECT_EQ(sink.deliveries[1]->sequence(), sink.deliveries[0]->sequence());
}

TEST_F(NatsBusTest, ANakComesBackAfterItsDelay) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "later");
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    const auto start = loop.monotonic();
    sink.take()->nak(400ms);
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    const auto took = loop.monotonic() - start;
    EXPECT_GE(took, 390ms);
    EXPECT_LT(took, 900ms);
    sink.take()->nak(0s);
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }, 500ms));
    EXPECT_EQ(sink.deliveries[0]->delivery_count(), 3U);
}

TEST_F(NatsBusTest, ATermIsTheEndAndOnlyTheFirstVerdictCounts) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "poison");
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    auto delivery = sink.take();
    delivery->term();
    delivery->nak(0s);
    pass(1500ms);
    EXPECT_TRUE(sink.deliveries.empty());
}

TEST_F(NatsBusTest, InProgressHoldsRedeliveryBack) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "slow");
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    auto delivery = sink.take();
    for (int i = 0; i < 4; ++i) {
        pass(600ms);
        delivery->in_progress();
    }
    EXPECT_TRUE(sink.deliveries.empty());
    delivery->ack();
}

TEST_F(NatsBusTest, TwoMembersShareTheMessages) {
    auto one = prepared();
    auto two = prepared();
    Collector first;
    Collector second;
    const auto a = consume(*one, first);
    const auto b = consume(*two, second);
    for (int i = 0; i < 40; ++i) publish(*one, "sys.job.submit", std::to_string(i));
    ASSERT_TRUE(until([&] { return first.deliveries.size() + second.deliveries.size() >= 40; }));
    EXPECT_EQ(first.deliveries.size() + second.deliveries.size(), 40U);
    EXPECT_GT(first.deliveries.size(), 0U);
    EXPECT_GT(second.deliveries.size(), 0U);
}

TEST_F(NatsBusTest, NeverHandsOutMoreThanTheLimitOfUnacknowledged) {
    auto bus = prepared();
    Collector sink;
    auto limited = spec();
    limited.ack_wait = 30s;
    limited.max_ack_pending = 5;
    const auto subscription = consume(*bus, sink, limited);
    for (int i = 0; i < 20; ++i) publish(*bus, "sys.job.submit", "x");
    pass(300ms);
    EXPECT_EQ(sink.deliveries.size(), 5U);
    sink.take()->ack();
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 5; }));
}

// H-01
TEST_F(NatsBusTest, ADurableOutlivesItsClient) {
    {
        auto bus = prepared();
        Collector sink;
        const auto subscription = consume(*bus, sink);
        publish(*bus, "sys.job.submit", "done");
        ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
        sink.take()->ack();
        pass(50ms);
    }
    auto bus = prepared();
    publish(*bus, "sys.job.submit", "new");
    Collector sink;
    const auto subscription = consume(*bus, sink);
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    EXPECT_EQ(sink.deliveries[0]->payload(), "new");  // and not "done" again, as from a consumer made anew
}

TEST_F(NatsBusTest, EndingASubscriptionStopsDeliveryAndLeavesTheRestToOthers) {
    auto one = prepared();
    auto two = prepared();
    Collector first;
    auto a = consume(*one, first);
    publish(*one, "sys.job.submit", "held");
    ASSERT_TRUE(until([&] { return first.deliveries.size() == 1; }));
    a.reset();
    Collector second;
    const auto b = consume(*two, second);
    ASSERT_TRUE(until([&] { return second.deliveries.size() == 1; }, 5s));
    EXPECT_EQ(second.deliveries[0]->delivery_count(), 2U);
    EXPECT_EQ(first.deliveries.size(), 1U);
}

TEST_F(NatsBusTest, ADurableWithOtherSettingsIsNotAppliedAndNamed) {
    auto bus = prepared();
    Collector sink;
    consume(*bus, sink).reset();
    auto other = spec();
    other.ack_wait = 2s;
    const auto outcome = wait(bus->consume(other, sink, in(5s)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_NE(outcome.failure().detail.find("ack_wait is 1s, wanted 2s"), std::string::npos)
        << outcome.failure().detail;
}

TEST_F(NatsBusTest, CoreSubscribersGetACopyEachOrOnePerGroup) {
    auto one = prepared();
    auto two = prepared();
    Collector all_one, all_two, group_one, group_two;
    const auto a = one->subscribe("sys.heartbeat", "", all_one);
    const auto b = two->subscribe("sys.heartbeat", "", all_two);
    const auto c = one->subscribe("sys.heartbeat", "group", group_one);
    const auto d = two->subscribe("sys.heartbeat", "group", group_two);
    pass(100ms);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(wait(one->publish_core("sys.heartbeat", "beat")).applied());
    ASSERT_TRUE(until([&] {
        return all_one.messages.size() == 10 && all_two.messages.size() == 10 &&
               group_one.messages.size() + group_two.messages.size() == 10;
    }));
    EXPECT_EQ(all_one.messages[0], std::make_pair(std::string("sys.heartbeat"), std::string("beat")));
}

TEST_F(NatsBusTest, NobodyAnsweringIsUnknown) {
    auto bus = prepared();
    const auto outcome = wait(bus->publish("elsewhere.subject", "x", "id", in(300ms)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::unknown);
    EXPECT_EQ(outcome.unknown().connection, 1U);
}

// BUS-11
TEST_F(NatsBusTest, ASubjectThatTheProtocolCannotCarryIsNotApplied) {
    auto bus = prepared();
    EXPECT_EQ(wait(bus->publish("worker.a b.jobs", "x", "", in(1s))).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(wait(bus->publish_core("x\r\nPUB y 0\r\n", "x")).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(wait(bus->publish_core("", "x")).kind(), OutcomeKind::not_applied);
}

TEST_F(NatsBusTest, AMessageThatIsTooLargeIsNotApplied) {
    auto bus = prepared();
    EXPECT_EQ(wait(bus->publish("sys.job.submit", std::string(2'000'000, 'x'), "", in(1s))).kind(),
              OutcomeKind::not_applied);
}

TEST_F(NatsBusTest, AFrozenServerMakesAPublishUnknownAndItsConnectionIsGivenUp) {
    auto bus = prepared();
    freeze();
    const auto outcome = wait(bus->publish("sys.job.submit", "x", "id", in(200ms)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::unknown);
    EXPECT_EQ(outcome.unknown().connection, 1U);
    EXPECT_TRUE(until([&] { return !bus->connection().connected; }, 5s));
    server->thaw();
    EXPECT_TRUE(until([&] { return bus->connection().connected && bus->connection().id > 1; }, 10s));
}

TEST_F(NatsBusTest, ARestartEndsOpenPublishesAndNumbersTheNextConnection) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    publish(*bus, "sys.job.submit", "before", "id1");
    freeze();
    std::optional<engine::Outcome<engine::PublishAck>> open;
    engine::Scope scope(loop);
    scope.spawn(keep(bus->publish("sys.job.submit", "open", "id2", in(60s)), open));
    pass(50ms);
    server->kill();
    ASSERT_TRUE(until([&] { return open.has_value(); }, 5s));
    EXPECT_EQ(open->kind(), OutcomeKind::unknown);
    EXPECT_EQ(open->unknown().connection, 1U);

    ASSERT_TRUE(until([&] { return !bus->connection().connected; }));
    EXPECT_EQ(wait(bus->publish("sys.job.submit", "down", "id3", in(5s))).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(wait(bus->publish_core("sys.heartbeat", "down")).kind(), OutcomeKind::not_applied);

    server->start();
    ASSERT_TRUE(until([&] { return bus->connection().connected; }));
    EXPECT_EQ(bus->connection().id, 2U);
    EXPECT_EQ(publish(*bus, "sys.job.submit", "after", "id4").connection, 2U);
    // The subscription works on: what was stored and not acknowledged comes, and so does the new message.
    EXPECT_TRUE(until([&] {
        for (const auto& delivery : sink.deliveries)
            if (delivery->payload() == "after") return true;
        return false;
    }));
    for (const auto& delivery : sink.deliveries) EXPECT_NE(delivery->payload(), "down");
}

TEST_F(NatsBusTest, NothingGivenToADeadConnectionArrivesOnTheNextOne) {
    auto bus = prepared();
    freeze();
    // More than the sockets buffer, so that part of it is still in this process when the connection ends.
    std::vector<std::optional<engine::Outcome<engine::PublishAck>>> open(64);
    engine::Scope scope(loop);
    for (auto& slot : open)
        scope.spawn(keep(bus->publish("worker.w.jobs", std::string(900'000, 'x'), "", in(60s)), slot));
    pass(100ms);
    server->kill();
    ASSERT_TRUE(until([&] { return scope.empty(); }));
    for (const auto& slot : open) EXPECT_EQ(slot->kind(), OutcomeKind::unknown);
    ASSERT_TRUE(until([&] { return !bus->connection().connected; }));
    Collector seen;
    const auto subscription = bus->subscribe("worker.w.jobs", "", seen);
    server->start();
    ASSERT_TRUE(until([&] { return bus->connection().connected; }));
    publish(*bus, "worker.w.jobs", "fresh");
    pass(300ms);
    ASSERT_EQ(seen.messages.size(), 1U);
    EXPECT_EQ(seen.messages[0].second, "fresh");
}

TEST_F(NatsBusTest, ADurableThatAPeerDeletedIsMadeAnew) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    auto admin = NatsConnection::connect(loop, options());
    ASSERT_TRUE(admin);
    const auto deleted =
        wait((*admin)->request("$JS.API.CONSUMER.DELETE.CORDUM_SYS." + spec().durable, "", "", in(5s)));
    ASSERT_TRUE(deleted.applied());
    publish(*bus, "sys.job.submit", "after deletion");
    EXPECT_TRUE(until([&] { return !sink.deliveries.empty(); }, 20s));
}

TEST_F(NatsBusTest, StreamsThatAServerHasLostAreMadeAnew) {
    auto bus = prepared();
    Collector sink;
    const auto subscription = consume(*bus, sink);
    auto admin = NatsConnection::connect(loop, options());
    ASSERT_TRUE(admin);
    for (const char* stream : {"CORDUM_SYS", "CORDUM_JOBS"})
        ASSERT_TRUE(wait((*admin)->request(std::string("$JS.API.STREAM.DELETE.") + stream, "", "", in(5s))).applied());
    EXPECT_TRUE(until([&] { return wait(bus->stream_state("CORDUM_JOBS", in(1s))).applied(); }, 20s));
    EXPECT_TRUE(until([&] { return wait(bus->publish("sys.job.submit", "after", "id", in(1s))).applied(); }, 20s));
    EXPECT_TRUE(until([&] { return !sink.deliveries.empty(); }, 20s));
}

// Nothing more is tried when the credentials are refused twice in a row.
TEST_F(NatsBusTest, SaysWhenItIsRefusedForGood) {
    std::string password = "sesame";
    ServerProcess guarded([&password](int port, const std::filesystem::path& folder) {
        return nats_server("authorization { user: me, password: " + password + " }")(port, folder);
    });
    auto with = options();
    with.url = "nats://127.0.0.1:" + std::to_string(guarded.port());
    with.user = "me";
    with.password = password;
    auto bus = connect(with);
    std::vector<std::string> problems;
    std::vector<std::string> given_up;
    bus->on_problem([&](const std::string& what) { problems.push_back(what); });
    bus->on_given_up([&](const std::string& why) { given_up.push_back(why); });
    guarded.stop();
    password = "another";
    guarded.start();
    ASSERT_TRUE(until([&] { return !given_up.empty(); }, 20s));
    EXPECT_NE(given_up.front().find("Authorization"), std::string::npos) << given_up.front();
    bus->close();
    pass(50ms);
    EXPECT_EQ(given_up.size(), 1U) << "an end that was asked for is no surprise";
}

TEST_F(NatsBusTest, NamesTheSubjectThatItMayNotUse) {
    const ServerProcess strict(
        nats_server("authorization { users = [ { user: me, password: sesame, permissions: { subscribe: { deny: "
                    "\"sys.heartbeat\" } } } ] }"));
    auto with = options();
    with.url = "nats://127.0.0.1:" + std::to_string(strict.port());
    with.user = "me";
    with.password = "sesame";
    auto bus = connect(with);
    std::vector<std::string> problems;
    bus->on_problem([&](const std::string& what) { problems.push_back(what); });
    Collector sink;
    const auto subscription = bus->subscribe("sys.heartbeat", "", sink);
    ASSERT_TRUE(until([&] { return !problems.empty(); }));
    EXPECT_NE(problems.front().find("sys.heartbeat"), std::string::npos) << problems.front();
}

TEST_F(NatsBusTest, WithoutJetStreamEverythingIsPlain) {
    auto plain = options();
    plain.jetstream = false;
    auto bus = connect(plain);
    EXPECT_TRUE(wait(bus->prepare(in(1s))));
    Collector sink;
    const auto subscription = consume(*bus, sink);
    pass(50ms);
    EXPECT_TRUE(wait(bus->publish("sys.job.submit", "x", "id", in(1s))).applied());
    ASSERT_TRUE(until([&] { return !sink.deliveries.empty(); }));
    EXPECT_EQ(sink.deliveries[0]->delivery_count(), 0U);
    EXPECT_EQ(wait(bus->stream_state("CORDUM_SYS", in(1s))).value().last_sequence.value(), 0U);
}

TEST_F(NatsBusTest, SaysWhatIsWrongWhenItCannotStart) {
    const fakes::testing::ReservedPort unused;
    auto nobody = options();
    nobody.url = "nats://127.0.0.1:" + std::to_string(unused.number());
    const auto refused = NatsBus::connect(loop, nobody);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().find("cannot connect to NATS at nats://127.0.0.1"), std::string::npos) << refused.error();

    const ServerProcess without([](int port, const std::filesystem::path&) {
        return std::vector<std::string>{*fakes::testing::find_program("nats-server"), "-a", "127.0.0.1", "-p",
                                        std::to_string(port)};
    });
    auto there = options();
    there.url = "nats://127.0.0.1:" + std::to_string(without.port());
    auto bus = connect(there);
    const auto ready = wait(bus->prepare(in(500ms)));
    ASSERT_FALSE(ready);
    EXPECT_NE(ready.error().find("-js"), std::string::npos) << ready.error();
}

/// The seed of a fixed key, in the text form that users have in their environment.
std::string seed_text() {
    constexpr unsigned kSeed = 18 << 3;
    constexpr unsigned kUser = 20 << 3;
    std::vector<unsigned char> raw{kSeed | (kUser >> 5), (kUser & 31) << 3};
    for (int i = 0; i < 32; ++i) raw.push_back(static_cast<unsigned char>(i * 7 + 1));
    unsigned crc = 0;
    for (const unsigned char byte : raw) {
        crc ^= static_cast<unsigned>(byte) << 8;
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
        crc &= 0xffff;
    }
    raw.push_back(static_cast<unsigned char>(crc & 0xff));
    raw.push_back(static_cast<unsigned char>(crc >> 8));
    std::string text;
    unsigned buffer = 0;
    int bits = 0;
    for (const unsigned char byte : raw) {
        buffer = (buffer << 8) | byte;
        for (bits += 8; bits >= 5; bits -= 5) text += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(buffer >> (bits - 5)) & 31];
    }
    if (bits > 0) text += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(buffer << (5 - bits)) & 31];
    return text;
}

// BUS-12: user and password win over a token.
TEST_F(NatsBusTest, LogsInByEveryMeans) {
    const std::string seed = seed_text();
    const auto key = public_nkey(seed);
    ASSERT_TRUE(key) << key.error();
    const ServerProcess by_key(nats_server("authorization { users = [ { nkey: " + *key + " } ] }"));
    const ServerProcess by_user(nats_server("authorization { user: me, password: sesame }"));
    const ServerProcess by_token(nats_server("authorization { token: sesame }"));
    const auto url = [](const ServerProcess& s) { return "nats://127.0.0.1:" + std::to_string(s.port()); };
    const auto why_not = [&](NatsOptions options) {
        const auto bus = NatsBus::connect(loop, std::move(options));
        return bus ? std::string{} : bus.error();
    };
    EXPECT_EQ(why_not({.url = url(by_key), .nkey_seed = seed}), "");
    EXPECT_EQ(why_not({.url = url(by_user), .user = "me", .password = "sesame", .token = "ignored"}), "");
    EXPECT_EQ(why_not({.url = url(by_token), .token = "sesame"}), "");
    const auto wrong = NatsBus::connect(loop, {.url = url(by_user), .user = "me", .password = "secret-guess"});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().find("secret-guess"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod
