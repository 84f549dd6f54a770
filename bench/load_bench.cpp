// The daemon under load on real servers: how many jobs a second go from submission to their end, and how many calls each
// one costs Redis. Servers, kernel, workers and schedulers share this machine, so the rate is a baseline for comparison on
// the same machine and not a promise.
//
//   load_bench [JOBS [SCHEDULERS]]
#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "prod/integration/deployment.h"

namespace {

using lockstep::prod::testing::Deployment;
using lockstep::prod::testing::Durability;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{300};

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

int run(int jobs, int schedulers) {
    if (!Deployment::possible()) {
        fmt::print(stderr, "redis-server or nats-server is not installed\n");
        return 1;
    }
    Deployment world(Durability::none);
    world.environment["NATS_JS_ACK_WAIT"] = "60s";
    world.environment["LOCKSTEP_JOB_LOCK_TTL"] = "60s";
    world.environment["LOCKSTEP_PENDING_AGE"] = "120s";
    for (const char* id : {"w1", "w2"}) world.add_worker(id, {"--service-time", "0s", "--max-parallel", "4096"});

    // The jobs wait in the stream, so that submitting them is not what is measured; a scheduler that comes and goes has
    // made the streams.
    auto& maker = world.add_scheduler();
    maker.signal(SIGTERM);
    if (maker.wait() != 0) {
        fmt::print(stderr, "a scheduler did not stop cleanly\n{}", world.logs());
        return 1;
    }
    const auto submitted = world.ctl({"submit", "--count", std::to_string(jobs), "--id", "load"});
    if (submitted.exit_code != 0) {
        fmt::print(stderr, "{}\n", submitted.text);
        return 1;
    }
    const auto calls_before = world.redis_calls();
    const auto began = Clock::now();
    for (int i = 0; i < schedulers; ++i) world.add_scheduler();
    if (!world.all_end(jobs, kLimit)) {
        fmt::print(stderr, "not all jobs ended within {} s\n{}", kLimit.count(), world.logs());
        return 1;
    }
    const double elapsed = seconds_since(began);
    const int succeeded = world.states()["SUCCEEDED"];
    fmt::print("{} jobs, {} succeeded, {} schedulers: {:.1f} s, {:.0f} jobs/s\n", jobs, succeeded, schedulers, elapsed,
               jobs / elapsed);
    fmt::print("Redis calls per job, by command (calls inside scripts included):\n");
    for (const auto& [command, calls] : world.redis_calls()) {
        const auto before = calls_before.find(command);
        const double each = static_cast<double>(calls - (before == calls_before.end() ? 0 : before->second)) / jobs;
        if (each >= 0.01) fmt::print("  {:<24}{:.2f}\n", command, each);
    }
    return succeeded == jobs ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const int jobs = argc > 1 ? std::atoi(argv[1]) : 5000;
    const int schedulers = argc > 2 ? std::atoi(argv[2]) : 1;
    if (jobs < 1 || schedulers < 1) {
        fmt::print(stderr, "usage: load_bench [JOBS [SCHEDULERS]], both at least 1\n");
        return 2;
    }
    return run(jobs, schedulers);
}
