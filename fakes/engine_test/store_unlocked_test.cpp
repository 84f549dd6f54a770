// What is done without a job's lock: locks themselves, cancellations, time-outs, the outbox.
#include <nlohmann/json.hpp>

#include "engine/store/keys.h"
#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using enum JobState;
using Json = nlohmann::json;

class StoreLocks : public StoreTest {
protected:
    std::int64_t call(const engine::RedisScript& script, std::string key, std::vector<std::string> arguments) {
        const auto reply =
            loop.wait(server->port().script(script, {std::move(key)}, std::move(arguments), clock.in(2s)));
        return reply.applied() ? reply.value().integer_or(-1) : -2;
    }
};

// LOCK-05
TEST_F(StoreLocks, AReleaseWithAnotherTokenIsRefused) {
    run({"SET", "lock", "holder"});
    EXPECT_EQ(call(scripts.release_lock, "lock", {"thief"}), 0);
    EXPECT_EQ(text({"GET", "lock"}), "holder");
    EXPECT_EQ(call(scripts.release_lock, "lock", {"holder"}), 1);
    EXPECT_FALSE(exists("lock"));
    EXPECT_EQ(call(scripts.release_lock, "lock", {"holder"}), 0);
}

// LOCK-06
TEST_F(StoreLocks, ARenewalCountsFromNow) {
    run({"SET", "lock", "holder", "PX", "200"});
    EXPECT_EQ(call(scripts.renew_lock, "lock", {"holder", "60000"}), 1);
    EXPECT_GT(ttl("lock"), 50s);
}

// LOCK-07
TEST_F(StoreLocks, ARenewalOfWhatIsNotHeldFails) {
    run({"SET", "lock", "holder", "PX", "60000"});
    EXPECT_EQ(call(scripts.renew_lock, "lock", {"thief", "90000"}), 0);
    EXPECT_EQ(call(scripts.renew_lock, "lock", {"", "90000"}), 0);
    EXPECT_EQ(call(scripts.renew_lock, "absent", {"holder", "90000"}), 0);
    EXPECT_EQ(call(scripts.renew_lock, "absent", {"", "90000"}), 0);
    EXPECT_EQ(call(scripts.renew_lock, "", {"holder", "90000"}), 0);
    EXPECT_LE(ttl("lock"), 60s);
}

// LOCK-04
TEST(LockTokens, NoTwoAreEqual) {
    engine::testing::SeededEntropy entropy;
    const std::string first = entropy.uuid();
    EXPECT_NE(first, entropy.uuid());
    EXPECT_EQ(first.size(), 36u);
    EXPECT_EQ(first[14], '4');
}

// C-28
TEST_F(StoreLocks, ATickLockIsKeptByItsHolderAndRefusedToOthers) {
    const auto tick = [this](const std::string& token) {
        return loop.wait(sweeps->tick_lock({"tick", engine::Token(token)}, 60s)).value();
    };
    EXPECT_TRUE(tick("a"));
    EXPECT_FALSE(tick("b"));
    run({"PEXPIRE", "tick", "1000"});
    EXPECT_TRUE(tick("a"));
    EXPECT_GT(ttl("tick"), 50s);
    run({"DEL", "tick"});
    EXPECT_TRUE(tick("b"));
    EXPECT_FALSE(tick("a"));
}

class StoreSnapshots : public StoreTest {
protected:
    RedisValue take(const std::string& token, const std::string& ttl = "10000") {
        return call(scripts.take_snapshot_lock, {"lock"}, {token, ttl});
    }
    std::int64_t write(const std::string& token, const std::string& json) {
        return call(scripts.write_snapshot, {"snapshot", "lock"}, {token, json, "86400000"}).integer_or(-1);
    }

private:
    RedisValue call(const engine::RedisScript& script, Texts keys, Texts arguments) {
        auto reply = loop.wait(server->port().script(script, std::move(keys), std::move(arguments), clock.in(2s)));
        return reply.applied() ? std::move(reply.value()) : RedisValue();
    }
};

// REG-08
TEST_F(StoreSnapshots, OneReplicaHasTheWritersLockUntilItHasWritten) {
    const RedisValue granted = take("a");
    EXPECT_GT(granted.at(0).integer_or(0), 1'700'000'000) << "the seconds of Redis' clock";
    EXPECT_LT(granted.at(1).integer_or(1'000'000), 1'000'000);
    EXPECT_TRUE(take("b").is_nil());
    EXPECT_EQ(write("b", "from b"), 0);
    EXPECT_FALSE(exists("snapshot"));
    EXPECT_EQ(write("a", "from a"), 1);
    EXPECT_EQ(text({"GET", "snapshot"}), "from a");
    EXPECT_GT(ttl("snapshot"), 23h);
    EXPECT_FALSE(exists("lock"));
    EXPECT_EQ(write("a", "late"), 0) << "one grant, one write";
    EXPECT_NE(take("b").array(), nullptr);
}

TEST_F(StoreSnapshots, AGrantThatIsAskedForTwiceDoesNotLastLonger) {
    take("a", "60000");
    EXPECT_NE(take("a", "90000").array(), nullptr);
    EXPECT_LE(ttl("lock"), 60s);
}

class StoreCancel : public StoreTest {
protected:
    engine::Cancelled cancel(const std::string& job) { return loop.wait(store->cancel(engine::JobId(job))).value(); }
};

// CANC-05
TEST_F(StoreCancel, AWaitingJobIsCancelledWithAllThatBelongsToIt) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(600'000);
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    run({"HSET", "job:meta:j1", "attempts", "4"});
    const auto answer = cancel("j1");
    EXPECT_EQ(answer.before, pending);
    EXPECT_EQ(answer.now, cancelled);
    EXPECT_EQ(history("j1"), (Texts{"PENDING", "CANCELLED"}));
    EXPECT_EQ(listed("j1"), Texts{"CANCELLED"});
    EXPECT_EQ(field("j1", "attempts"), "4");
    EXPECT_FALSE(exists("job:tenant:active:acme"));
    EXPECT_FALSE(exists("job:deadline"));
}

// CANC-04
TEST_F(StoreCancel, AFinalStateIsTheAnswerAndStays) {
    for (const char* state : {"SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "DENIED", "OUTPUT_QUARANTINED"}) {
        run({"FLUSHALL"});
        run({"HSET", "job:meta:j1", "state", state});
        const auto before = content();
        EXPECT_EQ(cancel("j1").now, engine::parse_job_state(state));
        EXPECT_EQ(content(), before) << state;
    }
}

TEST_F(StoreCancel, AnyOtherStateIsEnded) {
    for (const char* state : {"PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING"}) {
        run({"FLUSHALL"});
        run({"HSET", "job:meta:j1", "state", state});
        EXPECT_EQ(cancel("j1").now, cancelled) << state;
        EXPECT_EQ(field("j1", "state"), "CANCELLED") << state;
    }
}

TEST_F(StoreCancel, AnUnknownJobIsSaidToBeUnknown) {
    const auto answer = cancel("nobody");
    EXPECT_EQ(answer.before, std::nullopt);
    EXPECT_EQ(answer.now, std::nullopt);
    EXPECT_TRUE(content().empty());
}

// H-17
TEST_F(StoreCancel, ACancelledJobIsNotDispatchedByWhoeverHoldsItsLock) {
    const auto lease = taken_up("j1");
    cancel("j1");
    const Committed refused = walk(*lease, {scheduled, dispatched});
    EXPECT_EQ(refused.kind, Committed::Kind::refused);
    EXPECT_EQ(refused.state, cancelled);
}

class StoreTimeOut : public StoreTest {
protected:
    /// A job in a state for a while.
    void job_in(const std::string& job, JobState state, Duration age) {
        const auto lease = lease_for(job, "token of " + job);
        take_up(*lease, request_for(job));
        if (state != pending) walk(*lease, {scheduled});
        if (state == dispatched || state == running) walk(*lease, {dispatched});
        if (state == running) walk(*lease, {running});
        loop.wait(lease->release());
        make_older(job, state, age);
    }
    /// The lock that the reconciler reads under.
    engine::TickLock tick_lock(const std::string& token = "ticker") {
        static_cast<void>(
            loop.wait(sweeps->tick_lock({std::string(engine::keys::kReconcilerLock), engine::Token("ticker")}, 1min)));
        return {std::string(engine::keys::kReconcilerLock), engine::Token(token)};
    }
    static std::vector<engine::StaleJob> without_details(const std::vector<engine::OverdueJob>& found) {
        std::vector<engine::StaleJob> jobs;
        for (const auto& job : found) jobs.push_back(job.stale);
        return jobs;
    }
    std::vector<engine::StaleJob> stale(JobState state, Duration age, std::int64_t limit = 200) {
        return without_details(
            loop.wait(sweeps->stale_jobs(tick_lock(), engine::keys::state_index(state), age, 0, limit)).value().jobs);
    }
    std::vector<engine::OverdueJob> past_deadlines(std::int64_t skipped = 0) {
        return loop.wait(sweeps->stale_jobs(tick_lock(), std::string(engine::keys::kDeadlines), 0s, skipped, 200))
            .value()
            .jobs;
    }
    std::vector<engine::StaleJob> expired() { return without_details(past_deadlines()); }
    Texts stale_ids(JobState state, Duration age, std::int64_t limit = 200) {
        Texts ids;
        for (const auto& job : stale(state, age, limit)) ids.push_back(job.job.text());
        return ids;
    }
    Texts overdue_ids(JobState state, const engine::StayLimits& limits) {
        Texts ids;
        const auto page = loop.wait(sweeps->overdue_page(tick_lock(), state, limits, "", 200)).value();
        for (const auto& job : page.jobs)
            ids.push_back(job.stale.job.text() + " >" + engine::format_duration(job.limit));
        return ids;
    }
    engine::TimedOut time_out(const engine::StaleJob& job, std::optional<JobState> expected,
                              const std::string& reason = "timeout: x") {
        const std::string index =
            expected ? engine::keys::state_index(*expected) : std::string(engine::keys::kDeadlines);
        return loop.wait(sweeps->time_out(job, index, expected, {reason, "timeout"})).value();
    }
};

// RECON-01
TEST_F(StoreTimeOut, JobsThatHaveNotMovedAreFoundOldestFirst) {
    job_in("young", dispatched, 10s);
    job_in("old", dispatched, 5min);
    job_in("older", dispatched, 6min);
    job_in("elsewhere", running, 1h);
    EXPECT_EQ(stale_ids(dispatched, 1min), (Texts{"older", "old"}));
    EXPECT_EQ(stale_ids(dispatched, 1min, 1), Texts{"older"});
    EXPECT_EQ(stale_ids(dispatched, 1h), Texts{});
    EXPECT_EQ(stale(dispatched, 1min).at(0).score, field("older", "updated_at")) << "as text, to compare with";
}

// C-24
TEST_F(StoreTimeOut, EachJobHasTheLimitOfItsTopicAndItsWorkflow) {
    const auto job = [this](const std::string& id, const std::string& topic, const std::string& workflow,
                            Duration age) {
        job_in(id, running, age);
        run({"HSET", "job:meta:" + id, "topic", topic, "ls_workflow", workflow});
    };
    job("long", "job.long", "", 10min);
    job("very-long", "job.long", "", 2h);
    job("default", "job.other", "", 6min);
    job("young-default", "job.other", "", 4min);
    job("short", "job.short", "", 20s);
    job("young-short", "job.short", "", 5s);
    job("stricter-workflow", "job.long", "wf", 30s);
    job("stricter-topic", "job.short", "wf", 15s);
    job("lenient-workflow", "job.other", "patient", 10min);
    const engine::StayLimits limits{5min, {{"job.long", 1h}, {"job.short", 10s}}, {{"wf", 25s}, {"patient", 1h}}};
    EXPECT_EQ(overdue_ids(running, limits),
              (Texts{"very-long >1h", "default >5m", "stricter-workflow >25s", "short >10s", "stricter-topic >10s"}));
}

TEST_F(StoreTimeOut, PagesOfJobsThatMayStayHideNone) {
    for (int i = 0; i < 7; ++i) {
        job_in("patient-" + std::to_string(i), running, 1h);
        run({"HSET", "job:meta:patient-" + std::to_string(i), "topic", "job.long"});
    }
    job_in("overdue", running, 50min);
    const engine::StayLimits limits{5min, {{"job.long", 2h}}, {}};
    std::string after;
    Texts found;
    int pages = 0;
    do {
        auto page = loop.wait(sweeps->overdue_page(tick_lock(), running, limits, after, 2)).value();
        for (const auto& job : page.jobs) found.push_back(job.stale.job.text());
        after = page.last_score;
        ++pages;
    } while (!after.empty() && pages < 20);
    EXPECT_EQ(found, Texts{"overdue"});
    EXPECT_GT(pages, 1);
}

TEST_F(StoreTimeOut, AnIndexEntryOfAnotherStateIsRemovedFromAPage) {
    job_in("stray", running, 10min);
    run({"HSET", "job:meta:stray", "state", "SUCCEEDED"});
    EXPECT_EQ(overdue_ids(running, {5min, {}, {}}), Texts{});
    EXPECT_EQ(*run({"ZCARD", "job:index:running"}).integer(), 0);
}

TEST_F(StoreTimeOut, OnlyTheHolderOfTheTickLockGetsAPage) {
    job_in("overdue", running, 10min);
    EXPECT_TRUE(loop.wait(sweeps->overdue_page(tick_lock("somebody else"), running, {5min, {}, {}}, "", 200))
                    .value()
                    .jobs.empty());
    EXPECT_EQ(overdue_ids(running, {5min, {}, {}}), Texts{"overdue >5m"});
}

// D-13
TEST_F(StoreTimeOut, AMemberOfAnIndexWhoseJobHasExpiredIsRemovedByWhoeverListsIt) {
    for (const char* job : {"gone", "kept", "gone-too", "mirrored"}) {
        job_in(job, pending, 10min);
        force_state(job, "SUCCEEDED");
        make_older(job, succeeded, 10min);
    }
    for (const char* job : {"gone", "gone-too"})
        run({"DEL", std::string("job:meta:") + job, std::string("job:state:") + job});
    run({"DEL", "job:meta:mirrored"});
    const auto young = loop.wait(sweeps->index_page(succeeded, 1h, "", 200)).value();
    EXPECT_TRUE(young.jobs.empty());
    EXPECT_EQ(young.pruned, 0);
    const auto page = loop.wait(sweeps->index_page(succeeded, 5min, "", 200)).value();
    Texts listed_jobs;
    for (const auto& job : page.jobs) listed_jobs.push_back(job.job.text());
    EXPECT_EQ(listed_jobs, (Texts{"kept", "mirrored"}));
    EXPECT_EQ(page.pruned, 2);
    EXPECT_EQ(page.last_score, "");
    EXPECT_EQ(*run({"ZCARD", "job:index:succeeded"}).integer(), 2);
}

TEST_F(StoreTimeOut, PagesOfAnIndexGoOnBehindWhatIsKept) {
    for (int i = 0; i < 7; ++i) run({"ZADD", "job:index:failed", std::to_string(i / 2), "gone-" + std::to_string(i)});
    run({"SET", "job:state:gone-0", "FAILED"});
    std::string after;
    std::int64_t pruned = 0;
    std::size_t kept = 0;
    int pages = 0;
    do {
        auto page = loop.wait(sweeps->index_page(failed, 0s, after, 3)).value();
        pruned += page.pruned;
        kept += page.jobs.size();
        after = page.last_score;
        ++pages;
    } while (!after.empty() && pages < 20);
    EXPECT_EQ(pruned, 6);
    EXPECT_EQ(kept, 1u);
    EXPECT_GT(pages, 1);
}

// RECON-03
TEST_F(StoreTimeOut, AStaleJobEndsWithReasonAndDeadLetter) {
    job_in("j1", running, 10min);
    run({"HSET", "job:meta:j1", "ls_worker", "w1", "trace_id", "t1", "attempts", "2", "topic", "job.\"x\"\\\n"});
    const auto ended = time_out(stale(running, 1min).at(0), running, "timeout: RUNNING >1m");
    EXPECT_TRUE(ended.timed_out);
    EXPECT_EQ(ended.from, running);
    EXPECT_EQ(ended.worker.text(), "w1");
    EXPECT_EQ(ended.trace_id, "t1");
    EXPECT_EQ(listed("j1"), Texts{"TIMEOUT"});
    EXPECT_EQ(history("j1").back(), "TIMEOUT");
    EXPECT_EQ(field("j1", "failure_reason"), "timeout: RUNNING >1m");
    EXPECT_FALSE(exists("job:tenant:active:acme"));
    const Json entry = Json::parse(text({"GET", "dlq:entry:j1"}));
    EXPECT_EQ(entry.at("reason_code"), "timeout");
    EXPECT_EQ(entry.at("reason"), "timeout: RUNNING >1m");
    EXPECT_EQ(entry.at("status"), "JOB_STATUS_TIMEOUT");
    EXPECT_EQ(entry.at("last_state"), "RUNNING");
    EXPECT_EQ(entry.at("attempts"), 2);
    EXPECT_EQ(entry.at("topic"), "job._x___") << "what a JSON string cannot hold unescaped";
    EXPECT_EQ(*run({"ZCARD", "lockstep:dead_letter:outbox"}).integer(), 1);
}

TEST_F(StoreTimeOut, DeadLettersForItCanBeSwitchedOff) {
    tunables.reconciler_emit_dead_letter = false;
    job_in("j1", running, 10min);
    EXPECT_TRUE(time_out(stale(running, 1min).at(0), running).timed_out);
    EXPECT_FALSE(exists("dlq:entry:j1"));
    EXPECT_FALSE(exists("lockstep:dead_letter:outbox"));
}

// H-28
TEST_F(StoreTimeOut, AJobThatMovedMeanwhileIsLeftAlone) {
    job_in("j1", scheduled, 10min);
    const auto found = stale(scheduled, 1min).at(0);
    const auto lease = lease_for("j1", "handler");
    take_up(*lease, request_for("j1"));
    walk(*lease, {scheduled});
    const auto before = content();
    EXPECT_FALSE(time_out(found, scheduled).timed_out);
    EXPECT_EQ(content(), before);
    walk(*lease, {dispatched});
    EXPECT_FALSE(time_out(found, scheduled).timed_out);
    EXPECT_EQ(field("j1", "state"), "DISPATCHED");
}

// H-32: an entry that its job does not agree with must not hide others for ever.
TEST_F(StoreTimeOut, AStrayIndexEntryIsRemoved) {
    job_in("over", running, 10min);
    run({"HSET", "job:meta:over", "state", "SUCCEEDED"});
    run({"ZADD", "job:index:running", "5", "gone"});
    run({"ZADD", "job:deadline", "5", "gone", "5", "over"});
    for (const auto& found : stale(running, 1min)) EXPECT_FALSE(time_out(found, running).timed_out);
    for (const auto& found : expired()) EXPECT_FALSE(time_out(found, std::nullopt).timed_out);
    EXPECT_FALSE(exists("job:index:running"));
    EXPECT_FALSE(exists("job:deadline"));
    EXPECT_EQ(field("over", "state"), "SUCCEEDED");
    EXPECT_FALSE(exists("job:meta:gone"));
}

// D-04: what waits at the head of the index hides nobody, and how long it has waited is said by Redis' clock.
TEST_F(StoreTimeOut, APageOfDeadlinesMayLeaveSomeOut) {
    job_in("first", running, 0s);
    job_in("second", pending, 0s);
    const std::int64_t now = server_micros();
    run({"ZADD", "job:deadline", std::to_string(now - 9'000'000), "first", std::to_string(now - 3'000'000), "second"});
    const auto all = past_deadlines();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].stale.job.text(), "first");
    EXPECT_EQ(all[0].state, running);
    EXPECT_EQ(all[0].overdue_by - all[1].overdue_by, 6s);
    const auto rest = past_deadlines(1);
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].stale.job.text(), "second");
    EXPECT_EQ(rest[0].state, pending);
}

// RECON-04
TEST_F(StoreTimeOut, APassedDeadlineEndsAJobWhateverItDoes) {
    for (const JobState state : {pending, scheduled, dispatched, running}) {
        run({"FLUSHALL"});
        job_in("j1", state, 0s);
        run({"HSET", "job:meta:j1", "deadline_unix", "5"});
        run({"ZADD", "job:deadline", "5", "j1"});
        const auto found = expired();
        ASSERT_EQ(found.size(), 1u);
        const auto ended = time_out(found[0], std::nullopt, "timeout: deadline expired");
        EXPECT_TRUE(ended.timed_out) << to_string(state);
        EXPECT_EQ(ended.from, state);
        EXPECT_EQ(field("j1", "failure_reason"), "timeout: deadline expired");
        EXPECT_FALSE(exists("job:deadline"));
        EXPECT_EQ(field("j1", "deadline_unix"), "");
    }
}

TEST_F(StoreTimeOut, ADeadlineAheadIsNotExpired) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(600'000);
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    EXPECT_TRUE(expired().empty());
}

class StoreOutbox : public StoreTest {
protected:
    void put(const std::string& id) {
        const auto written = loop.wait(letters->put({id, "t", cap::JOB_STATUS_FAILED, "why", "poison_message"}));
        EXPECT_TRUE(written.applied());
    }
    Texts unsent(Duration age, std::int64_t limit = 200, const Texts& put_off = {}) {
        Texts ids;
        const auto waiting = loop.wait(letters->unsent(age, limit, put_off)).value();
        for (const auto& letter : waiting) ids.push_back(letter.id);
        return ids;
    }
};

TEST_F(StoreOutbox, ALetterWaitsUntilItIsSaidToBeSent) {
    put("a");
    put("b");
    run({"ZINCRBY", "lockstep:dead_letter:outbox", "-60000000", "b"});
    EXPECT_EQ(unsent(0s), (Texts{"b", "a"}));
    EXPECT_EQ(unsent(30s), Texts{"b"});
    EXPECT_EQ(unsent(0s, 1), Texts{"b"});
    const auto waiting = loop.wait(letters->unsent(30s, 200, {})).value();
    EXPECT_EQ(waiting.at(0).reason_code, "poison_message");
    EXPECT_EQ(waiting.at(0).topic, "t");
    EXPECT_TRUE(loop.wait(letters->sent("b")).applied());
    EXPECT_EQ(unsent(0s), Texts{"a"});
}

TEST_F(StoreOutbox, ALetterThatIsPutOffComesBehindTheOthers) {
    put("a");
    put("b");
    run({"ZINCRBY", "lockstep:dead_letter:outbox", "-60000000", "a"});
    run({"ZINCRBY", "lockstep:dead_letter:outbox", "-50000000", "b"});
    EXPECT_EQ(unsent(0s), (Texts{"a", "b"}));
    EXPECT_EQ(unsent(0s, 200, {"a", "sent meanwhile"}), (Texts{"b", "a"}));
    EXPECT_EQ(unsent(30s), Texts{"b"});
}

TEST_F(StoreOutbox, AnExpiredEntryIsDroppedFromIt) {
    put("a");
    put("b");
    run({"DEL", "dlq:entry:a"});
    EXPECT_EQ(unsent(0s), Texts{"b"});
    EXPECT_EQ(texts({"ZRANGE", "lockstep:dead_letter:outbox", "0", "-1"}), Texts{"b"});
}

TEST_F(StoreOutbox, ALetterThatBelongsToNoJobHasNeitherStateNorTries) {
    put("poison:CORDUM_SYS:7");
    const Json entry = Json::parse(text({"GET", "dlq:entry:poison:CORDUM_SYS:7"}));
    EXPECT_FALSE(entry.contains("last_state"));
    EXPECT_FALSE(entry.contains("attempts"));
    EXPECT_EQ(*run({"ZCARD", "dlq:index"}).integer(), 1);
}

using StoreDocuments = StoreTest;

TEST_F(StoreDocuments, ADocumentIsReplacedOnlyIfItIsWhatWasRead) {
    const auto replace = [this](const std::string& before, const std::string& after) {
        return loop.wait(store->replace_document("cfg:system:default", before, after)).value();
    };
    EXPECT_FALSE(replace("one", "two")) << "there is none";
    EXPECT_TRUE(replace("", "one"));
    EXPECT_FALSE(replace("", "other"));
    EXPECT_TRUE(replace("one", "two"));
    EXPECT_FALSE(replace("one", "three"));
    EXPECT_EQ(text({"GET", "cfg:system:default"}), "two");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
