// A whole scheduler on a simulated Redis, with a bus and a kernel that the test scripts. The real scripts run; what is
// scripted is the weather.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler/scheduler.h"
#include "engine/testing/recorders.h"
#include "engine/testing/scripted_bus.h"
#include "engine/testing/scripted_kernel.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/messages.h"
#include "fakes/engine_test/traffic.h"
#include "fakes/redis/direct.h"

namespace lockstep::fakes::engine_test {

using engine::Duration;
using engine::FailureCause;
using engine::Metric;
using engine::NotApplied;
using engine::Outcome;
using engine::PublishAck;
using engine::RedisCommand;
using engine::RedisValue;
using engine::StoredMessage;
using engine::Unknown;
using engine::testing::DeliveryFate;
using engine::testing::Fate;
using engine::testing::ScriptedBus;
using engine::testing::ScriptedKernel;
using namespace std::chrono_literals;

/// The same Redis, some time away.
class DelayedRedis final : public engine::Redis {
public:
    DelayedRedis(engine::Redis& redis, const engine::Clock& clock) : redis_(redis), clock_(clock) {}
    Duration latency{};

private:
    engine::Task<Outcome<std::vector<RedisValue>>> exchange(engine::RedisCommands commands,
                                                            engine::MonoTime deadline) override {
        if (latency > Duration{0}) co_await clock_.sleep(latency);
        co_return co_await redis_.pipeline(*commands, deadline);
    }

    engine::Redis& redis_;
    const engine::Clock& clock_;
};

class SchedulerTest : public ::testing::Test {
protected:
    using Texts = std::vector<std::string>;

    SchedulerTest();
    void TearDown() override { compare_traffic(traffic_); }

    /// Starts a scheduler that routes job.default to pool "default", and lets it hear of worker w1.
    void start();
    /// The same, and nobody is heard.
    void boot();
    [[nodiscard]] std::unique_ptr<engine::Scheduler> make_scheduler();
    void crash() { scheduler.reset(); }
    void heartbeat(const std::string& worker, int active = 0);

    [[nodiscard]] static cap::JobRequest request_for(const std::string& job);
    /// Delivers a submission and runs what follows from it at this instant.
    Fate submit(const cap::JobRequest& request, std::uint64_t count = 1, const std::string& trace = "trace-1");
    Fate submit(const std::string& job) { return submit(request_for(job)); }
    Fate result(const std::string& job, cap::JobStatus status, const std::string& error_code = {});
    /// As number `sequence` of its stream; 1: as the next.
    Fate result(const cap::JobResult& result, std::uint64_t sequence = 1);
    [[nodiscard]] static cap::JobResult result_of(const std::string& job, cap::JobStatus status);
    /// Brings a job to RUNNING.
    void run_job(const std::string& job);

    RedisValue run(const RedisCommand& command);
    [[nodiscard]] std::string text(const RedisCommand& command) { return std::string(run(command).text()); }
    [[nodiscard]] std::string field(const std::string& job, const std::string& name) {
        return text({"HGET", "job:meta:" + job, name});
    }
    [[nodiscard]] std::string state(const std::string& job) { return field(job, "state"); }
    [[nodiscard]] Texts history(const std::string& job);
    [[nodiscard]] std::string dead_letter_code(const std::string& job);
    [[nodiscard]] bool locked(const std::string& job) {
        return *run({"EXISTS", "cordum:scheduler:job:" + job}).integer() == 1;
    }
    /// What went to workers.
    [[nodiscard]] std::vector<ScriptedBus::Published> dispatches() const;
    [[nodiscard]] std::vector<ScriptedBus::Published> dead_letters() const { return bus.published_on("sys.job.dlq"); }
    [[nodiscard]] std::size_t cancellations() const;
    /// Decides about the fate of calls of one script, by the name that StoreScripts gives it; nullptr ends it.
    void on_script(const engine::RedisScript& script, std::function<CallFault()> decide);
    /// The same about calls that begin with a command of this name on a key with this prefix.
    void on_command(const std::string& name, const std::string& prefix, std::function<CallFault()> decide);

    /// A connection lost after sending.
    [[nodiscard]] Unknown lost() const {
        return Unknown{{FailureCause::disconnected, "connection lost"}, bus.state.id};
    }
    [[nodiscard]] static NotApplied not_connected() {
        return NotApplied{{FailureCause::disconnected, "not connected"}};
    }
    [[nodiscard]] Unknown refused() const {
        return Unknown{{FailureCause::refused, "maximum messages exceeded"}, bus.state.id};
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::SeededEntropy entropy;
    engine::testing::MetricRecorder metrics;
    engine::testing::LogRecorder log;
    redis::DirectRedis redis;
    DelayedRedis slow_redis{redis, clock};
    ScriptedBus bus{clock};
    ScriptedKernel kernel{clock};
    engine::StoreScripts scripts;
    engine::Tunables tunables;
    engine::SchedulerConfig more_config;  // beside tunables and pools
    std::unique_ptr<engine::Scheduler> scheduler;

private:
    /// Virtual time is also the server's.
    void bring_redis_up_to_date();

    std::vector<RedisCommand> traffic_;  // all that was executed
    engine::MonoTime redis_time_ = loop.monotonic();
    std::string watched_command_;
    std::string watched_prefix_;  // of its first argument
    std::function<CallFault()> decide_;
};

}  // namespace lockstep::fakes::engine_test
