#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/chaos.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kLineWidth = 110;
constexpr std::size_t kIndent = 2;

/// On one line, with the spaces that the hand-written files have.
std::string inlined(const Document& value) {
    if (!value.is_structured()) return value.dump(-1, ' ', false, Document::error_handler_t::replace);
    if (value.empty()) return value.is_array() ? "[]" : "{}";
    std::vector<std::string> parts;
    for (const auto& [key, member] : value.items())
        parts.push_back(value.is_array() ? inlined(member)
                                         : fmt::format("{}: {}", Document(key).dump(), inlined(member)));
    return value.is_array() ? fmt::format("[{}]", fmt::join(parts, ", "))
                            : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

/// `used`: columns of the line that are taken already.
void write(const Document& value, std::size_t depth, std::size_t used, std::string& out) {
    const std::string line = inlined(value);
    const bool top = depth == 0;
    if (!value.is_structured() || value.empty() || (!top && used + line.size() <= kLineWidth)) {
        out += line;
        return;
    }
    out += value.is_array() ? "[\n" : "{\n";
    std::size_t left = value.size();
    for (const auto& [key, member] : value.items()) {
        const std::string name = value.is_array() ? "" : Document(key).dump() + ": ";
        const std::string margin((depth + 1) * kIndent, ' ');
        out += margin + name;
        write(member, depth + 1, margin.size() + name.size() + 1, out);
        out += --left > 0 ? ",\n" : "\n";
    }
    out += std::string(depth * kIndent, ' ') + (value.is_array() ? "]" : "}");
}

std::string duration_text(Duration duration) { return engine::format_duration(duration); }

Document latency_document(const Distribution& latency) {
    using Law = Distribution::Kind;
    switch (latency.kind) {
        case Law::constant: return duration_text(latency.a);
        case Law::uniform:
            return {{"dist", "uniform"}, {"min", duration_text(latency.a)}, {"max", duration_text(latency.b)}};
        case Law::exponential: return {{"dist", "exp"}, {"mean", duration_text(latency.a)}};
        case Law::lognormal:
            return {{"dist", "lognormal"}, {"median", duration_text(latency.a)}, {"sigma", latency.shape}};
        case Law::pareto: return {{"dist", "pareto"}, {"min", duration_text(latency.a)}, {"alpha", latency.shape}};
    }
    return duration_text(latency.a);
}

Document trigger_document(const Trigger& trigger) {
    Document out = Document::object();
    const auto info = std::ranges::find(event_table(), trigger.event, &EventInfo::kind);
    out["event"] = info == event_table().end() ? std::string{} : std::string(info->name);
    if (info != event_table().end() && info->call)
        out["when"] = trigger.when == fakes::When::before     ? "before"
                      : trigger.when == fakes::When::answered ? "answered"
                                                              : "applied";
    const auto put = [&out](const char* key, const std::string& value) {
        if (!value.empty()) out[key] = value;
    };
    put("node", trigger.node);
    put("job", trigger.job);
    put("subject", trigger.subject);
    put("command", trigger.command);
    put("script", trigger.script);
    put("key", trigger.key);
    put("name", trigger.name);
    put("to", trigger.to);
    if (trigger.nth != 1) out["nth"] = trigger.nth;
    if (trigger.per != Trigger::Per::run) out["per"] = trigger.per == Trigger::Per::node ? "node" : "job";
    return out;
}

/// Of a tunable's value, as a file gives it: durations and words are texts, all else is JSON itself.
Document tunable_document(const std::string& name, const std::string& value) {
    const engine::TunableInfo* info = engine::find_tunable(name);
    const bool text = info == nullptr || std::holds_alternative<engine::Duration engine::Tunables::*>(info->member) ||
                      std::holds_alternative<std::string engine::Tunables::*>(info->member);
    return text ? Document(value) : Document::parse(value);
}

Document worker_document(const WorkerChange& change) {
    Document out;
    if (change.pool) out["pool"] = *change.pool;
    if (change.max_parallel_jobs) out["max_parallel_jobs"] = *change.max_parallel_jobs;
    if (change.capabilities) out["capabilities"] = *change.capabilities;
    if (change.labels) out["labels"] = *change.labels;
    return out;
}

/// One argument of a fault; null where the default says the same.
Document argument_document(const FaultArg& arg, const Fault& fault) {
    switch (arg.kind) {
        case FaultArgKind::node:
        case FaultArgKind::worker: return fault.target;
        case FaultArgKind::node_or_group: return arg.name == "a" ? fault.a : fault.b;
        case FaultArgKind::direction: return fault.direction == "both" ? Document() : Document(fault.direction);
        case FaultArgKind::probability: return fault.rate == 1.0 && !arg.required ? Document() : Document(fault.rate);
        case FaultArgKind::glob: {
            const std::string& text = arg.name == "keys" ? fault.keys : arg.name == "key" ? fault.key : fault.subject;
            return text.empty() ? Document() : Document(text);
        }
        case FaultArgKind::distribution:
            return fault.latency.kind == Distribution::Kind::constant && fault.latency.a == Duration{}
                       ? Document()
                       : latency_document(fault.latency);
        case FaultArgKind::duration: {
            if (arg.name == "period") return duration_text(fault.period);
            return fault.duration ? Document(duration_text(*fault.duration)) : Document();
        }
        case FaultArgKind::signed_duration: return (fault.by_negative ? "-" : "") + duration_text(fault.by);
        case FaultArgKind::number: return fault.ppm;
        case FaultArgKind::words: return fault.commands.empty() ? Document() : Document(fault.commands);
        case FaultArgKind::call_outcome: return fault.outcome.empty() ? Document() : Document(fault.outcome);
        case FaultArgKind::status: return std::string(rpc_statuses()[static_cast<std::size_t>(fault.status)]);
        case FaultArgKind::kernel_decision:
        case FaultArgKind::output_decision: return fault.decision;
        case FaultArgKind::pools: return fault.pools.empty() ? Document() : Document::parse(fault.pools);
        case FaultArgKind::timeouts: return fault.timeouts.empty() ? Document() : Document::parse(fault.timeouts);
        case FaultArgKind::layers: return fault.layers.empty() ? Document() : Document::parse(fault.layers);
        case FaultArgKind::settings: return fault.settings.empty() ? Document() : Document::parse(fault.settings);
        case FaultArgKind::tunables: {
            Document config;
            for (const auto& [name, value] : fault.config) config[name] = tunable_document(name, value);
            return config;
        }
        case FaultArgKind::worker_change: return worker_document(fault.worker);
        case FaultArgKind::anything: return fault.raw.empty() ? Document() : Document(fault.raw);
        case FaultArgKind::count: return fault.count ? Document(*fault.count) : Document();
        case FaultArgKind::script: return fault.script.empty() ? Document() : Document(fault.script);
        case FaultArgKind::job: return fault.job.empty() ? Document() : Document(fault.job);
    }
    return {};
}

}  // namespace

std::string pretty(const Document& document) {
    std::string out;
    write(document, 0, 0, out);
    out += '\n';
    return out;
}

Loaded<Scenario> parse_document(const Document& document, const std::string& file) {
    return parse_scenario(document.dump(-1, ' ', false, Document::error_handler_t::replace), file);
}

Document fault_document(const Fault& fault) {
    Document out = Document::object();
    if (fault.on)
        out["on"] = trigger_document(*fault.on);
    else
        out["at"] = duration_text(fault.at);
    out["do"] = fault.kind;
    const FaultInfo* info = find_fault(fault.kind);
    if (info == nullptr) return out;
    for (const FaultArg& arg : info->args) {
        Document value = argument_document(arg, fault);
        if (!value.is_null()) out[std::string(arg.name)] = std::move(value);
    }
    return out;
}

Document with_chaos_drawn(Document document, const Scenario& scenario, std::uint64_t seed) {
    if (!scenario.chaos) return document;
    Document faults = document.contains("faults") ? document["faults"] : Document::array();
    const Topology topology(scenario.cluster);
    for (const Fault& fault : draw_chaos(scenario, topology, seed)) faults.push_back(fault_document(fault));
    Document out = Document::object();
    for (const auto& [key, value] : document.items()) {
        if (key == "chaos" && !document.contains("faults"))
            out["faults"] = faults;
        else if (key == "faults")
            out["faults"] = faults;
        else if (key != "chaos")
            out[key] = value;
    }
    return out;
}

}  // namespace lockstep::sim
