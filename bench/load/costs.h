// What jobs have cost each party: snapshots of what the servers and the kernel count, and what lies between two of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench/load/figures.h"
#include "bench/load/redis_reader.h"

namespace lockstep::bench {

// Kinds of processes, as figures call them.
inline constexpr const char* kSchedulers = "scheduler";
inline constexpr const char* kRedis = "redis-server";
inline constexpr const char* kRedisReplicas = "redis-replicas";
inline constexpr const char* kNats = "nats-server";
inline constexpr const char* kKernel = "lockstep-kernel";
inline constexpr const char* kWorkers = "workers";
inline constexpr const char* kSubmitter = "submitter";

/// When who submits has worked: his time is no part of what the machine had to do in a measurement that began after him.
enum class Submitted : std::uint8_t { before, meanwhile };

struct Snapshot {
    double at_seconds = 0;  // of a clock that only goes on
    RedisCounts redis;
    std::map<std::string, double> cpu_seconds;  // by kind of process
    double machine_cpu_seconds = 0;
};

/// How many cores this process may use.
[[nodiscard]] int cores();

/// Per job: calls, round trips, bytes and script time of Redis, CPU time by kind of process. And how many cores others kept busy.
[[nodiscard]] Figures costs_between(const Snapshot& before, const Snapshot& after, long jobs, Submitted submitted);

/// What these costs allow on this machine at most, were the schedulers for nothing: with all cores shared by the others
/// (`jobs_per_second`), and with Redis alone on one core, which executes all commands (`jobs_per_second_of_redis`).
/// `reached`: the part of the first that `jobs_per_second` is. Empty when it was over before the kernel's clock had ticked.
[[nodiscard]] Figures bound_of(const Figures& costs, double jobs_per_second, Submitted submitted);

}  // namespace lockstep::bench
