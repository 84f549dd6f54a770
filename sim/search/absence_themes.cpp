#include "sim/search/absence_themes.h"

#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

void lost_ticks(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["schedulers"] = dice.between(2, 3);
    cluster["config"] = {{"reconciler_interval", dice.word({"3s", "5s"})},
                         {"running_timeout", dice.word({"10s", "20s"})},
                         {"dispatch_timeout", "20s"},
                         {"cancel_on_timeout", dice.chance(0.5)}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 2}, {"max_parallel_jobs", 50}, {"service_time", "300ms"}}});
    cluster.erase("output_policy");
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    for (int i = dice.between(1, 3); i > 0; --i) {
        Document job = {{"topic", "job.default"}, {"env", {{"SIM_OUTCOME", "hang"}}}};
        if (dice.chance(0.4)) job["budget"]["deadline_ms"] = dice.word({"5000", "12000"});
        add_load(
            scenario,
            {{"at", dice.seconds(2, 10)}, {"count", dice.between(5, 15)}, {"rate", "50/s"}, {"job", std::move(job)}});
    }
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "redis"},
                               {"script", dice.word({"time_out", "time_out", "overdue_page", "stale_jobs"})},
                               {"when", dice.word({"before", "answered"})},
                               {"nth", dice.on_every_scale(12)}}},
                             {"do", "pause"},
                             {"target", "actor"},
                             {"for", dice.word({"8s", "11s", "15s", "25s"})}});
    // So that another one has not done everything before whoever was frozen goes on.
    if (dice.chance(0.6))
        add_fault(scenario, {{"at", dice.seconds(1, 8)},
                             {"do", "slow_link"},
                             {"a", "schedulers"},
                             {"b", "redis"},
                             {"latency", dice.word({"200ms", "600ms"})},
                             {"for", "90s"}});
}

void long_silence(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["config"] = {{"bus_ack_wait", dice.word({"30s", "10m"})}};
    cluster.erase("output_policy");
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    const Document job = {{"topic", "job.default"}};
    // Their ends are to be told while nobody can be.
    add_load(scenario, {{"at", dice.seconds(2, 40)},
                        {"count", dice.between(1, 4)},
                        {"rate", "1/s"},
                        {"job",
                         {{"topic", "job.default"},
                          {"env", {{"SIM_OUTCOME", "hang"}}},
                          {"budget", {{"deadline_ms", dice.word({"30000", "90000", "200000"})}}}}}});
    for (const auto& [from, to] : {std::pair{2, 30}, {30, 500}, {600, 900}})
        add_load(scenario,
                 {{"at", dice.seconds(from, to)}, {"count", dice.between(1, 10)}, {"rate", "1/s"}, {"job", job}});
    Document fault = {{"at", dice.seconds(5, 60)}, {"for", dice.word({"5m", "7m", "9m"})}};
    if (dice.chance(0.7)) {
        fault["do"] = "partition";
        fault["a"] = dice.word({"schedulers", "schedulers", "scheduler-0"});
        fault["b"] = "nats";
    } else {
        fault["do"] = "pause";
        fault["target"] = "nats";
    }
    add_fault(scenario, std::move(fault));
}

void failing_guards(Dice& dice, Document& scenario) {
    config(scenario)["bus_guard_on_error"] = dice.word({"nak", "nak", "degrade"});
    add_load(scenario, {{"at", dice.seconds(3, 12)}, {"count", dice.between(4, 12)}, {"rate", "1/s"}});
    if (dice.chance(0.6)) {
        const std::string durable =
            dice.word({"dur_cordum-scheduler__sys_job_submit", "dur_cordum-scheduler__sys_job_result"});
        const int first = dice.on_every_scale(16);
        for (int number = first; number < first + 8; ++number)
            add_load(scenario, {{"at", "0s"},
                                {"redis",
                                 {"SET", fmt::format("cordum:bus:processed:CORDUM_SYS:{}:{}", number, durable),
                                  "5feceb66ffc86f38d952786c6d696c79", "PX", "600000"}}});
    }
    for (int i = dice.between(1, 3); i > 0; --i) {
        Document fault = {{"at", dice.seconds(2, 20)},
                          {"do", "redis.errors"},
                          {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                          {"rate", dice.share({0.3, 1.0})},
                          {"for", dice.word({"1s", "4s", "10s"})}};
        if (dice.chance(0.5))
            fault["script"] = "commit";
        else
            fault["key"] = "cordum:bus:processed:*";
        add_fault(scenario, std::move(fault));
    }
}

void unread_stream(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["running_timeout"] = "10s";
    settings["reconciler_interval"] = dice.word({"1s", "2s"});
    settings["bus_max_ack_pending"] = dice.between(1, 4);
    settings["publish_timeout"] = "2s";
    const auto second = [](int time) { return fmt::format("{}s", time); };
    const int at = dice.between(6, 15);
    add_load(
        scenario,
        {{"at", second(at - 3)},
         {"count", dice.between(6, 15)},
         {"rate", "20/s"},
         {"job", {{"topic", "job.default"}, {"env", {{"SIM_SERVICE_MS", dice.word({"6000", "9000", "11000"})}}}}}});
    // Results come while nobody takes them in; then some do, and nobody answers what else there is.
    add_fault(scenario, {{"at", second(at + 1)},
                         {"do", dice.word({"pause", "crash"})},
                         {"target", "schedulers"},
                         {"for", second(dice.between(10, 14))}});
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "deliver"},
                               {"subject", dice.word({"sys.job.result", "sys.job.result", "sys.job.submit"})},
                               {"nth", dice.on_every_scale(16)}}},
                             {"do", "pause"},
                             {"target", "nats"},
                             {"for", dice.word({"6s", "10s", "15s"})}});
    if (!dice.chance(0.6)) return;
    const int garbled = dice.between(at + 12, at + 20);
    add_load(scenario, {{"at", second(garbled)}, {"count", dice.between(2, 6)}, {"rate", "2/s"}});
    add_fault(scenario, {{"at", second(garbled)},
                         {"do", "nats.garbled_delivery"},
                         {"subject", dice.word({"sys.job.submit", "sys.job.result"})},
                         {"for", "6s"}});
    if (dice.chance(0.5)) {  // no question is answered in time, and what is decided without an answer arrives
        add_fault(scenario, {{"at", second(garbled)},
                             {"do", "slow_link"},
                             {"a", "schedulers"},
                             {"b", "nats"},
                             {"latency", "1500ms"},
                             {"for", "8s"}});
        return;
    }
    add_fault(scenario, {{"at", fmt::format("{}ms", 1000 * garbled + dice.between(200, 2000))},
                         {"do", "pause"},
                         {"target", "nats"},
                         {"for", dice.word({"4s", "8s"})}});
}

}  // namespace lockstep::sim
