// What a writer may go on from where Redis has lost something of a job.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct LegalTransitionsWithLoss : RuleTest {
    LegalTransitionsWithLoss() : RuleTest(rules::legal_transitions) {
        define({
            {"move", [this](auto& of) { move(first(of), second(of)); }},
            {"lose", [this](auto& job) { evict_all_of(job); }},
        });
    }
};

constexpr Story kTransitions[] = {
    {"GoOnFromTheStateKeyWhereTheHashIsGone",
     "move=a:PENDING move=a:RUNNING evict=job:meta:a move=a:OUTPUT_QUARANTINED ok move=b:PENDING move=b:FAILED "
     "evict=job:meta:b move=b:TIMEOUT",
     "b: it went from FAILED to TIMEOUT"},
    {"AJobWithoutItsHashIsNewToAWriterThatLooksAtNothingElse", "move=a:PENDING evict=job:meta:a move=a:PENDING"},
    {"AJobOfWhichNothingIsLeftBeginsAnew", "move=a:PENDING move=a:RUNNING lose=a move=a:SUCCEEDED",
     "a: it went from nothing to SUCCEEDED"},
};
using TransitionsTold = Told<LegalTransitionsWithLoss>;
TEST_P(TransitionsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, TransitionsTold, ::testing::ValuesIn(kTransitions), title_of);

}  // namespace
}  // namespace lockstep::sim
