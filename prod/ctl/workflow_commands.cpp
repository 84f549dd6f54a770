#include "prod/ctl/workflow_commands.h"

#include <fmt/core.h>

#include "engine/config/bounded_json.h"
#include "prod/ctl/workflow_definitions.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

/// A command that an engine is told of, and that does not need it to be.
void choose(Chosen& chosen, std::function<engine::Task<int>(Session&)> command) {
    chosen.command = std::move(command);
    chosen.with_bus = true;
    chosen.without_bus = "nobody is told; the engines find it at their next look";
}

json input_from(const std::string& text) {
    if (text.empty()) return json::object();
    json input = engine::parse_bounded(text.starts_with('@') ? text_from(text.substr(1)) : text);
    if (!input.is_object()) refuse("--input: expected a JSON object, or @ and the name of a file with one");
    return input;
}

void check_run_id(const std::string& id) {
    if (!id.empty() && !is_run_id(id))
        refuse(fmt::format("--run: expected up to 200 letters, digits, '.', '_' and '-', got \"{}\"", id));
}

CLI::App* of_run(CLI::App& group, const char* name, const char* help, std::string& run) {
    auto* command = group.add_subcommand(name, help);
    command->add_option("run", run, "run id")->required();
    return command;
}

void add_definitions(CLI::App& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    auto* check =
        group.add_subcommand("check", "Report every mistake of a definition, with its place; needs no server");
    check->add_option("file", a.file, "definition, JSON; - for standard input")->required();
    check->final_callback([&a, &as_json, &chosen] {
        a.text = text_from(a.file);
        chosen.offline = [&a, &as_json] { return check_definition(a.file, a.text, as_json); };
    });
    auto* put =
        group.add_subcommand("put", "Store a definition that has no mistakes; runs that have begun keep theirs");
    put->add_option("file", a.file, "definition, JSON; - for standard input")->required();
    put->final_callback([&a, &as_json, &chosen] {
        a.text = text_from(a.file);
        chosen.command = [&a, &as_json](Session& s) { return put_definition(s, a.file, a.text, as_json); };
    });
}

void add_start(CLI::App& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    StartOptions& o = a.start;
    auto* start = group.add_subcommand("start", "Start a run and print its id");
    start->add_option("workflow", o.workflow, "id of the definition")->required();
    start->add_option("--run", o.run, "run id; made up when missing");
    start->add_option("--input", a.input,
                      "input of the run, a JSON object; or @ and the name of a file (@- for standard input)");
    start->add_option("--org", o.org, "whose run it is (default: the definition's org_id, else default)");
    start->add_option("--idempotency-key", o.idempotency_key, "start once for each key");
    start->add_option("--by", o.by, "who starts it (default: the user's name)");
    start->add_flag("--dry-run", o.dry_run, "a run whose jobs are marked dry_run");
    start->final_callback([&a, &as_json, &chosen] {
        check_run_id(a.start.run);
        a.start.input = input_from(a.input);
        if (a.start.by.empty()) a.start.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) {
            a.start.json = as_json;
            return start_run(s, a.start);
        });
    });
    auto* again = of_run(group, "rerun", "Start a new run with the workflow and the input of another one", a.rerun.of);
    again->add_option("--run", a.rerun.run, "id of the new run; made up when missing");
    again->add_option("--by", a.rerun.by, "who starts it (default: the user's name)");
    again->final_callback([&a, &as_json, &chosen] {
        check_run_id(a.rerun.run);
        if (a.rerun.by.empty()) a.rerun.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) {
            a.rerun.json = as_json;
            return rerun(s, a.rerun);
        });
    });
}

void add_looks(CLI::App& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    auto* status = of_run(group, "status", "Show a run and its steps", a.status.run);
    status->add_flag("--wait", a.status.wait, "wait until it has ended; exit code 4 unless it succeeded");
    status->add_option("--wait-for", a.wait, "how long --wait waits (default 10m)");
    status->add_option("--html", a.status.html, "file for a page with the steps as bars over time and as a graph");
    status->final_callback([&a, &as_json, &chosen] {
        a.status.wait_limit = span("--wait-for", a.wait, a.status.wait_limit);
        chosen.command = [&a, &as_json](Session& s) {
            a.status.json = as_json;
            return show_run(s, a.status);
        };
    });
    auto* list = group.add_subcommand("list", "Count runs by status, or list those of one status or workflow");
    list->add_option("--status", a.list.status, "status, such as running");
    list->add_option("--workflow", a.list.workflow, "id of the definition");
    list->add_option("--limit", a.list.limit, "at most so many")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
        ->capture_default_str();
    list->final_callback([&a, &as_json, &chosen] {
        chosen.command = [&a, &as_json](Session& s) {
            a.list.json = as_json;
            return list_runs(s, a.list);
        };
    });
}

void add_wishes(CLI::App& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    auto* cancel = of_run(group, "cancel", "Cancel a run that has not ended, and its jobs", a.status.run);
    cancel->add_option("--reason", a.reason, "why");
    cancel->final_callback([&a, &as_json, &chosen] {
        choose(chosen, [&a, &as_json](Session& s) { return cancel_run(s, a.status.run, a.reason, as_json); });
    });
    auto* retry = of_run(
        group, "retry", "Let a run that has failed go on from what has failed; what has succeeded stays", a.status.run);
    retry->add_option("--by", a.by, "who asks for it (default: the user's name)");
    retry->final_callback([&a, &as_json, &chosen] {
        if (a.by.empty()) a.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) { return retry_run(s, a.status.run, a.by, as_json); });
    });
    auto* approve = of_run(group, "approve", "Decide on a step that waits for an approval", a.decision.run);
    approve->add_option("step", a.decision.step, "step id")->required();
    approve->add_flag("--reject", a.reject, "the step fails");
    approve->add_option("--by", a.decision.by, "who decides (default: the user's name)");
    approve->add_flag("--wait", a.decision.wait, "wait until the step asks for it");
    approve->add_option("--wait-for", a.wait, "how long --wait waits (default 10m)");
    approve->final_callback([&a, &as_json, &chosen] {
        a.decision.wait_limit = span("--wait-for", a.wait, a.decision.wait_limit);
        a.decision.approved = !a.reject;
        if (a.decision.by.empty()) a.decision.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) {
            a.decision.json = as_json;
            return decide_step(s, a.decision);
        });
    });
}

}  // namespace

void add_workflow(CLI::App& app, WorkflowArguments& arguments, const bool& as_json, Chosen& chosen) {
    auto* group = app.add_subcommand("workflow", "Workflows: definitions, and runs of them");
    group->require_subcommand(1);
    group->footer(
        "What is asked of a run stands in Redis. A lockstepd --role workflow does it at once when NATS brings it the "
        "word,\n"
        "and within WORKFLOW_ENGINE_SCAN_INTERVAL (5 s) otherwise.");
    add_definitions(*group, arguments, as_json, chosen);
    add_start(*group, arguments, as_json, chosen);
    add_looks(*group, arguments, as_json, chosen);
    add_wishes(*group, arguments, as_json, chosen);
}

}  // namespace lockstep::prod
