// The fixture of the gateway's tests: a world, a Redis that runs the real scripts, and a bus that keeps what it is
// given.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "fakes/gateway/job_records.h"
#include "fakes/kernel/test_actor_world.h"
#include "fakes/redis/direct.h"
#include "fakes/worker/test_bus.h"

namespace lockstep::fakes {

inline constexpr NodeId kGatewayNode{4};

class GatewayFixture : public ::testing::Test {
protected:
    std::string hash_field(const std::string& job, const std::string& field) {
        return std::string(redis_.run({"HGET", "job:meta:" + job, field}).text());
    }
    std::string get(const std::string& key) { return std::string(redis_.run({"GET", key}).text()); }
    std::string state(const std::string& job) { return hash_field(job, "state"); }
    bool indexed(const std::string& index, const std::string& job) {
        return !redis_.run({"ZSCORE", index, job}).is_nil();
    }
    cap::JobRequest stored_request(const std::string& job) {
        auto request = engine::wire::from_json<cap::JobRequest>(get("job:req:" + job));
        EXPECT_TRUE(request.has_value()) << job;
        return request.value_or(cap::JobRequest());
    }
    /// The names of the commands that change something, in their order, from now on.
    void record_writes() {
        redis_.fault = [this](const engine::RedisCommand& first) {
            if (first[0] != "GET" && first[0] != "HMGET") writes_.push_back(first[0] + " " + first[1]);
            return CallFault::none;
        };
    }

    testing::ActorWorld world_;
    testing::TestBus bus_;
    redis::DirectRedis redis_;
    std::vector<std::string> writes_;
    JobRecords records_{world_, kGatewayNode, world_.executor(), redis_};
};

}  // namespace lockstep::fakes
