// Calls that contradict themselves: each is a defect of whoever makes it, found before anything is asked of the store.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/store/dead_letter_store.h"
#include "engine/store/job_store.h"
#include "engine/store/sweep_store.h"
#include "engine/testing/recorders.h"
#include "engine/testing/scripted_redis.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using engine::testing::ScriptedRedis;

class BrokenCalls : public ::testing::Test {
protected:
    BrokenCalls() {
        redis.answer = [](const std::vector<RedisCommand>&) { return ScriptedRedis::not_applied(); };
    }
    [[nodiscard]] LeasePorts ports() {
        return {clock, redis, metrics, log, loop, tunables, scripts, book, mechanisms, releases};
    }

    /// What is said of the commit; empty when nothing is wrong with it.
    [[nodiscard]] std::string said_of(Commit commit) {
        JobLease held(ports(), JobId("j1"), Token("token"));
        held.begin(loop.monotonic());
        return said([&] { static_cast<void>(loop.wait(store.commit(held, std::move(commit)))); });
    }
    [[nodiscard]] static std::string said(const std::function<void()>& call) {
        try {
            call();
        } catch (const InvariantViolation& broken) {
            return broken.what();
        }
        return {};
    }

    Tunables tunables;
    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedRedis redis{clock};
    engine::testing::MetricRecorder metrics;
    engine::testing::LogRecorder log;
    StoreScripts scripts;
    LeaseBook book;
    Scope releases{loop};
    Mechanisms mechanisms;
    JobStore store{redis, clock, tunables, scripts};
    SweepStore sweeps{redis, clock, tunables, scripts, store.news()};
    DeadLetterStore letters{redis, clock, tunables, scripts};
};

TEST_F(BrokenCalls, ACommitNamesWhatContradictsItself) {
    struct Case {
        const char* named;
        std::function<void(Commit&)> broken;
    };
    for (const auto& [named, broken] : {
             Case{"from SUCCEEDED to RUNNING", [](Commit& c) { c.walk = {JobState::succeeded, JobState::running}; }},
             Case{"its lock is kept", [](Commit& c) { c.settles_message = true; }},
             Case{"a letter about j2", [](Commit& c) { c.dead_letter = DeadLetter{"j2", {}, {}, {}, {}}; }},
             Case{"whatever its state", [](Commit& c) { c.from_any_state = true; }},
             Case{"leaves it otherwise: RUNNING",
                  [](Commit& c) {
                      c.walk = {JobState::running};
                      c.begin_dispatch = true;
                  }},
             Case{"res:1 of job j1 is replaced by nothing", [](Commit& c) { c.replaces_ptr = "res:1"; }},
             Case{"no deadline of job j1 begins", [](Commit& c) { c.deadline_from = WallTime{}; }},
             Case{"-1 tries are added", [](Commit& c) { c.add_attempts = -1; }},
             Case{"due 1 ns ago", [](Commit& c) { c.next_attempt = Duration{-1}; }},
         }) {
        Commit commit;
        broken(commit);
        EXPECT_NE(said_of(std::move(commit)).find(named), std::string::npos) << named;
    }
    EXPECT_TRUE(redis.calls().empty());
    EXPECT_EQ(said_of(Commit{}), "");
    EXPECT_EQ(redis.calls().size(), 1u);
}

TEST_F(BrokenCalls, WithoutTheMechanismThatForbidsItAJobIsEndedWhateverItsState) {
    mechanisms.switch_off(Mechanism::terminal_idempotency);
    Commit commit;
    commit.from_any_state = true;
    EXPECT_EQ(said_of(std::move(commit)), "");
}

TEST_F(BrokenCalls, ALockIsTakenForTheJobThatTheRequestNames) {
    for (const char* job : {"j2", "", " j1"}) {
        cap::JobRequest request;
        request.set_job_id(job);
        JobLease held(ports(), JobId("j1"), Token("token"));
        const auto take = [&] { static_cast<void>(loop.wait(store.take_up(held, request, {}))); };
        EXPECT_NE(said(take).find("the lock of job j1 is taken for job"), std::string::npos) << job;
    }
    cap::JobRequest blank;
    blank.set_job_id(" ");
    JobLease of_blank(ports(), JobId(" "), Token("token"));
    EXPECT_NE(said([&] { static_cast<void>(loop.wait(store.take_up(of_blank, blank, {}))); }).find("job ' '"),
              std::string::npos);
    EXPECT_TRUE(redis.calls().empty());
}

TEST_F(BrokenCalls, ALeaseHasAKeyAndLastsAndIsNotAskedForWithoutAToken) {
    const LeaseTerms good{.life = 1min, .answer_within = 1s};
    EXPECT_THROW(Lease(ports(), "", Token("token"), good), InvariantViolation);
    EXPECT_THROW(Lease(ports(), "key", Token("token"), {.life = 0s, .answer_within = 1s}), InvariantViolation);
    EXPECT_THROW(Lease(ports(), "key", Token("token"), {.life = 1min}), InvariantViolation);
    Lease without_token(ports(), "key", Token(), good);
    EXPECT_THROW(without_token.asking(), InvariantViolation);
    EXPECT_THROW(without_token.begin(loop.monotonic()), InvariantViolation);
    Lease early(ports(), "key", Token("token"), good);
    EXPECT_THROW(early.begin(loop.monotonic() + 1ns), InvariantViolation);
    EXPECT_NO_THROW(early.begin(loop.monotonic()));
}

TEST_F(BrokenCalls, NobodyAsksForNoMembersOrTimesOutWhatHasEnded) {
    const TickLock lock{"tick", Token("token")};
    EXPECT_THROW(static_cast<void>(loop.wait(sweeps.stale_jobs(lock, "index", 0s, 0, 0))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(sweeps.index_page(JobState::failed, 0s, "", 0))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(sweeps.tick_lock({"tick", Token()}, 1s))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(sweeps.time_out({JobId("j1"), "1"}, "index", JobState::failed, {}))),
                 InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(store.claim_scans(1s, 0))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(store.tenant_is_full(JobId("j1"), 0))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(letters.unsent(1s, 0, {}))), InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(letters.repair({"j1", {}, {}, {}, {}}, JobState::running))),
                 InvariantViolation);
    EXPECT_THROW(static_cast<void>(loop.wait(letters.put({}))), InvariantViolation);
    EXPECT_TRUE(redis.calls().empty());
}

}  // namespace
}  // namespace lockstep::engine
