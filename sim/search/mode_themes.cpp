#include "sim/search/mode_themes.h"

#include <array>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

Document forbidding(Dice& dice) {
    Document safety = Document::object();
    if (dice.chance(0.6)) safety["denied_topics"] = Document::array({dice.word({"job.book", "job.other", "job.b*"})});
    if (dice.chance(0.4)) safety["allowed_topics"] = Document::array({dice.word({"job.*", "job.default", "job.d*"})});
    return {{"safety", std::move(safety)}};
}

/// Three seconds lie between one version of a document and the next.
constexpr int kVersionApart = 3;

void add_versions_of_a_tenant(Dice& dice, Document& scenario, int at) {
    const auto layer = [&scenario](int second, Document content) {
        add_fault(scenario, {{"at", fmt::format("{}s", second)},
                             {"do", "config.update"},
                             {"layers", {{"org:acme", std::move(content)}}}});
    };
    for (int i = dice.between(2, 4); i > 0; --i) {
        layer(at, forbidding(dice));
        at += kVersionApart;
    }
    layer(at, dice.word({"{ \"data\": [[[", "[]", "7", "null"}));
    if (dice.chance(0.7))
        add_load(scenario, {{"at", fmt::format("{}s", at + dice.between(2, 6))}, {"redis", {"DEL", "cfg:org:acme"}}});
    if (dice.chance(0.6)) layer(at + dice.between(6, 12), forbidding(dice));
}

Document modes(Dice& dice, const char* prefix) {
    Document out = Document::object();
    const auto word = [&dice] { return dice.word({"open", "open", "closed", "closed", "ajar", "OPEN", ""}); };
    if (dice.chance(0.8)) out[fmt::format("{}input_fail_mode", prefix)] = word();
    if (dice.chance(0.8)) out[fmt::format("{}output_fail_mode", prefix)] = word();
    if (dice.chance(0.2)) out[fmt::format("{}output_policy_enabled", prefix)] = dice.chance(0.7);
    if (out.empty()) out[fmt::format("{}input_fail_mode", prefix)] = "open";
    return out;
}

Document change_of_modes(Dice& dice, int revision) {
    Document fault = {{"at", dice.seconds(3, 40)}, {"do", "config.update"}};
    if (dice.chance(0.5)) {
        fault["scheduler"] = modes(dice, "");
    } else {
        const Document document = {
            {"scope", "system"}, {"scope_id", "default"}, {"revision", revision}, {"data", modes(dice, "scheduler.")}};
        fault["raw"] = engine::wire::json_text(document);
    }
    return fault;
}

/// A mode that nobody has pinned, then a word that is none, and then there is something to decide.
void add_word_after_mode(Dice& dice, Document& scenario) {
    const int at = dice.between(5, 20);
    const bool of_outputs = dice.chance(0.8);
    const char* of = of_outputs ? "output_fail_mode" : "input_fail_mode";
    config(scenario).erase(of_outputs ? "output_policy_fail_mode" : "policy_check_fail_mode");
    const std::string at_start =
        of_outputs ? scenario["cluster"]["output_policy"]["fail_mode"].get<std::string>() : "closed";
    const std::string otherwise = at_start == "closed" ? "open" : "closed";
    const auto update = [&](int second, const std::string& word) {
        add_fault(scenario, {{"at", fmt::format("{}s", second)}, {"do", "config.update"}, {"scheduler", {{of, word}}}});
    };
    // Whoever waits for the circuit to close gives up after twice this, and the mode decides.
    config(scenario)["circuit_open_for"] = "5s";
    update(at, dice.chance(0.9) ? otherwise : at_start);
    update(at + 5, dice.word({"ajar", "OPEN", ""}));
    add_fault(scenario, {{"at", fmt::format("{}s", at + 9)},
                         {"do", of_outputs ? "output_policy.errors" : "kernel.errors"},
                         {"status", "UNAVAILABLE"},
                         {"for", dice.word({"40s", "60s"})}});
    for (const char* output : {"", "write to ann@example.org"}) {
        Document job = {{"topic", "job.default"}};
        if (*output != '\0') job["env"]["SIM_OUTPUT"] = output;
        add_load(scenario,
                 {{"at", fmt::format("{}s", at + 9)}, {"count", 8}, {"rate", "1/s"}, {"job", std::move(job)}});
    }
}

}  // namespace

void rewritten_settings(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    open_travel_agency(scenario["cluster"]);
    config(scenario)["config_reload_interval"] = dice.word({"2s", "5s"});
    add_versions_of_a_tenant(dice, scenario, dice.between(2, 6));
    if (dice.chance(0.5)) {
        const int at = dice.between(3, 10);
        for (int i = 0; i < 2; ++i)
            add_fault(scenario, {{"at", fmt::format("{}s", at + (i * kVersionApart))},
                                 {"do", "config.update"},
                                 {"scheduler", modes(dice, "")}});
        add_fault(scenario, {{"at", fmt::format("{}s", at + 8)}, {"do", "config.update"}, {"raw", "{ \"data\": [[["}});
        add_load(scenario, {{"at", fmt::format("{}s", at + 12)}, {"redis", {"DEL", "cfg:system:default"}}});
        if (dice.chance(0.6))
            add_fault(scenario,
                      {{"at", dice.seconds(24, 40)}, {"do", "config.update"}, {"scheduler", modes(dice, "")}});
    }
    for (int i = dice.between(2, 4); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "deliver"},
                               {"subject", "sys.job.submit"},
                               {"node", "scheduler-*"},
                               {"nth", dice.on_every_scale(40)}}},
                             {"do", "redis.errors"},
                             {"key", "cfg:*"},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"for", dice.word({"50ms", "500ms", "3s"})}});
    for (int i = dice.between(3, 5); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 25)},
                            {"count", dice.between(4, 12)},
                            {"rate", dice.word({"1/s", "2/s"})},
                            {"job", {{"topic", dice.word({"job.default", "job.book"})}, {"tenant_id", "acme"}}}});
}

void contradicted_modes(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster.erase("gateway");
    cluster["kernel"]["policy"]["input_rules"] =
        Document::array({{{"id", "never"}, {"decision", "deny"}, {"match", {{"keywords", {"forbidden"}}}}}});
    cluster["output_policy"] = {
        {"enabled", true},
        {"fail_mode", dice.word({"open", "closed"})},
        {"rules", Document::array({{{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}},
                                   {{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}}})}};
    if (dice.chance(0.5)) config(scenario)["policy_check_fail_mode"] = dice.word({"open", "closed"});
    if (dice.chance(0.5)) config(scenario)["output_policy_fail_mode"] = dice.word({"open", "closed"});
    config(scenario)["config_reload_interval"] = "2s";
    const bool word_after_mode = dice.chance(0.8);
    for (int i = word_after_mode ? dice.between(0, 1) : dice.between(2, 5); i > 0; --i)
        add_fault(scenario, change_of_modes(dice, 100 + i));
    if (word_after_mode) add_word_after_mode(dice, scenario);
    for (int i = dice.between(2, 4); i > 0; --i) {
        Document fault = {{"at", dice.seconds(4, 45)}, {"for", dice.word({"5s", "10s", "20s"})}};
        switch (dice.between(0, 2)) {
            case 0: fault["do"] = "kernel.outage"; break;
            case 1:
                fault["do"] = "output_policy.errors";
                fault["status"] = "UNAVAILABLE";
                break;
            default:
                fault["do"] = "redis.errors";
                fault["commands"] = {"GET"};
                fault["key"] = "ctx:*";
                fault["outcome"] = "not_applied";
                break;
        }
        add_fault(scenario, std::move(fault));
    }
    for (int i = dice.between(3, 6); i > 0; --i) {
        Document job = {{"topic", "job.default"}};
        if (dice.chance(0.6)) job["env"]["SIM_INPUT"] = dice.word({"forbidden", "allowed"});
        if (dice.chance(0.6))
            job["env"]["SIM_OUTPUT"] = dice.word({"write to ann@example.org", "the key is AKIAIOSFODNN7EXAMPLE"});
        add_load(
            scenario,
            {{"at", dice.seconds(2, 40)}, {"count", dice.between(2, 8)}, {"rate", "1/s"}, {"job", std::move(job)}});
    }
}

}  // namespace lockstep::sim
