#include "sim/search/result_themes.h"

#include <array>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Who holds a job's lock freezes with it, for longer than anybody waits for the result that cannot be heard meanwhile.
void add_frozen_owner(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    config(scenario)["job_lock_ttl"] = "10m";
    config(scenario)["bus_ack_wait"] = "30s";
    config(scenario)["running_timeout"] = "20s";
    const Document on = {
        {"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", "applied"}, {"nth", dice.on_every_scale(8)}};
    add_fault(scenario, {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"2m", "4m"})}});
}

/// Whoever records the first verdict is frozen with its job's lock until that has run out, and nobody else hears policy any more.
void add_lapse_of_a_verdict(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    config(scenario)["job_lock_ttl"] = "5s";
    config(scenario)["store_op_timeout"] = "20s";
    add_load(scenario, {{"at", "1s"},
                        {"job",
                         {{"job_id", "withheld"},
                          {"topic", "job.default"},
                          {"env", {{"SIM_OUTPUT", "the key is AKIAIOSFODNN7EXAMPLE"}, {"SIM_SERVICE_MS", "200"}}}}}});
    // After those of its dispatch, its start and its success.
    add_fault(scenario,
              {{"on", {{"event", "redis"}, {"script", "commit"}, {"job", "withheld"}, {"when", "before"}, {"nth", 4}}},
               {"do", "pause"},
               {"target", "actor"},
               {"for", dice.word({"6s", "8s", "12s"})}});
    add_fault(scenario, {{"on", {{"event", "output_check"}, {"to", "QUARANTINE"}, {"when", "applied"}}},
                         {"do", "output_policy.errors"},
                         {"status", "UNAVAILABLE"},
                         {"rate", 1.0},
                         {"for", dice.word({"2m", "3m"})}});
}

}  // namespace

void short_records(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["config"] = {{"job_meta_ttl", dice.word({"90s", "2m"})},
                         {"bus_ack_wait", dice.word({"2m", "150s", "4m"})},
                         {"bus_processed_ttl", dice.word({"20s", "2m", "20m"})},
                         {"dispatch_timeout", "20s"},
                         {"running_timeout", "20s"},
                         // A job whose message waits for its redelivery is not to run, end and be forgotten before.
                         {"pending_age", "30m"},
                         {"reconciler_interval", "5s"}};
    cluster["workers"] = Document::array({{{"id", "w"}, {"count", dice.between(1, 3)}, {"service_time", "300ms"}}});
    cluster.erase("output_policy");
    scenario["load"] = {{{"at", "3s"}, {"count", dice.between(1, 4)}, {"rate", "1/s"}},
                        // Keeps the world from ending before the messages come again.
                        {{"at", "6m"}, {"job", {{"job_id", "last"}}}}};
    scenario["faults"] = Document::array();
    for (int i = dice.between(1, 2); i > 0; --i) {
        if (dice.chance(0.3))
            add_fault(scenario, {{"at", dice.seconds(3, 6)},
                                 {"do", "nats.lost_acks"},
                                 {"rate", dice.share({0.1, 0.5})},
                                 {"for", "5s"}});
        else
            add_fault(
                scenario,
                {{"on", {{"event", "ack"}, {"when", dice.word({"before", "applied"})}, {"nth", dice.between(1, 6)}}},
                 {"do", "crash"},
                 {"target", "actor"},
                 {"for", dice.word({"100ms", "5s", "20s"})}});
    }
}

void unheard_reports(Dice& dice, Document& scenario) {
    // Not where another theme may have named one of more.
    if (dice.chance(0.5) && scenario["faults"].empty()) scenario["cluster"]["schedulers"] = dice.between(1, 2);
    Document& settings = config(scenario);
    settings["bus_ack_wait"] = dice.word({"30s", "2m", "10m"});
    settings["running_timeout"] = dice.word({"20s", "30s", "1m"});
    settings["dispatch_timeout"] = dice.word({"20s", "1m"});
    settings["reconciler_interval"] = dice.word({"5s", "10s"});
    if (dice.chance(0.4)) settings["bus_max_ack_pending"] = dice.one_of(std::array{1, 4, 16});
    Document& workers = scenario["cluster"]["workers"][0];
    workers["service_time"] = dice.word({"50ms", "500ms", "3s", "15s"});
    workers["outcomes"] = {{"SUCCEEDED", 0.4}, {"contradict", 0.4}, {"early", 0.1}, {"hang", 0.1}};
    add_load(scenario, {{"at", dice.seconds(3, 20)}, {"count", dice.on_every_scale(16)}, {"rate", "2/s"}});
    for (int i = dice.between(1, 3); i > 0; --i) {
        const Document on = dice.chance(0.6)
                                ? Document{{"event", "deliver"}, {"subject", "sys.job.result"}}
                                : Document{{"event", "redis"}, {"script", dice.word({"take_lock", "overdue_page"})}};
        Document faults = Document::array();
        add_preemption_at(dice, on, 16, faults);
        for (Document& fault : faults) add_fault(scenario, std::move(fault));
    }
    if (dice.chance(0.3)) add_frozen_owner(dice, scenario);
    // Whoever has a result in hand cannot record it, and hands it back.
    if (dice.chance(0.4)) add_failing_script(dice, scenario, "commit");
    // The same once, so that the next one could be recorded before this one comes again.
    if (dice.chance(0.5)) {
        for (int i = dice.between(1, 4); i > 0; --i)
            add_fault(scenario,
                      {{"on", {{"event", "deliver"}, {"subject", "sys.job.result"}, {"nth", dice.on_every_scale(32)}}},
                       {"do", "redis.errors"},
                       {"script", "commit"},
                       {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                       {"count", 1},
                       {"for", "5s"}});
    }
    // Locks that are held for longer than a result waits for one.
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 10)},
                             {"do", "nats.publish_errors"},
                             {"subject", "worker.*.jobs"},
                             {"outcome", "unknown"},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"5s", "20s"})}});
}

void settled_reports(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    const Document policy = cluster["kernel"]["policy"];
    cluster = {{"schedulers", dice.between(2, 3)}};
    cluster["kernel"] = {{"latency", "2ms"}, {"policy", policy}};
    cluster["config"] = {{"lock_wait", dice.word({"100ms", "300ms", "1s"})},
                         {"retry_delay_busy", dice.word({"1s", "2s", "3s"})},
                         {"bus_ack_wait", "10m"}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 2}, {"max_parallel_jobs", 40}, {"service_time", "300ms"}}});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    const auto job_of_w0 = [&scenario](const std::string& id, std::string at, std::string service_ms) {
        add_load(scenario, {{"at", std::move(at)},
                            {"job",
                             {{"job_id", id},
                              {"topic", "job.default"},
                              {"labels", {{"preferred_worker_id", "w-0"}}},
                              {"env", {{"SIM_SERVICE_MS", std::move(service_ms)}}}}}});
    };
    const auto report = [&scenario](const std::string& id, int at, const char* worker, const std::string& status) {
        add_load(scenario, {{"at", fmt::format("{}ms", at)},
                            {"forge", {{"job_result", {{"job_id", id}, {"worker_id", worker}, {"status", status}}}}}});
    };
    // A word that ends nothing, and no way to give back the lock under which it is heard.
    for (int i = dice.between(1, 3); i > 0; --i) {
        const std::string id = fmt::format("worded-{}", i);
        job_of_w0(id, "2s", dice.word({"8000", "15000"}));
        report(id, dice.between(4100, 5500), "w-0", "JOB_STATUS_DENIED");
    }
    add_fault(scenario, {{"at", "4s"},
                         {"do", "redis.errors"},
                         {"script", "release_lock"},
                         {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                         {"rate", dice.share({0.7, 1.0})},
                         {"for", "2s"}});
    // Two that contradict each other, and strangers: the first has been asked for while the job's lock was busy.
    for (int i = dice.between(1, 3); i > 0; --i) {
        const std::string id = fmt::format("turned-{}", i);
        const int at = 20'000 * i;
        job_of_w0(id, fmt::format("{}ms", at), "60000");
        const int held = dice.between(3000, 7000);
        add_fault(scenario,
                  {{"on", {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", "applied"}, {"job", id}}},
                   {"do", "pause"},
                   {"target", "actor"},
                   {"for", fmt::format("{}ms", held)}});
        report(id, at + dice.between(200, 800), "w-0", dice.word({"JOB_STATUS_FAILED", "JOB_STATUS_CANCELLED"}));
        for (int more = dice.between(1, 3); more > 0; --more)
            report(id, at + dice.between(900, 2500), "w-0", "JOB_STATUS_SUCCEEDED");
        for (int since = 300; since < held + 1500; since += dice.between(100, 500))
            report(id, at + since, "stranger", dice.word({"JOB_STATUS_SUCCEEDED", "JOB_STATUS_DENIED"}));
    }
}

void withheld_outputs(Dice& dice, Document& scenario) {
    scenario["cluster"]["output_policy"] = {
        {"enabled", true},
        {"fail_mode", "open"},
        {"rules",
         Document::array({{{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}}})}};
    config(scenario)["output_content_timeout"] = dice.word({"5s", "10s"});
    add_load(scenario,
             {{"at", dice.seconds(3, 20)},
              {"count", dice.between(1, 6)},
              {"rate", dice.word({"1/s", "5/s"})},
              {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", "the key is AKIAIOSFODNN7EXAMPLE"}}}}}});
    const Document on = {
        {"event", "output_check"}, {"to", "QUARANTINE"}, {"when", "applied"}, {"nth", dice.between(1, 4)}};
    if (dice.chance(0.5)) return add_lapse_of_a_verdict(dice, scenario);
    add_fault(scenario, {{"on", on},
                         {"do", "redis.errors"},
                         {"outcome", dice.word({"not_applied", "unknown"})},
                         {"for", dice.word({"8s", "15s", "30s"})}});
    add_fault(scenario, {{"on", on},
                         {"do", "output_policy.errors"},
                         {"status", "UNAVAILABLE"},
                         {"rate", 1.0},
                         {"for", dice.word({"90s", "3m"})}});
}

void redactions(Dice& dice, Document& scenario) {
    const auto rule = [](const char* id, const char* decision, Document match) {
        return Document{{"id", id}, {"decision", decision}, {"match", std::move(match)}};
    };
    scenario["cluster"]["output_policy"] = {
        {"enabled", true},
        {"fail_mode", dice.word({"open", "closed"})},
        {"rules", Document::array({rule("people", "redact", {{"scanners", {"pii"}}}),
                                   rule("tagged", "redact", {{"risk_tags", {"private"}}})})}};
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document job = {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", "write to ann@example.org"}}}};
        if (dice.chance(0.5)) job["meta"]["risk_tags"] = {"private"};
        if (dice.chance(0.25)) job["env"]["SIM_OUTPUT_BYTES"] = "2200000";  // more than is sent to policy
        add_load(scenario, {{"at", dice.seconds(3, 20)}, {"count", dice.between(1, 3)}, {"job", std::move(job)}});
    }
    const auto seen = [&dice](const char* verdict) {
        return Document{{"event", "output_check"}, {"to", verdict}, {"when", "applied"}, {"nth", dice.between(1, 4)}};
    };
    // Refused, and soon no more; or not answered.
    if (dice.chance(0.5))
        add_fault(
            scenario,
            {{"on", seen("REDACT")}, {"do", "redis.oom"}, {"for", dice.word({"20ms", "150ms", "500ms", "1500ms"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"on", seen("REDACT")},
                             {"do", "redis.errors"},
                             {"commands", {"SET"}},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"for", dice.word({"1s", "5s"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"on", seen("REDACT")},
                             {"do", "output_policy.errors"},
                             {"status", "UNAVAILABLE"},
                             {"rate", 1.0},
                             {"for", dice.word({"2s", "20s"})}});
    if (!dice.chance(0.5)) return;
    config(scenario)["shutdown_grace"] = dice.word({"500ms", "1s"});
    config(scenario)["output_content_timeout"] = "10s";
    const Document on = seen("ALLOW");
    add_fault(scenario, {{"on", on}, {"do", "output_policy.latency"}, {"latency", "8s"}, {"for", "20s"}});
    const Document asked = {{"event", "output_check"}, {"when", "before"}, {"nth", dice.between(2, 8)}};
    add_fault(scenario, {{"on", asked}, {"do", "stop"}, {"target", "actor"}, {"for", "1s"}});
}

}  // namespace lockstep::sim
