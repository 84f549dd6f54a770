#include "sim/search/settings_themes.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

constexpr std::array kTopicPatterns{"job.*",    "job.default", "job.book", "job.b*",    "job.d*",
                                    "job.?ook", "job.de*t",    "job.fail", "job.other", "job.d*/eu",
                                    "job.*",    "job.eu/one",  "job.eu/*", "*"};

Document some_patterns(Dice& dice) {
    Document out = Document::array();
    for (int i = dice.between(1, 3); i > 0; --i) out.push_back(dice.one_of(kTopicPatterns));
    return out;
}

Document safety_layer(Dice& dice) {
    Document safety = Document::object();
    if (dice.chance(0.6)) safety["allowed_topics"] = some_patterns(dice);
    if (dice.chance(0.4)) safety["denied_topics"] = Document::array({dice.one_of(kTopicPatterns)});
    if (dice.chance(0.1)) safety["denied_topics"] = Document::array();
    if (dice.chance(0.2))
        safety["mcp"] = {{"deny_servers", {dice.word({"one", "two"})}}, {"allow_tools", {dice.word({"read", "*"})}}};
    if (dice.chance(0.2)) safety["allow_tools"] = Document::array({dice.word({"read", "write"})});
    Document out = {{"safety", std::move(safety)}};
    if (dice.chance(0.1)) out = {{"data", std::move(out)}};
    return out;
}

/// Two layers, of which one allows what the other one allows and more.
void nest_patterns(Dice& dice, Document& layers) {
    static constexpr std::array<std::pair<const char*, const char*>, 6> kNested{std::pair{"job.*", "job.default"},
                                                                                {"job.*", "job.b*"},
                                                                                {"job.b*", "job.book"},
                                                                                {"*", "job.*"},
                                                                                {"job.d*", "job.de*t"},
                                                                                {"job.*", "job.d/*"}};
    const auto& [wide, narrow] = dice.one_of(kNested);
    const std::array names{dice.word({"org:acme", "team:ops"}), dice.word({"workflow:travel", "step:pay"})};
    const bool wide_first = dice.chance(0.7);
    for (std::size_t i = 0; i < names.size(); ++i) {
        Document allowed = Document::array({(i == 0) == wide_first ? wide : narrow});
        if (dice.chance(0.3)) allowed.push_back("job.other");
        layers[names[i]]["safety"]["allowed_topics"] = std::move(allowed);
    }
}

/// Under the same ids come other requests, whose team, workflow and step are not those of the stored ones, while all of them wait
/// for policy.
void add_delivered_otherwise(Dice& dice, Document& scenario) {
    add_fault(scenario, {{"at", "1s"},
                         {"do", dice.word({"kernel.decision", "kernel.decision", "kernel.decision", "kernel.outage"})},
                         {"for", "15s"}});
    Document& fault = scenario["faults"].back();
    if (fault["do"] == "kernel.decision") fault["decision"] = "throttle";
    // Longer than they wait for their next try.
    for (const char* delay : {"safety_throttle_delay", "safety_unavailable_delay"}) config(scenario)[delay] = "1s";
    if (dice.chance(0.8))
        add_fault(scenario, {{"at", dice.seconds(3, 6)},
                             {"do", "redis.errors"},
                             {"commands", {"MGET"}},
                             {"key", "cfg:*"},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"for", dice.word({"6s", "12s"})}});
    for (int i = dice.between(4, 8); i > 0; --i) {
        const int at = dice.between(2, 8);
        Document job = {{"job_id", fmt::format("otherwise-{}", i)}, {"topic", "job.default"}, {"tenant_id", "acme"}};
        Document other = job;
        for (Document* one : {&job, &other}) {
            if (dice.chance(0.6)) (*one)["env"]["team_id"] = dice.word({"ops", "ops", "sales"});
            if (dice.chance(0.5)) (*one)["workflow_id"] = "travel";
            if (dice.chance(0.5)) (*one)["env"]["step_id"] = "pay";
        }
        add_load(scenario, {{"at", fmt::format("{}s", at)}, {"job", std::move(job)}});
        add_load(scenario, {{"at", fmt::format("{}ms", (1000 * at) + dice.between(100, 3000))},
                            {"forge", {{"job_request", std::move(other)}}},
                            {"count", dice.between(2, 4)},
                            {"rate", "1/s"}});
    }
}

}  // namespace

void tightening_layers(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    open_travel_agency(scenario["cluster"]);
    Document layers = Document::object();
    for (const char* layer : {"org:acme", "team:ops", "workflow:travel", "step:pay"})
        if (dice.chance(0.7)) layers[layer] = safety_layer(dice);
    if (layers.empty()) layers["org:acme"] = safety_layer(dice);
    if (dice.chance(0.85)) nest_patterns(dice, layers);
    // What does not stand under safety is the narrowest's to say.
    for (const char* name : {"org:acme", "team:ops", "workflow:travel", "step:pay"})
        layers[name]["models"]["default"] = name;
    add_fault(scenario, {{"at", "500ms"}, {"do", "config.update"}, {"layers", std::move(layers)}});
    for (int i = dice.between(4, 12); i > 0; --i) {
        Document job = {{"topic", dice.word({"job.default", "job.default", "job.book", "job.undo"})},
                        {"tenant_id", "acme"}};
        if (dice.chance(0.6)) job["env"]["team_id"] = "ops";
        if (dice.chance(0.6)) job["workflow_id"] = "travel";
        if (dice.chance(0.6)) job["env"]["step_id"] = "pay";
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", std::move(job)}});
    }
    if (dice.chance(0.8)) add_delivered_otherwise(dice, scenario);
    for (const char* at : {"10s", "21s"})
        add_load(scenario, {{"at", at},
                            {"job",
                             {{"topic", "job.default"},
                              {"tenant_id", "acme"},
                              {"workflow_id", "travel"},
                              {"env", {{"team_id", "ops"}}}}}});
}

void written_settings(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    at_least_two_replicas(dice, scenario);
    open_travel_agency(cluster);
    config(scenario)["config_reload_interval"] = dice.word({"2s", "5s"});
    // As an older release, or somebody by hand, has left it: some of it is what the files say, some is not.
    if (dice.chance(0.7)) {
        Document pools = {{"topics", {{"job.default", Document::array({"default"})}}}, {"pools", Document::object()}};
        if (dice.chance(0.6)) pools["topics"]["job.book"] = Document::array({dice.word({"booking", "default"})});
        if (dice.chance(0.5)) pools["pools"]["booking"] = {{"requires", Document::array({"gpu"})}};
        if (dice.chance(0.4)) pools["topics"]["job.elsewhere"] = Document::array({"default"});
        Document data = {{"pools", std::move(pools)}};
        if (dice.chance(0.8)) data["_poolsFileHash"] = "of-another-file";
        if (dice.chance(0.5)) data["scheduler"] = {{"input_fail_mode", dice.word({"open", "closed"})}};
        if (dice.chance(0.3)) data["timeouts"] = {{"topics", {{"job.default", {{"timeout_seconds", 20}}}}}};
        const Document document = {
            {"scope", "system"}, {"scope_id", "default"}, {"data", std::move(data)}, {"revision", dice.between(1, 9)}};
        add_load(scenario, {{"at", "0s"}, {"redis", {"SET", "cfg:system:default", engine::wire::json_text(document)}}});
    }
    // Between the look of one and its write another has written.
    if (dice.chance(0.7))
        add_fault(scenario, {{"at", "0s"},
                             {"do", "slow_link"},
                             {"a", a_replica(dice, scenario)},
                             {"b", "redis"},
                             {"latency", dice.word({"100ms", "400ms", "900ms"})},
                             {"for", "10s"}});
    for (int i = dice.between(0, 3); i > 0; --i)
        add_fault(scenario, {{"at", fmt::format("{}ms", dice.between(50, 3000))},
                             {"do", "config.update"},
                             {"scheduler", {{"output_fail_mode", dice.word({"open", "closed"})}}}});
    add_load(scenario, {{"at", "4s"}, {"count", dice.between(3, 10)}, {"rate", "2/s"}});
    for (int i = dice.between(2, 5); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(4, 20)}, {"job", {{"topic", "job.book"}}}});
}

void unreadable_settings(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    config(scenario)["config_reload_interval"] = dice.word({"2s", "5s"});
    const Document forbids = {{"safety", {{"denied_topics", {"job.book"}}}}};
    open_travel_agency(scenario["cluster"]);
    add_fault(scenario, {{"at", "500ms"}, {"do", "config.update"}, {"layers", {{"org:acme", forbids}}}});
    for (int i = dice.between(1, 3); i > 0; --i) {
        const int at = dice.between(1, 30);
        switch (dice.between(0, 3)) {
            case 0:
                add_fault(scenario, {{"at", fmt::format("{}s", at)},
                                     {"do", "redis.errors"},
                                     {"commands", {"GET", "MGET"}},
                                     {"key", "cfg:*"},
                                     {"outcome", dice.word({"not_applied", "unknown"})},
                                     {"rate", dice.share({0.3, 1.0})},
                                     {"for", dice.word({"2s", "10s", "30s"})}});
                break;
            case 1:
                add_fault(scenario, {{"at", fmt::format("{}s", at)},
                                     {"do", "config.update"},
                                     {"layers", {{"org:acme", dice.word({"{ \"data\": [[[", "[]", "7", "null"})}}}});
                add_fault(scenario, {{"at", fmt::format("{}s", at + dice.between(5, 40))},
                                     {"do", "config.update"},
                                     {"layers", {{"org:acme", forbids}}}});
                break;
            default:
                add_fault(scenario, {{"at", fmt::format("{}s", at)},
                                     {"do", "config.update"},
                                     {"scheduler",
                                      {{"input_fail_mode", dice.word({"open", "closed", "ajar", ""})},
                                       {"output_fail_mode", dice.word({"open", "closed", "ajar", ""})}}}});
                break;
        }
    }
    for (const char* policy : {"kernel.errors", "output_policy.errors"})
        if (dice.chance(0.7))
            add_fault(scenario, {{"at", dice.seconds(5, 40)},
                                 {"do", policy},
                                 {"status", "UNAVAILABLE"},
                                 {"rate", dice.share({0.5, 1.0})},
                                 {"for", dice.word({"10s", "30s"})}});
    for (int i = dice.between(2, 6); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 60)},
                            {"count", dice.between(1, 4)},
                            {"rate", "1/s"},
                            {"job", {{"topic", dice.word({"job.default", "job.book"})}, {"tenant_id", "acme"}}}});
}

void changing_limits(Dice& dice, Document& scenario) {
    config(scenario)["config_reload_interval"] = dice.word({"2s", "5s"});
    config(scenario)["reconciler_interval"] = dice.word({"1s", "5s"});
    open_travel_agency(scenario["cluster"]);
    for (int i = dice.between(1, 4); i > 0; --i) {
        Document timeouts = Document::object();
        if (dice.chance(0.6)) timeouts["workflows"]["travel"]["child_timeout"] = dice.seconds(1, 30);
        if (dice.chance(0.5)) timeouts["workflows"]["travel"]["total_timeout"] = dice.seconds(2, 40);
        if (dice.chance(0.3)) timeouts["workflows"]["travel"]["max_retries"] = dice.between(1, 3);
        if (dice.chance(0.5)) timeouts["topics"]["job.default"]["timeout"] = dice.seconds(1, 30);
        if (dice.chance(0.5)) timeouts["topics"]["job.book"]["dispatch_timeout"] = dice.seconds(1, 20);
        if (dice.chance(0.3)) timeouts["topics"]["job.book"]["max_retries"] = dice.between(1, 3);
        if (dice.chance(0.4))
            timeouts["reconciler"] = {{"dispatch_timeout", dice.word({"5s", "20s", "1m"})},
                                      {"running_timeout", dice.word({"10s", "30s", "2m"})}};
        add_fault(scenario, {{"at", dice.seconds(1, 40)}, {"do", "config.update"}, {"timeouts", std::move(timeouts)}});
    }
    for (int i = dice.between(4, 12); i > 0; --i) {
        Document job = {{"topic", dice.word({"job.default", "job.default", "job.book"})},
                        {"env", {{"SIM_SERVICE_MS", dice.word({"500", "4000", "12000", "40000"})}}}};
        if (dice.chance(0.6)) job["workflow_id"] = "travel";
        if (dice.chance(0.4)) job["labels"]["run_id"] = "trip-1";
        add_load(scenario, {{"at", dice.seconds(2, 60)}, {"job", std::move(job)}});
    }
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(2, 30)},
                             {"do", "nats.drop_core"},
                             {"subject", "worker.*.jobs"},
                             {"rate", 0.5},
                             {"for", "20s"}});
}

}  // namespace lockstep::sim
