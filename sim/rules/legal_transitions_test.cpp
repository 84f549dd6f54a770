// What a writer may go on from where Redis has lost something of a job.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct LegalTransitionsWithLoss : RuleTest {
    LegalTransitionsWithLoss() : RuleTest(rules::legal_transitions) {}
};

TEST_F(LegalTransitionsWithLoss, GoOnFromTheStateKeyWhereTheHashIsGone) {
    move("a", "PENDING");
    move("a", "RUNNING");
    evict("job:meta:a");
    move("a", "OUTPUT_QUARANTINED");
    EXPECT_THAT(found, IsEmpty());
    move("b", "PENDING");
    move("b", "FAILED");
    evict("job:meta:b");
    move("b", "TIMEOUT");
    EXPECT_THAT(found, ElementsAre("b: it went from FAILED to TIMEOUT"));
}

TEST_F(LegalTransitionsWithLoss, AJobWithoutItsHashIsNewToAWriterThatLooksAtNothingElse) {
    move("a", "PENDING");
    evict("job:meta:a");
    move("a", "PENDING");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LegalTransitionsWithLoss, AJobOfWhichNothingIsLeftBeginsAnew) {
    move("a", "PENDING");
    move("a", "RUNNING");
    evict_all_of("a");
    move("a", "SUCCEEDED");
    EXPECT_THAT(found, ElementsAre("a: it went from nothing to SUCCEEDED"));
}

}  // namespace
}  // namespace lockstep::sim
