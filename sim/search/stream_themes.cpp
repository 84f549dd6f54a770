#include "sim/search/stream_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

void refused_dispatches(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["dispatch_timeout"] = dice.word({"3s", "5s", "20s"});
    settings["reconciler_interval"] = dice.word({"1s", "3s"});
    settings["publish_resend_limit"] = dice.word({"5s", "10s"});
    settings["retry_delay_publish"] = dice.word({"500ms", "1s"});
    settings["max_scheduling_retries"] = dice.one_of(std::array{3, 5, 50});
    settings["cancel_on_timeout"] = dice.chance(0.7);
    for (int i = dice.between(2, 5); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(3, 30)},
                             {"do", "nats.publish_errors"},
                             {"subject", "worker.*.jobs"},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown", "lost"})},
                             {"rate", dice.share({0.5, 0.8, 1.0})},
                             {"for", dice.word({"3s", "8s", "20s"})}});
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document job = {{"topic", "job.default"}};
        if (dice.chance(0.4)) job["budget"]["deadline_ms"] = dice.word({"3000", "6000", "12000"});
        add_load(scenario, {{"at", dice.seconds(3, 25)},
                            {"count", dice.between(4, 12)},
                            {"rate", dice.word({"1/s", "5/s"})},
                            {"job", std::move(job)}});
    }
    if (dice.chance(0.7))
        add_fault(scenario, {{"on",
                              {{"event", "publish"},
                               {"subject", "worker.*.jobs"},
                               {"when", dice.word({"before", "applied", "answered"})},
                               {"nth", dice.on_every_scale(16)}}},
                             {"do", dice.word({"crash", "worker.silence"})},
                             {"target", dice.word({"w-0", "workers"})},
                             {"for", dice.word({"5s", "20s"})}});
}

void many_unheard(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["running_timeout"] = dice.word({"10s", "20s"});
    settings["dispatch_timeout"] = dice.word({"10s", "20s"});
    settings["reconciler_interval"] = dice.word({"1s", "3s"});
    settings["bus_ack_wait"] = dice.word({"30s", "2m"});
    settings["bus_max_ack_pending"] = dice.one_of(std::array{4, 16, 128});
    const int at = dice.between(6, 15);
    const int away = dice.between(12, 30);
    const auto second = [](int time) { return fmt::format("{}s", time); };
    add_load(scenario,
             {{"at", second(at - 3)},
              {"count", dice.between(6, 20)},
              {"rate", "10/s"},
              {"job", {{"topic", "job.default"}, {"env", {{"SIM_SERVICE_MS", dice.word({"4000", "8000"})}}}}}});
    add_fault(scenario, {{"at", second(at)},
                         {"do", dice.word({"crash", "stop", "pause"})},
                         {"target", "schedulers"},
                         {"for", second(away)}});
    add_load(scenario,
             {{"at", second(at + 1)},
              {"forge",
               {{"job_result",
                 {{"job_id", "of-somebody-else"}, {"worker_id", "stranger"}, {"status", "JOB_STATUS_SUCCEEDED"}}}}},
              {"count", dice.one_of(std::array{300, 1100, 1600, 2300})},
              {"rate", "500/s"}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", second(at + away + dice.between(0, 3))},
                             {"do", "partition"},
                             {"a", dice.word({"schedulers", "scheduler-0"})},
                             {"b", "nats"},
                             {"for", dice.word({"1s", "4s", "12s"})}});
    for (int i = dice.between(0, 2); i > 0; --i)
        add_fault(scenario,
                  {{"on", {{"event", "deliver"}, {"subject", "sys.job.result"}, {"nth", dice.on_every_scale(1500)}}},
                   {"do", dice.word({"crash", "pause"})},
                   {"target", "actor"},
                   {"for", dice.word({"500ms", "5s", "20s"})}});
}

void steady_garbage(Dice& dice, Document& scenario) {
    if (dice.chance(0.4)) config(scenario)["dlq_undecodable_max_size"] = 20;
    for (const char* subject : {"sys.job.submit", "sys.job.result"}) {
        for (int i = dice.between(1, 3); i > 0; --i)
            add_load(scenario, {{"at", dice.seconds(1, 60)},
                                {"raw", dice.word({"hello", "{ }", "no packet at all"})},
                                {"subject", subject},
                                {"count", dice.between(10, 40)},
                                {"rate", dice.word({"12/m", "30/m"})}});
    }
    for (int i = dice.between(2, 5); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(5, 160)},
                            {"garbage", dice.between(1, 40)},
                            {"count", dice.between(3, 12)},
                            {"rate", "200/s"}});
    add_load(scenario, {{"at", dice.seconds(130, 180)}, {"topic", "job.default"}, {"count", 2}});
    if (dice.chance(0.4)) add_failing_script(dice, scenario, "bury_undecodable");
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(50, 120)},
                             {"do", "redis.errors"},
                             {"script", "undecodable_sums"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"for", dice.word({"10s", "70s"})}});
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(55, 130)},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.job.dlq"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"for", dice.word({"10s", "70s"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(20, 150)},
                             {"do", dice.word({"crash", "stop"})},
                             {"target", dice.word({"schedulers", "scheduler-0"})},
                             {"for", dice.word({"1s", "10s"})}});
}

void narrow_window(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["nats"] = {{"max_payload", 10'486}, {"max_pending", 671'089}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 4}, {"max_parallel_jobs", 50}, {"service_time", "50ms"}}});
    Document& settings = config(scenario);
    settings["bus_bytes_in_flight"] = dice.one_of(std::array{22'000, 40'000, 80'000});
    settings["bus_rate_limit"] = 2'560'000;
    // A single handler at a time would keep the rest waiting where they are counted, too, but for hours.
    for (const char* narrow : {"max_in_flight", "bus_max_ack_pending"}) settings.erase(narrow);
    settings["safety_timeout"] = "30s";
    // Where policy denies everything no result comes, which would be taken in as well.
    const bool denied = dice.chance(0.5);
    if (denied) scenario["load"] = Document::array();
    for (int i = dice.between(2, 5); i > 0; --i) {
        add_load(scenario, {{"at", dice.seconds(2, 40)},
                            {"count", dice.between(15, 50)},
                            {"rate", dice.word({"5/s", "10/s", "50/s"})},
                            {"payload_bytes", dice.one_of(std::array{3000, 9000})}});
        if (denied) scenario["load"].back()["job"]["labels"]["needs"] = "nothing";
    }
    // When all of that is done.
    add_load(scenario, {{"at", dice.seconds(90, 120)}, {"count", dice.between(1, 4)}});
    if (denied) scenario["load"].back()["job"]["labels"]["needs"] = "nothing";
    for (int i = dice.between(2, 5); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(1, 40)},
                             {"do", "kernel.latency"},
                             {"latency", dice.word({"500ms", "2s", "5s"})},
                             {"for", dice.word({"2s", "5s", "20s"})}});
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(5, 40)},
                             {"do", "crash"},
                             {"target", dice.word({"nats", "scheduler-0"})},
                             {"for", dice.word({"500ms", "3s"})}});
}

}  // namespace lockstep::sim
