#include "fakes/engine_test/scheduler_fixture.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/packet.h"

namespace lockstep::fakes::engine_test {

namespace wire = engine::wire;

SchedulerTest::SchedulerTest() {
    redis.on_executed([this](const RedisCommand& command) { traffic_.push_back(command); });
    // Loaded beforehand, so that each call of a script is one EVALSHA.
    for (const engine::RedisScript* script :
         {&scripts.take_up,          &scripts.take_lock,        &scripts.commit,
          &scripts.renew_lock,       &scripts.release_lock,     &scripts.tick_lock,
          &scripts.cancel,           &scripts.stale_jobs,       &scripts.time_out,
          &scripts.put_dead_letter,  &scripts.outbox_page,      &scripts.replay_page,
          &scripts.overdue_page,     &scripts.replace_document, &scripts.bus_guard_enter,
          &scripts.bury_undecodable, &scripts.undecodable_sums, &scripts.take_snapshot_lock,
          &scripts.write_snapshot,   &scripts.tend_tenant,      &scripts.index_page,
          &scripts.hand_on,          &scripts.tend_capacity,    &scripts.tend_queue,
          &scripts.saga_keep})
        redis.run({"SCRIPT", "LOAD", script->text()});
    redis.fault = [this](const RedisCommand& first) {
        bring_redis_up_to_date();
        const bool watched =
            decide_ && first.size() > 1 && first[0] == watched_command_ && first[1].starts_with(watched_prefix_);
        return watched ? decide_() : CallFault::none;
    };
}

std::unique_ptr<engine::Scheduler> SchedulerTest::make_scheduler() {
    engine::SchedulerConfig config = more_config;
    config.tunables = tunables;
    config.pools = *engine::parse_pools(config.pools_document.empty() ? R"({"topics": {"job.default": "default"}})"
                                                                      : config.pools_document);
    return std::make_unique<engine::Scheduler>(
        engine::Ports{loop, clock, entropy, slow_redis, bus, kernel, metrics, log}, std::move(config));
}

void SchedulerTest::boot() {
    scheduler = make_scheduler();
    const auto started = loop.wait(scheduler->start());
    ASSERT_TRUE(started) << started.error();
}

void SchedulerTest::start() {
    boot();
    heartbeat("w1");
}

void SchedulerTest::heartbeat(const std::string& worker, int active) {
    cap::Heartbeat heartbeat;
    heartbeat.set_worker_id(worker);
    heartbeat.set_pool("default");
    heartbeat.set_active_jobs(active);
    bus.tell("sys.heartbeat", wire::make_packet(std::move(heartbeat), "", worker, clock.now()));
}

cap::JobRequest SchedulerTest::request_for(const std::string& job) {
    cap::JobRequest request;
    request.set_job_id(job);
    request.set_topic("job.default");
    request.set_tenant_id("acme");
    return request;
}

Fate SchedulerTest::submit(const cap::JobRequest& request, std::uint64_t count, const std::string& trace) {
    const Fate fate =
        bus.deliver({.subject = "sys.job.submit",
                     .payload = wire::serialise(wire::make_packet(request, trace, "api-gateway", clock.now())),
                     .count = count});
    loop.settle();
    return fate;
}

cap::JobResult SchedulerTest::result_of(const std::string& job, cap::JobStatus status) {
    cap::JobResult result;
    result.set_job_id(job);
    result.set_status(status);
    result.set_worker_id("w1");
    return result;
}

Fate SchedulerTest::result(const std::string& job, cap::JobStatus status, const std::string& error_code) {
    cap::JobResult result = result_of(job, status);
    result.set_error_code(error_code);
    return this->result(result);
}

Fate SchedulerTest::result(const cap::JobResult& result, std::uint64_t sequence) {
    const Fate fate = bus.deliver({.subject = "sys.job.result",
                                   .payload = wire::serialise(wire::make_packet(result, "", "w1", clock.now())),
                                   .sequence = sequence});
    loop.settle();
    return fate;
}

void SchedulerTest::run_job(const std::string& job) {
    ASSERT_TRUE(submit(job)->acked());
    ASSERT_EQ(state(job), "RUNNING");
}

RedisValue SchedulerTest::run(const RedisCommand& command) {
    bring_redis_up_to_date();
    return redis.run(command);
}

SchedulerTest::Texts SchedulerTest::history(const std::string& job) {
    Texts states;
    const RedisValue events = run({"LRANGE", "job:events:" + job, "0", "-1"});
    for (const RedisValue& event : *events.array())
        states.emplace_back(event.text().substr(event.text().find('|') + 1));
    return states;
}

std::string SchedulerTest::dead_letter_code(const std::string& job) {
    const std::string entry = text({"GET", "dlq:entry:" + job});
    return entry.empty() ? "" : nlohmann::json::parse(entry).at("reason_code").get<std::string>();
}

std::vector<ScriptedBus::Published> SchedulerTest::dispatches() const {
    std::vector<ScriptedBus::Published> matching;
    for (const auto& message : bus.published) {
        if (message.subject.starts_with("worker.")) matching.push_back(message);
    }
    return matching;
}

std::size_t SchedulerTest::cancellations() const {
    return static_cast<std::size_t>(
        std::ranges::count(bus.broadcast, std::string("sys.job.cancel"), &ScriptedBus::Published::subject));
}

void SchedulerTest::on_script(const engine::RedisScript& script, std::function<CallFault()> decide) {
    on_command("EVALSHA", std::string(script.sha1()), std::move(decide));
}

void SchedulerTest::on_command(const std::string& name, const std::string& prefix, std::function<CallFault()> decide) {
    watched_command_ = name;
    watched_prefix_ = prefix;
    decide_ = std::move(decide);
}

void SchedulerTest::bring_redis_up_to_date() {
    const engine::MonoTime now = loop.monotonic();
    redis.advance(now - redis_time_);
    redis_time_ = now;
}

}  // namespace lockstep::fakes::engine_test
