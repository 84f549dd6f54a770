#include "reports/result_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"

namespace lockstep::reports {

namespace {

using nlohmann::json;

/// Counts as whole numbers; JSON has no infinities.
json number(double value) {
    constexpr double kExactMax = 9.0e15;
    if (!std::isfinite(value)) return nullptr;
    if (std::floor(value) == value && std::fabs(value) < kExactMax) return static_cast<std::int64_t>(value);
    return value;
}

json to_json(const Fact& fact) {
    return {{"event", fact.event}, {"at_ns", fact.at_ns}, {"node", fact.node}, {"what", fact.what}};
}

json to_json(const Violation& violation) {
    json out{{"invariant", violation.invariant}, {"at_ms", violation.at_ms},
             {"node", violation.node},           {"job", violation.job},
             {"detail", violation.detail},       {"story", violation.story},
             {"fact", to_json(violation.fact)},  {"circumstances", violation.circumstances},
             {"paragraph", violation.paragraph}};
    if (violation.earlier) out["earlier"] = to_json(*violation.earlier);
    return out;
}

json to_json(const ExpectationOutcome& outcome) {
    return {{"expected", outcome.expected}, {"actual", outcome.actual}, {"held", outcome.held},
            {"pointer", outcome.pointer},   {"job", outcome.job},       {"others", outcome.others}};
}

json to_json(const FaultCount& fault) {
    return {{"do", fault.kind},
            {"pointer", fault.pointer},
            {"armed", fault.armed},
            {"fired", fault.fired},
            {"effective", fault.effective}};
}

json to_json(const RunRecord& record);

template <class T>
json list(const std::vector<T>& items) {
    json out = json::array();
    for (const T& item : items) out.push_back(to_json(item));
    return out;
}

json to_json(const RunRecord& record) {
    json metrics = json::object();
    for (const auto& [name, value] : record.metrics) metrics[name] = number(value);
    json out{{"file", record.file},
             {"name", record.name},
             {"seed", record.seed},
             {"passed", record.passed},
             {"digest", digest_text(record.digest)},
             {"virtual_ms", record.virtual_ms},
             {"wall_ms", record.wall_ms},
             {"events", record.events},
             {"states", record.states},
             {"runs", record.runs},
             {"metrics", std::move(metrics)},
             {"violations", list(record.violations)},
             {"expectations", list(record.expectations)},
             {"faults", list(record.faults)},
             {"exercised", record.exercised},
             {"histories",
              {{"held", record.histories.held},
               {"violated", record.histories.violated},
               {"undecided", record.histories.undecided}}},
             {"without", record.without},
             {"reached", record.reached},
             {"replay", record.replay}};
    if (!record.error.empty()) out["error"] = record.error;
    if (record.crashed) out["crashed"] = true;
    return out;
}

}  // namespace

std::string result_json(const RunReport& report) {
    const auto passed = std::ranges::count(report.results, true, &RunRecord::passed);
    json out{{"version", kResultJsonVersion},
             {"schema_version", kSchemaVersion},
             {"command", "run"},
             {"build", report.build},
             {"exit", report.exit},
             {"verdict", report.verdict},
             {"complete", report.incomplete.empty()},
             {"passed", passed},
             {"failed", static_cast<std::int64_t>(report.results.size()) - passed},
             {"vacuous", report.vacuous},
             {"unreached", report.unreached},
             {"results", list(report.results)}};
    if (!report.incomplete.empty()) out["incomplete"] = report.incomplete;
    return document_text(out);
}

std::string result_json_opening(std::string_view build, std::string_view incomplete) {
    // The list comes last in the text, so that a record can be added at its end.
    const json head{{"version", kResultJsonVersion},
                    {"schema_version", kSchemaVersion},
                    {"build", build},
                    {"complete", false},
                    {"incomplete", incomplete},
                    {"vacuous", json::array()},
                    {"unreached", json::array()}};
    std::string text = engine::wire::json_text(head, 2);
    text.erase(text.rfind('\n'));
    return text + ",\n  \"results\": [\n";
}

std::string record_json(const RunRecord& record) { return engine::wire::json_text(to_json(record), 2); }

json violation_json(const Violation& violation) { return to_json(violation); }
json expectation_json(const ExpectationOutcome& outcome) { return to_json(outcome); }
json fault_json(const FaultCount& fault) { return to_json(fault); }

std::string document_text(const json& document) { return engine::wire::json_text(document, 2) + "\n"; }

}  // namespace lockstep::reports
