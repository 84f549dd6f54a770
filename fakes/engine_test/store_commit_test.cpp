#include <nlohmann/json.hpp>

#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using StoreCommit = StoreTest;
using enum JobState;
using Json = nlohmann::json;

engine::DeadLetter letter_of(const std::string& job, const std::string& reason = "why") {
    return {job, "job.default", cap::JOB_STATUS_FAILED, reason, "max_scheduling_retries"};
}

// STATE-11, STATE-12, STATE-13
TEST_F(StoreCommit, HashHistoryIndexesAndTenantSetAgreeAtEachStep) {
    const auto lease = taken_up("j1");
    Texts expected{"PENDING"};
    for (const JobState state : {scheduled, dispatched, running, succeeded}) {
        EXPECT_EQ(*run({"SCARD", "job:tenant:active:acme"}).integer(), 1);
        const Committed committed = walk(*lease, {state});
        EXPECT_EQ(committed.kind, Committed::Kind::ok);
        EXPECT_EQ(committed.state, state);
        expected.emplace_back(to_string(state));
        EXPECT_EQ(history("j1"), expected);
        EXPECT_EQ(listed("j1"), Texts{std::string(to_string(state))});
        EXPECT_EQ(field("j1", "state"), to_string(state));
        EXPECT_EQ(text({"GET", "job:state:j1"}), to_string(state));
        EXPECT_EQ(text({"ZSCORE", "job:recent", "j1"}), field("j1", "updated_at"));
    }
    EXPECT_EQ(*run({"SCARD", "job:tenant:active:acme"}).integer(), 0);
}

TEST_F(StoreCommit, AWalkHappensAtOneInstant) {
    const auto lease = taken_up("j1");
    walk(*lease, {scheduled, dispatched});
    const auto events = texts({"LRANGE", "job:events:j1", "1", "-1"});
    ASSERT_EQ(events.size(), 2u);
    const std::string at = field("j1", "updated_at");
    EXPECT_EQ(events, (Texts{at + "|SCHEDULED", at + "|DISPATCHED"}));
    EXPECT_EQ(text({"ZSCORE", "job:index:dispatched", "j1"}), at);
    EXPECT_EQ(listed("j1"), Texts{"DISPATCHED"});
}

// STATE-02 to STATE-06: the scripts decide as the table does, and a refusal writes nothing.
TEST_F(StoreCommit, TheWholeTableHolds) {
    for (int from = -1; from < engine::kJobStateCount; ++from) {
        const auto source = from < 0 ? std::nullopt : std::optional(static_cast<JobState>(from));
        for (int to = 0; to < engine::kJobStateCount; ++to) {
            const auto target = static_cast<JobState>(to);
            run({"FLUSHALL"});
            const auto lease = taken_up("j1");
            force_state("j1", source ? to_string(*source) : std::string_view{});
            const auto before = content();
            const Committed committed = walk(*lease, {target});
            const std::string name =
                (source ? std::string(to_string(*source)) : "absent") + " -> " + std::string(to_string(target));
            if (transition_allowed(source, target)) {
                EXPECT_EQ(committed.kind, Committed::Kind::ok) << name;
                EXPECT_EQ(listed("j1"), Texts{std::string(to_string(target))}) << name;
            } else {
                EXPECT_EQ(committed.kind, Committed::Kind::refused) << name;
                EXPECT_EQ(committed.state, source) << name;
                EXPECT_EQ(content(), before) << name;
            }
        }
    }
}

// H-15: the fence. A handler that was paused past its lock writes nothing, whatever it wants to write.
TEST_F(StoreCommit, WithoutTheLockNothingIsWritten) {
    const auto lease = taken_up("j1");
    for (const char* holder : {"somebody else", ""}) {
        if (*holder != '\0')
            run({"SET", "cordum:scheduler:job:j1", holder});
        else
            run({"DEL", "cordum:scheduler:job:j1"});
        const auto before = content();
        const auto paused = lease_for("j1");
        paused->asking();
        paused->begin(loop.monotonic());
        Commit everything;
        everything.walk = {scheduled, dispatched};
        everything.add_attempts = 1;
        everything.begin_dispatch = true;
        everything.release_lock = true;
        everything.dead_letter = letter_of("j1");
        everything.result_ptr = "redis://res:j1";
        everything.worker_id = engine::WorkerId("w1");
        everything.decision_json = "{}";
        everything.fields = {{"a", "b"}};
        const Committed committed = commit(*paused, everything);
        EXPECT_EQ(committed.kind, Committed::Kind::lost);
        EXPECT_EQ(content(), before);
        EXPECT_TRUE(paused->lost());
    }
}

TEST_F(StoreCommit, WithTheFenceSwitchedOffTheTokenIsNotCompared) {
    const auto lease = taken_up("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    mechanisms.switch_off(engine::Mechanism::lock_fencing);
    EXPECT_EQ(walk(*lease, {scheduled}).kind, Committed::Kind::ok);
    EXPECT_EQ(hash("job:meta:j1").count("@unfenced"), 0U) << "an option is no field";
}

TEST_F(StoreCommit, ADispatchNumberThatMovedOnIsRefused) {
    const auto lease = taken_up("j1");
    Commit begin;
    begin.walk = {scheduled, dispatched};
    begin.begin_dispatch = true;
    begin.expected_dispatch = engine::DispatchNumber(0);
    EXPECT_EQ(commit(*lease, begin).dispatch, engine::DispatchNumber(1));
    Commit stale;
    stale.walk = {running};
    stale.expected_dispatch = engine::DispatchNumber(0);
    const auto before = content();
    const Committed refused = commit(*lease, stale);
    EXPECT_EQ(refused.kind, Committed::Kind::refused);
    EXPECT_EQ(refused.dispatch, engine::DispatchNumber(1));
    EXPECT_EQ(content(), before);
}

// C-41, DISP-06
TEST_F(StoreCommit, ADispatchIsNumberedAndCountedApartFromTheTries) {
    const auto lease = taken_up("j1");
    run({"HSET", "job:meta:j1", "ls_published", "1"});
    Commit begin;
    begin.walk = {scheduled, dispatched};
    begin.begin_dispatch = true;
    begin.add_attempts = 1;
    const Committed first = commit(*lease, begin);
    EXPECT_EQ(first.dispatch, engine::DispatchNumber(1));
    EXPECT_EQ(std::to_string(engine::to_unix_micros(first.at)), field("j1", "updated_at"));
    EXPECT_EQ(first.attempts, 1);
    EXPECT_EQ(field("j1", "ls_published"), "");
    EXPECT_EQ(walk(*lease, {scheduled}).attempts, 1) << "taking it back is no try";
    const Committed second = commit(*lease, begin);
    EXPECT_EQ(second.dispatch, engine::DispatchNumber(2));
    EXPECT_EQ(second.attempts, 2);
    EXPECT_EQ(field("j1", "ls_dispatches"), "2");
    EXPECT_EQ(field("j1", "attempts"), "2");
}

TEST_F(StoreCommit, ATryCountsWithoutAChangeOfState) {
    const auto lease = taken_up("j1");
    const auto updated = field("j1", "updated_at");
    Commit count;
    count.add_attempts = 1;
    count.release_lock = true;
    EXPECT_EQ(commit(*lease, count).attempts, 1);
    EXPECT_EQ(field("j1", "attempts"), "1");
    EXPECT_EQ(field("j1", "updated_at"), updated);
    EXPECT_EQ(history("j1"), Texts{"PENDING"});
}

TEST_F(StoreCommit, TheLockGoesWithTheStepThatReleasesIt) {
    const auto lease = taken_up("j1");
    Commit last;
    last.walk = {failed};
    last.release_lock = true;
    commit(*lease, last);
    EXPECT_FALSE(exists("cordum:scheduler:job:j1"));
    EXPECT_FALSE(lease->usable());
    EXPECT_FALSE(lease->lost());
    EXPECT_TRUE(book.held().empty());
}

TEST_F(StoreCommit, ARefusedStepReleasesTheLockAllTheSame) {
    const auto lease = taken_up("j1");
    EXPECT_TRUE(loop.wait(store->cancel(engine::JobId("j1"))).applied());
    Commit last;
    last.walk = {running};
    last.release_lock = true;
    const Committed refused = commit(*lease, last);
    EXPECT_EQ(refused.kind, Committed::Kind::refused);
    EXPECT_EQ(refused.state, cancelled);
    EXPECT_FALSE(exists("cordum:scheduler:job:j1"));
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "CANCELLED"}));
}

// A commit whose answer was lost is applied late, when the lock is somebody else's: the token still fences it.
TEST_F(StoreCommit, ACommitThatArrivesAfterTheReleaseIsFenced) {
    const auto lease = taken_up("j1");
    loop.wait(lease->release());
    const auto next = taken_up("j1", "next");
    lease->asking();
    lease->begin(loop.monotonic());
    EXPECT_EQ(walk(*lease, {scheduled, dispatched}).kind, Committed::Kind::lost);
    EXPECT_EQ(field("j1", "state"), "PENDING");
    EXPECT_EQ(walk(*next, {scheduled}).kind, Committed::Kind::ok);
}

TEST_F(StoreCommit, ADeadLetterIsWrittenWithTheStateThatItExplains) {
    const auto lease = taken_up("j1");
    Commit end;
    end.walk = {failed};
    end.add_attempts = 3;
    end.dead_letter = letter_of("j1", "said \"no\" 100%");
    commit(*lease, end);
    const Json entry = Json::parse(text({"GET", "dlq:entry:j1"}));
    EXPECT_EQ(entry.at("job_id"), "j1");
    EXPECT_EQ(entry.at("topic"), "job.default");
    EXPECT_EQ(entry.at("status"), "JOB_STATUS_FAILED");
    EXPECT_EQ(entry.at("reason"), "said \"no\" 100%");
    EXPECT_EQ(entry.at("reason_code"), "max_scheduling_retries");
    EXPECT_EQ(entry.at("last_state"), "PENDING");
    EXPECT_EQ(entry.at("attempts"), 3);
    EXPECT_EQ(entry.at("created_at"), "2026-01-01T00:00:00.000000Z");
    EXPECT_GT(ttl("dlq:entry:j1"), 719h);
    EXPECT_LE(ttl("dlq:entry:j1"), 720h);
    const std::string updated = field("j1", "updated_at");
    EXPECT_EQ(text({"ZSCORE", "dlq:index", "j1"}), updated.substr(0, updated.size() - 6)) << "whole seconds";
    EXPECT_EQ(text({"ZSCORE", "lockstep:dead_letter:outbox", "j1"}), updated);
}

// C-36: the first cause stays, but it is told again.
TEST_F(StoreCommit, ALaterDeadLetterDoesNotOverwriteTheFirst) {
    run({"SET", "dlq:entry:j1", "first"});
    const auto lease = taken_up("j1");
    Commit end;
    end.walk = {failed};
    end.dead_letter = letter_of("j1");
    commit(*lease, end);
    EXPECT_EQ(text({"GET", "dlq:entry:j1"}), "first");
    EXPECT_FALSE(exists("dlq:index"));
    EXPECT_EQ(*run({"ZCARD", "lockstep:dead_letter:outbox"}).integer(), 1);
}

TEST_F(StoreCommit, OnlyTheNewestDeadLettersAreKept) {
    tunables.dlq_max_size = 3;
    for (int i = 0; i < 3; ++i) {
        const std::string old = "old" + std::to_string(i);
        run({"ZADD", "dlq:index", std::to_string(i), old});
        run({"SET", "dlq:entry:" + old, "{}"});
    }
    const auto lease = taken_up("j1");
    Commit end;
    end.walk = {failed};
    end.dead_letter = letter_of("j1");
    commit(*lease, end);
    EXPECT_EQ(texts({"ZRANGE", "dlq:index", "0", "-1"}), (Texts{"old1", "old2", "j1"}));
    EXPECT_FALSE(exists("dlq:entry:old0"));
    EXPECT_TRUE(exists("dlq:entry:old1"));
}

// OUT-01, STATE-15
TEST_F(StoreCommit, AResultPointerIsKeptInBothPlacesForTheMetadatasTime) {
    tunables.job_meta_ttl = 3600s;
    const auto lease = taken_up("j1");
    walk(*lease, {scheduled, dispatched, running});
    Commit end;
    end.walk = {succeeded};
    end.result_ptr = "redis://res:j1";
    end.worker_id = engine::WorkerId("w1");
    commit(*lease, end);
    EXPECT_EQ(field("j1", "result_ptr"), "redis://res:j1");
    EXPECT_EQ(text({"GET", "job:result_ptr:j1"}), "redis://res:j1");
    for (const char* key : {"job:result_ptr:j1", "job:meta:j1", "job:state:j1", "worker:jobs:w1"}) {
        EXPECT_LE(ttl(key), 3600s) << key;
        EXPECT_GT(ttl(key), 3590s) << key;
    }
    EXPECT_EQ(field("j1", "worker_id"), "w1");
    EXPECT_EQ(text({"ZSCORE", "worker:jobs:w1", "j1"}), field("j1", "updated_at"));
}

TEST_F(StoreCommit, ListsByWorkerAndOfRecentJobsKeepTheNewestThousand) {
    RedisCommand by_worker{"ZADD", "worker:jobs:w1"};
    RedisCommand recent{"ZADD", "job:recent"};
    for (int i = 0; i < 1000; ++i) {
        for (RedisCommand* command : {&by_worker, &recent}) {
            command->push_back(std::to_string(i));
            command->push_back("old" + std::to_string(i));
        }
    }
    run(by_worker);
    run(recent);
    const auto lease = taken_up("j1");
    Commit step;
    step.worker_id = engine::WorkerId("w1");
    commit(*lease, step);
    for (const char* key : {"worker:jobs:w1", "job:recent"}) {
        EXPECT_EQ(*run({"ZCARD", key}).integer(), 1000) << key;
        EXPECT_EQ(texts({"ZRANGE", key, "0", "0"}), Texts{"old1"}) << key;
        EXPECT_EQ(texts({"ZRANGE", key, "-1", "-1"}), Texts{"j1"}) << key;
    }
}

// What somebody has put under a name of ours, with another type, must not hold up the job that comes by.
TEST_F(StoreCommit, ListsForWhoeverLooksAreLeftOutWhereTheirKeysHoldAnotherType) {
    store->news().report_to(log, metrics);
    const std::vector<std::string> strangers{"trace:t1",   "worker:jobs:w1", "lockstep:output:scan_pending",
                                             "job:recent", "job:events:j1",  "job:tenant:active:acme"};
    for (const std::string& key : strangers) run({"SET", key, "a stranger's"});
    const auto lease = lease_for("j1");
    take_up(*lease, request_for("j1"), "t1");
    walk(*lease, {scheduled, dispatched, running});
    Commit end;
    end.walk = {succeeded};
    end.worker_id = engine::WorkerId("w1");
    end.result_ptr = "redis://res:j1";
    end.begin_scan = engine::ScanMark{"{}", 45s};
    EXPECT_EQ(commit(*lease, end).kind, Committed::Kind::ok);
    EXPECT_EQ(field("j1", "state"), "SUCCEEDED");
    EXPECT_EQ(listed("j1"), Texts{"SUCCEEDED"});
    EXPECT_EQ(field("j1", "worker_id"), "w1");
    EXPECT_EQ(field("j1", "ls_scan_pending"), "{}");
    for (const std::string& key : strangers) {
        EXPECT_EQ(text({"GET", key}), "a stranger's") << key;
        EXPECT_EQ(*run({"PTTL", key}).integer(), -1) << key;
        EXPECT_TRUE(log.told("key of another type: what belongs there is left out, the job goes on", "key", key))
            << key;
    }
    EXPECT_GE(metrics.value(engine::Metric::wrong_typed_keys), 6);
}

TEST_F(StoreCommit, AKeyOfAnotherTypeIsToldOfOnceAMinuteAndCountedEachTime) {
    store->news().report_to(log, metrics);
    run({"SET", "worker:jobs:w1", "a stranger's"});
    const auto lease = taken_up("j1");
    Commit step;
    step.worker_id = engine::WorkerId("w1");
    for (int i = 0; i < 3; ++i) commit(*lease, step);
    EXPECT_EQ(log.times_reached("wrong_typed_key"), 1);
    EXPECT_EQ(metrics.value(engine::Metric::wrong_typed_keys), 3);
    loop.run_for(1min);
    const auto another = taken_up("j2");
    commit(*another, step);
    EXPECT_EQ(log.times_reached("wrong_typed_key"), 2);
}

// SAFE-10
TEST_F(StoreCommit, DecisionsAreKeptInOrderWithTheServersTime) {
    const auto lease = taken_up("j1");
    for (const char* reason : {"first", "second"}) {
        Commit step;
        step.decision_json =
            std::string(R"({"approval_ref":"\"checked_at\":0","checked_at":0,"reason":")") + reason + "\"}";
        commit(*lease, step);
    }
    const auto records = texts({"LRANGE", "job:decisions:j1", "0", "-1"});
    ASSERT_EQ(records.size(), 2u);
    const Json first = Json::parse(records[0]);
    const Json second = Json::parse(records[1]);
    EXPECT_EQ(first.at("reason"), "first");
    EXPECT_EQ(second.at("reason"), "second");
    EXPECT_EQ(second.at("approval_ref"), "\"checked_at\":0");
    EXPECT_GT(first.at("checked_at").get<std::int64_t>(), 1'000'000'000'000'000);
    EXPECT_GE(second.at("checked_at"), first.at("checked_at"));
    EXPECT_EQ(field("j1", "safety_checked_at"), std::to_string(second.at("checked_at").get<std::int64_t>()));
    EXPECT_GT(ttl("job:decisions:j1"), 167h);
}

TEST_F(StoreCommit, FieldsAreSetAndAnEmptyValueDeletes) {
    const auto lease = taken_up("j1");
    Commit set;
    set.fields = {{"safety_reason", "x"}, {"ls_worker", "w1"}};
    commit(*lease, set);
    EXPECT_EQ(field("j1", "safety_reason"), "x");
    Commit clear;
    clear.fields = {{"safety_reason", ""}, {"never_there", ""}};
    commit(*lease, clear);
    EXPECT_FALSE(hash("job:meta:j1").contains("safety_reason"));
    EXPECT_EQ(field("j1", "ls_worker"), "w1");
}

// RECON-07
TEST_F(StoreCommit, AFinalStateForgetsTheDeadline) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(600'000);
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    walk(*lease, {scheduled});
    EXPECT_TRUE(exists("job:deadline"));
    walk(*lease, {failed});
    EXPECT_FALSE(exists("job:deadline"));
    EXPECT_FALSE(hash("job:meta:j1").contains("deadline_unix"));
}

TEST_F(StoreCommit, AJobWithoutATenantIsInTheDefaultOnesSet) {
    const auto lease = lease_for("j1");
    take_up(*lease, request_for("j1", ""));
    walk(*lease, {scheduled});
    EXPECT_EQ(texts({"KEYS", "job:tenant:*"}), Texts{"job:tenant:active:default"});
}

TEST_F(StoreCommit, AnEmptyStepOnlyReads) {
    const auto lease = taken_up("j1");
    const auto before = content();
    const Committed read = commit(*lease, {});
    EXPECT_EQ(read.kind, Committed::Kind::ok);
    EXPECT_EQ(read.state, pending);
    EXPECT_EQ(content(), before);
}

TEST_F(StoreCommit, ADeadlineMayCountFromAnEarlierInstant) {
    const auto lease = taken_up("j1");
    Commit limits;
    limits.deadline_ms = 60'000;
    limits.deadline_from = engine::WallTime{std::chrono::seconds{1'800'000'000}};
    EXPECT_EQ(commit(*lease, limits).kind, Committed::Kind::ok);
    EXPECT_EQ(field("j1", "deadline_unix"), "1800000060000000");
    EXPECT_EQ(text({"ZSCORE", "job:deadline", "j1"}), "1800000060000000");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
