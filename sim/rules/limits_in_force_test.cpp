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
        define({
            {"acquire", [this](auto& of) { acquire_parts(parts_of(of, ':')); }},
            {"again", [this](auto& of) { acquire_again(first(of), std::stoll(second(of))); }},
            {"answer", [this](auto& of) { answer_parts(parts_of(of, ':')); }},
            {"allow", [this](auto& job) { allow(job); }},
            {"unanswered",
             [this](auto& job) {
                 observe(EventKind::kernel_check, job, {.outcome = EventOutcome::not_applied}, When::answered);
             }},
            {"set", [this](auto& of) { set(first(of), first(second(of)).c_str(), std::stoll(second(second(of)))); }},
            {"foreign", [this](auto&) { set_field("a", "deadline_unix", "1040000000", Topology::kGateway); }},
            {"dispatch", [this](auto& job) { dispatch(job); }},
            {"give_up", [this](auto& job) { give_up(job); }},
            {"letter", [this](auto& code) { letter("a", code); }},
            {"bypass", [this](auto&) { (*request.mutable_labels())["safety_bypassed"] = "true"; }},
            {"send", [this](auto& of) { send_parts(parts_of(of, ':')); }},
            {"change", [this](auto& timeouts) { change(timeouts.c_str()); }},
        });
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
    void letter(const std::string& job, const std::string& code) {
        set_text("dlq:entry:" + job,
                 fmt::format(R"({{"job_id":"a","reason_code":"{}","created_at":"2026-01-02T03:04:05Z"}})", code));
    }
    void give_up(const std::string& job) { letter(job, "max_retries_exceeded"); }
    void send(const std::string& job, std::int64_t deadline_ms, const std::map<std::string, std::string>& env = {}) {
        cap::BusPacket packet;
        *packet.mutable_job_request() = request;
        packet.mutable_job_request()->mutable_budget()->set_deadline_ms(deadline_ms);
        for (const auto& [name, value] : env) (*packet.mutable_job_request()->mutable_env())[name] = value;
        observe(EventKind::publish, job, {.subject = "worker.w.jobs", .packet = &packet}, When::before);
    }
    /// job, deadline in milliseconds, workflow
    void acquire_parts(std::vector<std::string> parts) {
        parts.resize(3);
        acquire(parts[0], parts[1].empty() ? 0 : std::stoll(parts[1]), parts[2].c_str());
    }
    /// job, run time in milliseconds, jobs at a time, retries
    void answer_parts(std::vector<std::string> parts) {
        parts.resize(4, "0");
        answer(parts[0], std::stoll(parts[1]), std::stoi(parts[2]), std::stoi(parts[3]));
    }
    /// job, deadline in milliseconds, and of the constraints: all, how many jobs at a time, how many retries
    void send_parts(std::vector<std::string> parts) {
        parts.resize(5);
        std::map<std::string, std::string> env;
        if (parts[2] == "all") env["CORDUM_POLICY_CONSTRAINTS"] = constraints;
        if (!parts[3].empty()) env["CORDUM_MAX_CONCURRENT_JOBS"] = parts[3];
        if (!parts[4].empty()) env["CORDUM_MAX_RETRIES"] = parts[4];
        send(parts[0], std::stoll(parts[1]), env);
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

constexpr Story kLimits[] = {
    {"TheStricterDeadlineGoesToTheWorkerWithTheConstraints",
     "acquire=a:9000 answer=a:5000:2 send=a:5000:all:2 times=1"},
    {"TheRequestsOwnIsNotRaised", "acquire=a:3000 answer=a:5000 send=a:5000:all", "a: its worker is given 5000 ms"},
    {"NoConstraintIsKeptFromTheWorker", "acquire=a answer=a:0:2:3 send=a:0:all:2 send=a:0::2:3",
     "CORDUM_MAX_RETRIES=\"\"|is not given the constraints of policy"},
    {"NoConstraintIsMadeUp", "acquire=a answer=a:0:2 acquire=b allow=b send=b:0:::3 send=b:0:all",
     "CORDUM_MAX_RETRIES=\"3\"|is given other constraints than those of policy"},
    {"WhatWasLetThroughWithoutAnAnswerHasNoConstraints", "acquire=a answer=a:0:2 bypass send=a:0"},
    {"ACallWithoutAnAnswerConstrainsNothing", "acquire=a answer=a:0:2 unanswered=a send=a:0"},
    {"ADeadlineCountsFromWhenTheJobWasAcquired",
     "acquire=a:9000 set=a:deadline_unix:1009000000 ok acquire=b:9000 set=b:deadline_unix:1020000000",
     "b: its deadline lies 20000 ms after it was acquired"},
    {"ADeadlineIsNotMovedBack",
     "acquire=a:9000 set=a:deadline_unix:1009000000 again=a:1005000 set=a:deadline_unix:1014000000",
     "a: its deadline is moved back by 5000 ms"},
    {"ARunOfAWorkflowBoundsItsJobs",
     "acquire=a:90000:wf allow=a set=a:deadline_unix:1060000000 dispatch=a ok acquire=b:90000:wf allow=b "
     "set=b:deadline_unix:1090000000 dispatch=b",
     "30000 ms later than the strictest"},
    {"TheRunTimeThatPolicyAllowsIsADeadline",
     "acquire=a answer=a:5000 set=a:deadline_unix:1005000000 dispatch=a ok acquire=b answer=b:5000 dispatch=b",
     "b: it is dispatched without a deadline"},
    {"TheClocksOfOthersAreTheirOwn", "acquire=a:9000 allow=a foreign dispatch=a"},
    // The topic allows two retries.
    {"RetriesAreTheLeastOfAllThatLimitThem",
     "acquire=a answer=a:0:0:5 again=a:1000000 set=a:ls_dispatches:1 again=a:1000000 set=a:ls_dispatches:2 "
     "again=a:1000000 set=a:ls_dispatches:3 give_up=a ok again=a:1000000 set=a:ls_dispatches:4",
     "once more after 3 times"},
    {"NoJobIsGivenUpWithRetriesLeft", "acquire=a allow=a set=a:ls_dispatches:2 give_up=a",
     "used up after 2 dispatches, and it has 2"},
    {"AnotherLetterGivesNoRetriesUp", "acquire=a allow=a letter=safety_denied"},
    {"AJobWaitsByALimitThatPolicyHasGiven", "acquire=a answer=a:0:2 set=a:ls_waits_limit:2 ok set=a:ls_waits_limit:3",
     "policy has never given that one"},
    {"ClocksThatWereSetTellNothing", "fault=clock_jump acquire=a:9000 set=a:deadline_unix:5"},
    {"AJobOfWhichRedisHasLostSomethingIsNotJudged",
     "acquire=a:9000 answer=a:0 evict=job:req:a send=a:5000 set=a:deadline_unix:5 acquire=b:9000 answer=b:0 failover "
     "send=b:5000"},
    {"RetriesAreThoseThatTheReplicaHasReadLast",
     "change={\"topics\":{\"job.t\":{\"max_retries\":1}}} acquire=a allow=a set=a:ls_dispatches:1 "
     "set=a:ls_dispatches:2 again=a:1000000 ok set=a:ls_dispatches:3",
     "once more after 2 times, and may be dispatched again 1 times"},
    {"WhatTheReplicaReadMeanwhileMayCountOrNot",
     "acquire=a allow=a change={\"topics\":{\"job.t\":{\"max_retries\":1}}} set=a:ls_dispatches:1 "
     "set=a:ls_dispatches:2 set=a:ls_dispatches:3 give_up=a"},
    {"ARunLastsAsLongAsTheNewSettingsSay",
     "change={\"workflows\":{\"wf\":{\"total_timeout_seconds\":5}}} acquire=a:0:wf allow=a "
     "set=a:deadline_unix:1005000000 dispatch=a ok acquire=b:0:wf set=b:deadline_unix:1060000000",
     "neither its request (0 ms), nor its workflow nor policy says so"},
    {"AHandlerThatWasFrozenGoesByWhatItsReplicaHadReadWhenItBegan",
     "change={\"workflows\":{\"wf\":{\"child_timeout_seconds\":5}}} "
     "change={\"workflows\":{\"wf\":{\"total_timeout_seconds\":5}}} "
     "freeze thaw acquire=a:0:wf allow=a dispatch=a ok +1min acquire=b:0:wf allow=b dispatch=b",
     "dispatched without a deadline"},
    {"WhatWasOnItsWayGoesByWhatTheReplicaHadReadBeforeItWentDown",
     "change={\"workflows\":{\"wf\":{\"child_timeout_seconds\":5}}} acquire=a:0:wf allow=a down dispatch=a ok up +1min "
     "acquire=b:0:wf allow=b dispatch=b",
     "dispatched without a deadline"},
};
using LimitsTold = Told<LimitsInForceTest>;
TEST_P(LimitsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LimitsTold, ::testing::ValuesIn(kLimits), title_of);

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

/// Dispatched at 1001 s by the clock of Redis.
struct DispatchLimitsTest : LimitsInForceTest {
    DispatchLimitsTest() {
        tunables.dispatch_timeout = 60s;
        tunables.reconciler_interval = 5s;
        define({
            {"stay",
             [this](auto& time) {
                 time_out_after(std::chrono::duration_cast<std::chrono::milliseconds>(duration_of(time)));
             }},
        });
    }
    void time_out_after(std::chrono::milliseconds stay) {
        acquire("a");
        dispatch("a", 1'001'000);
        now += stay;
        move("a", "TIMEOUT", 1'001'000 + stay.count());
    }
};

constexpr Story kStays[] = {
    {"AReplicaGoesByWhatItHasReadLast", "change={\"reconciler\":{\"dispatch_timeout_seconds\":5}} stay=6s"},
    {"WhatADocumentDoesNotSayIsWhatItStartedWith",
     "change={\"reconciler\":{\"dispatch_timeout_seconds\":5}} change={\"topics\":{\"job.other\":{\"max_retries\":2}}} "
     "stay=6s",
     "may stay for 60000 ms"},
    {"ThatAppliesAsLongAsItIs", "change={\"topics\":{\"job.other\":{\"max_retries\":2}}} stay=61s"},
    {"ATopicHasItsOwn", "change={\"topics\":{\"job.t\":{\"dispatch_timeout\":\"4s\"}}} stay=5s"},
};
using StaysTold = Told<DispatchLimitsTest>;
TEST_P(StaysTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, StaysTold, ::testing::ValuesIn(kStays), title_of);

/// The settings hold the limits of another file when the replica starts.
struct StartingTest : LimitsInForceTest {
    StartingTest() {
        define({
            {"find", [this](auto& hash) { find(hash == "own" ? kFingerprint : hash.c_str()); }},
            {"write",
             [this](auto& hash) { write(by, hash == "own" ? kFingerprint : hash.c_str(), hash == "own" ? 2 : 9); }},
            {"failed", [this](auto&) { read_settings("EVALSHA", When::answered, EventOutcome::not_applied); }},
            {"begin", [this](auto&) { begin_to_work(); }},
        });
    }
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

constexpr Story kStarts[] = {
    {"AReplicaThatStartsWritesTheLimitsOfItsFile", "find=of-another-file write=own begin"},
    // With the pools, say.
    {"WhatElseItAddsDoesNotMatter", "find=of-another-file write=of-another-file begin",
     "left those of another one in the settings"},
    // It is said once.
    {"AndDoesNotLeaveThoseOfAnother", "find=of-another-file begin begin", "left those of another one in the settings"},
    {"UnlessItCannot", "find=of-another-file failed begin"},
    {"OrAnotherProcessHasWrittenMeanwhile", "find=of-another-file write=of-a-third-file@operator begin"},
    {"OrTheyAreOfItsFile", "find=own begin"},
};
using StartsTold = Told<StartingTest>;
TEST_P(StartsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, StartsTold, ::testing::ValuesIn(kStarts), title_of);

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
