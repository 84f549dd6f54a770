#include "engine/snapshot/worker_snapshot.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kCaptured{1'767'225'605s + 900ms};  // 2026-01-01T00:00:05.9Z

class WorkerSnapshotTest : public ::testing::Test {
protected:
    cap::Heartbeat beat(const std::string& id, const std::string& pool, int slots) {
        cap::Heartbeat beat;
        beat.set_worker_id(id);
        beat.set_pool(pool);
        beat.set_max_parallel_jobs(slots);
        return beat;
    }
    void hear(const cap::Heartbeat& heartbeat) { registry.on_heartbeat(heartbeat, now); }
    [[nodiscard]] std::string text(std::string_view writer = "s-1") const {
        return worker_snapshot_json(registry, routing, writer, kCaptured, now);
    }
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(text()); }

    MonoTime now{1h};
    Registry registry{30s, false};  // whatever was let in
    RoutingTable routing =
        *parse_pools(R"({"topics": {"job.a": ["default", "gpu"], "job.b": "gpu", "job.c": "empty"}})");
};

// Every key of redis-schema, section 6, and no other; the same bytes for the same content.
TEST_F(WorkerSnapshotTest, HasExactlyTheKeysAndTheOrderOfTheSpecification) {
    auto rich = beat("w2", "gpu", 4);
    rich.set_active_jobs(3);
    rich.set_cpu_load(12.3F);
    rich.set_gpu_utilization(0.1F);
    rich.set_memory_load(50);
    rich.set_region("eu");
    rich.set_type("cuda");
    rich.add_capabilities("cuda");
    (*rich.mutable_labels())["node.zone"] = "b";
    (*rich.mutable_labels())["node.rack"] = "a";
    hear(rich);
    hear(beat("w1", "default", 0));
    EXPECT_EQ(
        text(),
        R"({"captured_at":"2026-01-01T00:00:05Z","writer_id":"s-1",)"
        R"("pools":{"default":{"workers":1,"active_jobs":0,"capacity":0},"gpu":{"workers":1,"active_jobs":3,"capacity":4}},)"
        R"("topics":{"job.a":{"pool":"default","workers":1,"capacity":0,"available":true},)"
        R"("job.b":{"pool":"gpu","workers":1,"capacity":4,"available":true},)"
        R"("job.c":{"pool":"empty","workers":0,"capacity":0,"available":false}},)"
        R"("workers":[{"worker_id":"w1","pool":"default","active_jobs":0,"max_parallel_jobs":0},)"
        R"({"worker_id":"w2","pool":"gpu","active_jobs":3,"max_parallel_jobs":4,"capabilities":["cuda"],"cpu_load":12.3,)"
        R"("gpu_utilization":0.1,"memory_load":50.0,"region":"eu","type":"cuda",)"
        R"("labels":{"node.rack":"a","node.zone":"b"}}]})");
}

// REG-07
TEST_F(WorkerSnapshotTest, WithoutWorkersThereAreNoPoolsAndNobodyIsThere) {
    const auto document = nlohmann::json::parse(text(""));
    EXPECT_FALSE(document.contains("writer_id"));
    EXPECT_FALSE(document.contains("pools"));
    EXPECT_EQ(document.at("workers").size(), 0u);
    EXPECT_FALSE(document.at("topics").at("job.a").at("available"));
    for (const std::string& empty : {text(""), std::string("{}"), std::string(R"({"workers":null})")}) {
        const auto parsed = parse_worker_snapshot(empty);
        ASSERT_TRUE(parsed) << parsed.error();
        EXPECT_TRUE(parsed->workers.empty());
    }
}

// REG-05, and redis-schema: only workers with a heartbeat, and not those that are known by hearsay alone (H-52)
TEST_F(WorkerSnapshotTest, NamesOnlyWorkersThatWereHeardWithinTheirTimeToLive) {
    hear(beat("silent", "default", 1));
    now += 31s;
    hear(beat("w1", "default", 1));
    cap::Handshake hello;
    hello.set_component_id("newcomer");
    hello.set_role(cap::COMPONENT_ROLE_WORKER);
    registry.on_handshake(hello, now);
    Worker remembered;
    remembered.id = WorkerId("remembered");
    ASSERT_TRUE(registry.hydrate(std::move(remembered), now + 1s, now));
    ASSERT_EQ(json().at("workers").size(), 1u);
    EXPECT_EQ(json().at("workers").at(0).at("worker_id"), "w1");
    EXPECT_EQ(json().at("pools").at("default").at("workers"), 1);
}

// REG-06, C-33: nothing that routing looks at is lost on the way.
TEST_F(WorkerSnapshotTest, EverythingThatAWorkerToldComesBack) {
    hear(beat("w1", "default", 2));
    hear(beat("w2", "default", 2));
    auto w3 = beat("w3", "gpu", 4);
    w3.set_active_jobs(2);
    w3.set_cpu_load(33.3F);
    w3.set_gpu_utilization(66.6F);
    w3.set_memory_load(99.9F);
    w3.set_region("eu");
    w3.set_type("gpu");
    w3.add_capabilities("cuda");
    (*w3.mutable_labels())["placement.zone"] = "b";
    hear(w3);
    const auto snapshot = parse_worker_snapshot(text());
    ASSERT_TRUE(snapshot) << snapshot.error();
    EXPECT_EQ(snapshot->writer_id, "s-1");
    EXPECT_EQ(snapshot->captured_at, std::chrono::floor<std::chrono::seconds>(kCaptured));
    ASSERT_EQ(snapshot->workers.size(), 3u);
    const Worker& worker = snapshot->workers.back();
    EXPECT_EQ(worker.id.text(), "w3");
    EXPECT_EQ(worker.pool, "gpu");
    EXPECT_EQ(worker.active_jobs, 2);
    EXPECT_EQ(worker.max_parallel_jobs, 4);
    EXPECT_EQ(worker.cpu_load, 33.3F);
    EXPECT_EQ(worker.gpu_utilization, 66.6F);
    EXPECT_EQ(worker.memory_load, 99.9F);
    EXPECT_EQ(worker.region, "eu");
    EXPECT_EQ(worker.type, "gpu");
    EXPECT_EQ(worker.capabilities, (std::vector<std::string>{"cuda"}));
    EXPECT_EQ(worker.labels, (std::map<std::string, std::string>{{"placement.zone", "b"}}));

    Registry other{30s};
    for (const Worker& known : snapshot->workers) ASSERT_TRUE(other.hydrate(known, now + 15s, now));
    EXPECT_EQ(other.statistics(now).workers, 3u);
    EXPECT_EQ(other.statistics(now).by_pool.at("default"), 2u);
    EXPECT_EQ(other.statistics(now).by_pool.at("gpu"), 1u);
}

TEST_F(WorkerSnapshotTest, OtherWritersAreUnderstood) {
    const auto snapshot = parse_worker_snapshot(
        R"({"captured_at":"2026-01-01T01:00:05.25+01:00","extra":{"a":[1]},"workers":[)"
        R"({"worker_id":"","pool":"x"},)"
        R"({"worker_id":"w","pool":"p","active_jobs":99999999999,"max_parallel_jobs":-99999999999,"capabilities":null,"new":7}]})");
    ASSERT_TRUE(snapshot) << snapshot.error();
    EXPECT_EQ(snapshot->captured_at, WallTime(1'767'225'605s + 250ms));
    ASSERT_EQ(snapshot->workers.size(), 1u);
    EXPECT_EQ(snapshot->workers[0].active_jobs, std::numeric_limits<std::int32_t>::max());
    EXPECT_EQ(snapshot->workers[0].max_parallel_jobs, std::numeric_limits<std::int32_t>::min());
}

TEST_F(WorkerSnapshotTest, WhatCannotBeReadIsNotBelievedInPart) {
    const std::string good = R"({"worker_id":"good","pool":"p"})";
    const auto with = [&good](const std::string& worker) {
        return R"({"captured_at":"2026-01-01T00:00:05Z","workers":[)" + good + "," + worker + "]}";
    };
    ASSERT_TRUE(parse_worker_snapshot(with(good)));
    for (const std::string& bad : {
             std::string("{\"workers\":["),
             std::string("[]"),
             std::string("7"),
             std::string(R"({"workers":{}})"),
             R"({"workers":[)" + good + "]}",
             R"({"captured_at":"yesterday","workers":[)" + good + "]}",
             R"({"captured_at":"2300-01-01T00:00:05Z","workers":[)" + good + "]}",
             R"({"captured_at":"0001-01-01T00:00:05Z","workers":[)" + good + "]}",
             with("7"),
             with(R"({"worker_id":7})"),
             with(R"({"worker_id":"w","active_jobs":"two"})"),
             with(R"({"worker_id":"w","active_jobs":1.5})"),
             with(R"({"worker_id":"w","cpu_load":"high"})"),
             with(R"({"worker_id":"w","cpu_load":1e300})"),
             with(R"({"worker_id":"w","capabilities":[1]})"),
             with(R"({"worker_id":"w","labels":{"a":1}})"),
             with("{\"worker_id\":\"\xff\"}"),
         }) {
        const auto parsed = parse_worker_snapshot(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_FALSE(parsed.error().empty());
    }
}

TEST_F(WorkerSnapshotTest, ALoadThatIsNoNumberDoesNotSpoilTheText) {
    auto odd = beat("w1", "p", 1);
    odd.set_cpu_load(std::numeric_limits<float>::quiet_NaN());
    odd.set_gpu_utilization(std::numeric_limits<float>::infinity());
    hear(odd);
    EXPECT_TRUE(parse_worker_snapshot(text()));
}

}  // namespace
}  // namespace lockstep::engine
