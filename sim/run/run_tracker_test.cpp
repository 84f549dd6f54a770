#include "sim/run/run_tracker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/redis/keyspace_events.h"

namespace lockstep::sim {
namespace {

using fakes::redis::Hash;
using ::testing::ElementsAre;
using ::testing::Pair;

class RunTrackerTest : public ::testing::Test, private fakes::Trace {
protected:
    RunTrackerTest() {
        keys.add_observer(events_);
        keys.add_observer(jobs);
        keys.add_observer(runs);
    }
    void write(const std::string& run, std::string_view status, std::string_view steps) {
        keys.set_string("wf:run:" + run, fmt::format(R"({{"id":"{}","status":"{}","steps":{}}})", run, status, steps),
                        fakes::redis::kNever);
    }
    void move(const std::string& job, std::string_view state) {
        auto* node = keys.find("job:meta:" + job);
        keys.hash_set(node != nullptr ? *node : keys.create<Hash>("job:meta:" + job), "state", state);
    }

private:
protected:
    fakes::redis::Keyspace keys;
    RunTracker runs;
    JobTracker jobs;

private:
    bool emit(const fakes::Event& event) override {
        jobs.on_event(event, {});
        return true;
    }
    fakes::redis::KeyspaceEvents events_{*this, fakes::NodeId{0}, {}};
};

TEST_F(RunTrackerTest, KnowsWhatDocumentsSay) {
    write("r", "running", R"({"a":{"status":"succeeded"},"b":{}})");
    keys.set_string("wf:run:idempotency:k", "r", fakes::redis::kNever);
    EXPECT_EQ(runs.status_of("r"), "running");
    EXPECT_EQ(runs.status_of_step("r", "a"), "succeeded");
    EXPECT_EQ(runs.status_of_step("r", "b"), "pending");
    EXPECT_EQ(runs.status_of_step("r", "c"), "");
    EXPECT_EQ(runs.status_of("s"), "");
    EXPECT_THAT(runs.statuses(), ElementsAre(Pair("running", 1)));
}

TEST_F(RunTrackerTest, ARunIsAtRestOnceItIsOver) {
    EXPECT_TRUE(runs.all_at_rest(jobs));
    write("r", "pending", "{}");
    EXPECT_FALSE(runs.all_at_rest(jobs));
    write("r", "failed", "{}");
    EXPECT_TRUE(runs.all_at_rest(jobs));
}

TEST_F(RunTrackerTest, OrWaitsForAHumanAndForNothingElse) {
    write("r", "waiting", R"({"sign":{"status":"waiting","job_id":"r:sign@1"},"next":{"status":"pending"}})");
    EXPECT_FALSE(runs.all_at_rest(jobs)) << "nobody knows the job of the gate yet";
    move("r:sign@1", "APPROVAL_REQUIRED");
    EXPECT_TRUE(runs.all_at_rest(jobs));
    write(
        "r", "waiting",
        R"({"sign":{"status":"waiting","job_id":"r:sign@1"},"wait":{"status":"running","next_attempt_at":"2026-01-01T00:00:00Z"}})");
    EXPECT_FALSE(runs.all_at_rest(jobs)) << "a delay goes on";
    write("r", "running",
          R"({"sign":{"status":"waiting","job_id":"r:sign@1"},"work":{"status":"running","job_id":"r:work@1"}})");
    EXPECT_FALSE(runs.all_at_rest(jobs)) << "a job is at work";
}

TEST_F(RunTrackerTest, OrForARunThatItHasBegunWhichDoes) {
    write("r", "running", R"({"call":{"status":"running"}})");
    EXPECT_FALSE(runs.all_at_rest(jobs));
    write("r.call.1", "waiting", R"({"sign":{"status":"waiting","job_id":"r.call.1:sign@1"}})");
    move("r.call.1:sign@1", "APPROVAL_REQUIRED");
    EXPECT_TRUE(runs.all_at_rest(jobs));
}

TEST_F(RunTrackerTest, WhatRedisHasLostWasNeverThere) {
    write("r", "running", "{}");
    keys.restore([this] { keys.clear(); });
    EXPECT_EQ(runs.status_of("r"), "");
    EXPECT_TRUE(runs.all_at_rest(jobs));
}

}  // namespace
}  // namespace lockstep::sim
