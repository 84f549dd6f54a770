#include "sim/oracles/nothing_leaks.h"

#include <gmock/gmock.h>

#include <chrono>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSagaLock = "saga:trip:lock";
constexpr const char* kTickLock = "cordum:reconciler:default";
constexpr std::int64_t kSomeTime = 1'000'000'000'000'000;

class NothingLeaksTest : public ::testing::Test {
protected:
    void grant(EventKind kind, const char* key, std::int64_t expires_at) {
        fakes::Event event = testing::event_of(kind, {});
        event.key = key;
        event.name = "token";
        event.number = expires_at;
        judge.tell(oracle, event, now);
        keys.set_string(key, "token", expires_at);
    }
    /// A job's lock, and its way: taken, asked to be released, and gone.
    void job_lock(EventKind kind, const char* token = "token") {
        fakes::Event event = testing::event_of(kind, "a");
        event.key = "cordum:scheduler:job:a";
        event.name = token;
        event.node = kReplica;
        judge.tell(oracle, event, now);
    }
    /// A call for the lock with these words.
    void call(std::initializer_list<std::string_view> words) {
        const std::string command = resp(words);
        fakes::Event event = testing::event_of(EventKind::redis, "a", fakes::When::before);
        event.key = "cordum:scheduler:job:a";
        event.node = kReplica;
        event.payload = command;
        judge.tell(oracle, event, now);
    }
    void give_back(const char* token = "token") { call({"EVALSHA", "sha", "1", "cordum:scheduler:job:a", token}); }
    static std::string resp(std::initializer_list<std::string_view> words) {
        std::string command = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string_view word : words)
            command += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
        return command;
    }
    void fault(std::string_view phase) {
        fakes::Event event = testing::event_of(EventKind::fault, {});
        event.name = "redis.errors";
        event.from = phase;
        judge.tell(oracle, event, now);
    }
    void rest_after(engine::Duration wait) {
        now += wait;
        judge.tell(oracle, testing::event_of(EventKind::timer, {}), now);
        oracle.at_rest({.redis = keys, .quiet = true});
    }

    static constexpr fakes::NodeId kReplica{5};
    Time now{10s};
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    NothingLeaks oracle{judge, tunables};
    fakes::redis::Keyspace keys;
};

TEST_F(NothingLeaksTest, NoLockOfAnyKindIsGrantedForEver) {
    for (const char* key : {kSagaLock, kTickLock, "cordum:scheduler:snapshot:writer"}) {
        judge.found.clear();
        grant(EventKind::lock_acquired, key, fakes::redis::kNever);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is granted for ever"))) << key;
    }
    judge.found.clear();
    rest_after(0s);
    EXPECT_EQ(judge.found.size(), 3U) << "and at rest it is still there";
}

TEST_F(NothingLeaksTest, NorMadeToLastForEverLater) {
    grant(EventKind::lock_acquired, kTickLock, kSomeTime);
    EXPECT_THAT(judge.found, IsEmpty());
    grant(EventKind::lock_renewed, kTickLock, fakes::redis::kNever);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is granted for ever")));
}

TEST_F(NothingLeaksTest, ARollbacksLockIsGoneAfterItsLongestTime) {
    grant(EventKind::lock_acquired, kSagaLock, kSomeTime);
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(judge.found, IsEmpty()) << "its holder may have died with it";
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("saga:trip:lock was taken")));
}

TEST_F(NothingLeaksTest, TheLockOfARunIsGoneAfterItsLife) {
    grant(EventKind::lock_acquired, "cordum:wf:run:lock:r", kSomeTime);
    rest_after(tunables.run_lock_ttl);
    EXPECT_THAT(judge.found, IsEmpty()) << "its holder may have died with it";
    rest_after(tunables.run_lock_ttl);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("cordum:wf:run:lock:r is still held")));
}

TEST_F(NothingLeaksTest, WhoTicksKeepsItsLock) {
    grant(EventKind::lock_acquired, kTickLock, kSomeTime);
    rest_after(1h);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NothingLeaksTest, ALockThatWasGivenBackIsGoneSoon) {
    job_lock(EventKind::lock_acquired);
    give_back();
    now += 9s;
    job_lock(EventKind::lock_released);
    EXPECT_THAT(judge.found, IsEmpty());
    job_lock(EventKind::lock_acquired);
    give_back();
    now += 60s;
    job_lock(EventKind::lock_expired);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its holder gave cordum:scheduler:job:a back, or was never told")));
}

TEST_F(NothingLeaksTest, WithTheMessageThatIsSettledItIsGivenBackAsWellAndWithItsLifeItIsAskedForOnceMore) {
    const std::string life = std::to_string(engine::to_millis(tunables.job_lock_ttl));
    for (const std::string_view number : {std::string_view(life), std::string_view("17")}) {
        EXPECT_THAT(judge.found, IsEmpty());
        oracle.command(kReplica, {}, 5000);
        oracle.string_set(kReplica, "cordum:scheduler:job:a", nullptr, "token", fakes::redis::kNever,
                          5000 + engine::to_millis(tunables.job_lock_ttl));
        job_lock(EventKind::lock_acquired);
        call({"EVALSHA", "sha", "2", "cordum:scheduler:job:a", "job:meta:a", "token", number});
        now += 60s;
        job_lock(EventKind::lock_released);
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its holder gave cordum:scheduler:job:a back")));
}

// A commit goes on about the job.
TEST_F(NothingLeaksTest, WhoSaysMoreOfTheJobDoesNotGiveItBack) {
    job_lock(EventKind::lock_acquired);
    call({"EVALSHA", "sha", "2", "cordum:scheduler:job:a", "job:meta:a", "token", "token", "to", "RUNNING"});
    now += 60s;
    job_lock(EventKind::lock_released);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NothingLeaksTest, WhoGetsNoAnswersCannotLetGo) {
    for (const auto since_the_last : {5s, 15s}) {
        job_lock(EventKind::lock_acquired);
        give_back();
        now += 30s;
        fakes::Event unanswered = testing::event_of(EventKind::redis, "", fakes::When::answered);
        unanswered.node = kReplica;
        unanswered.outcome = fakes::EventOutcome::not_applied;
        judge.tell(oracle, unanswered, now);
        now += since_the_last;
        job_lock(EventKind::lock_released);
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its holder gave cordum:scheduler:job:a back")));
}

TEST_F(NothingLeaksTest, WhileRedisRefusesItNobodyCanGiveItBack) {
    job_lock(EventKind::lock_acquired);
    fault("begin");
    give_back();
    now += 50s;
    fault("end");
    now += 9s;
    job_lock(EventKind::lock_expired);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NothingLeaksTest, AReplicaThatDiesMeanwhileLeavesItToExpire) {
    job_lock(EventKind::lock_acquired);
    give_back();
    fakes::Event down = testing::event_of(EventKind::node_down, {});
    down.node = kReplica;
    judge.tell(oracle, down, now);
    now += 60s;
    job_lock(EventKind::lock_expired);
    EXPECT_THAT(judge.found, IsEmpty());
}

// A rollback's lock has an end of its own.
TEST_F(NothingLeaksTest, AnotherKindOfLockIsLeftToExpire) {
    grant(EventKind::lock_acquired, kSagaLock, kSomeTime);
    fakes::Event event = testing::event_of(EventKind::redis, {}, fakes::When::before);
    const std::string command = resp({"EVALSHA", "sha", "1", kSagaLock, "token"});
    event.key = kSagaLock;
    event.payload = command;
    judge.tell(oracle, event, now);
    now += 60s;
    grant(EventKind::lock_expired, kSagaLock, kSomeTime);
    EXPECT_THAT(judge.found, IsEmpty());
}

// Whose answer to a request for the lock got lost gives back what it may not have; another holds it.
TEST_F(NothingLeaksTest, OnlyTheHolderCanGiveItBack) {
    job_lock(EventKind::lock_acquired, "other");
    give_back("token");
    now += 60s;
    job_lock(EventKind::lock_expired, "other");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(NothingLeaksTest, WhoIsNotToldThatItHoldsALockGivesItBack) {
    const auto ask = [this](fakes::When when, fakes::EventOutcome outcome) {
        fakes::Event event = testing::event_of(EventKind::redis, "a", when);
        event.key = "cordum:scheduler:job:a";
        event.node = kReplica;
        event.payload = "$5\r\ntoken\r\n";
        event.outcome = outcome;
        judge.tell(oracle, event, now);
    };
    for (const auto outcome : {fakes::EventOutcome::applied, fakes::EventOutcome::unknown}) {
        EXPECT_THAT(judge.found, IsEmpty());
        ask(fakes::When::before, fakes::EventOutcome::none);
        job_lock(EventKind::lock_acquired);
        ask(fakes::When::answered, outcome);
        now += 20s;
        job_lock(EventKind::lock_expired);
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("was never told that it holds it")));
}

/// A replica that is asked to end, with a job's message and its lock.
class EndingReplica : public NothingLeaksTest {
protected:
    EndingReplica() {
        message(EventKind::core_publish, "sys.handshake", When::before);
        now += 1min;
        message(EventKind::deliver, "sys.job.submit", When::applied);
        take(When::before);
        job_lock(EventKind::lock_acquired);
        take(When::answered);
        now += 1s;
    }
    void message(EventKind kind, std::string_view subject, fakes::When when) {
        fakes::Event event = testing::event_of(kind, "a", when);
        event.node = kReplica;
        event.subject = subject;
        event.sequence = 7;
        event.name = "dur_cordum-scheduler__sys_job_submit";
        judge.tell(oracle, event, now);
    }
    void take(fakes::When when) {
        fakes::Event event = testing::event_of(EventKind::redis, "a", when);
        event.node = kReplica;
        event.key = "cordum:scheduler:job:a";
        event.payload = when == fakes::When::before ? "$5\r\ntoken\r\n" : ":1";
        judge.tell(oracle, event, now);
    }
    void about_it(EventKind kind, std::string_view fault = {}, std::string_view phase = "begin") {
        fakes::Event event = testing::event_of(kind, {});
        event.node = kReplica;
        event.name = fault;
        event.from = phase;
        judge.tell(oracle, event, now);
    }
    void stop() {
        about_it(EventKind::fault, "stop");
        now += 1s;
    }
    void hand_back() { message(EventKind::nak, "sys.job.submit", When::before); }

    using When = fakes::When;
};

// By then the number may be another message's.
TEST_F(EndingReplica, WhatItWasGivenBeforeAPowerCutItNeedNotHandBack) {
    about_it(EventKind::fault, "nats.power_cut");
    stop();
    job_lock(EventKind::lock_released);
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(EndingReplica, ItHandsBackWhatItHasInHand) {
    stop();
    job_lock(EventKind::lock_released);
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has not handed back message 7")));
}

TEST_F(EndingReplica, ItReleasesItsLocks) {
    stop();
    about_it(EventKind::fault, "stop", "end");
    hand_back();
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has not released cordum:scheduler:job:a")));
}

TEST_F(EndingReplica, WhoHasDoneBothIsFree) {
    stop();
    hand_back();
    job_lock(EventKind::lock_released);
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(EndingReplica, WhoIsKilledOrFrozenMeanwhileOwesNothing) {
    stop();
    about_it(EventKind::fault, "crash");
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(EndingReplica, WhatAFormerLifeHeldIsNotItsOwn) {
    about_it(EventKind::fault, "crash");
    about_it(EventKind::node_down);
    about_it(EventKind::node_up);
    message(EventKind::core_publish, "sys.handshake", When::before);
    now += 1s;
    stop();
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(EndingReplica, ARedisThatDoesNotAnswerKeepsTheLock) {
    stop();
    hand_back();
    fakes::Event unanswered = testing::event_of(EventKind::redis, "b", When::answered);
    unanswered.node = kReplica;
    unanswered.outcome = fakes::EventOutcome::unknown;
    judge.tell(oracle, unanswered, now);
    about_it(EventKind::node_down);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
