// Several results of one job: the first in the stream counts, as far as somebody has had it in hand (D-17).
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class ResultOrderTest : public SchedulerTest {
protected:
    ResultOrderTest() {
        tunables.bus_ack_wait = 30s;
        tunables.worker_ttl = 24h;
    }
    void occupy(const std::string& job) { run({"SET", "cordum:scheduler:job:" + job, "somebody else"}); }
    void leave(const std::string& job) { run({"DEL", "cordum:scheduler:job:" + job}); }
    std::string note(const std::string& job) { return field(job, "ls_result_first"); }
    /// Handed back because the lock is busy.
    void comes_in_vain(std::uint64_t sequence, cap::JobStatus status) {
        occupy("j1");
        const Fate fate = result(result_of("j1", status), sequence);
        loop.run_for(3s);
        EXPECT_TRUE(fate->handed_back(500ms));
        leave("j1");
    }
    Fate comes(std::uint64_t sequence, cap::JobStatus status) {
        const Fate fate = result(result_of("j1", status), sequence);
        loop.run_for(3s);
        return fate;
    }
};

// D-17: the lock was busy when the first one came, and is free when the second one does.
TEST_F(ResultOrderTest, ALaterResultWaitsForOneThatWasHandedBack) {
    start();
    run_job("j1");
    comes_in_vain(50, cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(note("j1").substr(0, 3), "50 ");
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->handed_back(500ms));
    EXPECT_EQ(metrics.value(Metric::results_out_of_turn, {}), 1);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_TRUE(comes(50, cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(note("j1"), "") << "settled with the end of the job";
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(ResultOrderTest, AnEarlierOneDoesNotWaitForALaterOne) {
    start();
    run_job("j1");
    comes_in_vain(51, cap::JOB_STATUS_FAILED);
    EXPECT_TRUE(comes(50, cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(ResultOrderTest, NobodyWaitsLongerThanAnAckWait) {
    start();
    run_job("j1");
    comes_in_vain(50, cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(20s);
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->handed_back(500ms));
    loop.run_for(8s);
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
}

TEST_F(ResultOrderTest, ANoteFromAClockThatHasBeenSetBackHoldsNobodyUp) {
    start();
    run_job("j1");
    run({"HSET", "job:meta:j1", "ls_result_first", "50 99999999999999999"});
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
}

TEST_F(ResultOrderTest, AResultThatChangesNothingIsSettledWithItsLock) {
    start();
    run_job("j1");
    EXPECT_TRUE(comes(50, cap::JOB_STATUS_DENIED)->acked()) << "no such transition";
    EXPECT_EQ(note("j1"), "");
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("j1"), "SUCCEEDED");
}

TEST_F(ResultOrderTest, AStrangersReportTakesNoTurn) {
    start();
    run_job("j1");
    comes_in_vain(51, cap::JOB_STATUS_FAILED);
    cap::JobResult of_a_stranger = result_of("j1", cap::JOB_STATUS_CANCELLED);
    of_a_stranger.set_worker_id("stranger");
    const Fate refused = result(of_a_stranger, 50);
    loop.run_for(3s);
    EXPECT_TRUE(refused->acked());
    EXPECT_EQ(note("j1").substr(0, 3), "51 ") << "nor has it struck the note of the worker's own";
    EXPECT_TRUE(comes(52, cap::JOB_STATUS_SUCCEEDED)->handed_back(500ms));
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
}

TEST_F(ResultOrderTest, WhereAnybodyIsBelievedAStrangersReportTakesItsTurn) {
    tunables.results_from_any_worker = true;
    start();
    run_job("j1");
    comes_in_vain(51, cap::JOB_STATUS_FAILED);
    cap::JobResult of_a_stranger = result_of("j1", cap::JOB_STATUS_SUCCEEDED);
    of_a_stranger.set_worker_id("stranger");
    const Fate later = result(of_a_stranger, 52);
    loop.run_for(3s);
    EXPECT_TRUE(later->handed_back(500ms));
}

TEST_F(ResultOrderTest, EndsByOthersSettleToo) {
    tunables.reconciler_interval = 1s;
    tunables.running_timeout = 5s;
    start();
    run_job("j1");
    comes_in_vain(50, cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(5s);
    EXPECT_EQ(state("j1"), "TIMEOUT");
    EXPECT_EQ(note("j1"), "");
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_SUCCEEDED)->acked());
}

TEST_F(ResultOrderTest, NothingIsNotedOfAJobThatIsNotAtWork) {
    start();
    occupy("j1");
    const Fate fate = result(result_of("j1", cap::JOB_STATUS_SUCCEEDED), 50);
    loop.run_for(3s);
    EXPECT_TRUE(fate->handed_back(500ms));
    EXPECT_EQ(*run({"EXISTS", "job:meta:j1"}).integer(), 0);
}

TEST_F(ResultOrderTest, SwitchedOffWhoComesFirstCounts) {
    more_config.mechanisms.switch_off(engine::Mechanism::result_order);
    start();
    run_job("j1");
    comes_in_vain(50, cap::JOB_STATUS_SUCCEEDED);
    EXPECT_TRUE(comes(51, cap::JOB_STATUS_FAILED)->acked());
    EXPECT_EQ(state("j1"), "FAILED");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
