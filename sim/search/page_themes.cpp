#include "sim/search/page_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Nothing of what has been drawn but policy stays.
void begin_with(Document& scenario, int schedulers, Document settings) {
    Document& cluster = scenario["cluster"];
    const Document policy = cluster["kernel"]["policy"];
    cluster = {{"schedulers", schedulers}, {"config", std::move(settings)}};
    cluster["kernel"] = {{"latency", "2ms"}, {"policy", policy}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 2}, {"max_parallel_jobs", 40}, {"service_time", "300ms"}}});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
}

Document with_deadline(std::string id, int millis) {
    return {{"job_id", std::move(id)},
            {"topic", "job.default"},
            {"env", {{"SIM_OUTCOME", "hang"}}},
            {"budget", {{"deadline_ms", fmt::format("{}", millis)}}}};
}

}  // namespace

void waiting_deadlines(Dice& dice, Document& scenario) {
    // A result that finds its job in other hands comes again so late that its job has to be waited for.
    begin_with(scenario, dice.between(1, 2),
               {{"reconciler_batch", dice.between(1, 2)},
                {"reconciler_max_iterations", dice.one_of(std::array{20, 50})},
                {"reconciler_interval", dice.word({"1s", "2s", "5s"})},
                {"retry_delay_busy", dice.word({"45s", "90s"})},
                {"lock_wait", "0s"},
                {"running_timeout", "15m"}});
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("waiting-{}", i);
        add_load(scenario, {{"at", "2s"}, {"job", with_deadline(id, dice.between(4000, 6000))}});
        add_load(scenario,
                 {{"at", fmt::format("{}ms", dice.between(3500, 5000))},
                  {"count", dice.between(3, 6)},
                  {"rate", "5000/s"},
                  {"forge",
                   {{"job_result", {{"job_id", id}, {"worker_id", "stranger"}, {"status", "JOB_STATUS_SUCCEEDED"}}}}}});
    }
    for (int i = dice.between(1, 4); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 6)},
                            {"job", with_deadline(fmt::format("due-{}", i), dice.between(6500, 20'000))}});
}

void unplaceable_jobs(Dice& dice, Document& scenario) {
    const int batch = dice.between(1, 3);
    begin_with(scenario, dice.between(2, 3),
               {{"reconciler_batch", batch},
                {"pending_age", dice.word({"5s", "10s"})},
                {"replayer_interval", dice.word({"2s", "5s"})},
                {"bus_ack_wait", "10m"},
                {"job_lock_ttl", dice.word({"10s", "60s"})}});
    Document& pools = pools_of(scenario["cluster"]);
    pools["topics"]["job.idle"] = Document::array({"idle"});
    pools["pools"]["idle"] = {{"requires", Document::array()}};
    // Neither kind of them moves.
    for (int i = batch + dice.between(0, 4); i > 0; --i)
        add_load(scenario, {{"at", "2s"}, {"job", {{"topic", "job.idle"}, {"tenant_id", fmt::format("idle-{}", i)}}}});
    for (int i = dice.between(0, batch + 2); i > 0; --i)
        add_load(scenario, {{"at", "2s"}, {"job", {{"topic", "job.default"}, {"labels", {{"needs", "a human"}}}}}});
    for (int i = dice.between(2, 6); i > 0; --i) {
        const std::string id = fmt::format("orphan-{}", i);
        const Document job = {{"job_id", id}, {"topic", "job.default"}, {"tenant_id", id}};
        add_load(scenario, {{"at", dice.seconds(8, 12)}, {"job", job}});
        if (dice.chance(0.5)) continue;
        add_fault(scenario, {{"on", {{"event", "deliver"}, {"subject", "sys.job.submit"}, {"job", id}}},
                             {"do", dice.word({"crash", "crash", "pause"})},
                             {"target", "actor"},
                             {"for", dice.word({"500ms", "3s"})}});
    }
    // What a gateway has recorded, and could not publish.
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", "7s"},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.job.submit"},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"rate", dice.share({0.5, 1.0})},
                             {"for", dice.word({"4s", "30s"})}});
    // What was put off by the time of before lies far ahead.
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(15, 40)},
                             {"do", "clock_jump"},
                             {"target", "redis"},
                             {"by", dice.word({"-5m", "-10m", "-1h"})}});
}

}  // namespace lockstep::sim
