// How much work waits, and for how long: read every few seconds from Redis and from the streams, for whoever is on call.
//
// 1. Only reads, with a deadline each. What cannot be read leaves its gauges as they were and is counted.
// 2. Every replica shows the same of Redis and of the durables: a query takes the `max` over them and not the sum.
// 3. Ages are by the clock of the server that stored: Redis' TIME, and for streams ours against the server's, never below 0.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/redis.h"
#include "engine/runtime/task.h"
#include "prod/observe/prometheus_metrics.h"

namespace lockstep::prod {

class QueueWatch {
public:
    /// Between two looks. An alert that waits for minutes needs no more, and a look costs one pipeline and three requests of
    /// each durable.
    static constexpr engine::Duration kInterval = std::chrono::seconds(15);

    /// All outlive it.
    QueueWatch(engine::Redis& redis, engine::Bus& bus, const engine::Clock& clock, PrometheusMetrics& metrics)
        : redis_(redis), bus_(bus), clock_(clock), metrics_(metrics) {}

    /// From the next look on this durable is asked, too.
    void know(const engine::ConsumerSpec& spec) { durables_.insert_or_assign(spec.durable, spec); }

    /// Looks again and again; never ends.
    [[nodiscard]] engine::Task<void> keep_looking();
    /// One look at everything.
    [[nodiscard]] engine::Task<void> look();

private:
    [[nodiscard]] engine::Task<void> look_at_jobs();
    /// How many jobs wait for capacity, by queue: a reply to HGETALL.
    void show_capacity(const engine::RedisValue& counts);
    /// Since the oldest job that is PENDING and does not wait for capacity became so, in seconds; 0 where there is none among the first
    /// 4,096, nothing without an answer. The first of those that wait, and of those that are PENDING: replies to ZRANGE with scores.
    [[nodiscard]] engine::Task<std::optional<double>> age_of_pending(engine::RedisValue first_waiting,
                                                                     engine::RedisValue first_pending, double now);
    /// Sends commands to Redis. Nothing where one has no reply, or an error.
    [[nodiscard]] engine::Task<std::optional<std::vector<engine::RedisValue>>> ask(
        std::vector<engine::RedisCommand> questions);
    /// A user that may not ask leaves the gauges at zero, and is no failure.
    [[nodiscard]] engine::Task<void> look_at_memory();
    /// False: there was no answer.
    [[nodiscard]] engine::Task<bool> look_at(engine::ConsumerSpec spec);
    /// Since the first message above the floor came; zero without one, nothing without an answer.
    [[nodiscard]] engine::Task<std::optional<engine::Duration>> age_of_oldest(engine::ConsumerSpec spec,
                                                                              engine::StreamSequence floor);

    engine::Redis& redis_;
    engine::Bus& bus_;
    const engine::Clock& clock_;
    PrometheusMetrics& metrics_;
    std::map<std::string, engine::ConsumerSpec> durables_;
    std::set<std::string> pools_;  // sets of them that jobs have waited for, as labels name them
};

}  // namespace lockstep::prod
