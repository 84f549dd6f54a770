// Steps that succeed, fail for good, and are undone, by a whole scheduler.
#include <algorithm>

#include "engine/saga/compensation.h"
#include "engine/saga/keys.h"
#include "engine/saga/saga_name.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

constexpr const char* kRunsStack = "lockstep:saga:4:acme:run-1";
constexpr const char* kWorkflowsStack = "saga:wf-2:stack";

class Sagas : public SchedulerTest {
protected:
    void SetUp() override {
        redis.run({"SCRIPT", "LOAD", scripts.saga_next.text()});
        start();
    }
    /// A step of a run, or of a workflow alone, that says how it is undone.
    static cap::JobRequest step(const std::string& job, const std::string& run_id = "run-1") {
        auto request = request_for(job);
        request.set_workflow_id("wf-2");
        if (!run_id.empty()) (*request.mutable_labels())["run_id"] = run_id;
        request.mutable_compensation()->set_topic("job.undo");
        return request;
    }
    void succeed(const cap::JobRequest& request) {
        heartbeat("w1");
        ASSERT_TRUE(submit(request)->acked());
        ASSERT_TRUE(result(request.job_id(), cap::JOB_STATUS_SUCCEEDED)->acked());
        ASSERT_EQ(state(request.job_id()), "SUCCEEDED");
    }
    /// A step that succeeded in no time.
    void succeed(const std::string& job, const std::string& run_id = "run-1") { succeed(step(job, run_id)); }
    /// A step without undo that fails for good.
    void fail(const std::string& job, const std::string& run_id = "run-1") {
        heartbeat("w1");
        auto request = step(job, run_id);
        request.clear_compensation();
        ASSERT_TRUE(submit(request)->acked());
        result(job, cap::JOB_STATUS_FAILED_FATAL, "no_money");
        ASSERT_EQ(state(job), "FAILED");
    }
    std::vector<cap::BusPacket> packets() {
        std::vector<cap::BusPacket> decoded;
        for (const auto& message : bus.published_on("sys.job.submit"))
            decoded.push_back(*engine::wire::decode(message.payload));
        return decoded;
    }
    /// The jobs whose compensations were published, in that order; one that was published again counts once.
    Texts undone() {
        Texts parents;
        Texts ids;
        for (const auto& packet : packets()) {
            const auto& job = packet.job_request();
            if (std::ranges::find(ids, job.job_id()) != ids.end()) continue;
            ids.push_back(job.job_id());
            parents.push_back(job.parent_job_id());
        }
        return parents;
    }
    [[nodiscard]] std::int64_t recorded(const std::string& stack = kRunsStack) {
        return *run({"LLEN", stack}).integer();
    }
    [[nodiscard]] bool owed() { return *run({"EXISTS", "lockstep:saga:owed"}).integer() == 1; }
    [[nodiscard]] bool saga_locked() { return *run({"EXISTS", "lockstep:saga:lock:4:acme:run-1"}).integer() == 1; }
    /// Policy's answer about compensations; everything else is allowed.
    void about_compensations(std::function<ScriptedKernel::Answer(const cap::PolicyCheckRequest&)> answer) {
        kernel.answer = [answer](const cap::PolicyCheckRequest& question) {
            if (question.labels().contains("saga_compensation")) return answer(question);
            return ScriptedKernel::Answer(ScriptedKernel::says(cap::DECISION_TYPE_ALLOW));
        };
    }
};

// SAGA-01
TEST_F(Sagas, ASuccessfulStepLeavesItsUndoOnTheStackOfItsRun) {
    auto request = step("j1");
    (*request.mutable_env())["mode"] = "book";
    succeed(request);
    const std::string entry = text({"LINDEX", kRunsStack, "0"});
    cap::JobRequest undo;
    ASSERT_TRUE(undo.ParseFromString(entry)) << "interoperable: a serialised JobRequest";
    EXPECT_EQ(undo.topic(), "job.undo");
    EXPECT_EQ(undo.parent_job_id(), "j1");
    EXPECT_EQ(undo.env().at("mode"), "book");
    EXPECT_EQ(metrics.value(Metric::saga_recorded), 1);
    succeed("j2", "");
    EXPECT_EQ(recorded(kWorkflowsStack), 1) << "a job without a run";
}

// SAGA-03, SAGA-04, SAGA-06
TEST_F(Sagas, AFatalFailureSubmitsTheUndoAtOnce) {
    succeed("j1", "");
    const auto before = loop.monotonic();
    fail("j2", "");
    EXPECT_EQ(loop.monotonic(), before);
    ASSERT_EQ(packets().size(), 1u);
    const auto packet = packets()[0];
    const auto& job = packet.job_request();
    EXPECT_TRUE(job.job_id().starts_with("comp-"));
    EXPECT_EQ(packet.trace_id(), job.job_id());
    EXPECT_EQ(packet.sender_id(), "cordum-scheduler-saga");
    EXPECT_EQ(bus.published_on("sys.job.submit")[0].message_id, "jobreq:" + job.job_id());
    EXPECT_EQ(job.priority(), cap::JOB_PRIORITY_CRITICAL);
    for (const auto* flags : {&job.labels(), &job.env()}) {
        EXPECT_EQ(flags->at("saga_compensation"), "true");
        EXPECT_EQ(flags->at("is_compensation"), "true");
        EXPECT_EQ(flags->at("saga_workflow_id"), "wf-2");
    }
    EXPECT_EQ(recorded(kWorkflowsStack), 0);
    EXPECT_FALSE(owed());
    // METR-01
    EXPECT_EQ(metrics.value(Metric::saga_rollbacks), 1);
    EXPECT_EQ(metrics.value(Metric::saga_compensation_dispatched), 1);
    EXPECT_EQ(metrics.value(Metric::saga_rollback_duration), 1);
    EXPECT_EQ(metrics.value(Metric::saga_active), 0);
}

// H-42c
TEST_F(Sagas, TheLastStepIsUndoneFirst) {
    for (const char* job : {"j1", "j2", "j3"}) succeed(job);
    fail("j4");
    EXPECT_EQ(undone(), (Texts{"j3", "j2", "j1"}));
}

// H-13, C-60
TEST_F(Sagas, OneRunsFailureLeavesTheOthersAlone) {
    succeed("j1", "run-1");
    succeed("j2", "run-2");
    fail("j3", "run-1");
    EXPECT_EQ(undone(), Texts{"j1"});
    EXPECT_EQ(recorded("lockstep:saga:4:acme:run-2"), 1);
}

// D-07
TEST_F(Sagas, OneTenantsFailureLeavesTheOthersAloneWhateverTheyCallTheirRunsAndWorkflows) {
    for (const char* run_id : {"run-1", ""}) {
        auto of_other = step(std::string("other-") + run_id, run_id);
        of_other.set_tenant_id("initech");
        succeed(of_other);
    }
    succeed("j1", "run-1");
    succeed("j2", "");
    succeed("j3", "wf-2");
    fail("j4", "run-1");
    EXPECT_EQ(undone(), Texts{"j1"});
    fail("j5", "");
    EXPECT_EQ(undone(), (Texts{"j1", "j2"}));
    loop.run_for(1min);
    EXPECT_EQ(undone(), (Texts{"j1", "j2"}));
    EXPECT_EQ(recorded(kWorkflowsStack), 1);
    EXPECT_EQ(recorded("lockstep:saga:7:initech:run-1"), 1);
    EXPECT_EQ(recorded("lockstep:saga:4:acme:wf-2"), 1);
}

TEST_F(Sagas, WhatAnOlderVersionRecordedIsUndoneWithItsRun) {
    auto before = engine::compensation_template(step("before"));
    ASSERT_TRUE(before);
    run({"LPUSH", "saga:run-1:stack", engine::wire::serialise(*before)});
    succeed("j1");
    fail("j2");
    loop.run_for(15s);
    EXPECT_EQ(undone(), (Texts{"j1", "before"}));
    EXPECT_FALSE(owed());
}

TEST_F(Sagas, ARollbackThatAnOlderVersionOwedIsResumed) {
    auto before = engine::compensation_template(step("before"));
    ASSERT_TRUE(before);
    run({"LPUSH", "saga:run-1:stack", engine::wire::serialise(*before)});
    run({"ZADD", "lockstep:saga:pending", "5", "run-1"});
    loop.run_for(15s);
    EXPECT_EQ(undone(), Texts{"before"});
    EXPECT_EQ(*run({"EXISTS", "lockstep:saga:pending"}).integer(), 0);
}

// C-60
TEST_F(Sagas, ACompensationThatFailsForGoodStartsNoRollback) {
    succeed("j1");
    auto undo = step("undo-of-j0");
    (*undo.mutable_labels())["saga_compensation"] = "true";
    submit(undo);
    result("undo-of-j0", cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_EQ(state("undo-of-j0"), "FAILED");
    EXPECT_TRUE(undone().empty());
    EXPECT_FALSE(owed());
}

TEST_F(Sagas, AFailureThatIsNotFatalRollsNothingBack) {
    succeed("j1");
    submit(step("j2"));
    result("j2", cap::JOB_STATUS_FAILED);
    loop.run_for(1min);
    EXPECT_TRUE(undone().empty());
}

// SAGA-05
TEST_F(Sagas, ADenialUsesTheRecordUpAndTheRollbackEndsWell) {
    succeed("j1");
    succeed("j2");
    about_compensations([first = true](const auto&) mutable {
        const bool deny = std::exchange(first, false);
        return ScriptedKernel::Answer(ScriptedKernel::says(deny ? cap::DECISION_TYPE_DENY : cap::DECISION_TYPE_ALLOW));
    });
    fail("j3");
    EXPECT_EQ(undone(), Texts{"j1"});
    EXPECT_EQ(recorded(), 0);
    EXPECT_FALSE(owed());
    EXPECT_FALSE(saga_locked());
}

// H-42b: no answer is no denial, and what does not fit into one rollback is done by the next.
TEST_F(Sagas, AHungKernelDelaysARollbackAndLosesNothingOfIt) {
    tunables.circuit_fail_budget = 1000;
    scheduler.reset();
    start();
    Texts expected;
    for (int i = 0; i < 20; ++i) {
        succeed("j" + std::to_string(i));
        expected.insert(expected.begin(), "j" + std::to_string(i));
    }
    kernel.latency = 1h;
    about_compensations([](const auto&) { return ScriptedKernel::unreachable(); });
    auto failing = step("last");
    failing.clear_compensation();
    kernel.latency = 0s;
    submit(failing);
    kernel.latency = 1h;
    result("last", cap::JOB_STATUS_FAILED_FATAL);
    loop.run_for(33s);
    EXPECT_GE(recorded(), 1);
    EXPECT_LE(recorded(), 6) << "2 s each, in 30 s";
    EXPECT_FALSE(saga_locked()) << "left for whoever resumes it";
    loop.run_for(1min);
    EXPECT_EQ(undone(), expected);
    EXPECT_FALSE(owed());
}

// H-12
TEST_F(Sagas, AReplicaThatDiesWithTheRollbackLeavesItToOthers) {
    succeed("j1");
    bus.latency = 1s;
    heartbeat("w1");
    auto failing = step("j2");
    failing.clear_compensation();
    submit(failing);
    loop.run_for(2s);
    result("j2", cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_TRUE(saga_locked());
    crash();
    EXPECT_EQ(recorded(), 1);
    EXPECT_TRUE(owed());
    bus.latency = 0s;
    start();
    loop.run_for(1min);
    EXPECT_TRUE(undone().empty() || undone() == Texts{"j1"});
    EXPECT_EQ(recorded(), 1) << "the dead one's lock still lives";
    loop.run_for(90s);
    EXPECT_EQ(undone(), Texts{"j1"});
    EXPECT_EQ(recorded(), 0);
    EXPECT_FALSE(owed());
}

// H-12: published, and then the record could not be taken off.
TEST_F(Sagas, WhatIsPublishedAgainIsTheSameJob) {
    succeed("j1");
    int calls = 0;
    on_script(scripts.saga_next, [&calls] { return ++calls == 2 ? CallFault::not_applied : CallFault::none; });
    fail("j2");
    EXPECT_EQ(packets().size(), 1u);
    EXPECT_TRUE(owed());
    loop.run_for(15s);
    ASSERT_EQ(packets().size(), 2u);
    EXPECT_EQ(packets()[0].job_request().job_id(), packets()[1].job_request().job_id());
    EXPECT_EQ(bus.published_on("sys.job.submit")[0].message_id, bus.published_on("sys.job.submit")[1].message_id);
    EXPECT_FALSE(owed());
}

TEST_F(Sagas, APublishThatFailsStopsTheRollbackAndIsCountedAndTriedAgain) {
    succeed("j1");
    succeed("j2");
    int refusals = 1;
    bus.on_publish = [&](const ScriptedBus::Published& message) -> Outcome<PublishAck> {
        if (message.subject == "sys.job.submit" && refusals-- > 0) return lost();
        return bus.store(message);
    };
    fail("j3");
    EXPECT_EQ(metrics.value(Metric::saga_compensation_failed), 1);
    EXPECT_EQ(recorded(), 2) << "the order stands";
    loop.run_for(15s);
    EXPECT_EQ(undone(), (Texts{"j2", "j1"}));
    EXPECT_EQ(metrics.value(Metric::saga_compensation_dispatched), 2);
}

// H-14, H-48
TEST_F(Sagas, ASuccessStoredWithoutAnAnswerIsRecordedOnce) {
    submit(step("j1"));
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->handed_back(1s));
    on_script(scripts.commit, nullptr);
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(recorded(), 1);
}

TEST_F(Sagas, AFatalFailureStoredWithoutAnAnswerIsRolledBackAllTheSame) {
    succeed("j1");
    submit(step("j2"));
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(result("j2", cap::JOB_STATUS_FAILED_FATAL)->handed_back(1s));
    on_script(scripts.commit, nullptr);
    loop.run_for(15s);
    EXPECT_EQ(undone(), Texts{"j1"});
}

// H-42a
TEST_F(Sagas, AStepThatSucceedsAfterTheRollbackIsUndoneToo) {
    succeed("j1");
    submit(step("slow"));
    fail("j2");
    EXPECT_EQ(undone(), Texts{"j1"});
    result("slow", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("slow"), "SUCCEEDED");
    loop.run_for(15s);
    EXPECT_EQ(undone(), (Texts{"j1", "slow"}));
    EXPECT_EQ(recorded(), 0);
}

// H-36: waiting would not make it readable.
TEST_F(Sagas, AResultWhoseRequestCannotBeReadEndsTheJobAndTellsOfIt) {
    submit(step("j1"));
    const std::string stored = text({"GET", "job:req:j1"});
    run({"SET", "job:req:j1", stored.substr(0, stored.size() / 2)});
    EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(recorded(), 0);
    EXPECT_EQ(dead_letter_code("saga-unknown-j1"), "saga_unmarshal_failed");
    EXPECT_EQ(dead_letters().size(), 1u);
}

TEST_F(Sagas, ARecordThatCannotBeReadBecomesADeadLetterAndHoldsNothingUp) {
    succeed("j1");
    run({"LPUSH", kRunsStack, "\xff no message"});
    fail("j2");
    EXPECT_EQ(undone(), Texts{"j1"});
    EXPECT_EQ(metrics.value(Metric::saga_unmarshal_errors), 1);
    const auto letters = dead_letters();
    const auto of_saga = std::ranges::find_if(letters, [](const auto& message) {
        return engine::wire::decode(message.payload)->sender_id() == "cordum-scheduler-saga";
    });
    ASSERT_NE(of_saga, letters.end());
    const auto packet = *engine::wire::decode(of_saga->payload);
    EXPECT_EQ(packet.job_result().job_id(), "");
    EXPECT_EQ(packet.job_result().status(), cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_EQ(packet.job_result().error_code(), "saga_unmarshal_failed");
    ASSERT_TRUE(packet.trace_id().starts_with("saga-unmarshal-"));
    EXPECT_EQ(dead_letter_code(packet.trace_id()), "saga_unmarshal_failed");
    EXPECT_EQ(text({"GET", "lockstep:saga:unreadable:" + packet.trace_id()}), "\xff no message");
}

// The stack and its lock are shared with implementations that lock with the constant 1.
TEST_F(Sagas, ARollbackOfSomebodyElseIsWaitedFor) {
    succeed("j1", "");
    run({"SET", "saga:wf-2:lock", "1", "PX", "30000"});
    fail("j2", "");
    loop.run_for(25s);
    EXPECT_TRUE(undone().empty());
    loop.run_for(20s);
    EXPECT_EQ(undone(), Texts{"j1"});
}

// One that cannot even be begun goes to the end of the queue, as every other: sixteen of them would fill all places for ever.
TEST_F(Sagas, SagasWhoseKeysHoldAnotherTypeHideNobody) {
    const std::string pending(engine::keys::kSagasPending);
    for (int i = 0; i < 40; ++i) {
        const std::string saga = "broken-" + std::to_string(i);
        run({"LPUSH", engine::keys::saga_lock(saga), "a stranger's"});
        run({"ZADD", pending, std::to_string(i + 1), saga});
    }
    succeed("j1");
    on_script(scripts.saga_next, [] { return CallFault::not_applied; });
    fail("j2");
    on_script(scripts.saga_next, nullptr);
    EXPECT_TRUE(undone().empty());
    loop.run_for(60s);
    EXPECT_EQ(undone(), Texts{"j1"});
    const engine::SagaName first{engine::SagaName::Kind::shared, {}, "broken-0"};
    EXPECT_TRUE(log.told("rollback interrupted, will be resumed", "saga", first.text()));
}

TEST_F(Sagas, ADrainFinishesTheStepItIsAtAndLeavesTheRestWithoutALock) {
    for (const char* job : {"j1", "j2", "j3"}) succeed(job);
    heartbeat("w1");
    auto failing = step("j4");
    failing.clear_compensation();
    submit(failing);
    bus.latency = 1s;
    result("j4", cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_EQ(scheduler->in_flight(), 2u) << "the rollback, and the dead letter's announcement";
    loop.wait(scheduler->drain());
    EXPECT_EQ(undone(), Texts{"j3"});
    EXPECT_EQ(recorded(), 2);
    EXPECT_FALSE(saga_locked());
    EXPECT_TRUE(owed());
    scheduler.reset();
    EXPECT_TRUE(loop.idle());
    bus.latency = 0s;
    start();
    loop.run_for(15s);
    EXPECT_EQ(undone(), (Texts{"j3", "j2", "j1"}));
}

TEST_F(Sagas, ADrainThatRunsOutOfTimeReleasesTheLock) {
    succeed("j1");
    heartbeat("w1");
    auto failing = step("j2");
    failing.clear_compensation();
    submit(failing);
    bus.latency = 1h;
    result("j2", cap::JOB_STATUS_FAILED_FATAL);
    loop.wait(scheduler->drain());
    EXPECT_FALSE(saga_locked());
    EXPECT_TRUE(owed());
    EXPECT_EQ(recorded(), 1);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
