// What the binding makes of durables that exist already, on a real nats-server.
#include <nlohmann/json.hpp>

#include "prod/nats/nats_bus.h"
#include "prod/nats/test_nats_fixture.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

class NatsDurableTest : public NatsFixture {
protected:
    static constexpr std::int64_t kLimit = 256'000'000;

    void SetUp() override {
        NatsFixture::SetUp();
        if (!server) return;
        bus = prepared();
        auto made = NatsConnection::connect(loop, options());
        ASSERT_TRUE(made);
        admin = *made;
    }
    static engine::ConsumerSpec limited(std::int64_t bits = kLimit) {
        auto wanted = spec();
        wanted.ack_wait = 1min;
        wanted.rate_limit_bps = bits;
        return wanted;
    }
    json ask(const std::string& subject, const std::string& body = "") {
        const auto answer = wait(admin->request(subject, body, "", in(5s)));
        EXPECT_TRUE(answer.applied());
        return answer.applied() ? json::parse(answer.value().payload) : json();
    }
    json info() { return ask("$JS.API.CONSUMER.INFO.CORDUM_SYS." + spec().durable); }
    /// A durable as the reference's client makes it, with one of three messages acknowledged and two in hand.
    void used_durable(Collector& sink) {
        json config{{"durable_name", spec().durable},
                    {"deliver_subject", "_INBOX.peer"},
                    {"deliver_group", spec().queue},
                    {"deliver_policy", "all"},
                    {"ack_policy", "explicit"},
                    {"ack_wait", 60'000'000'000},
                    {"max_deliver", spec().max_deliver},
                    {"filter_subject", spec().subject},
                    {"replay_policy", "instant"},
                    {"max_ack_pending", spec().max_ack_pending},
                    {"sample_freq", "50"},
                    {"description", "made by a peer"}};
        ask("$JS.API.CONSUMER.DURABLE.CREATE.CORDUM_SYS." + spec().durable,
            json{{"stream_name", "CORDUM_SYS"}, {"config", config}}.dump());
        auto wanted = limited(0);
        const auto first = consume(*bus, sink, wanted);
        for (int i = 0; i < 3; ++i) publish(*bus, "sys.job.submit", std::to_string(i));
        ASSERT_TRUE(until([&] { return sink.deliveries.size() == 3; }));
        sink.take()->ack();
        ASSERT_TRUE(until([&] { return info()["num_ack_pending"] == 2; }));
        publish(*bus, "sys.job.submit", "3");
        ASSERT_TRUE(until([&] { return sink.deliveries.size() == 3; }));
    }

    std::unique_ptr<NatsBus> bus;
    std::shared_ptr<NatsConnection> admin;
};

TEST_F(NatsDurableTest, ANewOneIsMadeWithTheLimit) {
    Collector sink;
    const auto consumption = consume(*bus, sink, limited());
    EXPECT_EQ(info()["config"]["rate_limit_bps"], kLimit);
}

TEST_F(NatsDurableTest, OneWithoutALimitGetsItInPlaceAndKeepsEverythingElse) {
    Collector sink;
    used_durable(sink);
    const json before = info();
    ASSERT_FALSE(before["config"].contains("rate_limit_bps"));
    const auto consumption = consume(*bus, sink, limited());
    json after = info();
    EXPECT_EQ(after["config"]["rate_limit_bps"], kLimit);
    after["config"].erase("rate_limit_bps");
    for (const char* key : {"config", "delivered", "ack_floor", "num_ack_pending", "num_pending", "created"})
        EXPECT_EQ(after[key], before[key]) << key;
    publish(*bus, "sys.job.submit", "still delivered");
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 4; }));
}

// D-35: nats-server 2.9 has no metadata of consumers, and a description is an operator's.
TEST_F(NatsDurableTest, TheDeploymentIsPutBehindTheDescriptionAndNothingElseChanges) {
    Collector sink;
    used_durable(sink);
    const json before = info();
    auto mine = limited(0);
    mine.deployment = "mine";
    const auto consumption = consume(*bus, sink, mine);
    json after = info();
    EXPECT_EQ(after["config"]["description"], "made by a peer lockstep-deployment=mine");
    after["config"]["description"] = before["config"]["description"];
    for (const char* key : {"config", "delivered", "ack_floor", "num_ack_pending", "num_pending", "created"})
        EXPECT_EQ(after[key], before[key]) << key;
    jetstream::ConsumerChange change;
    change.deployment = "another";
    EXPECT_EQ(*wait(bus->change_durable("CORDUM_SYS", spec().durable, change, true, in(5s))),
              "deployment mine -> another");
    EXPECT_EQ(info()["config"]["description"], "made by a peer lockstep-deployment=another");
    const auto outcome = wait(bus->consume(mine, sink, in(5s)));
    ASSERT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_NE(outcome.failure().detail.find("lockstepctl consumers adopt"), std::string::npos);
}

TEST_F(NatsDurableTest, AMessageOfTheLargestSizePassesUnderARate) {
    Collector sink;
    const auto consumption = consume(*bus, sink, limited());
    publish(*bus, "sys.job.submit", std::string(bus->connection().max_payload, '.'));
    publish(*bus, "sys.job.submit", "behind it");
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 2; }, 20s));
}

TEST_F(NatsDurableTest, AStreamWhoseOwnLimitLeavesNoRoomGetsNoRate) {
    std::vector<std::string> problems;
    bus->on_problem([&](const std::string& what) { problems.push_back(what); });
    json config = ask("$JS.API.STREAM.INFO.CORDUM_SYS")["config"];
    config["max_msg_size"] = bus->connection().max_payload;
    ASSERT_FALSE(ask("$JS.API.STREAM.UPDATE.CORDUM_SYS", config.dump()).contains("error"));
    Collector sink;
    consume(*bus, sink, limited()).reset();
    consume(*bus, sink, limited()).reset();
    EXPECT_FALSE(info()["config"].contains("rate_limit_bps"));
    EXPECT_EQ(ask("$JS.API.STREAM.INFO.CORDUM_SYS")["config"]["max_msg_size"], bus->connection().max_payload);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("max_msg_size"), std::string::npos) << problems[0];
}

TEST_F(NatsDurableTest, OneWithAnotherLimitAndAnyWhenNoneIsWantedAreLeftAlone) {
    Collector sink;
    consume(*bus, sink, limited(1'000'000)).reset();
    consume(*bus, sink, limited()).reset();
    EXPECT_EQ(info()["config"]["rate_limit_bps"], 1'000'000);
    consume(*bus, sink, limited(0)).reset();
    EXPECT_EQ(info()["config"]["rate_limit_bps"], 1'000'000);
}

TEST_F(NatsDurableTest, ALimitThatTheUserMayNotSetIsToldOnceAndTheDurableIsUsed) {
    const ServerProcess strict(
        nats_server("authorization { users = [ { user: all, password: x }, { user: me, password: x, permissions: { "
                    "publish: { deny: "
                    "\"$JS.API.CONSUMER.DURABLE.CREATE.>\" } } } ] }"));
    auto with = options();
    with.url = "nats://127.0.0.1:" + std::to_string(strict.port());
    with.user = "all";
    with.password = "x";
    auto allowed = connect(with);
    ASSERT_TRUE(wait(allowed->prepare(in(10s))));
    Collector sink;
    consume(*allowed, sink, limited(0)).reset();
    with.user = "me";
    auto bound = connect(with);
    std::vector<std::string> problems;
    bound->on_problem([&](const std::string& what) {
        if (what.find("rate limit") != std::string::npos) problems.push_back(what);
    });
    const auto consumption = consume(*bound, sink, limited());
    publish(*allowed, "sys.job.submit", "delivered");
    EXPECT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    // The binding is looked after twice a second here.
    int checks = 0;
    const auto listening = allowed->subscribe("$JS.API.CONSUMER.INFO.>", "", sink);
    ASSERT_TRUE(until([&] { return (checks = static_cast<int>(sink.messages.size())) >= 3; }));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("CORDUM_SYS." + spec().durable), std::string::npos) << problems[0];
}

TEST_F(NatsDurableTest, AnOperatorChangesOneInPlace) {
    Collector sink;
    used_durable(sink);
    const json before = info();
    const jetstream::ConsumerChange change{.ack_wait = 30s, .max_deliver = 50};
    const auto dry = wait(bus->change_durable("CORDUM_SYS", spec().durable, change, false, in(5s)));
    ASSERT_TRUE(dry);
    EXPECT_EQ(*dry, "ack_wait 1m -> 30s, max_deliver 10 -> 50");
    EXPECT_EQ(info()["config"], before["config"]);
    ASSERT_TRUE(wait(bus->change_durable("CORDUM_SYS", spec().durable, change, true, in(5s))));
    const json after = info();
    EXPECT_EQ(after["config"]["ack_wait"], 30'000'000'000);
    EXPECT_EQ(after["config"]["max_deliver"], 50);
    for (const char* key : {"delivered", "ack_floor", "num_ack_pending", "num_pending", "created"})
        EXPECT_EQ(after[key], before[key]) << key;
    EXPECT_EQ(*wait(bus->change_durable("CORDUM_SYS", spec().durable, change, true, in(5s))), "");
    const auto nobody = wait(bus->change_durable("CORDUM_SYS", "nobody", change, true, in(5s)));
    ASSERT_FALSE(nobody);
    EXPECT_NE(nobody.error().find("CORDUM_SYS.nobody"), std::string::npos) << nobody.error();
}

TEST_F(NatsDurableTest, OneWithOtherSettingsIsNamedWithTheCommandThatChangesIt) {
    Collector sink;
    used_durable(sink);
    auto other = limited();
    other.ack_wait = 30s;
    const auto outcome = wait(bus->consume(other, sink, in(5s)));
    ASSERT_EQ(outcome.kind(), OutcomeKind::not_applied);
    EXPECT_NE(outcome.failure().detail.find("lockstepctl consumers set"), std::string::npos)
        << outcome.failure().detail;
    EXPECT_FALSE(info()["config"].contains("rate_limit_bps")) << "nothing is changed in a durable that is not used";
}

}  // namespace
}  // namespace lockstep::prod
