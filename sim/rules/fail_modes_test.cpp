#include <fmt/format.h>

#include <functional>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;
using ::testing::Each;

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

struct FailModesTest : RuleTest {
    explicit FailModesTest(RuleFactory make = rules::fail_modes) : RuleTest(make) {
        define({
            {"input", [this](auto& mode) { read(fmt::format(R"("input_fail_mode":"{}")", mode)); }},
            {"output", [this](auto& mode) { read(fmt::format(R"("output_fail_mode":"{}")", mode)); }},
            {"configure", [this](auto& mode) { configure(fmt::format(R"("input_fail_mode":"{}")", mode)); }},
            {"reading", [this](auto&) { read_settings(); }},
            {"acquire", [this](auto& job) { acquire(job, by); }},
            {"delay", [this](auto& job) { delay(job); }},
            {"pass", [this](auto& job) { let_through(job); }},
            {"bypass", [this](auto& why) { send("a", why == "told" ? "safety kernel unavailable" : ""); }},
            {"plain",
             [this](auto&) {
                 cap::BusPacket packet;
                 packet.mutable_job_request()->set_job_id("a");
                 observe(EventKind::publish, "a", {.subject = "worker.w.jobs", .packet = &packet}, When::before);
             }},
            {"success", [this](auto& job) { write(job, {{"state", "SUCCEEDED"}}); }},
            {"gate", [this](auto&) { set_field("a", "topic", "job.cordum.approval-gate", by); }},
            {"running", [this](auto& job) { set_field(job, "state", "RUNNING", Topology::kOperator), acquire(job); }},
            {"ask", [this](auto& of) { ask(first(of), second(of).c_str(), by); }},
            {"end", [this](auto& job) { end_scan(job); }},
            {"allowed", [this](auto&) { end_scan("a", R"({"decision":"ALLOW"})"); }},
            {"withhold", [this](auto& job) { withhold(job); }},
        });
    }

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

constexpr Story kFailModes[] = {
    {"ClosedWithholdsTheInput", "acquire=a delay=a ok pass=a", "the mode is closed, and the job goes on"},
    {"OpenLetsPassAndSaysWhy", "input=open acquire=a pass=a bypass=told ok bypass=untold", "do not say why"},
    {"ClosedBypassesNothing", "acquire=a bypass=told", "policy was bypassed, and the mode is closed"},
    {"WhatWasNotBypassedIsNotItsBusiness", "acquire=a plain"},
    {"WithoutAQuestionAboutItNoOutputIsToBeScanned", "running=a success=a"},
    {"OpenDelaysNothing", "input=open acquire=a delay=a", "the mode is open, and the job is delayed"},
    // A start reads, makes its files known, and reads again; where that finds nothing it begins anew.
    {"AReplicaThatHasComeUpGoesByNothingThatItHasReadOnce",
     "down configure=open reading acquire=a delay=a ok down reading reading acquire=a delay=a",
     "the mode is open, and the job is delayed"},
    {"WhatNoReplicaHasReadIsNotInForce", "configure=open acquire=a pass=a", "the mode is closed"},
    {"WhatIsReadInTheMiddleMayOrMayNotCount", "acquire=a input=open delay=a pass=a"},
    // It has read nothing since it came up.
    {"WhatWasOnItsWayGoesByWhatItsReplicaHadReadBeforeItWentDown",
     "input=open acquire=a down pass=a ok +1s acquire=a pass=a", "the mode is closed"},
    {"AGateIsNeverLetThrough", "input=open gate acquire=a delay=a ok pass=a", "it is a gate"},
    {"WhoeverHasNamedIt", "input=open gate@gateway acquire=a delay=a ok pass=a", "it is a gate"},
    {"AnOutputPassesUnseenWithTheModeOpen", "ask=a end=a ok withhold=a", "its output is withheld"},
    {"AnOutputIsWithheldUnseenWithTheModeClosed", "output=closed ask=a withhold=a ok end=a", "and it can be read"},
    {"AWordThatIsNoModeLeavesTheOneBefore", "output=closed output=ajar ask=a end=a", "and it can be read"},
    {"AnOutputAboutWhichPolicyCannotBeAskedIsWithheldByTheModeThatItsHandlerHasRead",
     "output=closed running=a output=open withhold=a ok running=b withhold=b", "the mode is open"},
    // A call that outlives its replica goes by what that has heard.
    {"AWordAgainstAnOutputNeedsNoMode", "ask=a:QUARANTINE withhold=a ask=b:QUARANTINE down withhold=b"},
    {"AReplicaThatStartsAnewHasHeardNothing",
     "ask=j:QUARANTINE down acquire=j withhold=j ask=k:QUARANTINE down ask=k withhold=k",
     "j: its output is withheld, policy has not said|k: its output is withheld, policy has not said"},
    {"AScanWithAVerdictNeedsNoMode", "output=closed ask=a:ALLOW allowed"},
};
using FailModesTold = Told<FailModesTest>;
TEST_P(FailModesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, FailModesTold, ::testing::ValuesIn(kFailModes), title_of);

// D-32
TEST_F(FailModesTest, AJobThatPolicyTakesTooLongForAloneIsDelayedWhereTheModeIsOpen) {
    read(R"("input_fail_mode":"open")");
    const auto check = [this](const std::string& job, When when, bool answered) {
        observe(EventKind::kernel_check, job,
                {.outcome = answered ? EventOutcome::applied : EventOutcome::unknown, .to = "status:4"}, when);
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

// D-30
TEST_F(FailModesTest, AnOutputWhosePointerMayNotBeFollowedIsWithheld) {
    set_field("a", "state", "RUNNING", Topology::kOperator);
    acquire("a");
    write("a", {{"state", "OUTPUT_QUARANTINED"}, {"failure_reason", "result_ptr redis://res:b: may not be followed"}});
    EXPECT_THAT(found, IsEmpty());
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
    OutputScansTest() {
        tunables.output_policy_fail_mode = "closed";
        define({
            {"succeed", [this](auto&) { succeed(); }},
            {"unmarked", [this](auto&) { succeed(false); }},
            {"unmarked_at", [this](auto& pointer) { succeed(false, pointer); }},
            {"orphan", [this](auto&) { succeed_without_request(); }},
            {"claim", [this](auto&) { claim(by); }},
            {"request", [this](auto&) { store_request(); }},
            {"output", [this](auto&) { set_text("res:a", "x"); }},
            {"empty", [this](auto&) { ask("a", "ALLOW", by, ""); }},
            {"open_time", [this](auto&) { now += tunables.circuit_open_for; }},
        });
    }

    void store_request() { set_text("job:req:a", "{}"); }
    void list() { keys.zset_set(at<SortedSet>("lockstep:output:scan_pending"), "a", 1); }
    void claim(fakes::NodeId replica) {
        by_command(replica, {"EVALSHA"}, [this] { list(); });
    }
    void succeed(bool marked = true, std::string_view pointer = {}) {
        if (keys.find("job:req:a") == nullptr) store_request();
        succeed_without_request(marked, pointer);
    }
    void succeed_without_request(bool marked = true, std::string_view pointer = {}) {
        set_field("a", "state", "RUNNING", Topology::kOperator);
        acquire("a");
        ask("a", "ALLOW");
        by_command(kReplica, {"EVALSHA"}, [&] {
            if (marked) list();  // the list first: a script writes a job's fields in one go, in the end
            set_field("a", "state", "SUCCEEDED");
            if (!pointer.empty()) set_field("a", "result_ptr", std::string(pointer));
            if (marked) set_field("a", "ls_scan_pending", "{}");
        });
    }
};

constexpr Story kScans[] = {
    {"WhatSucceedsIsToBeScanned", "succeed ok unmarked", "and it is not to be scanned"},
    {"WhereverItLiesInRedis", "unmarked_at=redis://res:a", "and it is not to be scanned"},
    {"AndNotWhereItLiesElsewhere", "unmarked_at=s3://a"},
    {"NoReplicaGivesUpBeforeTheThirdTry", "succeed ask=a ask=a ask=a withhold=a ok succeed ask=a ask=a withhold=a",
     "and it is to be tried 3 times"},
    {"NorDoesTimeMakeATry", "succeed ask=a +10s ask=a withhold=a", "2 questions without an answer"},
    {"OneThatIsBegunAfterALossOfRedisIsJudged", "failover succeed ask=a withhold=a", "and it is to be tried 3 times"},
    // The other one may go by its claim.
    {"AndOneThatWasUnderWayIsNot",
     "succeed claim@other failover request ask=a@other withhold=a succeed withhold=a ok down@other succeed withhold=a",
     "and it is to be tried 3 times"},
    {"ARequestThatIsGoneLeavesNothingToAskAbout",
     "orphan withhold=a succeed evict=job:req:a withhold=a ok succeed withhold=a", "and it is to be tried 3 times"},
    {"AnOpenCircuitIsWaitedFor", "succeed open_time open_time withhold=a"},
    {"AnotherReplicaScansWhatItHasClaimed", "succeed ask=a:ALLOW claim@other ask=a:ALLOW@other ok ask=a:ALLOW@second",
     "by a replica that has not claimed that"},
    // A replica that was frozen between its lock and its question asks about the result that it had, once.
    {"WhoHadTheLockMayStillAskAboutItsResult", "succeed acquire=a@second ask=a:ALLOW@second ok ask=a:ALLOW@second",
     "by a replica that has not claimed that"},
    {"AnOutputIsLookedForBeforeItCountsAsNone", "succeed +500ms empty ok succeed empty",
     "counts as none 0 ms after its scan was begun"},
    {"UnlessThereIsOne", "output succeed empty"},
    {"AnOutputThatAFailoverHasKeptIsThereUntilItIsRemoved",
     "output failover succeed empty ok evict=res:a succeed empty", "counts as none 0 ms after its scan was begun"},
};
using ScansTold = Told<OutputScansTest>;
TEST_P(ScansTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ScansTold, ::testing::ValuesIn(kScans), title_of);

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
