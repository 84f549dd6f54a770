#include "sim/search/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;

RunResult violated(std::string invariant, std::string node, std::string job, std::string detail) {
    RunResult result;
    result.seed = 7;
    result.digest = 0xabcdefU;
    result.events = 100;
    result.violations.push_back({std::move(invariant), 1234, std::move(node), std::move(job), std::move(detail), {}});
    return result;
}

TEST(Signature, ForgetsNamesAndNumbers) {
    const auto a =
        signature_of(violated("no_lost_job", "scheduler-0", "special", "job special on scheduler-0 waited 12 ms"));
    const auto b =
        signature_of(violated("no_lost_job", "scheduler-2", "job-17", "job job-17 on scheduler-2 waited 40 ms"));
    EXPECT_EQ(a, b);
    EXPECT_NE(a, signature_of(violated("no_lost_job", "", "", "it is PENDING")));
    EXPECT_NE(a, signature_of(
                     violated("nothing_leaks", "scheduler-0", "special", "job special on scheduler-0 waited 12 ms")));
}

TEST(Signature, ForgetsHowManyNodesItNamesAndWhichTopic) {
    RunResult many = violated("no_cold_start", "", "", "the snapshot names booker, failer, w-0, w-1 for job.book");
    many.nodes = {"scheduler-0", "booker", "failer", "w-0", "w-1"};
    RunResult one = violated("no_cold_start", "", "", "the snapshot names booker for job.default");
    one.nodes = {"scheduler-0", "booker"};
    EXPECT_EQ(signature_of(many), signature_of(one));
    EXPECT_EQ(signature_of(one), "no_cold_start: the snapshot names # for #");
    one.violations.front().detail = "the snapshot names nobody for job.default";
    EXPECT_NE(signature_of(many), signature_of(one));
}

TEST(Signature, OfARunThatPassedIsEmpty) {
    RunResult result;
    result.passed = true;
    EXPECT_EQ(signature_of(result), "");
}

TEST(Signature, OfAnExpectationIsItsText) {
    RunResult result;
    result.expectations = {{"a", "1", true}, {"states SUCCEEDED >= 3", "2", false}};
    EXPECT_EQ(signature_of(result), "expectation: states SUCCEEDED >= 3");
}

TEST(FailureFile, GivesBackWhatWasWritten) {
    RunResult result = violated("no_lost_job", "n", "j", "d");
    result.violations.front().paragraph = "engine/wire/wire.md 9";
    const Failure failure = failure_of(Document{{"name", "x"}}, result, "explore, draw 7");
    const auto read = parse_failure(failure_text(failure));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->scenario, failure.scenario);
    EXPECT_EQ(read->seed, 7U);
    EXPECT_EQ(read->digest, 0xabcdefU);
    EXPECT_EQ(read->signature, failure.signature);
    EXPECT_EQ(read->violation->detail, "d");
    EXPECT_EQ(read->violation->paragraph, "engine/wire/wire.md 9");
    EXPECT_EQ(read->origin, "explore, draw 7");
}

TEST(FailureFile, NamesThePlaceOfWhatIsWrong) {
    Document document =
        Document::parse(failure_text(failure_of(Document{{"name", "x"}}, violated("i", "", "", ""), "")));
    const auto error_without = [&](const char* key) {
        Document broken = document;
        broken.erase(key);
        const auto read = parse_failure(broken.dump());
        return read ? std::string{} : read.error();
    };
    EXPECT_THAT(error_without("kind"), HasSubstr("/kind"));
    EXPECT_THAT(error_without("version"), HasSubstr("/version"));
    EXPECT_THAT(error_without("seed"), HasSubstr("/seed"));
    EXPECT_THAT(error_without("scenario"), HasSubstr("/scenario"));
    EXPECT_THAT(error_without("digest"), HasSubstr("/digest"));
    EXPECT_FALSE(parse_failure("[]"));
    EXPECT_FALSE(parse_failure("{"));
}

}  // namespace
}  // namespace lockstep::sim
