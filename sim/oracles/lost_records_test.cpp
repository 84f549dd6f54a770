#include "sim/oracles/lost_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/no_duplicate_dispatch.h"
#include "sim/oracles/no_lost_job.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::redis::Hash;
using fakes::redis::Keyspace;
using fakes::redis::Removal;
using fakes::redis::SortedSet;

void set_state(Keyspace& keys, const std::string& job, std::string_view state) {
    const std::string key = "job:meta:" + job;
    Keyspace::Node* node = keys.find(key);
    keys.hash_set(node == nullptr ? keys.create<Hash>(key) : *node, "state", state);
}

void list_in(Keyspace& keys, const std::string& index, const std::string& job) {
    Keyspace::Node* node = keys.find(index);
    keys.zset_set(node == nullptr ? keys.create<SortedSet>(index) : *node, job, 1);
}

/// Passes on what it hears, as an oracle does.
struct Listener final : fakes::redis::KeyspaceObserver {
    LostRecords lost;
    void string_set(NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t, std::int64_t) override {
        lost.string_set(client, key, before, after);
    }
    void key_removed(NodeId, std::string_view key, Removal why, const fakes::redis::Value& last,
                     std::int64_t) override {
        lost.key_removed(key, why, last);
    }
    void losing(const Keyspace& before) override { lost.losing(before); }
    void restored(const Keyspace& now) override { lost.restored(now); }
};

class LostRecordsTest : public ::testing::Test {
protected:
    LostRecordsTest() { keys.add_observer(listener); }
    [[nodiscard]] bool lost(const char* job) const { return listener.lost.any_of(job); }
    [[nodiscard]] bool torn(const char* job) const { return listener.lost.in_part(job); }
    Keyspace keys;
    Listener listener;
};

TEST_F(LostRecordsTest, AFailoverLosesTheJobsThatItTakesBackAndNoOthers) {
    for (const char* job : {"kept", "changed", "gone"}) set_state(keys, job, "RUNNING");
    keys.restore([this] {
        set_state(keys, "changed", "PENDING");
        keys.remove(*keys.find("job:meta:gone"));
        set_state(keys, "back", "PENDING");
    });
    EXPECT_FALSE(lost("kept"));
    for (const char* job : {"changed", "gone", "back"}) {
        EXPECT_TRUE(lost(job)) << job;
        EXPECT_FALSE(torn(job)) << job << ": what it has of it agrees";
    }
}

TEST_F(LostRecordsTest, APlaceInAnIndexIsARecordOfTheJob) {
    set_state(keys, "a", "PENDING");
    set_state(keys, "b", "PENDING");
    list_in(keys, "job:index:pending", "a");
    list_in(keys, "job:index:pending", "b");
    keys.restore([this] { keys.zset_remove(*keys.find("job:index:pending"), "b"); });
    EXPECT_FALSE(lost("a"));
    EXPECT_TRUE(lost("b"));
}

TEST_F(LostRecordsTest, WhatIsEvictedIsLostInPart) {
    for (const char* job : {"a", "b", "c", "d"}) set_state(keys, job, "PENDING");
    keys.set_string("job:req:b", "{}", fakes::redis::kNever);
    keys.set_string("cordum:scheduler:job:d", "token", fakes::redis::kNever);
    list_in(keys, "job:index:pending", "c");
    for (const char* key : {"job:meta:a", "job:req:b", "job:index:pending", "cordum:scheduler:job:d"})
        keys.remove(*keys.find(key), Removal::evicted);
    EXPECT_TRUE(torn("a"));
    EXPECT_FALSE(lost("b")) << "a job without its request is given up";
    EXPECT_TRUE(torn("c"));
    EXPECT_FALSE(lost("d")) << "a lock is no record";
}

TEST_F(LostRecordsTest, WhatRanOutOrWasDeletedIsNotLost) {
    for (const char* job : {"a", "b"}) set_state(keys, job, "SUCCEEDED");
    keys.remove(*keys.find("job:meta:a"), Removal::expired);
    keys.remove(*keys.find("job:meta:b"));
    EXPECT_FALSE(lost("a"));
    EXPECT_FALSE(lost("b"));
}

TEST_F(LostRecordsTest, ATextThatWasCutIsLost) {
    for (const char* key : {"job:result_ptr:a", "job:req:b"}) {
        keys.set_string(key, "redis://res:a", fakes::redis::kNever);
        keys.set_string(key, "redis:", fakes::redis::kNever);
    }
    EXPECT_TRUE(lost("a"));
    EXPECT_FALSE(lost("b"));
}

TEST_F(LostRecordsTest, WhatARestartTakesIsNoFailovers) {
    LostRecords& records = listener.lost;
    records.two_primaries(true);
    records.two_primaries(false);  // nobody had to change turns any more
    records.restarting();
    set_state(keys, "a", "DISPATCHED");
    keys.restore([this] { set_state(keys, "a", "PENDING"); });
    EXPECT_TRUE(records.any_but_by_failover("a"));
    records.failing_over();
    set_state(keys, "b", "DISPATCHED");
    keys.restore([this] { set_state(keys, "b", "PENDING"); });
    EXPECT_FALSE(records.any_but_by_failover("b"));
}

// What oracles make of it: only the jobs that were lost are excused.

TEST(NoDuplicateDispatchWithLoss, ExcusesOnlyTheJobThatWasForgotten) {
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    NoDuplicateDispatch oracle(judge, tunables);
    Keyspace keys;
    keys.add_observer(judge.table);
    keys.add_observer(oracle);
    const auto arrive = [&judge, &oracle](std::string_view job) {
        fakes::Event event = testing::event_of(EventKind::core_deliver, job);
        event.subject = "worker.w.jobs";
        judge.tell(oracle, event, {});
    };
    for (const char* job : {"a", "b"}) {
        set_state(keys, job, "DISPATCHED");
        arrive(job);
    }
    keys.restore([&keys] { set_state(keys, "a", "PENDING"); });
    arrive("a");
    EXPECT_TRUE(judge.found.empty());
    arrive("b");
    EXPECT_EQ(judge.found.size(), 1U);
}

class NoLostJobWithLoss : public ::testing::Test {
protected:
    NoLostJobWithLoss() {
        keys.add_observer(judge.table);
        keys.add_observer(oracle);
    }
    void submit(const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.default");
        const cap::BusPacket packet = engine::wire::make_packet(std::move(request), "trace", "gateway", {});
        const std::string id = "jobreq:" + job;
        fakes::Event stored = testing::event_of(EventKind::stored, job);
        stored.subject = engine::wire::kSubjectSubmit;
        stored.message_id = id;
        stored.packet = &packet;
        judge.tell(oracle, stored, {});
        fakes::Event told = testing::event_of(EventKind::submit, job, fakes::When::answered);
        told.flag = true;
        judge.tell(oracle, told, {});
    }
    void take_up(const std::string& job) {
        set_state(keys, job, "PENDING");
        judge.tell(oracle, testing::state_event(job, "", "PENDING"), {});
    }
    void cut_power() { befalls("nats.power_cut"); }
    void befalls(const char* name) {
        fakes::Event fault = testing::event_of(EventKind::fault, {});
        fault.name = name;
        fault.from = "begin";
        judge.tell(oracle, fault, {});
    }
    [[nodiscard]] std::vector<std::string> verdicts() {
        judge.found.clear();
        oracle.at_rest({.redis = keys, .quiet = true});
        return judge.found;
    }
    testing::KeepingJudge judge;
    NoLostJob oracle{judge};
    Keyspace keys;
};

TEST_F(NoLostJobWithLoss, ALeaderThatGoesBeforeAnyTickHasNotedItMayTakeAlongWhatItHad) {
    submit("a");
    befalls("nats.new_leader");
    EXPECT_THAT(verdicts(), ::testing::IsEmpty());
    submit("b");
    judge.hash_set(oracle, {}, "lockstep:durable:dur_cordum-scheduler__sys_job_submit", "leader", nullptr, "n1");
    befalls("nats.new_leader");
    ASSERT_EQ(verdicts().size(), 1U);
    EXPECT_TRUE(judge.found.front().starts_with("b: "));
}

TEST_F(NoLostJobWithLoss, ExcusesOnlyTheJobThatWasForgotten) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        take_up(job);
    }
    EXPECT_EQ(verdicts().size(), 2U);
    keys.restore([this] { keys.remove(*keys.find("job:meta:a")); });
    ASSERT_EQ(verdicts().size(), 1U);
    EXPECT_TRUE(judge.found.front().starts_with("b: "));
}

TEST_F(NoLostJobWithLoss, APowerCutExcusesWhatOnlyTheStreamKnew) {
    submit("known");
    take_up("known");
    submit("stored");
    cut_power();
    submit("later");
    ASSERT_EQ(verdicts().size(), 2U);
    EXPECT_TRUE(judge.found[0].starts_with("known: "));
    EXPECT_TRUE(judge.found[1].starts_with("later: "));
}

}  // namespace
}  // namespace lockstep::sim
