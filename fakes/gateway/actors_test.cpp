// Gateway and worker on the simulated servers, over the simulated network: that the pieces meet.
#include <gtest/gtest.h>

#include <optional>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "fakes/gateway/gateway.h"
#include "fakes/kernel/test_actor_world.h"
#include "fakes/nats/client.h"
#include "fakes/nats/server.h"
#include "fakes/redis/client.h"
#include "fakes/redis/server.h"
#include "fakes/worker/worker.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kRedisNode{0};
constexpr NodeId kNatsNode{1};
constexpr NodeId kGateway{2};
constexpr NodeId kWorkerNode{3};
constexpr NodeId kScheduler{4};

class Actors : public ::testing::Test {
protected:
    std::optional<engine::StoredMessage> first_on(const char* stream, const char* subject) {
        auto found =
            world_.run(scheduler_bus_.read_stream(stream, subject, engine::StreamSequence(1), world_.base.now() + 1s));
        return found && found->applied() ? std::move(*found).value() : std::nullopt;
    }

    testing::ActorWorld world_;
    redis::RedisServer redis_{world_, kRedisNode};
    NatsServer nats_{world_, {.node = kNatsNode}};
    NatsClient scheduler_bus_{world_, nats_, kScheduler};
};

TEST_F(Actors, ASubmittedJobIsInTheStreamAndItsRecordsInRedis) {
    NatsClient bus(world_, nats_, kGateway);
    redis::RedisClient store(world_, kGateway, redis_);
    LoadPlan plan = std::move(*LoadPlan::make({{.at = 1s, .topic = "job.a", .count = 3}}));
    const Gateway gateway(world_, kGateway, world_.executor(), bus, store, plan);
    world_.run_for(5s);
    EXPECT_EQ(plan.open(), 0u);
    const auto message = first_on("CORDUM_SYS", "sys.job.submit");
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->message_id, "jobreq:job-0");
    auto state = world_.run(store.command({"HGET", "job:meta:job-2", "state"}, world_.base.now() + 1s));
    EXPECT_EQ(state->value().text(), "PENDING");
}

TEST_F(Actors, AWorkerTakesUpWhatIsPublishedForItAndItsResultLandsInTheStream) {
    NatsClient bus(world_, nats_, kWorkerNode);
    redis::RedisClient store(world_, kWorkerNode, redis_);
    WorkerConfig config;
    config.id = "w-0";
    const Worker worker(world_, kWorkerNode, world_.executor(), bus, store, config, [] {});
    world_.run_for(1s);
    cap::JobRequest request;
    request.set_job_id("j");
    const std::string payload =
        engine::wire::serialise(engine::wire::make_packet(std::move(request), "t", "cordum-scheduler", {}));
    const auto sent =
        world_.run(scheduler_bus_.publish("worker.w-0.jobs", payload, "jobreq:j:1", world_.base.now() + 1s));
    ASSERT_TRUE(sent && sent->applied());
    world_.run_for(2s);
    const auto result = first_on("CORDUM_SYS", "sys.job.result");
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->message_id, "");
    const auto packet = engine::wire::decode(result->payload);
    EXPECT_EQ(packet->job_result().result_ptr(), "redis://res:j");
    EXPECT_TRUE(first_on("CORDUM_SYS", "sys.heartbeat").has_value());
    EXPECT_TRUE(first_on("CORDUM_SYS", "sys.handshake").has_value());
}

}  // namespace
}  // namespace lockstep::fakes
