#include "sim/search/server_themes.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/wire/json_text.h"
#include "sim/scenario/catalogue.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Who ends has not the time to finish what it has in hand.
void add_short_grace(Dice& dice, Document& scenario) {
    config(scenario)["shutdown_grace"] = dice.word({"100ms", "500ms"});
    add_fault(scenario, {{"at", dice.seconds(3, 60)},
                         {"do", "kernel.latency"},
                         {"latency", dice.word({"300ms", "900ms"})},
                         {"for", dice.word({"20s", "60s"})}});
}

/// Policy takes longer to answer than whoever is asked to end has time for.
void add_stop_in_the_middle(Dice& dice, Document& scenario) {
    config(scenario)["shutdown_grace"] = dice.word({"500ms", "1s"});
    const Document on = {{"event", "kernel_check"}, {"when", "before"}, {"nth", dice.on_every_scale(16)}};
    add_fault(scenario, {{"on", on}, {"do", "kernel.latency"}, {"latency", "1900ms"}, {"for", "10s"}});
    add_fault(scenario, {{"on", on}, {"do", "stop"}, {"target", "actor"}, {"for", dice.word({"500ms", "5s"})}});
}

/// One kind of call does not come about for a while, or nobody knows.
void add_failing_call(Dice& dice, Document& scenario) {
    static const std::vector<std::string> kScripts = [] {
        std::vector<std::string> out;
        for (const std::string& script : redis_scripts())
            if (!script.starts_with("gateway_")) out.push_back(script);
        return out;
    }();
    if (dice.chance(0.6)) return add_failing_script(dice, scenario, dice.one_of(kScripts).c_str());
    Document fault = {{"at", dice.seconds(1, 30)},
                      {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                      {"rate", dice.share({0.3, 1.0})},
                      {"for", dice.word({"5s", "20s", "40s"})}};
    if (dice.chance(0.5)) {
        fault["do"] = "nats.publish_errors";
        fault["subject"] = dice.word(
            {"sys.job.submit", "sys.job.dlq", "sys.job.cancel", "sys.handshake", "sys.audit.*", "worker.*.jobs"});
    } else {
        fault["do"] = "redis.errors";
        fault["commands"] = Document::array({dice.word({"GET", "SET", "ZREM", "MGET", "TIME", "HGETALL", "EXISTS"})});
    }
    add_fault(scenario, std::move(fault));
}

/// Limits that one or two calls to a slow server use up: each turn of a sweep, a look or a rollback gets something done all the same.
void add_short_limits(Dice& dice, Document& scenario) {
    struct Limit {
        const char* name;
        std::array<const char*, 3> values;
    };
    constexpr std::array kShort{
        Limit{"publish_timeout", {"500ms", "1s", "2s"}},
        Limit{"publish_resend_limit", {"500ms", "1s", "2s"}},
        Limit{"saga_rollback_timeout", {"200ms", "1s", "5s"}},
        Limit{"output_content_timeout", {"200ms", "500ms", "1s"}},
        Limit{"reconciler_interval", {"1s", "2s", "5s"}},
        Limit{"replayer_interval", {"1s", "2s", "5s"}},
        Limit{"reconciler_batch", {"1", "2", "5"}},
        Limit{"reconciler_max_iterations", {"1", "2", "5"}},
        Limit{"wf_scan_interval", {"1s", "2s", "5s"}},
        Limit{"delay_poller_interval", {"1s", "2s", "5s"}},
    };
    for (const Limit& limit : kShort) {
        if (!dice.chance(0.4)) continue;
        const std::string value = dice.one_of(limit.values);
        const Document number = engine::wire::read_ordered_json(value);
        config(scenario)[limit.name] = number.is_discarded() ? Document(value) : number;
    }
    add_fault(scenario, {{"at", dice.seconds(1, 30)},
                         {"do", "slow_link"},
                         {"a", "schedulers"},
                         {"b", dice.word({"redis", "nats"})},
                         {"latency", dice.word({"100ms", "240ms", "400ms"})},
                         {"for", dice.word({"1m", "3m", "10m"})}});
}

}  // namespace

void slow_servers(Dice& dice, Document& scenario) {
    scenario["cluster"]["kernel"]["latency"] = dice.word({"200ms", "1s", "4s", "7s"});
    config(scenario)["safety_timeout"] = "10s";
    config(scenario)["job_lock_ttl"] = dice.word({"4s", "6s", "10s"});
    // Policy is still asked when the lock on whose behalf it is has not been renewed too often.
    if (dice.chance(0.4))
        add_fault(scenario, {{"on", {{"event", "kernel_check"}, {"when", "before"}, {"nth", dice.on_every_scale(16)}}},
                             {"do", "redis.errors"},
                             {"script", "renew_lock"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"for", dice.word({"10s", "20s", "60s"})}});
    if (dice.chance(0.6)) {
        config(scenario)["bus_ack_wait"] = dice.word({"2s", "5s"});
        at_least_two_replicas(dice, scenario);
        // Whoever is frozen for longer than its lock lives comes back while another one is at the job.
        for (int i = dice.between(0, 3); i > 0; --i)
            add_fault(scenario,
                      {{"on", {{"event", "kernel_check"}, {"when", "before"}, {"nth", dice.on_every_scale(16)}}},
                       {"do", "pause"},
                       {"target", "actor"},
                       {"for", dice.word({"5s", "7s", "11s"})}});
    }
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 20)},
                             {"do", "slow_link"},
                             {"a", "schedulers"},
                             {"b", dice.word({"redis", "nats"})},
                             {"latency", dice.word({"20ms", "100ms", "500ms"})},
                             {"for", dice.word({"10s", "60s", "3m"})}});
    if (dice.chance(0.5)) add_short_limits(dice, scenario);
}

void hiccups(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 4); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "redis"},
                               {"script", dice.word({"commit", "commit", "release_lock", "take_up", "take_lock"})},
                               {"when", "before"},
                               {"nth", dice.on_every_scale(40)}}},
                             {"do", "redis.errors"},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown", "lost"})},
                             {"for", dice.word({"5ms", "20ms", "50ms"})}});
}

void lost_takings(Dice& dice, Document& scenario) {
    config(scenario)["job_lock_ttl"] = dice.word({"30s", "60s"});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 20)},
                            {"count", dice.between(2, 10)},
                            {"rate", dice.word({"1/s", "5/s"})},
                            {"job", {{"topic", "job.default"}}}});
    // The connection ends with the answer.
    for (int i = dice.between(0, 3); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "redis"},
                               {"script", dice.word({"take_up", "take_lock"})},
                               {"when", "applied"},
                               {"nth", dice.on_every_scale(16)}}},
                             {"do", "redis.restart"},
                             {"for", dice.word({"20ms", "500ms", "3s"})}});
    // Or the script comes to something else than it had left there, until somebody puts that away.
    if (!dice.chance(0.6)) return;
    add_fault(scenario, {{"at", "500ms"}, {"do", "redis.latency"}, {"latency", "1ms"}, {"for", "13s"}});
    for (int i = dice.between(1, 2); i > 0; --i) {
        const std::string id = fmt::format("squatted-{}", i);
        const std::string key = "job:meta:" + id;
        add_load(scenario, {{"at", "1s"}, {"redis", {"SET", key, "somebody else's"}}});
        add_load(scenario,
                 {{"at", dice.seconds(2, 8)},
                  {"forge", {{"job_request", {{"job_id", id}, {"topic", "job.default"}, {"tenant_id", "t"}}}}}});
        add_load(scenario, {{"at", "12s"}, {"redis", {"DEL", key}}});
    }
}

void clogged_connections(Dice& dice, Document& scenario) {
    config(scenario)["job_lock_ttl"] = dice.word({"10s", "20s", "20s"});
    for (const char* narrow : {"max_in_flight", "bus_max_ack_pending"}) config(scenario).erase(narrow);
    scenario["cluster"]["gateway"] = "publish-only";  // or nobody submits anything meanwhile
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    for (int i = dice.between(1, 3); i > 0; --i) {
        const int at = (60 * i) - dice.between(20, 55);
        add_fault(scenario,
                  {{"at", fmt::format("{}s", at)},
                   {"do", "redis.latency"},
                   {"latency", {{"dist", "uniform"}, {"min", "1ms"}, {"max", dice.word({"600ms", "1800ms", "3s"})}}},
                   {"for", dice.word({"10s", "30s", "40s"})}});
        add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(0, 4))},
                            {"count", dice.between(30, 60)},
                            {"rate", dice.word({"5/s", "20/s"})},
                            {"job", {{"topic", "job.default"}}}});
    }
}

void stranded(Dice& dice, Document& scenario) {
    config(scenario)["job_lock_ttl"] = dice.word({"5s", "6s", "10s"});
    for (int i = dice.between(1, 2); i > 0; --i) {
        Document on = dice.chance(0.7)
                          ? Document{{"event", "publish"}, {"subject", dice.word({"worker.*", "sys.job.*"})}}
                          : Document{{"event", "kernel_check"}};
        on["when"] = dice.word({"before", "applied"});
        on["nth"] = dice.on_every_scale(12);
        add_fault(scenario, {{"on", on},
                             {"do", "partition"},
                             {"a", "actor"},
                             {"b", "redis"},
                             {"for", dice.word({"20s", "45s", "90s"})}});
        const std::string length = dice.word({"3s", "8s", "15s"});
        if (dice.chance(0.6))
            add_fault(scenario, {{"on", on}, {"do", "crash"}, {"target", "nats"}, {"for", length}});
        else
            add_fault(scenario, {{"on", on}, {"do", "kernel.latency"}, {"latency", "1900ms"}, {"for", length}});
    }
}

void settings_change(Dice& dice, Document& scenario) {
    config(scenario)["config_reload_interval"] = dice.word({"5s", "30s"});
    const auto pools = [](const char* status) {
        return Document{{"topics", {{"job.default", {"default"}}}},
                        {"pools", {{"default", {{"requires", Document::array()}, {"status", status}}}}}};
    };
    // When they start, replicas tell the service of their files.
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", "0s"},
                             {"do", "redis.errors"},
                             {"script", "replace_document"},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"for", "20s"}});
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document fault = {{"at", dice.seconds(3, 60)}, {"do", "config.update"}};
        switch (dice.between(0, 3)) {
            case 0: fault["pools"] = pools(dice.chance(0.5) ? "draining" : "inactive"); break;
            case 1:
                fault["timeouts"] = {{"reconciler",
                                      {{"dispatch_timeout", dice.word({"20s", "1m", "5m"})},
                                       {"running_timeout", dice.word({"30s", "2m", "10m"})}}}};
                if (dice.chance(0.5)) fault["timeouts"]["topics"]["job.default"]["timeout"] = dice.seconds(5, 60);
                if (dice.chance(0.5)) fault["timeouts"]["workflows"]["wf"]["child_timeout"] = dice.seconds(5, 60);
                break;
            case 2:
                fault["scheduler"] = {{"input_fail_mode", dice.word({"open", "closed"})}};
                if (dice.chance(0.7)) fault["scheduler"]["output_fail_mode"] = dice.word({"open", "closed"});
                if (dice.chance(0.6)) fault["scheduler"]["output_policy_enabled"] = dice.chance(0.5);
                break;
            default: fault["raw"] = "{ \"data\": [[["; break;
        }
        add_fault(scenario, std::move(fault));
    }
    add_fault(scenario, {{"at", "70s"}, {"do", "config.update"}, {"pools", pools("active")}});
}

void comings_and_goings(Dice& dice, Document& scenario) {
    for (int i = dice.between(2, 6); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(3, 120)},
                             {"do", dice.word({"stop", "crash"})},
                             {"target", dice.chance(0.3) ? std::string("schedulers") : a_replica(dice, scenario)},
                             {"for", dice.word({"500ms", "3s", "20s"})}});
    add_load(scenario, {{"at", dice.seconds(5, 60)}, {"count", dice.on_every_scale(20)}, {"rate", "1/s"}});
    // Who starts then knows of workers what a snapshot says of them, and nothing else.
    if (dice.chance(0.4)) {
        const int at = dice.between(10, 60);
        add_fault(scenario, {{"at", fmt::format("{}s", at)},
                             {"do", dice.word({"worker.silence", "crash"})},
                             {"target", "workers"},
                             {"for", dice.word({"20s", "60s"})}});
        add_fault(scenario, {{"at", fmt::format("{}s", at + dice.between(1, 10))},
                             {"do", dice.word({"stop", "crash"})},
                             {"target", "schedulers"},
                             {"for", "1s"}});
    }
    if (dice.chance(0.5)) add_short_grace(dice, scenario);
    if (dice.chance(0.5)) add_stop_in_the_middle(dice, scenario);
}

void failing_calls(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster.erase("gateway");
    open_travel_agency(cluster);
    config(scenario)["running_timeout"] = "20s";
    config(scenario)["reconciler_interval"] = dice.word({"3s", "5s"});
    config(scenario)["cancel_on_timeout"] = true;
    for (int step = dice.between(1, 3); step > 0; --step)
        workflow_step(scenario, dice.seconds(2, 10), "job.book", "trip", true);
    workflow_step(scenario, dice.seconds(12, 20), "job.fail", "trip", false);
    add_load(scenario, {{"at", dice.seconds(2, 10)},
                        {"count", dice.between(1, 4)},
                        {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTCOME", "hang"}}}}}});
    add_load(scenario, {{"at", dice.seconds(2, 30)}, {"garbage", 13}, {"count", dice.between(1, 4)}});
    const Document denied = {
        {"job_id", "denied"}, {"topic", "job.default"}, {"tenant_id", "t"}, {"labels", {{"needs", "nothing"}}}};
    add_load(scenario, {{"at", "2s"}, {"job", denied}});
    add_load(scenario, {{"at", "10s"}, {"forge", {{"job_request", denied}}}, {"count", 15}, {"rate", "1/s"}});
    for (int i = dice.between(3, 8); i > 0; --i) add_failing_call(dice, scenario);
}

void squatted_keys(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario,
                 {{"at", dice.word({"0s", "0s", "5s", "20s"})},
                  {"redis",
                   {"SET", dice.word({"worker:jobs:w-0", "worker:jobs:w-1", "worker:jobs:w"}), "somebody else's"}}});
}

}  // namespace lockstep::sim
