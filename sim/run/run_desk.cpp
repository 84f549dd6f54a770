#include "sim/run/run_desk.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/runs/job_request.h"
#include "engine/runs/run_document.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/subjects.h"
#include "engine/workflow/run_keys.h"
#include "engine/workflow/workflow_engine.h"

namespace lockstep::sim {

namespace {

using engine::RedisCommand;
using nlohmann::json;

constexpr Duration kCallPatience = std::chrono::seconds{2};
constexpr Duration kRetryPause = std::chrono::seconds{1};
/// Longer than any outage that a run heals, as of a gateway's users; people who decide wait for less.
constexpr Duration kUsersPatience = std::chrono::minutes{30};
constexpr Duration kPeoplesPatience = std::chrono::minutes{10};
constexpr const char* kRunStatuses[] = {"pending", "running", "waiting",   "succeeded",
                                        "failed",  "denied",  "cancelled", "timed_out"};

bool is_decision(RunOrder::Kind kind) {
    return kind == RunOrder::Kind::approve || kind == RunOrder::Kind::cancel || kind == RunOrder::Kind::retry;
}

std::string asked_of(const RunOrder& order) {
    if (order.kind == RunOrder::Kind::cancel)
        return engine::wire::json_text(json{{"do", "cancel"}, {"reason", order.reason}});
    if (order.kind == RunOrder::Kind::retry) return engine::wire::json_text(json{{"do", "retry"}, {"by", "operator"}});
    return engine::wire::json_text(
        json{{"do", "approve"}, {"step", order.step}, {"approved", order.approved}, {"by", "operator"}});
}

/// The people at the operator's desk use Lockstep's commands; what another gateway does, it does on its own node.
bool is_for_people(const RunOrder& order) { return is_decision(order.kind) && !order.by_reference; }

enum class Decidable : std::uint8_t { no, not_yet, yes };

Decidable decidable(const RunOrder& order, std::string_view document) {
    const json run = engine::wire::read_json(document);
    if (!run.is_object()) return Decidable::not_yet;
    if (order.kind == RunOrder::Kind::rewrite) return Decidable::yes;
    const std::string status = run.value("status", "");
    const bool is_open = status == "pending" || status == "running" || status == "waiting";
    if (order.kind == RunOrder::Kind::retry) {
        const bool is_over_for_good = status == "succeeded" || status == "cancelled";
        return is_open ? Decidable::not_yet : is_over_for_good ? Decidable::no : Decidable::yes;
    }
    if (!is_open) return Decidable::no;
    if (order.kind == RunOrder::Kind::cancel) return Decidable::yes;
    const auto step = run.contains("steps") && run["steps"].is_object() ? run["steps"].find(order.step) : run.end();
    if (!run.contains("steps") || step == run["steps"].end()) return Decidable::not_yet;
    const std::string state = step->value("status", "");
    if (state.empty() || state == "pending" || state == "running") return Decidable::not_yet;
    return state == "waiting" ? Decidable::yes : Decidable::no;
}

/// Ends what the order is about as the reference does, in the document alone; gives the jobs that are to be cancelled.
std::vector<std::string> decide_as_reference(const RunOrder& order, json& run, const std::string& at) {
    std::vector<std::string> cancelled;
    run["updated_at"] = at;
    if (order.kind == RunOrder::Kind::approve) {
        json& step = run["steps"][order.step];
        step["status"] = order.approved ? "succeeded" : "failed";
        step["completed_at"] = at;
        if (!order.approved) step["error"] = json{{"message", "rejected"}};
        run["status"] = "running";
    }
    if (order.kind != RunOrder::Kind::cancel) return cancelled;
    for (auto& [key, step] : run["steps"].items()) {
        const std::string status = step.value("status", "");
        const bool is_at_work = status == "running" || status == "waiting";
        if (!is_at_work && status != "pending" && !status.empty()) continue;
        if (is_at_work && step.contains("job_id")) cancelled.push_back(step.value("job_id", ""));
        step["status"] = "cancelled";
        step["completed_at"] = at;
    }
    run["status"] = "cancelled";
    run["completed_at"] = at;
    run["error"] = json{{"message", order.reason}};
    return cancelled;
}

}  // namespace

RunDesk::RunDesk(const engine::Ports& ports, RunPlan& plan, Of of, engine::MonoTime begins)
    : context_(ports), store_(context_), plan_(plan), begins_(begins), scope_(ports.executor) {
    scope_.spawn(drive(of));
}

engine::MonoTime RunDesk::deadline() const { return context_.ports.clock.in(kCallPatience); }

std::string RunDesk::seconds() const {
    return std::to_string(engine::to_unix_micros(context_.ports.clock.now()) / 1'000'000);
}

engine::Task<void> RunDesk::drive(Of of) {
    for (std::size_t index = 0; index < plan_.actions().size(); ++index) {
        const RunPlan::Action& action = plan_.actions()[index];  // the plan's list does not change
        if (is_for_people(action.order) != (of == Of::people) || plan_.done(index)) continue;
        const engine::MonoTime due = begins_ + action.at;
        if (due > context_.ports.clock.monotonic()) co_await engine::SleepUntil(due);
        scope_.spawn(act(index));
    }
}

engine::Task<void> RunDesk::act(std::size_t index) {
    const RunOrder order = plan_.actions()[index].order;
    const bool is_asked_of_a_run = order.kind != RunOrder::Kind::put && order.kind != RunOrder::Kind::start;
    const engine::MonoTime give_up = context_.ports.clock.in(is_asked_of_a_run ? kPeoplesPatience : kUsersPatience);
    Attempt attempt = Attempt::not_yet;
    while (context_.ports.clock.monotonic() < give_up) {
        attempt = co_await try_once(order);
        if (attempt != Attempt::not_yet) break;
        co_await engine::SleepUntil(context_.ports.clock.in(kRetryPause));
    }
    plan_.finish(index, attempt == Attempt::done);
}

engine::Task<RunDesk::Attempt> RunDesk::try_once(RunOrder order) {
    if (order.kind == RunOrder::Kind::put || order.kind == RunOrder::Kind::start) {
        const bool taken =
            co_await (order.kind == RunOrder::Kind::put ? put(std::move(order)) : start(std::move(order)));
        co_return taken ? Attempt::done : Attempt::not_yet;
    }
    const Attempt attempt = co_await (order.by_reference ? overwrite(std::move(order)) : decide(std::move(order)));
    co_return attempt;
}

engine::Task<bool> RunDesk::all(std::vector<RedisCommand> commands) {
    const auto replies = co_await context_.ports.redis.pipeline(std::move(commands), deadline());
    if (!replies.applied()) co_return false;
    for (const engine::RedisValue& reply : replies.value())
        if (reply.error() != nullptr) co_return false;
    // The last one is EXEC's: nothing for a transaction that was not carried out.
    co_return !replies.value().back().is_nil();
}

engine::Task<bool> RunDesk::put(RunOrder order) {
    if (!order.by_reference) {
        const auto known = co_await store_.put_definition(std::move(order.workflow), std::move(order.org),
                                                          std::move(order.definition));
        co_return known.applied();
    }
    std::vector<RedisCommand> commands{
        {"MULTI"},
        {"SET", engine::keys::workflow_definition(order.workflow), std::move(order.definition)},
        {"ZADD", "wf:index:all", seconds(), order.workflow},
        {"ZADD", "wf:index:org:" + order.org, seconds(), order.workflow},
        {"EXEC"}};
    const bool stored = co_await all(std::move(commands));
    co_return stored;
}

engine::Task<bool> RunDesk::start(RunOrder order) {
    const auto found = co_await store_.definition(order.workflow);
    if (!found.applied() || !found.value()) co_return false;
    const json definition = engine::wire::read_json(*found.value());
    if (order.org.empty()) order.org = definition.is_object() ? definition.value("org_id", "default") : "default";
    const std::string at = engine::wire::rfc3339(context_.ports.clock.now());
    json document{{"id", order.run},     {"workflow_id", order.workflow},
                  {"org_id", order.org}, {"input", engine::wire::sound_json(order.input)},
                  {"status", "pending"}, {"triggered_by", "somebody"},
                  {"created_at", at},    {"updated_at", at}};
    if (!order.key.empty()) document["idempotency_key"] = order.key;
    if (order.by_reference) {
        document.update(json{{"context", json::object()}, {"steps", json::object()}, {"total_cost", 0}});
        const bool stored = co_await start_as_reference(std::move(order), engine::wire::json_text(document));
        co_return stored;
    }
    engine::ChildRun run{order.run, order.workflow, order.org, engine::wire::json_text(document)};
    const auto created = co_await store_.create(std::move(run), order.key);
    if (!created.applied()) co_return false;
    co_await wake(created.value().run);
    co_return true;
}

/// NX: what the reference stores has an id that nobody has used, so that a second try cannot overwrite a run that is on its way.
engine::Task<bool> RunDesk::start_as_reference(RunOrder order, std::string document) {
    std::string run_key = engine::keys::run_document(order.run);
    const auto known = co_await context_.ports.redis.command({"EXISTS", run_key}, deadline());
    if (!known.applied()) co_return false;
    if (known.value().integer_or(0) == 1) co_return true;
    std::vector<RedisCommand> commands{{"MULTI"},
                                       {"SET", std::move(run_key), std::move(document), "NX"},
                                       {"ZADD", "wf:runs:" + order.workflow, seconds(), order.run},
                                       {"ZADD", "wf:runs:all", seconds(), order.run},
                                       {"ZADD", engine::keys::runs_of_status("pending"), seconds(), order.run},
                                       {"SADD", "wf:runs:active:" + order.org, order.run},
                                       {"EXEC"}};
    const bool stored = co_await all(std::move(commands));
    co_return stored;
}

engine::Task<RunDesk::Attempt> RunDesk::decide(RunOrder order) {
    const auto document =
        co_await context_.ports.redis.command({"GET", engine::keys::run_document(order.run)}, deadline());
    if (!document.applied()) co_return Attempt::not_yet;
    switch (decidable(order, document.value().text())) {
        case Decidable::no: co_return Attempt::in_vain;
        case Decidable::not_yet: co_return Attempt::not_yet;
        case Decidable::yes: break;
    }
    const auto asked = co_await store_.ask(order.run, asked_of(order));
    if (!asked.applied() || !asked.value()) co_return Attempt::not_yet;
    co_await wake(std::move(order.run));
    co_return Attempt::done;
}

/// The reference writes the indexes in a second transaction; what its death between the two leaves is not what is looked for here.
engine::Task<RunDesk::Attempt> RunDesk::overwrite(RunOrder order) {
    std::string key = engine::keys::run_document(order.run);
    const auto read = co_await context_.ports.redis.command({"GET", key}, deadline());
    if (!read.applied()) co_return Attempt::not_yet;
    switch (decidable(order, read.value().text())) {
        case Decidable::no: co_return Attempt::in_vain;
        case Decidable::not_yet: co_return Attempt::not_yet;
        case Decidable::yes: break;
    }
    json run = engine::wire::sound_json(read.value().text());
    auto cancelled = decide_as_reference(order, run, engine::wire::rfc3339(context_.ports.clock.now()));
    if (order.takes > Duration{0}) co_await engine::SleepUntil(context_.ports.clock.in(order.takes));
    const std::string status = run.value("status", "pending");
    std::vector<RedisCommand> commands{{"MULTI"}, {"SET", std::move(key), engine::wire::json_text(run), "XX"}};
    for (const char* other : kRunStatuses)
        if (other != status) commands.push_back({"ZREM", engine::keys::runs_of_status(other), order.run});
    for (const std::string& index : {engine::keys::runs_of_workflow(run.value("workflow_id", "")),
                                     std::string("wf:runs:all"), engine::keys::runs_of_status(status)})
        commands.push_back({"ZADD", index, seconds(), order.run});
    const auto parsed = engine::parse_run_status(status);
    const bool is_over = parsed && engine::is_final(*parsed);
    commands.push_back({is_over ? "SREM" : "SADD", "wf:runs:active:" + run.value("org_id", "default"), order.run});
    commands.push_back({"EXEC"});
    const bool stored = co_await all(std::move(commands));
    if (!stored) co_return Attempt::not_yet;
    co_await tell_cancelled(std::move(cancelled), order.reason);
    co_return Attempt::done;
}

engine::Task<void> RunDesk::tell_cancelled(std::vector<std::string> of_jobs, std::string reason) {
    for (const std::string& job : of_jobs) {
        cap::JobCancel cancel;
        cancel.set_job_id(job);
        cancel.set_reason(reason);
        cancel.set_requested_by(engine::kWorkflowSender);
        const auto packet =
            engine::wire::make_packet(std::move(cancel), job, engine::kWorkflowSender, context_.ports.clock.now());
        const auto told = co_await context_.ports.bus.publish_core(std::string(engine::wire::kSubjectCancel),
                                                                   engine::wire::serialise(packet));
        static_cast<void>(told);  // the engine tells them again while they are at work
    }
}

engine::Task<void> RunDesk::wake(std::string run) {
    const auto told = co_await context_.ports.bus.publish_core(engine::kSubjectRunWake, std::move(run));
    static_cast<void>(told);  // what is asked stands in Redis
}

}  // namespace lockstep::sim
