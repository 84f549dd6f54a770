// How a scheduler and policy get along: the circuit between them, settings, gates and approvals.
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

constexpr const char* kFailures = "cordum:cb:safety:failures";

class Policy : public SchedulerTest {
protected:
    void SetUp() override {
        for (const engine::RedisScript* script :
             {&scripts.circuit_admit, &scripts.circuit_failure, &scripts.circuit_success})
            redis.run({"SCRIPT", "LOAD", script->text()});
        start();
    }
    void policy_says(cap::DecisionType decision) {
        kernel.answer = [decision](const auto&) { return ScriptedKernel::says(decision, "because"); };
    }
    void policy_is_away() {
        kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    }
    void policy_is_back() { kernel.answer = nullptr; }
    /// Lets that many policy checks fail.
    void fail(int times) {
        policy_is_away();
        for (int i = 0; i < times; ++i) submit(next_job());
    }
    std::string next_job() { return "job-" + std::to_string(jobs_++); }
    /// Whether policy is asked about the next job.
    bool asked() {
        const std::size_t before = kernel.questions.size();
        submit(next_job());
        return kernel.questions.size() > before;
    }
    cap::JobRequest gate() {
        auto request = request_for("gate");
        request.set_topic("job.cordum.approval-gate");
        return request;
    }
    /// What a gateway leaves behind when an operator approves.
    cap::JobRequest approve(cap::JobRequest request) {
        const std::string job = request.job_id();
        (*request.mutable_labels())["approval_granted"] = "true";
        run({"SET", "job:req:" + job, engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
        run({"HSET", "job:meta:" + job, "state", "PENDING", "approval_job_hash", engine::wire::job_hash(request)});
        return request;
    }
    cap::JobRequest sent(std::size_t index = 0) {
        const auto packet = engine::wire::decode(dispatches().at(index).payload);
        return packet->job_request();
    }

private:
    int jobs_ = 0;
};

// FAIL-06, FAIL-12
TEST_F(Policy, TheFourthJobAfterThreeFailuresAsksNobody) {
    fail(2);
    EXPECT_EQ(text({"GET", kFailures}), "2");
    EXPECT_TRUE(asked());
    EXPECT_EQ(text({"GET", kFailures}), "3");
    EXPECT_EQ(*run({"PTTL", kFailures}).integer(), 30'000);
    EXPECT_FALSE(asked());
    EXPECT_EQ(field("job-3", "safety_reason"), "safety kernel circuit open");
    EXPECT_EQ(state("job-3"), "PENDING");
}

// H-47: the failures are spread out; the open time runs from the last one.
TEST_F(Policy, ATripLastsItsFullTimeFromTheLastFailureOn) {
    fail(1);
    loop.run_for(1s);
    fail(1);
    loop.run_for(28s);
    fail(1);
    loop.run_for(29s);
    EXPECT_FALSE(asked());
    loop.run_for(1s + 1ms);
    EXPECT_TRUE(asked());
}

// H-21
// D-32: content must neither open the circuit for everybody nor buy its way past policy.
TEST_F(Policy, AJobThatPolicyTakesTooLongForAloneIsDelayedAndThenDenied) {
    tunables.policy_check_fail_mode = "open";
    tunables.safety_timeout = 1s;
    crash();
    start();
    kernel.latency = 1s;
    kernel.answer = [](const cap::PolicyCheckRequest& question) -> ScriptedKernel::Answer {
        if (question.job_id() == "slow") return tl::unexpected(engine::RpcFailure{4, "deadline exceeded"});
        return ScriptedKernel::says(cap::DECISION_TYPE_DENY);
    };
    const auto ask = [this](int others) {
        for (int i = 0; i < others; ++i) submit(next_job());
        Fate fate = submit("slow");
        loop.run_for(1s);
        return fate;
    };
    EXPECT_TRUE(ask(10)->handed_back(5s));
    EXPECT_EQ(field("slow", "ls_policy_timeouts"), "1");
    EXPECT_EQ(text({"GET", kFailures}), "");
    loop.run_for(5s);
    EXPECT_TRUE(ask(10)->handed_back(30s));
    loop.run_for(30s);
    EXPECT_TRUE(ask(10)->acked());
    EXPECT_EQ(state("slow"), "DENIED");
    EXPECT_EQ(dead_letter_code("slow"), "safety_timeout");
    EXPECT_TRUE(dispatches().empty());
    EXPECT_EQ(text({"GET", kFailures}), "");
}

TEST_F(Policy, ATimeoutCountsOnTheCircuitWhereTooFewOthersWereAnswered) {
    tunables.safety_timeout = 1s;
    crash();
    start();
    kernel.latency = 1s;
    int unanswered = 0;
    kernel.answer = [&unanswered](const cap::PolicyCheckRequest& question) -> ScriptedKernel::Answer {
        if (question.job_id().starts_with("slow") || unanswered-- > 0)
            return tl::unexpected(engine::RpcFailure{4, "deadline exceeded"});
        return ScriptedKernel::says(cap::DECISION_TYPE_DENY);
    };
    for (int i = 0; i < 9; ++i) submit(next_job());
    submit("slow-1");
    loop.run_for(1s);
    EXPECT_EQ(text({"GET", kFailures}), "1");
    EXPECT_EQ(field("slow-1", "ls_policy_timeouts"), "");
    unanswered = 2;
    for (int i = 0; i < 12; ++i) submit(next_job());
    submit("slow-2");
    loop.run_for(1s);
    EXPECT_EQ(field("slow-2", "ls_policy_timeouts"), "") << "two of twelve ran out of time as well";
}

TEST_F(Policy, ACheckThatRanOutOfTimeCountsLikeAnyFailure) {
    kernel.latency = 10s;
    for (int i = 0; i < 3; ++i) submit(next_job());
    loop.run_for(3s);
    EXPECT_EQ(text({"GET", kFailures}), "3");
    EXPECT_FALSE(asked());
}

// FAIL-07
TEST_F(Policy, ASuccessForgetsTheFailuresBeforeIt) {
    fail(2);
    policy_is_back();
    submit(next_job());
    EXPECT_EQ(text({"GET", kFailures}), "");
    fail(2);
    EXPECT_TRUE(asked());
}

// FAIL-08
TEST_F(Policy, FailuresOfAnotherReplicaCountToo) {
    fail(1);
    run({"SET", kFailures, "2"});  // another one told us of its own
    fail(1);
    EXPECT_FALSE(asked());
}

// FAIL-09, C-06
TEST_F(Policy, TwoGoodProbesCloseTheCircuit) {
    fail(3);
    loop.run_for(30s + 1ms);
    policy_is_back();
    EXPECT_TRUE(asked());
    EXPECT_TRUE(asked());
    EXPECT_EQ(log.times_reached("circuit_closed_by_probes"), 1);
    EXPECT_EQ(*run({"EXISTS", kFailures, "lockstep:cb:safety:trip", "lockstep:cb:safety:probes"}).integer(), 0);
    heartbeat("w1");
    const std::size_t before = redis.commands();
    submit(next_job());
    EXPECT_EQ(redis.commands() - before, 3u)
        << "taken up, dispatched, running: a closed circuit costs no round trip, and the bus guard none either";
}

TEST_F(Policy, AFailedProbeOpensTheCircuitAgain) {
    fail(3);
    loop.run_for(30s + 1ms);
    EXPECT_TRUE(asked());
    EXPECT_FALSE(asked());
    EXPECT_EQ(*run({"PTTL", kFailures}).integer(), 30'000);
    loop.run_for(30s + 1ms);
    EXPECT_TRUE(asked());
}

TEST_F(Policy, ThreeProbesAtATimeAndNoMore) {
    fail(3);
    loop.run_for(30s + 1ms);
    policy_is_back();
    kernel.latency = 1s;
    const std::size_t before = kernel.questions.size();
    for (int i = 0; i < 8; ++i) submit(next_job());
    EXPECT_EQ(kernel.questions.size() - before, 3u);
    loop.run_for(1s);
    kernel.latency = Duration{0};
    EXPECT_TRUE(asked());
}

TEST_F(Policy, TheProbesOfACrashedReplicaDoNotBlockTheOthersForEver) {
    fail(3);
    loop.run_for(30s + 1ms);
    policy_is_back();
    kernel.latency = 1s;
    for (int i = 0; i < 3; ++i) submit(next_job());
    crash();
    start();
    kernel.latency = Duration{0};
    EXPECT_FALSE(asked());
    loop.run_for(10s);
    EXPECT_TRUE(asked());
}

TEST_F(Policy, AFailureFromBeforeTheTripIsNoFailedProbe) {
    kernel.latency = 100ms;
    policy_is_away();
    for (int i = 0; i < 5; ++i) submit(next_job());
    loop.run_for(1s);
    EXPECT_EQ(log.times_reached("circuit_failure_from_before_the_trip"), 2);
    EXPECT_EQ(text({"GET", kFailures}), "3");
}

// FAIL-11
TEST_F(Policy, WithoutTheStoreEachReplicaHasItsOwnCircuit) {
    on_script(scripts.circuit_failure, [] { return CallFault::not_applied; });
    fail(3);
    EXPECT_EQ(log.times_reached("circuit_failure_not_shared"), 3);
    run({"SET", "lockstep:cb:safety:trip", "1"});  // somebody else has tripped: the store must be asked
    on_script(scripts.circuit_admit, [] { return CallFault::not_applied; });
    EXPECT_FALSE(asked());
    EXPECT_EQ(log.times_reached("circuit_asked_locally"), 1);
}

// A server that is out of memory answers questions and takes nothing down: what it never counted cannot open the circuit there.
TEST_F(Policy, FailuresThatTheStoreDoesNotTakeDownOpenTheCircuitHere) {
    on_script(scripts.circuit_failure, [] { return CallFault::not_applied; });
    fail(2);
    EXPECT_TRUE(asked());
    EXPECT_EQ(text({"GET", kFailures}), "");
    EXPECT_FALSE(asked());
    EXPECT_EQ(log.times_reached("circuit_open_by_own_count"), 1);
    policy_is_back();
    EXPECT_FALSE(asked()) << "for its full time";
    loop.run_for(30s + 1ms);
    heartbeat("w1");
    EXPECT_TRUE(asked());
    EXPECT_TRUE(asked());
    on_script(scripts.circuit_failure, nullptr);
    fail(2);
    EXPECT_EQ(text({"GET", kFailures}), "2") << "closed, and shared again";
    EXPECT_TRUE(asked());
    EXPECT_FALSE(asked());
    EXPECT_EQ(log.times_reached("circuit_open_by_own_count"), 2);
}

// DISP-04, C-51
TEST_F(Policy, TheSettingsThatHoldForAJobGoWithTheQuestionAndToTheWorker) {
    run({"SET", "cfg:system:default", R"({"data": {"limits": {"cpu": 1, "mem": 2}}, "revision": 4})"});
    run({"SET", "cfg:org:acme", R"({"data": {"limits": {"cpu": 3}}})"});
    run({"SET", "cfg:team:t", R"({"data": {"colour": "red"}})"});
    auto request = request_for("j1");
    (*request.mutable_env())["team_id"] = "t";
    submit(request);
    const std::string settings = R"({"colour":"red","limits":{"cpu":3,"mem":2}})";
    EXPECT_EQ(kernel.questions.at(0).effective_config(), settings);
    EXPECT_EQ(sent().env().at("CORDUM_EFFECTIVE_CONFIG"), settings);
    EXPECT_EQ(text({"GET", "job:req:j1"}).find("CORDUM_EFFECTIVE_CONFIG"), std::string::npos);
    run({"SET", "cfg:team:t", R"({"data": {"colour": "blue"}})"});
    submit([&] {
        request.set_job_id("j2");
        return request;
    }());
    EXPECT_EQ(sent(1).env().at("CORDUM_EFFECTIVE_CONFIG"), R"({"colour":"blue","limits":{"cpu":3,"mem":2}})");
}

// D-14
TEST_F(Policy, AJobWhoseSettingsNobodyHasEverReadIsTriedLaterAndSaysWhy) {
    run({"DEL", "cfg:system:default"});
    run({"SET", "cfg:org:acme", "{broken"});
    submit("j1");
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_EQ(field("j1", "attempts"), "1");
    EXPECT_EQ(field("j1", "ls_last_cause"), "settings_unreadable: cfg:org:acme is no JSON object");
    EXPECT_FALSE(locked("j1"));
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_EQ(metrics.value(Metric::settings_unreadable), 1);
    run({"SET", "cfg:org:acme", R"({"data": {"a": 1}})"});
    loop.run_for(3s);
    submit("j1");
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(sent().env().at("CORDUM_EFFECTIVE_CONFIG"), R"({"a":1})");
}

TEST_F(Policy, SettingsThatBreakGoOnInTheirLastGoodFormAndAreToldOfOnce) {
    run({"DEL", "cfg:system:default"});
    run({"SET", "cfg:org:acme", R"({"data": {"safety": {"denied_topics": ["job.pay"]}}})"});
    submit("j1");
    run({"SET", "cfg:org:acme", "[]"});
    for (const char* job : {"j2", "j3"}) {
        submit(job);
        EXPECT_EQ(state(job), "RUNNING");
    }
    EXPECT_EQ(sent(2).env().at("CORDUM_EFFECTIVE_CONFIG"), R"({"safety":{"denied_topics":["job.pay"]}})");
    EXPECT_EQ(metrics.value(Metric::settings_unreadable), 2);
}

TEST_F(Policy, TheSettingsAreThoseOfTheStoredRequest) {
    run({"DEL", "cfg:system:default"});
    run({"SET", "cfg:team:t", R"({"data": {"safety": {"denied_topics": ["job.default"]}}})"});
    policy_says(cap::DECISION_TYPE_THROTTLE);
    auto stored = request_for("j2");
    (*stored.mutable_env())["team_id"] = "t";
    submit(stored);
    loop.run_for(10s);
    const std::size_t asked = kernel.questions.size();
    submit("j2");
    ASSERT_EQ(kernel.questions.size(), asked + 1);
    EXPECT_EQ(kernel.questions.back().effective_config(), R"({"safety":{"denied_topics":["job.default"]}})");
}

// D-14
TEST_F(Policy, WhatATenantIsDeniedNoTeamThatASubmitterNamesAllows) {
    run({"DEL", "cfg:system:default"});
    run({"SET", "cfg:org:acme", R"({"data": {"safety": {"denied_topics": ["job.pay"]}}})"});
    run({"SET", "cfg:team:t", R"({"data": {"safety": {"denied_topics": []}, "colour": "red"}})"});
    auto request = request_for("j1");
    (*request.mutable_env())["team_id"] = "t";
    submit(request);
    EXPECT_EQ(kernel.questions.at(0).effective_config(), R"({"colour":"red","safety":{"denied_topics":["job.pay"]}})");
}

// D-08
TEST_F(Policy, WhatOnlyPolicyWritesReachesNobodyFromASubmitter) {
    run({"DEL", "cfg:system:default"});
    auto request = request_for("j1");
    (*request.mutable_labels())["safety_bypassed"] = "true";
    (*request.mutable_labels())["team"] = "travel";
    (*request.mutable_env())["CORDUM_MAX_RETRIES"] = "99";
    (*request.mutable_env())["CORDUM_EFFECTIVE_CONFIG"] = R"({"safety":{}})";
    submit(request);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_FALSE(kernel.questions.at(0).labels().contains("safety_bypassed"));
    EXPECT_EQ(kernel.questions.at(0).labels().at("team"), "travel");
    EXPECT_EQ(kernel.questions.at(0).effective_config(), "");
    EXPECT_FALSE(sent().labels().contains("safety_bypassed"));
    EXPECT_FALSE(sent().env().contains("CORDUM_MAX_RETRIES"));
    EXPECT_FALSE(sent().env().contains("CORDUM_EFFECTIVE_CONFIG"));
    EXPECT_NE(text({"GET", "job:req:j1"}).find("CORDUM_MAX_RETRIES"), std::string::npos) << "as it was submitted";
}

// D-08: the hash is that of what is stored, lies included, as a gateway computes it.
TEST_F(Policy, AnApprovalOfARequestThatLiesReleasesItWithoutTheLies) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    auto request = request_for("j1");
    (*request.mutable_labels())["safety_bypassed"] = "true";
    (*request.mutable_env())["CORDUM_MAX_RETRIES"] = "99";
    submit(request);
    EXPECT_EQ(field("j1", "safety_job_hash"), engine::wire::job_hash(request));
    submit(approve(request));
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_FALSE(sent().labels().contains("safety_bypassed"));
    EXPECT_FALSE(sent().env().contains("CORDUM_MAX_RETRIES"));
}

TEST_F(Policy, AnApprovalIsNotBoundToTheSettings) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    submit("j1");
    run({"SET", "cfg:system:default", R"({"data": {"a": 1}})"});
    submit(approve(request_for("j1")));
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(sent().env().at("CORDUM_EFFECTIVE_CONFIG"), R"({"a":1})");
}

// D-33
TEST_F(Policy, AnApprovalCountsForTheContentThatWasAskedAbout) {
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    const auto with_input = [this](const std::string& job, const std::string& content) {
        auto request = request_for(job);
        request.set_context_ptr("redis://ctx:" + job);
        run({"SET", "ctx:" + job, content});
        return request;
    };
    const auto same = with_input("same", "abc");
    submit(same);
    EXPECT_EQ(field("same", "ls_input_hash"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad:3");
    submit(approve(same));
    EXPECT_EQ(state("same"), "RUNNING");

    const auto other = with_input("other", "abc");
    submit(other);
    run({"SET", "ctx:other", "abd"});
    submit(approve(other));
    EXPECT_EQ(state("other"), "APPROVAL_REQUIRED");
    EXPECT_EQ(dispatches().size(), 1u);
    submit(approve(other));
    EXPECT_EQ(state("other"), "RUNNING") << "the second human has seen it";

    const auto longer = with_input("longer", std::string(3'000'000, 'a'));
    submit(longer);
    run({"APPEND", "ctx:longer", "a"});
    submit(approve(longer));
    EXPECT_EQ(state("longer"), "APPROVAL_REQUIRED") << "the size tells, beyond what policy is shown";
}

// A gateway has raised the question: what it was about is what is found when the approval is.
TEST_F(Policy, AnApprovalOfAQuestionThatNoSchedulerRaisedBindsTheContentFromThen) {
    auto request = request_for("j1");
    request.set_context_ptr("redis://ctx:j1");
    run({"SET", "ctx:j1", "abc"});
    submit(approve(request));
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(field("j1", "ls_input_hash"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad:3");
}

TEST_F(Policy, AnApprovedJobKeepsTheLimitsThatPolicyAskedFor) {
    kernel.answer = [](const auto&) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_REQUIRE_HUMAN);
        answer.set_rule_id("ask");
        answer.mutable_constraints()->set_redaction_level("high");
        return answer;
    };
    submit("j1");
    submit(approve(request_for("j1")));
    EXPECT_EQ(sent().env().at("CORDUM_REDACTION_LEVEL"), "high");
    EXPECT_EQ(field("j1", "safety_rule_id"), "ask");
    EXPECT_EQ(field("j1", "safety_decision"), "ALLOW");
}

// SAFE-05: whatever policy says short of a denial.
TEST_F(Policy, AGateWaitsForAHuman) {
    EXPECT_TRUE(submit(gate())->acked());
    EXPECT_EQ(state("gate"), "APPROVAL_REQUIRED");
    EXPECT_EQ(field("gate", "safety_approval_required"), "true");
    EXPECT_EQ(field("gate", "safety_decision"), "REQUIRE_APPROVAL");
    EXPECT_TRUE(bus.published.empty());
}

// SAFE-06
TEST_F(Policy, AnApprovedGateSucceedsWithoutAWorker) {
    for (const char* topic : {"job.cordum.approval-gate", "sys.approval.gate"}) {
        auto request = gate();
        request.set_job_id(topic);
        request.set_topic(topic);
        submit(request);
        bus.published.clear();
        EXPECT_TRUE(submit(approve(request))->acked());
        EXPECT_EQ(state(topic), "SUCCEEDED");
        ASSERT_EQ(bus.published.size(), 1u);
        EXPECT_EQ(bus.published[0].subject, "sys.job.result");
        const auto packet = engine::wire::decode(bus.published[0].payload);
        EXPECT_EQ(packet->job_result().status(), cap::JOB_STATUS_SUCCEEDED);
        EXPECT_EQ(packet->job_result().worker_id(), "cordum-scheduler");
    }
}

// Whoever records the success of a gate, this handler or the reader of its message, records what undoes it.
TEST_F(Policy, AGateThatOpensLeavesItsUndoOnTheStack) {
    auto request = gate();
    request.set_workflow_id("wf-1");
    request.mutable_compensation()->set_topic("job.undo");
    submit(request);
    run({"SET", "cfg:system:default", R"({"data": {"a": 1}})"});
    submit(approve(request));
    EXPECT_EQ(state("gate"), "SUCCEEDED");
    cap::JobRequest undo;
    ASSERT_TRUE(undo.ParseFromString(text({"LINDEX", "saga:wf-1:stack", "0"})));
    EXPECT_EQ(undo.parent_job_id(), "gate");
    EXPECT_FALSE(undo.env().contains("CORDUM_EFFECTIVE_CONFIG"))
        << "settings belong to the time of the job that gets them";
    EXPECT_FALSE(undo.labels().contains("approval_granted"));
}

// H-57: stopped between the message and the state.
TEST_F(Policy, AGateWhoseStateWasNotRecordedIsOpenedTheSameWayAgain) {
    submit(gate());
    const auto approved = approve(gate());
    on_script(scripts.commit, [] { return CallFault::not_applied; });
    EXPECT_TRUE(submit(approved)->handed_back(1s));
    EXPECT_EQ(state("gate"), "PENDING");
    on_script(scripts.commit, nullptr);
    const std::size_t asked_before = kernel.questions.size();
    EXPECT_TRUE(submit(approved)->acked());
    EXPECT_EQ(state("gate"), "SUCCEEDED");
    EXPECT_EQ(kernel.questions.size(), asked_before);
    ASSERT_EQ(bus.published.size(), 2u);
    EXPECT_EQ(bus.published[0].message_id, bus.published[1].message_id);
}

TEST_F(Policy, AGateWhoseMessageDidNotLeaveIsTriedAgain) {
    submit(gate());
    bus.on_publish = [this](const auto&) -> Outcome<PublishAck> { return lost(); };
    const auto approved = approve(gate());
    EXPECT_TRUE(submit(approved)->handed_back(2s));
    EXPECT_EQ(state("gate"), "PENDING");
}

TEST_F(Policy, NoFailModeOpensAGate) {
    tunables.policy_check_fail_mode = "open";
    scheduler.reset();
    start();
    policy_is_away();
    EXPECT_FALSE(submit(gate())->acked());
    EXPECT_EQ(state("gate"), "PENDING");
    EXPECT_TRUE(bus.published.empty());
}

// H-56
TEST_F(Policy, APolicyThatChangedItsMindBetweenTwoTriesAsksForAHuman) {
    run({"HSET", "job:meta:j1", "state", "SCHEDULED"});
    policy_says(cap::DECISION_TYPE_REQUIRE_HUMAN);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(state("j1"), "APPROVAL_REQUIRED");
}

// SAFE-12
TEST_F(Policy, ASchedulerThatStopsHandsBackWhatPolicyIsStillThinkingAbout) {
    tunables.policy_check_fail_mode = "open";
    tunables.shutdown_grace = 5s;
    scheduler.reset();
    start();
    policy_is_away();
    kernel.latency = 1s;
    const Fate fate = submit("j1");
    loop.wait(scheduler->drain());
    EXPECT_TRUE(fate->handed_back(0s));
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_TRUE(dispatches().empty());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
