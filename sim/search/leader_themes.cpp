#include "sim/search/leader_themes.h"

#include <string>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

constexpr int kFirstJobAt = 12;  // in seconds; one comes every second

/// The only thing that happens is what the theme is about.
void clear(Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster.erase("output_policy");
    cluster["config"] = Document::object();
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 2}, {"max_parallel_jobs", 10}, {"service_time", "500ms"}}});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
}

void change_leader_and_die(Document& scenario, const Document& on, const std::string& in_hand,
                           const std::string& away) {
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}, {"in_hand", in_hand}});
    add_fault(scenario, {{"on", on}, {"do", "crash"}, {"target", "actor"}, {"for", away}});
}

/// Whoever ticks writes down how far the stream is accounted for, and freezes just before that until a message that is passed by
/// meanwhile is nearly old enough to be looked at.
void freeze_before_a_note(Dice& dice, Document& scenario) {
    constexpr int kInterval = 10;
    const int ack_wait = dice.between(15, 30);
    Document& settings = config(scenario);
    settings["reconciler_interval"] = fmt::format("{}s", kInterval);
    settings["bus_ack_wait"] = fmt::format("{}s", ack_wait);
    const int note = dice.between(2, 4);
    add_fault(scenario, {{"on",
                          {{"event", "redis"},
                           {"command", "HSET"},
                           {"key", "lockstep:durable:dur_cordum-scheduler__sys_job_submit"},
                           {"when", "before"},
                           {"nth", note}}},
                         {"do", "pause"},
                         {"target", "actor"},
                         {"for", fmt::format("{}s", ack_wait + dice.between(5, 20))}});
    const int job = (kInterval * note) - kFirstJobAt + dice.between(2, 14);
    const Document on = {
        {"event", "redis"}, {"script", "take_up"}, {"job", fmt::format("job-{}", job)}, {"when", "before"}};
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}, {"in_hand", "forgotten"}});
    // Who led before leads again.
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}});
    add_fault(scenario, {{"on", on}, {"do", "crash"}, {"target", "actor"}, {"for", dice.word({"40s", "5m"})}});
}

/// What is in hand is a result, or a submission, and the lock of its job outlives its holder by many ticks.
void leave_a_lock_behind(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["reconciler_interval"] = dice.word({"2s", "3s", "5s"});
    settings["bus_ack_wait"] = dice.word({"5s", "10s"});
    settings["job_lock_ttl"] = dice.word({"45s", "60s"});
    Document on = {{"event", "redis"}, {"when", "applied"}, {"nth", dice.between(6, 30)}};
    on["script"] = dice.word({"take_lock", "take_lock", "take_lock", "take_up"});
    change_leader_and_die(scenario, on, "forgotten", dice.word({"1s", "10m", "10m"}));
}

/// A result stays in hand for ever, and its job comes to its limit long after all else is well again.
void leave_a_result_in_hand(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["reconciler_interval"] = dice.word({"2s", "5s", "10s"});
    settings["bus_ack_wait"] = dice.word({"5s", "20s"});
    settings["job_lock_ttl"] = "20s";
    for (const char* limit : {"dispatch_timeout", "running_timeout"}) settings[limit] = dice.word({"1m", "2m"});
    const Document on = {{"event", "deliver"}, {"subject", "sys.job.result"}, {"nth", dice.between(1, 30)}};
    change_leader_and_die(scenario, on, "stuck", dice.word({"500ms", "5s"}));
}

/// Who led before leads again while the only scheduler has no connection, and nobody has heard of the other one.
void change_leader_unheard(Dice& dice, Document& scenario) {
    scenario["cluster"]["schedulers"] = 1;
    Document& settings = config(scenario);
    settings["reconciler_interval"] = dice.word({"5s", "10s"});
    settings["bus_ack_wait"] = dice.word({"10s", "30s"});
    for (const char* limit : {"dispatch_timeout", "running_timeout"}) settings[limit] = "12m";
    const Document on = {{"event", "deliver"},
                         {"subject", dice.word({"sys.job.result", "sys.job.submit"})},
                         {"nth", dice.between(12, 30)}};
    add_fault(scenario, {{"on", on}, {"do", "partition"}, {"a", "scheduler-0"}, {"b", "nats"}, {"for", "8m"}});
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}, {"in_hand", "forgotten"}});
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}});
    add_fault(scenario, {{"on", on}, {"do", "redis.errors"}, {"outcome", "not_applied"}, {"for", "20s"}});
}

}  // namespace

void forgetful_leaders(Dice& dice, Document& scenario) {
    clear(scenario);
    scenario["cluster"]["schedulers"] = dice.between(2, 3);
    // What a gateway has recorded is found there.
    scenario["cluster"]["gateway"] = "publish-only";
    Document& settings = config(scenario);
    for (const char* limit : {"dispatch_timeout", "running_timeout"}) settings[limit] = dice.word({"40s", "4m", "4m"});
    switch (dice.between(0, 4)) {
        case 0:
        case 1:
            scenario["cluster"]["schedulers"] = 3;
            freeze_before_a_note(dice, scenario);
            break;
        case 2: leave_a_lock_behind(dice, scenario); break;
        case 3: leave_a_result_in_hand(dice, scenario); break;
        default: change_leader_unheard(dice, scenario); break;
    }
    add_load(
        scenario,
        {{"at", fmt::format("{}s", kFirstJobAt)}, {"count", 40}, {"rate", "1/s"}, {"job", {{"topic", "job.default"}}}});
}

void unheld_dispatches(Dice& dice, Document& scenario) {
    constexpr int kJobs = 40;
    clear(scenario);
    scenario["cluster"]["schedulers"] = dice.between(1, 2);
    Document& settings = config(scenario);
    settings["bus_ack_wait"] = dice.word({"10s", "30s"});
    for (const char* limit : {"dispatch_timeout", "running_timeout"}) settings[limit] = dice.word({"1m", "2m"});
    add_load(scenario, {{"at", fmt::format("{}s", kFirstJobAt)},
                        {"count", kJobs},
                        {"rate", "1/s"},
                        {"job", {{"topic", "job.default"}}}});
    const int first = dice.between(1, kJobs / 2);
    const int away = dice.between(6, 16);
    add_fault(scenario,
              {{"on", {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", "before"}, {"nth", first}}},
               {"do", "nats.no_quorum"},
               {"for", fmt::format("{}s", away)}});
    add_fault(scenario, {{"at", fmt::format("{}s", kFirstJobAt + first + away + dice.between(0, 6))},
                         {"do", "nats.publish_errors"},
                         {"subject", "worker.*.jobs"},
                         {"outcome", "lost"},
                         {"count", dice.between(1, 2)},
                         {"for", "30s"}});
}

}  // namespace lockstep::sim
