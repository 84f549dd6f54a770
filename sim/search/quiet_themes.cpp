#include "sim/search/quiet_themes.h"

#include <array>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

std::string at_second(int second) { return fmt::format("{}s", second); }
std::string at_milli(int milli) { return fmt::format("{}ms", milli); }

/// Nothing of what has been drawn but the seed stays.
void begin_anew(Dice& dice, Document& scenario, int schedulers_max) {
    const Document policy = scenario["cluster"]["kernel"]["policy"];
    scenario["cluster"] = Document::object();
    Document& cluster = scenario["cluster"];
    cluster["schedulers"] = dice.between(1, schedulers_max);
    cluster["config"] = Document::object();
    cluster["kernel"] = {{"latency", "2ms"}, {"policy", policy}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 2}, {"max_parallel_jobs", 40}, {"service_time", "300ms"}}});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
}

Document output_rules(Dice& dice) {
    const auto rule = [](const char* id, const std::string& decision, Document match) {
        return Document{{"id", id}, {"decision", decision}, {"match", std::move(match)}};
    };
    Document rules = Document::array();
    rules.push_back(rule("keys", dice.word({"quarantine", "redact"}), {{"scanners", {"secret"}}}));
    Document people = {{"scanners", {"pii"}}};
    // Findings of which one lies in another.
    if (dice.chance(0.7)) people["keywords"] = {"write to ann@example.org, please", "example"};
    rules.push_back(rule("people", "redact", std::move(people)));
    rules.push_back(rule("tagged", "redact", {{"risk_tags", {"private"}}}));
    return rules;
}

/// Its worker reports before it has stored what it reports.
void add_report_ahead(Dice& dice, Document& scenario, int number) {
    const int at = dice.between(4000, 20'000);
    const std::string id = fmt::format("ahead-{}", number);
    const std::string key = fmt::format("res:of-{}", id);
    add_load(
        scenario,
        {{"at", at_milli(at - 1500)},
         {"job",
          {{"job_id", id}, {"labels", {{"preferred_worker_id", "w-0"}}}, {"env", {{"SIM_SERVICE_MS", "15000"}}}}}});
    add_load(scenario, {{"at", at_milli(at)},
                        {"forge",
                         {{"job_result",
                           {{"job_id", id},
                            {"worker_id", "w-0"},
                            {"status", "JOB_STATUS_SUCCEEDED"},
                            {"result_ptr", "redis://" + key}}}}}});
    add_load(scenario, {{"at", at_milli(at + dice.one_of(std::array{100, 200, 350, 4000}))},
                        {"redis", {"SET", key, "the key is AKIAIOSFODNN7EXAMPLE", "EX", "86400"}}});
}

/// Whoever scans this job's output dies over it, and sometimes its request is lost meanwhile.
void add_orphaned_scan(Dice& dice, Document& scenario) {
    add_load(scenario, {{"at", dice.seconds(3, 10)},
                        {"job", {{"job_id", "orphan"}, {"env", {{"SIM_OUTPUT", "nothing to see"}}}}}});
    add_fault(scenario, {{"on", {{"event", "output_check"}, {"job", "orphan"}, {"when", "before"}, {"nth", 2}}},
                         {"do", dice.word({"crash", "crash", "pause"})},
                         {"target", "actor"},
                         {"for", dice.word({"2s", "30s"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"on", {{"event", "state"}, {"to", "SUCCEEDED"}, {"job", "orphan"}}},
                             {"do", "redis.evict"},
                             {"keys", "job:req:orphan"}});
}

void add_silent_output_policy(Dice& dice, Document& scenario) {
    // So large that it stays closed, or so small that it opens at once.
    config(scenario)["circuit_fail_budget"] = dice.one_of(std::array{1, 2, 50, 50});
    config(scenario)["circuit_open_for"] = dice.word({"5s", "10s"});
    Document fault = {{"do", "output_policy.errors"},
                      {"status", dice.word({"UNAVAILABLE", "INTERNAL"})},
                      {"rate", 1.0},
                      {"for", dice.word({"2s", "8s", "60s"})}};
    if (dice.chance(0.5))
        fault["at"] = dice.seconds(2, 10);
    else
        fault["on"] = {{"event", "state"}, {"to", "SUCCEEDED"}, {"nth", dice.between(1, 3)}};
    add_fault(scenario, std::move(fault));
}

/// The request of a job is lost before its result comes, and then the mode for outputs decides, which is not the one for inputs.
void add_lost_request(Document& scenario) {
    scenario["cluster"]["config"]["policy_check_fail_mode"] = "closed";
    add_fault(scenario, {{"at", "120s"}, {"do", "config.update"}, {"scheduler", {{"output_fail_mode", "open"}}}});
    for (int i = 1; i <= 3; ++i) {
        const std::string id = fmt::format("unknown-{}", i);
        add_load(scenario,
                 {{"at", at_second(125 + i)},
                  {"job", {{"job_id", id}, {"topic", "job.default"}, {"env", {{"SIM_OUTPUT", "nothing to see"}}}}}});
        add_fault(scenario, {{"on", {{"event", "state"}, {"to", "RUNNING"}, {"job", id}}},
                             {"do", "redis.evict"},
                             {"keys", "job:req:" + id}});
    }
}

/// As whoever ran here before has left them: the limits of another file.
void add_limits_of_another_file(Dice& dice, Document& scenario) {
    const Document limits = {{"topics", {{"job.default", {{"timeout_seconds", dice.between(100, 200)}}}}}};
    const Document document = {{"scope", "system"},
                               {"scope_id", "default"},
                               {"data", {{"timeouts", limits}, {"_timeoutsFileHash", "of-another-file"}}},
                               {"revision", dice.between(1, 9)}};
    add_load(scenario, {{"at", "0s"}, {"redis", {"SET", "cfg:system:default", engine::wire::json_text(document)}}});
}

/// An operator sets short limits for all, and then takes that back by a document that says nothing of them; afterwards somebody dies
/// over a dispatch, and the others wait.
void add_limits_taken_back(Dice& dice, Document& scenario) {
    const Document brief = {
        {"reconciler", {{"dispatch_timeout", dice.word({"5s", "10s"})}, {"running_timeout", "15m"}}}};
    const Document silent = {{"topics", {{"job.elsewhere", {{"max_retries", 2}}}}}};
    add_fault(scenario, {{"at", "150s"}, {"do", "config.update"}, {"timeouts", brief}});
    add_fault(scenario, {{"at", "160s"}, {"do", "config.update"}, {"timeouts", silent}});
    add_load(scenario, {{"at", "190s"}, {"job", {{"job_id", "left"}, {"topic", "job.default"}}}});
    add_fault(scenario,
              {{"on", {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", "before"}, {"job", "left"}}},
               {"do", "crash"},
               {"target", "actor"},
               {"for", "60s"}});
}

/// A job is overdue, its result stands in the stream, and nobody can record it; meanwhile everybody's connection is a new one.
void add_reconnection_before_a_late_end(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    if (!settings.contains("bus_ack_wait")) settings["bus_ack_wait"] = dice.word({"10s", "15s"});
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, {{"at", "130s"},
                            {"job",
                             {{"job_id", fmt::format("stuck-{}", i)},
                              {"topic", "job.default"},
                              {"budget", {{"deadline_ms", "4000"}}},
                              {"env", {{"SIM_SERVICE_MS", "2000"}}}}}});
    add_fault(scenario, {{"at", "131s"},
                         {"do", "redis.errors"},
                         {"script", "commit"},
                         {"job", "stuck-*"},
                         {"outcome", "not_applied"},
                         {"for", "90s"}});
    add_fault(scenario,
              {{"at", dice.seconds(136, 145)}, {"do", "crash"}, {"target", "nats"}, {"for", dice.word({"1s", "3s"})}});
}

/// Without runs, tenants share a stack, and so does what nobody can read.
void add_shared_stack(Dice& dice, Document& scenario) {
    for (const char* tenant : {"acme", "initech", "initech"})
        workflow_step(scenario, dice.seconds(2, 10), "job.book", "", true, tenant);
    if (dice.chance(0.6))
        add_load(scenario, {{"at", "11s"}, {"redis", {"LPUSH", "saga:travel:stack", "nobody can read this"}}});
    for (const int at : {dice.between(13, 20), dice.between(25, 45), dice.between(50, 100)}) {
        workflow_step(scenario, at_second(at - 5), "job.book", "", true, "acme");
        workflow_step(scenario, at_second(at), "job.fail", "", false, "acme");
    }
}

/// Steps that have named their own messages, and are undone while the stream still knows those names.
void add_named_messages(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 3); i > 0; --i) {
        workflow_step(scenario, dice.seconds(2, 8), "job.book", "named", true);
        scenario["load"].back()["job"]["labels"]["cordum.bus_msg_id"] = fmt::format("message-{}", i);
    }
    workflow_step(scenario, dice.seconds(12, 15), "job.fail", "named", false);
}

/// Their connection ends with them, and nobody has had them: they have to be looked for twice, and sent again.
void add_dispatches_cut_off(Dice& dice, Document& scenario) {
    config(scenario)["publish_settle"] = dice.word({"3s", "5s"});
    for (int i = dice.between(2, 4); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(70, 90)},
                            {"job", {{"job_id", fmt::format("cut-{}", i)}, {"topic", "job.default"}}}});
    add_fault(scenario, {{"at", "65s"},
                         {"do", "nats.publish_errors"},
                         {"subject", "worker.*.jobs"},
                         {"job", "cut-*"},
                         {"outcome", "lost"},
                         {"rate", dice.share({0.5, 1.0})},
                         {"for", "30s"}});
}

/// A deadline passes while the result is in the hands of one who is frozen.
void add_deadline_during_a_freeze(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    config(scenario)["bus_ack_wait"] = dice.word({"15s", "30s"});
    config(scenario)["job_lock_ttl"] = "10m";
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(50, 60)},
                            {"job",
                             {{"job_id", fmt::format("due-{}", i)},
                              {"topic", "job.default"},
                              {"budget", {{"deadline_ms", dice.word({"3000", "6000"})}}},
                              {"env", {{"SIM_SERVICE_MS", dice.word({"1000", "2500"})}}}}}});
    add_fault(scenario, {{"on", {{"event", "deliver"}, {"subject", "sys.job.result"}, {"job", "due-*"}}},
                         {"do", "pause"},
                         {"target", "actor"},
                         {"for", dice.word({"10s", "20s", "40s"})}});
}

/// Another process of the server answers than the one that has taken the dispatch.
void add_server_that_starts_again(Dice& dice, Document& scenario) {
    add_load(scenario, {{"at", "4s"},
                        {"count", dice.between(4, 12)},
                        {"rate", "1/s"},
                        {"job", {{"topic", "job.default"}, {"env", {{"SIM_SERVICE_MS", "120000"}}}}}});
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"on", {{"event", "stored"}, {"subject", "worker.*.jobs"}, {"nth", dice.between(1, 6)}}},
                             {"do", "crash"},
                             {"target", "nats"},
                             {"for", dice.word({"300ms", "2s"})}});
}

/// Jobs that are to end before anybody knows that they have been sent.
void add_ends_on_a_slow_link(Dice& dice, Document& scenario) {
    add_fault(scenario, {{"at", "2s"},
                         {"do", "slow_link"},
                         {"a", a_replica(dice, scenario)},
                         {"b", "nats"},
                         {"latency", dice.word({"1s", "2s", "2500ms"})},
                         {"for", "60s"}});
    for (int i = dice.between(8, 20); i > 0; --i) {
        const std::string id = fmt::format("far-{}", i);
        const int submitted = dice.between(4000, 30'000);
        Document job = {{"job_id", id}, {"topic", "job.default"}, {"env", {{"SIM_SERVICE_MS", "20000"}}}};
        if (dice.chance(0.7))
            job["budget"]["deadline_ms"] = fmt::format("{}", dice.between(300, 2500));
        else
            add_load(scenario, {{"at", at_milli(submitted + dice.between(50, 4000))}, {"cancel", id}});
        add_load(scenario, {{"at", at_milli(submitted)}, {"job", std::move(job)}});
    }
}

}  // namespace

void scans_in_peace(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 3);
    scenario["cluster"]["output_policy"] = {
        {"enabled", true}, {"fail_mode", dice.word({"open", "closed", "closed"})}, {"rules", output_rules(dice)}};
    config(scenario)["output_content_timeout"] = dice.word({"2s", "5s"});
    config(scenario)["output_meta_timeout"] = dice.word({"50ms", "500ms"});
    for (int i = dice.between(3, 6); i > 0; --i) {
        Document job = {{"topic", "job.default"}};
        job["env"]["SIM_OUTPUT"] =
            dice.word({"write to ann@example.org, please", "AKIAIOSFODNN7EXAMPLE@example.org, or ann@example.org",
                       "the key is AKIAIOSFODNN7EXAMPLE", "nothing to see"});
        if (dice.chance(0.3)) job["env"]["SIM_OUTPUT_BYTES"] = "2200000";  // more than is sent to policy
        if (dice.chance(0.3)) job["meta"]["risk_tags"] = {"private"};
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"count", dice.between(1, 2)}, {"job", std::move(job)}});
    }
    for (int i = dice.between(0, 2); i > 0; --i) add_report_ahead(dice, scenario, i);
    if (dice.chance(0.6)) add_silent_output_policy(dice, scenario);
    if (dice.chance(0.8)) {
        at_least_two_replicas(dice, scenario);
        if (dice.chance(0.6)) scenario["cluster"]["schedulers"] = 3;  // two are left to take the scan up
        add_orphaned_scan(dice, scenario);
    }
    if (dice.chance(0.4))
        add_fault(
            scenario,
            {{"on", {{"event", "output_check"}, {"to", "REDACT"}, {"when", "applied"}, {"nth", dice.between(1, 3)}}},
             {"do", "redis.errors"},
             {"commands", {"SET"}},
             {"key", "res:*"},
             {"outcome", "not_applied"},
             {"for", dice.word({"150ms", "2s"})}});
    add_lost_request(scenario);
}

void limits_in_peace(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 2);
    open_travel_agency(scenario["cluster"]);
    config(scenario)["reconciler_interval"] = dice.word({"1s", "2s"});
    Document timeouts = Document::object();
    if (dice.chance(0.8)) timeouts["topics"]["job.default"]["timeout"] = dice.seconds(3, 20);
    if (dice.chance(0.5)) timeouts["topics"]["job.book"]["timeout"] = dice.seconds(3, 20);
    timeouts["workflows"]["travel"]["child_timeout"] = dice.seconds(3, 20);
    scenario["cluster"]["timeouts"] = std::move(timeouts);
    for (int i = dice.between(4, 8); i > 0; --i) {
        Document job = {{"topic", dice.word({"job.default", "job.default", "job.book"})}};
        job["env"]["SIM_SERVICE_MS"] = dice.word({"200", "9000", "60000", "60000"});
        if (dice.chance(0.7)) job["workflow_id"] = "travel";
        add_load(scenario, {{"at", dice.seconds(2, 10)}, {"job", std::move(job)}});
    }
    if (!dice.chance(0.5)) add_deadline_during_a_freeze(dice, scenario);
    if (dice.chance(0.6)) add_reconnection_before_a_late_end(dice, scenario);
    if (dice.chance(0.5)) add_limits_of_another_file(dice, scenario);
    // The others are those who remember.
    if (replicas(scenario) > 1) add_limits_taken_back(dice, scenario);
}

void rollbacks_in_peace(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 2);
    open_travel_agency(scenario["cluster"]);
    config(scenario)["saga_lock_ttl"] = dice.word({"10s", "2m"});
    config(scenario)["saga_rollback_timeout"] = dice.word({"15s", "30s"});
    config(scenario)["saga_entry_max_age"] = dice.word({"30s", "1m"});
    const auto mark = [&dice](Document& job, const char* where) {
        job[where]["saga_compensation"] = dice.word({"true", "true", "1", "false"});
    };
    // One that calls itself a compensation begins no rollback, and has none.
    for (int i = dice.between(1, 3); i > 0; --i)
        workflow_step(scenario, dice.seconds(2, 8), "job.book", "marked", true);
    workflow_step(scenario, dice.seconds(9, 12), "job.book", "marked", true);
    mark(scenario["load"].back()["job"], dice.chance(0.5) ? "env" : "labels");
    workflow_step(scenario, dice.seconds(12, 15), "job.fail", "marked", false);
    mark(scenario["load"].back()["job"], dice.chance(0.5) ? "env" : "labels");
    if (dice.chance(0.3)) workflow_step(scenario, dice.seconds(30, 40), "job.fail", "marked", false);
    // Others have a budget of their own.
    const int steps = dice.between(2, 9);
    for (int i = steps; i > 0; --i) {
        workflow_step(scenario, dice.seconds(2, 10), "job.book", "trip", true);
        Document& job = scenario["load"].back()["job"];
        if (dice.chance(0.5)) job["budget"]["deadline_ms"] = "600000";
        if (dice.chance(0.5))
            job["compensation"]["budget"] = {{"deadline_ms", dice.word({"300000", "900000"})},
                                             {"max_total_tokens", "7"}};
        if (dice.chance(0.3)) job["compensation"]["env"]["SIM_SERVICE_MS"] = "50";
        if (dice.chance(0.3)) job["compensation"]["labels"]["why"] = "undone";
        if (dice.chance(0.3)) job["compensation"]["topic"] = "undo";
    }
    workflow_step(scenario, "14s", "job.fail", "trip", false);
    if (dice.chance(0.6))
        add_fault(scenario, {{"at", "14s"},
                             {"do", "kernel.latency"},
                             {"job", "comp-*"},
                             {"latency", dice.word({"1500ms", "1900ms"})},
                             {"for", "60s"}});
    if (!dice.chance(0.4)) add_shared_stack(dice, scenario);
    if (dice.chance(0.7)) add_named_messages(dice, scenario);
}

void strangers_cancel(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 2);
    const int at = dice.between(6, 10);
    const auto cancel = [&scenario](const std::string& job, std::string when) {
        add_load(scenario,
                 {{"at", std::move(when)}, {"forge", {{"job_cancel", {{"job_id", job}, {"reason", "no more"}}}}}});
    };
    const bool many = dice.chance(0.6);
    const int jobs = many ? dice.between(60, 90) : dice.between(3, 10);
    for (int i = 0; i < jobs; ++i) {
        const std::string id = fmt::format("off-{}", i);
        Document job = {{"job_id", id}, {"topic", "job.default"}};
        if (dice.chance(0.3)) job["labels"]["needs"] = "a human";
        job["env"]["SIM_SERVICE_MS"] = dice.word({"30000", "90000"});
        const int submitted = (1000 * at) - dice.between(1000, 4000);
        // Before anybody knows of it.
        if (dice.chance(many ? 0.1 : 0.6)) cancel(id, at_milli(submitted - dice.between(5, 900)));
        add_load(scenario, {{"at", at_milli(submitted)}, {"job", std::move(job)}});
        cancel(id, at_second(many ? at : at + dice.between(0, 3)));
    }
    if (many) scenario["cluster"]["schedulers"] = 1;
    // Where nothing is asked of anybody.
    for (int i = dice.between(1, 5); i > 0; --i) {
        const std::string id = fmt::format("kept-{}", i);
        const int submitted = dice.between(2000, 12'000);
        add_load(scenario,
                 {{"at", at_milli(submitted)},
                  {"job", {{"job_id", id}, {"topic", "job.default"}, {"env", {{"SIM_SERVICE_MS", "9000"}}}}}});
        add_load(scenario, {{"at", at_milli(submitted + dice.between(200, 8000))},
                            {"forge", {{"job_cancel", {{"job_id", id}, {"reason", "no more"}}}}},
                            {"subject", dice.word({"sys.heartbeat", "sys.handshake"})}});
    }
}

void long_ways_out(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 2);
    scenario["cluster"]["schedulers"] = 2;
    config(scenario)["publish_timeout"] = "8s";
    config(scenario)["reconciler_interval"] = dice.word({"1s", "2s"});
    if (dice.chance(0.5))
        add_server_that_starts_again(dice, scenario);
    else
        add_ends_on_a_slow_link(dice, scenario);
    if (dice.chance(0.6)) add_dispatches_cut_off(dice, scenario);
}

void afterlives(Dice& dice, Document& scenario) {
    begin_anew(dice, scenario, 2);
    config(scenario)["job_meta_ttl"] = dice.word({"90s", "2m"});
    config(scenario)["reconciler_interval"] = dice.word({"1s", "2s", "5s"});
    config(scenario)["pending_age"] = "30m";
    if (dice.chance(0.4)) config(scenario)["reconciler_batch"] = dice.between(1, 3);
    scenario["at_least"] = dice.word({"15m", "30m"});
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document job = {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", dice.word({"nothing to see", "call 555"})}}}};
        if (dice.chance(0.3)) job["env"]["SIM_OUTCOME"] = dice.word({"FAILED", "FAILED_RETRYABLE"});
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"count", dice.between(1, 4)}, {"job", std::move(job)}});
    }
    if (dice.chance(0.6)) {
        // A scan that comes late renews the record of a job that has not moved.
        scenario["cluster"]["output_policy"] = {{"enabled", true}, {"fail_mode", "open"}, {"rules", Document::array()}};
        config(scenario)["circuit_fail_budget"] = 1;
        config(scenario)["circuit_open_for"] = dice.word({"10s", "15s"});
        add_fault(scenario, {{"at", "1s"},
                             {"do", "output_policy.errors"},
                             {"status", "UNAVAILABLE"},
                             {"rate", 1.0},
                             {"for", dice.word({"8s", "20s"})}});
    }
    if (dice.chance(0.6)) {
        add_load(scenario, {{"at", dice.seconds(3, 20)},
                            {"count", dice.between(1, 4)},
                            {"job", {{"labels", {{"needs", "nothing"}}}}}});
        add_fault(scenario, {{"at", "2s"},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.job.dlq"},
                             {"outcome", "not_applied"},
                             {"for", dice.word({"60s", "150s", "240s"})}});
    }
    // A run's saga outlives the records of its jobs.
    if (dice.chance(0.6)) {
        open_travel_agency(scenario["cluster"]);
        for (int i = dice.between(1, 3); i > 0; --i)
            workflow_step(scenario, dice.seconds(2, 20), "job.book", fmt::format("trip-{}", i), true);
        if (dice.chance(0.3)) workflow_step(scenario, dice.seconds(100, 200), "job.fail", "trip-1", false);
        if (dice.chance(0.5)) add_script_failing_when_called(dice, scenario, "saga_keep");
    }
    // Somebody else has said before what was wrong with it.
    for (int i = dice.between(0, 3); i > 0; --i) {
        const std::string id = fmt::format("told-of-{}", i);
        add_load(scenario,
                 {{"at", "1s"},
                  {"redis", {"SET", "dlq:entry:" + id, R"({"job_id":")" + id + R"(","reason_code":"by_hand"})"}}});
        add_load(scenario,
                 {{"at", dice.seconds(3, 20)}, {"job", {{"job_id", id}, {"labels", {{"needs", "nothing"}}}}}});
    }
}

}  // namespace lockstep::sim
