#include "engine/runs/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> mistakes_of(const json& document) {
    std::vector<std::string> lines;
    const auto read = read_definition(document, {.strict = true});
    if (read) return lines;
    for (const DefinitionMistake& mistake : read.error()) lines.push_back(mistake.pointer + ": " + mistake.message);
    return lines;
}

json with_steps(json steps) { return {{"id", "wf-1"}, {"steps", std::move(steps)}}; }

TEST(Definition, ReadsWhatAGatewayHasWritten) {
    const auto read = read_definition(json::parse(R"({
        "id": "wf-1", "org_id": "acme", "team_id": "t", "name": "Orders", "version": "3", "timeout_sec": 600,
        "created_by": "ann", "created_at": "2026-01-01T00:00:00Z", "parameters": [{"name": "x"}],
        "steps": {"a": {"id": "a", "type": "llm", "retry": {"max_retries": 2, "multiplier": 1.5}, "extra": [1],
                        "route_labels": {"region": "eu"}, "meta": {"risk_tags": ["pii"]}},
                  "b": {"type": "delay", "delay_sec": 5, "depends_on": ["a"], "for_each": ""}}})"));
    ASSERT_TRUE(read) << read.error().front().message;
    EXPECT_EQ(read->timeout_sec, 600);
    const StepDefinition& a = *read->step("a");
    EXPECT_EQ(a.type, StepType::job) << "a type that is none of those with a meaning of their own";
    EXPECT_EQ(a.type_name, "llm");
    EXPECT_EQ(a.retry.max_retries, 2);
    EXPECT_EQ(a.route_labels.at("region"), "eu");
    EXPECT_EQ(read->step("b")->depends_on, std::vector<std::string>{"a"});
    EXPECT_EQ(read->step("c"), nullptr);
}

TEST(Definition, NamesEveryMistakeAtItsPlace) {
    EXPECT_THAT(mistakes_of({{"id", "wf:1"},
                             {"steps",
                              {{"a", {{"depends_on", {"b"}}, {"timeout_sec", -1}, {"condition", "input."}}},
                               {"-b", {{"type", "worker"}}},
                               {"d", {{"type", "delay"}, {"delay_until", "tomorrow"}}}}}}),
                ElementsAre(HasSubstr("/id: an id has no colon"), HasSubstr("/steps/-b: \"-b\" is no step id"),
                            HasSubstr("/steps/a/condition: "),
                            HasSubstr("/steps/d/delay_until: \"tomorrow\" is no time as in RFC 3339"),
                            HasSubstr("/steps/a/depends_on/0: there is no step \"b\""),
                            "/steps/a/timeout_sec: timeout_sec is -1: expected a whole number from 0 to 315360000 (ten "
                            "years)"));
    EXPECT_THAT(mistakes_of(json::array()), ElementsAre(": expected an object, got array"));
    EXPECT_THAT(mistakes_of({{"id", "x"}}), ElementsAre("/steps: expected an object with at least one step"));
}

// D-21
TEST(Definition, NumbersAreTakenAsTheyAreMeantOrRefusedByName) {
    const char* text = R"({"id": "wf-1", "timeout_sec": 99999999999999999999, "steps": {
        "a": {"timeout_sec": 9223372036854775807, "retry": {"max_retries": 1000001, "max_backoff_sec": 400000000}},
        "b": {"type": "delay", "delay_sec": 18446744073709551615},
        "c": {"type": "loop", "input": {"body_step": "a", "max_iterations": "3"}},
        "d": {"for_each": "input.list", "max_parallel": -1, "timeout_sec": 60.0}}})";
    const auto stored = read_definition(json::parse(text));
    ASSERT_TRUE(stored) << stored.error().front().message;
    EXPECT_EQ(stored->timeout_sec, kDurationSecMax);
    EXPECT_EQ(stored->step("a")->timeout_sec, kDurationSecMax);
    EXPECT_EQ(stored->step("b")->delay_sec, kDurationSecMax);
    EXPECT_EQ(stored->step("d")->timeout_sec, 60);
    EXPECT_EQ(stored->capped.size(), 4u);
    EXPECT_EQ(stored->step("d")->unfit.front().message,
              "max_parallel is -1: expected a whole number from 0 to 1000000");
    EXPECT_THAT(
        mistakes_of(json::parse(text)),
        ElementsAre(HasSubstr("/timeout_sec: timeout_sec is 1e+20, and counts as 315360000 (ten years)"),
                    HasSubstr("/steps/a/timeout_sec: timeout_sec is 9223372036854775807, and counts as"),
                    HasSubstr("/steps/a/retry/max_backoff_sec: max_backoff_sec is 400000000"),
                    HasSubstr("/steps/b/delay_sec: delay_sec is 18446744073709551615"),
                    HasSubstr("/steps/a/retry/max_retries: max_retries is 1000001: expected a whole number from "),
                    HasSubstr("/steps/c/input/max_iterations: max_iterations is \"3\": expected a whole number"),
                    HasSubstr("/steps/d/max_parallel: max_parallel is -1")));
    EXPECT_THAT(mistakes_of({{"id", "wf-1"}, {"timeout_sec", -5}, {"steps", {{"a", {{"timeout_sec", 1.5}}}}}}),
                ElementsAre(HasSubstr("/timeout_sec: timeout_sec is -5"),
                            "/steps/a/timeout_sec: expected a whole number, got 1.5"));
}

TEST(Definition, WhatWouldRunAsSomethingElseOrWaitForEverIsRefused) {
    EXPECT_THAT(
        mistakes_of(with_steps({{"ask", {{"type", "approval"}, {"for_each", "input.list"}}},
                                {"l", {{"type", "loop"}, {"input", {{"body_step", "body"}}}}},
                                {"body", {{"type", "delay"}}},
                                {"p", {{"type", "parallel"}, {"input", {{"steps", {"x"}}}}}},
                                {"x", {{"type", "worker"}}},
                                {"y", {{"on_error", "x"}}}})),
        ElementsAre(HasSubstr("/steps/ask/for_each: only jobs run once for each item"),
                    HasSubstr("/steps/l/input/body_step: a loop repeats a job, and \"body\" is a step of type delay"),
                    HasSubstr("/steps/y/on_error: \"x\" is started by \"p\"")));
}

TEST(Definition, OfManyMistakesTheFirstOnesNameTheNearest) {
    json names = json::array();
    for (int n = 0; n < 3000; ++n) names.push_back("gone" + std::to_string(n));
    const auto mistakes = mistakes_of(with_steps({{"a", {{"depends_on", names}}}, {"gone", {{"type", "worker"}}}}));
    ASSERT_EQ(mistakes.size(), 3000u);
    EXPECT_THAT(mistakes.front(), HasSubstr("did you mean"));
    EXPECT_THAT(mistakes.back(), ::testing::Not(HasSubstr("did you mean")));
}

TEST(Definition, NamesACircleStepByStep) {
    EXPECT_THAT(mistakes_of(with_steps({{"a", {{"depends_on", {"c"}}}},
                                        {"b", {{"depends_on", {"a"}}}},
                                        {"c", {{"depends_on", {"b"}}}},
                                        {"d", {{"depends_on", {"a"}}}}})),
                ElementsAre("/steps/a: it waits for itself: a -> c -> b -> a"));
    EXPECT_THAT(mistakes_of(with_steps(
                    {{"p", {{"type", "parallel"}, {"input", {{"steps", {"x"}}}}}}, {"x", {{"depends_on", {"p"}}}}})),
                ElementsAre(HasSubstr("it waits for itself: p -> x -> p")));
}

TEST(Definition, WhatAChoiceMayTakeWaitsForTheChoice) {
    EXPECT_THAT(mistakes_of(with_steps({{"left", {{"type", "worker"}}},
                                        {"pick",
                                         {{"type", "switch"},
                                          {"condition", "input.x"},
                                          {"input", {{"cases", {{"1", "left"}}}}},
                                          {"depends_on", {"left"}}}}})),
                ElementsAre(HasSubstr("it waits for itself: left -> pick -> left")));
}

TEST(Definition, WhatMakesAFailureGoodWaitsForIt) {
    EXPECT_THAT(mistakes_of(with_steps(
                    {{"mend", {{"type", "worker"}}}, {"try", {{"on_error", "mend"}, {"depends_on", {"mend"}}}}})),
                ElementsAre(HasSubstr("it waits for itself: mend -> try -> mend")));
    EXPECT_THAT(mistakes_of(with_steps({{"mend", {{"type", "worker"}}},
                                        {"first", {{"on_error", "mend"}}},
                                        {"second", {{"on_error", "mend"}, {"depends_on", {"mend"}}}}})),
                IsEmpty())
        << "another one may call it";
}

TEST(Definition, NothingWaitsForWhatALoopRepeats) {
    EXPECT_THAT(mistakes_of(with_steps({{"again", {{"type", "loop"}, {"input", {{"body_step", "body"}}}}},
                                        {"body", {{"type", "worker"}}},
                                        {"after", {{"depends_on", {"body"}}}}})),
                ElementsAre("/steps/after/depends_on/0: \"body\" is what \"again\" repeats: expected \"again\""));
}

TEST(Definition, ALongChainIsNoCircle) {
    json steps;
    for (int n = 0; n < 900; ++n)
        steps["s" + std::to_string(n)] = {{"depends_on", n == 0 ? json::array() : json{"s" + std::to_string(n - 1)}}};
    EXPECT_THAT(mistakes_of(with_steps(steps)), IsEmpty());
}

TEST(Definition, WhatATypeNeedsIsAskedFor) {
    EXPECT_THAT(
        mistakes_of(with_steps({{"a", {{"type", "switch"}}},
                                {"b", {{"type", "parallel"}, {"input", {{"steps", {"c"}}, {"strategy", "most"}}}}},
                                {"c", {{"type", "loop"}}},
                                {"d", {{"type", "subworkflow"}}}})),
        ElementsAre(HasSubstr("/steps/a/condition: a step of type switch has a condition"),
                    HasSubstr("/steps/b/input: the strategy is all, any or n_of_m"),
                    HasSubstr("/steps/c/input: a loop names its step"),
                    HasSubstr("/steps/d/input: a subworkflow says")));
}

TEST(Definition, ACompensationMayStandInTheConfiguration) {
    const auto read = read_definition({{"id", "wf-1"},
                                       {"config", {{"compensations", {{"a", {{"topic", "job.undo"}}}}}}},
                                       {"steps", {{"a", {{"type", "worker"}}}}}});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->step("a")->compensation.at("topic"), "job.undo");
    EXPECT_THAT(mistakes_of(with_steps({{"a", {{"compensation", {{"topik", "job.undo"}}}}}})),
                ElementsAre(HasSubstr("/steps/a/compensation: ")));
}

TEST(Definition, ASchemaWithAKeywordThatNobodyChecksIsRefused) {
    EXPECT_THAT(mistakes_of(with_steps({{"a", {{"input_schema", {{"contains", {{"type", "string"}}}}}}}})),
                ElementsAre(HasSubstr("/steps/a/input_schema")));
}

TEST(StepId, HasTheDocumentedForm) {
    for (const char* good : {"a", "9", "A.b_c-d"}) EXPECT_TRUE(is_step_id(good)) << good;
    for (const char* bad : {"", "-a", ".a", "a b", "a[0]", "ä"}) EXPECT_FALSE(is_step_id(bad)) << bad;
    EXPECT_TRUE(is_step_id(std::string(64, 'x')));
    EXPECT_FALSE(is_step_id(std::string(65, 'x')));
}

}  // namespace
}  // namespace lockstep::engine
