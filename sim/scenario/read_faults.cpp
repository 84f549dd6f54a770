#include <nlohmann/json.hpp>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/read.h"
#include "sim/scenario/values.h"

namespace lockstep::sim::detail {

namespace {

using nlohmann::json;

constexpr int kUnavailable = 14;

int status_of(const json& object) {
    const json* value = member(object, "status");
    if (value == nullptr) return kUnavailable;
    return value->is_string() ? parse_status(value->get_ref<const std::string&>()).value_or(kUnavailable)
                              : value->get<int>();
}

std::string document_of(const json& object, std::string_view key) {
    const json* value = member(object, key);
    return value == nullptr ? std::string{} : value->dump();
}

WorkerChange worker_change_of(const json& object) {
    WorkerChange change;
    if (member(object, "pool") != nullptr) change.pool = text_of(object, "pool");
    if (member(object, "max_parallel_jobs") != nullptr)
        change.max_parallel_jobs = int_of(object, "max_parallel_jobs", 0);
    if (member(object, "capabilities") != nullptr) change.capabilities = texts_of(object, "capabilities");
    if (member(object, "labels") != nullptr) change.labels = labels_of(object, "labels");
    return change;
}

}  // namespace

Trigger read_trigger(const json& object) {
    Trigger trigger;
    const EventInfo* known = find_event(text_of(object, "event"));
    if (known != nullptr) trigger.event = known->kind;
    const std::string when = text_of(object, "when", known != nullptr && known->deed ? "answered" : "applied");
    trigger.when = when == "before"     ? fakes::When::before
                   : when == "answered" ? fakes::When::answered
                                        : fakes::When::applied;
    trigger.nth = int_of(object, "nth", 1);
    const std::string per = text_of(object, "per", "run");
    trigger.per = per == "node" ? Trigger::Per::node : per == "job" ? Trigger::Per::job : Trigger::Per::run;
    trigger.node = text_of(object, "node");
    trigger.job = text_of(object, "job");
    trigger.subject = text_of(object, "subject");
    trigger.command = text_of(object, "command");
    trigger.script = text_of(object, "script");
    trigger.key = text_of(object, "key");
    trigger.name = text_of(object, "name");
    trigger.to = text_of(object, "to");
    return trigger;
}

Fault read_fault(const json& object, std::string pointer) {
    Fault fault;
    fault.pointer = std::move(pointer);
    fault.kind = text_of(object, "do");
    fault.at = duration_of(object, "at");
    if (const json* on = member(object, "on")) fault.on = read_trigger(*on);
    if (member(object, "for") != nullptr) fault.duration = duration_of(object, "for");
    fault.target = text_of(object, "target");
    fault.a = text_of(object, "a");
    fault.b = text_of(object, "b");
    fault.direction = text_of(object, "direction", fault.direction);
    fault.rate = number_of(object, "rate", fault.rate);
    fault.outcome = text_of(object, "outcome");
    fault.commands = texts_of(object, "commands");
    fault.script = text_of(object, "script");
    fault.key = text_of(object, "key");
    fault.job = text_of(object, "job");
    if (member(object, "count") != nullptr) fault.count = int_of(object, "count", 1);
    fault.subject = text_of(object, "subject");
    fault.keys = text_of(object, "keys");
    fault.latency = distribution_of(object, "latency", fault.latency);
    fault.status = status_of(object);
    fault.period = duration_of(object, "period");
    fault.decision = text_of(object, "decision");
    const Duration by = duration_of(object, "by");
    fault.by_negative = by < Duration{};
    fault.by = fault.by_negative ? -by : by;
    fault.ppm = number_of(object, "ppm", 0);
    if (const json* config = member(object, "config")) fault.config = tunables_of(*config);
    if (const json* worker = member(object, "worker")) fault.worker = worker_change_of(*worker);
    fault.pools = document_of(object, "pools");
    if (const json* timeouts = member(object, "timeouts")) fault.timeouts = timeouts_text(*timeouts);
    fault.settings = document_of(object, "scheduler");
    fault.raw = text_of(object, "raw");
    fault.layers = document_of(object, "layers");
    return fault;
}

Chaos read_chaos(const json& object, Duration scenario_duration) {
    Chaos chaos;
    chaos.level = text_of(object, "level", "moderate");
    chaos.faults =
        member(object, "faults") != nullptr ? texts_of(object, "faults") : names_of(chaos_kind_table(), true);
    // Two thirds of disturbance leave one third to drain in.
    chaos.heal_at = duration_of(object, "heal_at", scenario_duration * 2 / 3);
    chaos.heal = text_of(object, "heal", chaos.heal);
    if (const json* loss = member(object, "data_loss")) {
        const std::string word = loss->is_boolean() ? (loss->get<bool>() ? "both" : "") : loss->get<std::string>();
        chaos.data_loss = data_loss_named(word).value_or(DataLoss{});
    }
    return chaos;
}

}  // namespace lockstep::sim::detail
