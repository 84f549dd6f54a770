// The pending replayer: jobs that are in the store and that no message will bring back.
#include <set>

#include "engine/reconcile/pending_replayer.h"
#include "engine/scheduler/dispatch.h"
#include "engine/scheduler/request_handler.h"
#include "engine/wire/json.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class Replayer : public SchedulerTest {
protected:
    /// What a gateway has left behind some time ago, its publish lost.
    void orphan(const std::string& job, const std::string& job_state = "PENDING", bool granted = false,
                Duration age = 3min) {
        cap::JobRequest request = request_for(job);
        if (granted) (*request.mutable_labels())["approval_granted"] = "true";
        run({"SET", "job:req:" + job, engine::wire::to_json(request, engine::wire::Unpopulated::emit)});
        orphan_without_request(job, job_state, age);
    }
    void orphan_without_request(const std::string& job, const std::string& job_state = "PENDING", Duration age = 3min) {
        const auto at =
            std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch() - age).count();
        run({"HSET", "job:meta:" + job, "state", job_state, "updated_at", std::to_string(at), "topic", "job.default",
             "tenant", "acme", "trace_id", "trace of " + job});
        std::string index = "job:index:" + job_state;
        for (char& c : index) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        run({"ZADD", index, std::to_string(at), job});
    }
    /// Lets time pass in which the worker stays alive.
    void run_for(Duration span) {
        for (Duration passed{}; passed < span; passed += 10s) {
            heartbeat("w1");
            loop.run_for(10s);
        }
    }
};

// REPLAY-01, REPLAY-05, H-30
TEST_F(Replayer, AnOldPendingJobIsHandledAsIfSubmittedAnew) {
    start();
    run_for(10s);
    orphan("j1");
    run_for(30s);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
    EXPECT_EQ(field("j1", "trace_id"), "trace of j1");
    EXPECT_EQ(metrics.value(Metric::orphan_replayed, {"job.default"}), 1);
}

TEST_F(Replayer, AYoungOneIsLeftToItsMessage) {
    start();
    run_for(10s);
    orphan("j1", "PENDING", false, 1min);
    run_for(30s);
    EXPECT_EQ(state("j1"), "PENDING");
}

// REPLAY-02
TEST_F(Replayer, ItScansStraightAway) {
    orphan("j1");
    start();
    loop.run_for(1s);
    EXPECT_EQ(kernel.questions.size(), 1u);
}

// REPLAY-03, REPLAY-04
TEST_F(Replayer, OfTheJobsThatWaitForAHumanOnlyTheApprovedAreReplayed) {
    start();
    run_for(10s);
    orphan("waiting", "APPROVAL_REQUIRED");
    orphan("approved", "APPROVAL_REQUIRED", true);
    run_for(30s);
    EXPECT_EQ(state("approved"), "RUNNING");
    EXPECT_EQ(state("waiting"), "APPROVAL_REQUIRED");
    EXPECT_EQ(kernel.questions.size(), 1u);
}

// C-20b
TEST_F(Replayer, AJobLeftScheduledIsReplayedToo) {
    start();
    run_for(10s);
    orphan("j1", "SCHEDULED");
    run_for(30s);
    EXPECT_EQ(state("j1"), "RUNNING");
}

// C-58
TEST_F(Replayer, AJobThatIsNotDueIsLeftAlone) {
    start();
    run_for(10s);
    orphan("j1");
    const auto due =
        std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch() + 29s).count();
    run({"HSET", "job:meta:j1", "ls_next_attempt_at", std::to_string(due)});
    loop.run_for(25s);
    EXPECT_EQ(state("j1"), "PENDING");
    run_for(40s);
    EXPECT_EQ(state("j1"), "RUNNING");
}

// H-33
TEST_F(Replayer, JobsThatCannotBePlacedHideNobody) {
    tunables.reconciler_batch = 10;
    kernel.answer = [](const cap::PolicyCheckRequest& question) {
        return ScriptedKernel::says(question.job_id() == "good" ? cap::DECISION_TYPE_ALLOW
                                                                : cap::DECISION_TYPE_THROTTLE);
    };
    start();
    run_for(10s);
    // All at one instant, so that pages end between equal scores.
    for (int i = 0; i < 35; ++i) orphan("bad" + std::to_string(i), "PENDING", false, 4min);
    orphan("good", "PENDING", false, 3min);
    run_for(30s);
    EXPECT_EQ(state("good"), "RUNNING");
    EXPECT_EQ(kernel.questions.size(), 36u);
}

// H-50
TEST_F(Replayer, AJobWithoutARequestFailsOnceItHasHadTimeToGetOne) {
    start();
    run_for(10s);
    orphan_without_request("j1");
    run_for(60s);
    EXPECT_EQ(state("j1"), "PENDING");
    run_for(2min);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "request_missing");
    EXPECT_EQ(dead_letters().size(), 1u);
}

TEST_F(Replayer, ARequestThatCannotBeReadIsAsGoodAsNone) {
    start();
    run_for(10s);
    orphan_without_request("j1");
    run({"SET", "job:req:j1", R"({"job_id":"j1","top)"});
    run_for(60s);
    EXPECT_EQ(state("j1"), "PENDING");
    run_for(2min);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "request_missing");
}

TEST_F(Replayer, ARequestThatArrivesMeanwhileSavesItsJob) {
    start();
    run_for(10s);
    orphan_without_request("j1");
    run_for(60s);
    submit("j1");
    EXPECT_EQ(state("j1"), "RUNNING");
}

/// A replayer that ticks only when it is told to.
class ReplayerAlone : public Replayer {
protected:
    engine::Replica replica{{loop, clock, entropy, slow_redis, bus, kernel, metrics, log},
                            tunables,
                            *engine::parse_pools(R"({"topics": {"job.default": "default"}})")};
    engine::DeadLetters letters{replica, replica.letters};
    engine::Dispatcher dispatcher{replica, letters};
    engine::RequestHandler requests{replica, letters, dispatcher};
    engine::PendingReplayer replayer{replica, replica.store, replica.sweeps, replica.leases, letters, requests};
};

TEST_F(ReplayerAlone, JobsWithoutARequestThatOthersEndAreForgotten) {
    const auto tick = [&] {
        loop.wait(replayer.tick());
        loop.settle();
    };
    for (int i = 0; i < 20; ++i) orphan_without_request("j" + std::to_string(i));
    tick();
    EXPECT_EQ(replayer.requestless(), 20u);
    for (int i = 0; i < 20; ++i) {
        run({"HSET", "job:meta:j" + std::to_string(i), "state", "CANCELLED"});
        run({"SET", "job:state:j" + std::to_string(i), "CANCELLED"});
    }
    loop.run_for(tunables.pending_age + 2 * tunables.replayer_interval + 1s);
    tick();
    EXPECT_EQ(replayer.requestless(), 0u);
}

TEST_F(ReplayerAlone, AWokenJobWhoseRequestCannotBeReadIsGivenUpWithoutBeingWokenAgain) {
    orphan_without_request("j1");
    replayer.wake(engine::JobId("j1"));
    loop.run_for(tunables.pending_age + 1s);
    EXPECT_EQ(state("j1"), "PENDING") << "its request may be on its way";
    loop.run_for(tunables.pending_age);
    EXPECT_EQ(state("j1"), "FAILED");
    EXPECT_EQ(dead_letter_code("j1"), "request_missing");
}

/// Comes to no end with any job.
class NeverDone final : public engine::RequestTaker {
public:
    explicit NeverDone(engine::Clock& clock) : clock_(clock) {}
    engine::Task<engine::Disposition> handle(cap::JobRequest request, std::string) override {
        begun.insert(request.job_id());
        co_await clock_.sleep(std::chrono::hours(24));
        co_return engine::Disposition::done();
    }
    engine::Task<engine::Disposition> handle_stored(cap::JobRequest request, std::string trace_id) override {
        return handle(std::move(request), std::move(trace_id));
    }
    std::set<std::string> begun;

private:
    engine::Clock& clock_;
};

class ParkedJobs : public Replayer {
protected:
    void park(const std::string& job, const std::string& tenant) {
        orphan(job);
        replayer.park(engine::JobId(job), tenant, 0s);
    }

    engine::Replica replica{{loop, clock, entropy, slow_redis, bus, kernel, metrics, log},
                            tunables,
                            *engine::parse_pools(R"({"topics": {"job.default": "default"}})")};
    engine::DeadLetters letters{replica, replica.letters};
    NeverDone requests{clock};
    engine::PendingReplayer replayer{replica, replica.store, replica.sweeps, replica.leases, letters, requests};
};

// A slot of a worker is kept free for it meanwhile.
TEST_F(ParkedJobs, AWokenOneIsTriedAtOnceHoweverManyOthersAreDue) {
    for (int i = 0; i < 100; ++i) park("j" + std::to_string(i), i % 2 == 0 ? "acme" : "globex");
    loop.run_for(10s);
    ASSERT_LT(requests.begun.size(), 100u);
    orphan("woken");
    replayer.wake(engine::JobId("woken"));
    loop.run_for(10s);
    EXPECT_TRUE(requests.begun.contains("woken"));
}

TEST_F(ParkedJobs, OfOneTenantWaitForNoneOfAnotherThatHasManyMore) {
    for (int i = 0; i < 1000; ++i) park("flood" + std::to_string(i), "mallory");
    loop.run_for(10s);
    park("j1", "acme");
    loop.run_for(10s);
    EXPECT_TRUE(requests.begun.contains("j1"));
    EXPECT_GT(requests.begun.size(), 1u);
}

TEST_F(ParkedJobs, ABoundedNumberIsRememberedEvenWhereTheyAreDueAndCannotBeTried) {
    const std::size_t most = engine::PendingReplayer::kParkedMax;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i <= most; ++i) {
            const std::string job = "j" + std::to_string(round) + "-" + std::to_string(i);
            if (i < 100) orphan(job);
            replayer.park(engine::JobId(job), "acme", 0s);
        }
        EXPECT_EQ(replayer.parked(), most);
        loop.run_for(10s);
        EXPECT_GT(replayer.in_progress(), 0u);
        EXPECT_LT(replayer.in_progress(), 100u);
    }
}

TEST_F(Replayer, AnIndexEntryThatItsJobDeniesIsRemoved) {
    start();
    run_for(10s);
    orphan("j1");
    run({"HSET", "job:meta:j1", "state", "SUCCEEDED"});
    run_for(30s);
    EXPECT_TRUE(run({"ZSCORE", "job:index:pending", "j1"}).is_nil());
    EXPECT_TRUE(dispatches().empty());
}

// C-28: the lock of another replica.
TEST_F(Replayer, ItTicksOnlyUnderItsLock) {
    run({"SET", "cordum:replayer:pending", "somebody else", "PX", "60000"});
    start();
    orphan("j1");
    run_for(50s);
    EXPECT_EQ(state("j1"), "PENDING");
    run_for(40s);
    EXPECT_EQ(state("j1"), "RUNNING");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
