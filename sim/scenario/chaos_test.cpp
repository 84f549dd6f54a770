#include "sim/scenario/chaos.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/store/keys.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;

Scenario with_chaos(const std::string& chaos) {
    const auto scenario = parse_scenario(R"({"name": "t", "duration": "15m", "cluster": {"schedulers": 3,
        "workers": [{"id": "w", "count": 4}]}, "expect": {"invariants": ["legal_transitions"]}, "chaos": )" +
                                             chaos + "}",
                                         "test.json");
    EXPECT_TRUE(scenario);
    return scenario ? *scenario : Scenario{};
}

std::vector<Fault> drawn(const Scenario& scenario, std::uint64_t seed) {
    return draw_chaos(scenario, Topology(scenario.cluster), seed);
}

std::string outline(const std::vector<Fault>& faults) {
    std::string text;
    for (const Fault& fault : faults) text += std::string(fault.kind()) + " " + fault_document(fault).dump() + "; ";
    return text;
}

TEST(Chaos, IsAFunctionOfTheSeed) {
    const Scenario scenario = with_chaos(R"({"level": "moderate"})");
    EXPECT_EQ(outline(drawn(scenario, 1)), outline(drawn(scenario, 1)));
    EXPECT_NE(outline(drawn(scenario, 1)), outline(drawn(scenario, 2)));
}

TEST(Chaos, EveryFaultEndsBeforeHealing) {
    const Scenario scenario = with_chaos(R"({"level": "heavy", "heal_at": "8m", "data_loss": true})");
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Duration last{};
        for (const Fault& fault : drawn(scenario, seed)) {
            EXPECT_GE(fault.at, last) << "by begin";
            last = fault.at;
            EXPECT_LE(fault.at + fault.duration.value_or(0s), 8min) << fault.kind();
            EXPECT_TRUE(fault.duration || fault.kind() == "clock_jump" || fault.kind() == "redis.script_flush" ||
                        fault.kind() == "redis.evict")
                << fault.kind();
            EXPECT_NE(find_fault(fault.kind()), nullptr) << fault.kind();
        }
    }
}

TEST(Chaos, NoFaultIsInForceInAFaultFreeStretch) {
    const Scenario scenario = with_chaos(
        R"({"level": "heavy", "heal_at": "8m", "fault_free": [{"at": "4m", "for": "1m"}, {"at": "1m", "for": "90s"}]})");
    int between = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        for (const Fault& fault : drawn(scenario, seed)) {
            for (const auto& [from, to] : {std::pair<Duration, Duration>{1min, 150s}, {4min, 5min}})
                EXPECT_TRUE(fault.at + fault.duration.value_or(0s) <= from || fault.at >= to) << fault.kind();
            between += fault.at > 2min && fault.at < 4min ? 1 : 0;
        }
    }
    EXPECT_GT(between, 0);
}

TEST(Chaos, ClocksThatJumpJumpBack) {
    const Scenario scenario = with_chaos(R"({"level": "heavy", "faults": ["clock"]})");
    std::map<std::string, Duration> offsets;
    for (const Fault& fault : drawn(scenario, 3)) {
        const auto& jump = std::get<faults::ClockJump>(fault.what);
        offsets[jump.target] += jump.by;
    }
    EXPECT_FALSE(offsets.empty());
    for (const auto& [node, offset] : offsets) EXPECT_EQ(offset, 0s) << node;
}

TEST(Chaos, AcknowledgedDataIsDestroyedOnlyOnRequest) {
    std::set<std::string> without;
    std::set<std::string> with;
    const Scenario safe = with_chaos(R"({"level": "heavy"})");
    const Scenario lossy = with_chaos(R"({"level": "heavy", "data_loss": true})");
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        for (const Fault& fault : drawn(safe, seed)) without.emplace(fault.kind());
        for (const Fault& fault : drawn(lossy, seed)) with.emplace(fault.kind());
    }
    for (const char* kind : {"redis.failover", "redis.evict", "nats.power_cut"}) {
        EXPECT_FALSE(without.contains(kind)) << kind;
        EXPECT_TRUE(with.contains(kind)) << kind;
    }
    EXPECT_TRUE(without.contains("redis.restart")) << "nothing is lost when every write is synced";
}

TEST(Chaos, LosesOnlyWhatTheNamedServerHad) {
    for (const char* server : {"nats", "redis"}) {
        std::set<std::string> kinds;
        const Scenario lossy = with_chaos(std::string(R"({"level": "heavy", "data_loss": ")") + server + "\"}");
        for (std::uint64_t seed = 0; seed < 30; ++seed)
            for (const Fault& fault : drawn(lossy, seed)) kinds.emplace(fault.kind());
        EXPECT_EQ(kinds.contains("nats.power_cut"), server == std::string("nats"));
        EXPECT_EQ(kinds.contains("redis.failover"), server == std::string("redis"));
        EXPECT_EQ(kinds.contains("redis.evict"), server == std::string("redis"));
    }
}

TEST(Chaos, EvictsKeysThatTheEngineWrites) {
    const Scenario lossy = with_chaos(R"({"level": "heavy", "faults": ["redis"], "data_loss": true})");
    bool lock = false;
    bool record = false;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        for (const Fault& fault : drawn(lossy, seed)) {
            const auto* evict = std::get_if<faults::RedisEvict>(&fault.what);
            if (evict == nullptr) continue;
            const bool of_lock = evict->keys == engine::keys::job_lock(engine::JobId("*"));
            const bool of_record = evict->keys.starts_with(engine::keys::job_meta(engine::JobId("*"))) &&
                                   evict->keys.size() == engine::keys::job_meta(engine::JobId("*")).size() + 1;
            EXPECT_TRUE(of_lock || of_record) << evict->keys;
            lock = lock || of_lock;
            record = record || of_record;
        }
    }
    EXPECT_TRUE(lock);
    EXPECT_TRUE(record);
}

TEST(Chaos, ARestartThatForgetsCountsAsDataLoss) {
    Scenario scenario = with_chaos(R"({"level": "heavy", "faults": ["redis"]})");
    scenario.cluster.redis_persistence = RedisPersistence::everysec;
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        for (const Fault& fault : drawn(scenario, seed)) EXPECT_NE(fault.kind(), "redis.restart");
}

TEST(Chaos, WhatStaysBrokenLeavesASufficientPart) {
    for (const char* heal : {"core", "stay_down"}) {
        const Scenario scenario =
            with_chaos(std::string(R"({"level": "heavy", "faults": ["crash", "pause"], "heal": ")") + heal + "\"}");
        bool stays = false;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            for (const Fault& fault : drawn(scenario, seed)) {
                EXPECT_NE(fault.part<faults::OfNode>()->target, "scheduler-0");
                EXPECT_NE(fault.part<faults::OfNode>()->target, "w-0");
                EXPECT_NE(fault.part<faults::OfNode>()->target, "w-1");
                stays = stays || !fault.duration;
            }
        }
        EXPECT_TRUE(stays) << heal;
    }
}

TEST(Chaos, HigherLevelsDrawMore) {
    std::size_t before = 0;
    for (const char* level : {"light", "moderate", "heavy"}) {
        const Scenario scenario = with_chaos(std::string(R"({"level": ")") + level + "\"}");
        std::size_t count = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) count += drawn(scenario, seed).size();
        EXPECT_GT(count, before) << level;
        before = count;
    }
}

}  // namespace
}  // namespace lockstep::sim
