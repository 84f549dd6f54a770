#include "prod/ctl/workflow_commands.h"

#include <fmt/core.h>

#include "engine/config/json_positions.h"
#include "engine/wire/json_text.h"
#include "prod/ctl/text.h"
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
    const std::string document = text.starts_with('@') ? text_from(text.substr(1)) : text;
    json input = engine::wire::parse_bounded(document);
    if (!input.is_object()) refuse("--input: expected a JSON object, or @ and the name of a file with one");
    // The parser keeps the last one, and readers of the input in other languages may keep the first.
    if (const auto twice = engine::locate(document).duplicates; !twice.empty())
        refuse(
            printable(fmt::format("--input: {} stands twice, at line {}, column {} and again at line {}, column {}; "
                                  "leave one out",
                                  twice.front().pointer, twice.front().first.line, twice.front().first.column,
                                  twice.front().again.line, twice.front().again.column)));
    return input;
}

void check_run_id(const std::string& id) {
    if (!id.empty() && !is_run_id(id))
        refuse(fmt::format("--run: expected up to 200 letters, digits, '.', '_' and '-', got \"{}\"", id));
}

usage::Command of_run(const usage::Command& group, const char* name, const char* help, std::string& run) {
    const auto command = group.subcommand(name, help);
    command.option("run", &run, "run id").identifier().required();
    return command;
}

void add_definitions(const usage::Command& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    const auto check =
        group.subcommand("check", "Report every mistake of a definition, with its place; needs no server");
    check.option("file", &a.file, "definition, JSON; - for standard input").bytes().required();
    check.on_parsed([&a, &as_json, &chosen] {
        a.text = text_from(a.file);
        chosen.offline = [&a, &as_json] { return check_definition(a.file, a.text, as_json); };
    });
    const auto put =
        group.subcommand("put", "Store a definition that has no mistakes; runs that have begun keep theirs");
    put.option("file", &a.file, "definition, JSON; - for standard input").bytes().required();
    put.on_parsed([&a, &as_json, &chosen] {
        a.text = text_from(a.file);
        chosen.command = [&a, &as_json](Session& s) { return put_definition(s, a.file, a.text, as_json); };
    });
}

void add_start(const usage::Command& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    StartOptions& o = a.start;
    const auto start = group.subcommand("start", "Start a run and print its id");
    start.option("workflow", &o.workflow, "id of the definition").identifier().required();
    start.option("--run", &o.run, "run id; made up when missing");
    start.option("--input", &a.input,
                 "input of the run, a JSON object; or @ and the name of a file (@- for standard input)");
    start.option("--org", &o.org, "whose run it is (default: the definition's org_id, else default)").identifier();
    start.option("--idempotency-key", &o.idempotency_key, "start once for each key").identifier();
    start.option("--by", &o.by, "who starts it (default: the user's name)");
    start.flag("--dry-run", &o.dry_run, "a run whose jobs are marked dry_run");
    start.on_parsed([&a, &as_json, &chosen] {
        check_run_id(a.start.run);
        a.start.input = input_from(a.input);
        if (a.start.by.empty()) a.start.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) {
            a.start.json = as_json;
            return start_run(s, a.start);
        });
    });
    const auto again =
        of_run(group, "rerun", "Start a new run with the workflow and the input of another one", a.rerun.of);
    again.option("--run", &a.rerun.run, "id of the new run; made up when missing");
    again.option("--by", &a.rerun.by, "who starts it (default: the user's name)");
    again.on_parsed([&a, &as_json, &chosen] {
        check_run_id(a.rerun.run);
        if (a.rerun.by.empty()) a.rerun.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) {
            a.rerun.json = as_json;
            return rerun(s, a.rerun);
        });
    });
}

void add_looks(const usage::Command& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    const auto status = of_run(group, "status", "Show a run and its steps", a.status.run);
    status.flag("--wait", &a.status.wait, "wait until it has ended; exit code 4 unless it succeeded");
    status.option("--wait-for", &a.wait, "how long --wait waits (default 10m)");
    status.option("--html", &a.status.html, "file for a page with the steps as bars over time and as a graph").bytes();
    status.on_parsed([&a, &as_json, &chosen] {
        a.status.wait_limit = span("--wait-for", a.wait, a.status.wait_limit);
        chosen.command = [&a, &as_json](Session& s) {
            a.status.json = as_json;
            return show_run(s, a.status);
        };
    });
    const auto list = group.subcommand("list", "Count runs by status, or list those of one status or workflow");
    list.option("--status", &a.list.status, "status, such as running");
    list.option("--workflow", &a.list.workflow, "id of the definition");
    list.option("--limit", &a.list.limit, "at most so many").range(1, 100'000).show_default();
    list.on_parsed([&a, &as_json, &chosen] {
        chosen.command = [&a, &as_json](Session& s) {
            a.list.json = as_json;
            return list_runs(s, a.list);
        };
    });
}

void add_wishes(const usage::Command& group, WorkflowArguments& a, const bool& as_json, Chosen& chosen) {
    const auto cancel = of_run(group, "cancel", "Cancel a run that has not ended, and its jobs", a.status.run);
    cancel.option("--reason", &a.reason, "why");
    cancel.on_parsed([&a, &as_json, &chosen] {
        choose(chosen, [&a, &as_json](Session& s) { return cancel_run(s, a.status.run, a.reason, as_json); });
    });
    const auto retry = of_run(
        group, "retry", "Let a run that has failed go on from what has failed; what has succeeded stays", a.status.run);
    retry.option("--by", &a.by, "who asks for it (default: the user's name)");
    retry.on_parsed([&a, &as_json, &chosen] {
        if (a.by.empty()) a.by = user_name();
        choose(chosen, [&a, &as_json](Session& s) { return retry_run(s, a.status.run, a.by, as_json); });
    });
    const auto approve = of_run(group, "approve", "Decide on a step that waits for an approval", a.decision.run);
    approve.option("step", &a.decision.step, "step id").identifier().required();
    approve.flag("--reject", &a.reject, "the step fails");
    approve.option("--by", &a.decision.by, "who decides (default: the user's name)");
    approve.flag("--wait", &a.decision.wait, "wait until the step asks for it");
    approve.option("--wait-for", &a.wait, "how long --wait waits (default 10m)");
    approve.on_parsed([&a, &as_json, &chosen] {
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

void add_workflow(const usage::Command& app, WorkflowArguments& arguments, const bool& as_json, Chosen& chosen) {
    const auto group = app.subcommand("workflow", "Workflows: definitions, and runs of them");
    group.require_subcommand();
    group.footer(
        "What is asked of a run stands in Redis. A lockstepd --role workflow does it at once when NATS brings it the "
        "word,\n"
        "and within WORKFLOW_ENGINE_SCAN_INTERVAL (5 s) otherwise.");
    add_definitions(group, arguments, as_json, chosen);
    add_start(group, arguments, as_json, chosen);
    add_looks(group, arguments, as_json, chosen);
    add_wishes(group, arguments, as_json, chosen);
}

}  // namespace lockstep::prod
