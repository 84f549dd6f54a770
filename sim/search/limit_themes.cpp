#include "sim/search/limit_themes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/json_text.h"
#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

using engine::Duration;

/// Limits that somebody who is away may outlive.
constexpr std::array kLimits{"job_lock_ttl",      "job_lock_ttl",          "bus_ack_wait",      "worker_ttl",
                             "saga_lock_ttl",     "saga_rollback_timeout", "snapshot_lock_ttl", "reconciler_interval",
                             "replayer_interval", "dispatch_timeout",      "running_timeout",   "safety_timeout",
                             "store_op_timeout",  "publish_timeout",       "bus_inflight_ttl",  "circuit_open_for"};
/// Nobody is away for longer: everything has to heal in time.
constexpr Duration kAwayMax = std::chrono::minutes{3};

/// A little less than the limit, a little more, or well beyond.
Duration about(Dice& dice, Duration limit) {
    switch (dice.between(0, 4)) {
        case 0: return limit * 9 / 10;
        case 1: return limit + std::chrono::milliseconds{50};
        case 2: return limit + std::chrono::seconds{1};
        case 3: return limit * 11 / 10;
        default: return limit * 3 / 2;
    }
}

/// A job that the load names, or the number of a generated one.
std::string a_job(Dice& dice, const Document& scenario) {
    std::vector<std::string> names;
    int generated = 0;
    for (const Document& line : scenario["load"]) {
        if (line.contains("job") && line["job"].contains("job_id"))
            names.push_back(line["job"]["job_id"].get<std::string>());
        else if (!line.contains("approve") && !line.contains("cancel") && !line.contains("garbage") &&
                 !line.contains("forge"))
            generated += line.value("count", 1);
    }
    if (names.empty() || (generated > 0 && dice.chance(0.6)))
        return fmt::format("job-{}", dice.between(0, std::max(generated, 1) - 1));
    return dice.one_of(names);
}

/// A step that every job has, most of them once.
Document a_step(Dice& dice, const std::string& job) {
    const auto state = [](const char* to) { return Document{{"event", "state"}, {"to", to}}; };
    const std::array<Document, 12> steps{
        Document{{"event", "kernel_check"}},
        Document{{"event", "publish"}, {"subject", "worker.*.jobs"}},
        Document{{"event", "redis"}, {"script", "take_up"}},
        Document{{"event", "redis"}, {"script", "commit"}},
        Document{{"event", "redis"}, {"script", "release_lock"}},
        Document{{"event", "redis"}, {"script", "take_lock"}},
        Document{{"event", "redis"}, {"script", "time_out"}},
        Document{{"event", "deliver"}, {"subject", "sys.job.result"}},
        Document{{"event", "deliver"}, {"subject", "sys.job.submit"}},
        state("SCHEDULED"),
        state("DISPATCHED"),
        state("RUNNING"),
    };
    Document on = dice.one_of(steps);
    on["job"] = job;
    return on;
}

/// A time in one of its units.
void set_time(Dice& dice, Document& block, const std::string& name, int min, int max) {
    if (dice.chance(0.5))
        block[name] = fmt::format("{}ms", 500 * dice.between(2 * min, 2 * max));
    else
        block[name + "_seconds"] = dice.between(min, max);
}

/// Of a topic, of a workflow and of all jobs: none of them is always the strictest.
Document competing_timeouts(Dice& dice) {
    Document out = Document::object();
    for (const char* topic : {"job.default", "job.book"}) {
        Document& block = out["topics"][topic];
        block = Document::object();
        if (dice.chance(0.7)) set_time(dice, block, "timeout", 1, 15);
        if (dice.chance(0.6)) set_time(dice, block, "dispatch_timeout", 1, 15);
        if (dice.chance(0.7)) block["max_retries"] = dice.between(1, 4);
    }
    Document& travel = out["workflows"]["travel"];
    travel = Document::object();
    if (dice.chance(0.6)) set_time(dice, travel, "child_timeout", 1, 15);
    if (dice.chance(0.6)) set_time(dice, travel, "total_timeout", 2, 25);
    if (dice.chance(0.7)) travel["max_retries"] = dice.between(1, 4);
    if (dice.chance(0.5)) {
        set_time(dice, out["reconciler"], "dispatch_timeout", 3, 30);
        set_time(dice, out["reconciler"], "running_timeout", 3, 30);
    }
    return out;
}

}  // namespace

Duration limit_in_force(const Document& scenario, const std::string& name) {
    const Document::json_pointer at("/cluster/config/" + name);
    engine::Tunables tunables;
    if (scenario.contains(at)) {
        const Document& value = scenario[at];
        const auto set = engine::set_tunable(
            tunables, name, value.is_string() ? value.get<std::string>() : engine::wire::json_text(value));
        static_cast<void>(set);  // one that is refused is not in force, and the loader says so
    }
    const engine::TunableInfo* info = engine::find_tunable(name);
    const auto* member = std::get_if<Duration engine::Tunables::*>(&info->member);
    return member == nullptr ? Duration{} : tunables.*(*member);
}

void full_stream(Dice& dice, Document& scenario) {
    scenario["cluster"]["nats"]["jobs_stream_messages"] = dice.between(1, 12);
    config(scenario)["dispatch_timeout"] = dice.word({"20s", "1m"});
    add_load(scenario,
             {{"at", dice.seconds(3, 20)}, {"count", dice.between(4, 20)}, {"rate", dice.word({"1/s", "5/s"})}});
    // What the stream says to it is lost with the connection.
    if (!dice.chance(0.6)) return;
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "publish"},
                               {"subject", "worker.*.jobs"},
                               {"when", "applied"},
                               {"nth", dice.on_every_scale(16)}}},
                             {"do", "partition"},
                             {"a", "actor"},
                             {"b", "nats"},
                             {"for", dice.word({"3s", "8s"})}});
}

void small_pages(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["reconciler_batch"] = dice.between(1, 3);
    settings["reconciler_max_iterations"] = dice.one_of(std::array{1, 3, 100});
    settings["reconciler_max_retries"] = dice.between(1, 3);
    settings["reconciler_interval"] = dice.word({"1s", "5s"});
    settings["replayer_interval"] = dice.word({"1s", "5s"});
    settings["pending_age"] = dice.word({"5s", "10s"});
    settings["running_timeout"] = dice.word({"5s", "20s"});
    settings["dispatch_timeout"] = dice.word({"5s", "20s"});
    if (dice.chance(0.5)) settings["reconciler_scheduled_timeout"] = dice.word({"5s", "20s"});
    scenario["cluster"]["workers"][0]["outcomes"] = {{"SUCCEEDED", 0.5}, {"hang", 0.4}, {"crash", 0.1}};
    const Document due = {{"budget", {{"deadline_ms", dice.word({"1000", "5000", "15000"})}}}};
    add_load(scenario, {{"at", dice.seconds(2, 10)}, {"count", dice.between(4, 20)}, {"rate", "20/s"}});
    add_load(scenario, {{"at", dice.seconds(2, 10)}, {"count", dice.between(2, 8)}, {"rate", "20/s"}, {"job", due}});
    // Longer than the window of a tick, in the midst of it.
    if (dice.chance(0.4))
        add_fault(
            scenario,
            {{"on",
              {{"event", "redis"}, {"script", dice.word({"time_out", "stale_jobs"})}, {"nth", dice.between(1, 6)}}},
             {"do", "pause"},
             {"target", "actor"},
             {"for", dice.word({"3s", "12s", "20s"})}});
    if (dice.chance(0.5)) add_failing_script(dice, scenario, "time_out");
    for (int i = dice.between(0, 2); i > 0; --i)
        add_preemption_at(
            dice,
            {{"event", "redis"},
             {"script", dice.word({"overdue_page", "stale_jobs", "time_out", "replay_page", "index_page"})}},
            16, scenario["faults"]);
}

void patience(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["schedulers"] = dice.between(1, 2);
    cluster["config"] = {{"job_meta_ttl", dice.word({"2m", "3m"})},
                         {"data_ttl", dice.word({"2m", "3m", "1h"})},
                         {"replayer_interval", dice.word({"5s", "20s"})},
                         {"pending_age", "10s"},
                         {"dispatch_timeout", "20s"},
                         {"running_timeout", "20s"},
                         {"reconciler_interval", "5s"}};
    cluster["workers"] = Document::array({{{"id", "w"}, {"count", 2}, {"service_time", "300ms"}}});
    cluster.erase("output_policy");
    scenario["load"] = Document::array();
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("patient-{}", i);
        add_load(scenario,
                 {{"at", dice.seconds(2, 20)}, {"job", {{"job_id", id}, {"labels", {{"needs", "a human"}}}}}});
        if (dice.chance(0.8)) add_load(scenario, {{"at", dice.seconds(100, 900)}, {"approve", id}});
    }
    scenario["faults"] = Document::array();
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(20, 600)},
                             {"do", dice.word({"crash", "stop"})},
                             {"target", "schedulers"},
                             {"for", dice.word({"1s", "20s"})}});
}

void one_job_twice(Dice& dice, Document& scenario) {
    if (dice.chance(0.3)) {
        // Whoever handles it dies of it, as often as it takes to give it up, or once less or more.
        config(scenario)["job_lock_ttl"] = dice.word({"5s", "10s"});
        const Document step = a_step(dice, a_job(dice, scenario));
        for (int death = 1, deaths = dice.between(4, 7); death <= deaths; ++death) {
            Document on = step;
            on["nth"] = death;
            add_fault(scenario, {{"on", std::move(on)}, {"do", "crash"}, {"target", "actor"}, {"for", "500ms"}});
        }
        return;
    }
    for (int i = dice.between(1, 2); i > 0; --i) {
        const std::string job = a_job(dice, scenario);
        for (int step = 0; step < 2; ++step) add_preemption_at(dice, a_step(dice, job), 2, scenario["faults"]);
    }
}

void relate_to_limits(Dice& dice, Document& scenario) {
    for (Document& fault : scenario["faults"]) {
        const std::string kind = fault.value("do", "");
        if ((kind != "pause" && kind != "partition") || !fault.contains("on")) continue;
        if (!dice.chance(0.4)) continue;
        const Duration away = std::min(about(dice, limit_in_force(scenario, dice.one_of(kLimits))), kAwayMax);
        fault["for"] = engine::format_duration(away);
    }
}

void several_limits(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    open_travel_agency(cluster);
    config(scenario)["reconciler_interval"] = dice.word({"1s", "2s"});
    config(scenario)["config_reload_interval"] = "2s";
    config(scenario)["bus_ack_wait"] = dice.word({"10s", "30s"});
    cluster["timeouts"] = competing_timeouts(dice);
    cluster["kernel"]["policy"]["rules"].push_back(
        {{"id", "brief"},
         {"match", {{"labels", {{"needs", "brevity"}}}}},
         {"decision", "allow_with_constraints"},
         {"constraints",
          {{"budgets", {{"max_runtime_ms", dice.between(1000, 12'000)}, {"max_retries", dice.between(1, 3)}}}}}});
    for (int i = dice.between(10, 20); i > 0; --i) {
        Document job = {{"topic", dice.word({"job.default", "job.default", "job.book"})},
                        {"env", {{"SIM_SERVICE_MS", dice.word({"500", "4000", "9000", "20000", "60000"})}}}};
        if (dice.chance(0.7)) job["workflow_id"] = "travel";
        if (dice.chance(0.6)) job["labels"]["needs"] = "brevity";
        if (dice.chance(0.3)) job["budget"]["deadline_ms"] = dice.word({"4000", "10000", "30000"});
        add_load(scenario, {{"at", dice.seconds(2, 40)}, {"job", std::move(job)}});
    }
    for (int i = dice.between(0, 3); i > 0; --i)
        add_fault(scenario,
                  {{"at", dice.seconds(4, 40)}, {"do", "config.update"}, {"timeouts", competing_timeouts(dice)}});
    // Long on their way, or often under way.
    switch (dice.between(0, 4)) {
        case 0: break;
        case 1:
            add_fault(scenario, {{"at", dice.seconds(2, 20)},
                                 {"do", "nats.drop_core"},
                                 {"subject", "worker.*.jobs"},
                                 {"rate", dice.share({0.4, 0.8})},
                                 {"for", dice.word({"10s", "25s"})}});
            break;
        default:
            config(scenario)["retry_delay_publish"] = "500ms";
            config(scenario)["backoff_base"] = "200ms";
            config(scenario)["backoff_max"] = "1s";
            config(scenario)["backoff_jitter"] = "200ms";
            config(scenario)["publish_timeout"] = "1s";
            add_fault(scenario, {{"at", dice.seconds(2, 20)},
                                 {"do", "nats.publish_errors"},
                                 {"subject", "worker.*.jobs"},
                                 {"outcome", "not_applied"},
                                 {"rate", dice.share({0.6, 0.9, 1.0})},
                                 {"for", dice.word({"15s", "30s"})}});
            break;
    }
}

}  // namespace lockstep::sim
