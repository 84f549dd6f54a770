#include "prod/ctl/workflow_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include "engine/config/nearest.h"
#include "engine/runs/definition.h"
#include "engine/runs/retry.h"
#include "engine/runs/run_document.h"
#include "engine/runs/schema_check.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"
#include "engine/workflow/run_keys.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/workflow_engine.h"
#include "prod/ctl/document.h"
#include "prod/ctl/run_page.h"
#include "prod/ctl/run_view.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using engine::RunDocument;
using engine::RunStatus;
using engine::StepStatus;
using nlohmann::json;

constexpr auto kPollPause = std::chrono::milliseconds(50);
/// What is asked of a run is done at once where an engine runs and hears of it.
constexpr auto kDonePatience = std::chrono::seconds(3);
constexpr std::size_t kRunIdMax = 200;

constexpr RunStatus kStatuses[] = {RunStatus::pending, RunStatus::running, RunStatus::waiting,   RunStatus::succeeded,
                                   RunStatus::failed,  RunStatus::denied,  RunStatus::cancelled, RunStatus::timed_out};

engine::RunStore store_of(Session& session) { return {session.redis(), session.clock(), session.settings().tunables}; }

engine::Task<void> wake(Session& session, std::string run) {
    // Nobody depends on it: what is asked stands in Redis.
    if (session.has_bus()) (void)co_await session.bus().publish_core(engine::kSubjectRunWake, std::move(run));
}

/// What stops a command, or nothing.
using Refusal = std::optional<CommandError>;

struct FoundRun {
    Refusal refusal;
    std::optional<RunDocument> document;
};

engine::Task<FoundRun> find_run(Session& session, std::string run) {
    engine::RedisCommand get{"GET", engine::keys::run_document(run)};
    const auto text = co_await session.redis().command(std::move(get), session.deadline());
    if (!text.applied())
        co_return FoundRun{CommandError{kFailed, fmt::format("run {}: {}", run, text.failure().detail)}, {}};
    if (text.value().is_nil())
        co_return FoundRun{
            CommandError{kNotFound, fmt::format("there is no run {} (`lockstepctl workflow list --status "
                                                "running` names those that there are)",
                                                printable(run))},
            {}};
    auto document = RunDocument::parse(text.value().text());
    if (!document)
        co_return FoundRun{
            CommandError{kFailed, fmt::format("run {} cannot be read: {}", printable(run), document.error())}, {}};
    co_return FoundRun{{}, std::move(*document)};
}

json text_or_null(std::string text) { return text.empty() ? json() : json(std::move(text)); }

json json_of(const RunDocument& document) {
    return engine::wire::parse_bounded(document.write(), 2 * engine::wire::kJsonDepthMax);
}

/// The definition that the run keeps, else the present one; null where there is none.
engine::Task<json> definition_of(Session& session, const RunDocument& document) {
    engine::RedisCommand read{"MGET", engine::keys::run_definition(document.id()),
                              engine::keys::workflow_definition(document.workflow())};
    const auto texts = co_await session.redis().command(std::move(read), session.deadline());
    if (!texts.applied()) co_return json();
    for (std::size_t i = 0; i < 2; ++i) {
        json definition = engine::wire::parse_bounded(texts.value().at(i).text());
        if (definition.is_object()) co_return definition;
    }
    co_return json();
}

struct FoundWorkflow {
    Refusal refusal;
    std::optional<engine::WorkflowDefinition> definition;
};

engine::Task<FoundWorkflow> find_workflow(Session& session, std::string workflow) {
    engine::RunStore store = store_of(session);
    const auto text = co_await store.definition(workflow);
    if (!text.applied())
        co_return FoundWorkflow{CommandError{kFailed, fmt::format("workflow {}: {}", workflow, text.failure().detail)},
                                {}};
    if (!text.value()) {
        engine::RedisCommand list{"ZREVRANGE", std::string(engine::keys::kWorkflows), "0", "999"};
        const auto reply = co_await session.redis().command(std::move(list), session.deadline());
        std::vector<std::string> known;
        if (reply.applied() && reply.value().array() != nullptr)
            for (const engine::RedisValue& one : *reply.value().array()) known.emplace_back(one.text());
        co_return FoundWorkflow{CommandError{kNotFound, printable(fmt::format("there is no workflow {}{}", workflow,
                                                                              engine::suggestion(workflow, known)))},
                                {}};
    }
    const json document = engine::wire::parse_bounded(*text.value());
    auto definition = engine::read_definition(document);
    if (definition) co_return FoundWorkflow{{}, std::move(*definition)};
    const auto& first = definition.error().front();
    co_return FoundWorkflow{
        CommandError{kFailed,
                     printable(fmt::format("workflow {} has {} mistakes, and its runs would fail; the first, at {}: {}",
                                           workflow, definition.error().size(), first.pointer, first.message))},
        {}};
}

int tell(const Refusal& refusal) { return complain(refusal->exit_code, refusal->message); }

/// What a start that meets this run says of it.
std::string what_is_old(RunDocument& run) {
    const auto status = to_string(run.status());
    if (run.status() == RunStatus::succeeded || !engine::is_final(run.status()))
        return fmt::format("started earlier, {}", status);
    return fmt::format(
        "started earlier, {}: it does not start again; `workflow retry {}` goes on from what failed, "
        "`workflow rerun {}` starts a new run with its input",
        status, run.id(), run.id());
}

/// Stores it and tells the engines. Prints the run's id.
engine::Task<int> store_run(Session& session, json document, std::string idempotency_key, bool as_json) {
    engine::ChildRun run;
    run.run = document["id"].get<std::string>();
    run.workflow = document["workflow_id"].get<std::string>();
    run.org = document["org_id"].get<std::string>();
    run.document = engine::wire::json_text(document);
    const std::string id = run.run;
    const std::string org = run.org.empty() ? "default" : run.org;
    const std::string key_text = idempotency_key;
    const auto most = static_cast<std::size_t>(session.settings().tunables.wf_run_max_bytes);
    if (run.document.size() > most)
        co_return complain(kWrongUse,
                           fmt::format("the run would have {} bytes, of at most {} (LOCKSTEP_WF_RUN_MAX_BYTES)",
                                       run.document.size(), most));
    engine::RunStore store = store_of(session);
    const bool keyed = !idempotency_key.empty();
    const auto created = co_await store.create(std::move(run), std::move(idempotency_key));
    if (!created.applied())
        co_return complain(kFailed, fmt::format("run {}: {}{}", id, created.failure().detail,
                                                created.kind() == engine::OutcomeKind::unknown
                                                    ? "; it may have been started: ask with `workflow status`"
                                                    : ""));
    const std::string& known = created.value().run;
    std::string status = "pending";
    std::string of_old;
    if (!created.value().is_new) {
        FoundRun old = co_await find_run(session, known);
        // An empty organisation is the default tenant; a document without a key was written by somebody who keeps none.
        const auto differs = [](const std::string& recorded, const std::string& wanted) {
            return !recorded.empty() && recorded != wanted;
        };
        if (old.document && differs(old.document->org(), org))
            co_return complain(kWrongUse,
                               printable(fmt::format("run {} is another tenant's{}", known,
                                                     keyed ? fmt::format(", and has the idempotency key \"{}\": choose "
                                                                         "another --idempotency-key",
                                                                         key_text)
                                                           : ": choose another --run")));
        if (old.document && keyed && differs(old.document->text("idempotency_key"), key_text))
            co_return complain(
                kWrongUse, printable(fmt::format("the idempotency key \"{}\" has in Redis the name {}, which belongs "
                                                 "to run {} of another key: choose another --idempotency-key",
                                                 key_text, engine::keys::run_idempotency(key_text), known)));
        status = old.document ? std::string(to_string(old.document->status())) : "unknown";
        of_old = old.document ? what_is_old(*old.document) : "started earlier; " + old.refusal->message;
    }
    if (!created.value().is_new && !keyed)
        co_return complain(kWrongUse, printable(fmt::format("there is a run {} already ({}); choose another --run, or "
                                                            "give an --idempotency-key to start it once",
                                                            known, of_old)));
    co_await wake(session, known);
    if (as_json)
        fmt::print("{}", document_line({{"run_id", known}, {"created", created.value().is_new}, {"status", status}}));
    else
        fmt::print("{}\n", printable(known));
    if (!of_old.empty() && !as_json) complain(kDone, printable(fmt::format("run {} was {}", known, of_old)));
    co_return kDone;
}

json new_run(Session& session, std::string id, const std::string& workflow, const std::string& org, json input,
             const std::string& by) {
    const std::string now = engine::wire::rfc3339(session.clock().now());
    if (id.empty()) id = session.entropy().uuid();
    return {{"id", std::move(id)}, {"workflow_id", workflow}, {"org_id", org},     {"input", std::move(input)},
            {"status", "pending"}, {"triggered_by", by},      {"created_at", now}, {"updated_at", now}};
}

/// Until `done` holds of the run, for a while. Nothing: it cannot be read.
template <class Done>
engine::Task<std::optional<RunDocument>> await_run(Session& session, std::string run, engine::Duration patience,
                                                   Done done) {
    const engine::MonoTime limit = session.clock().in(patience);
    while (true) {
        FoundRun found = co_await find_run(session, run);
        if (found.refusal) co_return std::nullopt;
        const bool enough = done(*found.document) || session.clock().monotonic() >= limit;
        if (enough) co_return std::move(found.document);
        co_await session.clock().sleep(kPollPause);
    }
}

bool has_ended(RunDocument& document) { return engine::is_final(document.status()); }

constexpr const char* kNobodyYet =
    "no engine has done it yet: it stands in Redis, and the next lockstepd --role workflow that looks does it";

}  // namespace

bool is_run_id(std::string_view text) {
    return !text.empty() && text.size() <= kRunIdMax && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    });
}

engine::Task<int> start_run(Session& session, StartOptions options) {
    const FoundWorkflow workflow = co_await find_workflow(session, options.workflow);
    if (workflow.refusal) co_return tell(workflow.refusal);
    const engine::WorkflowDefinition& definition = *workflow.definition;
    if (const std::string mistake = engine::mistake_by(definition.input_schema, options.input); !mistake.empty())
        co_return complain(kWrongUse,
                           printable(fmt::format("the input does not fit workflow {}: {}", options.workflow, mistake)));
    std::string org = options.org.empty() ? definition.org_id : options.org;
    if (org.empty()) org = "default";
    json run = new_run(session, options.run, options.workflow, org, std::move(options.input), options.by);
    if (!definition.team_id.empty()) run["team_id"] = definition.team_id;
    if (options.dry_run) run["dry_run"] = true;
    if (!options.idempotency_key.empty()) run["idempotency_key"] = options.idempotency_key;
    co_return co_await store_run(session, std::move(run), std::move(options.idempotency_key), options.json);
}

engine::Task<int> rerun(Session& session, RerunOptions options) {
    const FoundRun old = co_await find_run(session, options.of);
    if (old.refusal) co_return tell(old.refusal);
    const FoundWorkflow workflow = co_await find_workflow(session, old.document->workflow());
    if (workflow.refusal) co_return tell(workflow.refusal);
    json run = new_run(session, options.run, old.document->workflow(), old.document->org(),
                       old.document->member("input"), options.by);
    for (const char* kept : {"team_id", "labels", "dry_run"})
        if (const json& value = old.document->member(kept); !value.is_null()) run[kept] = value;
    run["rerun_of"] = options.of;
    co_return co_await store_run(session, std::move(run), {}, options.json);
}

engine::Task<int> show_run(Session& session, RunStatusOptions options) {
    FoundRun found = co_await find_run(session, options.run);
    if (found.refusal) co_return tell(found.refusal);
    if (options.wait) {
        auto ended = co_await await_run(session, options.run, options.wait_limit, has_ended);
        if (!ended) co_return complain(kFailed, fmt::format("run {} cannot be read any more", printable(options.run)));
        found.document = std::move(*ended);
    }
    const json document = json_of(*found.document);
    const json definition = co_await definition_of(session, *found.document);
    if (!options.html.empty()) {
        std::ofstream file(options.html, std::ios::binary);
        file << run_page(document, definition, session.clock().now());
        file.close();
        if (!file) co_return complain(kFailed, fmt::format("--html: {} cannot be written", options.html));
    }
    if (options.json) {
        fmt::print("{}", json_text(document));
    } else {
        const RunStyle style = isatty(STDOUT_FILENO) != 0 ? RunStyle::terminal : RunStyle::plain;
        fmt::print("{}", draw_run(document, definition, session.clock().now(), style));
    }
    co_return options.wait&& found.document->status() != RunStatus::succeeded ? kEndedBadly : kDone;
}

namespace {

engine::Task<int> count_runs(Session& session, bool as_json) {
    std::vector<engine::RedisCommand> commands;
    for (const RunStatus status : kStatuses)
        commands.push_back({"ZCARD", engine::keys::runs_of_status(engine::to_string(status))});
    const auto counts = co_await session.read_all(std::move(commands));
    if (!counts) co_return complain(kFailed, counts.error());
    json document = json::object();
    for (std::size_t i = 0; i < std::size(kStatuses); ++i) {
        const std::string name(engine::to_string(kStatuses[i]));
        document[name] = (*counts)[i].integer_or(0);
        if (!as_json) fmt::print("{:<12}{:>10}\n", name, (*counts)[i].integer_or(0));
    }
    if (as_json) fmt::print("{}", json_text(document));
    co_return kDone;
}

}  // namespace

engine::Task<int> list_runs(Session& session, ListRunsOptions options) {
    if (options.status.empty() && options.workflow.empty()) co_return co_await count_runs(session, options.json);
    if (!options.status.empty() && !engine::parse_run_status(options.status)) {
        std::vector<std::string> names;
        for (const RunStatus status : kStatuses) names.emplace_back(engine::to_string(status));
        co_return complain(kWrongUse, fmt::format("--status: no run is \"{}\"{}", printable(options.status),
                                                  engine::suggestion(options.status, names)));
    }
    const std::string index = options.status.empty() ? engine::keys::runs_of_workflow(options.workflow)
                                                     : engine::keys::runs_of_status(options.status);
    json list = json::array();
    std::int64_t from = 0;
    bool more = true;
    while (more && static_cast<std::int64_t>(list.size()) < options.limit) {
        engine::RedisCommand page{"ZREVRANGE", index, std::to_string(from), std::to_string(from + options.limit - 1)};
        const auto ids = co_await session.redis().command(std::move(page), session.deadline());
        if (!ids.applied()) co_return complain(kFailed, ids.failure().detail);
        const auto* names = ids.value().array();
        more = names != nullptr && !names->empty();
        if (!more) break;
        from += static_cast<std::int64_t>(names->size());
        engine::RedisCommand read{"MGET"};
        for (const engine::RedisValue& name : *names) read.push_back(engine::keys::run_document(name.text()));
        const auto texts = co_await session.redis().command(std::move(read), session.deadline());
        if (!texts.applied()) co_return complain(kFailed, texts.failure().detail);
        for (std::size_t i = 0; i < names->size() && static_cast<std::int64_t>(list.size()) < options.limit; ++i) {
            const auto run = RunDocument::parse(texts.value().at(i).text());
            if (!run) continue;  // deleted, and still listed
            if (!options.workflow.empty() && run->workflow() != options.workflow) continue;
            list.push_back({{"run_id", std::string((*names)[i].text())},
                            {"workflow_id", run->workflow()},
                            {"status", run->text("status")},
                            {"created_at", text_or_null(run->text("created_at"))},
                            {"updated_at", text_or_null(run->text("updated_at"))}});
        }
    }
    if (options.json) {
        fmt::print("{}", json_text(list));
        co_return kDone;
    }
    for (const json& run : list)
        fmt::print("{}  {:<9}  {}  {}\n",
                   printable(run["updated_at"].is_null() ? "?" : run["updated_at"].get<std::string>()),
                   printable(run["status"].get<std::string>()), printable(run["run_id"].get<std::string>()),
                   printable(run["workflow_id"].get<std::string>()));
    co_return kDone;
}

engine::Task<int> cancel_run(Session& session, std::string run, std::string reason, bool as_json) {
    const FoundRun found = co_await find_run(session, run);
    if (found.refusal) co_return tell(found.refusal);
    const RunStatus before = found.document->status();
    std::string after(engine::to_string(before));
    const bool open = !engine::is_final(before);
    if (open) {
        engine::RunStore store = store_of(session);
        const auto asked = co_await store.ask(run, engine::wire::json_text(json{{"do", "cancel"}, {"reason", reason}}));
        if (!asked.applied()) co_return complain(kFailed, fmt::format("run {}: {}", run, asked.failure().detail));
        co_await wake(session, run);
        auto now = co_await await_run(session, run, kDonePatience, has_ended);
        if (now) after = now->text("status");
        if (!now || !has_ended(*now)) complain(kDone, kNobodyYet);
    }
    if (as_json)
        fmt::print("{}", document_line({{"run_id", run}, {"asked", open}, {"status", after}}));
    else if (open)
        fmt::print("{} {} (was {})\n", printable(run), printable(after), engine::to_string(before));
    else
        fmt::print("{} had ended already: {}\n", printable(run), printable(after));
    co_return kDone;
}

engine::Task<int> retry_run(Session& session, std::string run, std::string by, bool as_json) {
    FoundRun found = co_await find_run(session, run);
    if (found.refusal) co_return tell(found.refusal);
    const std::string before = found.document->text("status");
    const auto definition = engine::read_definition(co_await definition_of(session, *found.document));
    const std::string obstacle =
        engine::obstacle_to_retry(definition ? *definition : engine::WorkflowDefinition(), *found.document);
    if (!obstacle.empty())
        co_return complain(kWrongUse, printable(fmt::format("run {} cannot be tried again: {}", run, obstacle)));
    const auto retried_at = [](RunDocument& document) {
        return engine::at_path(document.member("metadata"), "retried_at");
    };
    const json last_time = retried_at(*found.document);
    engine::RunStore store = store_of(session);
    const auto asked = co_await store.ask(run, engine::wire::json_text(json{{"do", "retry"}, {"by", by}}));
    if (!asked.applied()) co_return complain(kFailed, fmt::format("run {}: {}", run, asked.failure().detail));
    co_await wake(session, run);
    const auto goes_on = [&](RunDocument& document) { return retried_at(document) != last_time; };
    auto now = co_await await_run(session, run, kDonePatience, goes_on);
    if (!now || !goes_on(*now)) complain(kDone, kNobodyYet);
    const std::string after = now ? now->text("status") : before;
    if (as_json)
        fmt::print("{}", document_line({{"run_id", run}, {"was", before}, {"status", after}}));
    else
        fmt::print("{} {} (was {})\n", printable(run), printable(after), printable(before));
    co_return kDone;
}

engine::Task<int> decide_step(Session& session, StepDecision decision) {
    FoundRun found = co_await find_run(session, decision.run);
    if (found.refusal) co_return tell(found.refusal);
    if (decision.wait) {
        const auto asks = [&](RunDocument& run) {
            const auto now = run.find_step(decision.step);
            return engine::is_final(run.status()) || (now && now->status() == StepStatus::waiting);
        };
        auto later = co_await await_run(session, decision.run, decision.wait_limit, asks);
        if (later) found.document = std::move(*later);
    }
    const auto step = found.document->find_step(decision.step);
    if (!step)
        co_return complain(kNotFound,
                           printable(fmt::format("run {} has no step {}{}", decision.run, decision.step,
                                                 engine::suggestion(decision.step, found.document->step_keys()))));
    if (step->status() != StepStatus::waiting)
        co_return complain(
            kWrongUse, printable(fmt::format("step {} of run {} is {}: it does not wait for an approval", decision.step,
                                             decision.run, engine::to_string(step->status()))));
    engine::RunStore store = store_of(session);
    const json what{{"do", "approve"}, {"step", decision.step}, {"approved", decision.approved}, {"by", decision.by}};
    const auto asked = co_await store.ask(decision.run, engine::wire::json_text(what));
    if (!asked.applied()) co_return complain(kFailed, fmt::format("run {}: {}", decision.run, asked.failure().detail));
    co_await wake(session, decision.run);
    const auto decided = [&](RunDocument& run) {
        const auto now = run.find_step(decision.step);
        return !now || now->status() != StepStatus::waiting;
    };
    auto now = co_await await_run(session, decision.run, kDonePatience, decided);
    if (!now || !decided(*now)) complain(kDone, kNobodyYet);
    const auto after = now ? now->find_step(decision.step) : std::nullopt;
    const std::string status(engine::to_string(after ? after->status() : StepStatus::waiting));
    if (decision.json)
        fmt::print("{}", document_line({{"run_id", decision.run},
                                        {"step", decision.step},
                                        {"approved", decision.approved},
                                        {"status", status}}));
    else
        fmt::print("{} {} {}: {}\n", printable(decision.run), printable(decision.step),
                   decision.approved ? "approved" : "rejected", status);
    co_return kDone;
}

}  // namespace lockstep::prod
