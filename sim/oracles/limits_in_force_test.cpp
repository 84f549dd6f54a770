#include "sim/oracles/limits_in_force.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;
using namespace std::chrono_literals;

constexpr const char* kTimeouts =
    R"({"topics":{"job.t":{"max_retries":2}},"workflows":{"wf":{"total_timeout_seconds":60}}})";

class LimitsInForceTest : public ::testing::Test {
protected:
    /// Taken up at 1000 s by the clock of Redis.
    void take_up(const std::string& job, std::int64_t deadline_ms = 0, const char* workflow = "") {
        if (!job.empty()) {
            request.set_job_id(job);
            request.set_topic("job.t");
            request.set_workflow_id(workflow);
            request.mutable_budget()->set_deadline_ms(deadline_ms);
            oracle.string_set(kReplica, "job:req:" + job, nullptr, engine::wire::to_json(request), -1, -1);
        }
        take_up_again(job, 1'000'000);
    }
    void take_up_again(const std::string& job, std::int64_t redis_millis) {
        tell(testing::event_of(fakes::EventKind::timer, ""));
        oracle.string_set(kReplica, "cordum:scheduler:job:" + job, nullptr, "token", -1,
                          redis_millis + engine::to_millis(tunables.job_lock_ttl));
    }
    void answer(const std::string& job, std::int64_t runtime_ms, std::int64_t concurrent = 0,
                std::int64_t retries = 0) {
        cap::PolicyCheckResponse response;
        auto& budgets = *response.mutable_constraints()->mutable_budgets();
        budgets.set_max_runtime_ms(runtime_ms);
        budgets.set_max_concurrent_jobs(static_cast<int>(concurrent));
        budgets.set_max_retries(static_cast<int>(retries));
        const std::string bytes = response.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job);
        event.node = kReplica;
        event.payload = bytes;
        tell(event);
        constraints = engine::wire::to_json(response.constraints());
    }
    void allow(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job);
        tell(event);
    }
    void set(const std::string& job, const char* field, std::int64_t value) {
        set(job, field, fmt::format("{}", value));
    }
    void set(const std::string& job, const char* field, const std::string& value, fakes::NodeId by = kReplica) {
        oracle.hash_set(by, "job:meta:" + job, field, nullptr, value);
    }
    void dispatch(const std::string& job, std::int64_t at_millis) {
        set(job, "state", "DISPATCHED");
        set(job, "updated_at", at_millis * 1000);
    }
    void bury(const std::string& job) {
        oracle.string_set(kReplica, "dlq:entry:" + job, nullptr, R"({"reason_code":"max_retries_exceeded"})", -1, -1);
    }
    void send(const std::string& job, std::int64_t deadline_ms, const std::map<std::string, std::string>& env) {
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        packet.mutable_job_request()->mutable_budget()->set_deadline_ms(deadline_ms);
        for (const auto& [name, value] : env) (*packet.mutable_job_request()->mutable_env())[name] = value;
        fakes::Event event = testing::event_of(fakes::EventKind::publish, job, fakes::When::before);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        event.packet = &packet;
        tell(event);
    }
    void tell(const fakes::Event& event) { judge.tell(oracle, event, now); }

    Time now{100s};
    cap::JobRequest request;
    std::string constraints;
    engine::Tunables tunables;
    testing::KeepingJudge judge;
    LimitsInForce oracle{judge, tunables, kTimeouts};
};

TEST_F(LimitsInForceTest, TheStricterDeadlineGoesToTheWorkerWithTheConstraints) {
    take_up("a", 9000);
    answer("a", 5000, 2);
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}, {"CORDUM_MAX_CONCURRENT_JOBS", "2"}});
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(LimitsInForceTest, TheRequestsOwnIsNotRaised) {
    take_up("a", 3000);
    answer("a", 5000);
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("given 5000 ms")));
}

TEST_F(LimitsInForceTest, NoConstraintIsKeptFromTheWorker) {
    take_up("a");
    answer("a", 0, 2, 3);
    send("a", 0, {{"CORDUM_POLICY_CONSTRAINTS", constraints}, {"CORDUM_MAX_CONCURRENT_JOBS", "2"}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"\"")));
}

TEST_F(LimitsInForceTest, NoConstraintIsMadeUp) {
    take_up("a");
    allow("a");
    send("a", 0, {{"CORDUM_MAX_RETRIES", "3"}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"3\"")));
}

TEST_F(LimitsInForceTest, WhatWasLetThroughWithoutAnAnswerHasNoConstraints) {
    take_up("a");
    answer("a", 0, 2);
    (*request.mutable_labels())["safety_bypassed"] = "true";
    send("a", 0, {});
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LimitsInForceTest, ADeadlineCountsFromTheTakeUp) {
    take_up("a", 9000);
    set("a", "deadline_unix", 1'009'000'000);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("b", 9000);
    set("b", "deadline_unix", 1'020'000'000);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its deadline lies 20000 ms after")));
}

TEST_F(LimitsInForceTest, ADeadlineIsNotPutOff) {
    take_up("a", 9000);
    set("a", "deadline_unix", 1'009'000'000);
    take_up_again("a", 1'005'000);
    set("a", "deadline_unix", 1'014'000'000);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("put off by 5000 ms")));
}

TEST_F(LimitsInForceTest, ARunOfAWorkflowBoundsItsJobs) {
    take_up("a", 90'000, "wf");
    allow("a");
    set("a", "deadline_unix", 1'060'000'000);
    dispatch("a", 1'000'100);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("b", 90'000, "wf");
    allow("b");
    set("b", "deadline_unix", 1'090'000'000);
    dispatch("b", 1'000'100);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("30000 ms later than the strictest")));
}

TEST_F(LimitsInForceTest, TheRunTimeThatPolicyAllowsIsADeadline) {
    take_up("a");
    answer("a", 5000);
    set("a", "deadline_unix", 1'005'000'000);
    dispatch("a", 1'000'100);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("b");
    answer("b", 5000);
    dispatch("b", 1'000'100);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("dispatched without a deadline")));
}

TEST_F(LimitsInForceTest, TheClocksOfOthersAreTheirOwn) {
    take_up("a", 9000);
    allow("a");
    set("a", "deadline_unix", "1040000000", Topology::kGateway);
    dispatch("a", 1'000'100);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LimitsInForceTest, RetriesAreTheLeastOfAllThatLimitThem) {
    take_up("a");
    answer("a", 0, 0, 5);
    for (int dispatches = 1; dispatches <= 3; ++dispatches) {
        take_up_again("a", 1'000'000);
        set("a", "ls_dispatches", dispatches);
    }
    EXPECT_THAT(judge.found, IsEmpty()) << "the topic allows two retries";
    bury("a");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_again("a", 1'000'000);
    set("a", "ls_dispatches", 4);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("once more after 3 times")));
}

TEST_F(LimitsInForceTest, NobodyIsGivenUpWithRetriesLeft) {
    take_up("a");
    allow("a");
    set("a", "ls_dispatches", 2);
    bury("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("used up after 2 dispatches, and it has 2")));
}

TEST_F(LimitsInForceTest, AJobWaitsByALimitThatPolicyHasGiven) {
    take_up("a");
    answer("a", 0, 2);
    set("a", "ls_waits_limit", 2);
    EXPECT_THAT(judge.found, IsEmpty());
    set("a", "ls_waits_limit", 3);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy has never given that one")));
}

TEST_F(LimitsInForceTest, AnOpenCircuitIsNoLimitWhereTheFailModeIsOpen) {
    take_up("a");
    answer("a", 0, 2);
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(judge.found.size(), 1U) << "it has been asked";
    take_up("a");
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(judge.found.size(), 2U) << "the mode is closed";
    tunables.policy_check_fail_mode = "open";
    take_up("a");
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(judge.found.size(), 2U);
}

TEST_F(LimitsInForceTest, ClocksThatWereSetTellNothing) {
    fakes::Event jump = testing::event_of(fakes::EventKind::fault, "");
    jump.name = "clock_jump";
    tell(jump);
    take_up("a", 9000);
    set("a", "deadline_unix", 5);
    EXPECT_THAT(judge.found, IsEmpty());
}

/// An operator writes it, and the replica reads it.
class ChangedLimitsTest : public LimitsInForceTest {
protected:
    void change(const char* timeouts) {
        oracle.string_set(Topology::kOperator, "cfg:system:default", nullptr,
                          fmt::format(R"({{"data":{{"timeouts":{}}}}})", timeouts), -1, -1);
        for (const fakes::When when : {fakes::When::applied, fakes::When::answered}) {
            fakes::Event event = testing::event_of(fakes::EventKind::redis, "", when);
            event.node = kReplica;
            event.command = "GET";
            event.key = "cfg:system:default";
            tell(event);
        }
        now += 1min;
    }
};

TEST_F(ChangedLimitsTest, RetriesAreThoseThatItsReplicaHasReadLast) {
    change(R"({"topics":{"job.t":{"max_retries":1}}})");
    take_up("a");
    allow("a");
    for (const std::int64_t dispatches : {1, 2}) set("a", "ls_dispatches", dispatches);
    take_up_again("a", 1'000'000);
    EXPECT_THAT(judge.found, IsEmpty());
    set("a", "ls_dispatches", 3);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("once more after 2 times, and may be dispatched again 1 times")));
}

TEST_F(ChangedLimitsTest, WhatItReadsMeanwhileMayCountOrNot) {
    take_up("a");
    allow("a");
    change(R"({"topics":{"job.t":{"max_retries":1}}})");
    for (const std::int64_t dispatches : {1, 2, 3}) set("a", "ls_dispatches", dispatches);
    bury("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ChangedLimitsTest, ARunLastsAsLongAsTheNewSettingsSay) {
    change(R"({"workflows":{"wf":{"total_timeout_seconds":5}}})");
    take_up("a", 0, "wf");
    allow("a");
    set("a", "deadline_unix", 1'005'000'000);
    dispatch("a", 1'000'100);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("b", 0, "wf");
    set("b", "deadline_unix", 1'060'000'000);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("neither its request (0 ms), nor its workflow nor policy says so")));
}

TEST_F(ChangedLimitsTest, WhatWasOnItsWayGoesByWhatItsReplicaHadReadBeforeItWentDown) {
    change(R"({"workflows":{"wf":{"child_timeout_seconds":5}}})");
    fakes::Event down = testing::event_of(fakes::EventKind::node_down, "");
    down.node = kReplica;
    take_up("a", 0, "wf");
    allow("a");
    tell(down);
    dispatch("a", 1'000'100);
    EXPECT_THAT(judge.found, IsEmpty());
    now += 1min;
    take_up("b", 0, "wf");
    allow("b");
    dispatch("b", 1'000'100);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("dispatched without a deadline")));
}

/// Dispatched at 1001 s by the clock of Redis.
class DispatchLimitsTest : public ChangedLimitsTest {
protected:
    DispatchLimitsTest() {
        tunables.dispatch_timeout = 60s;
        tunables.reconciler_interval = 5s;
    }
    void time_out_after(std::chrono::milliseconds stay) {
        take_up("a");
        dispatch("a", 1'001'000);
        now += stay;
        const std::string before = "DISPATCHED";
        oracle.hash_set(kReplica, "job:meta:a", "state", &before, "TIMEOUT");
        set("a", "updated_at", (1'001'000 + stay.count()) * 1000);
    }
    static constexpr const char* kShort = R"({"reconciler":{"dispatch_timeout_seconds":5}})";
};

TEST_F(DispatchLimitsTest, AReplicaGoesByWhatItHasReadLast) {
    change(kShort);
    time_out_after(6s);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DispatchLimitsTest, WhatADocumentDoesNotSayIsWhatItStartedWith) {
    change(kShort);
    change(R"({"topics":{"job.other":{"max_retries":2}}})");
    time_out_after(6s);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("may stay for 60000 ms")));
}

TEST_F(DispatchLimitsTest, ThatHoldsAsLongAsItIs) {
    change(R"({"topics":{"job.other":{"max_retries":2}}})");
    time_out_after(61s);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DispatchLimitsTest, ATopicHasItsOwn) {
    change(R"({"topics":{"job.t":{"dispatch_timeout":"4s"}}})");
    time_out_after(5s);
    EXPECT_THAT(judge.found, IsEmpty());
}

/// The settings hold the limits of another file when the replica starts.
class StartingTest : public LimitsInForceTest {
protected:
    void find(const char* hash) {
        write(Topology::kOperator, hash, 9);
        redis("GET", fakes::When::applied);
        redis("GET", fakes::When::answered);
    }
    void write(fakes::NodeId client, const char* hash, int retries) {
        oracle.string_set(client, "cfg:system:default", nullptr,
                          fmt::format(R"({{"revision":1,"data":{{"_timeoutsFileHash":"{}","timeouts":{{"topics":)"
                                      R"({{"job.t":{{"max_retries":{}}}}},"workflows":{{"wf":{{)"
                                      R"("total_timeout_seconds":60}}}}}}}}}})",
                                      hash, retries),
                          -1, -1);
    }
    void redis(const char* command, fakes::When when, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        fakes::Event event = testing::event_of(fakes::EventKind::redis, "", when);
        event.node = kReplica;
        event.command = command;
        event.key = "cfg:system:default";
        event.outcome = outcome;
        tell(event);
    }
    static constexpr const char* kFingerprint = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
    void begin_to_work() {
        fakes::Event event = testing::event_of(fakes::EventKind::lock_acquired, "a");
        event.node = kReplica;
        tell(event);
    }
};

TEST_F(StartingTest, WhoeverStartsWritesTheLimitsOfItsFile) {
    find("of-another-file");
    write(kReplica, kFingerprint, 2);
    begin_to_work();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StartingTest, WhatElseItAddsDoesNotMatter) {
    find("of-another-file");
    write(kReplica, "of-another-file", 9);  // with the pools, say
    judge.found.clear();
    begin_to_work();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("left those of another one in the settings")));
}

TEST_F(StartingTest, AndDoesNotLeaveThoseOfAnother) {
    find("of-another-file");
    begin_to_work();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("left those of another one in the settings")));
}

TEST_F(StartingTest, UnlessItCannot) {
    find("of-another-file");
    redis("EVALSHA", fakes::When::answered, fakes::EventOutcome::not_applied);
    begin_to_work();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StartingTest, OrTheyAreOfItsFile) {
    find(kFingerprint);
    begin_to_work();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LimitsInForceTest, WhoHasTheJobInHandNeedNotKnowTheRequestThatTakesThePlaceOfItsOwn) {
    take_up("a", 5000);
    answer("a", 0);
    const std::string before = engine::wire::to_json(request);
    request.mutable_budget()->set_deadline_ms(0);
    oracle.string_set(Topology::kGateway, "job:req:a", &before, engine::wire::to_json(request), -1, -1);
    send("a", 5000, {});
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LimitsInForceTest, WhomAHumanHasReleasedIsSentAsTheQuestionWas) {
    take_up("a");
    answer("a", 5000);
    cap::PolicyCheckResponse response;
    response.set_decision(cap::DECISION_TYPE_REQUIRE_HUMAN);
    const std::string bytes = response.SerializeAsString();
    fakes::Event question = testing::event_of(fakes::EventKind::kernel_check, "a");
    question.payload = bytes;
    tell(question);
    set("a", "safety_reason", std::string("approval granted"));
    send("a", 0, {});
    EXPECT_THAT(judge.found, IsEmpty());
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its worker is given 5000 ms")));
}

TEST_F(LimitsInForceTest, WhatAFileSaysIsWhatIsWrittenOfIt) {
    const auto write = [this](const char* total) {
        oracle.string_set(kReplica, "cfg:system:default", nullptr,
                          fmt::format(R"({{"data":{{"timeouts":{{"topics":{{"job.t":{{"max_retries":2}}}},)"
                                      R"("workflows":{{"wf":{{"{}":60}}}}}}}}}})",
                                      total),
                          -1, -1);
    };
    write("total_timeout_seconds");
    EXPECT_THAT(judge.found, IsEmpty());
    write("child_timeout_seconds");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("not those of its file")));
}

}  // namespace
}  // namespace lockstep::sim
