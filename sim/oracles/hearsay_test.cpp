#include "sim/oracles/hearsay.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using namespace std::chrono_literals;

class HearsayTest : public ::testing::Test {
protected:
    void hear(fakes::NodeId replica, const std::string& worker, int active) {
        cap::BusPacket packet;
        packet.mutable_heartbeat()->set_worker_id(worker);
        packet.mutable_heartbeat()->set_pool("p");
        packet.mutable_heartbeat()->set_active_jobs(active);
        fakes::Event event = testing::event_of(fakes::EventKind::core_deliver, "");
        event.node = replica;
        event.packet = &packet;
        tell(event);
    }
    static std::string snapshot_of(const std::string& worker, int active, int second = 40) {
        return fmt::format(R"({{"captured_at":"1970-01-01T00:01:{}Z","topics":{{}},"workers":[{{"worker_id":"{}",)"
                           R"("pool":"p","active_jobs":{},"max_parallel_jobs":0}}]}})",
                           second, worker, active);
    }
    /// At 100 s by the clock of Redis.
    void write(fakes::NodeId replica, const std::string& text) {
        take_writer_lock(replica);
        store(replica, text);
    }
    void take_writer_lock(fakes::NodeId replica) {
        fakes::Event lock = testing::event_of(fakes::EventKind::lock_acquired, "");
        lock.node = replica;
        lock.key = "cordum:scheduler:snapshot:writer";
        tell(lock);
    }
    void go_down(fakes::NodeId replica) {
        fakes::Event down = testing::event_of(fakes::EventKind::node_down, "");
        down.node = replica;
        tell(down);
    }
    void store(fakes::NodeId replica, const std::string& text) {
        stored = text;
        oracle.string_set(replica, kWorkerSnapshot, nullptr, text, 0, engine::to_millis(tunables.data_ttl) + 100'000);
        tell(testing::event_of(fakes::EventKind::redis, ""));
    }
    void read(fakes::NodeId replica, fakes::When when = fakes::When::answered) {
        fakes::Event event = testing::event_of(fakes::EventKind::redis, "", when);
        event.node = replica;
        event.command = "GET";
        event.key = kWorkerSnapshot;
        event.payload = stored;
        tell(event);
    }
    void send(fakes::NodeId replica, const std::string& job, const std::string& worker) {
        fakes::Event lock = testing::event_of(fakes::EventKind::lock_acquired, job);
        lock.node = replica;
        tell(lock);
        oracle.hash_set(replica, "job:meta:" + job, "ls_worker", nullptr, worker);
    }
    void tell(const fakes::Event& event) {
        ++judge.number;
        judge.tell(oracle, event, now);
    }

    Time now{100s};
    std::string stored;
    engine::Tunables tunables;
    testing::KeepingJudge judge;
    Hearsay oracle{judge, tunables};
};

TEST_F(HearsayTest, WhatAWorkerSaidLastMayBeWritten) {
    hear(kReplica, "w", 1);
    hear(kReplica, "w", 2);
    write(kReplica, snapshot_of("w", 2));
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(HearsayTest, WhatItSaidBeforeThatMayNot) {
    hear(kReplica, "w", 1);
    hear(kReplica, "w", 2);
    write(kReplica, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("what that worker has not said last")));
}

TEST_F(HearsayTest, WhoHasOnlyReadOfAWorkerDoesNotNameIt) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    read(kOther);
    write(kOther, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("which it knows only by hearsay")));
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(HearsayTest, AWorkerThatHasFallenSilentIsNotNamed) {
    hear(kReplica, "w", 1);
    now += tunables.worker_ttl + tunables.worker_ttl / 10;
    write(kReplica, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, IsEmpty()) << "its clock may be slow";
    now += tunables.worker_ttl / 10;
    write(kReplica, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("too old")));
}

TEST_F(HearsayTest, WhatTakesEffectAfterACrashIsTheWordOfWhoHasCrashed) {
    hear(kReplica, "w", 1);
    take_writer_lock(kReplica);
    go_down(kReplica);
    store(kReplica, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, IsEmpty());
    store(kReplica, snapshot_of("v", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of which it has never heard")));
    judge.found.clear();
    write(kReplica, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of which it has never heard"))) << "it has come up with no memory";
}

TEST_F(HearsayTest, AHandshakeDoesNotVouchForHearsay) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    read(kOther);
    cap::BusPacket packet;
    packet.mutable_handshake()->set_component_id("w");
    packet.mutable_handshake()->set_role(cap::COMPONENT_ROLE_WORKER);
    fakes::Event event = testing::event_of(fakes::EventKind::core_deliver, "");
    event.node = kOther;
    event.packet = &packet;
    tell(event);
    write(kOther, snapshot_of("w", 1));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("which it knows only by hearsay")));
}

TEST_F(HearsayTest, NobodyDatesASnapshotAhead) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1, 42));
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("ahead of the clock of Redis")));
}

TEST_F(HearsayTest, HearsayHoldsForAWhile) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    read(kOther);
    now += tunables.hydrated_worker_ttl;
    send(kOther, "a", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    now += tunables.hydrated_worker_ttl / 4;
    send(kOther, "b", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of which only a snapshot has told")));
}

TEST_F(HearsayTest, OldHearsayHoldsForLess) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    now += tunables.worker_ttl - 1s;
    read(kOther);
    now += 8s;
    send(kOther, "a", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of which only a snapshot has told")));
}

TEST_F(HearsayTest, ItIsAsOldAsTheOneThatWasFoundWhateverHasBeenStoredSince) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    now += tunables.worker_ttl - 1s;
    read(kOther, fakes::When::applied);
    write(kReplica, snapshot_of("w", 1));
    read(kOther);
    now += 8s;
    send(kOther, "a", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of which only a snapshot has told")));
}

TEST_F(HearsayTest, WhoHasHeardTheWorkerMeanwhileNeedsNoHearsay) {
    hear(kReplica, "w", 1);
    write(kReplica, snapshot_of("w", 1));
    read(kOther);
    hear(kOther, "w", 1);
    now += tunables.worker_ttl;
    send(kOther, "a", "w");
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
