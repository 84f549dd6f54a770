#include "sim/oracles/unasked_ends.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <chrono>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kHash;
using testing::kReplica;
using ::testing::SizeIs;

constexpr std::int64_t kBegin = 1'767'225'600'000'000;

class UnaskedEndsTest : public ::testing::Test {
protected:
    explicit UnaskedEndsTest(std::string_view timeouts = R"({
        "topics": {"job.quick": {"timeout_seconds": 20}, "job.slow": {"timeout_seconds": 7200}},
        "workflows": {"travel": {"child_timeout_seconds": 60}}})",
                             const engine::Tunables& limits = {})
        : tunables(limits), ends(tunables, timeouts) {}

    /// At a time of Redis' clock, counted from the beginning.
    std::string enter(std::string_view state, engine::Duration at, NodeId by = kReplica) {
        set("state", state, by);
        const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(at).count();
        return set("updated_at", fmt::format("{}", kBegin + micros), by);
    }
    std::string set(std::string_view field, std::string_view value, NodeId by = kReplica) {
        auto* hash = keys.find(kHash);
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>(kHash), field, value);
        return ends.hash_set(by, kHash, field, value);
    }
    std::string times_out_after(engine::Duration stay, std::string_view in = "RUNNING") {
        enter(in, 10s);
        return enter("TIMEOUT", 10s + stay);
    }
    void fails_with(std::string_view code) {
        enter("FAILED", 10s);
        ends.string_set("dlq:entry:J", fmt::format(R"({{"reason_code":"{}"}})", code));
    }

    engine::Tunables tunables;
    UnaskedEnds ends;
    fakes::redis::Keyspace keys;
};

// RECON-01
TEST_F(UnaskedEndsTest, AStayIsAsLongAsItsLimit) {
    EXPECT_THAT(times_out_after(tunables.running_timeout), IsEmpty());
    EXPECT_THAT(times_out_after(tunables.running_timeout - 1s), HasSubstr("it was RUNNING for 899000 ms"));
    EXPECT_THAT(times_out_after(tunables.dispatch_timeout, "DISPATCHED"), IsEmpty());
    EXPECT_THAT(times_out_after(tunables.dispatch_timeout - 1s, "DISPATCHED"), HasSubstr("may last 300000 ms"));
}

// D-04 (5)
TEST_F(UnaskedEndsTest, AResultThatWasNotHeardHasBeenWaitedFor) {
    set("failure_reason", "timeout: RUNNING >15m, and a result that may stand in the stream has not been heard");
    const engine::Duration patience = tunables.bus_ack_wait + 2 * tunables.reconciler_interval;
    EXPECT_THAT(times_out_after(tunables.running_timeout + patience), IsEmpty());
    EXPECT_THAT(times_out_after(tunables.running_timeout + patience - 1s),
                HasSubstr("may last 900000 ms and 660000 ms more while its result may be unheard"));
}

TEST_F(UnaskedEndsTest, AnInvalidRequestBreaksARuleUnlessItHasBeenEvicted) {
    fails_with("invalid_request");
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty()) << "it is not there any more";
    keys.set_string("job:req:J", R"({"job_id":"J","topic":"t","tenant_id":"a"})", fakes::redis::kNever);
    EXPECT_THAT(ends.unexplained_failures(keys).at("J"), HasSubstr("it is invalid"));
    keys.set_string("job:req:J", R"({"job_id":"J","topic":"t","tenant_id":"a","meta":{"tenant_id":"b"}})",
                    fakes::redis::kNever);
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

TEST_F(UnaskedEndsTest, WhatOnlyWaitsHasNoLimitButItsDeadline) {
    EXPECT_THAT(times_out_after(24h, "APPROVAL_REQUIRED"), HasSubstr("which nothing limits"));
    EXPECT_THAT(times_out_after(24h, "SCHEDULED"), HasSubstr("which nothing limits"));
    tunables.reconciler_scheduled_timeout = 1min;
    EXPECT_THAT(times_out_after(1min, "SCHEDULED"), IsEmpty());
}

TEST_F(UnaskedEndsTest, TopicAndWorkflowHaveLimitsOfTheirOwn) {
    set("topic", "job.quick");
    EXPECT_THAT(times_out_after(20s), IsEmpty());
    EXPECT_THAT(times_out_after(19s), HasSubstr("may last 20000 ms"));
    set("topic", "job.slow");
    EXPECT_THAT(times_out_after(1h), HasSubstr("may last 7200000 ms"));
    set("ls_workflow", "travel");
    EXPECT_THAT(times_out_after(1min), IsEmpty());
}

TEST_F(UnaskedEndsTest, OfTheLimitsThatWereInForceTheSmallestCounts) {
    ends.string_set("cfg:system:default",
                    R"({"revision":2,"data":{"timeouts":{"reconciler":{"running_timeout_seconds":30}}}})");
    EXPECT_THAT(times_out_after(30s), IsEmpty());
    EXPECT_THAT(times_out_after(29s), HasSubstr("may last 30000 ms"));
}

class LongRunsTest : public UnaskedEndsTest {
protected:
    static engine::Tunables longer() {
        engine::Tunables tunables;
        tunables.running_timeout = 2h;
        return tunables;
    }
    LongRunsTest() : UnaskedEndsTest("{}", longer()) {}
};

// D-10
TEST_F(LongRunsTest, ALimitOfZeroIsTheBuiltInOne) {
    EXPECT_THAT(times_out_after(900s), HasSubstr("may last 7200000 ms"));
    ends.string_set("cfg:system:default",
                    R"({"revision":2,"data":{"timeouts":{"reconciler":{"running_timeout_seconds":0}}}})");
    EXPECT_THAT(times_out_after(899s), HasSubstr("may last 900000 ms"));
    EXPECT_THAT(times_out_after(900s), IsEmpty());
}

// RECON-03
TEST_F(UnaskedEndsTest, ADeadlineMustBeOver) {
    ends.zset_set("job:deadline", "J", static_cast<double>(kBegin + 12'000'000));
    EXPECT_THAT(times_out_after(1s), HasSubstr("no deadline that was over"));
    EXPECT_THAT(times_out_after(2s), IsEmpty());
}

TEST_F(UnaskedEndsTest, AWorkerMayHaveReportedIt) {
    ends.on_result("J", cap::JOB_STATUS_TIMEOUT);
    EXPECT_THAT(times_out_after(1s), IsEmpty());
}

TEST_F(UnaskedEndsTest, AStayWhoseBeginningWasLostIsNotJudged) {
    enter("RUNNING", 10s);
    ends.key_removed(kHash);
    EXPECT_THAT(enter("TIMEOUT", 11s), IsEmpty());
}

TEST_F(UnaskedEndsTest, AFailureThatAWorkerReportedIsOne) {
    fails_with("job_failed");
    EXPECT_THAT(ends.unexplained_failures(keys), SizeIs(1));
    ends.on_result("J", cap::JOB_STATUS_FAILED_FATAL);
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

TEST_F(UnaskedEndsTest, ASuccessExplainsNoFailure) {
    ends.on_result("J", cap::JOB_STATUS_SUCCEEDED);
    fails_with("job_failed");
    EXPECT_THAT(ends.unexplained_failures(keys).at("J"), HasSubstr("no worker has reported a failure"));
}

TEST_F(UnaskedEndsTest, TriesAreUsedUpOnlyOnceAllWereHad) {
    set("attempts", "49");
    fails_with("max_scheduling_retries");
    EXPECT_THAT(ends.unexplained_failures(keys).at("J"), HasSubstr("after 49 tries of 50"));
    set("attempts", "50");
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

TEST_F(UnaskedEndsTest, ARetryLimitNeedsASecondDispatch) {
    set("ls_dispatches", "1");
    fails_with("max_retries_exceeded");
    EXPECT_THAT(ends.unexplained_failures(keys), SizeIs(1));
    set("ls_dispatches", "2");
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

TEST_F(UnaskedEndsTest, WhatIsSetAsideHasNotComeBackSixTimes) {
    for (const char* token : {"a", "b", "c", "d", "e", "f"}) set("ls_in_hand", fmt::format("{} 0 0 beside", token));
    set("ls_in_hand", "f 3 2 alone");
    set("ls_in_hand", "");
    fails_with("handling_lost");
    EXPECT_THAT(ends.unexplained_failures(keys).at("J"), HasSubstr("when 5 in a row"));
    for (const char* token : {"a", "b", "c", "d", "e", "f", "g"})
        set("ls_in_hand", fmt::format("{} 0 0 beside", token));
    set("ls_in_hand", "");
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

TEST_F(UnaskedEndsTest, AJobWithoutARequestIsMetTwiceBeforeItIsGivenUp) {
    const auto given_up_after = [this](engine::Duration stay) {
        enter("PENDING", 10s);
        enter("FAILED", 10s + stay);
        ends.string_set("dlq:entry:J", R"({"reason_code":"request_missing"})");
        return ends.unexplained_failures(keys);
    };
    EXPECT_THAT(given_up_after(2 * tunables.pending_age), IsEmpty());
    EXPECT_THAT(given_up_after(tunables.pending_age + 20s).at("J"), HasSubstr("after it last moved"));
    ends.clock_set();
    EXPECT_THAT(given_up_after(tunables.pending_age), IsEmpty());
}

TEST_F(UnaskedEndsTest, AJobThatWaitsForCapacityIsGivenUpNoSoonerThanItMayBe) {
    const auto given_up_after = [this](engine::Duration stay) {
        enter("PENDING", 10s);
        fails_with("pool_overloaded");
        enter("PENDING", 10s);
        enter("FAILED", 10s + stay);
        return ends.unexplained_failures(keys);
    };
    EXPECT_THAT(given_up_after(tunables.overload_limit), IsEmpty());
    EXPECT_THAT(given_up_after(tunables.overload_limit / 2).at("J"), HasSubstr("pool_overloaded after 43200000 ms"));
}

TEST_F(UnaskedEndsTest, AJobThatWaitsForAWorkerIsGivenUpNoSoonerThanAllTriesWouldTake) {
    const auto given_up_after = [this](engine::Duration stay) {
        fails_with("no_workers");
        enter("PENDING", 10s);
        enter("FAILED", 10s + stay);
        return ends.unexplained_failures(keys);
    };
    EXPECT_THAT(given_up_after(1381s), IsEmpty());
    EXPECT_THAT(given_up_after(1000s).at("J"), HasSubstr("it may wait for 1381000 ms"));
}

TEST_F(UnaskedEndsTest, WhatAGatewayEndsIsItsOwnAffair) {
    enter("FAILED", 10s, Topology::kGateway);
    ends.string_set("dlq:entry:J", R"({"reason_code":"publish_failed"})");
    EXPECT_THAT(ends.unexplained_failures(keys), IsEmpty());
}

// Which jobs are excused then, the oracle knows that this is part of.
TEST_F(UnaskedEndsTest, ALossOfRedisDoesNotEndTheJudging) {
    fails_with("out of the blue");
    ends.restored(keys);
    EXPECT_THAT(ends.unexplained_failures(keys), SizeIs(1));
}

}  // namespace
}  // namespace lockstep::sim
