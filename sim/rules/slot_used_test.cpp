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

    SlotUsedTest() : RuleTest(rules::slot_used) {
        now = Time{100s};
        define({
            {"submit",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) submit(first(job), second(job, "acme"));
             }},
            {"run", [this](auto& job) { run(job); }},
            {"queued", [this](auto&) { let_b_wait(); }},
            {"state", [this](auto& of) { set_field(first(of), "state", second(of)); }},
            {"take", [this](auto& job) { take(job); }},
            {"go", [this](auto& job) { let_go(job); }},
            {"full", [this](auto& job) { find_full(first(job), std::stoi(second(job, "1"))); }},
            {"limit", [this](auto& of) { hear_limit(first(of), std::stoi(second(of))); }},
            {"delay", [this](auto& of) { delay(first(of), std::stoi(second(of))); }},
            {"call", [this](auto& job) { call(job, When::before); }},
            {"called", [this](auto& job) { call(job, When::answered); }},
            {"room",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) wait_for_worker(first(job), second(job, "acme"));
             }},
            {"leave", [this](auto& job) { remove(std::string(kRoom) + "acme", job); }},
            {"unroom", [this](auto&) { keys.remove(*keys.find(std::string(kRoom) + "acme")); }},
            {"beats", [this](auto& count) { beats(std::stoi(first(count)), std::stoi(second(count))); }},
            {"wrong", [this](auto& count) { beats(std::stoi(first(count)), std::stoi(second(count)), "hdd"); }},
            {"list", [this](auto& job) { list(job); }},
            {"unlist", [this](auto&) { keys.list_remove(*keys.find(kRoomOfW), 0); }},
        });
    }

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

constexpr Story kSlotsUsed[] = {
    {"ADelayIsJudgedUnlessRedisHasLostAJobOfTheTenant",
     "submit=a state=a:SCHEDULED submit=other:initech evict=job:meta:other delay=a:1 found=1 submit=b evict=job:meta:b "
     "delay=a:1",
     "a:"},
    {"AWaitingJobIsAcquiredSoonAfterASlotIsFree", "queued +10min state=a:SUCCEEDED +900ms take=b ok times=1"},
    // A job that is delayed waits for a slot, too.
    {"ASlotThatStaysFreeIsFound", "queued state=a:SUCCEEDED +1100ms take=b found=1 go=b delay=b:1 +1100ms take=b",
     "b: it waited for a slot of its tenant, and one was free from 100000 ms|b:"},
    {"WhereRedisIsDistantItTakesAsLongAsItsCallsDo",
     "queued call=b +500ms called=b state=a:SUCCEEDED +2400ms take=b ok go=b +2600ms take=b", "b:"},
    {"ACallThatAFaultHasMadeLongExcusesNothingLater",
     "queued fault=partition call=b +10s called=b heal=partition wait=20min state=a:SUCCEEDED +1100ms take=b",
     "one was free from"},
    {"ASlotThatIsNeverTakenIsFoundAtTheEnd", "queued state=a:CANCELLED wait=20min rest", "b:"},
    {"ASlotOfAnotherTenantIsNotItsOwn",
     "run=a submit=b:globex full=b submit=c:globex state=c:RUNNING +10s state=a:SUCCEEDED +10s rest"},
    {"WhileAWaitingJobIsHandledNoneIsLate",
     "run=a submit=b,c full=b full=c state=a:SUCCEEDED take=b +20s state=b:DISPATCHED go=b"},
    {"AfterADisturbanceItMayTakeLongerButNotForEver",
     "queued fault=partition state=a:SUCCEEDED +1min heal=partition +2min take=b ok go=b full=b:2 +1h take=b", "b:"},
    // It is full; it is not what the job asks for; the slot has been free for ten seconds.
    {"AWorkerWithAFreeSlotIsIdleWhileAJobWaitsThatItMayServe",
     "submit=a room=a beats=4:4 ok wrong=4:3 ok beats=3:3 ok beats=1:3",
     "a: it waits for a worker, and w has had a free slot from 140000 ms on"},
    // Three that it has are not in its list; it was taken after a while; no job waits; then its list is gone.
    {"ASlotThatRedisHasGivenAwayIsNotFree",
     "submit=a room=a list=b beats=8:4 ok unlist +6s list=c beats=8:4 ok leave=a beats=8:0 ok room=a list=d list=e "
     "list=f beats=8:4 ok evict=lockstep:capacity:slots:w beats=4:0",
     "a:"},
    {"AQueueMovesWhileJobsLeaveIt",
     "submit=a,b,c room=a,b,c beats=2:3 leave=a beats=2:3 ok beats=2:3 found=1 unroom beats=8:3", ":"},
    {"AWorkerIsIdleForATenantWithALimitOrAfterADisturbance",
     "submit=a limit=a:1 room=a beats=8:0 ok submit=b:globex room=b:globex fault=partition beats=8:0 heal=partition "
     "beats=8:0"},
};
using SlotsUsedTold = Told<SlotUsedTest>;
TEST_P(SlotsUsedTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SlotsUsedTold, ::testing::ValuesIn(kSlotsUsed), title_of);

TEST_F(SlotUsedTest, AJobThatWaitsForAWorkerStandsAtItsPlaceEverywhere) {
    submit("a");
    for (const char* key : {"lockstep:capacity:waiting", "lockstep:capacity:of:acme", kRoom}) {
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
    QueuesOfTenantsTest() {
        define({
            {"hold",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) hold(job);
             }},
            {"queue", [this](auto& of) { queue(first(of), std::stoi(first(second(of))), second(second(of), "1")); }},
            {"do",
             [this](auto& acts) {
                 RuleTest::command(by, [&] {
                     for (const auto& act : parts_of(acts, ';')) this->act(first(act), second(act));
                 });
             }},
        });
    }
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
    /// Of a command that does several, as `act:member` or `act:member:value`.
    void act(const std::string& what, const std::string& of) {
        const std::string job = first(of), value = second(of);
        if (what == "free") return remove(kSlots, job)();
        if (what == "take") return add(kSlots, job, 3)();
        if (what == "wake") return wake(job)();
        if (what == "unwake") return remove(kWoken, job)();
        if (what == "unqueue") return remove(kQueue, job)();
        if (what == "put") return add(kQueue, job, value.empty() ? redis_now() : std::stod(value) * kSecond)();
        if (what == "put_behind") return add(kQueue, job, redis_now() + 1)();
        if (what == "told") return told(job, value)();
        if (what == "untold") return void(keys.hash_remove(*keys.find("lockstep:tenant:turns:acme"), job));
        if (what == "unset") return void(keys.hash_remove(hash_of(job), value));
        if (what == "list") return add(kQueuedTenants.data(), "acme", 1)();
        if (what == "unlist") return remove(kQueuedTenants.data(), "acme")();
        if (what == "tick") return keys.tell_listed(kQueuedTenants);
        field(job, what, value)();
    }
};

constexpr Story kQueues[] = {
    {"ACommandThatFreesASlotWakesTheFirstOfTheQueue",
     "hold=a queue=b:1 queue=c:2 do=free:a;wake:b ok times=1 do=unwake:b;take:b;state:b:SCHEDULED do=free:b",
     "c: a slot of tenant acme is freed, 0 of 1 are taken or reserved"},
    {"JobsThatCannotWaitAreNotWoken",
     "hold=a queue=b:1 do=state:b:CANCELLED queue=c:2 do=unset:c:ls_waits_since queue=d:3 do=state:d:SCHEDULED "
     "do=free:a"},
    // At first the tenant is full; then the limit is the one that the job was given; then it has none.
    {"AJobGoesByTheLimitThatHoldsNow",
     "hold=a,b,x queue=c:1:1 do=free:x ok do=told:1:2;told:look:1;told:asked_at:1 do=free:a found=1 do=untold:1 hold=a "
     "do=free:a found=1 do=unset:c:ls_waits_limit hold=a do=free:a",
     "c: a slot of tenant acme is freed, 1 of 2 are taken|c:"},
    // In the end b has a stricter limit.
    {"NoJobIsWokenBeforeOneThatWaitsLonger",
     "hold=a queue=b:1 queue=c:2 do=free:a;wake:c found=1 hold=d queue=e:3:3 do=free:d;wake:e",
     "c: it is woken from its tenant's queue, and b is queued before it"},
    {"NoMoreAreWokenThanThereIsRoomFor", "hold=a queue=b:1 queue=c:2 do=free:a;wake:b;wake:c",
     "c: 2 are woken from the queue of tenant acme, and 2 have a slot or one in reserve where 1 may"},
    {"AJobThatHasToWaitAgainGetsItsOldPlace",
     "queue=b:1 queue=c:2 do=unqueue:b do=ls_waits_limit:b:1;put:b:1 ok do=unqueue:b do=put:b:3 "
     "do=ls_waits_since:b:3000000",
     "b: it has waited in its tenant's queue since 1000000, and is put|b: it has waited in its tenant's queue since "
     "1000000, and is queued as of 3000000"},
    // It was there before; in the end it had time left.
    {"OnlyAJobThatIsNotAcquiredGoesToTheEnd",
     "queue=b:1 queue=c:2 do=wake:b +10s do=unwake:b;put:b ok do=unqueue:b;put:b ok do=unqueue:c;wake:b +9s "
     "do=unwake:b;put:b",
     "b:"},
    // There are no others; then one that has not waited comes behind it.
    {"AndDoesNotKeepTheOthersWaiting",
     "queue=b:1 queue=c:2 do=wake:b +11s do=unwake:b;put:b:1 found=1 do=unqueue:c;wake:b +11s do=unwake:b;put:b:1 "
     "found=1 submit=d do=wake:b +11s do=unwake:b;put:b;put_behind:d",
     "b: it was woken and not acquired in time, and is queued before others"},
    {"OneThatIsAcquiredLateHasItsOldPlace",
     "queue=b:1 queue=c:2 do=wake:b +11s do=unwake:b;ls_waits_limit:b:1;put:b:1"},
    // After the jump what counts time is not judged any more.
    {"AJobThatIsNotAcquiredKeepsNoSlot",
     "hold=a queue=b:1 do=wake:b +11s do=free:a found=1 hold=a fault=clock_jump do=free:a do=unwake:b;put:b:1 "
     "do=unqueue:b;put:b",
     "b: it was woken for a slot of tenant acme 11000 ms ago"},
    {"NoDelayOfAnEarlierTryHoldsAQueuedJobUp",
     "submit=b do=ls_next_attempt_at:b:1 do=ls_waits_since:b:2000000;ls_waits_limit:b:1;put:b:2 found=1 "
     "do=unset:b:ls_next_attempt_at;ls_waits_limit:b:1",
     "b: it comes into its tenant's queue with the delay"},
    // It is listed again; then the list has lost something.
    {"ATenantIsListedWhileAJobOfItIsWoken",
     "queue=b:1 do=list;wake:b do=unlist found=1 do=list do=unlist;list found=1 evict=lockstep:tenants:waiting do=list "
     "do=unlist",
     "tenant acme is removed from the tenants with a queue, and 0 of its"},
    // In the end the disturbance is recent.
    {"WhereNothingMovesATickWakesTheFirst",
     "hold=a queue=b:1 +20min do=tick;wake:b ok wait=20min do=tick found=1 fault=redis.script_flush do=tick",
     "b: nothing has moved in the queue of tenant acme"},
    {"AQueueThatRedisHasLostPartOfIsNotJudged",
     "hold=a queue=b:1 do=wake:x evict=lockstep:tenant:woken:acme do=free:a"},
};
using QueuesTold = Told<QueuesOfTenantsTest>;
TEST_P(QueuesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, QueuesTold, ::testing::ValuesIn(kQueues), title_of);

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
