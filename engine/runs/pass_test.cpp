#include "engine/runs/pass.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "engine/runs/test_run.h"

namespace lockstep::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestRun;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

json worker(json more = json::object()) {
    json step{{"type", "worker"}, {"topic", "job.default"}};
    step.update(more);
    return step;
}
json after(std::initializer_list<const char*> steps) {
    json names = json::array();
    for (const char* step : steps) names.push_back(step);
    return {{"depends_on", names}};
}

TEST(RunPass, BeginsWhatWaitsForNothingAndEndsWithTheLastStep) {
    TestRun run({{"a", worker()}, {"b", worker(after({"a"}))}});
    run.advance();
    EXPECT_EQ(run.status(), "running");
    EXPECT_THAT(run.begun(), ElementsAre("a"));
    run.end("a", "SUCCEEDED");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
    run.end("b", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(run.run.text("completed_at"), "2026-01-01T00:00:00.000000Z");
}

TEST(RunPass, ASecondPassOverTheSameDocumentChangesNothing) {
    TestRun run({{"a", worker()}});
    run.advance();
    const std::string before = run.run.write();
    run.advance();
    EXPECT_FALSE(run.effects.changed);
    EXPECT_THAT(run.begun(), IsEmpty());
    EXPECT_EQ(run.run.write(), before);
}

TEST(RunPass, TheEndOfAnEarlierAttemptOrOfAnotherRunsJobChangesNothing) {
    TestRun run({{"a", worker({{"retry", {{"max_retries", 1}}}})}});
    run.advance();
    run.end("a", "FAILED");
    run.advance_by(1s);
    ASSERT_EQ(run.run.step("a").job_id(), "run-1:a@2");
    run.end_job({"run-1:a@1", "SUCCEEDED", false, "", "", {}});
    EXPECT_EQ(run.status("a"), "running");
    run.end_job({"run-2:a@2", "SUCCEEDED", false, "", "", {}});
    EXPECT_EQ(run.status("a"), "running");
}

TEST(RunPass, OutputsFeedLaterStepsByPointerAndPath) {
    TestRun run({{"a", worker({{"output_path", "order.id"}, {"result_data_path", "data"}})},
                 {"b", worker({{"depends_on", {"a"}},
                               {"input", {{"id", "${ctx.order.id}"}, {"text", "no. ${steps.a.output}"}}}})}});
    run.advance();
    run.end("a", "SUCCEEDED", {{"data", 7}});
    EXPECT_EQ(run.payload_of("b"), json({{"id", 7}, {"text", "no. 7"}}));
    EXPECT_EQ(at_path(run.run.member("context"), "steps.a.result_ptr"), "redis://res:a");
}

TEST(RunPass, AFailureIsTriedAgainAfterItsPauseAndThenFailsTheRun) {
    TestRun run({{"a", worker({{"retry", {{"max_retries", 2}, {"initial_backoff_sec", 2}, {"multiplier", 1.5}}}})},
                 {"b", worker(after({"a"}))}});
    run.advance();
    run.end("a", "FAILED_RETRYABLE");
    EXPECT_EQ(run.status("a"), "pending");
    run.advance_by(1999ms);
    EXPECT_THAT(run.begun(), IsEmpty());
    run.advance_by(1ms);
    EXPECT_THAT(run.begun(), ElementsAre("a"));
    EXPECT_EQ(run.request_of("a").job_id(), "run-1:a@2");
    run.end("a", "TIMEOUT");
    EXPECT_EQ(run.due().at("a").pause, 3s);
    run.advance_by(3s);
    run.end("a", "DENIED");
    EXPECT_EQ(run.status("a"), "denied") << "its retries are used up";
    EXPECT_EQ(run.status("b"), "skipped");
    EXPECT_EQ(run.status(), "denied");
}

TEST(RunPass, WhatFailsFatallyOrIsCancelledIsNotTriedAgain) {
    for (const char* state : {"CANCELLED", "OUTPUT_QUARANTINED"}) {
        TestRun run({{"a", worker({{"retry", {{"max_retries", 3}}}})}});
        run.advance();
        run.end("a", state);
        EXPECT_TRUE(is_final(run.run.status())) << state;
    }
    TestRun run({{"a", worker({{"retry", {{"max_retries", 3}}}})}});
    run.advance();
    run.end("a", "FAILED", {}, true);
    EXPECT_EQ(run.status(), "failed");
}

TEST(RetryPause, GrowsToItsLimitAndKeepsFractionsOfSeconds) {
    EXPECT_EQ(retry_pause({3, 0, 0, 0}, 1), 1s);
    EXPECT_EQ(retry_pause({3, 0, 0, 0}, 3), 4s);
    EXPECT_EQ(retry_pause({3, 1, 0, 1.5}, 2), 1500ms);
    EXPECT_EQ(retry_pause({3, 10, 60, 2}, 9), 60s);
    EXPECT_EQ(retry_pause({3, 0, 0, 1}, 2), 2s) << "a multiplier up to 1 counts as 2";
    EXPECT_EQ(retry_pause({3, 0, 0, 0.5}, 3), 4s);
    EXPECT_LE(retry_pause({3, kDurationSecMax, 0, 1e300}, 1'000), std::chrono::seconds{kDurationSecMax});
}

TEST(RunPass, AHandlerOfErrorsMakesItsStepGood) {
    TestRun run({{"a", worker({{"on_error", "mend"}})}, {"b", worker(after({"a"}))}, {"mend", worker()}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("a")) << "a handler begins only when it is called";
    run.end("a", "FAILED");
    EXPECT_EQ(run.status(), "running");
    EXPECT_THAT(run.begun(), ElementsAre("mend"));
    EXPECT_EQ(at_path(run.payload_of("mend"), "error.step_id"), "a");
    EXPECT_EQ(at_path(run.payload_of("mend"), "error.message"), "a came to FAILED");
    run.end("mend", "SUCCEEDED");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
    run.end("b", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
}

TEST(RunPass, WhatDependsOnAHandlerThatNobodyCallsIsSkipped) {
    TestRun run({{"a", worker({{"on_error", "mend"}})}, {"mend", worker()}, {"then", worker(after({"mend"}))}});
    run.advance();
    EXPECT_EQ(run.status("then"), "pending");
    run.end("a", "SUCCEEDED");
    EXPECT_EQ(run.status("then"), "skipped");
    EXPECT_EQ(run.status(), "succeeded");
}

TEST(RunPass, AHandlerThatFailsLeavesTheFirstFailure) {
    TestRun run({{"a", worker({{"on_error", "mend"}})}, {"mend", worker()}});
    run.advance();
    run.end("a", "TIMEOUT");
    run.end("mend", "FAILED");
    EXPECT_EQ(run.status(), "timed_out");
}

TEST(RunPass, WhatFailedFatallyIsUndoneAndNotMadeGood) {
    TestRun run({{"a", worker({{"on_error", "tell"}})}, {"tell", worker()}});
    run.advance();
    run.end("a", "FAILED", {}, true);
    EXPECT_THAT(run.begun(), ElementsAre("tell"));
    run.end("tell", "SUCCEEDED");
    EXPECT_EQ(run.status(), "failed");
}

TEST(RunPass, AHandlerThatNobodyCallsHoldsNothingUp) {
    TestRun run({{"a", worker({{"on_error", "mend"}})}, {"mend", worker()}});
    run.advance();
    run.end("a", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
}

TEST(RunPass, AConditionThatDoesNotHoldLeavesTheStepOut) {
    TestRun run({{"a", worker({{"condition", "input.amount > 100"}})}, {"b", worker(after({"a"}))}}, {{"amount", 50}});
    run.advance();
    EXPECT_EQ(run.status("a"), "succeeded");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
}

TEST(RunPass, AConditionThatCannotBeEvaluatedFailsTheStep) {
    TestRun run({{"a", worker({{"condition", "1 / input.none == 1"}})}});
    run.advance();
    EXPECT_EQ(run.status(), "failed");
    EXPECT_THAT(run.error_of("a"), HasSubstr("condition: "));
}

TEST(RunPass, ADelayIsOverAtItsTimeAndNotBefore) {
    TestRun run({{"a", {{"type", "delay"}, {"delay_sec", 15}}}, {"b", worker(after({"a"}))}});
    run.advance();
    EXPECT_EQ(run.due().at("a").pause, 15s);
    run.advance_by(15s - 1us);
    EXPECT_EQ(run.status("a"), "running");
    run.advance_by(1us);
    EXPECT_EQ(run.status("a"), "succeeded");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
    EXPECT_THAT(run.due(), IsEmpty());
}

TEST(RunPass, ADelayUntilATimeThatIsPastIsOverAtOnce) {
    TestRun run({{"a", {{"type", "delay"}, {"delay_until", "2025-12-31T23:00:00+01:00"}}}});
    run.advance();
    EXPECT_EQ(run.status(), "succeeded");
    TestRun later({{"a", {{"type", "delay"}, {"delay_until", "2026-01-01T01:00:00+00:30"}}}});
    later.advance();
    EXPECT_EQ(later.due().at("a").at, later.at + 30min);
}

TEST(RunPass, AGateWaitsForAPersonAndOtherStepsGoOnMeanwhile) {
    TestRun run({{"ask", {{"type", "approval"}, {"input", {{"why", "${input.why}"}}}}},
                 {"b", worker(after({"ask"}))},
                 {"c", worker()}},
                {{"why", "money"}});
    run.advance();
    EXPECT_EQ(run.status(), "waiting");
    const cap::JobRequest gate = run.request_of("ask");
    EXPECT_EQ(gate.topic(), "job.cordum.approval-gate");
    EXPECT_EQ(gate.labels().at("gate_type"), "workflow_approval");
    EXPECT_EQ(gate.meta().idempotency_key(), "wf:run-1:ask:1:approval");
    EXPECT_EQ(at_path(run.payload_of("ask"), "decision.why"), "money");
    EXPECT_EQ(at_path(run.payload_of("ask"), "kind"), "workflow_approval_context");
    run.end("c", "SUCCEEDED");
    run.end("ask", "SUCCEEDED");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
}

TEST(RunPass, AGateThatIsRejectedIsDenied) {
    TestRun run({{"ask", {{"type", "approval"}}}});
    run.advance();
    run.end("ask", "DENIED");
    EXPECT_EQ(run.status("ask"), "denied");
    EXPECT_EQ(run.status(), "denied");
}

TEST(RunPass, APersonMayDecideOnAStepDirectlyWhichClosesItsGate) {
    TestRun run({{"ask", {{"type", "approval"}}}});
    run.advance();
    run.in_pass([](RunPass& pass) {
        pass.approve("ask", true, "ann");
        pass.approve("ask", false, "bob");
        pass.advance();
    });
    EXPECT_EQ(run.status(), "succeeded") << "the first word counts";
    EXPECT_THAT(run.cancelled(), ElementsAre("run-1:ask@1"));
}

TEST(RunPass, AChoiceTakesOneBranchAndTheOthersCountAsDone) {
    TestRun run(
        {{"pick",
          {{"type", "switch"},
           {"condition", "input.kind"},
           {"input",
            {{"cases", {{{"match", "big"}, {"next", "x"}}, {{"match", "small"}, {"next", "y"}}}}, {"default", "z"}}}}},
         {"x", worker()},
         {"y", worker()},
         {"z", worker()},
         {"end", worker(after({"x", "y", "z"}))}},
        {{"kind", "small"}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("y"));
    EXPECT_EQ(run.status("x"), "cancelled");
    EXPECT_EQ(run.run.step("z").skip_reason(), "switch_branch_not_taken");
    run.end("y", "SUCCEEDED");
    EXPECT_THAT(run.begun(), ElementsAre("end"));
    run.end("end", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
}

TEST(RunPass, AChoiceKnowsExpressionsAndMapsAndADefault) {
    const json when{{"cases", {{{"when", "value >= 10"}, {"step", "x"}}}}, {"default", "y"}};
    for (const auto& [amount, taken] : {std::pair(12, "x"), std::pair(3, "y")}) {
        TestRun run({{"pick", {{"type", "switch"}, {"condition", "input.n"}, {"input", when}}},
                     {"x", worker()},
                     {"y", worker()}},
                    {{"n", amount}});
        run.advance();
        EXPECT_THAT(run.begun(), ElementsAre(taken));
    }
    TestRun run(
        {{"pick",
          {{"type", "switch"}, {"condition", "input.n"}, {"input", {{"cases", {{"7", {"x", "y"}}, {"8", "z"}}}}}}},
         {"x", worker()},
         {"y", worker()},
         {"z", worker()}},
        {{"n", 7}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("x", "y"));
    EXPECT_EQ(run.status("z"), "cancelled");
}

TEST(RunPass, TransformStorageConditionAndNotifyTakeNoJob) {
    TestRun run(
        {{"a", {{"type", "transform"}, {"input", {{"sum", "${input.x + 1}"}}}, {"output_path", "t"}}},
         {"b",
          {{"type", "storage"},
           {"depends_on", {"a"}},
           {"input", {{"operation", "write"}, {"key", "k.l"}, {"value", "${ctx.t.sum}"}}}}},
         {"c", {{"type", "condition"}, {"depends_on", {"b"}}, {"condition", "ctx.k.l == 3"}}},
         {"d", {{"type", "notify"}, {"depends_on", {"c"}}, {"input", {{"message", "${steps.c.output}"}}}}},
         {"e", {{"type", "storage"}, {"depends_on", {"d"}}, {"input", {{"operation", "delete"}, {"key", "k.l"}}}}}},
        {{"x", 2}});
    run.advance();
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(at_path(run.run.member("context"), "steps.c.output"), true);
    EXPECT_EQ(at_path(run.run.member("context"), "k.l"), nullptr);
    ASSERT_EQ(run.effects.alerts.size(), 1u);
    EXPECT_EQ(wire::decode(run.effects.alerts[0])->alert().message(), "true");
}

TEST(RunPass, AnItemEachWithALimitAtATime) {
    TestRun run(
        {{"each", worker({{"for_each", "input.list"}, {"max_parallel", 2}, {"input", {{"v", "${item * 10}"}}}})},
         {"end", worker({{"depends_on", {"each"}}, {"input", {{"all", "${steps.each.output}"}}}})}},
        {{"list", {1, 2, 3}}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("each[0]", "each[1]"));
    EXPECT_EQ(run.payload_of("each[1]"), json({{"v", 20}, {"item", 2}}));
    EXPECT_EQ(run.request_of("each[1]").job_id(), "run-1:each[1]@1");
    EXPECT_EQ(run.request_of("each[1]").env().at("foreach_item"), "2");
    run.end("each[1]", "SUCCEEDED", "two");
    EXPECT_THAT(run.begun(), ElementsAre("each[2]"));
    run.end("each[0]", "SUCCEEDED", "one");
    run.end("each[2]", "SUCCEEDED", "three");
    EXPECT_EQ(at_path(run.payload_of("end"), "all"), json({"one", "two", "three"}));
    EXPECT_EQ(run.run.step("each").member("children").size(), 3u);
}

TEST(RunPass, AnItemOfAStepWithoutInputHasNoCopyOfTheRuns) {
    TestRun run(
        {{"each", worker({{"for_each", "input.list"}, {"input_schema", {{"required", {"list"}}}}})}, {"one", worker()}},
        {{"list", {1, 2}}, {"ballast", std::string(100'000, 'x')}});
    run.advance();
    EXPECT_EQ(run.payload_of("each[1]"), json({{"item", 2}}));
    EXPECT_EQ(run.payload_of("one"), run.run.member("input"));
}

TEST(RunPass, AnItemThatFailsEndsTheOthers) {
    TestRun run({{"each", worker({{"for_each", "input.list"}})}}, {{"list", {1, 2, 3}}});
    run.advance();
    run.end("each[1]", "FAILED");
    EXPECT_THAT(run.cancelled(), UnorderedElementsAre("run-1:each[0]@1", "run-1:each[2]@1"));
    EXPECT_EQ(run.status(), "failed");
}

TEST(RunPass, AnItemThatIsDeniedDeniesTheStepAndRetriesAreForItemsToo) {
    TestRun run({{"each", worker({{"for_each", "input.list"}, {"retry", {{"max_retries", 1}}}})}}, {{"list", {1}}});
    run.advance();
    run.end("each[0]", "FAILED");
    EXPECT_EQ(run.status("each[0]"), "pending");
    run.advance_by(1s);
    EXPECT_EQ(run.request_of("each[0]").job_id(), "run-1:each[0]@2");
    run.end("each[0]", "DENIED");
    EXPECT_EQ(run.status(), "denied");
}

TEST(RunPass, NoItemsIsASuccessAndTooManyAFailure) {
    TestRun none({{"each", worker({{"for_each", "input.list"}})}}, {{"list", json::array()}});
    none.advance();
    EXPECT_EQ(none.status(), "succeeded");
    TestRun nil({{"each", worker({{"for_each", "input.nothing"}})}});
    nil.advance();
    EXPECT_EQ(nil.status(), "succeeded");
    TestRun many({{"each", worker({{"for_each", "input.list"}})}}, {{"list", {1, 2, 3}}});
    many.limits.foreach_items = 2;
    many.advance();
    EXPECT_THAT(many.error_of("each"), HasSubstr("3 items, of at most 2"));
}

json side_by_side(json input) {
    return {
        {"p", {{"type", "parallel"}, {"input", std::move(input)}}}, {"x", worker()}, {"y", worker()}, {"z", worker()}};
}

TEST(RunPass, ParallelStepsAllAnyOrSome) {
    const json steps{"x", "y", "z"};
    TestRun all(side_by_side({{"steps", steps}}));
    all.advance();
    EXPECT_THAT(all.begun(), ElementsAre("x", "y", "z"));
    all.end("x", "SUCCEEDED");
    all.end("y", "FAILED");
    EXPECT_EQ(all.status(), "failed");
    EXPECT_THAT(all.cancelled(), ElementsAre("run-1:z@1"));

    TestRun any(side_by_side({{"steps", steps}, {"strategy", "any"}}));
    any.advance();
    any.end("x", "FAILED");
    any.end("y", "SUCCEEDED");
    EXPECT_EQ(any.status(), "succeeded");
    EXPECT_EQ(any.status("z"), "cancelled");

    TestRun some(side_by_side({{"steps", steps}, {"strategy", "n_of_m"}, {"required", 2}}));
    some.advance();
    some.end("x", "FAILED");
    EXPECT_EQ(some.status(), "running");
    some.end("y", "FAILED");
    EXPECT_EQ(some.status(), "failed");
}

TEST(RunPass, ALoopGoesRoundUntilItsEnd) {
    TestRun run({{"l", {{"type", "loop"}, {"input", {{"body_step", "b"}, {"until", "loop.last.n >= 2"}}}}},
                 {"b", worker({{"input", {{"round", "${loop.index}"}}}})}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("l[0]"));
    EXPECT_EQ(at_path(run.payload_of("l[0]"), "round"), 0);
    run.end("l[0]", "SUCCEEDED", {{"n", 1}});
    EXPECT_THAT(run.begun(), ElementsAre("l[1]"));
    run.end("l[1]", "SUCCEEDED", {{"n", 2}});
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(at_path(run.run.step("l").member("output"), "n"), 2);
}

TEST(RunPass, ALoopWithoutAnEndFailsAtItsLimitAndACountedOneSucceeds) {
    for (const bool has_end : {true, false}) {
        json input{{"body_step", "b"}, {"max_iterations", 1}};
        if (has_end) input["while"] = "true";
        TestRun run({{"l", {{"type", "loop"}, {"input", input}}}, {"b", worker()}});
        run.advance();
        run.end("l[0]", "SUCCEEDED");
        EXPECT_EQ(run.status(), has_end ? "failed" : "succeeded");
    }
}

TEST(RunPass, ASubworkflowIsARunOfItsOwn) {
    TestRun run(
        {{"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-2"}, {"input", {{"k", "${input.k}"}}}}}}},
         {"b", worker({{"depends_on", {"s"}}, {"input", {{"got", "${steps.s.output.r}"}}}})}},
        {{"k", 5}});
    run.advance();
    ASSERT_EQ(run.effects.children.size(), 1u);
    EXPECT_EQ(run.effects.children[0].run, "run-1.s.1");
    const json child = json::parse(run.effects.children[0].document);
    EXPECT_EQ(child.at("input"), json({{"k", 5}}));
    EXPECT_EQ(at_path(child, "metadata.parent_run_id"), "run-1");
    EXPECT_EQ(at_path(child, "metadata.call_stack"), "wf-1");
    run.children["run-1.s.1"] = {"running", {}};
    run.advance();
    EXPECT_EQ(run.status("s"), "running");
    run.children["run-1.s.1"] = {"succeeded", {{"r", 9}}};
    run.advance();
    EXPECT_EQ(at_path(run.payload_of("b"), "got"), 9);
}

TEST(RunPass, WorkflowsThatBeginEachOtherInACircleFail) {
    TestRun run({{"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-1"}}}}}});
    run.advance();
    EXPECT_THAT(run.error_of("s"), HasSubstr("in a circle"));
}

/// What is done with an ended run by a person's word, and the pass that follows it.
void retry(TestRun& run) {
    run.in_pass([](RunPass& pass) {
        pass.retry("ann");
        pass.advance();
    });
}

TEST(RunPass, ARetryGoesOnFromWhatHasFailedAndKeepsWhatHasSucceeded) {
    TestRun run({{"a", worker()},
                 {"b", worker({{"depends_on", {"a"}}, {"on_error", "mend"}})},
                 {"c", worker(after({"b"}))},
                 {"mend", worker()}});
    run.advance();
    run.end("a", "SUCCEEDED", 1);
    run.end("b", "FAILED");
    run.end("mend", "FAILED");
    ASSERT_EQ(run.status(), "failed");
    ASSERT_EQ(run.status("c"), "skipped");
    run.at += 1min;
    retry(run);
    EXPECT_EQ(run.status(), "running");
    EXPECT_THAT(run.begun(), ElementsAre("b"));
    EXPECT_EQ(run.request_of("b").job_id(), "run-1:b@2");
    EXPECT_TRUE(run.effects.reopened);
    EXPECT_EQ(run.status("a"), "succeeded");
    EXPECT_EQ(run.status("c"), "pending");
    EXPECT_TRUE(run.run.member("error").is_null());
    EXPECT_TRUE(run.run.member("completed_at").is_null());
    run.end("b", "FAILED");
    EXPECT_THAT(run.begun(), ElementsAre("mend")) << "it is called anew";
    EXPECT_EQ(run.request_of("mend").job_id(), "run-1:mend@2");
    run.end("mend", "SUCCEEDED");
    run.end("c", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
}

TEST(RunPass, ARetryOfManyTriesOnlyThoseThatHaveNotSucceeded) {
    TestRun run({{"each", worker({{"for_each", "input.items"}})},
                 {"side", {{"type", "parallel"}, {"input", {{"steps", {"p", "q"}}}}}},
                 {"p", worker()},
                 {"q", worker()},
                 {"round", {{"type", "loop"}, {"input", {{"body_step", "body"}, {"max_iterations", 2}}}}},
                 {"body", worker()}},
                {{"items", {1, 2, 3}}});
    run.advance();
    run.end("each[0]", "SUCCEEDED", 10);
    run.end("p", "SUCCEEDED");
    run.end("round[0]", "SUCCEEDED");
    run.end("round[1]", "FAILED");
    ASSERT_EQ(run.status(), "failed");
    run.end("each[1]", "FAILED");  // nobody listens any more
    ASSERT_EQ(run.status("each[1]"), "running");
    retry(run);
    EXPECT_THAT(run.begun(), ElementsAre("round[1]"));
    std::vector<std::string> awaited;
    for (const AwaitedJob& job : run.effects.awaited_jobs) awaited.push_back(job.job);
    EXPECT_THAT(awaited, UnorderedElementsAre("run-1:each[1]@1", "run-1:each[2]@1", "run-1:q@1"));
    run.end("round[1]", "SUCCEEDED");
    run.end("each[1]", "FAILED");
    ASSERT_EQ(run.status(), "failed");
    ASSERT_EQ(run.status("each[2]"), "cancelled") << "with the item that failed";
    retry(run);
    EXPECT_THAT(run.begun(), UnorderedElementsAre("each[1]", "each[2]"));
    EXPECT_EQ(run.status("each[0]"), "succeeded");
    run.end("q", "FAILED");
    ASSERT_EQ(run.status(), "failed");
    retry(run);
    EXPECT_THAT(run.begun(), UnorderedElementsAre("q"));
    for (const char* step : {"each[1]", "each[2]", "q"}) run.end(step, "SUCCEEDED", 20);
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(run.run.step("each").member("output"), json({10, 20, 20}));
}

TEST(RunPass, ARetryOfARunBeyondItsTimeGivesItItsTimeAgain) {
    TestRun run({{"a", worker()}, {"b", worker(after({"a"}))}}, json::object(), {{"timeout_sec", 60}});
    run.advance();
    run.advance_by(61s);
    ASSERT_EQ(run.status(), "timed_out");
    retry(run);
    EXPECT_EQ(run.status(), "running");
    EXPECT_EQ(run.request_of("a").job_id(), "run-1:a@2");
    run.advance_by(59s);
    EXPECT_EQ(run.status(), "running");
    run.advance_by(1s);
    EXPECT_EQ(run.status(), "timed_out");
}

TEST(RunPass, ARetryOfARunThatNeverBeganHoldsItsInputAgainstItsSchemaAgain) {
    TestRun run({{"a", worker()}}, {{"n", "x"}}, {{"input_schema", {{"properties", {{"n", {{"type", "number"}}}}}}}});
    run.advance();
    ASSERT_EQ(run.status(), "failed");
    retry(run);
    EXPECT_EQ(run.status(), "failed");
    EXPECT_THAT(run.begun(), IsEmpty());
}

TEST(RunPass, ARetryIsRefusedWhereNothingCanGoOn) {
    const auto obstacle = [](TestRun& run) {
        const std::string before = run.run.write();
        run.in_pass([](RunPass& pass) { pass.retry("ann"); });
        EXPECT_EQ(run.run.write(), before);
        EXPECT_FALSE(run.effects.reopened);
        return run.obstacle_to_retry();
    };
    TestRun open({{"a", worker()}});
    open.advance();
    EXPECT_THAT(obstacle(open), HasSubstr("it is running"));
    open.end("a", "SUCCEEDED");
    EXPECT_THAT(obstacle(open), HasSubstr("it has succeeded"));
    TestRun cancelled({{"a", worker()}});
    cancelled.in_pass([](RunPass& pass) { pass.cancel("rain"); });
    EXPECT_THAT(obstacle(cancelled), HasSubstr("it was cancelled"));
    TestRun undone({{"a", worker()}});
    undone.advance();
    undone.end("a", "FAILED", {}, true);
    EXPECT_THAT(obstacle(undone), HasSubstr("its step a has failed for good"));
    TestRun child({{"a", worker()}});
    child.run.set("metadata", {{"parent_run_id", "run-0"}});
    child.advance();
    child.end("a", "FAILED");
    EXPECT_THAT(obstacle(child), HasSubstr("the run run-0 has begun it"));
}

TEST(RunPass, OnlyARunThatEndsWithAllItsStepsCallsOffWhatIsAtWork) {
    TestRun failed({{"a", worker()}, {"b", worker()}});
    failed.advance();
    failed.end("a", "FAILED");
    EXPECT_EQ(failed.status(), "failed");
    EXPECT_FALSE(failed.effects.calls_off) << "b runs on";
    TestRun given_up({{"a", worker()}, {"b", worker()}});
    given_up.advance();
    given_up.in_pass([](RunPass& pass) { pass.give_up("its definition is gone"); });
    EXPECT_EQ(given_up.status(), "failed");
    EXPECT_TRUE(given_up.effects.calls_off);
}

TEST(RunPass, ARunBeyondItsTimeEndsWithAllThatIsOpen) {
    TestRun run({{"a", worker()}, {"b", worker(after({"a"}))}}, {}, {{"timeout_sec", 60}});
    run.advance();
    EXPECT_EQ(run.due().at("").at, run.at + 60s);
    run.advance_by(60s - 1us);
    EXPECT_EQ(run.status(), "running");
    run.advance_by(1us);
    EXPECT_EQ(run.status(), "timed_out");
    EXPECT_EQ(run.status("a"), "timed_out");
    EXPECT_EQ(run.status("b"), "timed_out");
    EXPECT_THAT(run.cancelled(), ElementsAre("run-1:a@1"));
    run.end("a", "SUCCEEDED");
    EXPECT_EQ(run.status("a"), "timed_out");
}

TEST(RunPass, ACancelledRunCancelsItsJobsAndItsRuns) {
    TestRun run({{"a", worker()},
                 {"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-2"}}}}},
                 {"d", {{"type", "delay"}, {"delay_sec", 9}}}});
    run.advance();
    run.in_pass([](RunPass& pass) { pass.cancel("no more"); });
    EXPECT_EQ(run.status(), "cancelled");
    EXPECT_THAT(run.cancelled(), ElementsAre("run-1:a@1"));
    EXPECT_THAT(run.effects.cancelled_runs, ElementsAre("run-1.s.1"));
    EXPECT_THAT(run.due(), IsEmpty());
}

TEST(RunPass, InputsAndOutputsAreHeldAgainstTheirSchemas) {
    const json number{{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}};
    TestRun wrong({{"a", worker()}}, {{"n", "x"}}, {{"input_schema", number}});
    wrong.advance();
    EXPECT_EQ(wrong.status(), "failed");
    EXPECT_THAT(at_path(wrong.run.member("error"), "message").get<std::string>(), HasSubstr("/n"));
    EXPECT_THAT(wrong.begun(), IsEmpty());
    TestRun step({{"a", worker({{"input_schema", number}, {"input", {{"n", "${input.n}"}}}})}}, {{"n", "x"}});
    step.advance();
    EXPECT_THAT(step.error_of("a"), HasSubstr("/n"));
    TestRun output({{"a", worker({{"output_schema", number}})}});
    output.advance();
    output.end("a", "SUCCEEDED", {{"n", 1.5}});
    EXPECT_EQ(output.status("a"), "failed");
    EXPECT_THAT(output.error_of("a"), HasSubstr("output: "));
}

TEST(RunPass, TheEndOfARunWakesTheOneThatWaitsForIt) {
    TestRun run({{"a", worker()}});
    run.run.set("metadata", {{"parent_run_id", "run-0"}});
    run.advance();
    EXPECT_EQ(run.effects.wake, "");
    run.end("a", "SUCCEEDED", {{"x", 1}});
    EXPECT_EQ(run.effects.wake, "run-0");
    EXPECT_EQ(run.run.member("output"), json({{"a", {{"x", 1}}}}));
}

TEST(RunPass, StepsStoredByOthersStayAsTheyAre) {
    TestRun run({{"a", worker()}});
    run.run.set("steps", {{"a", {{"step_id", "a"}, {"status", "running"}, {"job_id", "run-1:a@1"}, {"odd", 1}}},
                          {"gone", {{"step_id", "gone"}, {"status", "succeeded"}}}});
    run.run.set("total_cost", 4.5);
    run.end("a", "SUCCEEDED");
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(run.run.step("a").member("odd"), 1);
    EXPECT_EQ(run.run.member("total_cost"), 4.5);
    EXPECT_EQ(run.status("gone"), "succeeded");
}

/// Passes until one has left nothing; how many there were.
int advance_all(TestRun& run) {
    int passes = 0;
    do {
        run.advance();
        ++passes;
    } while (run.effects.unfinished && passes < 1'000);
    return passes;
}

std::string numbered(int n) { return fmt::format("s{:04}", n); }
/// Their places in the order of ids, in turn.
int in_order(int n, int) { return n; }
int against_order(int n, int count) { return count - 1 - n; }
int mixed(int n, int count) { return static_cast<int>((7'919L * n + 13) % count); }

// A chain whose steps are named in any order once took as many rounds over all steps as it has steps.
TEST(RunPass, PlanningIsLinearInTheStepsWhateverTheirOrder) {
    constexpr int kSteps = 997;
    for (const auto place : {in_order, against_order, mixed}) {
        json steps = json::object();
        for (int n = 0; n < kSteps; ++n) {
            json step{{"type", "transform"}, {"input", {{"n", n}}}};
            if (n > 0) step["depends_on"] = {numbered(place(n - 1, kSteps))};
            steps[numbered(place(n, kSteps))] = step;
        }
        TestRun run(std::move(steps));
        run.limits.steps_at_once = kSteps;
        run.advance();
        EXPECT_EQ(run.status(), "succeeded");
        EXPECT_LE(run.run.looked_up(), 20u * kSteps);
    }
}

TEST(RunPass, PlanningIsLinearInWhatManyStepsWaitForAndInTheChildrenOfOne) {
    constexpr int kSteps = 900;
    for (const auto place : {in_order, against_order, mixed}) {
        json names = json::array(), join = json::object(), chained = json::object();
        for (int n = 0; n < kSteps; ++n) {
            names.push_back(numbered(n));
            join[numbered(n)] = {{"type", "transform"}};
            json child{{"type", "transform"}};
            if (n > 0) child["depends_on"] = {numbered(place(n - 1, kSteps))};
            chained[numbered(place(n, kSteps))] = child;
        }
        join["join"] = {{"type", "transform"}, {"depends_on", names}};
        chained["all"] = {{"type", "parallel"}, {"max_parallel", 5}, {"input", {{"steps", names}}}};
        for (const json& steps : {join, chained}) {
            TestRun run(steps);
            run.limits.steps_at_once = kSteps + 1;
            run.advance();
            EXPECT_EQ(run.status(), "succeeded");
            EXPECT_LE(run.run.looked_up(), 30u * kSteps);
        }
    }
}

TEST(RunPass, PlanningIsLinearInTenThousandRecordsOfItems) {
    constexpr std::size_t kRecords = 10'000;
    json steps = json::object(), items = json::array();
    for (int n = 0; n < 10; ++n)
        steps[numbered(n)] = worker({{"for_each", "input.list"}, {"input", {{"n", "${item}"}}}});
    for (int n = 0; n < 1'000; ++n) items.push_back(n);
    TestRun run(std::move(steps), {{"list", items}});
    const int passes = advance_all(run);
    EXPECT_EQ(passes, 21) << "500 of them and of their steps begin at a time";
    EXPECT_EQ(run.run.step_keys().size(), kRecords + 10);
    const std::size_t before = run.run.looked_up();
    run.end("s0003[777]", "SUCCEEDED");
    EXPECT_LE(run.run.looked_up() - before, 8 * kRecords);
}

TEST(RunPass, APassBeginsNoMoreThanItMayAndTheNextOneGoesOn) {
    json steps = json::object();
    for (int n = 0; n < 7; ++n) steps[numbered(n)] = worker();
    TestRun run(steps);
    run.limits.steps_at_once = 3;
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("s0000", "s0001", "s0002"));
    EXPECT_TRUE(run.effects.unfinished);
    EXPECT_EQ(run.status(), "running");
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("s0003", "s0004", "s0005"));
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("s0006"));
    EXPECT_FALSE(run.effects.unfinished);
    run.advance();
    EXPECT_FALSE(run.effects.changed);
}

/// Bytes of all that a pass hands to the store for the jobs that it has begun.
std::size_t bytes_begun(const TestRun& run) {
    std::size_t bytes = 0;
    for (const Submission& submission : run.effects.submissions)
        bytes += submission.packet.size() + submission.context.size();
    return bytes;
}

TEST(RunPass, LargeInputsAreHandedOverInPartsAndEachJobGetsItsOwnOnce) {
    constexpr std::size_t kInput = 880'000;
    json items = json::array();
    for (int n = 0; n < 100; ++n) items.push_back(n);
    TestRun run({{"a", worker({{"for_each", "input.list"}, {"input", {{"all", "${input.text}"}}}})}},
                {{"list", items}, {"text", std::string(kInput, 'x')}});
    std::set<std::string> begun;
    for (int passes = 0; passes < 34; ++passes) {
        run.advance();
        EXPECT_LE(run.begun().size(), 3u);
        EXPECT_LE(bytes_begun(run), run.limits.bytes_at_once + kInput + 10'000);
        for (const std::string& key : run.begun()) EXPECT_TRUE(begun.insert(key).second) << key;
    }
    EXPECT_EQ(begun.size(), 100u);
    EXPECT_FALSE(run.effects.unfinished);
}

TEST(RunPass, LargeOutputsOfTransformsAreMadeInParts) {
    json steps = json::object();
    for (int n = 0; n < 20; ++n) steps[numbered(n)] = {{"type", "transform"}};
    TestRun run(std::move(steps), {{"text", std::string(500'000, 'x')}});
    run.advance();
    EXPECT_EQ(run.status("s0004"), "succeeded");
    EXPECT_EQ(run.status("s0005"), "pending");
    EXPECT_TRUE(run.effects.unfinished);
}

TEST(RunPass, AnInputLargerThanAPassTakesIsHandedOverByItself) {
    TestRun run({{"a", worker()}, {"b", worker()}}, {{"text", std::string(3'000'000, 'x')}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("a"));
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("b"));
}

TEST(RunPass, ARunIsCancelledBetweenTwoPartsOfItsWork) {
    json items = json::array();
    for (int n = 0; n < 10; ++n) items.push_back(n);
    TestRun run({{"a", worker({{"for_each", "input.list"}, {"input", {{"all", "${input.text}"}}}})}},
                {{"list", items}, {"text", std::string(900'000, 'x')}});
    run.advance();
    EXPECT_TRUE(run.effects.unfinished);
    run.in_pass([](RunPass& pass) {
        pass.cancel("enough");
        pass.advance();
    });
    EXPECT_EQ(run.status(), "cancelled");
    EXPECT_TRUE(run.begun().empty());
    EXPECT_EQ(run.cancelled().size(), 3u) << "those that had begun";
}

TEST(RunPass, APassWithoutTimeBeginsSomethingAllTheSame) {
    json steps = json::object();
    for (int n = 0; n < 40; ++n) steps[numbered(n)] = {{"type", "transform"}};
    TestRun run(steps);
    run.limits.is_time_up = [] { return true; };
    const int passes = advance_all(run);
    EXPECT_EQ(run.status(), "succeeded");
    EXPECT_EQ(passes, 3);
}

TEST(RunPass, WhatExpressionsSeeFollowsEveryWriteOfThePass) {
    TestRun run(
        {{"a", {{"type", "transform"}, {"input", {{"v", 1}}}, {"output_path", "k.v"}}},
         {"b",
          {{"type", "storage"},
           {"depends_on", {"a"}},
           {"input", {{"operation", "write"}, {"key", "k.w"}, {"value", "${ctx.k.v.v + steps.a.output.v}"}}}}},
         {"c",
          {{"type", "storage"},
           {"depends_on", {"b"}},
           {"input", {{"operation", "write"}, {"key", "steps.a"}, {"value", "gone"}}}}},
         {"d", {{"type", "storage"}, {"depends_on", {"c"}}, {"input", {{"operation", "delete"}, {"key", "k.v"}}}}},
         {"e",
          {{"type", "transform"},
           {"depends_on", {"d"}},
           {"input", {{"w", "${ctx.k.w}"}, {"v", "${ctx.k.v}"}, {"a", "${steps.a}"}, {"same", "${ctx.steps.a}"}}}}}});
    run.advance();
    EXPECT_EQ(run.run.step("e").member("output"), json({{"w", 2}, {"a", "gone"}, {"same", "gone"}}));
}

// D-22
TEST(RunPass, AHandlerHandlesTheFirstFailureThatCallsIt) {
    for (const bool at_once : {true, false}) {
        TestRun run({{"a", worker({{"on_error", "mend"}})},
                     {"b", worker({{"on_error", "mend"}})},
                     {"mend", worker()},
                     {"after", worker(after({"b"}))}});
        run.advance();
        run.in_pass([&](RunPass& pass) {
            pass.take_end({"run-1:a@1", "FAILED", false, "", "broke", {}});
            if (at_once) pass.take_end({"run-1:b@1", "FAILED", false, "", "broke, too", {}});
            pass.advance();
        });
        if (!at_once) {
            run.end("mend", "SUCCEEDED");
            EXPECT_EQ(run.status(), "running");
            run.end("b", "FAILED");
        }
        EXPECT_EQ(run.status(), "failed");
        EXPECT_EQ(run.status("after"), "skipped");
        EXPECT_THAT(at_path(run.run.member("error"), "message").get<std::string>(),
                    HasSubstr("on_error mend was already used by a"));
        EXPECT_THAT(run.error_of("b"), HasSubstr("on_error mend was already used by a"));
    }
}

TEST(RunPass, AChildOfAParallelStepWhoseFailureIsMadeGoodCounts) {
    const json steps{{"p", {{"type", "parallel"}, {"input", {{"steps", {"x", "y"}}}}}},
                     {"x", worker({{"on_error", "mend"}})},
                     {"y", worker()},
                     {"mend", worker()},
                     {"end", worker(after({"p"}))}};
    TestRun good(steps);
    good.advance();
    good.end("x", "FAILED");
    EXPECT_EQ(good.status("p"), "running") << "its handler may make it good";
    EXPECT_THAT(good.begun(), ElementsAre("mend"));
    good.end("y", "SUCCEEDED");
    good.end("mend", "SUCCEEDED");
    EXPECT_EQ(good.status("p"), "succeeded");
    EXPECT_THAT(good.begun(), ElementsAre("end"));
    TestRun bad(steps);
    bad.advance();
    bad.end("x", "FAILED");
    bad.end("mend", "FAILED");
    EXPECT_EQ(bad.status("p"), "failed");
    EXPECT_EQ(bad.status(), "failed");
}

TEST(RunPass, AChildThatCanNeverBeginIsSkippedAndCountsAsAFailure) {
    const auto steps = [](const char* strategy) {
        return json{{"p", {{"type", "parallel"}, {"input", {{"steps", {"x", "y", "z"}}, {"strategy", strategy}}}}},
                    {"x", worker()},
                    {"y", worker(after({"x"}))},
                    {"z", worker()}};
    };
    TestRun any(steps("any"));
    any.advance();
    any.end("x", "FAILED");
    EXPECT_EQ(any.status("y"), "skipped");
    EXPECT_EQ(any.status("p"), "running");
    any.end("z", "FAILED");
    EXPECT_EQ(any.status("p"), "failed");
    TestRun decided(steps("any"));
    decided.advance();
    decided.end("z", "SUCCEEDED");
    EXPECT_EQ(decided.status(), "succeeded");
    EXPECT_EQ(decided.status("x"), "cancelled");
    EXPECT_EQ(decided.status("y"), "cancelled") << "whether it has begun or not";
}

TEST(RunPass, BranchesOfABranchThatIsNotTakenAreNotTakenEither) {
    const auto pick = [](const char* condition, const char* left, const char* right) {
        return json{
            {"type", "switch"}, {"condition", condition}, {"input", {{"cases", {{"1", left}}}, {"default", right}}}};
    };
    const json steps{{"pick", pick("input.n", "inner", "other")},
                     {"inner", pick("input.n", "x", "y")},
                     {"other", worker()},
                     {"x", worker()},
                     {"y", worker()},
                     {"end", worker(after({"other", "x", "y"}))}};
    TestRun run(steps, {{"n", 2}});
    run.advance();
    EXPECT_THAT(run.begun(), ElementsAre("other"));
    for (const char* left_out : {"inner", "x", "y"})
        EXPECT_EQ(run.run.step(left_out).skip_reason(), "switch_branch_not_taken") << left_out;
    run.end("other", "SUCCEEDED");
    EXPECT_THAT(run.begun(), ElementsAre("end"));
}

TEST(RunPass, BranchesOfAChoiceThatIsNeverMadeAreSkipped) {
    TestRun run({{"a", worker()},
                 {"pick",
                  {{"type", "switch"},
                   {"condition", "input.n"},
                   {"depends_on", {"a"}},
                   {"input", {{"cases", {{"1", "x"}}}, {"default", "y"}}}}},
                 {"x", worker()},
                 {"y", worker()}});
    run.advance();
    run.end("a", "FAILED");
    EXPECT_THAT(run.begun(), IsEmpty());
    EXPECT_EQ(run.status("x"), "skipped");
    EXPECT_EQ(run.status(), "failed");
}

TEST(RunPass, ABranchThatIsNoStepFailsItsChoice) {
    TestRun run({{"pick", {{"type", "switch"}, {"condition", "1"}, {"input", {{"default", "nowhere"}}}}}});
    run.advance();
    EXPECT_THAT(run.error_of("pick"), HasSubstr("there is no step \"nowhere\""));
}

// D-28
TEST(RunPass, EveryStepThatWaitsEndsWithItsTime) {
    TestRun run({{"ask", {{"type", "approval"}, {"timeout_sec", 60}}},
                 {"sub", {{"type", "subworkflow"}, {"timeout_sec", 60}, {"input", {{"workflow_id", "wf-2"}}}}},
                 {"p", {{"type", "parallel"}, {"timeout_sec", 60}, {"input", {{"steps", {"x"}}}}}},
                 {"x", worker()},
                 {"l", {{"type", "loop"}, {"timeout_sec", 60}, {"input", {{"body_step", "b"}}}}},
                 {"b", worker()},
                 {"d", {{"type", "delay"}, {"timeout_sec", 60}, {"delay_sec", 90}}}});
    run.advance();
    for (const char* step : {"ask", "sub", "p", "l", "d"}) EXPECT_EQ(run.due().at(step).at, run.at + 60s) << step;
    run.children["run-1.sub.1"] = {"running", {}};
    run.advance_by(60s - 1us);
    EXPECT_FALSE(run.effects.changed);
    run.advance_by(1us);
    for (const char* step : {"ask", "sub", "p", "l", "d"}) {
        EXPECT_EQ(run.status(step), "timed_out") << step;
        EXPECT_EQ(run.error_of(step), "timeout_sec: 60 s are over") << step;
    }
    EXPECT_THAT(run.cancelled(), UnorderedElementsAre("run-1:ask@1", "run-1:x@1", "run-1:l[0]@1"));
    EXPECT_THAT(run.effects.cancelled_runs, ElementsAre("run-1.sub.1"));
    EXPECT_EQ(run.status(), "timed_out");
}

TEST(RunPass, AnApprovalThatRanOutOfTimeIsAskedForAgainAndHandled) {
    TestRun run(
        {{"ask", {{"type", "approval"}, {"timeout_sec", 60}, {"on_error", "tell"}, {"retry", {{"max_retries", 1}}}}},
         {"tell", worker()}});
    run.advance();
    run.advance_by(60s);
    EXPECT_EQ(run.status("ask"), "pending");
    run.advance_by(1s);
    EXPECT_EQ(run.request_of("ask").job_id(), "run-1:ask@2");
    run.end("ask", "DENIED");
    EXPECT_EQ(run.status("ask"), "denied") << "a rejected gate uses a try, too";
    EXPECT_THAT(run.begun(), ElementsAre("tell"));
}

TEST(RunPass, ARejectedGateIsAskedAgainWhereItsRetrySaysSoAndARejectedStepIsNot) {
    const json steps{{"ask", {{"type", "approval"}, {"retry", {{"max_retries", 1}}}}}};
    TestRun gate(steps);
    gate.advance();
    gate.end("ask", "DENIED");
    EXPECT_EQ(gate.status("ask"), "pending");
    gate.advance_by(1s);
    EXPECT_EQ(gate.status("ask"), "waiting");
    TestRun step(steps);
    step.advance();
    step.in_pass([](RunPass& pass) {
        pass.approve("ask", false, "ann");
        pass.advance();
    });
    EXPECT_EQ(step.status("ask"), "failed");
    EXPECT_EQ(step.status(), "failed");
}

TEST(RunPass, ARetryGivesAParallelStepItsTimeAgain) {
    TestRun run({{"p", {{"type", "parallel"}, {"timeout_sec", 60}, {"input", {{"steps", {"x"}}}}}}, {"x", worker()}});
    run.advance();
    run.advance_by(60s);
    ASSERT_EQ(run.status(), "timed_out");
    run.at += 1h;
    retry(run);
    EXPECT_EQ(run.status("p"), "running");
    EXPECT_THAT(run.begun(), ElementsAre("x"));
}

// D-21
TEST(RunPass, LongTimesMeanLongAndNothingOverflows) {
    TestRun run({{"wait", {{"type", "delay"}, {"delay_sec", 9'999'999'999}}},
                 {"until", {{"type", "delay"}, {"delay_until", "9999-12-31T00:00:00Z"}}},
                 {"a", worker({{"timeout_sec", std::numeric_limits<std::int64_t>::max()}})}},
                {}, {{"timeout_sec", 9'999'999'999}});
    run.advance();
    EXPECT_EQ(run.request_of("a").budget().deadline_ms(), 1'000 * kDurationSecMax);
    std::vector<std::string> warnings;
    for (const json& event : run.effects.timeline)
        if (event["type"] == "warning") warnings.push_back(event["message"]);
    EXPECT_THAT(warnings, UnorderedElementsAre(HasSubstr("/timeout_sec: timeout_sec is 9999999999, and counts as"),
                                               HasSubstr("/steps/a/timeout_sec"), HasSubstr("/steps/wait/delay_sec"),
                                               HasSubstr("delay_until is 9999-12-31T00:00:00Z")));
    run.advance_by(std::chrono::hours{24 * 365 * 9});
    EXPECT_EQ(run.status("wait"), "running");
    EXPECT_EQ(run.status("until"), "running");
    EXPECT_EQ(run.status(), "running");
}

TEST(RunPass, ANumberOutsideItsRangeFailsItsStepByNameAndValue) {
    const json list{{"list", {1, 2, 3}}, {"n", 2}, {"many", "x"}};
    for (const auto& [step, what] : std::vector<std::pair<json, const char*>>{
             {worker({{"timeout_sec", -5}}), "timeout_sec is -5"},
             {worker({{"retry", {{"max_retries", -1}}}}), "max_retries is -1"},
             {worker({{"for_each", "input.list"}, {"max_parallel", "${input.many}"}}), "max_parallel is \"x\""},
             {{{"type", "delay"}, {"delay_sec", -1}}, "delay_sec is -1"},
             {{{"type", "loop"}, {"input", {{"body_step", "b"}, {"max_iterations", "${-1}"}}}}, "max_iterations is -1"},
             {{{"type", "parallel"}, {"input", {{"steps", {"b"}}, {"strategy", "n_of_m"}, {"required", "${input.n}"}}}},
              "required is 2: expected a whole number from 1 to 1"},
         }) {
        TestRun run({{"a", step}, {"b", worker({{"condition", "false"}})}}, list);
        run.advance();
        EXPECT_EQ(run.status("a"), "failed") << what;
        EXPECT_THAT(run.error_of("a"), HasSubstr(what));
    }
}

// D-24
TEST(RunPass, ATemplateMaySayHowManyAndIsEvaluatedOnce) {
    TestRun run({{"l", {{"type", "loop"}, {"input", {{"body_step", "b"}, {"max_iterations", "${ctx.n ?? input.n}"}}}}},
                 {"b", worker()},
                 {"each", worker({{"for_each", "input.list"}, {"max_parallel", "${input.n}"}})}},
                {{"n", 2}, {"list", {1, 2, 3}}});
    run.advance();
    EXPECT_THAT(run.begun(), UnorderedElementsAre("l[0]", "each[0]", "each[1]"));
    ASSERT_TRUE(run.run.write_context("n", 50));
    run.end("l[0]", "SUCCEEDED");
    run.end("l[1]", "SUCCEEDED");
    EXPECT_EQ(run.status("l"), "succeeded");
}

TEST(RunPass, ACountedLoopThatMayNotGoOnFails) {
    TestRun run({{"l", {{"type", "loop"}, {"input", {{"body_step", "b"}, {"max_iterations", 5}}}}}, {"b", worker()}});
    run.limits.foreach_items = 1;
    run.advance();
    run.end("l[0]", "SUCCEEDED");
    EXPECT_THAT(run.error_of("l"), HasSubstr("wf_foreach_max_items"));
}

TEST(ChildRunState, IsOfTheRunThatTheStepHasBegun) {
    const std::string own = R"({"status": "running", "metadata": {"parent_run_id": "run-1", "parent_step_id": "s"}})";
    EXPECT_EQ(child_run_state(own, "run-1.s.1", "run-1", "s").status, "running");
    EXPECT_EQ(child_run_state(own, "run-1.s.1", "run-1", "s").unfit, "");
    EXPECT_THAT(child_run_state(own, "run-1.s.1", "run-2", "s").unfit, HasSubstr("there is a run run-1.s.1 already"));
    EXPECT_THAT(child_run_state(R"({"status": "succeeded"})", "c", "run-1", "s").unfit,
                HasSubstr("there is a run c already"));
    EXPECT_THAT(child_run_state("", "c", "run-1", "s").unfit, HasSubstr("is gone"));
    EXPECT_THAT(child_run_state("[", "c", "run-1", "s").unfit, HasSubstr("cannot be read"));
}

TEST(RunPass, ARunThatAnotherHasBegunIsNeitherWaitedForNorCancelled) {
    const json steps{{"s", {{"type", "subworkflow"}, {"input", {{"workflow_id", "wf-2"}}}}}};
    TestRun run(steps);
    run.advance();
    run.children["run-1.s.1"] = {"", {}, "there is a run run-1.s.1 already"};
    run.advance();
    EXPECT_EQ(run.status("s"), "failed");
    EXPECT_EQ(run.status(), "failed");
    TestRun cancelled(steps);
    cancelled.advance();
    cancelled.children["run-1.s.1"] = {"", {}, "there is a run run-1.s.1 already"};
    cancelled.in_pass([](RunPass& pass) { pass.cancel("no more"); });
    EXPECT_THAT(cancelled.effects.cancelled_runs, IsEmpty());
}

// D-23
TEST(RunPass, AStepWhoseJobWouldBeRejectedFailsAtOnce) {
    json tags = json::array();
    for (int n = 0; n < 1'001; ++n) tags.push_back("t");
    TestRun tagged({{"a", worker({{"meta", {{"risk_tags", tags}}}})},
                    {"ask", {{"type", "approval"}, {"meta", {{"risk_tags", tags}}}}}});
    tagged.advance();
    EXPECT_THAT(tagged.begun(), IsEmpty());
    EXPECT_EQ(tagged.status(), "failed");
    for (const char* step : {"a", "ask"})
        EXPECT_THAT(tagged.error_of(step), HasSubstr("meta.risk_tags has 1001 entries"));
    for (const char* id : {"run:1", " run-1"}) {
        TestRun named({{"a", worker()}});
        named.run.set("id", id);
        named.advance();
        EXPECT_THAT(named.error_of("a"), HasSubstr("does not lead back to the step")) << id;
    }
    TestRun large({{"each", worker({{"for_each", "input.list"}})}}, {{"list", {std::string(100'000, 'x')}}});
    large.limits.packet_bytes = 65'536;
    large.advance();
    EXPECT_THAT(large.error_of("each[0]"), HasSubstr("its job would be a message of "));
    EXPECT_EQ(large.status(), "failed");
}

}  // namespace
}  // namespace lockstep::engine
