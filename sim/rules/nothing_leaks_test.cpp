#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kSagaLock = "saga:trip:lock";
constexpr const char* kLockOfA = "cordum:scheduler:job:a";
constexpr std::int64_t kSomeTime = 1'000'000'000'000'000;

struct NothingLeaks : RuleTest {
    NothingLeaks() : RuleTest(rules::nothing_leaks) {
        define({
            {"grant", [this](auto& key) { grant(key.empty() ? kLockOfA : key); }},
            {"ever", [this](auto& key) { grant(key, kNever); }},
            {"others", [this](auto&) { grant(kLockOfA, kSomeTime, "other"); }},
            {"back", [this](auto&) { keys.restore([this] { keys.set_string(kLockOfA, "former", kSomeTime); }); }},
            {"mark", [this](auto&) { set_text("cordum:bus:inflight:CORDUM_SYS:7:d", "1"); }},
            {"saga_ttl", [this](auto&) { now += tunables.saga_lock_ttl; }},
            {"run_ttl", [this](auto&) { now += tunables.run_lock_ttl; }},
            {"job_ttl", [this](auto&) { now += tunables.job_lock_ttl; }},
            {"unrest", [this](auto&) { rest(false); }},
            {"ask", [this](auto&) { call({"token"}); }},
            {"release", [this](auto&) { ask_for_release(); }},
            {"commit",
             [this](auto&) {
                 call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", "token", "to", "RUNNING"});
             }},
            {"refused", [this](auto&) { reply(EventOutcome::not_applied); }},
            {"silence", [this](auto&) { reply(EventOutcome::unknown); }},
            {"replied", [this](auto&) { reply(EventOutcome::applied, kLockOfA); }},
            {"unreplied", [this](auto&) { reply(EventOutcome::unknown, kLockOfA); }},
            {"gone", [this](auto& how) { gone(how == "expired" ? Removal::expired : Removal::deleted); }},
        });
    }

    /// Acquires it, or renews it.
    void grant(const std::string& key, std::int64_t expires_at = kSomeTime, const std::string& token = "token") {
        by_command(kReplica, {"SET"}, [&] { keys.set_string(key, token, expires_at); });
    }
    void gone(Removal why, const std::string& key = kLockOfA) { keys.remove(*keys.find(key), why); }
    /// A call for the lock with these words.
    void call(std::initializer_list<std::string_view> words, std::string_view key = kLockOfA) {
        std::string command = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string_view word : words)
            command += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
        observe(EventKind::redis, "a", {.key = key, .payload = command}, When::before);
    }
    void ask_for_release() { call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", "ls_in_hand", "17"}); }
    void reply(EventOutcome outcome, std::string_view key = "") {
        observe(EventKind::redis, "a", {.outcome = outcome, .key = key, .payload = ":1"}, When::answered);
    }
};

constexpr Story kLocks[] = {
    {"NoLockOfAnyKindIsGrantedForEver",
     "ever=saga:trip:lock ever=cordum:reconciler:default ever=cordum:scheduler:snapshot:writer",
     "is granted for ever|is granted for ever|is granted for ever"},
    {"AtRestTheyAreStillThere",
     "ever=saga:trip:lock ever=cordum:reconciler:default ever=cordum:scheduler:snapshot:writer forget rest", ": |: |:"},
    {"NorMadeToLastForEverLater", "grant=cordum:reconciler:default ok ever=cordum:reconciler:default",
     "is granted for ever"},
    {"AnInFlightMarkExpires", "mark rest", "cordum:bus:inflight:CORDUM_SYS:7:d never expires"},
    // Its holder may have died with it.
    {"ARollbacksLockIsGoneAfterItsLongestTime", "grant=saga:trip:lock saga_ttl rest ok saga_ttl rest",
     "saga:trip:lock was taken"},
    {"AClockThatWasSetBackProlongsIt", "grant=saga:trip:lock fault=clock_jump +1h rest"},
    {"TheLockOfARunIsGoneAfterItsLife", "grant=cordum:wf:run:lock:r run_ttl rest ok run_ttl rest",
     "cordum:wf:run:lock:r is still held"},
    // The first time the run was cut off.
    {"TheLockOfAJobIsGoneAtRest", "grant job_ttl unrest ok times=0 rest times=1",
     "a: all has been quiet for longer than a lock lives, and cordum:scheduler:job:a is still held"},
    {"ThePeriodicLoopsKeepTheirLocks", "grant=cordum:reconciler:default +1h rest"},
    {"ALockIsGoneSoonAfterItsHolderHasAskedForThat",
     "grant release +9s gone=deleted ok grant release +60s gone=expired",
     "a: its holder asked for the release of cordum:scheduler:job:a"},
    // A commit goes on about the job.
    {"ACallThatSaysMoreOfTheJobAsksForNoRelease", "grant commit +60s gone=deleted"},
    {"AReplicaWithoutRepliesCannotReleaseIt",
     "grant release +30s refused +5s gone=deleted ok grant release +30s refused +15s gone=deleted",
     "its holder asked for the release of cordum:scheduler:job:a"},
    {"WhileRedisRefusesItNoReplicaCanReleaseIt",
     "grant fault=redis.errors release +50s heal=redis.errors +9s gone=expired"},
    {"AReplicaThatDiesMeanwhileLeavesItToExpire", "grant release down +60s gone=expired"},
    // A replica whose reply to a request for the lock was lost releases what it may not have; another one holds it.
    {"OnlyTheHolderCanReleaseIt", "others release +60s gone=expired"},
    {"NorDoesWhoeverWantsToBeRidOfOneThatIsGoneAskForAFormerOne", "grant gone release back +60s gone=expired"},
    {"AReplicaWithoutAReplyThatItHoldsALockReleasesIt",
     "ask grant replied +20s gone=expired ok ask grant unreplied +20s gone=expired", "had no reply that it holds it"},
};
using LocksTold = Told<NothingLeaks>;
TEST_P(LocksTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LocksTold, ::testing::ValuesIn(kLocks), title_of);

TEST_F(NothingLeaks, NoHandlerIsLeftAtRest) {
    model().at_rest(keys, false, 1);
    EXPECT_THAT(found, IsEmpty());
    model().at_rest(keys, true, 1);
    EXPECT_THAT(found, ElementsAre(HasSubstr("1 handlers are still at work")));
    set_text("job:meta:squatted", "somebody else's", {});
    model().at_rest(keys, true, 1);
    EXPECT_EQ(found.size(), 1U) << "what is no record keeps the message about its job";
    model().at_rest(keys, true, 2);
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(NothingLeaks, NothingIsOwedOnceAllWasQuiet) {
    observe(EventKind::redis, "", {.key = "cordum:reconciler:default"}, When::answered);
    keys.zset_set(at<SortedSet>("lockstep:dead_letter:outbox"), "a", 1);
    now += 2 * tunables.reconciler_interval - 10s;
    rest();
    EXPECT_THAT(found, IsEmpty());
    now += 1s;
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("something stands in lockstep:dead_letter:outbox")));
    keys.remove(*keys.find("lockstep:dead_letter:outbox"));
    found.clear();
    keys.zset_set(at<SortedSet>("lockstep:output:scan_pending"), "a", 1);
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("something stands in lockstep:output:scan_pending")));
    set_text(std::string(kSettingsKey), R"({"data": {"scheduler": {"output_policy_enabled": false}}})");
    now += 10min;
    rest();
    EXPECT_THAT(found, SizeIs(1)) << "they are made once outputs are checked again";
}

TEST_F(NothingLeaks, WithTheMessageThatIsSettledItIsReleasedAsWellAndWithItsLifeItIsAskedForOnceMore) {
    const std::int64_t life = engine::to_millis(tunables.job_lock_ttl);
    for (const std::string& number : {std::to_string(life), std::string("17")}) {
        EXPECT_THAT(found, IsEmpty());
        grant(kLockOfA, engine::to_millis(now - Time{}) + life);
        call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", number});
        now += 60s;
        gone(Removal::deleted);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("its holder asked for the release of cordum:scheduler:job:a")));
}

// A rollback's lock has an end of its own.
TEST_F(NothingLeaks, AnotherKindOfLockIsLeftToExpire) {
    grant(kSagaLock);
    call({"EVALSHA", "sha", "1", kSagaLock, "token"}, kSagaLock);
    now += 60s;
    gone(Removal::expired, kSagaLock);
    EXPECT_THAT(found, IsEmpty());
}

/// A replica that is asked to stop, with a message of a job in flight and its lock.
struct StoppingReplica : NothingLeaks {
    StoppingReplica() {
        announce();
        now += 1min;
        message(EventKind::deliver, When::applied);
        call({"token"});
        grant(kLockOfA);
        reply(EventOutcome::applied, kLockOfA);
        now += 1s;
        define({
            {"announce", [this](auto&) { announce(); }},
            {"deliver", [this](auto&) { message(EventKind::deliver, When::applied); }},
            {"stop", [this](auto&) { stop(); }},
            {"requeue", [this](auto&) { requeue(); }},
            {"release", [this](auto&) { release(); }},
            {"killed", [this](auto&) { befall(EventKind::fault, by); }},
            {"cut_off",
             [this](auto&) {
                 observe(EventKind::connection_broken, "", {.peer = Topology::kNats});
                 now += 1s;
             }},
            {"broken", [this](auto&) { befall(EventKind::connection_broken, by); }},
        });
    }
    void announce() { observe(EventKind::core_publish, "", {.subject = "sys.handshake"}, When::before); }
    void message(EventKind kind, When when) {
        observe(kind, "a",
                {.subject = "sys.job.submit", .name = kSchedulersSubmissions, .stream = "CORDUM_SYS", .sequence = 7},
                when);
    }
    void stop() {
        fault("stop");
        now += 1s;
    }
    void requeue() { message(EventKind::nak, When::before); }
    void release() { gone(Removal::deleted); }
};

constexpr Story kStopping[] = {
    // By then the number may be another message's.
    {"WhatWasDeliveredBeforeAPowerCutNeedsNoAnswer", "fault=nats.power_cut@nats +1s deliver cut_off stop release down"},
    {"NorDoesWhatAnotherServerDelivered", "fault=nats.restart@nats +1s deliver cut_off stop release down"},
    {"WhatTheSameServerDeliveredDoes", "cut_off stop release down", "has not answered message 7"},
    {"ItAnswersWhatItHasInFlight", "stop release down times=1",
     "a: it has stopped as it was asked to, and has not answered message 7, which it was delivered"},
    {"ItAnswersEachDeliveryOfAMessage", "deliver stop release requeue down", "has not answered message 7"},
    {"ItReleasesItsLocks", "stop heal=stop requeue down",
     "a: it has stopped as it was asked to, and has not released cordum:scheduler:job:a"},
    {"OneThatHasDoneBothIsRight", "stop requeue release down"},
    {"OneThatIsKilledOrFrozenMeanwhileNeedNot",
     "up +1min announce deliver stop killed down up +1min announce deliver stop freeze down up +1min announce deliver "
     "stop broken down"},
    {"OneThatHasNotStartedYetNeedNot", "fault=crash down deliver stop down"},
    {"WhatAFormerLifetimeHeldIsNotItsOwn", "fault=crash down up announce +1s stop down"},
    {"ARedisThatDoesNotReplyKeepsTheLock", "stop requeue silence down"},
};
using StoppingTold = Told<StoppingReplica>;
TEST_P(StoppingTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, StoppingTold, ::testing::ValuesIn(kStopping), title_of);

}  // namespace
}  // namespace lockstep::sim
