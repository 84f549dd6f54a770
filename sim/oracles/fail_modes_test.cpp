#include "sim/oracles/fail_modes.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

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

class FailModesTest : public ::testing::Test {
protected:
    void settings(const std::string& modes) {
        oracle.string_set(Topology::kOperator, "cfg:system:default", nullptr,
                          fmt::format(R"({{"data":{{"scheduler":{{{}}}}}}})", modes), -1, -1);
    }
    void read() {
        for (const fakes::When when : {fakes::When::applied, fakes::When::answered}) {
            fakes::Event event = testing::event_of(fakes::EventKind::redis, "", when);
            event.command = "GET";
            event.key = "cfg:system:default";
            tell(event);
        }
        now += 1s;
    }
    void take_up(const std::string& job, const char* topic = "job.t") {
        tell(testing::event_of(fakes::EventKind::lock_acquired, job));
        set(job, "topic", topic);
    }
    void set(const std::string& job, const char* field, const char* value) {
        oracle.hash_set(kReplica, "job:meta:" + job, field, nullptr, value);
    }
    void done(const std::string& job) { tell(testing::event_of(fakes::EventKind::redis, job)); }
    void put_off(const std::string& job) {
        set(job, "safety_decision", "UNAVAILABLE");
        set(job, "ls_next_attempt_at", "1");
        done(job);
    }
    void let_through(const std::string& job) {
        set(job, "safety_decision", "UNAVAILABLE");
        set(job, "state", "DISPATCHED");
        done(job);
    }
    void send(const std::string& job, const char* reason) {
        cap::BusPacket packet;
        auto& labels = *packet.mutable_job_request()->mutable_labels();
        labels["safety_bypassed"] = "true";
        if (*reason != '\0') labels["safety_bypass_reason"] = reason;
        fakes::Event event = testing::event_of(fakes::EventKind::publish, job, fakes::When::before);
        event.subject = "worker.w.jobs";
        event.packet = &packet;
        tell(event);
    }
    void ask_about_output(const std::string& job, const char* answer) {
        tell(testing::event_of(fakes::EventKind::output_check, job, fakes::When::before));
        fakes::Event event = testing::event_of(fakes::EventKind::output_check, job, fakes::When::answered);
        if (*answer == '\0') event.outcome = fakes::EventOutcome::unknown;
        event.to = answer;
        tell(event);
        now += 1s;
    }
    void end_scan(const std::string& job) {
        oracle.hash_removed(kReplica, "job:meta:" + job, "ls_scan_pending", "");
        done(job);
    }
    void withhold(const std::string& job) {
        set(job, "state", "OUTPUT_QUARANTINED");
        done(job);
    }
    void tell(fakes::Event event) {
        event.node = kReplica;
        judge.tell(oracle, event, now);
    }

    Time now{100s};
    engine::Tunables tunables;
    testing::KeepingJudge judge;
    FailModes oracle{judge, tunables, {}};
};

TEST_F(FailModesTest, ClosedWithholdsTheInput) {
    take_up("a");
    put_off("a");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
    let_through("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is closed, and the job goes on")));
}

TEST_F(FailModesTest, OpenLetsPassAndSaysWhy) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a");
    let_through("a");
    send("a", "safety kernel unavailable");
    EXPECT_THAT(judge.found, IsEmpty());
    send("a", "");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("do not say why")));
}

TEST_F(FailModesTest, OpenPutsNothingOff) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a");
    put_off("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is open, and the job is put off")));
}

// D-32
TEST_F(FailModesTest, AJobThatPolicyTakesTooLongForAloneIsPutOffWhereTheModeIsOpen) {
    settings(R"("input_fail_mode":"open")");
    read();
    const auto check = [this](const std::string& job, fakes::When when, bool answered) {
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job, when);
        event.node = kReplica;
        event.outcome = answered ? fakes::EventOutcome::applied : fakes::EventOutcome::unknown;
        tell(event);
    };
    for (const int others : {10, 9}) {
        const std::string job = "slow-" + std::to_string(others);
        take_up(job);
        check(job, fakes::When::before, false);
        for (int i = 0; i < others; ++i) {
            check("other", fakes::When::before, true);
            check("other", fakes::When::answered, true);
        }
        now += 2s;
        check(job, fakes::When::answered, false);
        put_off(job);
        now += 1s;
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("slow-9: policy has given no answer, the mode is open")));
}

// A start reads, makes its files known, and reads again; where that finds nothing it begins anew.
TEST_F(FailModesTest, WhoHasComeUpGoesByNothingThatItHasReadOnce) {
    for (const int reads : {1, 2}) {
        judge.found.clear();
        tell(testing::event_of(fakes::EventKind::node_down, ""));
        settings(R"("input_fail_mode":"open")");
        for (int i = 0; i < reads; ++i) read();
        take_up("a");
        put_off("a");
        EXPECT_EQ(judge.found.size(), reads == 2 ? 1U : 0U);
    }
}

TEST_F(FailModesTest, WhoLetsGoOfTheJobByTheSameCommandHasGoneByWhatItHadReadBefore) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a");
    set("a", "safety_decision", "UNAVAILABLE");
    fakes::Event released = testing::event_of(fakes::EventKind::lock_released, "a");
    released.peer = kReplica;
    tell(released);
    put_off("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is open, and the job is put off")));
}

TEST_F(FailModesTest, WhatNobodyHasReadIsNotInForce) {
    settings(R"("input_fail_mode":"open")");
    take_up("a");
    let_through("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is closed")));
}

TEST_F(FailModesTest, WhatIsReadInTheMiddleMayOrMayNotCount) {
    take_up("a");
    settings(R"("input_fail_mode":"open")");
    read();
    put_off("a");
    let_through("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, WhatWasOnItsWayGoesByWhatItsReplicaHadReadBeforeItWentDown) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a");
    tell(testing::event_of(fakes::EventKind::node_down, ""));
    let_through("a");
    EXPECT_THAT(judge.found, IsEmpty());
    now += 1s;
    take_up("a");
    let_through("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is closed"))) << "it has read nothing since it came up";
}

TEST_F(FailModesTest, WhatAnOperatorHasSetStays) {
    FailModes pinned(judge, tunables, {.input_fail_mode = true, .output_fail_mode = false});
    pinned.string_set(Topology::kOperator, "cfg:system:default", nullptr,
                      R"({"data":{"scheduler":{"input_fail_mode":"open"}}})", -1, -1);
    fakes::Event event = testing::event_of(fakes::EventKind::redis, "");
    event.node = kReplica;
    event.command = "GET";
    event.key = "cfg:system:default";
    judge.tell(pinned, event, now);
    event.when = fakes::When::answered;
    judge.tell(pinned, event, now);
    pinned.hash_set(kReplica, "job:meta:a", "safety_decision", nullptr, "UNAVAILABLE");
    pinned.hash_set(kReplica, "job:meta:a", "state", nullptr, "DISPATCHED");
    event = testing::event_of(fakes::EventKind::redis, "a");
    judge.tell(pinned, event, now);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is closed")));
}

TEST_F(FailModesTest, AGateIsNeverLetThrough) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a", "job.cordum.approval-gate");
    put_off("a");
    EXPECT_THAT(judge.found, IsEmpty());
    let_through("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is a gate")));
}

TEST_F(FailModesTest, WhichJobIsAGateAGatewayTellsAsWell) {
    settings(R"("input_fail_mode":"open")");
    read();
    take_up("a");
    oracle.hash_set(Topology::kGateway, "job:meta:a", "topic", nullptr, "job.cordum.approval-gate");
    put_off("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, AnAnswerIsNoFailure) {
    take_up("a");
    set("a", "safety_decision", "ALLOW");
    set("a", "state", "DISPATCHED");
    done("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, AnOutputPassesUnseenWithTheModeOpen) {
    ask_about_output("a", "");
    end_scan("a");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
    withhold("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its output is withheld")));
}

TEST_F(FailModesTest, AnOutputIsWithheldUnseenWithTheModeClosed) {
    settings(R"("output_fail_mode":"closed")");
    read();
    ask_about_output("a", "");
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
    end_scan("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and it can be read")));
}

TEST_F(FailModesTest, AnOutputThatNobodyCanBeAskedAboutIsWithheldByTheModeThatItsHandlerHasRead) {
    const auto withhold_at_work = [this](const char* job) {
        const std::string running = "RUNNING";
        oracle.hash_set(kReplica, fmt::format("job:meta:{}", job), "state", &running, "OUTPUT_QUARANTINED");
        done(job);
    };
    settings(R"("output_fail_mode":"closed")");
    read();
    take_up("a");
    settings(R"("output_fail_mode":"open")");
    read();
    withhold_at_work("a");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("b");
    withhold_at_work("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the mode is open")));
}

TEST_F(FailModesTest, AWordAgainstAnOutputNeedsNoMode) {
    ask_about_output("a", "QUARANTINE");
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, ACallThatOutlivesItsReplicaGoesByWhatThatHasHeard) {
    ask_about_output("j", "QUARANTINE");
    tell(testing::event_of(fakes::EventKind::node_down, ""));
    withhold("j");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, WhoeverStartsAnewHasHeardNothing) {
    ask_about_output("j", "QUARANTINE");
    tell(testing::event_of(fakes::EventKind::node_down, ""));
    take_up("j");
    withhold("j");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has said that it is to be")));
    judge.found.clear();
    ask_about_output("k", "QUARANTINE");
    tell(testing::event_of(fakes::EventKind::node_down, ""));
    ask_about_output("k", "");
    withhold("k");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has said that it is to be")));
}

TEST_F(FailModesTest, AScanWithAVerdictNeedsNoMode) {
    settings(R"("output_fail_mode":"closed")");
    read();
    ask_about_output("a", "ALLOW");
    set("a", "output_safety", R"({"decision":"ALLOW"})");
    end_scan("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailModesTest, ClosedKeepsWhatPolicyHasNotSeen) {
    const auto go_on_unread = [this](const std::string& job) {
        set(job, "safety_decision", "ALLOW");
        set(job, "ls_input_unread", "1");
        set(job, "state", "DISPATCHED");
        done(job);
    };
    tunables.policy_check_fail_mode = "open";
    take_up("a");
    go_on_unread("a");
    EXPECT_THAT(judge.found, IsEmpty());
    tunables.policy_check_fail_mode = "closed";
    take_up("b");
    go_on_unread("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("policy has not seen its input")));
}

// Scans -----------------------------------------------------------------------------------------------------------------

class OutputScansTest : public FailModesTest {
protected:
    OutputScansTest() { tunables.output_policy_fail_mode = "closed"; }
    void succeed(bool marked = true) {
        tell(testing::event_of(fakes::EventKind::lock_acquired, "a"));
        ask_about_output("a", "ALLOW");
        pass();
        const std::string before = "RUNNING";
        oracle.hash_set(kReplica, "job:meta:a", "state", &before, "SUCCEEDED");
        if (marked) {
            claim(kReplica);  // the list first: a script writes a job's fields in one go, in the end
            set("a", "ls_scan_pending", "{}");
        }
        done("a");
    }
    /// Something unrelated happens.
    void pass() { tell(testing::event_of(fakes::EventKind::timer, "")); }
    void claim(fakes::NodeId replica) { oracle.zset_set(replica, "lockstep:output:scan_pending", "a", nullptr, 1); }
    /// The content of its output is asked about, with or without an answer.
    void ask(fakes::NodeId replica, const char* content, const char* answer = "") {
        cap_output::OutputCheckRequest question;
        question.set_result_ptr("redis://res:a");
        question.set_output_content(content);
        const std::string bytes = question.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::output_check, "a", fakes::When::before);
        event.node = replica;
        event.payload = bytes;
        judge.tell(oracle, event, now);
        event.when = fakes::When::answered;
        event.payload = {};
        event.to = answer;
        if (*answer == '\0') event.outcome = fakes::EventOutcome::unknown;
        judge.tell(oracle, event, now);
        now += 1s;
    }
    static constexpr fakes::NodeId kOther{6};
};

TEST_F(OutputScansTest, WhatSucceedsIsToBeScanned) {
    succeed();
    EXPECT_THAT(judge.found, IsEmpty());
    succeed(false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and nobody is to scan it")));
}

TEST_F(OutputScansTest, NobodyGivesUpBeforeTheThirdTry) {
    succeed();
    for (int i = 0; i < 3; ++i) ask(kReplica, "x");
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
    succeed();
    for (int i = 0; i < 2; ++i) ask(kReplica, "x");
    withhold("a");
    ASSERT_THAT(judge.found, ElementsAre(HasSubstr("and it is to be tried 3 times")));
    succeed();
    ask(kReplica, "x");
    now += 10s;
    ask(kReplica, "x");
    withhold("a");
    EXPECT_THAT(judge.found.back(), HasSubstr("2 questions without an answer"));
}

TEST_F(OutputScansTest, OneThatIsBegunAfterALossOfRedisIsJudgedAndOneThatWasUnderWayIsNot) {
    oracle.restored({});
    succeed();
    ask(kReplica, "x");
    withhold("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and it is to be tried 3 times")));
    judge.found.clear();
    succeed();
    oracle.restored({});
    ask(kOther, "x");
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OutputScansTest, NobodyAsksAboutAnOutputWhoseRequestWasGoneBefore) {
    oracle.key_removed(Topology::kRedis, "job:req:a", fakes::redis::Removal::evicted, std::string{}, -1);
    succeed();
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.string_set(kReplica, "job:req:a", nullptr, "{}", -1, -1);
    succeed();
    withhold("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and it is to be tried 3 times"))) << "it is there again";
}

TEST_F(OutputScansTest, AnOpenCircuitIsWaitedFor) {
    succeed();
    now += 2 * tunables.circuit_open_for;
    withhold("a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OutputScansTest, AnotherReplicaScansWhatItHasClaimed) {
    succeed();
    ask(kReplica, "x", "ALLOW");
    claim(kOther);
    ask(kOther, "x", "ALLOW");
    EXPECT_THAT(judge.found, IsEmpty());
    ask(fakes::NodeId{9}, "x", "ALLOW");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("by a replica that has not claimed that")));
}

// A replica that was frozen between its lock and its question asks about the result that it had, once.
TEST_F(OutputScansTest, WhoHadTheLockMayStillAskAboutItsResult) {
    succeed();
    const fakes::NodeId frozen{9};
    fakes::Event taken = testing::event_of(fakes::EventKind::lock_acquired, "a");
    taken.node = frozen;
    judge.tell(oracle, taken, now);
    ask(frozen, "x", "ALLOW");
    EXPECT_THAT(judge.found, IsEmpty());
    ask(frozen, "x", "ALLOW");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("by a replica that has not claimed that")));
}

TEST_F(OutputScansTest, AnOutputIsLookedForBeforeItCountsAsNone) {
    succeed();
    now += 500ms;
    ask(kReplica, "", "ALLOW");
    EXPECT_THAT(judge.found, IsEmpty());
    succeed();
    ask(kReplica, "", "ALLOW");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("counts as none 0 ms after its scan was begun")));
}

TEST_F(OutputScansTest, ClosedWithholdsTheRestOfWhatWasSeenInPart) {
    const char* record = R"({"decision":"ALLOW","phase":"async","partial":true})";
    succeed();
    ask(kReplica, "x", "ALLOW");
    set("a", "output_safety", record);
    end_scan("a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and the rest can be read")));
    tunables.output_policy_fail_mode = "open";
    succeed();
    ask(kReplica, "x", "ALLOW");
    set("a", "output_safety", record);
    end_scan("a");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(FailModesTest, AStrictGuardAcknowledgesNothingThatIsNotMarked) {
    tunables.bus_guard_on_error = "nak";
    const auto acknowledge = [this](std::uint64_t sequence) {
        fakes::Event event = testing::event_of(fakes::EventKind::ack, "", fakes::When::before);
        event.stream = "CORDUM_SYS";
        event.name = "dur_cordum-scheduler__sys_job_submit";
        event.sequence = sequence;
        tell(event);
    };
    oracle.string_set(kReplica, "cordum:bus:processed:CORDUM_SYS:7:dur_cordum-scheduler__sys_job_submit", nullptr, "x",
                      -1, -1);
    oracle.string_set(kReplica, "cordum:bus:processed:CORDUM_SYS:8", nullptr, "x", -1, -1);
    acknowledge(7);
    acknowledge(8);
    EXPECT_THAT(judge.found, IsEmpty());
    acknowledge(9);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("message 9 of CORDUM_SYS is acknowledged, no mark says")));
    judge.found.clear();
    tunables.bus_guard_on_error = "degrade";
    acknowledge(10);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
