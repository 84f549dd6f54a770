// What a server does at its limits, on the real one and on the model: the same calls, and the same is seen. Times are not
// compared.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nats/nats.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fakes/nats/test_bus_fixture.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxPayload = 1'048'576;
constexpr std::int64_t kPatienceMs = 10'000;
/// Long enough to see that nothing comes.
constexpr std::int64_t kNothingMs = 1'500;

struct Connection {
    explicit Connection(int port) {
        EXPECT_EQ(natsConnection_ConnectTo(&nats, fmt::format("nats://127.0.0.1:{}", port).c_str()), NATS_OK);
        EXPECT_EQ(natsConnection_JetStream(&jetstream, nats, nullptr), NATS_OK);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        natsSubscription_Destroy(subscription);
        jsCtx_Destroy(jetstream);
        natsConnection_Destroy(nats);
    }

    void add_stream() {
        const char* subjects[] = {"sys.>"};
        jsStreamConfig config;
        jsStreamConfig_Init(&config);
        config.Name = "CORDUM_SYS";
        config.Subjects = subjects;
        config.SubjectsLen = 1;
        EXPECT_EQ(js_AddStream(nullptr, jetstream, &config, nullptr, nullptr), NATS_OK);
    }
    void consume(std::uint64_t rate_limit_bps, std::int64_t max_deliver, std::chrono::nanoseconds ack_wait) {
        jsConsumerConfig config;
        jsConsumerConfig_Init(&config);
        config.Durable = "dur";
        config.DeliverSubject = "deliver";
        config.DeliverGroup = "group";
        config.FilterSubject = "sys.job.submit";
        config.AckPolicy = js_AckExplicit;
        config.AckWait = ack_wait.count();
        config.MaxDeliver = max_deliver;
        config.MaxAckPending = 100;
        config.RateLimit = rate_limit_bps;
        EXPECT_EQ(js_AddConsumer(nullptr, jetstream, "CORDUM_SYS", &config, nullptr, nullptr), NATS_OK);
        EXPECT_EQ(natsConnection_QueueSubscribeSync(&subscription, nats, "deliver", "group"), NATS_OK);
        EXPECT_EQ(natsConnection_Flush(nats), NATS_OK);
    }
    natsStatus publish(std::size_t bytes) {
        const std::string payload(bytes, 'x');
        return js_Publish(nullptr, jetstream, "sys.job.submit", payload.data(), static_cast<int>(payload.size()),
                          nullptr, nullptr);
    }
    /// The payload sizes of what is delivered, until nothing more comes.
    std::vector<std::size_t> deliveries() {
        std::vector<std::size_t> sizes;
        natsMsg* message = nullptr;
        while (natsSubscription_NextMsg(&message, subscription, kNothingMs) == NATS_OK) {
            sizes.push_back(static_cast<std::size_t>(natsMsg_GetDataLength(message)));
            natsMsg_Destroy(message);
        }
        return sizes;
    }

    natsConnection* nats = nullptr;
    jsCtx* jetstream = nullptr;
    natsSubscription* subscription = nullptr;
};

class ServerLimits : public BusTest {
protected:
    void SetUp() override {
        if (!testing::find_program("nats-server")) GTEST_SKIP() << "nats-server is not installed";
        process_.emplace(testing::nats_server_line);
        real.emplace(process_->port());
        real->add_stream();
    }

    /// The same on the model.
    std::vector<std::size_t> modelled_deliveries(KeptDeliveries& kept) {
        world.run_for(1min);
        std::vector<std::size_t> sizes;
        for (const auto& delivery : kept.all) sizes.push_back(delivery->payload().size());
        return sizes;
    }

    std::optional<testing::ServerProcess> process_;
    std::optional<Connection> real;
};

TEST_F(ServerLimits, APayloadAboveTheLimitIsRefusedAndOneAtTheLimitIsNot) {
    for (const std::size_t bytes : {std::size_t{kMaxPayload}, std::size_t{kMaxPayload} + 1}) {
        const bool really = real->publish(bytes) == NATS_OK;
        EXPECT_EQ(publish(*a, "sys.job.submit", std::string(bytes, 'x')).applied(), really) << bytes;
    }
}

// Whoever gives a durable a rate must know this: one message as large as the server takes stops it for ever.
TEST_F(ServerLimits, ADurableWithARateNeverGetsPastAMessageThatIsLargerThanItsBucket) {
    for (const std::size_t bytes : {std::size_t{kMaxPayload} - 1000, std::size_t{kMaxPayload}, std::size_t{5}}) {
        EXPECT_EQ(real->publish(bytes), NATS_OK);
        store(*b, "sys.job.submit", std::string(bytes, 'x'));
    }
    real->consume(256'000'000, 100, 5min);
    server.jetstream().stream("CORDUM_SYS")->limit_message_size(kMaxPayload);  // no more room than by default
    spec.rate_limit_bps = 256'000'000;
    spec.ack_wait = 5min;
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    const auto modelled = modelled_deliveries(kept);
    EXPECT_EQ(modelled, real->deliveries());
    EXPECT_EQ(modelled, std::vector<std::size_t>{kMaxPayload - 1000});
}

TEST_F(ServerLimits, TheServerTellsOnceOfAMessageThatItDeliversNoMore) {
    natsSubscription* advisories = nullptr;
    ASSERT_EQ(natsConnection_SubscribeSync(&advisories, real->nats, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>"),
              NATS_OK);
    EXPECT_EQ(real->publish(1), NATS_OK);
    real->consume(0, 2, 200ms);
    natsMsg* advisory = nullptr;
    ASSERT_EQ(natsSubscription_NextMsg(&advisory, advisories, kPatienceMs), NATS_OK);
    const auto told = nlohmann::json::parse(
        std::string_view(natsMsg_GetData(advisory), static_cast<std::size_t>(natsMsg_GetDataLength(advisory))));
    natsMsg_Destroy(advisory);
    EXPECT_EQ(natsSubscription_NextMsg(&advisory, advisories, kNothingMs), NATS_TIMEOUT);
    natsSubscription_Destroy(advisories);

    store(*b, "sys.job.submit");
    spec.max_deliver = 2;
    spec.ack_wait = 200ms;
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    world.run_for(1min);
    const auto given_up = world.events.of(EventKind::max_deliveries, When::applied);
    ASSERT_EQ(given_up.size(), 1U);
    EXPECT_EQ(given_up[0].sequence, told.at("stream_seq").get<std::uint64_t>());
    EXPECT_EQ(given_up[0].number, told.at("deliveries").get<std::int64_t>());
    EXPECT_EQ(given_up[0].name, told.at("consumer").get<std::string>());
    EXPECT_EQ(given_up[0].stream, told.at("stream").get<std::string>());
}

}  // namespace
}  // namespace lockstep::fakes
