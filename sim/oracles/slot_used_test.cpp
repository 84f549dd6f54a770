#include "sim/oracles/slot_used.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fakes/redis/keyspace.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class SlotUsedTest : public ::testing::Test {
protected:
    void submit(const std::string& job, const std::string& tenant = "acme") {
        judge.hash_set(oracle, {}, "job:meta:" + job, "tenant", nullptr, tenant);
        move(job, "PENDING");
    }
    void move(const std::string& job, const std::string& state) {
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::before));  // the command that does it
        judge.hash_set(oracle, {}, "job:meta:" + job, "state", nullptr, state);
        tell(testing::state_event(job, "", state));
    }
    void lock(const std::string& job, fakes::EventKind change) {
        const std::string key = "cordum:scheduler:job:" + job;
        fakes::Event event = testing::event_of(change, job);
        event.key = key;
        tell(event);
    }
    void take(const std::string& job) { lock(job, fakes::EventKind::lock_acquired); }
    void let_go(const std::string& job) { lock(job, fakes::EventKind::lock_released); }
    void hear_limit(const std::string& job, int limit) {
        cap::PolicyCheckResponse answer;
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(limit);
        const std::string bytes = answer.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job);
        event.payload = bytes;
        tell(event);
    }
    /// Handled, and refused for its tenant's limit.
    void find_full(const std::string& job, int limit = 1) {
        take(job);
        hear_limit(job, limit);
        oracle.zset_set({}, "lockstep:tenant:waiting:t", job, nullptr, 1);
        tell(testing::event_of(fakes::EventKind::redis, job));
        let_go(job);
    }
    void run(const std::string& job) {
        submit(job);
        move(job, "RUNNING");
    }
    void put_off(const std::string& job, int limit) {
        hear_limit(job, limit);
        judge.hash_set(oracle, {}, "job:meta:" + job, "ls_next_attempt_at", nullptr, "1");
        tell(testing::event_of(fakes::EventKind::redis, job));
    }
    void fault(std::string_view phase) {
        fakes::Event event = testing::event_of(fakes::EventKind::fault, "");
        event.name = "partition";
        event.from = phase;
        tell(event);
    }
    /// A worker with four slots is heard.
    void beat(int active, const std::string& disk = "ssd") {
        cap::BusPacket packet;
        cap::Heartbeat& heartbeat = *packet.mutable_heartbeat();
        heartbeat.set_worker_id("w");
        heartbeat.set_pool("gpu");
        heartbeat.set_active_jobs(active);
        heartbeat.set_max_parallel_jobs(4);
        (*heartbeat.mutable_labels())["constraint.disk"] = disk;
        fakes::Event event = testing::event_of(fakes::EventKind::core_deliver, "");
        event.packet = &packet;
        tell(event);
    }
    void wait_for_worker(const std::string& job, const std::string& tenant = "acme") {
        oracle.zset_set({}, "lockstep:capacity:jobs:2;3:cpu3:gpu15:constraint.disk3:ssd." + tenant, job, nullptr, 1);
    }
    void beats(int count, int active, const std::string& disk = "ssd") {
        for (int i = 0; i < count; ++i) {
            beat(active, disk);
            now += 5s;
        }
    }
    void tell(const fakes::Event& event) { judge.tell(oracle, event, now); }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SlotUsed oracle{judge, tunables};
    Time now{100s};
};

TEST_F(SlotUsedTest, AJobThatHasASlotDoesNotStandInItsOwnWay) {
    submit("a");
    move("a", "SCHEDULED");
    run("b");
    put_off("a", 1);
    EXPECT_THAT(judge.found, IsEmpty());
    move("b", "CANCELLED");
    put_off("a", 1);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is put off for the limit of 1, and 0 others have one")));
}

TEST_F(SlotUsedTest, WhoIsPutOffIsJudgedUnlessRedisHasLostAJobOfItsTenant) {
    submit("a");
    move("a", "SCHEDULED");
    submit("other", "initech");
    const auto evict = [this](const char* hash) {
        judge.key_removed(oracle, {}, hash, fakes::redis::Removal::evicted, fakes::redis::Hash{}, 0);
    };
    evict("job:meta:other");
    put_off("a", 1);
    EXPECT_EQ(judge.found.size(), 1U);
    submit("b");
    evict("job:meta:b");
    put_off("a", 1);
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(SlotUsedTest, WhoWaitsIsTakenUpSoonAfterASlotIsFree) {
    run("a");
    submit("b");
    find_full("b");
    now += 10min;
    move("a", "SUCCEEDED");
    now += 900ms;
    take("b");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 1U);
}

TEST_F(SlotUsedTest, ASlotThatStaysFreeIsFound) {
    run("a");
    submit("b");
    find_full("b");
    move("a", "SUCCEEDED");
    now += 1100ms;
    take("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: it waited for a slot of its tenant, and one was free from")));
}

TEST_F(SlotUsedTest, WhoseRequestRedisHasDamagedCanUseNone) {
    const std::string request = "{\"jobId\":\"b\"}";
    run("a");
    submit("b");
    find_full("b");
    judge.string_set(oracle, {}, "job:req:b", &request, "{\"jobId", 0, 0);
    move("a", "SUCCEEDED");
    now += 1h;
    take("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SlotUsedTest, WhereRedisIsFarAwayItTakesAsLongAsItsCallsDo) {
    run("a");
    submit("b");
    find_full("b");
    fakes::Event call = testing::event_of(fakes::EventKind::redis, "b", fakes::When::before);
    call.command = "EVALSHA";
    call.key = "cordum:scheduler:job:b";
    tell(call);
    now += 500ms;
    call.when = fakes::When::answered;
    tell(call);
    move("a", "SUCCEEDED");
    now += 2400ms;
    take("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SlotUsedTest, ACallThatAFaultHasMadeLongExcusesNothingLater) {
    run("a");
    submit("b");
    find_full("b");
    fault("begin");
    fakes::Event call = testing::event_of(fakes::EventKind::redis, "b", fakes::When::before);
    call.command = "EVALSHA";
    call.key = "cordum:scheduler:job:b";
    tell(call);
    now += 10s;
    call.when = fakes::When::answered;
    tell(call);
    fault("end");
    now += 20min;
    tell(testing::event_of(fakes::EventKind::heartbeat, ""));
    move("a", "SUCCEEDED");
    now += 1100ms;
    take("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("one was free from")));
}

TEST_F(SlotUsedTest, ASlotThatNobodyEverTakesIsFoundAtTheEnd) {
    run("a");
    submit("b");
    find_full("b");
    move("a", "CANCELLED");
    now += 20min;
    tell(testing::event_of(fakes::EventKind::heartbeat, ""));
    oracle.at_rest({.redis = fakes::redis::Keyspace()});
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(SlotUsedTest, AFullTenantKeepsItsJobsWaiting) {
    run("a");
    submit("b");
    find_full("b");
    now += 20min;
    take("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SlotUsedTest, ASlotOfAnotherTenantIsNoneOfItsOwn) {
    run("a");
    submit("b", "globex");
    find_full("b", 1);
    submit("c", "globex");
    move("c", "RUNNING");
    now += 10s;
    move("a", "SUCCEEDED");
    now += 10s;
    oracle.at_rest({.redis = fakes::redis::Keyspace()});
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SlotUsedTest, WhileAWaitingJobIsHandledNobodyIsLate) {
    run("a");
    submit("b");
    submit("c");
    find_full("b");
    find_full("c");
    move("a", "SUCCEEDED");
    take("b");
    now += 20s;  // policy takes its time
    move("b", "DISPATCHED");
    let_go("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SlotUsedTest, AfterTroubleItMayTakeLonger) {
    run("a");
    submit("b");
    find_full("b");
    fault("begin");
    move("a", "SUCCEEDED");
    now += 1min;
    fault("end");
    now += 2min;
    take("b");
    EXPECT_THAT(judge.found, IsEmpty());
    let_go("b");
    find_full("b", 2);
    now += 1h;
    take("b");
    EXPECT_EQ(judge.found.size(), 1U) << "but not for ever";
}

// What each command leaves of a line.
class TenantLinesTest : public SlotUsedTest {
protected:
    static constexpr fakes::NodeId kReplica{5};
    static constexpr const char* kLine = "lockstep:tenant:waiting:acme";
    static constexpr const char* kCalled = "lockstep:tenant:woken:acme";
    static constexpr const char* kSlots = "lockstep:tenant:slots:acme";
    static constexpr double kSecond = 1e6;

    template <class... Changes>
    void command(Changes... changes) {
        const std::string_view words[] = {"EVALSHA", "sha1"};
        oracle.command(kReplica, words, now_ms);
        (changes(), ...);
        oracle.command(kReplica, {}, now_ms);
    }
    auto add(const char* key, std::string job, double score) {
        return [=, this] { oracle.zset_set(kReplica, key, job, nullptr, score); };
    }
    auto remove(const char* key, std::string job, double score) {
        return [=, this] { oracle.zset_removed(kReplica, key, job, score); };
    }
    auto field(std::string job, std::string name, std::string value) {
        return [=, this] { judge.hash_set(oracle, kReplica, "job:meta:" + job, name, nullptr, value); };
    }
    /// In line since that second, told that there may be so many of them.
    void stand(const std::string& job, int since, const std::string& limit = "1") {
        submit(job);
        const std::string micros = fmt::format("{}000000", since);
        command(field(job, "ls_waits_since", micros), field(job, "ls_waits_limit", limit),
                add(kLine, job, since * kSecond));
    }
    void hold(const std::string& job) {
        submit(job);
        command(field(job, "state", "RUNNING"), add(kSlots, job, 1));
    }
    auto call(const std::string& job, double since) {
        return [=, this] {
            remove(kLine, job, since * kSecond)();
            add(kCalled, job, static_cast<double>(now_ms) * 1000)();
        };
    }
    void list(bool listed) {
        if (listed)
            command([this] { oracle.zset_set(kReplica, "lockstep:tenants:waiting", "acme", nullptr, 1); });
        else
            command([this] { oracle.zset_removed(kReplica, "lockstep:tenants:waiting", "acme", 1); });
    }

    std::int64_t now_ms = 100'000;
};

TEST_F(TenantLinesTest, WhoGivesASlotBackCallsTheFirstOfTheLine) {
    hold("a");
    stand("b", 1);
    stand("c", 2);
    command(remove(kSlots, "a", 1), call("b", 1));
    EXPECT_THAT(judge.found, IsEmpty());
    command(remove(kCalled, "b", 1), add(kSlots, "b", 3), field("b", "state", "SCHEDULED"));
    command(remove(kSlots, "b", 3));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("c: a slot of tenant acme is given back, 0 of 1 are taken")));
}

TEST_F(TenantLinesTest, WhoHasBeenCalledWasOneOfThoseThatWereLookedAt) {
    for (const int narrow : {15, 14}) {
        const std::string run = fmt::format("{}-", narrow);
        for (const char* job : {"a", "b"}) hold(run + job);
        for (int i = 1; i <= narrow; ++i) stand(fmt::format("{}n{}", run, i), i);
        for (const int place : {1, 2}) stand(fmt::format("{}w{}", run, place), narrow + place, "3");
        command(remove(kSlots, run + "a", 1), call(run + "w1", narrow + 1));
        if (narrow == 14) break;
        EXPECT_THAT(judge.found, IsEmpty()) << "the seventeenth of the line is left to the next call";
        command(remove(kSlots, run + "b", 1), remove(kCalled, run + "w1", now_ms * 1000.0),
                remove(kLine, run + "w2", narrow + 2));
        for (int i = 1; i <= narrow; ++i) command(remove(kLine, fmt::format("{}n{}", run, i), i * kSecond));
        judge.found.clear();
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("14-w2: a slot of tenant acme is given back, 2 of 3 are taken")));
}

TEST_F(TenantLinesTest, NobodyIsCalledBeforeWhoStandsBeforeHim) {
    hold("a");
    stand("b", 1);
    stand("c", 2);
    command(remove(kSlots, "a", 1), call("c", 2));
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("c: it is called out of its tenant's line, and b stands before it")));
}

TEST_F(TenantLinesTest, NoMoreAreCalledThanThereIsRoomFor) {
    hold("a");
    stand("b", 1);
    stand("c", 2);
    command(remove(kSlots, "a", 1), call("b", 1), call("c", 2));
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr(
                    "2 are called out of the line of tenant acme, and 2 have a slot or one in reserve where 1 may")));
}

TEST_F(TenantLinesTest, WhoHasToWaitAgainGetsHisOldPlace) {
    stand("b", 1);
    stand("c", 2);
    command(remove(kLine, "b", kSecond));
    command(field("b", "ls_waits_limit", "1"), add(kLine, "b", kSecond));
    EXPECT_THAT(judge.found, IsEmpty());
    command(remove(kLine, "b", kSecond));
    command(add(kLine, "b", 3 * kSecond));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: it has waited in its tenant's line since 1000000")));
}

TEST_F(TenantLinesTest, OnlyWhoDoesNotComeGoesToTheEnd) {
    stand("b", 1);
    stand("c", 2);
    command(call("b", 1));
    const double called = static_cast<double>(now_ms) * 1000;
    now_ms += 10'000;
    command(remove(kCalled, "b", called), add(kLine, "b", static_cast<double>(now_ms) * 1000));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TenantLinesTest, WhoDoesNotComeKeepsNoSlot) {
    hold("a");
    stand("b", 1);
    command(call("b", 1));
    now_ms += 11'000;
    command(remove(kSlots, "a", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: it was called for a slot of tenant acme 11000 ms ago")));
}

TEST_F(TenantLinesTest, NoDelayOfAnEarlierTryHoldsUpWhoStandsInLine) {
    submit("b");
    command(field("b", "ls_next_attempt_at", "1"));
    command(field("b", "ls_waits_since", "2000000"), field("b", "ls_waits_limit", "1"), add(kLine, "b", 2 * kSecond));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: it comes into its tenant's line with the delay")));
}

TEST_F(TenantLinesTest, ATenantIsListedWhileSomebodyIsCalled) {
    stand("b", 1);
    list(true);
    command(call("b", 1));
    list(false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("tenant acme is taken off the tenants with a line")));
}

TEST_F(TenantLinesTest, WhereNothingMovesATickCallsTheFirst) {
    const auto tick = [this] { oracle.zset_listed(kReplica, "lockstep:tenants:waiting"); };
    stand("b", 1);
    now += 20min;
    command(tick, call("b", 1));
    EXPECT_THAT(judge.found, IsEmpty());
    tell(testing::event_of(fakes::EventKind::timer, ""));
    now += 20min;
    tell(testing::event_of(fakes::EventKind::timer, ""));
    command(tick);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("b: nothing has moved in the line of tenant acme")));
}

TEST_F(TenantLinesTest, ALineThatRedisHasLostPartOfIsNotJudged) {
    hold("a");
    stand("b", 1);
    judge.key_removed(oracle, {}, kCalled, fakes::redis::Removal::evicted, {}, 0);
    command(remove(kSlots, "a", 1));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TenantLinesTest, ADelayThatAFailoverHasTakenBackHoldsNobodyUp) {
    submit("b");
    command(field("b", "ls_next_attempt_at", "1"));
    oracle.restored({});
    stand("b", 1);
    EXPECT_THAT(judge.found, IsEmpty());
    fakes::redis::Keyspace kept;
    kept.hash_set(kept.create<fakes::redis::Hash>("job:meta:c"), "ls_next_attempt_at", "1");
    oracle.restored(kept);
    stand("c", 2);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("c: it comes into its tenant's line with the delay")));
}

TEST_F(SlotUsedTest, AWorkerWithAFreeSlotIsIdleWhileAJobWaitsThatItMayServe) {
    submit("a");
    wait_for_worker("a");
    beats(4, 4);
    EXPECT_THAT(judge.found, IsEmpty()) << "it is full";
    beats(4, 3, "hdd");
    EXPECT_THAT(judge.found, IsEmpty()) << "it is not what the job asks for";
    beats(3, 3);
    EXPECT_THAT(judge.found, IsEmpty()) << "the slot has been free for ten seconds";
    beats(1, 3);
    ASSERT_EQ(judge.found.size(), 1u);
    EXPECT_THAT(judge.found[0], HasSubstr("it waits for a worker, and w has had a free slot from 140000 ms on"));
}

TEST_F(SlotUsedTest, ASlotThatTheStoreHasGivenAwayIsNotFree) {
    submit("a");
    wait_for_worker("a");
    oracle.list_inserted({}, "lockstep:capacity:slots:w", 0, "b");
    beats(8, 4);
    EXPECT_THAT(judge.found, IsEmpty()) << "three that it has are somebody else's";
    oracle.list_removed({}, "lockstep:capacity:slots:w", 0, "b");
    now += 6s;
    oracle.list_inserted({}, "lockstep:capacity:slots:w", 0, "c");
    beats(8, 4);
    EXPECT_THAT(judge.found, IsEmpty()) << "it was taken after a while";
    oracle.zset_removed({}, "lockstep:capacity:jobs:2;3:cpu3:gpu15:constraint.disk3:ssd.acme", "a", 1);
    beats(8, 0);
    EXPECT_THAT(judge.found, IsEmpty()) << "nobody waits";
}

TEST_F(SlotUsedTest, AWorkerIsIdleForATenantWithALimitOrAfterTrouble) {
    submit("a");
    hear_limit("a", 1);
    wait_for_worker("a");
    beats(8, 0);
    EXPECT_THAT(judge.found, IsEmpty()) << "its tenant's slots may be taken";
    submit("b", "globex");
    wait_for_worker("b", "globex");
    fault("begin");
    beats(8, 0);
    fault("end");
    beats(8, 0);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
