// Timeouts while a result may stand in the stream (D-04): who waits, for how long, and who does not.
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

namespace wire = engine::wire;

constexpr const char* kDurable = "dur_cordum-scheduler__sys_job_result";
constexpr const char* kTickLock = "cordum:reconciler:default";

class UnheardResultsTest : public SchedulerTest {
protected:
    UnheardResultsTest() {
        tunables.reconciler_interval = 1s;
        tunables.running_timeout = 5s;
        tunables.bus_ack_wait = 20s;
        tunables.worker_ttl = 24h;
    }
    Duration patience() const { return tunables.bus_ack_wait + 2 * tunables.reconciler_interval; }
    /// Puts a message into the stream that nobody delivers.
    std::uint64_t stands(std::string payload, const std::string& subject = "sys.job.result") {
        return bus.store({subject, std::move(payload), {}, {}}).sequence.value();
    }
    std::uint64_t result_stands(const std::string& job, cap::JobStatus status = cap::JOB_STATUS_SUCCEEDED) {
        return stands(wire::serialise(wire::make_packet(result_of(job, status), "", "w1", clock.now())));
    }
    /// What the durable of results says of itself.
    engine::ConsumerState& durable() { return bus.consumer_states[kDurable]; }
    /// Whoever takes it up finds the lock of the job held.
    void nobody_can_handle(const std::string& job) {
        run({"SET", "cordum:scheduler:job:" + job, "somebody", "PX", "3600000"});
    }
    void one_is_waiting_above(std::uint64_t floor) { durable() = {1, 0, engine::StreamSequence(floor)}; }
};

// D-04 (4)
TEST_F(UnheardResultsTest, OnlyTheJobThatIsNamedWaitsAndItsResultEndsIt) {
    start();
    run_job("a");
    run_job("b");
    one_is_waiting_above(result_stands("a") - 1);
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "RUNNING");
    EXPECT_EQ(state("b"), "TIMEOUT");
    EXPECT_EQ(dead_letter_code("b"), "timeout");
    EXPECT_TRUE(result("a", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("a"), "SUCCEEDED");
    EXPECT_EQ(metrics.value(Metric::timeouts_unheard, {"job.default"}), 0);
}

TEST_F(UnheardResultsTest, AResultThatIsInHandCountsLikeOneThatWaits) {
    start();
    run_job("a");
    durable() = {0, 1, engine::StreamSequence(result_stands("a") - 1)};
    loop.run_for(10s);
    EXPECT_EQ(state("a"), "RUNNING");
    durable() = {};  // the floor says nothing: it moves in acknowledgements only
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

// D-04 (3), (4)
TEST_F(UnheardResultsTest, WhatIsBelowTheFloorHasBeenHeard) {
    start();
    run_job("a");
    const std::uint64_t heard = result_stands("a");
    result_stands("somebody else");
    one_is_waiting_above(heard);
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

TEST_F(UnheardResultsTest, OnlyWhatWouldEndAJobNamesIt) {
    start();
    run_job("a");
    const std::uint64_t first = stands("\x01 no packet");
    result_stands("a", cap::JOB_STATUS_RUNNING);
    cap::JobResult anonymous = result_of("a", cap::JOB_STATUS_SUCCEEDED);
    anonymous.clear_worker_id();
    stands(wire::serialise(wire::make_packet(anonymous, "", "w1", clock.now())));
    stands(wire::serialise(wire::make_packet(request_for("a"), "", "w1", clock.now())));
    result_stands(" a ");
    stands(wire::serialise(wire::make_packet(result_of("a", cap::JOB_STATUS_SUCCEEDED), "", "w1", clock.now())),
           "sys.job.submit.other");
    one_is_waiting_above(first - 1);
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

// D-04 (5)
TEST_F(UnheardResultsTest, PatienceEndsWithAReasonOfItsOwn) {
    start();
    run_job("a");
    nobody_can_handle("a");
    one_is_waiting_above(result_stands("a") - 1);
    loop.run_for(5s + patience() - 1s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(3s);
    EXPECT_EQ(state("a"), "TIMEOUT");
    EXPECT_EQ(dead_letter_code("a"), "timeout_unheard");
    EXPECT_EQ(field("a", "failure_reason"),
              "timeout: RUNNING >5s, and a result that may stand in the stream has not been heard for another 22s");
    EXPECT_EQ(metrics.value(Metric::timeouts_unheard, {"job.default"}), 1);
}

// D-04 (5)
TEST_F(UnheardResultsTest, PatienceBeginsOnceTheStreamAnswersAgain) {
    start();
    run_job("a");
    nobody_can_handle("a");
    one_is_waiting_above(result_stands("a") - 1);
    bus.stream_error = "no responders";
    loop.run_for(5s + 3 * patience());
    EXPECT_EQ(state("a"), "RUNNING") << "nobody can be given its result while the stream answers nobody";
    bus.stream_error.clear();
    loop.run_for(patience() - 1s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(4s);
    EXPECT_EQ(dead_letter_code("a"), "timeout_unheard");
}

TEST_F(UnheardResultsTest, WhatItsDurableDoesNotDeliverIsTakenFromTheStream) {
    start();
    run_job("a");
    stands(wire::serialise(wire::make_packet(request_for("b"), "", "w1", clock.now())));
    durable() = {0, 1, engine::StreamSequence(result_stands("a") - 1)};
    loop.run_for(5s + tunables.bus_ack_wait - 1s);
    EXPECT_EQ(state("a"), "RUNNING") << "it may still come";
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

TEST_F(UnheardResultsTest, AnotherMessageUnderTheNumberOfAResultIsLeftAlone) {
    start();
    run_job("a");
    durable() = {0, 1, engine::StreamSequence(result_stands("a") - 1)};
    bus.on_read_message = [](engine::StreamSequence sequence) -> Outcome<std::optional<StoredMessage>> {
        return std::optional<StoredMessage>({sequence, {}, "another", "sys.heartbeat", {}});
    };
    loop.run_for(5s + tunables.bus_ack_wait + 1s);
    EXPECT_EQ(state("a"), "RUNNING");
}

TEST_F(UnheardResultsTest, PatienceCountsFromTheLatestConnection) {
    start();
    run_job("a");
    nobody_can_handle("a");
    one_is_waiting_above(result_stands("a") - 1);
    loop.run_for(15s);
    ++bus.state.id;
    loop.run_for(patience() - 2s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(5s);
    EXPECT_EQ(dead_letter_code("a"), "timeout_unheard");
}

// D-04 (7)
TEST_F(UnheardResultsTest, AStreamThatIsMadeAnewBeginsAfresh) {
    start();
    run_job("other");
    run_job("a");
    nobody_can_handle("a");
    durable() = {1, 0, {}};
    result_stands("a");
    loop.run_for(15s);
    bus.stream_created += 1h;
    loop.run_for(patience() - 2s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(5s);
    EXPECT_EQ(dead_letter_code("a"), "timeout_unheard");
}

TEST_F(UnheardResultsTest, WithoutAnAnswerEverybodyWaits) {
    start();
    const auto nobody_ends_while = [this](const std::string& job) {
        run_job(job);
        loop.run_for(10s);
        EXPECT_EQ(state(job), "RUNNING");
    };
    const auto ends_now = [this](const std::string& job) {
        loop.run_for(2s);
        EXPECT_EQ(dead_letter_code(job), "timeout");
    };
    bus.stream_error = "no responders";
    nobody_ends_while("stream");
    bus.stream_error.clear();
    ends_now("stream");

    bus.consumer_state_error = "no responders";
    nobody_ends_while("consumer");
    bus.consumer_state_error.clear();
    ends_now("consumer");

    one_is_waiting_above(100);
    result_stands("nobody");
    bus.on_read = [](const std::string&, engine::StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        return not_connected();
    };
    nobody_ends_while("read");
    bus.on_read = nullptr;
    ends_now("read");
}

TEST_F(UnheardResultsTest, AMissingDurableIsWaitedFor) {
    start();
    run_job("a");
    bus.missing_durables.insert(kDurable);
    loop.run_for(10s);
    EXPECT_EQ(state("a"), "RUNNING");
    bus.missing_durables.clear();
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

// D-04 (4): bounded
TEST_F(UnheardResultsTest, MoreThanCanBeReadMakesEverybodyWait) {
    start();
    run_job("a");
    const std::uint64_t first = result_stands("nobody");
    for (int i = 1; i < 1000; ++i) result_stands("nobody");
    durable() = {1000, 0, engine::StreamSequence(first - 1)};
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "TIMEOUT") << "a thousand are read";
    run_job("b");
    durable().waiting = 1001;
    result_stands("nobody");
    loop.run_for(10s);
    EXPECT_EQ(state("b"), "RUNNING");
    durable().ack_floor = engine::StreamSequence(first);
    loop.run_for(2s);
    EXPECT_EQ(state("b"), "TIMEOUT");
}

// Each tick goes on behind what the one before has read.
TEST_F(UnheardResultsTest, AResultBehindMoreThanOneTickReadsIsTakenFromTheStreamAtALaterOne) {
    start();
    run_job("a");
    const std::uint64_t first = result_stands("other");
    for (int i = 1; i < 1500; ++i) result_stands("other");
    result_stands("a");
    durable() = {0, 1501, engine::StreamSequence(first - 1)};
    loop.run_for(5s + tunables.bus_ack_wait - 1s);
    EXPECT_EQ(state("a"), "RUNNING");
    loop.run_for(4s);
    EXPECT_EQ(state("a"), "SUCCEEDED");
}

TEST_F(UnheardResultsTest, AServerThatNamesTheHighestNumberThereIsEndsNoTick) {
    start();
    run_job("a");
    durable() = {0, 1, engine::StreamSequence(std::numeric_limits<std::uint64_t>::max() - 2000)};
    bus.claim_last(engine::StreamSequence(std::numeric_limits<std::uint64_t>::max()));
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "TIMEOUT") << "no result stands there";
}

// D-04 (1)
TEST_F(UnheardResultsTest, WhoHasNoBusLeavesTheTickToOthers) {
    start();
    run_job("a");
    bus.state.connected = false;
    loop.run_for(10s);
    EXPECT_EQ(state("a"), "RUNNING");
    EXPECT_EQ(*run({"EXISTS", kTickLock}).integer(), 0) << "neither taken nor kept";
    bus.state.connected = true;
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

TEST_F(UnheardResultsTest, ADeadlineWaitsForAResultOfAJobThatIsAtWork) {
    tunables.running_timeout = 1h;
    tunables.reconciler_batch = 2;
    start();
    for (const char* job : {"a", "b", "c", "d"}) {
        auto request = request_for(job);
        request.mutable_budget()->set_deadline_ms(3000);
        submit(request);
    }
    nobody_can_handle("b");
    const std::uint64_t first = result_stands("a");
    result_stands("b");
    result_stands("d");
    one_is_waiting_above(first - 1);
    run({"HSET", "job:meta:d", "state", "PENDING"});
    loop.run_for(6s);
    EXPECT_EQ(state("a"), "RUNNING");
    EXPECT_EQ(state("b"), "RUNNING");
    EXPECT_EQ(state("c"), "TIMEOUT") << "those that wait fill a page and hide nobody";
    EXPECT_EQ(state("d"), "TIMEOUT") << "nothing that is not at work has a result";
    EXPECT_TRUE(result("a", cap::JOB_STATUS_SUCCEEDED)->acked());
    EXPECT_EQ(state("a"), "SUCCEEDED");
    loop.run_for(patience());
    EXPECT_EQ(
        field("b", "failure_reason"),
        "timeout: deadline expired, and a result that may stand in the stream has not been heard for another 22s");
}

TEST_F(UnheardResultsTest, SwitchedOffNobodyWaits) {
    more_config.mechanisms.switch_off(engine::Mechanism::unheard_results);
    start();
    run_job("a");
    one_is_waiting_above(result_stands("a") - 1);
    loop.run_for(8s);
    EXPECT_EQ(state("a"), "TIMEOUT");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
