#include "sim/scenario/check_workflows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/config/nearest.h"
#include "engine/runs/definition.h"
#include "engine/runs/definition_slips.h"
#include "engine/runs/job_names.h"
#include "engine/wire/json_text.h"
#include "sim/scenario/read.h"

namespace lockstep::sim::detail {

using nlohmann::json;

WorkflowChecker::WorkflowChecker(const Scenario& scenario, std::vector<Finding>& findings)
    : scenario_(scenario), findings_(findings) {
    for (const Load& line : scenario.load) {
        if (line.kind != Load::Kind::workflow || line.order.kind != RunOrder::Kind::put) continue;
        const json definition = engine::wire::read_json(line.order.definition);
        std::set<std::string>& steps = workflows_[line.order.workflow];
        const json* given = definition.is_object() ? member(definition, "steps") : nullptr;
        if (given == nullptr || !given->is_object()) continue;
        for (const auto& [step, what] : given->items()) steps.insert(step);
    }
    int generated = 0;
    for (const Load& line : scenario.load) {
        if (line.kind != Load::Kind::workflow || line.order.kind != RunOrder::Kind::start) continue;
        if (!line.order.run.empty())
            runs_.emplace(line.order.run, line.order.workflow);
        else
            for (int n = 0; n < line.count; ++n) runs_.emplace(fmt::format("run-{}", generated++), line.order.workflow);
    }
}

void WorkflowChecker::line(const Load& line, const json& load, const std::string& at) {
    const json& object = *member(load, "workflow");
    const std::string here = at + "/workflow";
    for (const char* key : {"topic", "payload_bytes"})
        if (member(load, key) != nullptr) add(child(at, key), fmt::format("\"{}\" goes with submits only", key));
    std::vector<std::string> asked;
    for (const char* key : {"put", "start", "approve", "cancel", "retry", "rewrite"})
        if (member(object, key) != nullptr) asked.emplace_back(key);
    if (asked.size() != 1)
        return add(here, asked.empty()
                             ? "expected one of the keys \"put\", \"start\", \"approve\", \"cancel\", \"retry\" and "
                               "\"rewrite\""
                             : fmt::format("expected one of {}", fmt::join(asked, ", ")));
    parts_of_order(object, asked.front(), here);
    const RunOrder& order = line.order;
    if (order.kind != RunOrder::Kind::start || !order.run.empty()) {
        for (const char* key : {"count", "rate"})
            if (member(load, key) != nullptr)
                add(child(at, key), fmt::format("\"{}\" goes with \"start\" of runs that have no id", key));
    }
    switch (order.kind) {
        case RunOrder::Kind::put: return definition(order, here + "/put");
        case RunOrder::Kind::start: return start(order, here);
        case RunOrder::Kind::approve:
            known_step(order.run, order.step, here + "/approve", here + "/step");
            if (order.step.empty()) add(here, "expected a key \"step\": what is decided on");
            return;
        case RunOrder::Kind::cancel: return known_run(order.run, here + "/cancel");
        case RunOrder::Kind::retry: return known_run(order.run, here + "/retry");
        case RunOrder::Kind::rewrite: return known_run(order.run, here + "/rewrite");
    }
}

void WorkflowChecker::parts_of_order(const json& object, const std::string& asked, const std::string& at) {
    struct Part {
        const char* key;
        const char* of;
    };
    for (const Part part : {Part{"run", "start"},
                            {"input", "start"},
                            {"org", "start"},
                            {"idempotency_key", "start"},
                            {"step", "approve"},
                            {"approved", "approve"},
                            {"reason", "cancel"}})
        if (member(object, part.key) != nullptr && asked != part.of)
            add(child(at, part.key), fmt::format("\"{}\" goes with \"{}\" only", part.key, part.of));
    const bool by_reference = text_of(object, "by") == "reference";
    if (asked == "rewrite" && !by_reference)
        add(at + "/rewrite", "expected \"by\": \"reference\": Lockstep writes no document back as it was");
    if (asked == "retry" && by_reference)
        add(at + "/by", "expected no \"by\": \"reference\" with \"retry\": its gateway tries no run again");
    const bool overwrites = by_reference && asked != "put" && asked != "start";
    if (member(object, "takes") != nullptr && !overwrites)
        add(at + "/takes",
            "expected \"takes\" with approve, cancel and rewrite, and of what the reference writes only");
    if (member(object, "idempotency_key") != nullptr && text_of(object, "by") == "reference")
        add(at + "/idempotency_key", "expected no key of what the reference writes: it would not wait for it");
}

void WorkflowChecker::definition(const RunOrder& order, const std::string& at) {
    if (order.workflow.empty()) return add(at, "expected a key \"id\": a workflow has an id");
    if (order.by_reference) return;  // that gateway stores what cannot be run, too
    const json document = engine::wire::read_json(order.definition);
    const auto read = engine::read_definition(document);
    for (const engine::DefinitionMistake& mistake : read ? engine::slips_in(document) : read.error())
        add(at + mistake.pointer, mistake.message);
}

void WorkflowChecker::start(const RunOrder& order, const std::string& at) {
    if (scenario_.cluster.workflow_engines == 0 && !scenario_.cluster.schedulers_run_workflows)
        add(at + "/start", "no workflow engine would run it: cluster.workflow_engines is 0");
    if (!workflows_.contains(order.workflow)) {
        std::vector<std::string> names;
        for (const auto& [name, steps] : workflows_) names.push_back(name);
        add(at + "/start", fmt::format("no line of load puts a workflow \"{}\"{}", order.workflow,
                                       engine::suggestion(order.workflow, names)));
    }
    if (order.run.find(':') != std::string::npos)
        add(at + "/run", "expected an id without a colon: the ids of its jobs are <run>:<step>@<attempt>");
}

bool WorkflowChecker::is_run(const std::string& id) const {
    return runs_.contains(id) ||
           std::ranges::any_of(runs_, [&id](const auto& run) { return id.starts_with(run.first + "."); });
}

void WorkflowChecker::known_run(const std::string& id, const std::string& at) {
    if (is_run(id)) return;
    std::vector<std::string> names;
    for (const auto& [name, workflow] : runs_) names.push_back(name);
    add(at, fmt::format("no line of load starts a run \"{}\"{}", id, engine::suggestion(id, names)));
}

void WorkflowChecker::known_step(const std::string& run, const std::string& step, const std::string& run_at,
                                 const std::string& step_at) {
    known_run(run, run_at);
    const auto of = runs_.find(run);
    const auto workflow = of == runs_.end() ? workflows_.end() : workflows_.find(of->second);
    if (workflow == workflows_.end() || step.empty()) return;
    const std::string base = step.substr(0, step.find('['));
    if (!workflow->second.contains(base))
        add(step_at, fmt::format("the workflow \"{}\" has no step \"{}\"{}", of->second, base,
                                 engine::suggestion(base, std::vector<std::string>(workflow->second.begin(),
                                                                                   workflow->second.end()))));
}

void WorkflowChecker::expectations(const Expectations& expect, const std::string& at) {
    for (const auto& [run, status] : expect.runs) known_run(run, child(at + "/runs", run));
    for (const auto& [run, steps] : expect.steps)
        for (const auto& [step, status] : steps)
            known_step(run, step, child(at + "/steps", run), child(child(at + "/steps", run), step));
}

bool WorkflowChecker::is_job_of_run(const std::string& id) const {
    const auto job = engine::parse_run_job(id);
    return job && is_run(job->run);
}

}  // namespace lockstep::sim::detail
