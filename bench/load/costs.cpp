#include "bench/load/costs.h"

#include <algorithm>
#include <thread>

namespace lockstep::bench {

int cores() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

Figures costs_between(const Snapshot& before, const Snapshot& after, long jobs, Submitted submitted) {
    const auto each = [jobs](double now, double then) { return (now - then) / static_cast<double>(jobs); };

    Figures commands;
    double calls = 0;
    for (const auto& [command, count] : after.redis.calls) {
        const auto then = before.redis.calls.find(command);
        const double per_job = each(count, then == before.redis.calls.end() ? 0 : then->second);
        if (per_job > 0) commands.set(command, per_job);
        calls += std::max(per_job, 0.0);
    }
    Figures redis;
    redis.set("evalsha", commands.at("evalsha"));
    redis.set("wait", commands.at("wait"));
    redis.set("reads", each(after.redis.reads, before.redis.reads));
    redis.set("commands", calls);
    redis.set("bytes_in", each(after.redis.bytes_in, before.redis.bytes_in));
    redis.set("bytes_out", each(after.redis.bytes_out, before.redis.bytes_out));
    redis.set("replication_bytes", each(after.redis.replication_bytes, before.redis.replication_bytes));
    redis.set("script_us", each(after.redis.script_us, before.redis.script_us));

    Figures cpu;
    double all = 0;
    for (const auto& [kind, now] : after.cpu_seconds) {
        const auto then = before.cpu_seconds.find(kind);
        const double spent = now - (then == before.cpu_seconds.end() ? 0 : then->second);
        cpu.set(kind, spent * 1e6 / static_cast<double>(jobs));
        if (kind != kSubmitter || submitted == Submitted::meanwhile) all += spent;
    }

    Figures costs;
    costs.add("redis_per_job", redis);
    costs.add("redis_per_job/command", commands);
    costs.add("cpu_us_per_job", cpu);
    const double span = after.at_seconds - before.at_seconds;
    const double others = after.machine_cpu_seconds - before.machine_cpu_seconds - all;
    costs.set("machine/cores_busy_for_others", span > 0 ? std::max(0.0, others / span) : 0);
    return costs;
}

Figures bound_of(const Figures& costs, double jobs_per_second, Submitted submitted) {
    double us = 0;
    for (const char* kind : {kRedis, kRedisReplicas, kNats, kKernel, kWorkers})
        us += costs.at(std::string("cpu_us_per_job/") + kind);
    if (submitted == Submitted::meanwhile) us += costs.at(std::string("cpu_us_per_job/") + kSubmitter);
    Figures bound;
    if (us <= 0) return bound;
    const double most = cores() * 1e6 / us;
    bound.set("jobs_per_second", most);
    bound.set("reached", jobs_per_second / most);
    if (const double redis = costs.at(std::string("cpu_us_per_job/") + kRedis); redis > 0)
        bound.set("jobs_per_second_of_redis", 1e6 / redis);
    return bound;
}

}  // namespace lockstep::bench
