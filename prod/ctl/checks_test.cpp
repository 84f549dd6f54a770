// C14 and O18: each rule of the doctor, broken once.
#include "prod/ctl/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

bool says_so(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

Health of(const Findings& findings, const std::string& check) {
    Health worst = Health::well;
    for (const Finding& one : findings)
        if (one.check == check) worst = std::max(worst, one.health);
    return worst;
}

RedisFacts sound_redis() {
    RedisFacts facts;
    facts.info = parse_info(
        "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nconnected_slaves:0\r\ncluster_enabled:0\r\n"
        "maxmemory:1000\r\nused_memory:500\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
        "aof_last_write_status:ok\r\nrdb_last_bgsave_status:ok\r\n");
    facts.appendfsync = "always";
    facts.clock_offset = 3ms;
    return facts;
}

Health redis_with(const std::string& name, const std::string& value, const std::string& check) {
    RedisFacts facts = sound_redis();
    facts.info[name] = value;
    return of(check_redis(facts, {}), check);
}

TEST(Checks, ASoundRedisIsWell) {
    for (const Finding& one : check_redis(sound_redis(), {}))
        EXPECT_EQ(one.health, Health::well) << one.check << ": " << one.says;
}

TEST(Checks, EvictionOtherThanNoneIsWrongWhereMemoryIsLimited) {
    EXPECT_EQ(redis_with("maxmemory_policy", "allkeys-lru", "redis.eviction"), Health::wrong);
    RedisFacts facts = sound_redis();
    facts.info["maxmemory_policy"] = "volatile-lru";
    facts.info["maxmemory"] = "0";
    EXPECT_EQ(of(check_redis(facts, {}), "redis.eviction"), Health::warn);
}

TEST(Checks, ARedisThatIsNotWhatItShouldBeIsTold) {
    EXPECT_EQ(redis_with("redis_version", "6.2.1", "redis.version"), Health::warn);
    EXPECT_EQ(redis_with("role", "slave", "redis.role"), Health::wrong);
    EXPECT_EQ(redis_with("cluster_enabled", "1", "redis.cluster"), Health::wrong);
    EXPECT_EQ(redis_with("used_memory", "900", "redis.memory"), Health::warn);
    EXPECT_EQ(redis_with("aof_enabled", "0", "redis.persistence"), Health::warn);
    EXPECT_EQ(redis_with("aof_last_write_status", "err", "redis.persistence"), Health::wrong);
    EXPECT_EQ(redis_with("rdb_last_bgsave_status", "err", "redis.persistence"), Health::wrong);
    Settings settings;
    settings.tunables.redis_replicas = 1;
    EXPECT_EQ(of(check_redis(sound_redis(), settings), "redis.replicas"), Health::wrong);
}

TEST(Checks, WhatRedisDoesNotTellIsNotWell) {
    RedisFacts facts = sound_redis();
    facts.info.clear();
    const Findings findings = check_redis(facts, {});
    for (const char* check : {"redis.version", "redis.eviction", "redis.persistence"})
        EXPECT_EQ(of(findings, check), Health::unknown) << check;
    EXPECT_FALSE(anything_wrong(findings));
}

TEST(Checks, ClocksLocksKeysAndWritesAreLookedAt) {
    RedisFacts facts = sound_redis();
    facts.clock_offset = -2s;
    EXPECT_EQ(of(check_redis(facts, {}), "redis.clock"), Health::warn);
    facts.clock_offset = 2min;
    EXPECT_EQ(of(check_redis(facts, {}), "redis.clock"), Health::wrong);
    facts = sound_redis();
    facts.write_error = "NOPERM";
    facts.endless_locks = {"cordum:replayer:pending"};
    facts.wrong_types = {{"job:recent", "string", "zset"}};
    const std::string text = findings_text(check_redis(facts, {}), false);
    EXPECT_TRUE(says_so(text, "NOPERM"));
    EXPECT_TRUE(says_so(text, "redis-cli DEL cordum:replayer:pending"));
    EXPECT_TRUE(says_so(text, "job:recent is a string and should be a zset"));
    EXPECT_FALSE(says_so(text, "redis.version"));
}

DeploymentFacts sound_deployment() {
    DeploymentFacts facts;
    facts.around.now = 1'800'000'000'000'000;
    facts.around.snapshot_known = true;
    facts.around.snapshot_at = facts.around.now - 1'000'000;
    facts.around.workers["w"] = {"pool", 0, 4};
    return facts;
}

// D-27
TEST(Checks, ReplicasWhoseVariablesDifferAreNamed) {
    DeploymentFacts facts = sound_deployment();
    facts.limits = {{"a", {{"LOCKSTEP_RUNNING_TIMEOUT", "2h"}}}, {"b", {{"LOCKSTEP_RUNNING_TIMEOUT", "2h"}}}};
    EXPECT_EQ(of(check_deployment(facts), "settings.limits"), Health::well);
    facts.limits["c"] = {};
    facts.limits["d"] = {{"LOCKSTEP_RUNNING_TIMEOUT", "1h"}};
    EXPECT_EQ(of(check_deployment(facts), "settings.limits"), Health::warn);
    EXPECT_TRUE(says_so(findings_text(check_deployment(facts), false),
                        "LOCKSTEP_RUNNING_TIMEOUT differs: not set on c; 1h on d; 2h on a, b"));
}

TEST(Checks, ADeploymentIsWellUntilSomethingInItIsNot) {
    EXPECT_FALSE(says_so(findings_text(check_deployment(sound_deployment()), false), "do:"));
    DeploymentFacts facts = sound_deployment();
    facts.around.snapshot_known = false;
    EXPECT_EQ(of(check_deployment(facts), "schedulers.alive"), Health::wrong);
    facts = sound_deployment();
    facts.around.workers.clear();
    EXPECT_EQ(of(check_deployment(facts), "workers.alive"), Health::warn);
    facts = sound_deployment();
    facts.around.circuit_failures = 3;
    EXPECT_EQ(of(check_deployment(facts), "policy.circuit"), Health::warn);
    facts = sound_deployment();
    facts.overlay_unreadable = true;
    EXPECT_EQ(of(check_deployment(facts), "settings.document"), Health::wrong);
    facts = sound_deployment();
    facts.overlay.emplace();
    facts.overlay->mistakes = {"pools: no topics"};
    EXPECT_EQ(of(check_deployment(facts), "settings.document"), Health::wrong);
    facts = sound_deployment();
    facts.oldest_pending = facts.around.now - 181'000'000;  // the pending age and two intervals are 180 s
    EXPECT_EQ(of(check_deployment(facts), "jobs.pending"), Health::warn);
    facts.oldest_pending = facts.around.now - 180'000'000;
    EXPECT_EQ(of(check_deployment(facts), "jobs.pending"), Health::well);
    facts.untold_letters = 1;
    EXPECT_EQ(of(check_deployment(facts), "dead_letters.told"), Health::warn);
}

json sound_stream() {
    return {{"config",
             {{"subjects", {"sys.>"}},
              {"retention", "limits"},
              {"storage", "file"},
              {"duplicate_window", 120'000'000'000},
              {"max_age", 604'800'000'000'000},
              {"max_msgs", -1},
              {"max_bytes", -1},
              {"num_replicas", 1}}},
            {"state", {{"messages", 5}}}};
}

Health stream_with(const char* member, const json& value) {
    json info = sound_stream();
    info["config"][member] = value;
    return of(check_stream("CORDUM_SYS", {"sys.>"}, info.dump(), {}), "nats.stream.CORDUM_SYS");
}

TEST(Checks, AStreamIsHeldToTheProtocol) {
    EXPECT_EQ(stream_with("num_replicas", 1), Health::well);
    EXPECT_EQ(stream_with("subjects", {"sys.job.submit"}), Health::wrong);
    EXPECT_EQ(stream_with("retention", "workqueue"), Health::wrong);
    EXPECT_EQ(stream_with("duplicate_window", 60'000'000'000), Health::wrong);
    EXPECT_EQ(stream_with("storage", "memory"), Health::warn);
    EXPECT_EQ(stream_with("max_age", 3'600'000'000'000), Health::warn);
    EXPECT_EQ(stream_with("max_msgs", 1000), Health::warn);
    Settings three;
    three.nats.replicas = 3;
    EXPECT_EQ(of(check_stream("S", {"sys.>"}, sound_stream().dump(), three), "nats.stream.S"), Health::warn);
    EXPECT_EQ(of(check_stream("S", {"sys.>"}, "", {}), "nats.stream.S"), Health::unknown);
    EXPECT_EQ(of(check_stream("S", {"sys.>"}, R"({"error":{"code":404,"description":"stream not found"}})", {}),
                 "nats.stream.S"),
              Health::wrong);
    for (const char* odd :
         {"no json", "[]", R"({"config":[],"state":7})", R"({"error":1})", R"({"config":{"subjects":3}})"})
        EXPECT_EQ(of(check_stream("S", {"sys.>"}, odd, {}), "nats.stream.S"), Health::wrong) << odd;
}

class ConsumerChecks : public ::testing::Test {
protected:
    ConsumerChecks() {
        wanted.stream = "CORDUM_SYS";
        wanted.subject = "sys.job.submit";
        wanted.queue = "cordum-scheduler";
        wanted.durable = "d";
        wanted.ack_wait = 30s;
        wanted.max_deliver = 100;
        wanted.max_ack_pending = 2048;
        info = {{"config",
                 {{"durable_name", "d"},
                  {"deliver_subject", "x"},
                  {"deliver_group", "cordum-scheduler"},
                  {"filter_subject", "sys.job.submit"},
                  {"ack_policy", "explicit"},
                  {"ack_wait", 30'000'000'000},
                  {"max_deliver", 100},
                  {"max_ack_pending", 2048}}},
                {"push_bound", true},
                {"num_ack_pending", 0},
                {"num_pending", 0}};
    }
    Health health(engine::Duration dispatch_timeout = 5min) {
        return of(check_consumer(wanted, info.dump(), {}, dispatch_timeout), "nats.consumer.d");
    }
    engine::ConsumerSpec wanted;
    json info;
};

TEST_F(ConsumerChecks, ADurableIsHeldToTheSettingsOfTheReplicas) {
    EXPECT_EQ(health(), Health::well);
    info["config"]["ack_wait"] = 10'000'000'000;
    EXPECT_EQ(health(), Health::wrong);
}

// D-35
TEST_F(ConsumerChecks, ADurableOfAnotherDeploymentIsTold) {
    info["config"]["description"] = "ours lockstep-deployment=theirs";
    EXPECT_EQ(health(), Health::well) << "Redis has no id to compare";
    wanted.deployment = "theirs";
    EXPECT_EQ(health(), Health::well);
    wanted.deployment = "mine";
    EXPECT_EQ(health(), Health::wrong);
}

TEST_F(ConsumerChecks, ADurableThatNobodyHearsOrThatIsFullIsTold) {
    info["num_ack_pending"] = 2048;
    EXPECT_EQ(health(), Health::warn);
    info["push_bound"] = false;
    EXPECT_EQ(health(), Health::wrong);
}

// D-03
TEST_F(ConsumerChecks, AnAckWaitThatTheDispatchTimeoutDoesNotOutliveIsTold) {
    EXPECT_EQ(health(91s), Health::well);
    EXPECT_EQ(health(90s), Health::warn);
}

// C3, C4
TEST(Checks, TheDocumentSaysOkUnlessSomethingIsWrong) {
    const json well = findings_json({{"a", Health::warn, "s", "m"}});
    EXPECT_EQ(well.at("ok"), true);
    const json ill = findings_json({{"a", Health::wrong, "s", "m"}});
    EXPECT_EQ(ill.at("ok"), false);
    EXPECT_EQ(ill.at("findings")[0], (json{{"check", "a"}, {"health", "wrong"}, {"says", "s"}, {"mend", "m"}}));
}

}  // namespace
}  // namespace lockstep::prod
