#include <fmt/format.h>

#include <functional>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
using ::testing::Each;

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

struct FailModesTest : RuleTest {
    explicit FailModesTest(RuleFactory make = rules::fail_modes) : RuleTest(make) {}

    void acknowledge(std::uint64_t sequence) {
        for (const EventKind kind : {EventKind::deliver, EventKind::ack})
            observe(kind, "", {.name = kSchedulersSubmissions, .stream = "CORDUM_SYS", .sequence = sequence},
                    kind == EventKind::ack ? When::before : When::applied);
    }

    void configure(const std::string& modes) {
        set_text("cfg:system:default", fmt::format(R"({{"data":{{"scheduler":{{{}}}}}}})", modes), Topology::kOperator);
    }
    void read(const std::string& modes) {
        configure(modes);
        read_settings();
    }
    void acquire(const std::string& job, fakes::NodeId node = kReplica) {
        grant_lock("cordum:scheduler:job:" + job, node, job);
    }
    /// What one command of the replica writes.
    void write(const std::string& job, const Fields& fields, fakes::NodeId node = kReplica) {
        by_command(node, {"EVALSHA"}, [&] {
            for (const auto& [field, value] : fields) set_field(job, field, value, node);
        });
    }
    void delay(const std::string& job) {
        write(job, {{"safety_decision", "UNAVAILABLE"}, {"ls_next_attempt_at", "1"}});
    }
    void let_through(const std::string& job) {
        write(job, {{"safety_decision", "UNAVAILABLE"}, {"state", "DISPATCHED"}});
    }
    void send(const std::string& job, const char* reason) {
        cap::BusPacket packet;
        auto& labels = *packet.mutable_job_request()->mutable_labels();
        labels["safety_bypassed"] = "true";
        if (*reason != '\0') labels["safety_bypass_reason"] = reason;
        observe(EventKind::publish, job, {.subject = "worker.w.jobs", .packet = &packet}, When::before);
    }
    /// The content of its output is asked about, with or without an answer.
    void ask(const std::string& job, const char* answer, fakes::NodeId node = kReplica, const char* content = "x") {
        cap_output::OutputCheckRequest question;
        question.set_result_ptr("redis://res:a");
        question.set_output_content(content);
        const std::string bytes = question.SerializeAsString();
        fakes::Event event = event_of(EventKind::output_check, job, When::before, node);
        event.payload = bytes;
        tell(event);
        event.when = When::answered;
        event.payload = {};
        event.to = answer;
        if (*answer == '\0') event.outcome = EventOutcome::unknown;
        tell(event);
        now += 1s;
    }
    void end_scan(const std::string& job, const std::string& record = {}) {
        set_field(job, "ls_scan_pending", "{}", Topology::kOperator);
        by_command(kReplica, {"EVALSHA"}, [&] {
            if (!record.empty()) set_field(job, "output_safety", record);
            keys.hash_remove(*keys.find("job:meta:" + job), "ls_scan_pending");
        });
    }
    void withhold(const std::string& job) { write(job, {{"state", "OUTPUT_QUARANTINED"}}); }
};

TEST_F(FailModesTest, ClosedWithholdsTheInput) {
    acquire("a");
    delay("a");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GT(times_exercised(), 0u);
    let_through("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is closed, and the job goes on")));
}

TEST_F(FailModesTest, OpenLetsPassAndSaysWhy) {
    read(R"("input_fail_mode":"open")");
    acquire("a");
    let_through("a");
    send("a", "safety kernel unavailable");
    EXPECT_THAT(found, IsEmpty());
    send("a", "");
    EXPECT_THAT(found, ElementsAre(HasSubstr("do not say why")));
}

TEST_F(FailModesTest, ClosedBypassesNothing) {
    acquire("a");
    send("a", "safety kernel unavailable");
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy was bypassed, and the mode is closed")));
}

TEST_F(FailModesTest, OpenDelaysNothing) {
    read(R"("input_fail_mode":"open")");
    acquire("a");
    delay("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is open, and the job is delayed")));
}

// D-32
TEST_F(FailModesTest, AJobThatPolicyTakesTooLongForAloneIsDelayedWhereTheModeIsOpen) {
    read(R"("input_fail_mode":"open")");
    const auto check = [this](const std::string& job, When when, bool answered) {
        observe(EventKind::kernel_check, job, {.outcome = answered ? EventOutcome::applied : EventOutcome::unknown},
                when);
    };
    for (const int others : {10, 9}) {
        const std::string job = "slow-" + std::to_string(others);
        acquire(job);
        check(job, When::before, false);
        for (int i = 0; i < others; ++i) {
            check("other", When::before, true);
            check("other", When::answered, true);
        }
        now += 2s;
        check(job, When::answered, false);
        delay(job);
        now += 1s;
    }
    EXPECT_THAT(std::exchange(found, {}), ElementsAre(HasSubstr("slow-9: policy has given no answer, the mode is op")));
    acquire("slow-10");
    delay("slow-10");
    EXPECT_THAT(found, ElementsAre(HasSubstr("slow-10: policy has given no answer"))) << "it was slow the last time";
}

// A start reads, makes its files known, and reads again; where that finds nothing it begins anew.
TEST_F(FailModesTest, AReplicaThatHasComeUpGoesByNothingThatItHasReadOnce) {
    for (const int reads : {1, 2}) {
        found.clear();
        befall(EventKind::node_down, kReplica);
        configure(R"("input_fail_mode":"open")");
        for (int i = 0; i < reads; ++i) read_settings();
        acquire("a");
        delay("a");
        EXPECT_EQ(found.size(), reads == 2 ? 1U : 0U);
    }
}

TEST_F(FailModesTest, ACommandThatReleasesTheJobGoesByWhatItsReplicaHadReadBefore) {
    read(R"("input_fail_mode":"open")");
    acquire("a");
    by_command(kReplica, {"EVALSHA"}, [this] {
        set_field("a", "safety_decision", "UNAVAILABLE");
        observe(EventKind::lock_released, "a", {.peer = kReplica});
        set_field("a", "ls_next_attempt_at", "1");
    });
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is open, and the job is delayed")));
}

TEST_F(FailModesTest, WhatNoReplicaHasReadIsNotInForce) {
    configure(R"("input_fail_mode":"open")");
    acquire("a");
    let_through("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is closed")));
}

TEST_F(FailModesTest, WhatIsReadInTheMiddleMayOrMayNotCount) {
    acquire("a");
    read(R"("input_fail_mode":"open")");
    delay("a");
    let_through("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailModesTest, WhatWasOnItsWayGoesByWhatItsReplicaHadReadBeforeItWentDown) {
    read(R"("input_fail_mode":"open")");
    acquire("a");
    befall(EventKind::node_down, kReplica);
    let_through("a");
    EXPECT_THAT(found, IsEmpty());
    now += 1s;
    acquire("a");
    let_through("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is closed"))) << "it has read nothing since it came up";
}

TEST_F(FailModesTest, AModeThatAnOperatorHasSetStays) {
    settings.pin_fail_modes(true, true);
    tunables.output_policy_fail_mode = "closed";
    read(R"("input_fail_mode":"open","output_fail_mode":"open")");
    acquire("a");
    let_through("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is closed")));
    ask("b", "");
    end_scan("b");
    EXPECT_THAT(found.back(), HasSubstr("and it can be read"));
}

TEST_F(FailModesTest, AGateIsNeverLetThrough) {
    for (const fakes::NodeId writer : {kReplica, Topology::kGateway}) {
        found.clear();
        read(R"("input_fail_mode":"open")");
        set_field("a", "topic", "job.cordum.approval-gate", writer);
        acquire("a");
        delay("a");
        EXPECT_THAT(found, IsEmpty());
        let_through("a");
        EXPECT_THAT(found, ElementsAre(HasSubstr("it is a gate")));
    }
}

TEST_F(FailModesTest, AnAnswerIsNoFailure) {
    acquire("a");
    write("a", {{"safety_decision", "ALLOW"}, {"state", "DISPATCHED"}});
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailModesTest, ClosedKeepsWhatPolicyHasNotSeen) {
    const Fields unread{{"safety_decision", "ALLOW"}, {"ls_input_unread", "1"}, {"state", "DISPATCHED"}};
    const Fields turned_away{{"ls_input_unread", "1"}, {"attempts", "1"}};
    tunables.policy_check_fail_mode = "open";
    acquire("a");
    write("a", unread);
    EXPECT_THAT(found, IsEmpty());
    tunables.policy_check_fail_mode = "closed";
    acquire("b");
    write("b", unread);
    write("b", turned_away);
    EXPECT_THAT(found, Each(HasSubstr("policy has not seen its input")));
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(FailModesTest, AnOutputPassesUnseenWithTheModeOpen) {
    ask("a", "");
    end_scan("a");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GT(times_exercised(), 0u);
    withhold("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its output is withheld")));
}

TEST_F(FailModesTest, AnOutputIsWithheldUnseenWithTheModeClosed) {
    read(R"("output_fail_mode":"closed")");
    ask("a", "");
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
    end_scan("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it can be read")));
}

TEST_F(FailModesTest, AWordThatIsNoModeLeavesTheOneBefore) {
    read(R"("output_fail_mode":"closed")");
    read(R"("output_fail_mode":"ajar")");
    ask("a", "");
    end_scan("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it can be read")));
}

TEST_F(FailModesTest, AnOutputAboutWhichPolicyCannotBeAskedIsWithheldByTheModeThatItsHandlerHasRead) {
    const auto withhold_at_work = [this](const char* job) {
        set_field(job, "state", "RUNNING", Topology::kOperator);
        acquire(job);
    };
    read(R"("output_fail_mode":"closed")");
    withhold_at_work("a");
    read(R"("output_fail_mode":"open")");
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
    withhold_at_work("b");
    withhold("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the mode is open")));
}

// D-30
TEST_F(FailModesTest, AnOutputWhosePointerMayNotBeFollowedIsWithheld) {
    set_field("a", "state", "RUNNING", Topology::kOperator);
    acquire("a");
    write("a", {{"state", "OUTPUT_QUARANTINED"}, {"failure_reason", "result_ptr redis://res:b: may not be followed"}});
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailModesTest, AWordAgainstAnOutputNeedsNoMode) {
    ask("a", "QUARANTINE");
    withhold("a");
    ask("b", "QUARANTINE");
    befall(EventKind::node_down, kReplica);
    withhold("b");
    EXPECT_THAT(found, IsEmpty()) << "a call that outlives its replica goes by what that has heard";
}

TEST_F(FailModesTest, AReplicaThatStartsAnewHasHeardNothing) {
    for (const char* job : {"j", "k"}) {
        ask(job, "QUARANTINE");
        befall(EventKind::node_down, kReplica);
        if (*job == 'j')
            acquire(job);
        else
            ask(job, "");
        withhold(job);
        EXPECT_THAT(found, ElementsAre(HasSubstr("policy has not said that it is to be")));
        found.clear();
    }
}

TEST_F(FailModesTest, AScanWithAVerdictNeedsNoMode) {
    read(R"("output_fail_mode":"closed")");
    ask("a", "ALLOW");
    end_scan("a", R"({"decision":"ALLOW"})");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailModesTest, SettingsAreReadByAllTheirNames) {
    const auto flat =
        read_settings_text(R"({"data": {"scheduler.input_fail_mode": "ajar", "scheduler.output_fail_mode": "ajar"}})");
    ASSERT_TRUE(flat);
    EXPECT_EQ(flat->opens_input_policy, false);
    EXPECT_TRUE(flat->says_output_mode && !flat->opens_output_policy);
    const auto pools = read_settings_text(
        R"({"data": {"pools": {"topics": {"t": "p"}, "pools": {"p": {"requires": [" GPU "], "status": "draining"}}}}})");
    ASSERT_TRUE(pools && pools->pools);
    EXPECT_THAT(pools->pools->topics.at("t"), ElementsAre("p"));
    EXPECT_THAT(pools->pools->pools.at("p").offers, ElementsAre("gpu"));
    EXPECT_FALSE(pools->pools->pools.at("p").is_active);
}

// Messages ---------------------------------------------------------------------------------------------------------------

struct StrictGuardTest : FailModesTest {
    StrictGuardTest()
        : FailModesTest([](Rules& rules, const engine::Tunables&) {
              static const engine::Tunables strict = [] {
                  engine::Tunables made;
                  made.bus_guard_on_error = "nak";
                  return made;
              }();
              rules::fail_modes(rules, strict);
          }) {}
};

TEST_F(StrictGuardTest, NothingIsAcknowledgedThatIsNotMarked) {
    set_text("cordum:bus:processed:CORDUM_SYS:7:dur_cordum-scheduler__sys_job_submit", "x");
    set_text("cordum:bus:processed:CORDUM_SYS:8", "x");
    acknowledge(7);
    acknowledge(8);
    EXPECT_THAT(found, IsEmpty());
    acknowledge(9);
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 9 of CORDUM_SYS is acknowledged, no mark says")));
}

TEST_F(StrictGuardTest, AMarkThatHasRunOutLongAgoSaysNothing) {
    const auto mark = [this](const std::string& sequence) {
        const std::int64_t expires_at = engine::to_millis(now - Time{}) + 1000;
        by_command(kReplica, {"SET"},
                   [&] { keys.set_string("cordum:bus:processed:CORDUM_SYS:" + sequence, "x", expires_at); });
    };
    mark("7");
    acknowledge(7);
    now += 2h;
    mark("8");
    acknowledge(8);
    EXPECT_THAT(found, IsEmpty());
    acknowledge(7);
    EXPECT_THAT(found, ElementsAre(HasSubstr("message 7 of CORDUM_SYS is acknowledged, no mark says")));
}

TEST_F(FailModesTest, AnotherGuardMayAcknowledgeUnmarked) {
    acknowledge(10);
    EXPECT_THAT(found, IsEmpty());
}

// Scans ------------------------------------------------------------------------------------------------------------------

struct OutputScansTest : FailModesTest {
    OutputScansTest() { tunables.output_policy_fail_mode = "closed"; }

    void store_request() { set_text("job:req:a", "{}"); }
    void list() { keys.zset_set(at<SortedSet>("lockstep:output:scan_pending"), "a", 1); }
    void claim(fakes::NodeId replica) {
        by_command(replica, {"EVALSHA"}, [this] { list(); });
    }
    void succeed(bool marked = true) {
        if (keys.find("job:req:a") == nullptr) store_request();
        succeed_without_request(marked);
    }
    void succeed_without_request(bool marked = true) {
        set_field("a", "state", "RUNNING", Topology::kOperator);
        acquire("a");
        ask("a", "ALLOW");
        by_command(kReplica, {"EVALSHA"}, [&] {
            if (marked) list();  // the list first: a script writes a job's fields in one go, in the end
            set_field("a", "state", "SUCCEEDED");
            if (marked) set_field("a", "ls_scan_pending", "{}");
        });
    }
};

TEST_F(OutputScansTest, WhatSucceedsIsToBeScanned) {
    succeed();
    EXPECT_THAT(found, IsEmpty());
    succeed(false);
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it is not to be scanned")));
}

TEST_F(OutputScansTest, NoReplicaGivesUpBeforeTheThirdTry) {
    const auto try_times = [this](int times) {
        succeed();
        for (int i = 0; i < times; ++i) ask("a", "");
    };
    try_times(3);
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
    try_times(2);
    withhold("a");
    ASSERT_THAT(found, ElementsAre(HasSubstr("and it is to be tried 3 times")));
    try_times(1);
    now += 10s;
    ask("a", "");
    withhold("a");
    EXPECT_THAT(found.back(), HasSubstr("2 questions without an answer"));
}

TEST_F(OutputScansTest, OneThatIsBegunAfterALossOfRedisIsJudgedAndOneThatWasUnderWayIsNot) {
    keys.restore([] {});
    succeed();
    ask("a", "");
    withhold("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it is to be tried 3 times")));
    found.clear();
    succeed();
    claim(kOther);
    keys.restore([] {});
    store_request();
    ask("a", "", kOther);
    withhold("a");
    succeed();
    withhold("a");
    EXPECT_THAT(found, IsEmpty()) << "the other one may go by its claim";
    befall(EventKind::node_down, kOther);
    succeed();
    withhold("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it is to be tried 3 times")));
}

TEST_F(OutputScansTest, ARequestThatIsGoneLeavesNothingToAskAbout) {
    succeed_without_request();
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
    succeed();
    evict("job:req:a");
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
    succeed();
    withhold("a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and it is to be tried 3 times"))) << "it is there again";
}

TEST_F(OutputScansTest, WhatAUserOrALossChangesIsNotJudged) {
    const std::vector<std::function<void()>> changes{
        [this] { set_text("job:req:a", R"({"topic":"t"})", Topology::kGateway); },
        [this] { claim(Topology::kOperator); },
        [this] { evict("lockstep:output:scan_pending"); },
        [this] { befall(EventKind::node_down, kReplica); },
    };
    for (const auto& change : changes) {
        succeed();
        change();
        withhold("a");
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OutputScansTest, AnOpenCircuitIsWaitedFor) {
    succeed();
    now += 2 * tunables.circuit_open_for;
    withhold("a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OutputScansTest, AnotherReplicaScansWhatItHasClaimed) {
    succeed();
    ask("a", "ALLOW");
    claim(kOther);
    ask("a", "ALLOW", kOther);
    EXPECT_THAT(found, IsEmpty());
    ask("a", "ALLOW", fakes::NodeId{9});
    EXPECT_THAT(found, ElementsAre(HasSubstr("by a replica that has not claimed that")));
}

// A replica that was frozen between its lock and its question asks about the result that it had, once.
TEST_F(OutputScansTest, WhoHadTheLockMayStillAskAboutItsResult) {
    succeed();
    const fakes::NodeId frozen{9};
    acquire("a", frozen);
    ask("a", "ALLOW", frozen);
    EXPECT_THAT(found, IsEmpty());
    ask("a", "ALLOW", frozen);
    EXPECT_THAT(found, ElementsAre(HasSubstr("by a replica that has not claimed that")));
}

TEST_F(OutputScansTest, AnOutputIsLookedForBeforeItCountsAsNone) {
    succeed();
    now += 500ms;
    ask("a", "ALLOW", kReplica, "");
    EXPECT_THAT(found, IsEmpty());
    succeed();
    ask("a", "ALLOW", kReplica, "");
    EXPECT_THAT(found, ElementsAre(HasSubstr("counts as none 0 ms after its scan was begun")));
    set_text("res:a", "x");
    succeed();
    ask("a", "ALLOW", kReplica, "");
    EXPECT_EQ(found.size(), 1U) << "there is one";
}

TEST_F(OutputScansTest, AnOutputThatAFailoverHasKeptIsThereUntilItIsRemoved) {
    set_text("res:a", "x");
    keys.restore([] {});
    succeed();
    ask("a", "ALLOW", kReplica, "");
    EXPECT_THAT(found, IsEmpty());
    evict("res:a");
    succeed();
    ask("a", "ALLOW", kReplica, "");
    EXPECT_THAT(found, ElementsAre(HasSubstr("counts as none 0 ms after its scan was begun")));
}

TEST_F(OutputScansTest, ClosedWithholdsTheRestOfWhatWasSeenInPart) {
    const char* record = R"({"decision":"ALLOW","phase":"async","partial":true})";
    const auto end = [&] {
        succeed();
        ask("a", "ALLOW");
        end_scan("a", record);
    };
    end();
    EXPECT_THAT(found, ElementsAre(HasSubstr("and the rest can be read")));
    tunables.output_policy_fail_mode = "open";
    end();
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
