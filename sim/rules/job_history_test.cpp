// Which causes explain which states of a job, and which answers bind.
#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct JobHistoryTest : RuleTest {
    JobHistoryTest() : RuleTest(rules::job_history) {
        define({
            {"submit", [this](auto&) { submit(); }},
            {"resubmit", [this](auto&) { call(EventKind::submit, When::before); }},
            {"state", [this](auto& to) { state(to); }},
            {"policy", [this](auto& says) { policy(says); }},
            {"run", [this](auto&) { run(); }},
            {"result", [this](auto&) { about_result(EventKind::deliver, When::applied, "J", {}, by); }},
            {"timed_out", [this](auto&) { deliver_result("J", {.status = cap::JOB_STATUS_TIMEOUT}); }},
            {"fatal", [this](auto&) { deliver_result("J", {.status = cap::JOB_STATUS_FAILED_FATAL}); }},
            {"store", [this](auto&) { store_result("J", {}); }},
            {"ack", [this](auto&) { about_result(EventKind::ack, When::before, "J", {}, by); }},
            {"cancel", [this](auto& sender) { announce_cancel(sender.c_str()); }},
            {"approve", [this](auto&) { call(EventKind::approve, When::before); }},
            {"approved", [this](auto&) { call(EventKind::approve, When::answered, true); }},
            {"processed", [this](auto&) { mark_as_processed(); }},
            {"tick", [this](auto&) { befall(EventKind::timer, by); }},
        });
    }

    void call(EventKind kind, When when, bool accepted = false, std::string_view to = {}) {
        observe(kind, "J", {.flag = accepted, .to = to}, when);
    }
    void submit() {
        call(EventKind::submit, When::before);
        state("PENDING");
        call(EventKind::submit, When::answered, true);
    }
    void state(const std::string& to) { set_field("J", "state", to); }
    void policy(std::string_view decision) { call(EventKind::kernel_check, When::applied, false, decision); }
    void tell_packet(EventKind kind, When when, std::string_view subject, const cap::BusPacket& packet,
                     std::string_view job = "J") {
        observe(kind, job, {.subject = subject, .packet = &packet}, when);
    }
    static cap::BusPacket request(std::string_view input = "", std::string_view job = "J") {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id(std::string(job));
        packet.mutable_job_request()->set_context_ptr(std::string(input));
        return packet;
    }
    void send() { tell_packet(EventKind::publish, When::before, "worker.w.jobs", request()); }
    void run(const std::string& worker = "w") {
        submit();
        policy("ALLOW");
        state("SCHEDULED");
        set_field("J", "ls_worker", worker);
        state("DISPATCHED");
        send();
        state("RUNNING");
    }
    void announce_cancel(const char* sender) {
        cap::BusPacket packet;
        packet.set_sender_id(sender);
        packet.mutable_job_cancel()->set_job_id("J");
        tell_packet(EventKind::core_publish, When::before, "sys.job.cancel", packet);
    }
    void mark_as_processed() { set_text(std::string(kMarkPrefix) + "7:" + std::string(kSchedulersResults), "1", by); }
    void look_for_input(std::string_view key, int times) {
        for (int i = 0; i < times; ++i)
            observe(EventKind::redis, "", {.command = "GETRANGE", .key = key, .payload = "$-1\r\n"}, When::answered);
    }
};

// Causes ------------------------------------------------------------------------------------------------------------------

constexpr Story kHistories[] = {
    {"AnOrdinaryLifeIsExplained", "run result state=SUCCEEDED ack rest times=6"},
    {"AMessageOnTheBusCancelsUnlessItIsASchedulersOwn",
     "run cancel=cordum-scheduler state=CANCELLED found=1 cancel=stranger state=CANCELLED",
     "it was never asked to be cancelled"},
    {"AJobRunsOnceItWasSent", "submit state=RUNNING", "it has not been sent to a worker"},
    {"AnApprovalReleasesAndOnlyAnApproval",
     "submit policy=REQUIRE_APPROVAL state=APPROVAL_REQUIRED state=PENDING found=1 state=APPROVAL_REQUIRED approve "
     "approved rest found=2 state=PENDING rest",
     "it was not approved|still waits for an approval"},
    {"AJobMayWaitForItsApproval", "submit policy=REQUIRE_APPROVAL state=APPROVAL_REQUIRED rest"},
    {"AGatewayThatSubmitsAgainBeginsAgain",
     "submit policy=REQUIRE_APPROVAL state=APPROVAL_REQUIRED resubmit state=PENDING"},
    {"ALossExplainsAnythingAboutItsJob", "submit evict=job:meta:J state=CANCELLED"},
    {"AResultThatIsTakenOffTheStreamHasEndedItsJob", "run result ack",
     "its result SUCCEEDED is taken off the stream, and it is still RUNNING"},
    // In the end it is another one, with its number.
    {"AResultThatWasProcessedBeforeItsJobWasSentAndComesOnceMoreBindsNothing",
     "submit tick processed tick fault=nats.power_cut run result ack ok store result ack", "J:"},
    {"OneThatWasProcessedSinceHasEndedIt", "run result processed ack", "J:"},
    {"OneThatIsMarkedLaterWasHandledWhenItCame", "submit result run processed result@other ack@other"},
};
using HistoriesTold = Told<JobHistoryTest>;
TEST_P(HistoriesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, HistoriesTold, ::testing::ValuesIn(kHistories), title_of);

TEST_F(JobHistoryTest, ANameOfWhiteSpaceAloneNamesNoJob) {
    tell_packet(EventKind::deliver, When::applied, "sys.job.submit", request("", " "), " ");
    cap::BusPacket packet;
    packet.mutable_job_cancel()->set_job_id(" ");
    tell_packet(EventKind::core_publish, When::before, "sys.job.cancel", packet, " ");
    EXPECT_EQ(model().find(""), nullptr);
}

// Its durable has not delivered it, and it names the job with white space around.
TEST_F(JobHistoryTest, ASubmissionThatIsReadInTheStreamNamesItsJob) {
    for (const EventKind how : {EventKind::read_back, EventKind::deliver}) {
        const std::string job = how == EventKind::deliver ? "D" : "R";
        tell_packet(how, When::applied, "sys.job.submit", request("", job), job + " ");
        set_field(job, "state", "PENDING");
    }
    EXPECT_THAT(found, IsEmpty());
    set_field("other", "state", "PENDING");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was never submitted")));
}

TEST_F(JobHistoryTest, ASuccessNeedsAWorkerThatReportsIt) {
    run();
    deliver_result("J", {.status = cap::JOB_STATUS_FAILED});
    deliver_result("J", {.worker = ""});
    deliver_result("J", {.durable = "dur_result-reader__sys_job_result"});
    state("SUCCEEDED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("no worker has reported a success")));
}

struct ApprovedGateTest : JobHistoryTest {
    ApprovedGateTest() {
        submit();
        set_field("J", "topic", "job.cordum.approval-gate");
        state("APPROVAL_REQUIRED");
        call(EventKind::approve, When::before);
        define({
            {"publish", [this](auto&) { about_result(EventKind::publish, When::before, "J", {}); }},
            {"published", [this](auto&) { about_result(EventKind::publish, When::answered, "J", {}); }},
            {"failure", [this](auto&) { store_result("J", {.status = cap::JOB_STATUS_FAILED}); }},
        });
    }
};

constexpr Story kApprovedGates[] = {
    {"OneIsOpenOnceTheStreamHasTheResult", "store state=SUCCEEDED"},
    {"OrHasAcknowledgedIt", "published state=SUCCEEDED"},
    {"AndNotBefore", "publish failure state=SUCCEEDED", "no stream has the result that says so"},
};
using ApprovedGatesTold = Told<ApprovedGateTest>;
TEST_P(ApprovedGatesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ApprovedGatesTold, ::testing::ValuesIn(kApprovedGates), title_of);

TEST_F(JobHistoryTest, ADenialNeedsARefusalOrAnInputThatIsNotThere) {
    submit();
    policy("ALLOW");
    state("DENIED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("neither policy nor a human has refused it")));
    for (const int looks : {3, 1}) {  // one after the other
        tell_packet(EventKind::deliver, When::applied, "sys.job.submit", request("redis://ctx:J"));
        look_for_input("ctx:J", looks);
        state("DENIED");
    }
    EXPECT_EQ(found.size(), 2U);
    policy("THROTTLE");
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(JobHistoryTest, TheInputOfAJobIsThatOfItsStoredRequest) {
    submit();
    keys.set_string("job:req:J", engine::wire::to_json(request("redis://ctx:J").job_request()), kNever);
    tell_packet(EventKind::deliver, When::applied, "sys.job.submit", request("redis://ctx:other"));
    look_for_input("ctx:other", 4);
    state("DENIED");
    EXPECT_EQ(found.size(), 1U);
    look_for_input("ctx:J", 4);
    state("DENIED");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(JobHistoryTest, PolicyMayAllowAJobIfAHumanDoes) {
    submit();
    state("APPROVAL_REQUIRED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("policy has not asked for an approval")));
    cap::PolicyCheckResponse answer;
    answer.set_approval_required(true);
    observe(EventKind::kernel_check, "J", {.to = "ALLOW_WITH_CONSTRAINTS", .payload = answer.SerializeAsString()});
    state("APPROVAL_REQUIRED");
    EXPECT_EQ(found.size(), 1U);
}

// Answers -----------------------------------------------------------------------------------------------------------------

TEST_F(JobHistoryTest, AnAnswerToAUserBinds) {
    submit();
    call(EventKind::cancel, When::before);
    call(EventKind::cancel, When::answered, true);
    EXPECT_THAT(found, ElementsAre(HasSubstr("was told that it is cancelled")));
    found.clear();
    call(EventKind::approve, When::answered, true, "DENIED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("was told that it is rejected")));
    EXPECT_TRUE(model().find("J")->causes.of(Asked::reject).accepted);
}

TEST_F(JobHistoryTest, WithoutAnAnswerBothIsPossible) {
    submit();
    call(EventKind::cancel, When::before);
    EXPECT_TRUE(model().find("J")->causes.is_open());
    rest();
    state("CANCELLED");
    rest();
    EXPECT_THAT(found, IsEmpty());
}

// D-05; what another service processes is nothing that a scheduler has received (H-10).
TEST_F(JobHistoryTest, SomeResultsBindNothing) {
    submit();
    policy("ALLOW");
    deliver_result("J", {});
    run("x");
    acknowledge_result("J", {.worker = "x"});
    deliver_result("J", {});
    acknowledge_result("J", {});
    const Result of_a_reader{.worker = "x", .durable = "dur_result-reader__sys_job_result"};
    deliver_result("J", of_a_reader);
    acknowledge_result("J", of_a_reader);
    EXPECT_THAT(found, IsEmpty()) << "it came before its job was sent out, and is of another worker";
}

// Ends of a scheduler by itself -----------------------------------------------------------------------------------------------

struct OwnEndsTest : JobHistoryTest {
    OwnEndsTest() {
        run();
        now += 1s;
        model().set_time_limits(R"({
            "topics": {"job.quick": {"timeout_seconds": 20}, "job.slow": {"timeout_seconds": 7200}},
            "workflows": {"travel": {"child_timeout_seconds": 60}}})");
        define({
            {"enter", [this](auto& state) { enter("J", state); }},
            {"timeout", [this](auto& after) { timeout_after(duration_of(second(after)), first(after)); }},
            {"failure", [this](auto& after) { failure_after(duration_of(second(after)), first(after), by); }},
            {"scheduled", [this](auto& limit) { tunables.reconciler_scheduled_timeout = duration_of(limit); }},
            {"running", [this](auto& limit) { tunables.running_timeout = duration_of(limit); }},
            {"settings", [this](auto& reconciler) { settings(reconciler); }},
            {"topic", [this](auto& name) { set_field("J", "topic", name); }},
            {"workflow", [this](auto& name) { set_field("J", "ls_workflow", name); }},
            {"dispatches", [this](auto& count) { set_field("J", "ls_dispatches", count); }},
            {"deadline",
             [this](auto& in) {
                 keys.zset_set(at<SortedSet>("job:deadline"), "J", double((redis_time() + duration_of(in)) / 1us));
             }},
            {"unheard",
             [this](auto&) {
                 set_field("J", "failure_reason",
                           "timeout: RUNNING >15m, and a result that may stand in the stream has not been heard");
             }},
        });
    }
    /// What is found of a timeout after so long in this state.
    void timeout_after(engine::Duration stay, const std::string& in = "RUNNING") {
        enter("J", in);
        found.clear();
        now += stay;
        enter("J", "TIMEOUT");
    }
    void failure_after(engine::Duration stay, std::string_view code, fakes::NodeId by = kReplica) {
        enter("J", "PENDING");
        now += stay;
        enter("J", "FAILED", by);
        keys.set_string("dlq:entry:J", fmt::format(R"({{"reason_code":"{}"}})", code), kNever);
        found.clear();
        rest();
    }
    void settings(std::string_view reconciler) {
        keys.set_string("cfg:system:default",
                        fmt::format(R"({{"revision":2,"data":{{"timeouts":{{"reconciler":{}}}}}}})", reconciler),
                        kNever);
    }
    static auto says(std::string_view text) { return ElementsAre(HasSubstr(std::string(text))); }
};

constexpr Story kOwnEnds[] = {
    // RECON-01
    {"AStayIsAsLongAsItsLimit", "timeout=RUNNING:15min ok timeout=RUNNING:899s", "it was RUNNING for 899000 ms"},
    {"AlsoThatOfADispatch", "timeout=DISPATCHED:5min ok timeout=DISPATCHED:299s", "may last 300000 ms"},
    {"ScheduledIsLimitedBySettingsAlone", "timeout=SCHEDULED:24h", "which nothing limits"},
    {"AndByThemItIs", "scheduled=1min timeout=SCHEDULED:1min"},
    // D-04 (5)
    {"AResultThatMayBeInTheStreamIsWaitedFor", "unheard timeout=RUNNING:26min ok timeout=RUNNING:1559s",
     "may last 900000 ms and 660000 ms more"},
    {"TopicsHaveLimitsOfTheirOwn", "topic=job.quick timeout=RUNNING:20s ok timeout=RUNNING:19s", "may last 20000 ms"},
    {"LongerOnesToo", "topic=job.slow timeout=RUNNING:1h", "may last 7200000 ms"},
    {"AndSoHaveWorkflows", "topic=job.slow workflow=travel timeout=RUNNING:1min"},
    // D-10
    {"ALimitOfTheProcessIsInForce", "running=2h timeout=RUNNING:900s", "may last 7200000 ms"},
    {"ZeroIsTheBuiltInOne", "running=2h settings={\"running_timeout_seconds\":0} timeout=RUNNING:899s",
     "may last 900000 ms"},
    {"OfThoseThatWereInForceTheSmallestCounts",
     "running=2h settings={\"running_timeout_seconds\":0} settings={\"running_timeout_seconds\":30} "
     "timeout=RUNNING:30s ok timeout=RUNNING:29s",
     "may last 30000 ms"},
    // RECON-03
    {"ADeadlineMustBeOver", "enter=RUNNING deadline=2s timeout=RUNNING:1s", "no deadline that was over"},
    {"ThenTheJobMayEnd", "enter=RUNNING deadline=2s timeout=RUNNING:2s"},
    // When it began is not known.
    {"SomeTimeoutsAreNotTheSchedulersOwn", "state=RUNNING enter=TIMEOUT"},
    {"AWorkerMayHaveReportedATimeout", "timed_out timeout=RUNNING:1s"},
    {"OrAFailure", "fatal failure=job_failed:1s"},
    {"ASuccessIsNone", "result failure=job_failed:1s", "no worker has reported a failure"},
    {"AGatewaysFailuresAreItsOwn", "failure=publish_failed:1s@gateway"},
    {"ARetryLimitNeedsASecondDispatch",
     "dispatches=1 failure=max_retries_exceeded:1s found=1 dispatches=2 failure=max_retries_exceeded:1s"},
    {"AJobWithoutARequestIsMetTwiceBeforeItIsGivenUp", "failure=request_missing:4min ok failure=request_missing:140s",
     "and it may wait for"},
    {"UnlessAClockWasSet", "fault=clock_jump failure=request_missing:2min"},
    {"AJobThatWaitsForCapacityIsGivenUpNoSoonerThanItMayBe",
     "failure=pool_overloaded:24h ok failure=pool_overloaded:12h", "after 43200000 ms"},
    {"AJobThatWaitsForAWorkerIsGivenUpNoSoonerThanAllTriesWouldTake",
     "failure=no_workers:1381s ok failure=no_workers:1000s", "it may wait for 1381000 ms"},
    // It excuses the jobs that have lost something.
    {"ALossOfRedisDoesNotEndTheJudging", "failure=out_of_the_blue:1s failover rest", "J: |J:"},
};
using OwnEndsTold = Told<OwnEndsTest>;
TEST_P(OwnEndsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, OwnEndsTold, ::testing::ValuesIn(kOwnEnds), title_of);

TEST_F(OwnEndsTest, AnInvalidRequestBreaksARuleUnlessItHasBeenEvicted) {
    failure_after(1s, "invalid_request");
    EXPECT_THAT(found, IsEmpty()) << "it is not there any more";
    keys.set_string("job:req:J", R"({"job_id":"J","topic":"t","tenant_id":"a"})", kNever);
    rest();
    EXPECT_THAT(found, says("it is invalid"));
    keys.set_string("job:req:J", R"({"job_id":"J","topic":"t","tenant_id":"a","meta":{"tenant_id":"b"}})", kNever);
    found.clear();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OwnEndsTest, TriesAndRetriesAreUsedUpOnlyOnceAllWereHad) {
    const auto judged_with = [this](std::string_view field, std::string_view value) {
        set_field("J", field, value);
        found.clear();
        rest();
        return found;
    };
    failure_after(1s, "max_scheduling_retries");
    EXPECT_THAT(judged_with("attempts", "49"), says("after 49 tries of 50"));
    EXPECT_THAT(judged_with("attempts", "50"), IsEmpty());
}

TEST_F(OwnEndsTest, AJobIsSetAsideAfterSixHandlersThatDidNotComeBack) {
    const auto handlers = [this](std::string_view tokens) {
        for (const char token : tokens) set_field("J", "ls_in_hand", fmt::format("{} 0 0 beside", token));
        set_field("J", "ls_in_hand", fmt::format("{} 3 2 alone", tokens.back()));
        set_field("J", "ls_in_hand", "");
    };
    handlers("abcdef");
    failure_after(1s, "handling_lost");
    EXPECT_THAT(found, says("when 5 in a row"));
    handlers("abcdefg");
    rest();
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
