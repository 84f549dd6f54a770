// What becomes of a submission, by what the store and policy say.
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/validation.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class Requests : public SchedulerTest {
protected:
    void SetUp() override { start(); }

    void policy_says(cap::DecisionType decision, std::string reason = "because") {
        kernel.answer = [decision, reason](const auto&) { return ScriptedKernel::says(decision, reason); };
    }
    void policy_is_away() {
        kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    }
    /// What a gateway leaves in the store when an operator approves, and the request that it then publishes.
    cap::JobRequest approved(cap::JobRequest request, bool with_record = true) {
        (*request.mutable_labels())["approval_granted"] = "true";
        (*request.mutable_labels())["cordum.bus_msg_id"] = "approval:" + request.job_id();
        const std::string job = request.job_id();
        run({"SET", "job:req:" + job, engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
        run({"HSET", "job:meta:" + job, "state", "PENDING"});
        if (with_record) run({"HSET", "job:meta:" + job, "approval_job_hash", engine::wire::job_hash(request)});
        return request;
    }
};

// S3: the first read fails, so nothing happens; the second finds the job running, so nothing happens again.
TEST_F(Requests, AStateThatCannotBeReadMeansThatNothingHappens) {
    run({"HSET", "job:meta:j1", "state", "RUNNING"});
    on_script(scripts.take_up, [] { return CallFault::not_applied; });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_TRUE(bus.published.empty());
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_EQ(metrics.value(Metric::state_read_fail_closed, {"job.default"}), 1);
    EXPECT_EQ(metrics.value(Metric::state_read_fail_closed_streak, {"job.default"}), 1);
    on_script(scripts.take_up, nullptr);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(bus.published.empty());
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(metrics.value(Metric::state_read_fail_closed_streak, {"job.default"}), 0);
}

// H-16
TEST_F(Requests, ALockTakenWithoutAnAnswerIsGivenBack) {
    on_script(scripts.take_up, [] { return CallFault::unknown; });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_FALSE(locked("j1"));
    EXPECT_TRUE(bus.published.empty());
    on_script(scripts.take_up, nullptr);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

// D-06
TEST_F(Requests, AnUnknownJobOfTwoTenantsIsDroppedAndCounted) {
    auto request = request_for("j1");
    request.mutable_meta()->set_tenant_id("initech");
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "");
    EXPECT_EQ(*run({"EXISTS", "job:req:j1"}).integer(), 0);
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(metrics.value(Metric::validation_rejections), 1);
    EXPECT_TRUE(bus.published.empty());
}

// D-06: a gateway has stored it, under whatever tenant it made of it.
TEST_F(Requests, AStoredJobOfTwoTenantsFailsBeforePolicyIsAsked) {
    auto request = request_for("j1");
    request.mutable_meta()->set_tenant_id("initech");
    run({"SET", "job:req:j1", engine::wire::to_json(request)});
    run({"HSET", "job:meta:j1", "state", "PENDING", "tenant", "initech"});
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "invalid_request");
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:slots:initech"}).integer(), 0);
    EXPECT_EQ(metrics.value(Metric::validation_rejections), 1);
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(dead_letters().size(), 1u);
}

// D-23: nobody could have submitted it, and a gateway that checks nothing has stored it.
TEST_F(Requests, AStoredJobThatTheRulesRejectFailsBeforePolicyIsAsked) {
    auto request = request_for("j1");
    for (int n = 0; n <= engine::wire::kEntriesMax; ++n) request.mutable_meta()->add_risk_tags("t");
    run({"SET", "job:req:j1", engine::wire::to_json(request)});
    run({"HSET", "job:meta:j1", "state", "PENDING", "tenant", "acme"});
    EXPECT_TRUE(submit("j1")->acked()) << "what is delivered is sound, and what is stored wins";
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "invalid_request");
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_EQ(metrics.value(Metric::validation_rejections), 1);
}

// D-30
TEST_F(Requests, AnInputIsTheJobsOwnOrItsTenantsAndNoOtherKeyIsRead) {
    run({"HSET", "job:meta:theirs", "state", "RUNNING", "tenant", "initech"});
    run({"HSET", "job:meta:ours", "state", "RUNNING", "tenant", "acme"});
    run({"HSET", "job:meta:blank", "state", "RUNNING"});
    for (const char* key : {"ctx:theirs", "res:theirs", "res:theirs:redacted:0123456789abcdef", "ctx:ours", "ctx:j1",
                            "art:7", "ctx:nobody", "job:req:ours", "secret", "ctx:blank"})
        run({"SET", key, std::string("content of ") + key});
    int n = 0;
    const auto state_with = [&](const std::string& pointer) {
        auto request = request_for("p" + std::to_string(++n));
        request.set_context_ptr(pointer);
        kernel.questions.clear();
        submit(request);
        if (state(request.job_id()) == "FAILED") {
            EXPECT_EQ(dead_letter_code(request.job_id()), "invalid_request");
            EXPECT_TRUE(kernel.questions.empty());
        }
        return state(request.job_id());
    };
    for (const char* allowed :
         {"", "redis://ctx:ours", "res:ours:redacted:0123456789abcdef", "redis://art:7", "ctx:nobody", "s3://bucket/x"})
        EXPECT_NE(state_with(allowed), "FAILED") << allowed;
    for (const char* refused : {"redis://ctx:theirs", "res:theirs", "redis://res:theirs:redacted:0123456789abcdef",
                                "redis://job:req:ours", "secret", " secret ", "ctx:", "ctx:blank"})
        EXPECT_EQ(state_with(refused), "FAILED") << refused;
    tunables.pointer_prefixes = "mem:, sec";
    crash();
    start();
    EXPECT_NE(state_with("secret"), "FAILED");
    EXPECT_EQ(state_with("redis://art:7"), "FAILED");
}

// D-06: a message in another tenant's name, or in two, does nothing to a job.
TEST_F(Requests, ASubmissionOfAnotherTenantChangesNothingOfAJob) {
    policy_says(cap::DECISION_TYPE_THROTTLE);
    submit("j1");
    const std::string stored = text({"GET", "job:req:j1"});
    loop.run_for(10s);
    for (const bool in_two_names : {false, true}) {
        auto forged = request_for("j1");
        forged.set_topic("job.pay");
        forged.mutable_budget()->set_deadline_ms(1);
        if (in_two_names)
            forged.mutable_meta()->set_tenant_id("initech");
        else
            forged.set_tenant_id("initech");
        const std::size_t asked = kernel.questions.size();
        submit(forged, 1, "forged trace");
        ASSERT_EQ(kernel.questions.size(), asked + 1) << "the stored job has its try";
        EXPECT_EQ(kernel.questions.back().tenant(), "acme");
        EXPECT_EQ(kernel.questions.back().topic(), "job.default");
        EXPECT_EQ(text({"GET", "job:req:j1"}), stored);
        EXPECT_EQ(field("j1", "deadline_unix"), "");
        EXPECT_EQ(field("j1", "tenant"), "acme");
        loop.run_for(10s);
    }
    EXPECT_EQ(*run({"EXISTS", "trace:forged trace"}).integer(), 0);
}

// A gateway has begun to record another tenant's job under the same id, and come no further than its hash.
TEST_F(Requests, WhoSaysToTheLetterWhatIsStoredIsItsTenantWhateverTheHashNames) {
    policy_says(cap::DECISION_TYPE_THROTTLE);
    submit("j1");
    loop.run_for(10s);
    run({"HSET", "job:meta:j1", "tenant", "initech"});
    submit("j1");
    EXPECT_EQ(kernel.questions.back().tenant(), "acme");
    EXPECT_EQ(field("j1", "tenant"), "acme");
    EXPECT_EQ(*run({"SISMEMBER", "job:tenant:active:acme", "j1"}).integer(), 1);
    EXPECT_EQ(*run({"SISMEMBER", "job:tenant:active:initech", "j1"}).integer(), 0);
}

TEST_F(Requests, WithoutItsRequestAJobIsNotTakenOverByAnothersSubmission) {
    policy_says(cap::DECISION_TYPE_THROTTLE);
    submit("j1");
    run({"DEL", "job:req:j1"});
    loop.run_for(10s);
    const std::size_t asked = kernel.questions.size();
    auto forged = request_for("j1");
    forged.set_tenant_id("initech");
    EXPECT_TRUE(submit(forged)->acked());
    EXPECT_EQ(kernel.questions.size(), asked);
    EXPECT_EQ(*run({"EXISTS", "job:req:j1"}).integer(), 0);
    EXPECT_EQ(state("j1"), "PENDING");
}

TEST_F(Requests, BlanksAroundATenantAreNoOtherTenant) {
    auto request = request_for("j1");
    request.set_tenant_id(" acme ");
    run({"SET", "job:req:j1", engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
    run({"HSET", "job:meta:j1", "state", "PENDING", "tenant", " acme "});
    submit(request);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "tenant"), "acme");
    EXPECT_EQ(*run({"SISMEMBER", "job:tenant:active:acme", "j1"}).integer(), 1);
    EXPECT_EQ(*run({"EXISTS", "job:tenant:active: acme "}).integer(), 0);
}

// STATE-07
TEST_F(Requests, ARunningJobIsNotTouchedByItsSubmission) {
    run_job("j1");
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(bus.published.size(), 1u);
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Requests, ADispatchedJobThatIsNotInTheStreamStaysAsItIs) {
    run({"HSET", "job:meta:j1", "state", "DISPATCHED", "ls_dispatch", "1", "ls_worker", "w1"});
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_TRUE(bus.published.empty());
    EXPECT_EQ(state("j1"), "DISPATCHED");
}

// STATE-08
TEST_F(Requests, AFinishedJobIsNeverDispatchedAgain) {
    for (const char* final : {"SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "DENIED", "OUTPUT_QUARANTINED"}) {
        run({"HSET", "job:meta:j1", "state", final});
        EXPECT_TRUE(submit("j1")->acked());
        EXPECT_EQ(state("j1"), final);
    }
    EXPECT_TRUE(dispatches().empty());
    EXPECT_TRUE(kernel.questions.empty());
}

// STATE-09
TEST_F(Requests, AWaitingJobIsWorkedOnAgain) {
    for (const char* waiting : {"PENDING", "SCHEDULED"}) {
        const std::string job = std::string("job-") + waiting;
        run({"HSET", "job:meta:" + job, "state", waiting});
        EXPECT_TRUE(submit(job)->acked());
        EXPECT_EQ(state(job), "RUNNING");
    }
    EXPECT_EQ(dispatches().size(), 2u);
}

// LOCK-03
TEST_F(Requests, ABusyLockIsWaitedForTwoSecondsAndNoLonger) {
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    const auto before = loop.monotonic();
    const Fate fate = submit("j1");
    loop.run_until([&] { return fate->answer != DeliveryFate::Answer::none; });
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(loop.monotonic() - before, 2s);
    EXPECT_EQ(state("j1"), "");
    EXPECT_TRUE(bus.published.empty());
}

// A request may be large: while it waits, the lock is looked at, less and less often.
TEST_F(Requests, WaitingForALockCostsLittle) {
    auto large = request_for("j1");
    (*large.mutable_env())["what"] = std::string(900'000, 'x');
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    loop.run_for(1s);  // in which a tick takes its lock
    std::size_t commands = 0;
    std::size_t bytes = 0;
    redis.on_executed([&](const RedisCommand& command) {
        ++commands;
        for (const std::string& part : command) bytes += part.size();
    });
    const Fate fate = submit(large);
    loop.run_until([&] { return fate->answer != DeliveryFate::Answer::none; });
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_LE(commands, 17u);
    EXPECT_LT(bytes, 1'000'000u) << "the request goes out once";
}

TEST_F(Requests, ALockThatIsGivenBackMeanwhileIsTakenSoon) {
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    const Fate fate = submit("j1");
    loop.run_for(1s);
    run({"DEL", "cordum:scheduler:job:j1"});
    loop.run_for(200ms);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

// LOCK-02
TEST_F(Requests, TwoHandlersOfOneJobRunOneAfterTheOther) {
    kernel.latency = 1s;
    const Fate first = submit("j1");
    const Fate second = submit("j1");
    loop.run_for(500ms);
    EXPECT_EQ(kernel.questions.size(), 1u);
    loop.run_for(5s);
    EXPECT_TRUE(first->acked());
    EXPECT_TRUE(second->acked());
    EXPECT_EQ(dispatches().size(), 1u);
}

// VALID-01, VALID-03
TEST_F(Requests, AnUnsoundRequestIsDropped) {
    auto no_topic = request_for("j1");
    no_topic.clear_topic();
    EXPECT_TRUE(submit(no_topic)->acked());
    auto two_tenants = request_for("j1");
    (*two_tenants.mutable_env())["tenant_id"] = "other";
    EXPECT_TRUE(submit(two_tenants)->acked());
    EXPECT_EQ(state("j1"), "");
    EXPECT_TRUE(bus.published.empty());
    EXPECT_EQ(metrics.value(Metric::validation_rejections), 2);
}

// An id counts without the white space around it; nobody could ask for a job without one.
TEST_F(Requests, ABlankIdIsNoJob) {
    EXPECT_TRUE(submit(request_for(" \t"))->acked());
    EXPECT_EQ(state(""), "");
    EXPECT_TRUE(bus.published.empty());
    EXPECT_TRUE(submit(request_for(" j1 "))->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(state(" j1 "), "");
}

// SAFE-02
TEST_F(Requests, ADeniedJobEndsWithOneDeadLetter) {
    policy_says(cap::DECISION_TYPE_DENY, "too risky");
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "DENIED");
    EXPECT_EQ(dead_letter_code("j1"), "safety_denied");
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(field("j1", "failure_reason"), "too risky");
    EXPECT_EQ(*run({"ZCARD", "lockstep:dead_letter:outbox"}).integer(), 0) << "told, so no longer waiting";
    EXPECT_EQ(metrics.value(Metric::safety_denied, {"job.default"}), 1);
}

// SAFE-03, C-47
TEST_F(Requests, AnUnknownDecisionIsADeny) {
    policy_says(cap::DECISION_TYPE_UNSPECIFIED);
    submit("j1");
    EXPECT_EQ(state("j1"), "DENIED");
    EXPECT_EQ(dead_letter_code("j1"), "safety_unknown");
}

// SAFE-08
TEST_F(Requests, AThrottledJobComesAgainAfterFiveSeconds) {
    policy_says(cap::DECISION_TYPE_THROTTLE, "pool overloaded, no workers available");
    EXPECT_TRUE(submit("j1")->handed_back(5s));
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_EQ(field("j1", "attempts"), "0");
    EXPECT_FALSE(locked("j1"));
}

// FAIL-01
TEST_F(Requests, WithPolicyAwayAJobWaits) {
    policy_is_away();
    EXPECT_TRUE(submit("j1")->handed_back(5s));
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_TRUE(bus.published.empty());
    EXPECT_FALSE(locked("j1"));
    EXPECT_EQ(metrics.value(Metric::safety_unavailable, {"job.default"}), 1);
    EXPECT_EQ(metrics.value(Metric::input_fail_open, {"job.default"}), 0);
}

// FAIL-02, FAIL-03, METR-02
TEST_F(Requests, OnlyTheExactWordOpenLetsItThrough) {
    for (const auto& [mode, opens] :
         std::map<std::string, bool>{{"OPEN", false}, {"", false}, {"invalid", false}, {"open", true}}) {
        tunables.policy_check_fail_mode = mode;
        scheduler.reset();
        start();
        policy_is_away();
        const std::string job = "job-" + mode;
        EXPECT_EQ(submit(job)->acked(), opens) << mode;
        EXPECT_EQ(state(job), opens ? "RUNNING" : "PENDING") << mode;
    }
    EXPECT_EQ(metrics.value(Metric::safety_unavailable, {"job.default"}), 4);
    EXPECT_EQ(metrics.value(Metric::input_fail_open, {"job.default"}), 1);
    EXPECT_EQ(text({"GET", "cordum:scheduler:input_fail_open_total"}), "1");
    EXPECT_EQ(field("job-open", "safety_decision"), "UNAVAILABLE");
}

// SAFE-04
TEST_F(Requests, AJobThatNeedsAHumanWaitsForOne) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    EXPECT_EQ(field("j1", "safety_approval_required"), "true");
    EXPECT_EQ(field("j1", "safety_job_hash"), engine::wire::job_hash(request_for("j1")));
    EXPECT_TRUE(bus.published.empty());
    // H-06: its redelivery asks nobody again.
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(kernel.questions.size(), 1u);
    EXPECT_EQ(*run({"LLEN", "job:decisions:j1"}).integer(), 1);
}

// SAFE-07, C-38
TEST_F(Requests, AnApprovedJobIsDispatchedWithoutAskingPolicyAgain) {
    for (const bool with_record : {true, false}) {
        const std::string job = with_record ? "recorded" : "unrecorded";
        policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
        submit(job);
        const std::size_t asked = kernel.questions.size();
        EXPECT_TRUE(submit(approved(request_for(job), with_record))->acked()) << job;
        EXPECT_EQ(state(job), "RUNNING") << job;
        EXPECT_EQ(kernel.questions.size(), asked) << job;
    }
}

// H-05
TEST_F(Requests, AGrantOutlivesATryThatFoundNoWorker) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    const auto granted = approved(request_for("j1"));
    loop.run_for(31s);  // w1 falls silent
    const Fate first = submit(granted);
    EXPECT_EQ(first->answer, DeliveryFate::Answer::nak);
    loop.run_for(first->nak_delay);
    heartbeat("w1");
    EXPECT_TRUE(submit(granted)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

// H-07: an older delivery of the request does not undo the approval that is stored.
TEST_F(Requests, AnApprovalSurvivesARedeliveryOfTheOriginal) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    approved(request_for("j1"));
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(kernel.questions.size(), 1u);
    EXPECT_EQ(log.times_reached("stored_request_wins"), 1);
}

/// What a gateway that prints otherwise has stored, and has not got further with.
class StoredLimits : public Requests {
protected:
    void SetUp() override {
        more_config.timeouts = *engine::parse_timeouts(R"({"workflows": {"short": {"total_timeout_seconds": 10}}})");
        Requests::SetUp();
        policy_says(cap::DECISION_TYPE_THROTTLE);
    }
    void stored(cap::JobRequest request, const Texts& more_fields = {}) {
        run({"SET", "job:req:" + request.job_id(), engine::wire::to_json(request)});
        RedisCommand hash{"HSET", "job:meta:" + request.job_id(), "state", "PENDING", "tenant", "acme"};
        for (const std::string& text : more_fields) hash.push_back(text);
        run(hash);
    }
    static cap::JobRequest with_limits(const std::string& job, std::int64_t deadline_ms, const char* workflow = "") {
        cap::JobRequest request = request_for(job);
        if (deadline_ms > 0) request.mutable_budget()->set_deadline_ms(deadline_ms);
        request.set_workflow_id(workflow);
        return request;
    }
    /// From now on, in milliseconds; 0: it has none.
    std::int64_t left(const std::string& job) {
        const std::string deadline = field(job, "deadline_unix");
        EXPECT_EQ(text({"ZSCORE", "job:deadline", job}), deadline);
        return deadline.empty() ? 0 : (std::stoll(deadline) - engine::to_unix_micros(clock.now())) / 1000;
    }
};

TEST_F(StoredLimits, AnotherRequestUnderTheSameIdSetsNone) {
    submit(with_limits("j1", 0));
    for (const auto& twin :
         {with_limits("j1", 5000), with_limits("j1", 0, "short"), with_limits("j1", 5000, "short")}) {
        loop.run_for(10s);
        submit(twin);
        EXPECT_EQ(left("j1"), 0);
    }
    submit(with_limits("j2", 60'000));
    loop.run_for(10s);
    submit(with_limits("j2", 5000, "short"));
    EXPECT_EQ(left("j2"), 50'000);
}

TEST_F(StoredLimits, ThoseOfTheStoredRequestHold) {
    stored(with_limits("j1", 60'000));
    stored(with_limits("j2", 60'000, "short"));
    stored(with_limits("j3", 0, "short"));
    stored(with_limits("j4", 0));
    for (const auto& [job, ms] : {std::pair{"j1", 60'000}, {"j2", 10'000}, {"j3", 10'000}, {"j4", 0}}) {
        submit(with_limits(job, 5000));
        EXPECT_EQ(left(job), ms) << job;
    }
    loop.run_for(6s);
    submit(with_limits("j3", 5000));
    EXPECT_EQ(left("j3"), 4000) << "from its first take-up";
}

TEST_F(StoredLimits, CountFromTheTakeUpHoweverSlowTheStoreIs) {
    stored(with_limits("j1", 60'000));
    slow_redis.latency = 400ms;
    submit(with_limits("j1", 0));
    loop.run_for(3s);
    EXPECT_EQ(left("j1"), 60'000 - 3000 + 400) << "it is the first call";
}

TEST_F(StoredLimits, ADeadlineThatTheGatewayHasSetStays) {
    const std::string set = std::to_string(engine::to_unix_micros(clock.now()) + 30'000'000);
    run({"ZADD", "job:deadline", set, "j1"});
    stored(with_limits("j1", 20'000), {"deadline_unix", set});
    submit(with_limits("j1", 0));
    EXPECT_EQ(left("j1"), 30'000);
}

TEST_F(StoredLimits, AJobWhoseLimitsCannotBeRecordedIsTriedAgain) {
    stored(with_limits("j1", 60'000));
    on_script(scripts.commit, [] { return CallFault::not_applied; });
    EXPECT_TRUE(submit(with_limits("j1", 0))->handed_back(1s));
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_FALSE(locked("j1"));
}

TEST_F(Requests, AnApprovalOfOtherContentIsNone) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    auto changed = request_for("j1");
    changed.set_context_ptr("redis://ctx:evil");
    run({"SET", "ctx:evil", "something else"});
    changed = approved(changed, false);
    EXPECT_TRUE(submit(changed)->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    // The question that this raised has the changed content's hash; the label is older than it and answers nothing.
    EXPECT_TRUE(submit(changed)->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(dispatches().empty());
}

// A submitter can write the label too.
TEST_F(Requests, AGrantThatCameWithTheSubmissionApprovesNothing) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    for (const bool gateway_stored_it : {false, true}) {
        auto request = request_for(gateway_stored_it ? "stored" : "bare");
        (*request.mutable_labels())["approval_granted"] = "true";
        if (gateway_stored_it) {
            run({"SET", "job:req:stored", engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
            run({"HSET", "job:meta:stored", "state", "PENDING"});
        }
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(submit(request)->acked());
        EXPECT_EQ(state(request.job_id()), "APPROVAL_REQUIRED");
    }
    EXPECT_TRUE(dispatches().empty());
    auto request = request_for("bare");
    EXPECT_TRUE(submit(approved(request))->acked()) << "an operator's record counts";
    EXPECT_EQ(state("bare"), "RUNNING");
}

// The label stands in a request that has taken the place of the one that a human was asked about.
TEST_F(Requests, ALabelApprovesNothingOnceTheRequestThatWasAskedAboutIsLost) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    run({"DEL", "job:req:j1"});
    auto forged = request_for("j1");
    (*forged.mutable_labels())["approval_granted"] = "true";
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(submit(forged)->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(log.times_reached("approval_without_evidence"), 3);
    // Not even beside the record of a decision that has gone no further: that of a rejection looks the same.
    run({"HSET", "job:meta:j1", "approval_job_hash", engine::wire::job_hash(forged)});
    EXPECT_TRUE(submit(forged)->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(submit(approved(request_for("j1")))->acked()) << "an operator who goes through with it is believed";
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Requests, AnApprovedJobWhoseRequestIsLostRunsByTheOperatorsRecord) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    const auto granted = approved(request_for("j1"));
    run({"DEL", "job:req:j1"});
    EXPECT_TRUE(submit(granted)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Requests, ALabelApprovesNothingBesideAStoredRequestThatNobodyCanRead) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    run({"SET", "job:req:j1", "{ no request"});
    auto forged = request_for("j1");
    (*forged.mutable_labels())["approval_granted"] = "true";
    EXPECT_TRUE(submit(forged)->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
    EXPECT_TRUE(dispatches().empty());
}

class Inputs : public Requests {
protected:
    void SetUp() override {
        start();
        request = request_for("j1");
        request.set_context_ptr("redis://ctx:j1");
        kernel.answer = [](const cap::PolicyCheckRequest& question) {
            const bool bad = question.input_content() == "bad";
            return ScriptedKernel::says(bad ? cap::DECISION_TYPE_DENY : cap::DECISION_TYPE_ALLOW);
        };
    }
    void open() {
        tunables.policy_check_fail_mode = "open";
        scheduler.reset();
        start();
    }
    void redis_refuses_get() {
        const auto fault = redis.fault;
        redis.fault = [fault](const RedisCommand& first) {
            return first[0] == "GETRANGE" ? CallFault::not_applied : fault(first);
        };
    }

    cap::JobRequest request;
};

// D-09 (2)
TEST_F(Inputs, AJobWhoseInputCannotBeReadWaits) {
    run({"SET", "ctx:j1", "bad"});
    const auto fault = redis.fault;
    redis_refuses_get();
    for (int i = 0; i < 6; ++i) {
        EXPECT_TRUE(submit(request)->handed_back(5s));
        loop.run_for(5s);
        heartbeat("w1");
    }
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_EQ(field("j1", "safety_decision"), "UNAVAILABLE");
    EXPECT_EQ(kernel.questions.size(), 6u) << "policy is asked: a denial needs no content";
    EXPECT_TRUE(dispatches().empty());
    redis.fault = fault;
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "DENIED");
    EXPECT_EQ(dead_letter_code("j1"), "safety_denied");
}

TEST_F(Inputs, ADenialNeedsNoContent) {
    redis_refuses_get();
    kernel.answer = [](const auto&) { return ScriptedKernel::says(cap::DECISION_TYPE_DENY); };
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "DENIED");
    EXPECT_EQ(dead_letter_code("j1"), "safety_denied");
}

TEST_F(Inputs, WhereTheFailModeIsOpenItGoesWithAMark) {
    open();
    redis_refuses_get();
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_unread"), "1");
    EXPECT_EQ(metrics.value(Metric::input_unread, {"job.default"}), 1);
}

TEST_F(Inputs, WhatWasSeenHasNoMark) {
    run({"SET", "ctx:j1", "good"});
    run({"HSET", "job:meta:j1", "state", "PENDING", "ls_input_unread", "1", "ls_input_misses", "2"});
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_unread"), "");
    EXPECT_EQ(field("j1", "ls_input_misses"), "");
}

// D-09 (3)
TEST_F(Inputs, AnInputThatIsNotThereIsLookedForForFifteenSeconds) {
    const auto began = loop.monotonic();
    for (int i = 1; i <= 3; ++i) {
        EXPECT_TRUE(submit(request)->handed_back(5s));
        EXPECT_EQ(field("j1", "ls_input_misses"), std::to_string(i));
        loop.run_for(5s);
    }
    EXPECT_GE(loop.monotonic() - began, 15s);
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "DENIED");
    EXPECT_EQ(dead_letter_code("j1"), "input_unreadable");
    EXPECT_NE(field("j1", "failure_reason").find("ctx:j1"), std::string::npos);
    EXPECT_TRUE(dispatches().empty());
}

TEST_F(Inputs, OneThatComesLateIsSeen) {
    EXPECT_TRUE(submit(request)->handed_back(5s));
    run({"SET", "ctx:j1", "good"});
    EXPECT_NE(submit(request)->answer, DeliveryFate::Answer::none) << "not due yet";
    EXPECT_EQ(field("j1", "ls_input_misses"), "1");
    loop.run_for(5s);
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_misses"), "");
}

TEST_F(Inputs, WhereTheFailModeIsOpenAMissingInputHoldsNothingUp) {
    open();
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_unread"), "1");
}

// A human would be asked about a job that a rule may deny.
TEST_F(Inputs, NobodyIsAskedForAnApprovalMeanwhile) {
    redis_refuses_get();
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_TRUE(submit(request)->handed_back(5s));
    EXPECT_EQ(state("j1"), "PENDING");
}

// D-09 (4)
TEST_F(Inputs, AGrantAsksNothing) {
    run({"SET", "ctx:j1", "good"});
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit(request);
    run({"DEL", "ctx:j1"});
    EXPECT_TRUE(submit(approved(request))->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Inputs, SwitchedOffNobodyMinds) {
    more_config.mechanisms.switch_off(engine::Mechanism::input_seen);
    scheduler.reset();
    start();
    redis_refuses_get();
    EXPECT_TRUE(submit(request)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_unread"), "");
}

// Policy is not what is away here, so its fail mode has no say.
TEST_F(Requests, AnApprovalThatCannotBeReadIsNeverAReasonToLetAJobThrough) {
    tunables.policy_check_fail_mode = "open";
    scheduler.reset();
    start();
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    const auto granted = approved(request_for("j1"));
    const auto fault = redis.fault;
    redis.fault = [&fault](const RedisCommand& first) {
        const CallFault usual = fault(first);
        return first[0] == "HMGET" ? CallFault::not_applied : usual;
    };
    EXPECT_TRUE(submit(granted)->handed_back(1s));
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(metrics.value(Metric::input_fail_open, {"job.default"}), 0);
    redis.fault = fault;
    EXPECT_TRUE(submit(granted)->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

// SAFE-09
TEST_F(Requests, ConstraintsGoToTheWorkerAndNotIntoTheStoredRequest) {
    kernel.answer = [](const auto&) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        answer.mutable_constraints()->set_redaction_level("high");
        return answer;
    };
    submit("j1");
    EXPECT_NE(dispatches().at(0).payload.find("CORDUM_REDACTION_LEVEL"), std::string::npos);
    EXPECT_EQ(text({"GET", "job:req:j1"}).find("CORDUM_REDACTION_LEVEL"), std::string::npos);
    EXPECT_EQ(field("j1", "safety_constraints"), R"({"redactionLevel":"high"})");
}

TEST_F(Requests, ADenialThatCouldNotBeStoredIsHandedBack) {
    policy_says(cap::DECISION_TYPE_DENY);
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(submit("j1")->handed_back(1s));
    EXPECT_TRUE(bus.published.empty());
    on_script(scripts.commit, nullptr);
    EXPECT_TRUE(submit("j1")->acked()) << "it was stored after all";
    EXPECT_EQ(state("j1"), "DENIED");
    loop.run_for(90s);
    EXPECT_EQ(dead_letters().size(), 1u) << "its letter waited in the outbox";
}

// BUS-10
TEST_F(Requests, ARefusedDeadLetterIsPublishedOnceMore) {
    policy_says(cap::DECISION_TYPE_DENY);
    int tries = 0;
    bus.on_publish = [&](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        if (++tries == 1) return refused();
        return bus.store(message);
    };
    const Fate fate = submit("j1");
    loop.run_for(500ms);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(tries, 2);
    EXPECT_EQ(*run({"ZCARD", "lockstep:dead_letter:outbox"}).integer(), 0);
}

TEST_F(Requests, ADeadLetterThatCannotBePublishedIsNotForgotten) {
    policy_says(cap::DECISION_TYPE_DENY);
    bus.on_publish = [](const auto&) -> Outcome<PublishAck> { return not_connected(); };
    const Fate fate = submit("j1");
    loop.run_for(1s);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(metrics.value(Metric::dlq_emit_failures, {"job.default"}), 1);
    bus.published.clear();
    bus.on_publish = nullptr;
    loop.run_for(90s);
    ASSERT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(dead_letters()[0].message_id, "sys.job.dlq:j1");
    EXPECT_EQ(log.times_reached("dead_letter_swept"), 1);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
