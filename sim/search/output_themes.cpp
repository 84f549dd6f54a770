#include "sim/search/output_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

void troubled_outputs(Dice& dice, Document& scenario) {
    Document rules = Document::array();
    rules.push_back({{"id", "keys"},
                     {"decision", dice.word({"redact", "redact", "quarantine"})},
                     {"match", {{"scanners", {"secret"}}}}});
    rules.push_back({{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}});
    scenario["cluster"]["output_policy"] = {
        {"enabled", true}, {"fail_mode", dice.word({"open", "closed"})}, {"rules", std::move(rules)}};
    if (dice.chance(0.5)) config(scenario)["output_content_timeout"] = dice.word({"2s", "5s"});
    for (int i = dice.between(2, 6); i > 0; --i) {
        const std::string output =
            dice.word({"write to ann@example.org", "the key is AKIAIOSFODNN7EXAMPLE",
                       "AKIAIOSFODNN7EXAMPLE@example.org, or ann@example.org", "call 555-01-2345", "nothing to see"});
        add_load(scenario, {{"at", dice.seconds(2, 30)},
                            {"count", dice.between(1, 3)},
                            {"rate", "2/s"},
                            {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", output}}}}}});
    }
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(2, 40)},
                             {"do", "redis.errors"},
                             {"key", "res:*"},
                             {"commands", Document::array({dice.word({"GET", "GET", "SET", "GETRANGE"})})},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"200ms", "2s", "10s"})}});
    if (dice.chance(0.3))
        add_fault(scenario,
                  {{"at", dice.seconds(2, 30)}, {"do", "redis.oom"}, {"for", dice.word({"1s", "3s", "10s"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(2, 20)},
                             {"do", "output_policy.decision"},
                             {"decision", dice.word({"redact", "redact", "quarantine", "deny", "allow"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"5s", "30s"})}});
    for (int i = dice.between(0, 2); i > 0; --i)
        add_preemption_at(dice, {{"event", "output_check"}}, 6, scenario["faults"]);
}

void late_outputs(Dice& dice, Document& scenario) {
    Document rules = Document::array();
    rules.push_back(
        {{"id", "keys"}, {"decision", dice.word({"quarantine", "redact"})}, {"match", {{"scanners", {"secret"}}}}});
    rules.push_back({{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}});
    scenario["cluster"]["output_policy"] = {
        {"enabled", true}, {"fail_mode", dice.word({"open", "closed"})}, {"rules", std::move(rules)}};
    Document& settings = config(scenario);
    settings["output_meta_timeout"] = dice.word({"20ms", "100ms", "500ms"});
    settings["output_content_timeout"] = dice.word({"2s", "5s"});
    for (int i = dice.between(2, 5); i > 0; --i) {
        Document job = {{"topic", "job.default"}};
        job["env"]["SIM_OUTPUT"] = dice.word({"AKIAIOSFODNN7EXAMPLE@example.org, or ann@example.org",
                                              "the key is AKIAIOSFODNN7EXAMPLE", "call 555-01-2345", "nothing to see"});
        if (dice.chance(0.15)) job["env"]["SIM_OUTPUT_BYTES"] = "2200000";  // more than is sent to policy
        add_load(
            scenario,
            {{"at", dice.seconds(2, 25)}, {"count", dice.between(1, 5)}, {"rate", "2/s"}, {"job", std::move(job)}});
    }
    // Its worker reports before it has stored what it reports.
    for (int i = dice.between(1, 4); i > 0; --i) {
        const int at = dice.between(3000, 25'000);
        const auto millis = [at](int offset) { return fmt::format("{}ms", at + offset); };
        const std::string id = fmt::format("ahead-{}", i);
        const std::string key = fmt::format("res:of-{}", id);
        add_load(
            scenario,
            {{"at", millis(-1500)},
             {"job",
              {{"job_id", id}, {"labels", {{"preferred_worker_id", "w-0"}}}, {"env", {{"SIM_SERVICE_MS", "15000"}}}}}});
        add_load(scenario, {{"at", millis(0)},
                            {"forge",
                             {{"job_result",
                               {{"job_id", id},
                                {"worker_id", "w-0"},
                                {"status", "JOB_STATUS_SUCCEEDED"},
                                {"result_ptr", "redis://" + key}}}}}});
        add_load(scenario, {{"at", millis(dice.one_of(std::array{20, 150, 300, 450, 1200, 4000}))},
                            {"redis", {"SET", key, "the key is AKIAIOSFODNN7EXAMPLE", "EX", "86400"}}});
    }
    if (dice.chance(0.6)) {
        const Document on = {{"event", "output_check"}, {"when", "before"}, {"nth", dice.on_every_scale(8)}};
        Document fault = {{"on", on}, {"for", dice.word({"30ms", "300ms", "1s"})}};
        if (dice.chance(0.5)) {
            fault["do"] = "output_policy.latency";
            fault["latency"] = "800ms";
        } else {
            fault["do"] = "output_policy.errors";
            fault["status"] = dice.word({"UNAVAILABLE", "INTERNAL"});
        }
        add_fault(scenario, std::move(fault));
    }
    // Whoever scans is frozen with the verdict in its hands until another one has scanned as well.
    if (dice.chance(0.4)) {
        at_least_two_replicas(dice, scenario);
        for (int i = dice.between(1, 2); i > 0; --i)
            add_fault(scenario, {{"on",
                                  {{"event", "output_check"},
                                   {"when", dice.word({"applied", "answered"})},
                                   {"nth", dice.on_every_scale(16)}}},
                                 {"do", "pause"},
                                 {"target", "actor"},
                                 {"for", dice.word({"25s", "40s", "60s"})}});
    }
    if (!dice.chance(0.5)) return;
    settings["circuit_fail_budget"] = dice.between(1, 3);
    settings["circuit_open_for"] = dice.word({"5s", "10s"});
    add_fault(scenario, {{"at", dice.seconds(3, 20)},
                         {"do", "output_policy.errors"},
                         {"status", "UNAVAILABLE"},
                         {"rate", dice.share({0.6, 1.0})},
                         {"for", dice.word({"4s", "10s", "20s"})}});
}

}  // namespace lockstep::sim
