#include "engine/runs/definition_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> told_of(std::string_view text) {
    std::vector<std::string> told;
    const auto read = read_definition_text(text, {.strict = true}, WallTime(std::chrono::hours{24 * 20'000}));
    if (read) {
        for (const PlacedMistake& warning : read->warnings) told.push_back("warning: " + warning.describe("wf.json"));
        return told;
    }
    for (const PlacedMistake& mistake : read.error()) told.push_back(mistake.describe("wf.json"));
    return told;
}

TEST(DefinitionText, GivesTheDocumentAndWhatItMeans) {
    const auto read = read_definition_text(R"({
  // Comments are for the author.
  "id": "trip", "owner": "somebody else's member",
  "steps": {"book": {"type": "worker"}, "wait": {"type": "bespoke", "depends_on": ["book"]}}
})");
    ASSERT_TRUE(read) << read.error().front().message;
    EXPECT_EQ(read->document["owner"], "somebody else's member");
    EXPECT_EQ(read->definition.steps.size(), 2U);
}

TEST(DefinitionText, TellsEveryMistakeWithItsPlaceAndTheNearestName) {
    EXPECT_THAT(
        told_of(R"({
  "id": "trip",
  "steps": {
    "book": {"type": "aproval", "retry": {"max_retry": 2}},
    "pay": {"depend_on": ["book"], "delay_sec": -1},
    "end": {"depends_on": ["pay", "bok"]}
  }
})"),
        ElementsAre(
            R"(wf.json:4:14: at /steps/book/type: there is no type "aproval"; did you mean "approval"?)",
            R"(wf.json:4:43: at /steps/book/retry/max_retry: nothing reads "max_retry"; did you mean )"
            R"("max_retries"?)",
            R"(wf.json:5:13: at /steps/pay/depend_on: nothing reads "depend_on"; did you mean )"
            R"("depends_on"?)",
            "wf.json:5:36: at /steps/pay/delay_sec: delay_sec is -1: expected a whole number from 0 to 315360000 "
            "(ten years)",
            R"(wf.json:6:35: at /steps/end/depends_on/1: there is no step "bok"; did you mean "book"?)"));
}

std::vector<std::string> told_of_steps(const std::string& steps) {
    return told_of(R"({"id": "w", "steps": {)" + steps + "}}");
}

TEST(DefinitionText, RefusesWhatNoEngineCarriesOut) {
    struct Case {
        const char* steps;
        const char* told;
    };
    for (
        const auto& [steps, told] : std::initializer_list<Case>{
            {R"("a": {"type": "transform", "timeout_sec": 5})", "at /steps/a/timeout_sec: `timeout_sec` has no effect"},
            {R"("a": {"type": "parallel", "input": {"steps": ["b"]}, "retry": {"max_retries": 2}}, "b": {})",
             "at /steps/a/retry: `retry` has no effect at a step of type parallel"},
            {R"("a": {"type": "subworkflow", "input": {"workflow_id": "x"}, "compensation": {"topic": "job.x"}})",
             "at /steps/a/compensation: `compensation` has no effect at a step of type subworkflow"},
            {R"("a": {"delay_sec": 5})", "at /steps/a/delay_sec: `delay_sec` has no effect at a step of type worker"},
            {R"("a": {"max_parallel": 5})", "at /steps/a/max_parallel: `max_parallel` has no effect"},
            {R"("a": {"input_schema_id": "s"})", "write the schema into `input_schema`"},
            {R"("a": {"id": "b"})", R"(at /steps/a/id: the step's id is its key, "a")"},
            {R"("a": {"type": "delay", "delay_sec": 60, "timeout_sec": 30})",
             "at /steps/a/timeout_sec: the delay is longer than its timeout_sec of 30 s"},
            {R"("a": {"type": "delay", "delay_until": "2199-01-01T00:00:00Z"})", "is more than ten years away"},
            {R"("l": {"type": "loop", "input": {"body_step": "b"}}, "b": {"condition": "true"})",
             "at /steps/b/condition: `condition` has no effect at what a loop repeats"},
            {R"("l": {"type": "loop", "input": {"body_step": "b", "max_iteration": 3}}, "b": {})",
             R"(at /steps/l/input/max_iteration: nothing reads "max_iteration"; did you mean "max_iterations"?)"},
            {R"("p": {"type": "parallel", "input": {"steps": ["b", "b"]}}, "b": {})", R"("b" stands twice)"},
            {R"("p": {"type": "parallel", "input": {"steps": ["b"]}}, "q": {"type": "parallel", "input": {"steps": ["b"]}},
                 "b": {})",
             "at /steps/b: more than one step starts it: p, q"},
            {R"("s": {"type": "switch", "condition": "input.x", "input": {"cases": {"1": "bok"}}}, "book": {})",
             R"(at /steps/s/input: there is no step "bok"; did you mean "book"?)"},
            {R"("s": {"type": "switch", "condition": "input.x", "input": {"cases": [{"when": "very big", "next": "b"}]}},
                 "b": {})",
             "at /steps/s/input/cases/0/when: "},
            {R"("s": {"type": "switch", "condition": "input.x", "input": {}})", "names the steps that it may take"},
            {R"("s": {"type": "subworkflow", "input": {"workflow_id": "w"}})", "a workflow does not begin itself"},
            {R"("s": {"type": "storage", "input": {"operation": "writ", "key": "k"}})", "read, write or delete"},
            {R"("a": {"on_error": "h"}, "h": {"condition": "true"})",
             "a handler of errors, which begins when it is called"},
        }) {
        EXPECT_THAT(told_of_steps(steps), ElementsAre(HasSubstr(told))) << steps;
    }
    std::string tags;
    for (int n = 0; n < 1001; ++n) tags += (n == 0 ? "\"t\"" : ", \"t\"");
    EXPECT_THAT(told_of_steps(R"("a": {"meta": {"risk_tags": [)" + tags + "]}}"),
                ElementsAre(HasSubstr("at /steps/a: its job would be rejected: meta.risk_tags has 1001 entries")));
    EXPECT_THAT(told_of(R"({"id": "w", "config": {"compensations": {"b": {"topic": "job.x"}}}, "steps": {"a": {}}})"),
                ElementsAre(HasSubstr(R"(at /config/compensations/b: there is no step "b")")));
}

TEST(DefinitionText, WarnsOfWhatIsCarriedOutAndPerhapsMeantOtherwise) {
    EXPECT_THAT(told_of_steps(R"("a": {"on_error": "h"}, "b": {"on_error": "h"}, "h": {"depends_on": ["a"]})"),
                ElementsAre(HasSubstr(R"(at /steps/b/on_error: "h" handles the first failure that calls it)"),
                            HasSubstr("at /steps/h/depends_on: a handler of errors begins when it is called")));
    EXPECT_THAT(told_of_steps(R"("a": {"retry": {"max_retries": 3, "multiplier": 1}})"),
                ElementsAre(HasSubstr("warning: wf.json:1:57: at /steps/a/retry/multiplier: 1 counts as 2")));
    EXPECT_THAT(told_of_steps(R"("a": {"type": "approval", "retry": {"max_retries": 1}})"),
                ElementsAre(HasSubstr("at /steps/a/retry: the person who rejects the gate's job is asked again")));
    EXPECT_THAT(told_of_steps(
                    R"("s": {"type": "switch", "condition": "input.x", "input": {"cases": {"1": "x"}, "default": "y"}},
                                 "x": {}, "y": {}, "then": {"depends_on": ["x"]}, "join": {"depends_on": ["x", "y"]})"),
                ElementsAre(HasSubstr("at /steps/then/depends_on/0: a branch that is not taken counts as done")));
    EXPECT_THAT(told_of_steps(R"("p": {"type": "parallel", "input": {"steps": ["x", "y"], "strategy": "any"}}, "x": {},
                                 "y": {}, "then": {"depends_on": ["x"]})"),
                ElementsAre(HasSubstr(R"(at /steps/then/depends_on/0: "x" is cancelled when "p" has enough)")));
}

TEST(DefinitionText, SaysWhereItIsNoJsonAndWhatStandsTwice) {
    EXPECT_THAT(told_of("{\n  \"id\": trip\n}"), ElementsAre(HasSubstr("wf.json:2:11: expected JSON")));
    EXPECT_THAT(told_of(R"({"id": "a", "steps": {"x": {},
                                                  "x": {"type": "worker"}}})"),
                ElementsAre("wf.json:2:51: at /steps/x: this key stands in the same object twice, first in line 1"));
    EXPECT_THAT(told_of(std::string(100, '[') + std::string(100, ']')),
                ElementsAre("wf.json: expected at most 64 levels of nesting"));
    EXPECT_THAT(told_of("[]"), ElementsAre("wf.json:1:1: expected an object, got array"));
}

TEST(DefinitionText, PutsWhatIsMissingAtWhatItIsMissingFrom) {
    EXPECT_THAT(told_of("{\n  \"id\": \"a\"}"),
                ElementsAre("wf.json:1:1: at /steps: expected an object with at least one step"));
}

TEST(DefinitionText, RefusesWhatIsTooLarge) {
    EXPECT_THAT(told_of(std::string(kDefinitionBytesMax + 1, ' ')),
                ElementsAre("wf.json: it has 1048577 bytes, of at most 1048576"));
}

}  // namespace
}  // namespace lockstep::engine
