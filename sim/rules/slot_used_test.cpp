#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct SlotUsedTest : RuleTest {
    static constexpr const char* kQueue = "lockstep:tenant:waiting:acme";
    static constexpr const char* kWoken = "lockstep:tenant:woken:acme";
    static constexpr const char* kSlots = "lockstep:tenant:slots:acme";
    static constexpr const char* kRoomOfW = "lockstep:capacity:slots:w";
    static constexpr const char* kRoom = "lockstep:capacity:jobs:2;3:cpu3:gpu15:constraint.disk3:ssd.";

    SlotUsedTest() : RuleTest(rules::slot_used) { now = Time{100s}; }

    void submit(const std::string& job, const std::string& tenant = "acme") {
        set_field(job, "tenant", tenant);
        set_field(job, "state", "PENDING");
    }
    void run(const std::string& job) {
        submit(job);
        set_field(job, "state", "RUNNING");
    }
    void lock(EventKind change, const std::string& job) {
        observe(change, job, {.key = "cordum:scheduler:job:" + job});
    }
    void take(const std::string& job) { lock(EventKind::lock_acquired, job); }
    void let_go(const std::string& job) { lock(EventKind::lock_released, job); }
    void hear_limit(const std::string& job, int limit) {
        cap::PolicyCheckResponse answer;
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(limit);
        RuleTest::answer(job, answer);
    }
    void add(const std::string& key, const std::string& member, double score) {
        keys.zset_set(at<SortedSet>(key), member, score);
    }
    void remove(const std::string& key, const std::string& member) { keys.zset_remove(*keys.find(key), member); }
    /// Handled, and refused for its tenant's limit.
    void find_full(const std::string& job, int limit = 1) {
        take(job);
        hear_limit(job, limit);
        by_command(kReplica, {"EVALSHA"}, [&] { add(kQueue, job, 1); });
        let_go(job);
    }
    /// Behind a, which runs.
    void let_b_wait() {
        run("a");
        submit("b");
        find_full("b");
    }
    void delay(const std::string& job, int limit) {
        hear_limit(job, limit);
        set_field(job, "ls_next_attempt_at", "1");
        tell(event_of(EventKind::redis, job));
    }
    void call(const std::string& job, When when) { observe(EventKind::redis, job, {.command = "EVALSHA"}, when); }
    /// A worker with four slots is heard.
    void beat(int active, const std::string& disk = "ssd") {
        cap::BusPacket packet;
        cap::Heartbeat& heartbeat = *packet.mutable_heartbeat();
        heartbeat.set_worker_id("w");
        heartbeat.set_pool("gpu");
        heartbeat.set_active_jobs(active);
        heartbeat.set_max_parallel_jobs(4);
        (*heartbeat.mutable_labels())["constraint.disk"] = disk;
        deliver(packet, kReplica);
    }
    void beats(int count, int active, const std::string& disk = "ssd") {
        for (int i = 0; i < count; ++i) {
            beat(active, disk);
            now += 5s;
        }
    }
    void wait_for_worker(const std::string& job, const std::string& tenant = "acme") { add(kRoom + tenant, job, 1); }
    void list(const std::string& job) { keys.list_insert(at<List>(kRoomOfW), 0, job); }
};

TEST_F(SlotUsedTest, AJobThatHasASlotIsNotDelayedForItsOwnSlot) {
    submit("a");
    set_field("a", "state", "SCHEDULED");
    run("b");
    delay("a", 1);
    EXPECT_THAT(found, IsEmpty());
    set_field("b", "state", "CANCELLED");
    delay("a", 1);
    EXPECT_THAT(found,
                ElementsAre(HasSubstr("a: it has a slot of its tenant and is delayed for the limit of 1, and 0")));
    set_field("a", "ls_next_attempt_at", "1");
    set_field("a", "attempts", "1");
    tell(event_of(EventKind::redis, "a"));
    EXPECT_EQ(found.size(), 1U) << "with anything else it is for another reason";
    delay("a", 0);
    EXPECT_EQ(found.size(), 1U) << "there is no limit";
}

TEST_F(SlotUsedTest, ADelayIsJudgedUnlessRedisHasLostAJobOfTheTenant) {
    submit("a");
    set_field("a", "state", "SCHEDULED");
    submit("other", "initech");
    evict("job:meta:other");
    delay("a", 1);
    EXPECT_EQ(found.size(), 1U);
    submit("b");
    evict("job:meta:b");
    delay("a", 1);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SlotUsedTest, AJobThatWaitsForAWorkerStandsAtItsPlaceEverywhere) {
    submit("a");
    for (const char* key : {"lockstep:capacity:waiting", "lockstep:capacity:waiting:of:acme", kRoom}) {
        found.clear();
        const auto place = [&](double since) {
            command(kReplica, [&] { set_field("a", "ls_waits_since", "5"); }, [&] { add(key, "a", since); });
        };
        place(5);
        EXPECT_THAT(found, IsEmpty());
        place(6);
        EXPECT_THAT(found,
                    ElementsAre(HasSubstr("a: it waits for room at a worker as of 6, and its record says since 5")));
    }
}

TEST_F(SlotUsedTest, AWaitingJobIsAcquiredSoonAfterASlotIsFree) {
    let_b_wait();
    now += 10min;
    set_field("a", "state", "SUCCEEDED");
    now += 900ms;
    take("b");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(SlotUsedTest, ASlotThatStaysFreeIsFound) {
    let_b_wait();
    set_field("a", "state", "SUCCEEDED");
    now += 1100ms;
    take("b");
    EXPECT_THAT(found,
                ElementsAre(HasSubstr("b: it waited for a slot of its tenant, and one was free from 100000 ms")));
    let_go("b");
    delay("b", 1);
    now += 1100ms;
    take("b");
    EXPECT_EQ(found.size(), 2U) << "a job that is delayed waits for a slot, too";
}

TEST_F(SlotUsedTest, AJobThatWaitsForAWorkerOrHasADamagedRequestCanUseNone) {
    run("a");
    submit("b");
    set_text("job:req:b", R"({"jobId":"b"})");
    find_full("b");
    keys.act_for({});
    keys.set_string("job:req:b", R"({"jobId)", kNever);
    submit("c");
    find_full("c");
    add("lockstep:capacity:waiting", "c", 1);
    set_field("a", "state", "SUCCEEDED");
    now += 1h;
    take("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SlotUsedTest, WhereRedisIsDistantItTakesAsLongAsItsCallsDo) {
    let_b_wait();
    call("b", When::before);
    now += 500ms;
    call("b", When::answered);
    set_field("a", "state", "SUCCEEDED");
    now += 2400ms;
    take("b");
    EXPECT_THAT(found, IsEmpty());
    let_go("b");
    now += 2600ms;
    take("b");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SlotUsedTest, ACallThatAFaultHasMadeLongExcusesNothingLater) {
    let_b_wait();
    fault("partition");
    call("b", When::before);
    now += 10s;
    call("b", When::answered);
    fault("partition", "end");
    wait(20min);
    set_field("a", "state", "SUCCEEDED");
    now += 1100ms;
    take("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("one was free from")));
}

TEST_F(SlotUsedTest, ASlotThatIsNeverTakenIsFoundAtTheEnd) {
    let_b_wait();
    set_field("a", "state", "CANCELLED");
    wait(20min);
    rest();
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SlotUsedTest, ASlotOfAnotherTenantIsNotItsOwn) {
    run("a");
    submit("b", "globex");
    find_full("b", 1);
    submit("c", "globex");
    set_field("c", "state", "RUNNING");
    now += 10s;
    set_field("a", "state", "SUCCEEDED");
    now += 10s;
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SlotUsedTest, WhileAWaitingJobIsHandledNoneIsLate) {
    run("a");
    for (const char* job : {"b", "c"}) submit(job);
    for (const char* job : {"b", "c"}) find_full(job);
    set_field("a", "state", "SUCCEEDED");
    take("b");
    now += 20s;  // policy takes its time
    set_field("b", "state", "DISPATCHED");
    let_go("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SlotUsedTest, AfterADisturbanceItMayTakeLonger) {
    let_b_wait();
    fault("partition");
    set_field("a", "state", "SUCCEEDED");
    now += 1min;
    fault("partition", "end");
    now += 2min;
    take("b");
    EXPECT_THAT(found, IsEmpty());
    let_go("b");
    find_full("b", 2);
    now += 1h;
    take("b");
    EXPECT_EQ(found.size(), 1U) << "but not for ever";
}

TEST_F(SlotUsedTest, AWorkerWithAFreeSlotIsIdleWhileAJobWaitsThatItMayServe) {
    submit("a");
    wait_for_worker("a");
    beats(4, 4);
    EXPECT_THAT(found, IsEmpty()) << "it is full";
    beats(4, 3, "hdd");
    EXPECT_THAT(found, IsEmpty()) << "it is not what the job asks for";
    beats(3, 3);
    EXPECT_THAT(found, IsEmpty()) << "the slot has been free for ten seconds";
    beats(1, 3);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: it waits for a worker, and w has had a free slot from 140000 ms on")));
}

TEST_F(SlotUsedTest, ASlotThatRedisHasGivenAwayIsNotFree) {
    submit("a");
    wait_for_worker("a");
    list("b");
    beats(8, 4);
    EXPECT_THAT(found, IsEmpty()) << "three that it has are not in its list";
    keys.list_remove(*keys.find(kRoomOfW), 0);
    now += 6s;
    list("c");
    beats(8, 4);
    EXPECT_THAT(found, IsEmpty()) << "it was taken after a while";
    remove(std::string(kRoom) + "acme", "a");
    beats(8, 0);
    EXPECT_THAT(found, IsEmpty()) << "no job waits";
    wait_for_worker("a");
    for (const char* job : {"d", "e", "f"}) list(job);
    beats(8, 4);
    EXPECT_THAT(found, IsEmpty());
    evict(kRoomOfW);
    beats(4, 0);
    EXPECT_EQ(found.size(), 1U) << "its list is gone";
}

TEST_F(SlotUsedTest, AQueueMovesWhileJobsLeaveIt) {
    for (const char* job : {"a", "b", "c"}) submit(job);
    for (const char* job : {"a", "b", "c"}) wait_for_worker(job);
    beats(2, 3);
    remove(std::string(kRoom) + "acme", "a");
    beats(2, 3);
    EXPECT_THAT(found, IsEmpty());
    beats(2, 3);
    EXPECT_EQ(found.size(), 1U);
    keys.remove(*keys.find(std::string(kRoom) + "acme"));
    beats(8, 3);
    EXPECT_EQ(found.size(), 1U) << "no job waits";
}

TEST_F(SlotUsedTest, AWorkerIsIdleForATenantWithALimitOrAfterADisturbance) {
    submit("a");
    hear_limit("a", 1);
    wait_for_worker("a");
    beats(8, 0);
    EXPECT_THAT(found, IsEmpty()) << "its tenant's slots may be taken";
    submit("b", "globex");
    wait_for_worker("b", "globex");
    fault("partition");
    beats(8, 0);
    fault("partition", "end");
    beats(8, 0);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SlotUsedTest, AWorkerIsIdleOnceSettingsWereReplacedOrRedisHasLostData) {
    submit("a");
    wait_for_worker("a");
    beats(5, 0);
    set_text("cfg:system:default", "{}");
    beats(1, 0);
    EXPECT_EQ(found.size(), 3U) << "there were none before";
    set_text("cfg:system:default", "{ }");
    beats(1, 0);
    EXPECT_EQ(found.size(), 3U);
    const std::uint64_t before = times_exercised();
    keys.restore([] {});
    beats(1, 0);
    EXPECT_EQ(times_exercised(), before);
}

// What each command leaves of a queue.
struct QueuesOfTenantsTest : SlotUsedTest {
    static constexpr double kSecond = 1e6;

    template <class... Changes>
    void command(Changes... changes) {
        RuleTest::command(kReplica, changes...);
    }
    auto add(const char* key, std::string job, double score) {
        return [=, this] { SlotUsedTest::add(key, job, score); };
    }
    auto remove(const char* key, std::string job) {
        return [=, this] { SlotUsedTest::remove(key, job); };
    }
    auto field(std::string job, std::string name, std::string value) {
        return [=, this] { keys.hash_set(hash_of(job), name, value); };
    }
    fakes::redis::Keyspace::Node& hash_of(const std::string& job) { return at<Hash>("job:meta:" + job); }
    /// Queued since that second, with a limit of so many jobs.
    void queue(const std::string& job, int since, const std::string& limit = "1") {
        submit(job);
        command(field(job, "ls_waits_since", fmt::format("{}000000", since)), field(job, "ls_waits_limit", limit),
                add(kQueue, job, since * kSecond));
    }
    void hold(const std::string& job) {
        submit(job);
        command(field(job, "state", "RUNNING"), add(kSlots, job, 1));
    }
    [[nodiscard]] double redis_now() const { return static_cast<double>(engine::to_millis(now - Time{})) * 1000; }
    auto wake(const std::string& job) {
        return [=, this] {
            remove(kQueue, job)();
            add(kWoken, job, redis_now())();
        };
    }
    auto told(const std::string& limit, const std::string& now_holds) {
        return [=, this] { keys.hash_set(at<Hash>("lockstep:tenant:turns:acme"), limit, now_holds); };
    }
    auto tick() {
        return [this] { keys.tell_listed(kQueuedTenants); };
    }
};

TEST_F(QueuesOfTenantsTest, ACommandThatFreesASlotWakesTheFirstOfTheQueue) {
    hold("a");
    queue("b", 1);
    queue("c", 2);
    command(remove(kSlots, "a"), wake("b"));
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
    command(remove(kWoken, "b"), add(kSlots, "b", 3), field("b", "state", "SCHEDULED"));
    command(remove(kSlots, "b"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("c: a slot of tenant acme is freed, 0 of 1 are taken or reserved")));
}

TEST_F(QueuesOfTenantsTest, JobsThatCannotWaitAreNotWoken) {
    hold("a");
    queue("b", 1);
    command(field("b", "state", "CANCELLED"));
    queue("c", 2);
    command([this] { keys.hash_remove(hash_of("c"), "ls_waits_since"); });
    queue("d", 3);
    command(field("d", "state", "SCHEDULED"));
    command(remove(kSlots, "a"));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(QueuesOfTenantsTest, AJobGoesByTheLimitThatHoldsNow) {
    for (const char* job : {"a", "b", "x"}) hold(job);
    queue("c", 1, "1");
    command(remove(kSlots, "x"));
    EXPECT_THAT(found, IsEmpty()) << "the tenant is full";
    command(told("1", "2"), told("look", "1"), told("asked_at", "1"));
    command(remove(kSlots, "a"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("c: a slot of tenant acme is freed, 1 of 2 are taken")));
    command([this] { keys.hash_remove(*keys.find("lockstep:tenant:turns:acme"), "1"); });
    hold("a");
    command(remove(kSlots, "a"));
    EXPECT_EQ(found.size(), 1U) << "it is the one that it was given";
    command([this] { keys.hash_remove(hash_of("c"), "ls_waits_limit"); });
    hold("a");
    command(remove(kSlots, "a"));
    EXPECT_EQ(found.size(), 2U) << "it has none";
}

TEST_F(QueuesOfTenantsTest, AJobThatWasWokenWasOneOfThoseThatWereLookedAt) {
    for (const int narrow : {15, 14}) {
        const std::string run = fmt::format("{}-", narrow);
        for (const char* job : {"a", "b"}) hold(run + job);
        for (int i = 1; i <= narrow; ++i) queue(fmt::format("{}n{}", run, i), i);
        for (const int place : {1, 2}) queue(fmt::format("{}w{}", run, place), narrow + place, "3");
        command(remove(kSlots, run + "a"), wake(run + "w1"));
        if (narrow == 14) break;
        EXPECT_THAT(found, IsEmpty()) << "the seventeenth of the queue is left to the next call";
        command(remove(kSlots, run + "b"), remove(kWoken, run + "w1"), remove(kQueue, run + "w2"));
        for (int i = 1; i <= narrow; ++i) command(remove(kQueue, fmt::format("{}n{}", run, i)));
        found.clear();
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("14-w2: a slot of tenant acme is freed, 2 of 3 are taken")));
}

TEST_F(QueuesOfTenantsTest, NoJobIsWokenBeforeOneThatWaitsLonger) {
    hold("a");
    queue("b", 1);
    queue("c", 2);
    command(remove(kSlots, "a"), wake("c"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("c: it is woken from its tenant's queue, and b is queued before it")));
    hold("d");
    queue("e", 3, "3");
    command(remove(kSlots, "d"), wake("e"));
    EXPECT_EQ(found.size(), 1U) << "b has a stricter limit";
}

TEST_F(QueuesOfTenantsTest, NoMoreAreWokenThanThereIsRoomFor) {
    hold("a");
    queue("b", 1);
    queue("c", 2);
    command(remove(kSlots, "a"), wake("b"), wake("c"));
    EXPECT_THAT(found,
                ElementsAre(HasSubstr(
                    "c: 2 are woken from the queue of tenant acme, and 2 have a slot or one in reserve where 1 may")));
}

TEST_F(QueuesOfTenantsTest, AJobThatHasToWaitAgainGetsItsOldPlace) {
    queue("b", 1);
    queue("c", 2);
    command(remove(kQueue, "b"));
    command(field("b", "ls_waits_limit", "1"), add(kQueue, "b", kSecond));
    EXPECT_THAT(found, IsEmpty());
    command(remove(kQueue, "b"));
    command(add(kQueue, "b", 3 * kSecond));
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it has waited in its tenant's queue since 1000000, and is put")));
    command(field("b", "ls_waits_since", "3000000"));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[1],
                HasSubstr("b: it has waited in its tenant's queue since 1000000, and is queued as of 3000000"));
}

TEST_F(QueuesOfTenantsTest, OnlyAJobThatIsNotAcquiredGoesToTheEnd) {
    queue("b", 1);
    queue("c", 2);
    command(wake("b"));
    now += 10s;
    command(remove(kWoken, "b"), add(kQueue, "b", redis_now()));
    EXPECT_THAT(found, IsEmpty());
    command(remove(kQueue, "b"), add(kQueue, "b", redis_now()));
    EXPECT_THAT(found, IsEmpty()) << "it was there before";
    command(remove(kQueue, "c"), wake("b"));
    now += 9s;
    command(remove(kWoken, "b"), add(kQueue, "b", redis_now()));
    EXPECT_EQ(found.size(), 1U) << "it had time left";
}

TEST_F(QueuesOfTenantsTest, AndDoesNotKeepTheOthersWaiting) {
    queue("b", 1);
    queue("c", 2);
    command(wake("b"));
    now += 11s;
    command(remove(kWoken, "b"), add(kQueue, "b", kSecond));
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it was woken and not acquired in time, and is queued before others")));
    command(remove(kQueue, "c"), wake("b"));
    now += 11s;
    command(remove(kWoken, "b"), add(kQueue, "b", kSecond));
    EXPECT_EQ(found.size(), 1U) << "there are no others";
    submit("d");
    command(wake("b"));
    now += 11s;
    command(remove(kWoken, "b"), add(kQueue, "b", redis_now()), add(kQueue, "d", redis_now() + 1));
    EXPECT_THAT(found, SizeIs(1)) << "one that has not waited comes behind it";
}

TEST_F(QueuesOfTenantsTest, AJobThatIsNotAcquiredKeepsNoSlot) {
    hold("a");
    queue("b", 1);
    command(wake("b"));
    now += 11s;
    command(remove(kSlots, "a"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it was woken for a slot of tenant acme 11000 ms ago")));
    hold("a");
    fault("clock_jump");
    command(remove(kSlots, "a"));
    command(remove(kWoken, "b"), add(kQueue, "b", kSecond));
    command(remove(kQueue, "b"), add(kQueue, "b", redis_now()));
    EXPECT_EQ(found.size(), 1U) << "what counts time is not judged any more";
}

TEST_F(QueuesOfTenantsTest, NoDelayOfAnEarlierTryHoldsAQueuedJobUp) {
    submit("b");
    command(field("b", "ls_next_attempt_at", "1"));
    command(field("b", "ls_waits_since", "2000000"), field("b", "ls_waits_limit", "1"), add(kQueue, "b", 2 * kSecond));
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: it comes into its tenant's queue with the delay")));
    command([this] { keys.hash_remove(hash_of("b"), "ls_next_attempt_at"); }, field("b", "ls_waits_limit", "1"));
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(QueuesOfTenantsTest, ATenantIsListedWhileAJobOfItIsWoken) {
    queue("b", 1);
    command(add(kQueuedTenants.data(), "acme", 1), wake("b"));
    command(remove(kQueuedTenants.data(), "acme"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("tenant acme is removed from the tenants with a queue, and 0 of its")));
    command(add(kQueuedTenants.data(), "acme", 1));
    command(remove(kQueuedTenants.data(), "acme"), add(kQueuedTenants.data(), "acme", 2));
    EXPECT_EQ(found.size(), 1U) << "it is listed again";
    evict(std::string(kQueuedTenants));
    command(add(kQueuedTenants.data(), "acme", 1));
    command(remove(kQueuedTenants.data(), "acme"));
    EXPECT_EQ(found.size(), 1U) << "the list has lost something";
}

TEST_F(QueuesOfTenantsTest, WhereNothingMovesATickWakesTheFirst) {
    hold("a");
    queue("b", 1);
    now += 20min;
    command(tick(), wake("b"));
    EXPECT_THAT(found, IsEmpty());
    wait(20min);
    command(tick());
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: nothing has moved in the queue of tenant acme")));
    fault("redis.script_flush");
    command(tick());
    EXPECT_EQ(found.size(), 1U) << "the disturbance is recent";
}

TEST_F(QueuesOfTenantsTest, AQueueIsNotJudgedThatHasLostSomethingOrThatAnotherProcessChanged) {
    const auto is_judged_after = [this](auto change) {
        hold("a");
        queue("b", 1);
        change();
        command(remove(kSlots, "a"));
        return !std::exchange(found, {}).empty();
    };
    EXPECT_TRUE(is_judged_after([] {}));
    const auto by = [this](fakes::NodeId client) {
        by_command(client, {"ZADD"}, [this] { SlotUsedTest::add(kQueue, "c", 1); });
    };
    EXPECT_TRUE(is_judged_after([&] { by(kOther); }));
    EXPECT_FALSE(is_judged_after([&] { by(Topology::kOperator); }));
}

TEST_F(QueuesOfTenantsTest, AQueueThatRedisHasLostPartOfIsNotJudged) {
    hold("a");
    queue("b", 1);
    command(add(kWoken, "x", 1));
    evict(kWoken);
    command(remove(kSlots, "a"));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(QueuesOfTenantsTest, ADelayThatAFailoverHasTakenBackHoldsNoJobUp) {
    submit("b");
    command(field("b", "ls_next_attempt_at", "1"));
    keys.restore([this] { keys.clear(); });
    queue("b", 1);
    EXPECT_THAT(found, IsEmpty());
    keys.restore([this] { keys.hash_set(hash_of("c"), "ls_next_attempt_at", "1"); });
    queue("c", 2);
    EXPECT_THAT(found, ElementsAre(HasSubstr("c: it comes into its tenant's queue with the delay")));
}

}  // namespace
}  // namespace lockstep::sim
