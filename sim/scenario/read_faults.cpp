#include <nlohmann/json.hpp>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/read.h"
#include "sim/scenario/values.h"

namespace lockstep::sim::detail {

using nlohmann::json;

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
    if (member(object, "after") != nullptr) trigger.after = duration_of(object, "after");
    if (member(object, "until") != nullptr) trigger.until = duration_of(object, "until");
    return trigger;
}

Fault read_fault(const json& object, std::string pointer) {
    Fault fault;
    fault.pointer = std::move(pointer);
    fault.at = duration_of(object, "at");
    if (const json* on = member(object, "on")) fault.on = read_trigger(*on);
    const FaultInfo* info = find_fault(text_of(object, "do"));
    if (info == nullptr) return fault;
    fault.what = info->make();
    for (const FaultArg& arg : info->args)
        if (member(object, arg.name) != nullptr) arg.read(arg, object, fault);
    return fault;
}

Chaos read_chaos(const json& object, Duration scenario_duration) {
    Chaos chaos;
    chaos.level = text_of(object, "level", "moderate");
    chaos.faults =
        member(object, "faults") != nullptr ? texts_of(object, "faults") : names_of(chaos_kind_table(), true);
    // Two thirds of disturbance leave one third to drain in.
    chaos.heal_at = duration_of(object, "heal_at", scenario_duration * 2 / 3);
    if (const json* stretches = member(object, "fault_free"))
        for (const json& stretch : *stretches)
            chaos.fault_free.push_back({duration_of(stretch, "at"), duration_of(stretch, "for")});
    chaos.heal = text_of(object, "heal", chaos.heal);
    if (const json* loss = member(object, "data_loss")) {
        const std::string word = loss->is_boolean() ? (loss->get<bool>() ? "both" : "") : loss->get<std::string>();
        chaos.data_loss = data_loss_named(word).value_or(DataLoss{});
    }
    return chaos;
}

}  // namespace lockstep::sim::detail
