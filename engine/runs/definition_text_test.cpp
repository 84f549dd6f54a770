#include "engine/runs/definition_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> told_of(std::string_view text) {
    std::vector<std::string> told;
    const auto read = read_definition_text(text);
    if (read) return told;
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
    "pay": {"depend_on": ["book"], "timeout_sec": -1},
    "end": {"depends_on": ["pay", "bok"]}
  }
})"),
        ElementsAre(R"(wf.json:4:14: at /steps/book/type: there is no type "aproval"; did you mean "approval"?)",
                    R"(wf.json:4:43: at /steps/book/retry/max_retry: nothing reads "max_retry"; did you mean )"
                    R"("max_retries"?)",
                    R"(wf.json:5:13: at /steps/pay/depend_on: nothing reads "depend_on"; did you mean )"
                    R"("depends_on"?)",
                    "wf.json:5:36: at /steps/pay/timeout_sec: expected a number that is not negative",
                    R"(wf.json:6:35: at /steps/end/depends_on/1: there is no step "bok"; did you mean "book"?)"));
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
