#include <fmt/format.h>

#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct LimitsInForceTest : RuleTest {
    LimitsInForceTest() : RuleTest(rules::limits_in_force) {
        now = Time{100s};
        model().set_time_limits(
            R"({"topics":{"job.t":{"max_retries":2}},"workflows":{"wf":{"total_timeout_seconds":60}}})");
    }

    /// Acquired at 1000 s by the clock of Redis.
    void acquire(const std::string& job, std::int64_t deadline_ms = 0, const char* workflow = "") {
        request.set_job_id(job);
        request.set_topic("job.t");
        request.set_workflow_id(workflow);
        request.mutable_budget()->set_deadline_ms(deadline_ms);
        set_text("job:req:" + job, engine::wire::to_json(request));
        acquire_again(job, 1'000'000);
    }
    void acquire_again(const std::string& job, std::int64_t redis_millis) {
        const std::string key = "cordum:scheduler:job:" + job;
        by_command(kReplica, {"SET"}, [&] {
            if (auto* lock = keys.find(key)) keys.remove(*lock);
            keys.set_string(key, fmt::format("token {}", ++tokens_),
                            redis_millis + engine::to_millis(tunables.job_lock_ttl));
        });
    }
    using RuleTest::answer;
    void answer(const std::string& job, std::int64_t runtime_ms, int concurrent = 0, int retries = 0) {
        cap::PolicyCheckResponse response;
        auto& budgets = *response.mutable_constraints()->mutable_budgets();
        budgets.set_max_runtime_ms(runtime_ms);
        budgets.set_max_concurrent_jobs(concurrent);
        budgets.set_max_retries(retries);
        answer(job, response);
        constraints = engine::wire::to_json(response.constraints());
    }
    void allow(const std::string& job) { answer(job, cap::PolicyCheckResponse{}); }
    void set(const std::string& job, const char* field, std::int64_t value) {
        by_command(kReplica, {"EVALSHA"}, [&] { set_field(job, field, fmt::format("{}", value)); });
    }
    void move(const std::string& job, const char* state, std::int64_t at_millis) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            set_field(job, "state", state);
            set_field(job, "updated_at", fmt::format("{}000", at_millis));
        });
    }
    void dispatch(const std::string& job, std::int64_t at_millis = 1'000'100) { move(job, "DISPATCHED", at_millis); }
    void give_up(const std::string& job) {
        const char* letter =
            R"({"job_id":"a","reason_code":"max_retries_exceeded","created_at":"2026-01-02T03:04:05Z"})";
        set_text("dlq:entry:" + job, letter);
    }
    void send(const std::string& job, std::int64_t deadline_ms, const std::map<std::string, std::string>& env = {}) {
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        packet.mutable_job_request()->mutable_budget()->set_deadline_ms(deadline_ms);
        for (const auto& [name, value] : env) (*packet.mutable_job_request()->mutable_env())[name] = value;
        observe(EventKind::publish, job, {.subject = "worker.w.jobs", .packet = &packet}, When::before);
    }
    void read_settings(const char* command, When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, "", {.outcome = outcome, .command = command, .key = kSettingsKey}, when);
    }
    /// An operator writes it, and the replica reads it.
    void change(const char* timeouts) {
        set_text(std::string(kSettingsKey), fmt::format(R"({{"revision":-1,"data":{{"timeouts":{}}}}})", timeouts),
                 Topology::kOperator);
        for (const When when : {When::applied, When::answered}) read_settings("GET", when);
        now += 1min;
    }

    cap::JobRequest request;
    std::string constraints;

private:
    int tokens_ = 0;
};

TEST_F(LimitsInForceTest, TheStricterDeadlineGoesToTheWorkerWithTheConstraints) {
    acquire("a", 9000);
    answer("a", 5000, 2);
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}, {"CORDUM_MAX_CONCURRENT_JOBS", "2"}});
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(LimitsInForceTest, TheRequestsOwnIsNotRaised) {
    acquire("a", 3000);
    answer("a", 5000);
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}});
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: its worker is given 5000 ms")));
}

TEST_F(LimitsInForceTest, NoConstraintIsKeptFromTheWorker) {
    acquire("a");
    answer("a", 0, 2, 3);
    send("a", 0, {{"CORDUM_POLICY_CONSTRAINTS", constraints}, {"CORDUM_MAX_CONCURRENT_JOBS", "2"}});
    EXPECT_THAT(found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"\"")));
    send("a", 0, {{"CORDUM_MAX_RETRIES", "3"}, {"CORDUM_MAX_CONCURRENT_JOBS", "2"}});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[1], HasSubstr("is not given the constraints of policy"));
}

TEST_F(LimitsInForceTest, NoConstraintIsMadeUp) {
    acquire("a");
    answer("a", 0, 2);
    const std::string others = constraints;
    acquire("b");
    allow("b");
    send("b", 0, {{"CORDUM_MAX_RETRIES", "3"}});
    EXPECT_THAT(found, ElementsAre(HasSubstr("CORDUM_MAX_RETRIES=\"3\"")));
    send("b", 0, {{"CORDUM_POLICY_CONSTRAINTS", others}});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[1], HasSubstr("is given other constraints than those of policy"));
}

TEST_F(LimitsInForceTest, WhatWasLetThroughWithoutAnAnswerHasNoConstraints) {
    acquire("a");
    answer("a", 0, 2);
    (*request.mutable_labels())["safety_bypassed"] = "true";
    send("a", 0);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, ACallWithoutAnAnswerConstrainsNothing) {
    acquire("a");
    answer("a", 0, 2);
    observe(EventKind::kernel_check, "a", {.outcome = EventOutcome::not_applied}, When::answered);
    send("a", 0);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, ADeadlineCountsFromWhenTheJobWasAcquired) {
    acquire("a", 9000);
    set("a", "deadline_unix", 1'009'000'000);
    EXPECT_THAT(found, IsEmpty());
    acquire("b", 9000);
    set("b", "deadline_unix", 1'020'000'000);
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: its deadline lies 20000 ms after it was acquired")));
}

TEST_F(LimitsInForceTest, ADeadlineIsNotMovedBack) {
    acquire("a", 9000);
    set("a", "deadline_unix", 1'009'000'000);
    acquire_again("a", 1'005'000);
    set("a", "deadline_unix", 1'014'000'000);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: its deadline is moved back by 5000 ms")));
}

TEST_F(LimitsInForceTest, ARunOfAWorkflowBoundsItsJobs) {
    acquire("a", 90'000, "wf");
    allow("a");
    set("a", "deadline_unix", 1'060'000'000);
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    acquire("b", 90'000, "wf");
    allow("b");
    set("b", "deadline_unix", 1'090'000'000);
    dispatch("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("30000 ms later than the strictest")));
}

TEST_F(LimitsInForceTest, TheRunTimeThatPolicyAllowsIsADeadline) {
    acquire("a");
    answer("a", 5000);
    set("a", "deadline_unix", 1'005'000'000);
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    acquire("b");
    answer("b", 5000);
    dispatch("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it is dispatched without a deadline")));
}

TEST_F(LimitsInForceTest, TheClocksOfOthersAreTheirOwn) {
    acquire("a", 9000);
    allow("a");
    set_field("a", "deadline_unix", "1040000000", Topology::kGateway);
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, RetriesAreTheLeastOfAllThatLimitThem) {
    acquire("a");
    answer("a", 0, 0, 5);
    for (int dispatches = 1; dispatches <= 3; ++dispatches) {
        acquire_again("a", 1'000'000);
        set("a", "ls_dispatches", dispatches);
    }
    EXPECT_THAT(found, IsEmpty()) << "the topic allows two retries";
    give_up("a");
    EXPECT_THAT(found, IsEmpty());
    acquire_again("a", 1'000'000);
    set("a", "ls_dispatches", 4);
    EXPECT_THAT(found, ElementsAre(HasSubstr("once more after 3 times")));
}

TEST_F(LimitsInForceTest, NoJobIsGivenUpWithRetriesLeft) {
    acquire("a");
    allow("a");
    set("a", "ls_dispatches", 2);
    give_up("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("used up after 2 dispatches, and it has 2")));
}

TEST_F(LimitsInForceTest, AJobWaitsByALimitThatPolicyHasGiven) {
    acquire("a");
    answer("a", 0, 2);
    set("a", "ls_waits_limit", 2);
    EXPECT_THAT(found, IsEmpty());
    set("a", "ls_waits_limit", 3);
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy has never given that one")));
}

TEST_F(LimitsInForceTest, AnOpenCircuitIsNoLimitWhereTheFailModeIsOpen) {
    acquire("a");
    answer("a", 0, 2);
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(found.size(), 1U) << "policy was asked";
    acquire("a");
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(found.size(), 2U) << "the mode is closed";
    tunables.policy_check_fail_mode = "open";
    acquire("a");
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(found.size(), 2U);
    settings.pin_fail_modes(true, false);
    set_text(std::string(kSettingsKey), R"({"data":{"scheduler":{"input_fail_mode":"closed"}}})");
    for (const When when : {When::applied, When::answered}) read_settings("GET", when);
    now += std::chrono::seconds{1};
    acquire("a");
    set("a", "ls_waits_limit", 0);
    EXPECT_EQ(found.size(), 2U) << "what an operator has set at the start stays";
}

TEST_F(LimitsInForceTest, ClocksThatWereSetTellNothing) {
    fault("clock_jump");
    acquire("a", 9000);
    set("a", "deadline_unix", 5);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, AJobOfWhichRedisHasLostSomethingIsNotJudged) {
    acquire("a", 9000);
    answer("a", 0);
    evict("job:req:a");
    send("a", 5000);
    set("a", "deadline_unix", 5);
    acquire("b", 9000);
    answer("b", 0);
    keys.restore([] {});
    send("b", 5000);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, AReplicaNeedNotKnowTheRequestThatReplacesTheOneThatItHandles) {
    acquire("a", 5000);
    answer("a", 0);
    request.mutable_budget()->set_deadline_ms(0);
    set_text("job:req:a", engine::wire::to_json(request), Topology::kGateway);
    send("a", 5000);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, AJobThatWasApprovedIsSentAsTheQuestionWas) {
    acquire("a");
    answer("a", 5000);
    cap::PolicyCheckResponse question;
    question.set_decision(cap::DECISION_TYPE_REQUIRE_HUMAN);
    answer("a", question);
    set_field("a", "safety_reason", "approval granted");
    send("a", 0);
    EXPECT_THAT(found, IsEmpty());
    send("a", 5000, {{"CORDUM_POLICY_CONSTRAINTS", constraints}});
    EXPECT_THAT(found, ElementsAre(HasSubstr("its worker is given 5000 ms")));
}

TEST_F(LimitsInForceTest, RetriesAreThoseThatTheReplicaHasReadLast) {
    change(R"({"topics":{"job.t":{"max_retries":1}}})");
    acquire("a");
    allow("a");
    for (const std::int64_t dispatches : {1, 2}) set("a", "ls_dispatches", dispatches);
    acquire_again("a", 1'000'000);
    EXPECT_THAT(found, IsEmpty());
    set("a", "ls_dispatches", 3);
    EXPECT_THAT(found, ElementsAre(HasSubstr("once more after 2 times, and may be dispatched again 1 times")));
}

TEST_F(LimitsInForceTest, WhatTheReplicaReadMeanwhileMayCountOrNot) {
    acquire("a");
    allow("a");
    change(R"({"topics":{"job.t":{"max_retries":1}}})");
    for (const std::int64_t dispatches : {1, 2, 3}) set("a", "ls_dispatches", dispatches);
    give_up("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, ARunLastsAsLongAsTheNewSettingsSay) {
    change(R"({"workflows":{"wf":{"total_timeout_seconds":5}}})");
    acquire("a", 0, "wf");
    allow("a");
    set("a", "deadline_unix", 1'005'000'000);
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    acquire("b", 0, "wf");
    set("b", "deadline_unix", 1'060'000'000);
    EXPECT_THAT(found, ElementsAre(HasSubstr("neither its request (0 ms), nor its workflow nor policy says so")));
}

TEST_F(LimitsInForceTest, WhatWasOnItsWayGoesByWhatTheReplicaHadReadBeforeItWentDown) {
    change(R"({"workflows":{"wf":{"child_timeout_seconds":5}}})");
    acquire("a", 0, "wf");
    allow("a");
    befall(EventKind::node_down, kReplica);
    dispatch("a");
    EXPECT_THAT(found, IsEmpty());
    now += 1min;
    acquire("b", 0, "wf");
    allow("b");
    dispatch("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("dispatched without a deadline")));
}

/// Dispatched at 1001 s by the clock of Redis.
struct DispatchLimitsTest : LimitsInForceTest {
    DispatchLimitsTest() {
        tunables.dispatch_timeout = 60s;
        tunables.reconciler_interval = 5s;
    }
    void time_out_after(std::chrono::milliseconds stay) {
        acquire("a");
        dispatch("a", 1'001'000);
        now += stay;
        move("a", "TIMEOUT", 1'001'000 + stay.count());
    }
    static constexpr const char* kShort = R"({"reconciler":{"dispatch_timeout_seconds":5}})";
};

TEST_F(DispatchLimitsTest, AReplicaGoesByWhatItHasReadLast) {
    change(kShort);
    time_out_after(6s);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DispatchLimitsTest, WhatADocumentDoesNotSayIsWhatItStartedWith) {
    change(kShort);
    change(R"({"topics":{"job.other":{"max_retries":2}}})");
    time_out_after(6s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("may stay for 60000 ms")));
}

TEST_F(DispatchLimitsTest, ThatAppliesAsLongAsItIs) {
    change(R"({"topics":{"job.other":{"max_retries":2}}})");
    time_out_after(61s);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DispatchLimitsTest, ATopicHasItsOwn) {
    change(R"({"topics":{"job.t":{"dispatch_timeout":"4s"}}})");
    time_out_after(5s);
    EXPECT_THAT(found, IsEmpty());
}

/// The settings hold the limits of another file when the replica starts.
struct StartingTest : LimitsInForceTest {
    void find(const char* hash) {
        write(Topology::kOperator, hash, 9);
        read_settings("GET", When::applied);
        read_settings("GET", When::answered);
    }
    void write(fakes::NodeId client, const char* hash, int retries) {
        set_text(std::string(kSettingsKey),
                 fmt::format(R"({{"revision":1,"data":{{"_timeoutsFileHash":"{}","timeouts":{{"topics":)"
                             R"({{"job.t":{{"max_retries":{}}}}},"workflows":{{"wf":{{)"
                             R"("total_timeout_seconds":60}}}}}}}}}})",
                             hash, retries),
                 client);
    }
    void begin_to_work() { grant_lock("cordum:scheduler:job:a", kReplica, "a"); }
    static constexpr const char* kFingerprint = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
};

TEST_F(StartingTest, AReplicaThatStartsWritesTheLimitsOfItsFile) {
    find("of-another-file");
    write(kReplica, kFingerprint, 2);
    begin_to_work();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StartingTest, WhatElseItAddsDoesNotMatter) {
    find("of-another-file");
    write(kReplica, "of-another-file", 9);  // with the pools, say
    begin_to_work();
    EXPECT_THAT(found, ElementsAre(HasSubstr("left those of another one in the settings")));
}

TEST_F(StartingTest, AndDoesNotLeaveThoseOfAnother) {
    find("of-another-file");
    begin_to_work();
    EXPECT_THAT(found, ElementsAre(HasSubstr("left those of another one in the settings")));
    begin_to_work();
    EXPECT_EQ(found.size(), 1U) << "it is said once";
}

TEST_F(StartingTest, UnlessItCannot) {
    find("of-another-file");
    read_settings("EVALSHA", When::answered, EventOutcome::not_applied);
    begin_to_work();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StartingTest, OrAnotherProcessHasWrittenMeanwhile) {
    find("of-another-file");
    write(Topology::kOperator, "of-a-third-file", 8);
    begin_to_work();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StartingTest, OrTheyAreOfItsFile) {
    find(kFingerprint);
    begin_to_work();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LimitsInForceTest, WhatAFileSaysIsWhatIsWrittenOfIt) {
    const auto write = [this](const char* total) {
        set_text(std::string(kSettingsKey),
                 fmt::format(R"({{"data":{{"timeouts":{{"topics":{{"job.t":{{"max_retries":2}}}},)"
                             R"("workflows":{{"wf":{{"{}":60}}}}}}}}}})",
                             total));
    };
    write("total_timeout_seconds");
    EXPECT_THAT(found, IsEmpty());
    write("child_timeout_seconds");
    EXPECT_THAT(found, ElementsAre(HasSubstr("not those of its file")));
}

}  // namespace
}  // namespace lockstep::sim
