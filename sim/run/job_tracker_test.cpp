#include "sim/run/job_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/redis/keyspace_events.h"

namespace lockstep::sim {
namespace {

using fakes::redis::Hash;
using fakes::redis::Keyspace;
using fakes::redis::Removal;
using ::testing::ElementsAre;
using ::testing::Pair;

/// A keyspace whose changes are told as in a run.
class JobTrackerTest : public ::testing::Test, private fakes::Trace {
protected:
    JobTrackerTest() {
        keys.add_observer(events_);
        keys.add_observer(jobs);
    }

    void submit(std::string_view job) {
        fakes::Event event;
        event.kind = fakes::EventKind::submit;
        event.job = job;
        emit(event);
    }
    void decline(std::string_view job) {
        fakes::Event event;
        event.kind = fakes::EventKind::submit;
        event.when = fakes::When::answered;
        event.outcome = fakes::EventOutcome::not_applied;
        event.job = job;
        emit(event);
    }
    void move(std::string_view job, std::string_view state) {
        set_hash(job, state);
        keys.set_string("job:state:" + std::string(job), std::string(state), fakes::redis::kNever);
    }
    void set_hash(std::string_view job, std::string_view state) {
        const std::string key = "job:meta:" + std::string(job);
        Keyspace::Node* node = keys.find(key);
        keys.hash_set(node == nullptr ? keys.create<Hash>(key) : *node, "state", state);
    }
    void remove(const std::string& key, Removal why) { keys.remove(*keys.find(key), why); }

private:
protected:
    Keyspace keys;
    JobTracker jobs;

private:
    bool emit(const fakes::Event& event) override {
        if (JobTracker::kWanted.contains(event.kind)) jobs.on_event(event, Time{});
        return true;
    }
    fakes::redis::KeyspaceEvents events_{*this, {}, fakes::redis::default_lock_keys()};
};

TEST_F(JobTrackerTest, NobodyWaitsForAJobThatWasNotTaken) {
    submit("a");
    decline("a");
    EXPECT_EQ(jobs.unfinished(), 0U);
    move("a", "PENDING");
    EXPECT_EQ(jobs.unfinished(), 1U) << "somebody has it all the same";
    decline("a");
    EXPECT_EQ(jobs.unfinished(), 1U) << "the second submission of the same id tells nothing of the first";
}

TEST_F(JobTrackerTest, AJobIsUnfinishedFromItsSubmissionUntilItEndsOrAsks) {
    submit("a");
    submit("b");
    EXPECT_EQ(jobs.unfinished(), 2U);
    EXPECT_THAT(jobs.states(), ElementsAre(Pair("", 2)));
    move("a", "PENDING");
    move("a", "SUCCEEDED");
    move("b", "APPROVAL_REQUIRED");
    EXPECT_EQ(jobs.unfinished(), 0U);
    EXPECT_THAT(jobs.states(), ElementsAre(Pair("APPROVAL_REQUIRED", 1), Pair("SUCCEEDED", 1)));
}

TEST_F(JobTrackerTest, WhatARestoreTookBackIsUnfinishedAgain) {
    submit("a");
    move("a", "RUNNING");
    move("a", "SUCCEEDED");
    keys.restore([this] { move("a", "RUNNING"); });
    EXPECT_EQ(jobs.state_of("a"), "RUNNING");
    EXPECT_EQ(jobs.unfinished(), 1U);
    move("a", "TIMEOUT");
    EXPECT_EQ(jobs.unfinished(), 0U);
}

TEST_F(JobTrackerTest, WhatRedisHasLostIsForgottenUntilItIsTakenUpOnceMore) {
    submit("a");
    submit("never taken up");
    move("a", "RUNNING");
    keys.restore([this] { keys.clear(); });
    EXPECT_EQ(jobs.state_of("a"), "");
    EXPECT_EQ(jobs.forgotten(), 1U);
    EXPECT_EQ(jobs.unfinished(), 1U) << "the other one is still on the bus";
    move("a", "PENDING");
    EXPECT_EQ(jobs.forgotten(), 0U);
    EXPECT_EQ(jobs.unfinished(), 2U);
}

TEST_F(JobTrackerTest, AStateOutlivesTheHashUnderItsOwnKey) {
    submit("a");
    move("a", "SUCCEEDED");
    remove("job:meta:a", Removal::evicted);
    EXPECT_EQ(jobs.state_of("a"), "SUCCEEDED");
    remove("job:state:a", Removal::evicted);
    EXPECT_EQ(jobs.state_of("a"), "");
    EXPECT_EQ(jobs.forgotten(), 1U);
}

TEST_F(JobTrackerTest, ARecordThatHasOutlivedItsTimeIsNotLost) {
    submit("a");
    move("a", "SUCCEEDED");
    remove("job:state:a", Removal::expired);
    remove("job:meta:a", Removal::expired);
    EXPECT_EQ(jobs.state_of("a"), "SUCCEEDED");
    keys.restore([] {});
    EXPECT_EQ(jobs.state_of("a"), "SUCCEEDED");
    EXPECT_EQ(jobs.forgotten(), 0U);
}

TEST(RecordedStates, AreInTheHashAndWithoutItUnderTheStateKey) {
    RecordedStates states;
    states.hash_set("job:meta:a", "state", "RUNNING");
    states.string_set("job:state:a", "DISPATCHED");
    EXPECT_EQ(states.of("a"), "RUNNING");
    states.key_removed("job:meta:a");
    EXPECT_EQ(states.of("a"), "DISPATCHED");
    states.key_removed("job:state:a");
    EXPECT_EQ(states.of("a"), "");
}

}  // namespace
}  // namespace lockstep::sim
