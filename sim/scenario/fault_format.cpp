// The part of the table that is made from the catalogue and from the engine's tables.
#include <algorithm>

#include "engine/config/tunable_minimum.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/file_format.h"

namespace lockstep::sim::format {

namespace {

using namespace shape;

Shape status() {
    const auto all = rpc_statuses();
    Shape made =
        either({integer(1, static_cast<double>(all.size() - 1)), word({all.begin() + 1, all.end()}, "gRPC status")});
    made.expected = "a gRPC status such as \"UNAVAILABLE\" or 14";
    return defined(std::move(made), "status");
}

Shape argument(FaultArgKind kind) {
    switch (kind) {
        case FaultArgKind::node:
        case FaultArgKind::worker:
        case FaultArgKind::node_or_group:
        case FaultArgKind::glob: return text();
        case FaultArgKind::direction: return word({"both", "a_to_b", "b_to_a"});
        case FaultArgKind::probability: return number(0, 1);
        case FaultArgKind::distribution: return distribution();
        case FaultArgKind::duration: return duration();
        case FaultArgKind::signed_duration: return signed_duration();
        case FaultArgKind::number: return number(-1'000'000, 1'000'000);
        case FaultArgKind::words: return list(text(), 1);
        case FaultArgKind::call_outcome: return word({"not_applied", "unknown", "lost"});
        case FaultArgKind::in_hand: return word({"stuck", "forgotten"});
        case FaultArgKind::status: return status();
        case FaultArgKind::kernel_decision:
            return word(
                {"allow", "deny", "require_approval", "throttle", "allow_with_constraints", "allow_if_approved"});
        case FaultArgKind::output_decision: return word({"allow", "deny", "quarantine", "redact", "unknown"});
        case FaultArgKind::pools: return pools_document();
        case FaultArgKind::timeouts: return timeouts_document();
        case FaultArgKind::settings:
            return object({{"input_fail_mode", "policy unreachable: open lets jobs through, any other word holds them",
                            text_or_empty()},
                           {"output_fail_mode", "content check unreachable: open or closed", text_or_empty()},
                           {"output_policy_enabled", "", flag()}});
        case FaultArgKind::layers: {
            Shape one = either({text(), document("the settings of a layer, such as {\"safety\": {...}}")});
            one.expected = "the settings of a layer as an object, or any text in the place of its document";
            return map(std::move(one));
        }
        case FaultArgKind::tunables: return tunables();
        case FaultArgKind::worker_change:
            return defined(object({{"pool", "", text()},
                                   {"max_parallel_jobs", "", integer(0, 1'000'000)},
                                   {"capabilities", "", list(text())},
                                   {"labels", "", map(text_or_empty())}}),
                           "worker");
        case FaultArgKind::anything:
        case FaultArgKind::script:
        case FaultArgKind::job: return text();
        case FaultArgKind::count: return integer(1, 1e9);
    }
    return {};
}

std::string help_of(const FaultArg& argument) {
    switch (argument.kind) {
        case FaultArgKind::node: return "a node, a group, or actor: the node that caused the event";
        case FaultArgKind::worker: return "a worker, or workers";
        case FaultArgKind::node_or_group: return "a node or a group such as schedulers";
        case FaultArgKind::probability: return "share of what it concerns; default 1";
        case FaultArgKind::glob: return "only these; * is any run of characters";
        case FaultArgKind::call_outcome:
            return "not_applied: refused; unknown: it takes effect and its answer is lost; lost: it never arrives, "
                   "which looks the same to the caller; default: any of them, drawn for each call";
        case FaultArgKind::in_hand:
            return "stuck: it knows that they are in hand, and waits for ever; forgotten: it takes them for done; "
                   "default: stuck";
        case FaultArgKind::layers:
            return "by document, such as org:acme, team:ops, workflow:travel or step:pay: its settings; a text "
                   "replaces "
                   "the document, readable or not";
        case FaultArgKind::anything: return "replaces the whole document, readable or not";
        case FaultArgKind::count: return "how many calls or messages it hits; default: no limit";
        case FaultArgKind::script: return "only calls of this script; * is any run of characters";
        case FaultArgKind::tunables: return "what a scheduler starts again with, and keeps";
        case FaultArgKind::worker_change: return "what a worker starts again with under the same name, and keeps";
        case FaultArgKind::job: return "only what is about this job; * is any run of characters";
        case FaultArgKind::duration:
            return argument.name == "for" ? "default: until the end, or until chaos heals" : "";
        case FaultArgKind::direction:
        case FaultArgKind::distribution:
        case FaultArgKind::signed_duration:
        case FaultArgKind::number:
        case FaultArgKind::words:
        case FaultArgKind::status:
        case FaultArgKind::kernel_decision:
        case FaultArgKind::output_decision:
        case FaultArgKind::pools:
        case FaultArgKind::timeouts:
        case FaultArgKind::settings: return "";
    }
    return "";
}

Shape tunable(const engine::TunableInfo& info) {
    struct Visitor {
        const engine::TunableInfo& info;
        Shape operator()(engine::Duration engine::Tunables::*) const {
            return engine::minimum_of(info) > engine::Duration{} ? duration_of_at_least(engine::minimum_of(info))
                                                                 : duration();
        }
        Shape operator()(std::int64_t engine::Tunables::*) const {
            return integer(static_cast<double>(engine::least_count_of(info)),
                           static_cast<double>(engine::most_count_of(info)));
        }
        Shape operator()(double engine::Tunables::*) const { return number(0, engine::kNumberMax); }
        Shape operator()(bool engine::Tunables::*) const { return flag(); }
        Shape operator()(std::string engine::Tunables::*) const {
            return info.choices.empty() ? text() : word({info.choices.begin(), info.choices.end()});
        }
    };
    return std::visit(Visitor{info}, info.member);
}

/// A time that timeouts.yaml gives in whole seconds and scenario files also as a duration.
void add_timeout(std::vector<Field>& fields, const std::string& name, const std::string& help) {
    fields.push_back({name, help, duration()});
    fields.push_back({name + "_seconds", help, integer(0, 1e9)});
}

}  // namespace

std::vector<Field> event_filter() {
    std::vector<std::string> events;
    for (const EventInfo& event : event_table()) events.emplace_back(event.name);
    return {
        {"event", "", defined(word(std::move(events), "event"), "event"), true},
        {"when", "default applied; of submit, cancel and approve, which have none, answered",
         word({"before", "applied", "answered"})},
        {"nth", "default 1", integer(1, 1e9)},
        {"per", "what nth counts within; default run", word({"run", "node", "job"})},
        {"node", "glob, or a group", text()},
        {"job", "glob", text()},
        {"subject", "glob", text()},
        {"command", "redis: the command's name", text()},
        {"script", "redis: the script's name", text()},
        {"key", "redis, locks: glob", text()},
        {"name", "reached, timer, fault: the name", text()},
        {"to", "state, result, checks: the new state, status or decision", text()},
        {"after", "only events from then on", duration()},
        {"until", "only events up to then", duration()},
    };
}

Shape trigger() { return defined(object(event_filter()), "trigger"); }

Shape fault() {
    Shape made;
    made.kind = Shape::Kind::tagged;
    made.definition = "fault";
    made.tag = "do";
    made.noun = "fault";
    for (const FaultInfo& info : fault_table()) {
        std::vector<Field> fields{{"at", "virtual time; or `on`", duration()}, {"on", "an event; or `at`", trigger()}};
        for (const FaultArg& arg : info.args)
            fields.push_back({std::string(arg.name), help_of(arg), argument(arg.kind), arg.required});
        made.words.emplace_back(info.name);
        made.alternatives.push_back(object(std::move(fields)));
    }
    return made;
}

Shape tunables() {
    std::vector<Field> fields;
    for (const engine::TunableInfo& info : engine::tunable_table())
        fields.push_back({std::string(info.name), std::string(info.help), tunable(info)});
    return defined(object(std::move(fields)), "tunables");
}

Shape pools_document() {
    Shape several = list(text(), 1);
    several.expected = "a list of pools that is not empty";
    Shape names = either({text(), std::move(several)});
    names.expected = "a pool or a list of pools";
    Shape made = object({
        {"topics", "topic to pools", map(std::move(names)), true},
        {"pools", "",
         map(object({{"requires", "capabilities that the pool offers", list(text())},
                     {"status", "default active", word({"active", "draining", "inactive"})},
                     {"description", "", text_or_empty()},
                     {"drain_started_at", "", text_or_empty()},
                     {"drain_timeout_seconds", "", integer(0, 1e9)}}))},
    });
    return defined(std::move(made), "pools");
}

Shape timeouts_document() {
    std::vector<Field> topic;
    add_timeout(topic, "timeout", "longest stay in RUNNING");
    add_timeout(topic, "dispatch_timeout", "longest stay in DISPATCHED");
    topic.push_back({"max_retries", "", integer(0, 1e9)});
    std::vector<Field> workflow;
    add_timeout(workflow, "child_timeout", "longest stay in RUNNING of a job of the workflow");
    add_timeout(workflow, "total_timeout", "longest life of a job of the workflow");
    workflow.push_back({"max_retries", "", integer(0, 1e9)});
    std::vector<Field> reconciler;
    add_timeout(reconciler, "dispatch_timeout", "overrides the tunable dispatch_timeout");
    add_timeout(reconciler, "running_timeout", "overrides the tunable running_timeout");
    add_timeout(reconciler, "scan_interval", "overrides reconciler_interval and replayer_interval");
    return defined(object({{"topics", "", map(object(std::move(topic)))},
                           {"workflows", "", map(object(std::move(workflow)))},
                           {"reconciler", "", object(std::move(reconciler))}}),
                   "timeouts");
}

}  // namespace lockstep::sim::format
