#include "sim/page/job_bars.h"

#include <gmock/gmock.h>

#include "sim/explain/test_history.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using reports::Timeline;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// One event per millisecond.
class JobBarsTest : public ::testing::Test {
protected:
    void submit(std::string_view job) {
        told_.add({.kind = EventKind::submit, .node = TestHistory::kGateway, .job = job});
    }
    void enter(std::string_view job, std::string_view state) {
        told_.add({.kind = EventKind::state, .job = job, .to = state});
    }
    void ask(std::string_view job, When when) {
        told_.add({.kind = EventKind::kernel_check, .when = when, .peer = 2, .job = job});
    }
    void waits(const std::string& job, const std::string& cause, std::int64_t from_ms, std::int64_t to_ms) {
        told_.history.waits.jobs[job].push_back({cause, from_ms * 1'000'000, to_ms * 1'000'000});
    }
    std::vector<Timeline::Job> jobs() {
        Timeline timeline;
        add_jobs(told_.history, Causality(told_.history), timeline);
        return timeline.jobs;
    }
    /// "what 1-3" in milliseconds.
    static std::vector<std::string> stretches(const Timeline::Job& job) {
        std::vector<std::string> out;
        for (const Timeline::Stretch& stretch : job.stretches)
            out.push_back(stretch.what + " " + std::to_string(stretch.from_us / 1000) + "-" +
                          std::to_string(stretch.to_us / 1000));
        return out;
    }

    TestHistory told_;
};

TEST_F(JobBarsTest, AJobWaitsIsSentAndIsExecuted) {
    submit("a");               // 1 ms
    enter("a", "PENDING");     // 2
    enter("a", "DISPATCHED");  // 3
    enter("a", "RUNNING");     // 4
    enter("a", "SUCCEEDED");   // 5
    enter("b", "PENDING");     // 6: nobody submitted it on the bus
    waits("a", "its_turn", 1, 3);
    const auto all = jobs();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].id, "a");
    EXPECT_EQ(all[0].state, "SUCCEEDED");
    EXPECT_EQ(all[0].attempts, 1);
    EXPECT_EQ(all[0].from_us, 1000);
    EXPECT_EQ(all[0].to_us, 5000);
    EXPECT_THAT(stretches(all[0]), ElementsAre("its_turn 1-3", "dispatched 3-4", "running 4-5"));
    EXPECT_EQ(all[1].id, "b");
    EXPECT_EQ(all[1].to_us, 6000) << "what has not ended lasts up to the end of the run";
}

TEST_F(JobBarsTest, EachTryIsThereWithWhatCameBetween) {
    enter("a", "DISPATCHED");  // 1
    enter("a", "PENDING");     // 2
    enter("a", "DISPATCHED");  // 3
    enter("a", "FAILED");      // 4
    waits("a", "another_try", 2, 3);
    const auto all = jobs();
    EXPECT_EQ(all[0].attempts, 2);
    EXPECT_THAT(stretches(all[0]), ElementsAre("dispatched 1-2", "another_try 2-3", "dispatched 3-4"));
}

TEST_F(JobBarsTest, AQuestionToTheKernelStandsOutOfWhatTheJobWaitedForMeanwhile) {
    submit("a");               // 1
    ask("a", When::before);    // 2
    ask("a", When::applied);   // 3
    ask("a", When::answered);  // 4
    enter("a", "PENDING");     // 5
    enter("a", "CANCELLED");   // 6
    waits("a", "its_turn", 1, 5);
    waits("a", "approval", 5, 6);
    EXPECT_THAT(stretches(jobs()[0]), ElementsAre("its_turn 1-2", "policy 2-4", "its_turn 4-5", "approval 5-6"));
}

TEST_F(JobBarsTest, AQuestionWithoutAnAnswerIsNone) {
    submit("a");             // 1
    ask("a", When::before);  // 2
    enter("a", "TIMEOUT");   // 3
    waits("a", "its_turn", 1, 3);
    EXPECT_THAT(stretches(jobs()[0]), ElementsAre("its_turn 1-3"));
}

}  // namespace
}  // namespace lockstep::sim
