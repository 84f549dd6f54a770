// Outputs under policy: the quick look before a success is recorded, the thorough one after it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/output/output_verdict.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using engine::OutputDecision;
using engine::OutputPhase;
using engine::OutputVerdict;
using OutputAnswer = ScriptedKernel::OutputAnswer;

constexpr const char* kMarks = "lockstep:output:scan_pending";
constexpr const char* kCircuit = "cordum:cb:safety:output:failures";

class Output : public SchedulerTest {
protected:
    void SetUp() override {
        for (const engine::RedisScript* script :
             {&scripts.circuit_admit, &scripts.circuit_failure, &scripts.circuit_success, &scripts.claim_scans,
              &scripts.repair_dead_letter})
            redis.run({"SCRIPT", "LOAD", script->text()});
        tunables.output_policy_enabled = true;
        kernel.output_answer = [this](const auto& question) {
            const bool thorough = !question.result_ptr().empty();
            return thorough ? content_answer(question) : quick_answer(question);
        };
        start();
    }
    void restart() {
        crash();
        start();
    }

    /// A worker's success with this output.
    Fate succeed(const std::string& job, const std::string& content = "the output", std::uint64_t sequence = 1) {
        if (!content.empty()) run({"SET", "res:" + job, content});
        cap::JobResult success;
        success.set_job_id(job);
        success.set_status(cap::JOB_STATUS_SUCCEEDED);
        success.set_worker_id("w1");
        success.set_result_ptr("redis://res:" + job);
        return result(success, sequence);
    }
    static std::function<OutputAnswer(const cap_output::OutputCheckRequest&)> says(
        cap_output::OutputDecision decision) {
        return [decision](const auto&) { return ScriptedKernel::output(decision, "because"); };
    }
    static std::function<OutputAnswer(const cap_output::OutputCheckRequest&)> says_redact(std::int64_t offset,
                                                                                          std::int64_t length) {
        return [=](const auto&) {
            auto answer = ScriptedKernel::output(cap_output::OUTPUT_DECISION_REDACT, "private");
            answer.add_findings()->set_offset(offset);
            answer.mutable_findings(0)->set_length(length);
            return answer;
        };
    }
    static OutputAnswer away(const cap_output::OutputCheckRequest&) { return ScriptedKernel::output_unreachable(); }

    /// Two large outputs, whose scans take half a minute.
    void fill_the_room() {
        kernel.output_latency = 80ms;
        for (const char* job : {"large-0", "large-1"}) {
            run_job(job);
            succeed(job, std::string(70'000, 'x'));
        }
        loop.run_for(10ms);
        kernel.output_latency = 29s;
        loop.run_for(100ms);
        EXPECT_EQ(asked(true), 2u);
        kernel.output_latency = {};
    }
    [[nodiscard]] std::size_t asked(bool thorough) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            kernel.output_questions, [thorough](const auto& q) { return !q.result_ptr().empty() == thorough; }));
    }
    [[nodiscard]] std::optional<OutputVerdict> verdict(const std::string& job) {
        const std::string record = text({"GET", "job:" + job + ":output_decision"});
        EXPECT_EQ(record, field(job, "output_safety"));
        return engine::parse_output_record(record);
    }
    [[nodiscard]] bool marked(const std::string& job) {
        const bool listed = !run({"ZSCORE", kMarks, job}).is_nil();
        EXPECT_EQ(listed, !field(job, "ls_scan_pending").empty());
        return listed;
    }
    [[nodiscard]] std::vector<cap::JobProgress> audit() const {
        std::vector<cap::JobProgress> events;
        for (const auto& message : bus.broadcast) {
            if (message.subject == "sys.audit.output_policy")
                events.push_back(engine::wire::decode(message.payload)->job_progress());
        }
        return events;
    }

    std::function<OutputAnswer(const cap_output::OutputCheckRequest&)> quick_answer =
        says(cap_output::OUTPUT_DECISION_ALLOW);
    std::function<OutputAnswer(const cap_output::OutputCheckRequest&)> content_answer =
        says(cap_output::OUTPUT_DECISION_ALLOW);
};

// OUT-05, OUT-12
TEST_F(Output, WhatPolicyAllowsSucceeds) {
    run_job("j1");
    EXPECT_TRUE(succeed("j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(field("j1", "result_ptr"), "redis://res:j1");
    EXPECT_EQ(asked(false), 1u);
    EXPECT_EQ(asked(true), 1u);
    const auto& quick = kernel.output_questions.at(0);
    EXPECT_EQ(quick.output_content(), "");
    const auto& thorough = kernel.output_questions.at(1);
    EXPECT_EQ(thorough.result_ptr(), "redis://res:j1");
    EXPECT_EQ(thorough.output_content(), "the output");
    EXPECT_EQ(thorough.output_size_bytes(), 10);
    EXPECT_TRUE(thorough.content_hash().starts_with("sha256:"));
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->decision, OutputDecision::allow);
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::async);
    EXPECT_GT(verdict("j1")->checked_at, 0);
    EXPECT_TRUE(dead_letters().empty());
    EXPECT_TRUE(audit().empty());
    EXPECT_FALSE(marked("j1"));
    EXPECT_EQ(metrics.value(Metric::output_policy_checked, {"job.default"}), 1);
    EXPECT_EQ(metrics.value(Metric::output_check_latency, {"job.default", "sync"}), 1);
    EXPECT_EQ(metrics.value(Metric::output_check_latency, {"job.default", "async"}), 1);
}

// OUT-05: before anything is scanned.
TEST_F(Output, TheVerdictOfTheQuickLookIsStoredWithTheState) {
    quick_answer = [this](const auto&) {
        content_answer = away;
        return ScriptedKernel::output(cap_output::OUTPUT_DECISION_ALLOW);
    };
    run_job("j1");
    succeed("j1");
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::sync);
    EXPECT_TRUE(marked("j1"));
}

// OUT-06
TEST_F(Output, WhatTheQuickLookWithholdsNeverSucceeds) {
    quick_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    EXPECT_TRUE(succeed("j1")->acked());
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(history("j1").back(), "OUTPUT_QUARANTINED");
    EXPECT_EQ(std::ranges::count(history("j1"), "SUCCEEDED"), 0);
    ASSERT_TRUE(verdict("j1"));
    EXPECT_TRUE(verdict("j1")->withheld());
    EXPECT_EQ(verdict("j1")->original_ptr, "redis://res:j1");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined");
    ASSERT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(engine::wire::decode(dead_letters()[0].payload)->job_result().status(), cap::JOB_STATUS_DENIED);
    ASSERT_EQ(audit().size(), 1u);
    EXPECT_EQ(audit()[0].step_id(), "output_policy");
    EXPECT_EQ(audit()[0].status(), cap::JOB_STATUS_DENIED);
    EXPECT_EQ(audit()[0].percent(), 100);
    EXPECT_EQ(audit()[0].message(), "because (topic=job.default)");
    EXPECT_EQ(asked(true), 0u);
    EXPECT_FALSE(marked("j1"));
    EXPECT_EQ(metrics.value(Metric::jobs_completed, {"job.default", "OUTPUT_QUARANTINED"}), 1);
    EXPECT_EQ(metrics.value(Metric::output_policy_quarantined, {"job.default"}), 1);
    EXPECT_EQ(metrics.value(Metric::output_denials, {"job.default"}), 1);
}

// A worker may report before anybody has recorded that its job was sent.
TEST_F(Output, AnEarlyResultIsWithheldAllTheSame) {
    quick_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    submit("j1");
    run({"HSET", "job:meta:j1", "state", "DISPATCHED"});
    run({"SET", "job:state:j1", "DISPATCHED"});
    EXPECT_TRUE(succeed("j1")->acked());
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined");
}

// OUT-07
TEST_F(Output, SwitchedOffNobodyIsAsked) {
    tunables.output_policy_enabled = false;
    restart();
    run_job("j1");
    succeed("j1");
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(kernel.output_questions.empty());
    EXPECT_FALSE(verdict("j1"));
    EXPECT_FALSE(marked("j1"));
    EXPECT_EQ(metrics.value(Metric::output_policy_skipped, {"job.default"}), 1);
}

// OUT-08
TEST_F(Output, AQuickLookWithoutAnAnswerLetsTheOutputPass) {
    quick_answer = away;
    content_answer = away;
    run_job("j1");
    EXPECT_TRUE(succeed("j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_FALSE(verdict("j1"));
    EXPECT_TRUE(marked("j1")) << "it is still to be scanned";
    EXPECT_EQ(metrics.value(Metric::output_policy_skipped, {"job.default"}), 1);
}

TEST_F(Output, AQuickLookHasATenthOfASecond) {
    kernel.output_latency = 200ms;
    run_job("j1");
    const Fate fate = succeed("j1");
    loop.run_for(99ms);
    EXPECT_EQ(state("j1"), "RUNNING");
    loop.run_for(1ms);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_FALSE(verdict("j1"));
    loop.run_for(1s);
    ASSERT_TRUE(verdict("j1")) << "the scan has its own time";
}

// OUT-09
TEST_F(Output, FailuresAreNotLookedAt) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_FAILED);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_TRUE(kernel.output_questions.empty());
}

TEST_F(Output, WithoutTheRequestThereIsNothingToJudgeBy) {
    run_job("j1");
    run({"DEL", "job:req:j1"});
    succeed("j1");
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(kernel.output_questions.empty());
    EXPECT_EQ(log.times_reached("output_without_request"), 1);
    EXPECT_EQ(metrics.value(Metric::output_policy_skipped, {"job.default"}), 1);
}

// H-38, C-46
TEST_F(Output, AStoreThatCannotBeReadIsNoReasonToSkipTheCheck) {
    tunables.output_policy_fail_mode = "closed";
    restart();
    run_job("j1");
    on_script(scripts.take_lock, [] { return CallFault::not_applied; });
    EXPECT_TRUE(succeed("j1")->handed_back(1s));
    EXPECT_EQ(state("j1"), "RUNNING");
    on_script(scripts.take_lock, nullptr);
    succeed("j1");
    EXPECT_EQ(asked(false), 1u);
}

// OUT-10
TEST_F(Output, WhatTheScanWithholdsHasSucceededBefore) {
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    kernel.output_latency = 50ms;
    run_job("j1");
    const Fate fate = succeed("j1");
    loop.run_for(50ms);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(marked("j1"));
    loop.run_for(2s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    ASSERT_TRUE(verdict("j1"));
    EXPECT_TRUE(verdict("j1")->withheld());
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::async);
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined_async");
    EXPECT_EQ(dead_letters().size(), 1u);
    ASSERT_EQ(audit().size(), 1u);
    EXPECT_EQ(audit()[0].message(), "because (topic=job.default)");
    EXPECT_FALSE(marked("j1"));
    EXPECT_FALSE(locked("j1"));
}

// OUT-11, FAIL-05
TEST_F(Output, AScanWithoutAnAnswerFailsOpenByDefault) {
    content_answer = away;
    run_job("j1");
    succeed("j1");
    loop.run_for(5s);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(asked(true), 3u);
    EXPECT_FALSE(marked("j1"));
    EXPECT_TRUE(dead_letters().empty());
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::sync) << "the quick look's, which stands";
    EXPECT_EQ(log.times_reached("output_passed_unseen"), 1);
}

// OUT-11
TEST_F(Output, AScanWithoutAnAnswerWithholdsTheOutputWhenItFailsClosed) {
    tunables.output_policy_fail_mode = "closed";
    restart();
    content_answer = away;
    run_job("j1");
    succeed("j1");
    loop.run_for(5s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::async);
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined_async");
}

TEST_F(Output, AScanIsTriedAgainBeforeTheFailModeDecides) {
    tunables.output_policy_fail_mode = "closed";
    restart();
    int failures = 2;
    content_answer = [&failures](const auto& question) {
        return failures-- > 0 ? away(question) : ScriptedKernel::output(cap_output::OUTPUT_DECISION_ALLOW);
    };
    run_job("j1");
    succeed("j1");
    loop.run_for(5s);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::async);
}

TEST_F(Output, AScanHasHalfAMinuteAndItsTimeoutsAreCounted) {
    run_job("j1");
    succeed("j1");
    kernel.output_latency = 40s;
    run_job("j2");
    succeed("j2");
    loop.run_for(29s);
    EXPECT_EQ(metrics.value(Metric::output_policy_async_timeout, {"job.default"}), 0);
    loop.run_for(2s);
    EXPECT_EQ(metrics.value(Metric::output_policy_async_timeout, {"job.default"}), 1);
}

// H-49: the circuit is open for a while, and that is no verdict on anybody's output.
TEST_F(Output, AnOpenCircuitIsWaitedFor) {
    tunables.output_policy_fail_mode = "closed";
    restart();
    run({"SET", kCircuit, "3", "PX", "30000"});
    run({"SET", "lockstep:cb:safety:output:trip", "1"});
    run_job("j1");
    EXPECT_TRUE(succeed("j1")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(kernel.output_questions.empty());
    loop.run_for(20s);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    loop.run_for(20s);
    EXPECT_EQ(asked(true), 1u);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_FALSE(marked("j1"));
}

// FAIL-10
TEST_F(Output, TroubleWithOutputsDoesNotStopInputsNorTheOtherWayRound) {
    quick_answer = away;
    content_answer = away;
    run_job("j1");
    succeed("j1");
    loop.run_for(5s);
    EXPECT_EQ(text({"GET", kCircuit}), "3");
    EXPECT_EQ(text({"GET", "cordum:cb:safety:failures"}), "");
    heartbeat("w1");
    run_job("j2");
    run({"DEL", kCircuit, "lockstep:cb:safety:output:trip"});
    kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    for (const char* job : {"a", "b", "c"}) submit(job);
    EXPECT_EQ(text({"GET", "cordum:cb:safety:failures"}), "3");
    const std::size_t before = asked(false);
    succeed("j2");
    EXPECT_EQ(asked(false), before + 1);
}

// H-41: a mark outlives the replica that left it.
TEST_F(Output, AScanThatDiedWithItsReplicaIsDoneByAnother) {
    kernel.output_latency = 50ms;
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    succeed("j1");
    loop.run_for(60ms);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    restart();
    loop.run_for(40s);
    EXPECT_EQ(state("j1"), "SUCCEEDED") << "held by the one that died";
    loop.run_for(20s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(log.times_reached("left_scan_taken_up"), 1);
    const auto& again = kernel.output_questions.back();
    EXPECT_EQ(again.worker_id(), "w1");
    EXPECT_EQ(again.output_content(), "the output");
}

TEST_F(Output, AResultThatComesAgainIsNotScannedAgain) {
    run_job("j1");
    succeed("j1");
    succeed("j1");
    loop.run_for(60s);
    EXPECT_EQ(asked(false), 1u);
    EXPECT_EQ(asked(true), 1u);
}

// The commit's answer got lost: the mark says what is still to be done.
TEST_F(Output, ASuccessWhoseCommitWasNotAnsweredIsScannedAfterAll) {
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    on_script(scripts.commit, [] { return CallFault::unknown; });
    EXPECT_TRUE(succeed("j1")->handed_back(1s));
    on_script(scripts.commit, nullptr);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_TRUE(succeed("j1")->acked());
    loop.run_for(60s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
}

TEST_F(Output, AVerdictThatCannotBeRecordedLeavesTheMark) {
    run_job("j1");
    bool committed = false;
    on_script(scripts.commit,
              [&committed] { return std::exchange(committed, true) ? CallFault::not_applied : CallFault::none; });
    succeed("j1");
    loop.run_for(5s);
    EXPECT_TRUE(marked("j1"));
    EXPECT_EQ(log.times_reached("scan_not_recorded"), 1);
    on_script(scripts.commit, nullptr);
    loop.run_for(60s);
    EXPECT_FALSE(marked("j1"));
    EXPECT_EQ(asked(true), 2u);
}

// Asked again, policy might not answer, and the output would pass.
TEST_F(Output, AWordAgainstTheOutputIsKeptUntilItIsRecorded) {
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    bool committed = false;
    on_script(scripts.commit,
              [&committed] { return std::exchange(committed, true) ? CallFault::not_applied : CallFault::none; });
    succeed("j1");
    content_answer = away;
    loop.run_for(120s);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    on_script(scripts.commit, nullptr);
    loop.run_for(10s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined_async");
    EXPECT_EQ(asked(true), 1u);
}

// D-11: nobody can see in the store what the store does not take.
TEST_F(Output, AWordAgainstTheOutputThatIsNotRecordedIsToldOnTheBus) {
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    bool committed = false;
    on_script(scripts.commit,
              [&committed] { return std::exchange(committed, true) ? CallFault::not_applied : CallFault::none; });
    bool refusing = true;
    bus.on_publish = [this, &refusing](const auto& message) -> Outcome<PublishAck> {
        if (refusing && message.subject == "sys.job.dlq") return refused();
        return bus.store(message);
    };
    succeed("j1");
    loop.run_for(2s);
    EXPECT_EQ(log.times_reached("quarantine_failed"), 0) << "a moment is no trouble";
    loop.run_for(28s);
    EXPECT_EQ(log.times_reached("quarantine_failed"), 1);
    bus.published.clear();
    refusing = false;
    loop.run_for(60s);
    ASSERT_EQ(dead_letters().size(), 1u) << "told until the bus takes it, and then no more";
    const auto letter = engine::wire::decode(dead_letters()[0].payload)->job_result();
    EXPECT_EQ(letter.job_id(), "j1");
    EXPECT_EQ(letter.error_code(), "quarantine_failed");
    EXPECT_EQ(letter.status(), cap::JOB_STATUS_FAILED);
    EXPECT_TRUE(letter.error_message().ends_with(": because")) << letter.error_message();
    EXPECT_EQ(metrics.value(Metric::output_quarantine_failed, {"job.default"}), 1);
    on_script(scripts.commit, nullptr);
    loop.run_for(10s);
    ASSERT_EQ(dead_letters().size(), 2u);
    EXPECT_NE(dead_letters()[0].message_id, dead_letters()[1].message_id) << "no repetition of the first";
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
}

TEST_F(Output, ASchedulerThatStopsWithAWordAgainstAnOutputInHandTellsOfIt) {
    content_answer = says(cap_output::OUTPUT_DECISION_QUARANTINE);
    run_job("j1");
    bool committed = false;
    on_script(scripts.commit,
              [&committed] { return std::exchange(committed, true) ? CallFault::not_applied : CallFault::none; });
    succeed("j1");
    loop.wait(scheduler->drain());
    ASSERT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(engine::wire::decode(dead_letters()[0].payload)->job_result().error_code(), "quarantine_failed");
    EXPECT_TRUE(marked("j1"));
}

// C-17
TEST_F(Output, AQuickLookThatWantsARedactionGetsOne) {
    quick_answer = says(cap_output::OUTPUT_DECISION_REDACT);
    content_answer = says_redact(4, 6);
    run_job("j1");
    EXPECT_TRUE(succeed("j1", "the secret!")->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    const std::string pointer = field("j1", "result_ptr");
    ASSERT_TRUE(pointer.starts_with("redis://res:j1:redacted:")) << pointer;
    EXPECT_EQ(text({"GET", pointer.substr(8)}), "the [REDACTED]!");
    EXPECT_EQ(*run({"PTTL", pointer.substr(8)}).integer(), 24 * 3600 * 1000);
    EXPECT_EQ(text({"GET", "job:result_ptr:j1"}), pointer);
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->redacted_ptr, pointer);
    EXPECT_EQ(verdict("j1")->original_ptr, "redis://res:j1");
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::sync);
    EXPECT_TRUE(dead_letters().empty());
    ASSERT_EQ(audit().size(), 1u);
    EXPECT_EQ(audit()[0].status(), cap::JOB_STATUS_SUCCEEDED);
    EXPECT_FALSE(marked("j1")) << "its content has been looked at";
    EXPECT_EQ(metrics.value(Metric::output_redactions, {"job.default"}), 1);
    EXPECT_EQ(metrics.value(Metric::output_check_latency, {"job.default", "sync_redact"}), 1);
}

TEST_F(Output, ARedactionThatCannotBeMadeIsAQuarantine) {
    quick_answer = says(cap_output::OUTPUT_DECISION_REDACT);
    content_answer = away;
    run_job("away");
    succeed("away");
    EXPECT_EQ(state("away"), "OUTPUT_QUARANTINED");
    content_answer = says_redact(0, 3);
    run_job("missing");
    const Fate fate = succeed("missing", "");
    loop.run_for(1s);
    EXPECT_TRUE(fate->acked());
    EXPECT_EQ(state("missing"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(log.times_reached("nothing_to_redact"), 1);
    content_answer = says(cap_output::OUTPUT_DECISION_ALLOW);
    run_job("unsure");
    succeed("unsure");
    EXPECT_EQ(state("unsure"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(dead_letter_code("unsure"), "output_quarantined");
}

// H-19
TEST_F(Output, ALateRedactionTakesThePlaceOfTheOutput) {
    content_answer = says_redact(4, 6);
    run_job("j1");
    succeed("j1", "the secret!");
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    const std::string pointer = field("j1", "result_ptr");
    ASSERT_TRUE(pointer.starts_with("redis://res:j1:redacted:")) << pointer;
    EXPECT_EQ(text({"GET", pointer.substr(8)}), "the [REDACTED]!");
    EXPECT_EQ(text({"GET", "job:result_ptr:j1"}), pointer);
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->redacted_ptr, pointer);
    EXPECT_EQ(verdict("j1")->phase, OutputPhase::async);
    EXPECT_EQ(audit().size(), 1u);
    EXPECT_FALSE(marked("j1"));
}

TEST_F(Output, ALateRedactionThatCannotBeMadeIsAQuarantine) {
    content_answer = says_redact(0, 3);
    run_job("j1");
    succeed("j1", "");
    loop.run_for(1s);
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined_async");
}

// H-55
TEST_F(Output, ALongOutputIsSentInPartAndItsSizeInFull) {
    run_job("j1");
    succeed("j1", std::string(3'000'000, 'x'));
    ASSERT_EQ(asked(true), 1u);
    EXPECT_EQ(kernel.output_questions.back().output_size_bytes(), 3'000'000);
    EXPECT_EQ(kernel.output_questions.back().output_content().size(), 2'097'152u);
}

TEST_F(Output, OfOneTenantsLargeOutputsTwoAreScannedAtOnceAndSmallOnesAreNotHeldUp) {
    kernel.output_latency = 80ms;
    for (int i = 0; i < 5; ++i) {
        run_job("large-" + std::to_string(i));
        succeed("large-" + std::to_string(i), std::string(70'000, 'x'));
    }
    run_job("small");
    succeed("small");
    loop.run_for(100ms);
    EXPECT_EQ(asked(true), 3u) << "two and the small one";
    loop.run_for(80ms);
    EXPECT_EQ(asked(true), 5u);
    EXPECT_FALSE(marked("small"));
    EXPECT_TRUE(marked("large-4"));
    loop.run_for(160ms);
    EXPECT_EQ(asked(true), 6u);
    EXPECT_FALSE(marked("large-4"));
}

TEST_F(Output, AScanThatFindsNoRoomInTimeIsLeftToItsMark) {
    fill_the_room();
    run_job("late");
    succeed("late", std::string(70'000, 'x'));
    loop.run_for(16s);
    EXPECT_EQ(log.times_reached("scan_left_to_its_mark"), 1);
    EXPECT_TRUE(marked("late"));
    loop.run_for(60s);
    EXPECT_EQ(asked(true), 3u);
    EXPECT_FALSE(marked("late"));
    EXPECT_EQ(log.times_reached("left_scan_taken_up"), 1);
}

TEST_F(Output, AStoppingSchedulerDoesNotWaitForRoom) {
    kernel.output_latency = 90ms;
    for (int i = 0; i < 40; ++i) {
        run_job("large-" + std::to_string(i));
        succeed("large-" + std::to_string(i), std::string(70'000, 'x'));
    }
    loop.run_for(100ms);
    const auto began = loop.monotonic();
    loop.wait(scheduler->drain());
    EXPECT_LT(loop.monotonic() - began, 500ms);
    EXPECT_TRUE(marked("large-39"));
}

TEST_F(Output, ARedactionForWhichThereIsNoRoomIsMadeLater) {
    fill_the_room();
    quick_answer = says(cap_output::OUTPUT_DECISION_REDACT);
    content_answer = says_redact(4, 6);
    run_job("private");
    const Fate fate = succeed("private", std::string(70'000, 'x'), 500);
    loop.run_for(5s);
    EXPECT_TRUE(fate->handed_back(5s));
    EXPECT_EQ(state("private"), "RUNNING");
    loop.run_for(30s);
    EXPECT_TRUE(succeed("private", std::string(70'000, 'x'), 500)->acked()) << "it comes again";
    EXPECT_EQ(state("private"), "SUCCEEDED");
}

TEST_F(Output, ALongOutputThatPassesSaysHowMuchOfItWasSeen) {
    run_job("j1");
    succeed("j1", std::string(3'000'000, 'x'));
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    const auto record = nlohmann::json::parse(field("j1", "output_safety"));
    EXPECT_EQ(record.value("partial", false), true);
    ASSERT_TRUE(verdict("j1"));
    EXPECT_EQ(verdict("j1")->scanned_bytes, 2'097'152);
    EXPECT_EQ(verdict("j1")->output_bytes, 3'000'000);
    ASSERT_EQ(audit().size(), 1u);
    EXPECT_EQ(audit()[0].message(),
              "because (partial: the first 2097152 of 3000000 bytes were scanned) (topic=job.default)");
    EXPECT_EQ(metrics.value(Metric::output_scanned_in_part, {"job.default"}), 1);
    EXPECT_EQ(log.times_reached("output_scanned_in_part"), 1);
    run_job("j2");
    succeed("j2", std::string(2'097'152, 'x'));
    EXPECT_FALSE(nlohmann::json::parse(field("j2", "output_safety")).contains("partial"));
}

// What lies behind the part that was seen has no verdict.
TEST_F(Output, ALongOutputDoesNotPassWhereWhatNobodyHasSeenIsWithheld) {
    tunables.output_policy_fail_mode = "closed";
    restart();
    run_job("j1");
    succeed("j1", std::string(3'000'000, 'x'));
    EXPECT_EQ(state("j1"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(field("j1", "failure_reason"),
              "because (partial: the first 2097152 of 3000000 bytes were scanned); the rest has no verdict, and output "
              "policy fails closed");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined_async");
    content_answer = says_redact(0, 3);
    run_job("j2");
    succeed("j2", std::string(3'000'000, 'x'));
    EXPECT_EQ(state("j2"), "SUCCEEDED") << "what stands in for it ends where policy has stopped looking";
}

TEST_F(Output, AnOutputMayAppearAMomentAfterItsResult) {
    run_job("j1");
    succeed("j1", "");
    loop.run_for(450ms);
    EXPECT_EQ(asked(true), 0u);
    run({"SET", "res:j1", "late"});
    loop.run_for(50ms);
    ASSERT_EQ(asked(true), 1u);
    EXPECT_EQ(kernel.output_questions.back().output_content(), "late");
}

TEST_F(Output, AnOutputThatNeverAppearsIsJudgedWithoutContent) {
    run_job("j1");
    succeed("j1", "");
    loop.run_for(500ms);
    ASSERT_EQ(asked(true), 1u);
    EXPECT_EQ(kernel.output_questions.back().output_content(), "");
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

// What one worker writes into its results must not take the check away from all others.
TEST_F(Output, BadPointersDoNotOpenTheCircuit) {
    for (const char* job : {"a", "b", "c", "d"}) {
        run_job(job);
        cap::JobResult success;
        success.set_job_id(job);
        success.set_status(cap::JOB_STATUS_SUCCEEDED);
        success.set_worker_id("w1");
        success.set_result_ptr("file:///etc/passwd");
        result(success);
        loop.run_for(5s);
        heartbeat("w1");
    }
    EXPECT_EQ(asked(true), 0u);
    EXPECT_EQ(text({"GET", kCircuit}), "");
    EXPECT_EQ(state("d"), "SUCCEEDED");
}

// D-30
TEST_F(Output, AResultThatPointsToDataOfAnotherTenantIsWithheldUnread) {
    run({"HSET", "job:meta:theirs", "state", "SUCCEEDED", "tenant", "initech"});
    run({"SET", "res:theirs", "their output"});
    const auto report = [this](const std::string& job, const std::string& pointer) {
        run_job(job);
        cap::JobResult success = result_of(job, cap::JOB_STATUS_SUCCEEDED);
        success.set_result_ptr(pointer);
        EXPECT_TRUE(result(success)->acked());
        return state(job);
    };
    EXPECT_EQ(report("j1", "redis://res:theirs"), "OUTPUT_QUARANTINED");
    EXPECT_EQ(field("j1", "result_ptr"), "");
    EXPECT_EQ(dead_letter_code("j1"), "output_quarantined");
    EXPECT_TRUE(kernel.output_questions.empty());
    EXPECT_EQ(report("j2", "s3://bucket/out"), "SUCCEEDED") << "nobody here reads it";
    EXPECT_EQ(asked(true), 0u);
    tunables.output_policy_enabled = false;
    restart();
    heartbeat("w1");
    EXPECT_EQ(report("j3", "redis://res:theirs"), "FAILED");
    EXPECT_EQ(field("j3", "result_ptr"), "");
    EXPECT_EQ(dead_letter_code("j3"), "invalid_result_pointer");
    EXPECT_EQ(report("j4", "redis://res:j4"), "SUCCEEDED");
}

TEST_F(Output, AResultWithoutAPointerIsJudgedToo) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(kernel.output_questions.size(), 2u);
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_FALSE(marked("j1"));
}

TEST_F(Output, ACheckThatOutlivesTheLockDecidesNothing) {
    tunables.job_lock_ttl = 50ms;
    restart();
    kernel.output_latency = 80ms;
    run_job("j1");
    on_script(scripts.renew_lock, [] { return CallFault::not_applied; });
    const Fate fate = succeed("j1");
    loop.run_for(90ms);
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(log.times_reached("output_check_outlived_lock"), 1);
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(Output, AStoppingSchedulerFinishesItsScans) {
    kernel.output_latency = 80ms;
    run_job("j1");
    succeed("j1");
    loop.run_for(80ms);
    kernel.output_latency = 1s;
    loop.wait(scheduler->drain());
    EXPECT_FALSE(marked("j1"));
    EXPECT_FALSE(locked("j1"));
}

TEST_F(Output, AStoppingSchedulerDoesNotWaitForTheNextTryOfAScan) {
    content_answer = away;
    run_job("j1");
    succeed("j1");
    loop.run_for(100ms);
    const auto began = loop.monotonic();
    loop.wait(scheduler->drain());
    EXPECT_LT(loop.monotonic() - began, 500ms);
    EXPECT_TRUE(marked("j1"));
}

TEST_F(Output, AQuickLookThatAnswersInTimeCostsNoFurtherRoundTrip) {
    run_job("j1");
    std::size_t commands_when_asked = 0;
    kernel.output_answer = [this, &commands_when_asked](const auto&) {
        commands_when_asked = redis.commands();
        return ScriptedKernel::output(cap_output::OUTPUT_DECISION_QUARANTINE);
    };
    run({"SET", "res:j1", "x"});
    const std::size_t before = redis.commands();
    cap::JobResult success;
    success.set_job_id("j1");
    success.set_status(cap::JOB_STATUS_SUCCEEDED);
    success.set_worker_id("w1");
    result(success);
    EXPECT_EQ(commands_when_asked - before, 1u) << "taking the lock, with all that is needed to ask";
}

class DeadLetterRepair : public SchedulerTest {
protected:
    void SetUp() override {
        redis.run({"SCRIPT", "LOAD", scripts.repair_dead_letter.text()});
        start();
    }
};

// STATE-08, C-36, H-39
TEST_F(DeadLetterRepair, ASubmissionThatComesAgainKeepsTheFirstCause) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_FAILED, "permission_denied");
    const std::string entry = text({"GET", "dlq:entry:j1"});
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(text({"GET", "dlq:entry:j1"}), entry);
    EXPECT_EQ(dead_letters().size(), 1u);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dispatches().size(), 1u);
}

// STATE-08, H-08: whoever ended it died before the dead letter.
TEST_F(DeadLetterRepair, ASubmissionThatComesAgainWritesTheDeadLetterThatIsMissing) {
    for (const char* state_name : {"FAILED", "DENIED"}) {
        const std::string job = std::string("j-") + state_name;
        run({"HSET", "job:meta:" + job, "state", state_name, "topic", "job.default"});
        EXPECT_TRUE(submit(job)->acked());
        EXPECT_EQ(dead_letter_code(job), "redelivery_dlq_retry");
        EXPECT_EQ(state(job), state_name);
    }
    EXPECT_EQ(dead_letters().size(), 2u);
    EXPECT_TRUE(dispatches().empty());
}

TEST_F(DeadLetterRepair, TheDeadLetterNamesTheTopicThatTheJobHadWhateverComesAgain) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_FAILED, "permission_denied");
    run({"DEL", "dlq:entry:j1"});
    cap::JobRequest another = request_for("j1");
    another.set_topic("job.another");
    EXPECT_TRUE(submit(another)->acked());
    EXPECT_EQ(nlohmann::json::parse(text({"GET", "dlq:entry:j1"})).at("topic"), "job.default");
}

// OUT-03
TEST_F(DeadLetterRepair, AFailureThatMayBeRetriedStaysWithoutADeadLetter) {
    run_job("j1");
    result("j1", cap::JOB_STATUS_FAILED_RETRYABLE);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(dead_letter_code("j1"), "");
    EXPECT_TRUE(dead_letters().empty());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
