#include "engine/routing/registry.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

class RegistryTest : public ::testing::Test {
protected:
    void heartbeat(const std::string& id, const std::string& pool, int active = 0) {
        cap::Heartbeat heartbeat;
        heartbeat.set_worker_id(id);
        heartbeat.set_pool(pool);
        heartbeat.set_type("cpu");
        heartbeat.set_active_jobs(active);
        registry.on_heartbeat(heartbeat, now);
    }
    void handshake(const std::string& id, cap::ComponentRole role) {
        cap::Handshake handshake;
        handshake.set_component_id(id);
        handshake.set_role(role);
        handshake.set_sdk_version("2.8.4");
        registry.on_handshake(handshake, now);
    }
    bool hydrate(const std::string& id, const std::string& pool, Duration lives = 15s) {
        Worker worker;
        worker.id = WorkerId(id);
        worker.pool = pool;
        worker.max_parallel_jobs = 4;
        return registry.hydrate(std::move(worker), now + lives, now);
    }
    [[nodiscard]] std::vector<std::string> heard() const {
        std::vector<std::string> ids;
        registry.for_each_heard(now, [&ids](const Worker& worker) { ids.push_back(worker.id.text()); });
        return ids;
    }
    [[nodiscard]] std::vector<std::string> members(std::string_view pool) const {
        std::vector<std::string> ids;
        const LoadIndex::Order* order = registry.by_load().of_pool(pool);
        for (const auto& place : order == nullptr ? LoadIndex::Order{} : *order)
            if (Registry::alive(*place.worker, now)) ids.push_back(place.worker->id.text());
        std::ranges::sort(ids);
        return ids;
    }
    using Ids = std::vector<std::string>;

    MonoTime now{1h};
    Registry registry{30s};
};

// REG-01
TEST_F(RegistryTest, AHeartbeatMakesAWorkerKnown) {
    heartbeat("w1", "default");
    EXPECT_EQ(registry.size(), 1u);
    const Worker* worker = registry.find_routable(WorkerId("w1"), now);
    ASSERT_NE(worker, nullptr);
    EXPECT_EQ(worker->type, "cpu");
}

// REG-02
TEST_F(RegistryTest, AWorkersHandshakeMakesItAliveButNotRoutable) {
    handshake("w1", cap::COMPONENT_ROLE_WORKER);
    handshake("gw", cap::COMPONENT_ROLE_GATEWAY);
    handshake("", cap::COMPONENT_ROLE_WORKER);
    EXPECT_EQ(registry.size(), 1u);
    EXPECT_TRUE(registry.is_alive(WorkerId("w1"), now));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now), nullptr);
    heartbeat("w1", "default");
    ASSERT_NE(registry.find_routable(WorkerId("w1"), now), nullptr);
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->sdk_version, "2.8.4");
}

// REG-03
TEST_F(RegistryTest, WorkersAreListedPerPoolById) {
    heartbeat("w2", "A");
    heartbeat("w1", "A");
    heartbeat("w3", "B");
    EXPECT_EQ(members("A"), (Ids{"w1", "w2"}));
    EXPECT_EQ(members("B"), (Ids{"w3"}));
    EXPECT_EQ(members("C"), Ids{});
}

TEST_F(RegistryTest, AWorkerThatChangesItsPoolLeavesTheOldOne) {
    heartbeat("w1", "A");
    heartbeat("w1", "B");
    EXPECT_EQ(members("A"), Ids{});
    EXPECT_EQ(members("B"), (Ids{"w1"}));
    EXPECT_EQ(registry.size(), 1u);
}

// STALE-01, REG-05
TEST_F(RegistryTest, AWorkerIsAliveForItsTimeToLiveAndNotLonger) {
    EXPECT_FALSE(registry.is_alive(WorkerId("w1"), now));
    heartbeat("w1", "A");
    EXPECT_TRUE(registry.is_alive(WorkerId("w1"), now));
    now += 30s;
    EXPECT_TRUE(registry.is_alive(WorkerId("w1"), now));
    EXPECT_EQ(members("A"), (Ids{"w1"}));
    now += 1ns;
    EXPECT_FALSE(registry.is_alive(WorkerId("w1"), now));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now), nullptr);
    EXPECT_EQ(members("A"), Ids{});
}

TEST_F(RegistryTest, ASweepForgetsTheSilentAndKeepsTheRest) {
    heartbeat("w1", "A");
    handshake("w2", cap::COMPONENT_ROLE_WORKER);
    now += 31s;
    heartbeat("w3", "A");
    registry.sweep(now);
    EXPECT_EQ(registry.size(), 1u);
    EXPECT_EQ(members("A"), (Ids{"w3"}));
    heartbeat("w1", "A");
    EXPECT_EQ(members("A"), (Ids{"w1", "w3"}));
}

// H-25: a burst between two heartbeats must not look like an idle worker.
TEST_F(RegistryTest, DispatchesCountUntilTheNextHeartbeat) {
    heartbeat("w1", "A", 2);
    registry.note_dispatch(WorkerId("w1"));
    registry.note_dispatch(WorkerId("w1"));
    registry.forget_dispatch(WorkerId("w1"));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->sent_since_heartbeat, 1);
    heartbeat("w1", "A", 3);
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->sent_since_heartbeat, 0);
    registry.forget_dispatch(WorkerId("w1"));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->sent_since_heartbeat, 0);
    registry.note_dispatch(WorkerId("nobody"));
    registry.forget_dispatch(WorkerId("nobody"));
    EXPECT_EQ(registry.size(), 1u);
}

TEST_F(RegistryTest, EndsCountUntilTheNextHeartbeat) {
    heartbeat("w1", "A", 2);
    registry.note_end(WorkerId("w1"));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->ended_since_heartbeat, 1);
    heartbeat("w1", "A", 1);
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->ended_since_heartbeat, 0);
    registry.note_end(WorkerId("nobody"));
    EXPECT_EQ(registry.size(), 1u);
}

// REG-04
TEST_F(RegistryTest, StatisticsCountRoutableWorkersByPool) {
    EXPECT_EQ(registry.statistics(now).workers, 0u);
    EXPECT_TRUE(registry.statistics(now).by_pool.empty());
    for (const char* id : {"g1", "g2"}) heartbeat(id, "gpu");
    for (const char* id : {"c1", "c2", "c3"}) heartbeat(id, "cpu");
    using Pools = std::map<std::string, std::size_t, std::less<>>;
    EXPECT_EQ(registry.statistics(now).workers, 5u);
    EXPECT_EQ(registry.statistics(now).by_pool, (Pools{{"cpu", 3}, {"gpu", 2}}));
    heartbeat("stray", "");
    handshake("silent", cap::COMPONENT_ROLE_WORKER);
    EXPECT_EQ(registry.statistics(now).by_pool, (Pools{{"(none)", 1}, {"cpu", 3}, {"gpu", 2}}));
}

// REG-05
TEST_F(RegistryTest, StatisticsDoNotCountTheSilent) {
    heartbeat("w1", "A");
    now += 31s;
    heartbeat("w2", "A");
    EXPECT_EQ(registry.statistics(now).workers, 1u);
    EXPECT_EQ(heard(), (Ids{"w2"}));
}

// H-52: until it has been heard, a worker of a snapshot lives for the time that it was given and no longer.
TEST_F(RegistryTest, AHydratedWorkerIsRoutableForItsOwnTime) {
    EXPECT_TRUE(hydrate("w1", "A"));
    EXPECT_TRUE(hydrate("w2", "A"));
    EXPECT_EQ(members("A"), (Ids{"w1", "w2"}));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->max_parallel_jobs, 4);
    EXPECT_EQ(heard(), Ids{}) << "what this replica knows by hearsay it does not pass on";
    heartbeat("w2", "A");
    now += 15s;
    EXPECT_EQ(members("A"), (Ids{"w1", "w2"}));
    now += 1ns;
    EXPECT_EQ(members("A"), (Ids{"w2"}));
    EXPECT_FALSE(registry.is_alive(WorkerId("w1"), now));
    EXPECT_EQ(heard(), (Ids{"w2"}));
}

// H-52: a handshake is a sign of life, and says nothing of what is known by hearsay.
TEST_F(RegistryTest, AHandshakeKeepsAHydratedWorkerAliveAndDoesNotVouchForIt) {
    EXPECT_TRUE(hydrate("w1", "A"));
    handshake("w1", cap::COMPONENT_ROLE_WORKER);
    now += 30s;
    EXPECT_EQ(members("A"), (Ids{"w1"}));
    EXPECT_EQ(heard(), Ids{});
    heartbeat("w1", "A");
    handshake("w1", cap::COMPONENT_ROLE_WORKER);
    EXPECT_EQ(heard(), (Ids{"w1"}));
}

// H-24
TEST_F(RegistryTest, ASnapshotDoesNotOverwriteWhatWasHeard) {
    heartbeat("w1", "A", 7);
    handshake("w2", cap::COMPONENT_ROLE_WORKER);
    EXPECT_FALSE(hydrate("w1", "B"));
    EXPECT_FALSE(hydrate("w2", "B"));
    EXPECT_EQ(members("A"), (Ids{"w1"}));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->active_jobs, 7);
    now += 31s;
    EXPECT_TRUE(hydrate("w1", "B")) << "nothing has been heard of it for too long";
    EXPECT_EQ(members("A"), Ids{});
    EXPECT_EQ(members("B"), (Ids{"w1"}));
}

TEST_F(RegistryTest, AWorkerWhoseTimeIsOverOrWhoCannotBeAddressedIsNotHydrated) {
    EXPECT_FALSE(hydrate("w1", "A", -1ns));
    for (const char* id : {"", "a.b", "*"}) EXPECT_FALSE(hydrate(id, "A"));
    EXPECT_EQ(registry.size(), 0u);
}

TEST_F(RegistryTest, ALaterSnapshotReplacesAnEarlierOne) {
    EXPECT_TRUE(hydrate("w1", "A", 1s));
    EXPECT_TRUE(hydrate("w1", "B", 10s));
    now += 5s;
    EXPECT_EQ(members("A"), Ids{});
    EXPECT_EQ(members("B"), (Ids{"w1"}));
}

// worker..jobs is no subject, worker.a.b.jobs is in no stream, worker.*.jobs is everybody's.
TEST_F(RegistryTest, AnIdThatIsNoTokenOfASubjectIsIgnored) {
    for (const char* id : {"", "a.b", "*", "a>", "a b", "a\tb", "a\n"}) heartbeat(id, "A");
    EXPECT_EQ(registry.size(), 0u);
    EXPECT_EQ(members("A"), Ids{});
}

TEST_F(RegistryTest, AHeartbeatOutsideSenseChangesNothing) {
    heartbeat("w1", "A", 3);
    now += 20s;
    cap::Heartbeat odd;
    odd.set_worker_id("w1");
    odd.set_pool("B");
    odd.set_active_jobs(-7);
    EXPECT_EQ(registry.on_heartbeat(odd, now), "jobs");
    EXPECT_EQ(members("A"), (Ids{"w1"}));
    EXPECT_EQ(registry.find_routable(WorkerId("w1"), now)->active_jobs, 3);
    now += 10s + 1ns;
    EXPECT_FALSE(registry.is_alive(WorkerId("w1"), now))
        << "the last sound one holds for its time to live, and no longer";
    odd.set_worker_id("ghost");
    odd.set_active_jobs(0);
    odd.set_cpu_load(std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(registry.on_heartbeat(odd, now), "load");
    EXPECT_EQ(registry.find_routable(WorkerId("ghost"), now), nullptr);
    cap::Handshake handshake;
    handshake.set_role(cap::COMPONENT_ROLE_WORKER);
    handshake.set_component_id("a.b");
    EXPECT_EQ(registry.on_handshake(handshake, now), "worker_id");
}

TEST_F(RegistryTest, ASnapshotIsHeldToTheSameBounds) {
    Worker worker;
    worker.id = WorkerId("w1");
    worker.active_jobs = -1;
    EXPECT_FALSE(registry.hydrate(worker, now + 15s, now));
    worker.active_jobs = 0;
    worker.memory_load = 1e9F;
    EXPECT_FALSE(registry.hydrate(worker, now + 15s, now));
    worker.memory_load = 10;
    EXPECT_TRUE(registry.hydrate(worker, now + 15s, now));
}

TEST_F(RegistryTest, OnlySoManyWorkersAreKnown) {
    for (std::size_t i = 0; i < Registry::kWorkersMax; ++i) heartbeat("w" + std::to_string(i), "A");
    EXPECT_EQ(registry.size(), Registry::kWorkersMax);
    cap::Heartbeat more;
    more.set_worker_id("one-too-many");
    EXPECT_EQ(registry.on_heartbeat(more, now), "too_many_workers");
    EXPECT_FALSE(hydrate("another", "A"));
    handshake("a-third", cap::COMPONENT_ROLE_WORKER);
    EXPECT_EQ(registry.size(), Registry::kWorkersMax);
    now += 20s;
    heartbeat("w7", "B", 2);
    EXPECT_EQ(registry.find_routable(WorkerId("w7"), now)->active_jobs, 2) << "whoever is known goes on being heard";
    now += 20s;
    registry.sweep(now);
    EXPECT_EQ(registry.on_heartbeat(more, now), "");
}

TEST_F(RegistryTest, UnboundedItBelievesEverything) {
    Registry open(30s, false);
    cap::Heartbeat odd;
    odd.set_worker_id("w1");
    odd.set_active_jobs(-7);
    EXPECT_EQ(open.on_heartbeat(odd, now), "");
    EXPECT_EQ(open.find_routable(WorkerId("w1"), now)->active_jobs, -7);
}

}  // namespace
}  // namespace lockstep::engine
