// The worker snapshot as one replica writes it and another one reads it at its start.
#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using google::protobuf::util::TimeUtil;

constexpr const char* kSnapshot = "sys:workers:snapshot";
constexpr const char* kLock = "cordum:scheduler:snapshot:writer";

class WarmStart : public SchedulerTest {
protected:
    /// Stores a snapshot that was taken this long ago, by the clock of Redis.
    void store_snapshot(const std::string& workers, Duration age = 0s) {
        const std::int64_t now = run({"TIME"}).at(0).integer_or(0);
        const auto captured = now - std::chrono::duration_cast<std::chrono::seconds>(age).count();
        run({"SET", kSnapshot,
             fmt::format(R"({{"captured_at":"{}","writer_id":"gone","workers":[{}]}})",
                         TimeUtil::ToString(TimeUtil::SecondsToTimestamp(captured)), workers)});
    }
    [[nodiscard]] static std::string worker(const std::string& id, const std::string& pool = "default") {
        return fmt::format(R"({{"worker_id":"{}","pool":"{}","active_jobs":0,"max_parallel_jobs":4,)"
                           R"("capabilities":["cuda"],"labels":{{"placement.zone":"b"}}}})",
                           id, pool);
    }
    [[nodiscard]] static bool reads_snapshot(const RedisCommand& command) {
        return command.size() == 2 && command[0] == "GET" && command[1] == kSnapshot;
    }
    [[nodiscard]] std::size_t known() const { return scheduler->workers().statistics(clock.monotonic()).workers; }
};

// REG-06, C-32
TEST_F(WarmStart, AReplicaKnowsTheWorkersOfTheSnapshotAtOnce) {
    store_snapshot(worker("w1") + "," + worker("w2") + "," + worker("w3", "gpu"));
    boot();
    EXPECT_EQ(known(), 3u);
    EXPECT_EQ(scheduler->workers().statistics(clock.monotonic()).by_pool.at("gpu"), 1u);
    const auto* w3 = scheduler->workers().find_routable(engine::WorkerId("w3"), clock.monotonic());
    ASSERT_NE(w3, nullptr);
    EXPECT_EQ(w3->max_parallel_jobs, 4);
    EXPECT_EQ(w3->capabilities, (Texts{"cuda"}));
    run_job("j1");
    EXPECT_EQ(dispatches().at(0).subject, "worker.w1.jobs");
}

// C-33
TEST_F(WarmStart, PlacementLabelsOfHydratedWorkersCount) {
    store_snapshot(worker("w1"));
    boot();
    auto request = request_for("j1");
    (*request.mutable_labels())["placement.zone"] = "b";
    EXPECT_TRUE(submit(request)->acked());
    (*request.mutable_labels())["placement.zone"] = "a";
    request.set_job_id("j2");
    EXPECT_EQ(submit(request)->answer, DeliveryFate::Answer::nak);
}

// REG-07
TEST_F(WarmStart, WithoutAUsableSnapshotItStartsColdAndHearsTheWorkersLater) {
    for (const char* text : {"", "{}", R"({"captured_at":"2026-01-01T00:00:00Z","workers":[]})", "{\"workers\":[{",
                             R"({"workers":[{"worker_id":"w1","pool":"default"}]})", "\xff\xfe"}) {
        run({"SET", kSnapshot, text});
        boot();
        EXPECT_EQ(known(), 0u) << text;
        EXPECT_EQ(submit("cold")->answer, DeliveryFate::Answer::nak);
        heartbeat("w1");
        EXPECT_TRUE(submit("warm")->acked());
        crash();
        run({"FLUSHALL"});
        bus.consumer_states.clear();  // durables of a deployment that is gone
    }
    boot();
    EXPECT_EQ(known(), 0u);
    EXPECT_EQ(log.messages().front(), "no snapshot found, starting cold");
}

// H-52: by the documented rule the worker would look alive for 30 s from now.
TEST_F(WarmStart, AWorkerThatIsNotHeardAgainIsGoneAfterHalfATimeToLive) {
    store_snapshot(worker("dead") + "," + worker("alive"));
    boot();
    loop.run_for(10s);
    heartbeat("alive");
    loop.run_for(4900ms);
    EXPECT_EQ(known(), 2u);
    loop.run_for(200ms);
    EXPECT_EQ(known(), 1u);
    EXPECT_FALSE(scheduler->workers().is_alive(engine::WorkerId("dead"), clock.monotonic()));
}

// H-52
TEST_F(WarmStart, TheAgeOfTheSnapshotCounts) {
    store_snapshot(worker("w1"), 25s);
    boot();
    EXPECT_EQ(known(), 1u);
    loop.run_for(5100ms);
    EXPECT_EQ(known(), 0u);
}

// H-52
TEST_F(WarmStart, ASnapshotOlderThanATimeToLiveRevivesNobody) {
    store_snapshot(worker("w1"), 31s);
    boot();
    EXPECT_EQ(known(), 0u);
    EXPECT_TRUE(log.told("snapshot not usable, starting cold", "reason", "it is older than a worker's time to live"));
}

TEST_F(WarmStart, ASnapshotFromTheFutureIsTakenForFresh) {
    store_snapshot(worker("w1"), -10min);
    boot();
    EXPECT_EQ(known(), 1u);
    loop.run_for(15100ms);
    EXPECT_EQ(known(), 0u);
}

// H-24, C-32: whatever is heard comes after the snapshot has been read.
TEST_F(WarmStart, NobodyIsListenedToBeforeTheSnapshotHasBeenRead) {
    store_snapshot(worker("w1"));
    std::optional<std::size_t> listeners;
    auto before = std::exchange(redis.fault, nullptr);
    redis.fault = [&](const RedisCommand& command) {
        if (reads_snapshot(command)) listeners = bus.listeners("sys.heartbeat");
        return before(command);
    };
    boot();
    EXPECT_EQ(listeners, 0u);
    EXPECT_EQ(bus.listeners("sys.heartbeat"), 1u);
    heartbeat("w1", 3);
    EXPECT_EQ(scheduler->workers().find_routable(engine::WorkerId("w1"), clock.monotonic())->active_jobs, 3);
    redis.fault = std::move(before);
}

TEST_F(WarmStart, ASnapshotThatCannotBeReadCostsTheStartItsFiveSeconds) {
    store_snapshot(worker("w1"));
    auto before = std::exchange(redis.fault, nullptr);
    redis.fault = [&](const RedisCommand& command) {
        return reads_snapshot(command) ? CallFault::not_applied : before(command);
    };
    const auto began = clock.monotonic();
    boot();
    EXPECT_LE(clock.monotonic() - began, 5s);
    EXPECT_GE(clock.monotonic() - began, 4s) << "it kept trying";
    EXPECT_EQ(known(), 0u);
    EXPECT_EQ(log.times_reached("cold_start"), 1);
    redis.fault = std::move(before);
    heartbeat("w1");
    run_job("j1");
}

TEST_F(WarmStart, AConnectionThatComesInTimeIsEnough) {
    store_snapshot(worker("w1"));
    int refused = 0;
    auto before = std::exchange(redis.fault, nullptr);
    redis.fault = [&](const RedisCommand& command) {
        return reads_snapshot(command) && ++refused <= 20 ? CallFault::not_applied : before(command);
    };
    boot();
    EXPECT_EQ(known(), 1u);
    EXPECT_GT(refused, 20);
    redis.fault = std::move(before);
}

class SnapshotWriting : public WarmStart {
protected:
    [[nodiscard]] nlohmann::json stored() { return nlohmann::json::parse(text({"GET", kSnapshot}), nullptr, false); }
    [[nodiscard]] bool lock_held() { return *run({"EXISTS", kLock}).integer() == 1; }
};

TEST_F(SnapshotWriting, EveryFiveSecondsTheWorkersAreWrittenAndTheLockIsFreeAgain) {
    start();
    heartbeat("w2", 3);
    loop.run_for(4900ms);
    EXPECT_TRUE(run({"GET", kSnapshot}).is_nil()) << "first it listens for an interval";
    loop.run_for(200ms);
    EXPECT_EQ(stored().at("captured_at"), "2026-01-01T00:00:05Z") << "by the clock of Redis";
    EXPECT_EQ(stored().at("writer_id"), "scheduler");
    EXPECT_EQ(stored().at("pools").at("default").at("active_jobs"), 3);
    EXPECT_EQ(stored().at("workers").size(), 2u);
    EXPECT_EQ(stored().at("topics").at("job.default").at("available"), true);
    EXPECT_GT(run({"PTTL", kSnapshot}).integer_or(0), 86'390'000);
    EXPECT_FALSE(lock_held());
    loop.run_for(5s);
    EXPECT_EQ(stored().at("captured_at"), "2026-01-01T00:00:10Z");
    loop.run_for(30s);
    EXPECT_EQ(stored().at("workers").size(), 0u) << "REG-05: they have been silent for too long";
}

// REG-06: the whole way, through a crash.
TEST_F(SnapshotWriting, AReplicaThatCrashedKnowsItsWorkersWhenItIsBack) {
    start();
    loop.run_for(6s);
    crash();
    loop.run_for(3s);
    boot();
    EXPECT_EQ(known(), 1u);
    run_job("j1");
}

// REG-08
TEST_F(SnapshotWriting, WhileAnotherReplicaHoldsTheLockItSkipsItsTurnQuietly) {
    start();
    run({"SET", kLock, "another replica", "PX", "10000"});
    const auto events = log.messages().size();
    loop.run_for(9900ms);
    EXPECT_TRUE(run({"GET", kSnapshot}).is_nil());
    EXPECT_EQ(text({"GET", kLock}), "another replica");
    EXPECT_EQ(std::ranges::count(log.messages().begin() + static_cast<std::ptrdiff_t>(events), log.messages().end(),
                                 std::string("another replica writes the snapshot")),
              1);
    run({"DEL", kLock});
    loop.run_for(200ms);
    EXPECT_EQ(stored().at("writer_id"), "scheduler");
}

// A writer that was held up: what it has in hand is older than what another one has written.
TEST_F(SnapshotWriting, WithoutItsLockASnapshotIsNotStored) {
    start();
    on_script(scripts.write_snapshot, [this] {
        on_script(scripts.write_snapshot, nullptr);
        redis.run({"SET", kLock, "another replica"});
        redis.run({"SET", kSnapshot, "newer"});
        return CallFault::none;
    });
    loop.run_for(6s);
    EXPECT_EQ(text({"GET", kSnapshot}), "newer");
    EXPECT_EQ(text({"GET", kLock}), "another replica");
    EXPECT_EQ(log.times_reached("snapshot_lock_lost"), 1);
}

// H-16
TEST_F(SnapshotWriting, ALockWhoseGrantWasNotHeardIsTakenAgainAtTheNextTurn) {
    start();
    on_script(scripts.take_snapshot_lock, [this] {
        on_script(scripts.take_snapshot_lock, nullptr);
        return CallFault::unknown;
    });
    loop.run_for(6s);
    EXPECT_TRUE(lock_held());
    EXPECT_TRUE(run({"GET", kSnapshot}).is_nil());
    EXPECT_LE(run({"PTTL", kLock}).integer_or(0), 9'000) << "it runs out for the others all the same";
    loop.run_for(5s);
    EXPECT_EQ(stored().at("workers").size(), 1u);
    EXPECT_FALSE(lock_held());
}

TEST_F(SnapshotWriting, AWriteWithoutAnAnswerLeavesNoLockBehind) {
    for (const CallFault fault : {CallFault::not_applied, CallFault::unknown}) {
        start();
        run({"DEL", kSnapshot});
        on_script(scripts.write_snapshot, [fault] { return fault; });
        loop.run_for(6s);
        EXPECT_FALSE(lock_held());
        EXPECT_EQ(run({"GET", kSnapshot}).is_nil(), fault == CallFault::not_applied);
        on_script(scripts.write_snapshot, nullptr);
        loop.run_for(5s);
        EXPECT_EQ(stored().at("workers").size(), 1u);
    }
}

TEST_F(SnapshotWriting, ADrainGivesTheLockBack) {
    start();
    loop.run_for(4s);
    slow_redis.latency = 1s;
    loop.run_for(2500ms);
    ASSERT_TRUE(lock_held()) << "in the middle of a turn";
    loop.wait(scheduler->drain());
    EXPECT_FALSE(lock_held());
    scheduler.reset();
    EXPECT_TRUE(loop.idle());
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
