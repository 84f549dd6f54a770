#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct SnapshotWholeTest : RuleTest {
    SnapshotWholeTest() : RuleTest(rules::snapshot_whole) {}

    void store(std::string text, fakes::NodeId node = kReplica) {
        keys.act_for(node);
        keys.set_string("sys:workers:snapshot", std::move(text),
                        engine::to_millis(now.time_since_epoch() + tunables.data_ttl));
        tell(event_of(EventKind::redis, "", When::applied, node));
    }
    void write(std::chrono::seconds captured, fakes::NodeId node = kReplica) {
        store(fmt::format(R"({{"captured_at":"1970-01-01T00:{:02}:{:02}Z","workers":[]}})", captured / 1min,
                          captured % 1min / 1s),
              node);
    }
    void call(std::string_view reply = "+OK", fakes::NodeId node = kReplica) {
        observe(EventKind::redis, "", {.key = "cordum:reconciler:default", .payload = reply}, When::answered, node);
    }
    void lock_event(EventKind kind) { observe(kind, "", {.key = kSnapshotLock}); }

    const engine::Duration oldest = 20s + tunables.store_op_timeout + 1s;
};

TEST_F(SnapshotWholeTest, NoneReplacesALaterOne) {
    write(10s);
    write(10s);
    EXPECT_THAT(found, IsEmpty());
    write(9s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("captured 1 s after it")));
    keys.restore([] {});
    write(5s);
    observe(EventKind::fault, "", {.name = "clock_jump"});
    write(1s);
    EXPECT_EQ(found.size(), 1U) << "data was lost, and a clock was set";
}

TEST_F(SnapshotWholeTest, NoneIsWrittenUnderTheLockOfAnother) {
    grant_lock(kSnapshotLock, kReplica);
    write(10s);
    EXPECT_THAT(found, IsEmpty());
    grant_lock(kSnapshotLock, kOther);
    write(10s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("while another holds its lock")));
    lock_event(EventKind::lock_released);
    write(10s);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, EachIsWhole) {
    const auto flaw = [this](std::string text) {
        found.clear();
        store(std::move(text));
        return found.empty() ? "" : found.front();
    };
    const std::string time = R"({"captured_at":"1970-01-01T00:00:10Z",)";
    EXPECT_THAT(flaw(""), HasSubstr("no JSON object"));
    EXPECT_THAT(flaw("{"), HasSubstr("no JSON object"));
    EXPECT_THAT(flaw("x" + time + R"("workers":[]})"), HasSubstr("no JSON object"));
    EXPECT_THAT(flaw(time + R"("workers":{}})"), HasSubstr("no list of workers"));
    EXPECT_THAT(flaw(time + R"("workers":[{"worker_id":"w","pool":"p"}]})"), HasSubstr("lacks what a gateway reads"));
    EXPECT_THAT(flaw(R"({"workers":[]})"), HasSubstr("when it was captured"));
    EXPECT_THAT(flaw(R"({"captured_at":"now","workers":[]})"), HasSubstr("its time cannot be read"));
    const auto with_pool = [&](int jobs) {
        const char* worker = R"({{"worker_id":"{}","pool":"p","active_jobs":2,"max_parallel_jobs":4}})";
        return time +
               fmt::format(R"("pools":{{"p":{{"workers":2,"active_jobs":{},"capacity":8}}}},"workers":[{},{}]}})", jobs,
                           fmt::format(fmt::runtime(worker), "v"), fmt::format(fmt::runtime(worker), "w"));
    };
    EXPECT_THAT(flaw(with_pool(4)), IsEmpty());
    EXPECT_THAT(flaw(time + R"("topics":{"t":{"pool":"p","workers":1,"capacity":0,"available":true}},"workers":[]})"),
                HasSubstr("its pools and topics say something else"));
    EXPECT_THAT(flaw(with_pool(2)), HasSubstr("its pools and topics say something else than its workers"));
}

TEST_F(SnapshotWholeTest, AReplicaThatReachesRedisOwesAFreshOne) {
    call();
    write(10s);
    wait(oldest);
    EXPECT_THAT(found, IsEmpty());
    wait(1ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the worker snapshot is 23001 ms old")));
}

TEST_F(SnapshotWholeTest, TheAgeCountsFromWhenItWasCaptured) {
    call();
    now += 10s;
    write(15s);
    wait(oldest - 5s);
    EXPECT_THAT(found, IsEmpty());
    wait(1ms);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, OneThatIsLostIsOwedAnew) {
    call();
    now += 20s;
    write(30s);
    wait(oldest);
    evict("sys:workers:snapshot");
    wait(oldest - 1ms);
    EXPECT_THAT(found, IsEmpty());
    store("{", {});
    wait(oldest);
    EXPECT_THAT(found, IsEmpty()) << "a fault changed it";
    wait(1ms);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, OneThatAnotherReplicaHasTriedToWriteIsOwedAnew) {
    call();
    write(10s);
    wait(15s);
    grant_lock(kSnapshotLock, kOther);
    observe(EventKind::redis, "", {.outcome = EventOutcome::unknown}, When::answered, kOther);
    lock_event(EventKind::lock_released);
    wait(oldest);
    EXPECT_THAT(found, IsEmpty());
    wait(1ms);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, AReplicaThatDoesNotReachRedisOwesNothing) {
    const auto after = [this](auto disturbance) {
        disturbance();
        call();
        wait(oldest);
        EXPECT_THAT(found, IsEmpty());
    };
    call();
    wait(oldest);
    after([this] { call("-OOM"); });
    after([this] { befall(EventKind::connection_broken, kReplica); });
    after([this] { befall(EventKind::node_down, kReplica); });
    after([this] {
        befall(EventKind::paused, kReplica);
        call();  // the step in which it was paused ends
        befall(EventKind::resumed, kReplica);
    });
    call("-NOSCRIPT");
    wait(1ms);
    EXPECT_EQ(found.size(), 1U) << "the server answered";
}

TEST_F(SnapshotWholeTest, APausedReplicaOwesNothing) {
    befall(EventKind::paused, kReplica);
    call();
    wait(2 * oldest);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SnapshotWholeTest, AReplicaThatNeverTicksHasNotStarted) {
    observe(EventKind::redis, "", {}, When::answered);
    wait(2 * oldest);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SnapshotWholeTest, ASecondLostLockIsAllowedTime) {
    const engine::Duration held_up = tunables.snapshot_lock_ttl + tunables.snapshot_interval;
    call();
    write(10s);
    lock_event(EventKind::lock_expired);
    lock_event(EventKind::lock_expired);
    wait(oldest + held_up);
    EXPECT_THAT(found, IsEmpty());
    wait(1ms);
    EXPECT_EQ(found.size(), 1U);
    write(40s);
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(SnapshotWholeTest, ALockThatIsNotUsedCountsAsLostUntilItIsGivenBack) {
    call();
    write(10s);
    lock_event(EventKind::lock_expired);
    grant_lock(kSnapshotLock, kReplica);
    wait(oldest + 2s);
    EXPECT_THAT(found, IsEmpty());
    lock_event(EventKind::lock_released);
    wait(1s);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, ALockLastsLongerByAJumpOfTheClock) {
    call();
    write(10s);
    grant_lock(kSnapshotLock, kReplica);
    observe(EventKind::fault, "", {.name = "clock_jump"});
    wait(10 * oldest);
    EXPECT_THAT(found, IsEmpty());
    lock_event(EventKind::lock_released);
    wait(oldest);
    EXPECT_THAT(found, IsEmpty());
    wait(1s);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SnapshotWholeTest, IsExercisedWhereReplicasFollowEachOther) {
    write(10s);
    write(10s);
    EXPECT_EQ(times_exercised(), 0U);
    write(10s, kOther);
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(SnapshotWholeTest, TheEndOfARunIsNoTime) {
    call();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
