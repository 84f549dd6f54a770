// Which causes explain which states of a job, and which answers bind.
#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct JobHistoryTest : RuleTest {
    JobHistoryTest() : RuleTest(rules::job_history) {}

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
    void mark_as_processed() {
        keys.set_string(std::string(kMarkPrefix) + "7:" + std::string(kSchedulersResults), "1", kNever);
    }
    void look_for_input(std::string_view key, int times) {
        for (int i = 0; i < times; ++i)
            observe(EventKind::redis, "", {.command = "GETRANGE", .key = key, .payload = "$-1\r\n"}, When::answered);
    }
};

// Causes ------------------------------------------------------------------------------------------------------------------

TEST_F(JobHistoryTest, AnOrdinaryLifeIsExplained) {
    run();
    deliver_result("J", {});
    state("SUCCEEDED");
    acknowledge_result("J", {});
    rest();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 6U);
}

TEST_F(JobHistoryTest, AMessageOnTheBusCancelsUnlessItIsASchedulersOwn) {
    run();
    announce_cancel("cordum-scheduler");
    state("CANCELLED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was never asked to be cancelled")));
    announce_cancel("stranger");
    state("CANCELLED");
    EXPECT_EQ(found.size(), 1U);
}

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

TEST_F(JobHistoryTest, AJobRunsOnceItWasSent) {
    submit();
    state("RUNNING");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it has not been sent to a worker")));
}

struct ApprovedGateTest : JobHistoryTest {
    ApprovedGateTest() {
        submit();
        set_field("J", "topic", "job.cordum.approval-gate");
        state("APPROVAL_REQUIRED");
        call(EventKind::approve, When::before);
    }
};

TEST_F(ApprovedGateTest, IsOpenOnceTheStreamHasTheResult) {
    store_result("J", {});
    state("SUCCEEDED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ApprovedGateTest, OrHasAcknowledgedIt) {
    about_result(EventKind::publish, When::answered, "J", {});
    state("SUCCEEDED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ApprovedGateTest, AndNotBefore) {
    about_result(EventKind::publish, When::before, "J", {});
    store_result("J", {.status = cap::JOB_STATUS_FAILED});
    state("SUCCEEDED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("no stream has the result that says so")));
}

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

TEST_F(JobHistoryTest, AnApprovalReleasesAndOnlyAnApproval) {
    submit();
    policy("REQUIRE_APPROVAL");
    state("APPROVAL_REQUIRED");
    state("PENDING");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was not approved")));
    state("APPROVAL_REQUIRED");
    call(EventKind::approve, When::before);
    call(EventKind::approve, When::answered, true);
    rest();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found.back(), HasSubstr("still waits for an approval"));
    state("PENDING");
    rest();
    EXPECT_EQ(found.size(), 2U);
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

TEST_F(JobHistoryTest, AGatewayThatSubmitsAgainBeginsAgain) {
    submit();
    policy("REQUIRE_APPROVAL");
    state("APPROVAL_REQUIRED");
    call(EventKind::submit, When::before);
    state("PENDING");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(JobHistoryTest, ALossExplainsAnythingAboutItsJob) {
    submit();
    evict("job:meta:J");
    state("CANCELLED");
    EXPECT_THAT(found, IsEmpty());
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

TEST_F(JobHistoryTest, AResultThatIsTakenOffTheStreamHasEndedItsJob) {
    run();
    deliver_result("J", {});
    acknowledge_result("J", {});
    EXPECT_THAT(found, ElementsAre(HasSubstr("its result SUCCEEDED is taken off the stream, and it is still RUNNING")));
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

TEST_F(JobHistoryTest, AResultThatWasProcessedBeforeItsJobWasSentAndComesOnceMoreBindsNothing) {
    submit();
    befall(EventKind::timer, kReplica);
    mark_as_processed();
    befall(EventKind::timer, kReplica);
    fault("nats.power_cut");
    run();
    deliver_result("J", {});
    acknowledge_result("J", {});
    EXPECT_THAT(found, IsEmpty());
    store_result("J", {});  // another one, with its number
    deliver_result("J", {});
    acknowledge_result("J", {});
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(JobHistoryTest, OneThatWasProcessedSinceHasEndedIt) {
    run();
    deliver_result("J", {});
    mark_as_processed();
    acknowledge_result("J", {});
    EXPECT_EQ(found.size(), 1U);
}

// Ends of a scheduler by itself -----------------------------------------------------------------------------------------------

struct OwnEndsTest : JobHistoryTest {
    OwnEndsTest() {
        run();
        now += 1s;
        model().set_time_limits(R"({
            "topics": {"job.quick": {"timeout_seconds": 20}, "job.slow": {"timeout_seconds": 7200}},
            "workflows": {"travel": {"child_timeout_seconds": 60}}})");
    }
    /// What is found of a timeout after so long in this state.
    std::vector<std::string> timeout_after(engine::Duration stay, const std::string& in = "RUNNING") {
        enter("J", in);
        found.clear();
        now += stay;
        enter("J", "TIMEOUT");
        return found;
    }
    std::vector<std::string> failure_after(engine::Duration stay, std::string_view code, fakes::NodeId by = kReplica) {
        enter("J", "PENDING");
        now += stay;
        enter("J", "FAILED", by);
        keys.set_string("dlq:entry:J", fmt::format(R"({{"reason_code":"{}"}})", code), kNever);
        found.clear();
        rest();
        return found;
    }
    void settings(std::string_view reconciler) {
        keys.set_string("cfg:system:default",
                        fmt::format(R"({{"revision":2,"data":{{"timeouts":{{"reconciler":{}}}}}}})", reconciler),
                        kNever);
    }
    static auto says(std::string_view text) { return ElementsAre(HasSubstr(std::string(text))); }
};

// RECON-01
TEST_F(OwnEndsTest, AStayIsAsLongAsItsLimit) {
    EXPECT_THAT(timeout_after(tunables.running_timeout), IsEmpty());
    EXPECT_THAT(timeout_after(tunables.running_timeout - 1s), says("it was RUNNING for 899000 ms"));
    EXPECT_THAT(timeout_after(tunables.dispatch_timeout, "DISPATCHED"), IsEmpty());
    EXPECT_THAT(timeout_after(tunables.dispatch_timeout - 1s, "DISPATCHED"), says("may last 300000 ms"));
    EXPECT_THAT(timeout_after(24h, "SCHEDULED"), says("which nothing limits"));
    tunables.reconciler_scheduled_timeout = 1min;
    EXPECT_THAT(timeout_after(1min, "SCHEDULED"), IsEmpty());
}

// D-04 (5)
TEST_F(OwnEndsTest, AResultThatMayBeInTheStreamIsWaitedFor) {
    set_field("J", "failure_reason",
              "timeout: RUNNING >15m, and a result that may stand in the stream has not been heard");
    const engine::Duration patience = tunables.bus_ack_wait + 2 * tunables.reconciler_interval;
    EXPECT_THAT(timeout_after(tunables.running_timeout + patience), IsEmpty());
    EXPECT_THAT(timeout_after(tunables.running_timeout + patience - 1s), says("may last 900000 ms and 660000 ms more"));
}

TEST_F(OwnEndsTest, TopicAndWorkflowHaveLimitsOfTheirOwn) {
    set_field("J", "topic", "job.quick");
    EXPECT_THAT(timeout_after(20s), IsEmpty());
    EXPECT_THAT(timeout_after(19s), says("may last 20000 ms"));
    set_field("J", "topic", "job.slow");
    EXPECT_THAT(timeout_after(1h), says("may last 7200000 ms"));
    set_field("J", "ls_workflow", "travel");
    EXPECT_THAT(timeout_after(1min), IsEmpty());
}

// D-10
TEST_F(OwnEndsTest, OfTheLimitsThatWereInForceTheSmallestCountsAndZeroIsTheBuiltInOne) {
    tunables.running_timeout = 2h;
    EXPECT_THAT(timeout_after(900s), says("may last 7200000 ms"));
    settings(R"({"running_timeout_seconds":0})");
    EXPECT_THAT(timeout_after(899s), says("may last 900000 ms"));
    settings(R"({"running_timeout_seconds":30})");
    EXPECT_THAT(timeout_after(30s), IsEmpty());
    EXPECT_THAT(timeout_after(29s), says("may last 30000 ms"));
}

// RECON-03
TEST_F(OwnEndsTest, ADeadlineMustBeOver) {
    enter("J", "RUNNING");
    keys.zset_set(keys.create<SortedSet>("job:deadline"), "J", static_cast<double>((redis_time() + 2s).count()));
    EXPECT_THAT(timeout_after(1s), says("no deadline that was over"));
    EXPECT_THAT(timeout_after(2s), IsEmpty());
}

TEST_F(OwnEndsTest, SomeTimeoutsAreNotTheSchedulersOwn) {
    set_field("J", "state", "RUNNING");
    enter("J", "TIMEOUT");
    EXPECT_THAT(found, IsEmpty()) << "when it began is not known";
}

TEST_F(OwnEndsTest, AWorkerMayHaveReportedATimeoutOrAFailure) {
    deliver_result("J", {.status = cap::JOB_STATUS_TIMEOUT});
    EXPECT_THAT(timeout_after(1s), IsEmpty());
    deliver_result("J", {});
    EXPECT_THAT(failure_after(1s, "job_failed"), says("no worker has reported a failure"));
    EXPECT_THAT(failure_after(1s, "publish_failed", Topology::kGateway), IsEmpty());
    deliver_result("J", {.status = cap::JOB_STATUS_FAILED_FATAL});
    EXPECT_THAT(failure_after(1s, "job_failed"), IsEmpty());
}

TEST_F(OwnEndsTest, AnInvalidRequestBreaksARuleUnlessItHasBeenEvicted) {
    EXPECT_THAT(failure_after(1s, "invalid_request"), IsEmpty()) << "it is not there any more";
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
    static_cast<void>(failure_after(1s, "max_scheduling_retries"));
    EXPECT_THAT(judged_with("attempts", "49"), says("after 49 tries of 50"));
    EXPECT_THAT(judged_with("attempts", "50"), IsEmpty());
}

TEST_F(OwnEndsTest, ARetryLimitNeedsASecondDispatch) {
    set_field("J", "ls_dispatches", "1");
    EXPECT_EQ(failure_after(1s, "max_retries_exceeded").size(), 1U);
    set_field("J", "ls_dispatches", "2");
    EXPECT_THAT(failure_after(1s, "max_retries_exceeded"), IsEmpty());
}

TEST_F(OwnEndsTest, AJobIsSetAsideAfterSixHandlersThatDidNotComeBack) {
    const auto handlers = [this](std::string_view tokens) {
        for (const char token : tokens) set_field("J", "ls_in_hand", fmt::format("{} 0 0 beside", token));
        set_field("J", "ls_in_hand", fmt::format("{} 3 2 alone", tokens.back()));
        set_field("J", "ls_in_hand", "");
    };
    handlers("abcdef");
    EXPECT_THAT(failure_after(1s, "handling_lost"), says("when 5 in a row"));
    handlers("abcdefg");
    rest();
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(OwnEndsTest, AJobWithoutARequestIsMetTwiceBeforeItIsGivenUp) {
    EXPECT_THAT(failure_after(2 * tunables.pending_age, "request_missing"), IsEmpty());
    EXPECT_THAT(failure_after(tunables.pending_age + 20s, "request_missing"), says("and it may wait for"));
    fault("clock_jump");
    EXPECT_THAT(failure_after(tunables.pending_age, "request_missing"), IsEmpty());
}

TEST_F(OwnEndsTest, AJobThatWaitsForCapacityIsGivenUpNoSoonerThanItMayBe) {
    EXPECT_THAT(failure_after(tunables.overload_limit, "pool_overloaded"), IsEmpty());
    EXPECT_THAT(failure_after(tunables.overload_limit / 2, "pool_overloaded"), says("after 43200000 ms"));
}

TEST_F(OwnEndsTest, AJobThatWaitsForAWorkerIsGivenUpNoSoonerThanAllTriesWouldTake) {
    EXPECT_THAT(failure_after(1381s, "no_workers"), IsEmpty());
    EXPECT_THAT(failure_after(1000s, "no_workers"), says("it may wait for 1381000 ms"));
}

// It excuses the jobs that have lost something.
TEST_F(OwnEndsTest, ALossOfRedisDoesNotEndTheJudging) {
    static_cast<void>(failure_after(1s, "out of the blue"));
    keys.restore([] {});
    rest();
    EXPECT_EQ(found.size(), 2U);
}

}  // namespace
}  // namespace lockstep::sim
