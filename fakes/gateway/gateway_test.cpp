#include "fakes/gateway/gateway.h"

#include <gtest/gtest.h>

#include "fakes/gateway/test_gateway_fixture.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;

class SimulatedGateway : public GatewayFixture {
protected:
    void start(std::vector<LoadItem> items, GatewayConfig config = {}) {
        plan_.emplace(std::move(*LoadPlan::make(items)));
        start_again(std::move(config));
    }
    void start_again(GatewayConfig config = {}) {
        gateway_.emplace(world_, kGatewayNode, world_.executor(), bus_, redis_, *plan_, std::move(config));
    }
    static LoadItem job(const char* id, const char* json = "") {
        return {.job_ids = {id}, .topic = "job.a", .job_json = json};
    }

    std::optional<LoadPlan> plan_;
    std::optional<Gateway> gateway_;
};

TEST_F(SimulatedGateway, WritesEverythingInItsOrderAndThenPublishes) {
    record_writes();
    start({job("j", R"({"meta": {"idempotencyKey": "k"}})")});
    world_.run_for(1s);
    EXPECT_EQ(writes_.size(), 9u);
    EXPECT_EQ(writes_[0], "SET job:idempotency:default:k");
    EXPECT_EQ(writes_[1], "SET ctx:j");
    EXPECT_TRUE(writes_[2].starts_with("EVALSHA"));  // PENDING; the server does not know the script yet
    EXPECT_TRUE(writes_[3].starts_with("SCRIPT LOAD"));
    EXPECT_EQ(writes_[6], "SADD trace:trace-j");
    EXPECT_EQ(writes_[8], "SET job:req:j");
    ASSERT_EQ(bus_.published.size(), 1u);
    EXPECT_EQ(bus_.published[0].subject, "sys.job.submit");
    EXPECT_EQ(bus_.published[0].message_id, "jobreq:j");
    EXPECT_EQ(bus_.published[0].packet.trace_id(), "trace-j");
    EXPECT_EQ(bus_.published[0].packet.sender_id(), "api-gateway-http");
    EXPECT_EQ(bus_.published[0].packet.job_request().context_ptr(), "redis://ctx:j");
    EXPECT_EQ(state("j"), "PENDING");
    EXPECT_EQ(hash_field("j", "tenant"), "default");
    EXPECT_EQ(redis_.run({"EXISTS", "job:tenant:active:default"}).integer_or(-1), 0);
    EXPECT_EQ(stored_request("j").SerializeAsString().size(),
              bus_.published[0].packet.job_request().SerializeAsString().size());
    EXPECT_EQ(plan_->open(), 0u);
}

TEST_F(SimulatedGateway, TellsOfASubmitBeforeAndAfter) {
    start({job("j")});
    world_.run_for(1s);
    EXPECT_EQ(world_.of(EventKind::submit, When::before).size(), 1u);
    ASSERT_EQ(world_.of(EventKind::submit, When::answered).size(), 1u);
    EXPECT_TRUE(world_.of(EventKind::submit, When::answered)[0].flag);
}

TEST_F(SimulatedGateway, SubmitsAtItsTimes) {
    start({{.at = 1s, .topic = "job.a", .count = 4, .per_second = 2}});
    world_.run_for(999ms);
    EXPECT_EQ(bus_.published.size(), 0u);
    world_.run_for(502ms);
    EXPECT_EQ(bus_.published.size(), 2u);
    world_.run_for(1s);
    EXPECT_EQ(bus_.published.size(), 4u);
}

TEST_F(SimulatedGateway, CanOnlyPublish) {
    start({job("j")}, {.writes_redis = false});
    world_.run_for(1s);
    EXPECT_EQ(redis_.commands(), 0u);
    ASSERT_EQ(bus_.published.size(), 1u);
    EXPECT_EQ(bus_.published[0].packet.job_request().tenant_id(), "");
    EXPECT_EQ(bus_.published[0].packet.job_request().context_ptr(), "");
}

TEST_F(SimulatedGateway, PublishesAgainWithTheSameIdUntilAcknowledged) {
    int left = 2;
    bus_.outcome = [&](const std::string&) { return left-- > 0 ? OutcomeKind::unknown : OutcomeKind::applied; };
    start({job("j")});
    world_.run_for(10s);
    ASSERT_EQ(bus_.published.size(), 3u);
    for (const auto& message : bus_.published) EXPECT_EQ(message.message_id, "jobreq:j");
    EXPECT_TRUE(world_.of(EventKind::submit, When::answered).at(0).flag);
}

TEST_F(SimulatedGateway, AJobThatCertainlyWasNotPublishedFails) {
    bus_.outcome = [](const std::string&) { return OutcomeKind::not_applied; };
    start({job("j")}, {.patience = 5s});
    world_.run_for(10s);
    EXPECT_EQ(state("j"), "FAILED");
    EXPECT_FALSE(world_.of(EventKind::submit, When::answered).at(0).flag);
    EXPECT_EQ(plan_->open(), 0u);
}

TEST_F(SimulatedGateway, AJobThatPerhapsWasPublishedStaysPending) {
    bus_.outcome = [](const std::string&) { return OutcomeKind::unknown; };
    start({job("j")}, {.patience = 5s});
    world_.run_for(10s);
    EXPECT_EQ(state("j"), "PENDING");
}

TEST_F(SimulatedGateway, WritesAgainWhatDidNotSucceedOrIsUnknown) {
    int calls = 0;
    redis_.fault = [&](const engine::RedisCommand&) {
        ++calls;
        if (calls % 4 == 1) return CallFault::not_applied;
        return calls % 4 == 2 && calls < 12 ? CallFault::unknown : CallFault::none;
    };
    // Every fourth call fails for ever, so no attempt at nine steps gets through.
    start({job("j")}, {.patience = 20s});
    world_.run_for(15s);
    EXPECT_TRUE(bus_.published.empty());
    redis_.fault = nullptr;
    world_.run_for(5s);
    EXPECT_EQ(bus_.published.size(), 1u);
    EXPECT_EQ(state("j"), "PENDING");
    EXPECT_EQ(redis_.run({"LLEN", "job:events:j"}).integer_or(0), 1);
}

TEST_F(SimulatedGateway, ASecondJobUnderOneIdempotencyKeyIsNotSubmitted) {
    const char* keyed = R"({"meta": {"idempotencyKey": "k"}})";
    start({job("a", keyed), job("b", keyed)});
    world_.run_for(1s);
    EXPECT_EQ(bus_.published.size(), 1u);
    EXPECT_EQ(state("b"), "");
    EXPECT_EQ(plan_->open(), 0u);
}

TEST_F(SimulatedGateway, AJobThatIsUnderWayIsNotSubmittedAgain) {
    redis_.run({"HSET", "job:meta:j", "state", "RUNNING"});
    start({job("j")});
    world_.run_for(1s);
    EXPECT_TRUE(bus_.published.empty());
    EXPECT_EQ(state("j"), "RUNNING");
}

TEST_F(SimulatedGateway, TheNextProcessGoesOnWhereTheLastOneDied) {
    for (int step = 0; step < 40; ++step) {
        bus_.published.clear();
        redis_.run({"FLUSHALL"});
        int calls = 0;
        redis_.fault = [&, step](const engine::RedisCommand&) {
            return calls++ >= step ? CallFault::not_applied : CallFault::none;
        };
        start({job("j")});
        world_.run_for(10ms);
        gateway_.reset();
        redis_.fault = nullptr;
        start_again();
        world_.run_for(2s);
        EXPECT_EQ(bus_.published.size(), 1u) << step;
        EXPECT_EQ(state("j"), "PENDING");
        gateway_.reset();
    }
}

TEST_F(SimulatedGateway, ADeadGatewayDoesNothing) {
    world_.kill_when = [](const Event& event) { return event.kind == EventKind::submit; };
    start({job("j")});
    world_.run_for(1s);
    EXPECT_EQ(redis_.commands(), 0u);
    EXPECT_TRUE(bus_.published.empty());
    EXPECT_EQ(plan_->open(), 1u);
}

}  // namespace
}  // namespace lockstep::fakes
