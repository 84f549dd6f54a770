#include "sim/oracles/slot_used.h"

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
        oracle.hash_set({}, "job:meta:" + job, "tenant", nullptr, tenant);
        move(job, "PENDING");
    }
    void move(const std::string& job, const std::string& state) {
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::before));  // the command that does it
        oracle.hash_set({}, "job:meta:" + job, "state", nullptr, state);
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
    void fault(std::string_view phase) {
        fakes::Event event = testing::event_of(fakes::EventKind::fault, "");
        event.name = "partition";
        event.from = phase;
        tell(event);
    }
    void tell(const fakes::Event& event) { oracle.on_event(event, now); }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SlotUsed oracle{judge, tunables};
    Time now{100s};
};

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

}  // namespace
}  // namespace lockstep::sim
