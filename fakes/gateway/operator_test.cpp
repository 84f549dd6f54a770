#include "fakes/gateway/operator.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/wire/job_hash.h"
#include "fakes/gateway/test_gateway_fixture.h"
#include "fakes/kernel/client.h"
#include "fakes/kernel/server.h"
#include "fakes/policy/parse.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;

class SimulatedOperator : public GatewayFixture {
protected:
    /// A job as the scheduler leaves it when policy asks for a human.
    void waiting(const std::string& job, const char* topic = "job.a", const char* snapshot = "snap") {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic(topic);
        static_cast<void>(world_.run(records_.set_state(job, "APPROVAL_REQUIRED")));
        static_cast<void>(world_.run(records_.write_details(request, "trace-" + job)));
        redis_.run({"HSET", "job:meta:" + job, "safety_decision", "REQUIRE_APPROVAL", "safety_job_hash",
                    engine::wire::job_hash(request), "safety_snapshot", snapshot, "safety_approval_required", "true"});
    }
    void start(LoadItem::Kind kind, KernelClient* kernel = nullptr) {
        plan_.emplace(std::move(*LoadPlan::make({{.kind = kind, .job_ids = {"j"}}})));
        start_again(kernel);
    }
    void start_again(KernelClient* kernel = nullptr) {
        operator_.emplace(world_, kGatewayNode, world_.executor(), bus_, redis_, kernel, *plan_);
    }
    /// What the answered event said; empty while there is none.
    std::optional<bool> answered(EventKind kind) {
        const auto events = world_.of(kind, When::answered);
        if (events.empty()) return std::nullopt;
        return events.back().flag;
    }

    std::optional<LoadPlan> plan_;
    std::optional<Operator> operator_;
};

// CANC-01, CANC-05
TEST_F(SimulatedOperator, ACancellationIsWrittenAndThenTold) {
    static_cast<void>(world_.run(records_.set_state("j", "PENDING")));
    start(LoadItem::Kind::cancel);
    world_.run_for(1s);
    EXPECT_EQ(state("j"), "CANCELLED");
    ASSERT_EQ(bus_.published.size(), 2u);
    EXPECT_EQ(bus_.published[0].subject, "sys.job.result");
    EXPECT_EQ(bus_.published[0].message_id, "sys.job.result:j");
    EXPECT_EQ(bus_.published[0].packet.job_result().status(), cap::JOB_STATUS_CANCELLED);
    EXPECT_EQ(bus_.published[0].packet.job_result().worker_id(), "");
    EXPECT_EQ(bus_.published[1].subject, "sys.job.cancel");
    EXPECT_TRUE(bus_.published[1].core);
    EXPECT_EQ(answered(EventKind::cancel), true);
    EXPECT_EQ(redis_.run({"EXISTS", "cordum:scheduler:job:j"}).integer_or(-1), 0);
}

TEST_F(SimulatedOperator, AnEndedJobIsNotCancelled) {
    static_cast<void>(world_.run(records_.set_state("j", "FAILED")));
    start(LoadItem::Kind::cancel);
    world_.run_for(1s);
    EXPECT_EQ(state("j"), "FAILED");
    EXPECT_TRUE(bus_.published.empty());
    EXPECT_EQ(answered(EventKind::cancel), false);
}

TEST_F(SimulatedOperator, ACancellationWaitsForTheJobAndSurvivesALostAnswer) {
    start(LoadItem::Kind::cancel);
    world_.run_for(5s);
    EXPECT_FALSE(answered(EventKind::cancel).has_value());
    static_cast<void>(world_.run(records_.set_state("j", "PENDING")));
    int left = 2;  // twice in a row
    redis_.fault = [&](const engine::RedisCommand&) { return left-- > 0 ? CallFault::unknown : CallFault::none; };
    world_.run_for(5s);
    EXPECT_EQ(state("j"), "CANCELLED");
    EXPECT_EQ(bus_.on("sys.job.cancel").size(), 1u);
    EXPECT_EQ(answered(EventKind::cancel), true);
}

TEST_F(SimulatedOperator, AnApprovalReleasesTheStoredRequest) {
    waiting("j");
    start(LoadItem::Kind::approve);
    world_.run_for(1s);
    EXPECT_EQ(state("j"), "PENDING");
    EXPECT_EQ(stored_request("j").labels().at("approval_granted"), "true");
    EXPECT_EQ(hash_field("j", "approval_by"), "operator");
    EXPECT_EQ(hash_field("j", "approval_job_hash"), engine::wire::job_hash(stored_request("j")));
    ASSERT_EQ(bus_.published.size(), 1u);
    EXPECT_EQ(bus_.published[0].subject, "sys.job.submit");
    EXPECT_EQ(bus_.published[0].message_id, "jobreq:sys.job.submit:approval:j");
    EXPECT_EQ(bus_.published[0].packet.trace_id(), "trace-j");
    EXPECT_EQ(bus_.published[0].packet.job_request().labels().at("approval_granted"), "true");
    EXPECT_EQ(answered(EventKind::approve), true);
    EXPECT_EQ(redis_.run({"EXISTS", "cordum:scheduler:job:j"}).integer_or(-1), 0);
}

TEST_F(SimulatedOperator, AnApprovalWaitsUntilTheJobAsksForIt) {
    static_cast<void>(world_.run(records_.set_state("j", "PENDING")));
    start(LoadItem::Kind::approve);
    world_.run_for(5s);
    EXPECT_FALSE(answered(EventKind::approve).has_value());
    waiting("j");
    world_.run_for(2s);
    EXPECT_EQ(answered(EventKind::approve), true);
}

TEST_F(SimulatedOperator, AnApprovalWaitsForTheLock) {
    waiting("j");
    redis_.run({"SET", "cordum:scheduler:job:j", "somebody"});
    start(LoadItem::Kind::approve);
    world_.run_for(5s);
    EXPECT_EQ(state("j"), "APPROVAL_REQUIRED");
    redis_.run({"DEL", "cordum:scheduler:job:j"});
    world_.run_for(2s);
    EXPECT_EQ(state("j"), "PENDING");
}

TEST_F(SimulatedOperator, AnotherRequestThanTheOneAskedAboutIsRefused) {
    waiting("j");
    redis_.run({"HSET", "job:meta:j", "safety_job_hash", "something else"});
    start(LoadItem::Kind::approve);
    world_.run_for(1s);
    EXPECT_EQ(answered(EventKind::approve), false);
    EXPECT_EQ(state("j"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(bus_.published.empty());
}

TEST_F(SimulatedOperator, AnotherPolicyThanTheOneThatAskedIsRefusedButForGates) {
    KernelServer server(world_, NodeId{1}, policy::Evaluator({}, "snap|cfg:1"));
    KernelClient kernel(world_, kGatewayNode, NodeId{1}, server);
    waiting("j", "job.a", "snap|cfg:2");  // the same file
    start(LoadItem::Kind::approve, &kernel);
    world_.run_for(1s);
    EXPECT_EQ(answered(EventKind::approve), true);

    for (const char* topic : {"job.a", "job.cordum.approval-gate"}) {
        redis_.run({"FLUSHALL"});
        waiting("j", topic, "older");
        start(LoadItem::Kind::approve, &kernel);
        world_.run_for(1s);
        EXPECT_EQ(answered(EventKind::approve), topic != std::string("job.a"));
    }
    operator_.reset();
}

TEST_F(SimulatedOperator, AnApprovalIsFinishedByTheNextProcess) {
    for (int step = 0; step < 16; ++step) {
        redis_.fault = nullptr;
        redis_.run({"FLUSHALL"});
        bus_.published.clear();
        waiting("j");
        int calls = 0;
        redis_.fault = [&, step](const engine::RedisCommand&) {
            return calls++ >= step ? CallFault::unknown
                                   : CallFault::none;  // what it did counts, but it hears of nothing
        };
        bus_.outcome = [](const std::string&) { return OutcomeKind::not_applied; };
        start(LoadItem::Kind::approve);
        world_.run_for(10ms);
        operator_.reset();
        redis_.fault = nullptr;
        bus_.outcome = nullptr;
        redis_.run({"DEL", "cordum:scheduler:job:j"});  // its time runs out
        start_again();
        world_.run_for(2s);
        EXPECT_EQ(state("j"), "PENDING") << step;
        EXPECT_EQ(bus_.published.size(), 1u) << step;
        EXPECT_EQ(answered(EventKind::approve), true);
        operator_.reset();
    }
}

TEST_F(SimulatedOperator, ARejectionDeniesAndLeavesADeadLetter) {
    waiting("j", "job.cordum.approval-gate");
    start(LoadItem::Kind::reject);
    world_.run_for(1s);
    EXPECT_EQ(state("j"), "DENIED");
    EXPECT_EQ(nlohmann::json::parse(get("dlq:entry:j"))["reason_code"], "approval_rejected");
    const auto letters = bus_.on("sys.job.dlq");
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].packet.job_result().error_code_enum(), cap::ERROR_CODE_SAFETY_DENIED);
    EXPECT_EQ(bus_.on("sys.job.result").size(), 1u);
    EXPECT_EQ(answered(EventKind::approve), true);
}

}  // namespace
}  // namespace lockstep::fakes
