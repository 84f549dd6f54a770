#include "engine/wire/heartbeat_bounds.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

cap::Heartbeat sound() {
    cap::Heartbeat heartbeat;
    heartbeat.set_worker_id("gpu-7_a");
    heartbeat.set_pool("default");
    heartbeat.set_active_jobs(3);
    heartbeat.set_max_parallel_jobs(8);
    heartbeat.set_cpu_load(99.5F);
    return heartbeat;
}

TEST(HeartbeatBounds, WhatWorkersSayIsSound) {
    EXPECT_EQ(unsound(sound()), "");
    auto busy = sound();
    busy.set_cpu_load(800);  // eight processors, added up
    busy.set_active_jobs(kWorkerJobsMax);
    busy.set_max_parallel_jobs(0);  // no limit
    EXPECT_EQ(unsound(busy), "");
}

TEST(HeartbeatBounds, AnIdIsOneTokenOfASubject) {
    auto heartbeat = sound();
    const std::string longest(kWorkerIdMax, 'w');
    for (const std::string& id :
         {std::string(), std::string("a.b"), std::string("*"), std::string("a>"), std::string("a b"),
          std::string("a\tb"), std::string("a\nb"), std::string("a\x01"), std::string("a\0b", 3), longest + 'w'}) {
        heartbeat.set_worker_id(id);
        EXPECT_EQ(unsound(heartbeat), "worker_id") << id;
        EXPECT_FALSE(addressable(id)) << id;
    }
    heartbeat.set_worker_id(longest);
    EXPECT_EQ(unsound(heartbeat), "");
}

TEST(HeartbeatBounds, NobodyHasLessThanNoJobsOrAMillion) {
    for (const std::int32_t jobs :
         {-1, std::numeric_limits<std::int32_t>::min(), kWorkerJobsMax + 1, std::numeric_limits<std::int32_t>::max()}) {
        auto active = sound();
        active.set_active_jobs(jobs);
        EXPECT_EQ(unsound(active), "jobs") << jobs;
        auto places = sound();
        places.set_max_parallel_jobs(jobs);
        EXPECT_EQ(unsound(places), "jobs") << jobs;
    }
}

TEST(HeartbeatBounds, ALoadIsANumberOfPerCent) {
    using Limits = std::numeric_limits<float>;
    for (const float load : {-0.5F, -Limits::infinity(), Limits::infinity(), Limits::quiet_NaN(), 1000.5F}) {
        auto cpu = sound();
        cpu.set_cpu_load(load);
        EXPECT_EQ(unsound(cpu), "load") << load;
        auto gpu = sound();
        gpu.set_gpu_utilization(load);
        EXPECT_EQ(unsound(gpu), "load") << load;
        auto memory = sound();
        memory.set_memory_load(load);
        EXPECT_EQ(unsound(memory), "load") << load;
    }
}

TEST(HeartbeatBounds, AWorkerThatHasTooMuchToSayIsNotListenedTo) {
    auto heartbeat = sound();
    (*heartbeat.mutable_labels())["what"] = std::string(kHeartbeatMax, 'x');
    EXPECT_EQ(unsound(heartbeat), "size");
}

}  // namespace
}  // namespace lockstep::engine::wire
