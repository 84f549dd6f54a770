// Who may have an unheard result, and how long that is borne with. The stream itself: fakes/engine_test/unheard_results_test.cpp.
#include "engine/reconcile/unheard_results.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

std::string result_of(const std::string& job) {
    cap::JobResult result;
    result.set_job_id(job);
    result.set_worker_id("w");
    result.set_status(cap::JOB_STATUS_FAILED);
    return wire::serialise(wire::make_packet(std::move(result), "", "w", {}));
}

// D-04 (3), (4)
TEST(UnheardResults, ReadsFromTheFloorAndWhatIsNewAtTheNextLook) {
    UnheardResults unheard;
    const auto first = unheard.look(StreamSequence(20), {2, 1, StreamSequence(10)});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->first, StreamSequence(11));
    EXPECT_EQ(first->last, StreamSequence(20));
    EXPECT_TRUE(unheard.found(StreamSequence(7), result_of("a")));
    EXPECT_TRUE(unheard.found(StreamSequence(8), "no packet"));
    EXPECT_TRUE(unheard.may_name(JobId("a")));
    EXPECT_FALSE(unheard.may_name(JobId("b")));
    EXPECT_FALSE(unheard.look(StreamSequence(20), {1, 1, StreamSequence(11)})) << "nothing new";
    const auto second = unheard.look(StreamSequence(25), {1, 1, StreamSequence(11)});
    ASSERT_TRUE(second);
    EXPECT_EQ(second->first, StreamSequence(21));
    EXPECT_TRUE(unheard.may_name(JobId("a")));
}

TEST(UnheardResults, ADurableThatHasNothingToDoHasHeardEverything) {
    UnheardResults unheard;
    EXPECT_TRUE(unheard.look(StreamSequence(20), {1, 0, StreamSequence(10)}));
    EXPECT_TRUE(unheard.found(StreamSequence(7), result_of("a")));
    EXPECT_FALSE(unheard.look(StreamSequence(30), {0, 0, StreamSequence(0)})) << "whatever the floor says";
    EXPECT_FALSE(unheard.may_name(JobId("a")));
}

TEST(UnheardResults, NobodyIsSparedOnceTooMuchWasFoundOrNothingWasLearnt) {
    UnheardResults unheard;
    EXPECT_TRUE(unheard.look(StreamSequence(5000), {2000, 0, StreamSequence(10)}));
    for (std::size_t i = 0; i < UnheardResults::kReadMax; ++i)
        EXPECT_TRUE(unheard.found(StreamSequence(7), result_of("a")));
    EXPECT_FALSE(unheard.may_name(JobId("b")));
    EXPECT_FALSE(unheard.found(StreamSequence(7), result_of("a")));
    EXPECT_TRUE(unheard.may_name(JobId("b")));

    UnheardResults ignorant;
    ignorant.nothing_learnt();
    EXPECT_TRUE(ignorant.may_name(JobId("b")));
    EXPECT_FALSE(ignorant.look(StreamSequence(20), {0, 0, StreamSequence(0)})) << "not in this tick";
    EXPECT_TRUE(ignorant.may_name(JobId("b")));
}

// D-04 (5)
TEST(UnheardResults, PatienceNeedsBothTimes) {
    EXPECT_EQ(decide(false, 1h, {10min, 0s}), Overdue::ends);
    EXPECT_EQ(decide(true, 10min - 1ms, {10min, 1h}), Overdue::waits);
    EXPECT_EQ(decide(true, 1h, {10min, 10min - 1ms}), Overdue::waits);
    EXPECT_EQ(decide(true, 10min, {10min, 10min}), Overdue::ends_unheard);
}

}  // namespace
}  // namespace lockstep::engine
