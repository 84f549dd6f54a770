#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/chaos.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kLineWidth = 140;
constexpr std::size_t kIndent = 2;

/// On one line, with the spaces that the hand-written files have.
std::string inlined(const Document& value) {
    if (!value.is_structured()) return engine::wire::json_text(value);
    if (value.empty()) return value.is_array() ? "[]" : "{}";
    std::vector<std::string> parts;
    for (const auto& [key, member] : value.items())
        parts.push_back(value.is_array()
                            ? inlined(member)
                            : fmt::format("{}: {}", engine::wire::json_text(Document(key)), inlined(member)));
    return value.is_array() ? fmt::format("[{}]", fmt::join(parts, ", "))
                            : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

/// Words or numbers, as many on a line as fit.
std::string filled(const Document& values, const std::string& margin) {
    std::string out;
    std::string line = margin;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string one = inlined(values[i]) + (i + 1 < values.size() ? "," : "");
        if (line.size() > margin.size() && line.size() + 1 + one.size() > kLineWidth)
            out += std::exchange(line, margin) + "\n";
        line += (line.size() > margin.size() ? " " : "") + one;
    }
    return out + line + "\n";
}

/// `used`: columns of the line that are taken already.
void write(const Document& value, std::size_t depth, std::size_t used, std::string& out) {
    const std::string line = inlined(value);
    const bool top = depth == 0;
    if (!value.is_structured() || value.empty() || (!top && used + line.size() <= kLineWidth)) {
        out += line;
        return;
    }
    const std::string margin((depth + 1) * kIndent, ' ');
    out += value.is_array() ? "[\n" : "{\n";
    const auto is_structured = [](const Document& one) { return one.is_structured(); };
    if (value.is_array() && std::none_of(value.begin(), value.end(), is_structured)) {
        out += filled(value, margin) + std::string(depth * kIndent, ' ') + "]";
        return;
    }
    std::size_t left = value.size();
    for (const auto& [key, member] : value.items()) {
        const std::string name = value.is_array() ? "" : engine::wire::json_text(Document(key)) + ": ";
        out += margin + name;
        write(member, depth + 1, margin.size() + name.size() + 1, out);
        out += --left > 0 ? ",\n" : "\n";
    }
    out += std::string(depth * kIndent, ' ') + (value.is_array() ? "]" : "}");
}

std::string duration_text(Duration duration) { return engine::format_duration(duration); }

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
    if (trigger.after) out["after"] = duration_text(*trigger.after);
    if (trigger.until) out["until"] = duration_text(*trigger.until);
    if (trigger.nth != 1) out["nth"] = trigger.nth;
    if (trigger.per != Trigger::Per::run) out["per"] = trigger.per == Trigger::Per::node ? "node" : "job";
    return out;
}

}  // namespace

std::string pretty(const Document& document) {
    std::string out;
    write(document, 0, 0, out);
    out += '\n';
    return out;
}

Loaded<Scenario> parse_document(const Document& document, const std::string& file) {
    return parse_scenario(engine::wire::json_text(document), file);
}

Document fault_document(const Fault& fault) {
    Document out = Document::object();
    if (fault.on)
        out["on"] = trigger_document(*fault.on);
    else
        out["at"] = duration_text(fault.at);
    out["do"] = fault.kind();
    for (const FaultArg& arg : find_fault(fault.kind())->args) {
        Document value = arg.write(arg, fault);
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
