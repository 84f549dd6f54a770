#include "engine/workflow/run_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/runs/job_request.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"
#include "engine/store/job_state.h"
#include "engine/store/keys.h"
#include "engine/store/script_arguments.h"
#include "engine/wire/json_text.h"
#include "engine/workflow/run_keys.h"

namespace lockstep::engine {

namespace {

/// Results up to this size are read into the run's context (workflow.md 5.6).
constexpr std::int64_t kOutputMax = 262'144;
/// Of the results that one visit reads along; one is read whatever its size. And ends that one visit takes into account.
constexpr std::int64_t kOutputsMax = 4 * kOutputMax;
constexpr std::size_t kEndsAtOnce = 500;
/// They become part of the run's document, which must still be readable.
constexpr int kOutputDepthMax = wire::kJsonDepthMax / 2;
constexpr std::int64_t kTimersAtOnce = 200;
constexpr std::int64_t kRunsAtOnce = 100;

WallTime from_micros(std::string_view text) {
    std::int64_t micros = 0;
    std::from_chars(text.data(), text.data() + text.size(), micros);
    return WallTime(std::chrono::microseconds{micros});
}

std::vector<std::string> texts_of(const RedisValue& value) {
    std::vector<std::string> texts;
    if (const auto* elements = value.array())
        for (const RedisValue& one : *elements) texts.emplace_back(one.text());
    return texts;
}

/// Of a hash of packets by id.
std::vector<Outgoing> outgoing_of(const RedisValue& value) {
    const std::vector<std::string> texts = texts_of(value);
    std::vector<Outgoing> all;
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) all.push_back({texts[i], texts[i + 1]});
    return all;
}

RunJobRecord record_of(const RedisValue& facts) {
    RunJobRecord record;
    record.end.job = facts.at(0).text();
    record.end.state = facts.at(1).text();
    record.end.result_ptr = facts.at(2).text();
    record.end.reason = facts.at(3).text();
    record.end.fatal = !facts.at(4).text().empty();
    const auto state = parse_job_state(record.end.state);
    record.known = state.has_value();
    record.settled = state && is_terminal(*state) && facts.at(5).text().empty();
    record.end.recorded = {std::string(facts.at(6).text()), std::string(facts.at(7).text()),
                           std::string(facts.at(9).text())};
    if (const std::string_view output = facts.at(8).text(); !output.empty()) {
        nlohmann::json value = wire::parse_bounded(output, kOutputDepthMax);
        // What is no JSON, or none that fits, is a text: a worker may write what it likes.
        record.end.output = value.is_discarded() ? nlohmann::json(std::string(output)) : std::move(value);
    }
    return record;
}

void append(std::vector<std::string>& list, std::initializer_list<std::string> more) { list.insert(list.end(), more); }

std::vector<std::string> ended_statuses() {
    std::vector<std::string> names;
    for (const RunStatus status :
         {RunStatus::succeeded, RunStatus::failed, RunStatus::denied, RunStatus::cancelled, RunStatus::timed_out})
        names.emplace_back(to_string(status));
    return names;
}

void note_recorded(const RedisValue& reply, const std::vector<Submission>& submissions, RecordedIds& ids) {
    const auto* jobs = reply.array();
    for (std::size_t i = 1; i < jobs->size(); ++i) {
        const RedisValue& job = (*jobs)[i];
        const auto begun = std::ranges::find(submissions, job.at(0).text(), &Submission::job);
        INVARIANT(begun != submissions.end(), "job {} is recorded, and nothing begins it", job.at(0).text());
        const RecordedJob recorded{std::string(job.at(1).text()), std::string(job.at(2).text()),
                                   std::string(job.at(3).text())};
        (is_same_job(*begun, recorded) ? ids.own : ids.taken).insert(begun->job);
    }
}

}  // namespace

std::string Outgoing::make_id(Kind kind, std::string_view about) {
    return fmt::format("{}:{}", static_cast<char>(kind), about);
}

std::optional<Outgoing::Kind> Outgoing::kind() const {
    if (id.size() < 2 || id[1] != ':') return std::nullopt;
    switch (id.front()) {
        case static_cast<char>(Kind::submission): return Kind::submission;
        case static_cast<char>(Kind::cancellation): return Kind::cancellation;
        case static_cast<char>(Kind::alert): return Kind::alert;
        default: return std::nullopt;
    }
}

Task<Outcome<TakenRun>> RunStore::take(std::string run, Token token, std::vector<std::string> jobs) {
    ScriptArguments arguments(kRunScriptArguments);
    arguments.text("run", run).number("output_max", kOutputMax).number("outputs_max", kOutputsMax);
    jobs.resize(std::min(jobs.size(), kEndsAtOnce));
    if (!token.empty())
        arguments.text("token", token.text())
            .duration("lock_ttl_ms", tunables_.run_lock_ttl)
            .duration_or_zero("records_ttl_ms", tunables_.job_meta_ttl);
    auto reply = co_await redis_.script(scripts_.take_run, {keys::run_lock(run), keys::run_document(run)},
                                        std::move(arguments).argv(std::move(jobs)), deadline());
    if (!reply.applied()) co_return reply.failure_as<TakenRun>();
    const RedisValue& facts = reply.value();
    TakenRun taken;
    if (facts.at(0).text() == "absent") taken.kind = TakenRun::Kind::absent;
    if (facts.at(0).text() != "held") co_return taken;
    taken.kind = TakenRun::Kind::held;
    taken.at = from_micros(facts.at(1).text());
    taken.document = facts.at(2).text();
    taken.sha1 = facts.at(3).text();
    taken.definition = facts.at(4).text();
    taken.outbox = outgoing_of(facts.at(5));
    taken.asks = texts_of(facts.at(6));
    if (const auto* records = facts.at(7).array())
        for (const RedisValue& record : *records) taken.jobs.push_back(record_of(record));
    const std::string_view seen = facts.at(8).text();
    taken.written_by_others = !seen.empty() && seen != taken.sha1;
    taken.lost = {facts.at(9).integer_or(0), facts.at(10).integer_or(0)};
    co_return taken;
}

Task<Outcome<RunCommitted>> RunStore::commit(Token token, RunChange change, bool release, RecordedIds& ids) {
    ScriptArguments arguments(kRunScriptArguments);
    const RunEffects& effects = change.effects;
    const auto count = [&](const char* name, std::size_t n) { arguments.number(name, static_cast<std::int64_t>(n)); };
    arguments.text("run", change.run).text("workflow", change.workflow).text("org", change.org);
    arguments.text("token", std::move(token).text()).text("read_sha1", change.read_sha1).flag("release_lock", release);
    arguments.text("document", change.document).text("definition", change.definition);
    arguments.text("status", change.status).text("was_status", change.was_status);
    arguments.duration("context_ttl_ms", tunables_.data_ttl);
    if (change.earliest_due) arguments.number("earliest_due", to_unix_micros(*change.earliest_due));
    arguments.flag("reopened", effects.reopened);
    arguments.flag("calls_off", change.calls_off);
    if (change.ended) arguments.duration("retention_ms", tunables_.wf_run_retention);
    count("asks_done", change.asks_done);

    std::vector<std::string> lists;
    for (const Submission& submission : effects.submissions)
        if (!ids.own.contains(submission.job)) lists.push_back(submission.job);
    count("begun", lists.size());
    count("timeline", effects.timeline.size());
    for (const nlohmann::json& event : effects.timeline) lists.push_back(wire::json_text(event));
    std::size_t contexts = 0;
    for (const Submission& submission : effects.submissions) {
        if (submission.context.empty()) continue;
        append(lists, {context_key(submission.job), submission.context});
        ++contexts;
    }
    count("contexts", contexts);
    count("outbox", change.outbox.size());
    for (Outgoing& outgoing : change.outbox) append(lists, {std::move(outgoing.id), std::move(outgoing.packet)});
    count("settled", effects.settled_jobs.size());
    for (const std::string& job : effects.settled_jobs) lists.push_back(job);
    count("opened", effects.submissions.size() + effects.awaited_jobs.size() + change.reopened.size());
    for (const Submission& submission : effects.submissions) append(lists, {submission.job, submission.step});
    for (const AwaitedJob& awaited : effects.awaited_jobs) append(lists, {awaited.job, awaited.step});
    for (auto& [job, step] : change.reopened) append(lists, {std::move(job), std::move(step)});
    count("due", change.due.size());
    for (const auto& [step, due] : change.due)
        append(lists, {step, millis(std::chrono::ceil<std::chrono::milliseconds>(due.time_since_epoch()))});
    count("children", effects.children.size());
    for (const ChildRun& child : effects.children)
        append(lists, {child.run, child.workflow, child.org, child.document});
    count("asked", effects.cancelled_runs.size() + (effects.wake.empty() ? 0 : 1));
    for (const std::string& run : effects.cancelled_runs)
        append(lists, {run, R"({"do":"cancel","reason":"the run that has begun it has ended"})"});
    if (!effects.wake.empty()) append(lists, {effects.wake, {}});

    auto reply =
        co_await redis_.script(scripts_.commit_run, {keys::run_lock(change.run), keys::run_document(change.run)},
                               std::move(arguments).argv(std::move(lists)), deadline());
    if (!reply.applied()) co_return reply.failure_as<RunCommitted>();
    const std::string_view word = reply.value().at(0).text();
    if (word == "lost") co_return RunCommitted::lost;
    if (word == "recorded") {
        note_recorded(reply.value(), effects.submissions, ids);
        co_return RunCommitted::recorded;
    }
    co_return word == "changed" ? RunCommitted::changed : RunCommitted::ok;
}

Task<Outcome<std::optional<std::string>>> RunStore::definition(std::string workflow) {
    const auto reply = co_await redis_.command({"GET", keys::workflow_definition(workflow)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::optional<std::string>>();
    if (reply.value().is_nil()) co_return std::optional<std::string>{};
    co_return std::optional(std::string(reply.value().text()));
}

Task<Outcome<std::vector<std::string>>> RunStore::documents(std::vector<std::string> runs) {
    RedisCommand command{"MGET"};
    for (const std::string& run : runs) command.push_back(keys::run_document(run));
    const auto reply = co_await redis_.command(std::move(command), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<std::string>>();
    co_return texts_of(reply.value());
}

Task<Outcome<std::vector<Outgoing>>> RunStore::outbox(std::string run) {
    const auto reply = co_await redis_.command({"HGETALL", keys::run_outbox(run)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<Outgoing>>();
    co_return outgoing_of(reply.value());
}

Task<Outcome<Done>> RunStore::sent(std::string run, std::vector<std::string> ids) {
    std::vector<std::string> arguments{run};
    for (std::string& id : ids) arguments.push_back(std::move(id));
    const auto reply =
        co_await redis_.script(scripts_.sent_for_run, {keys::run_outbox(run)}, std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

Task<Outcome<std::string>> RunStore::job_state(JobId job) {
    const auto reply = co_await redis_.command({"HGET", keys::job_meta(job), "state"}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    co_return std::string(reply.value().text());
}

Task<Outcome<RunPage>> RunStore::peek(TickLock lock, std::string index, std::string after) {
    auto reply =
        co_await redis_.script(scripts_.peek_runs, {std::move(lock.key), std::move(index)},
                               {std::move(lock.token).text(), after.empty() ? "-inf" : "(" + after,
                                std::to_string(tunables_.wf_run_scan_limit), millis(tunables_.wf_scan_interval)},
                               deadline());
    if (!reply.applied()) co_return reply.failure_as<RunPage>();
    RunPage page;
    page.last_score = reply.value().at(0).text();
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 1; i < elements->size(); ++i)
            page.runs.push_back({std::string((*elements)[i].at(0).text()), texts_of((*elements)[i].at(2))});
    }
    co_return page;
}

Task<Outcome<std::vector<std::string>>> RunStore::due_timers(TickLock lock, Duration due_again) {
    const auto reply = co_await redis_.script(
        scripts_.due_timers, {std::move(lock.key), std::string(keys::kDelayTimers)},
        {std::move(lock.token).text(), std::to_string(kTimersAtOnce), millis(due_again)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<std::string>>();
    co_return texts_of(reply.value());
}

Task<Outcome<std::int64_t>> RunStore::drop_stale_timers(TickLock lock, Duration stale_after) {
    std::vector<std::string> arguments{std::move(lock.token).text(), millis(stale_after),
                                       std::to_string(kTimersAtOnce)};
    for (std::string& name : ended_statuses()) arguments.push_back(std::move(name));
    const auto reply =
        co_await redis_.script(scripts_.drop_stale_timers, {std::move(lock.key), std::string(keys::kDelayTimers)},
                               std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::int64_t>();
    co_return reply.value().integer_or(0);
}

Task<Outcome<std::vector<std::string>>> RunStore::jobs_to_cancel(TickLock lock) {
    const auto reply = co_await redis_.script(scripts_.cancelled_jobs, {std::move(lock.key)},
                                              {std::move(lock.token).text(), std::to_string(kRunsAtOnce)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<std::string>>();
    co_return texts_of(reply.value());
}

Task<Outcome<std::int64_t>> RunStore::forget_runs(TickLock lock) {
    std::vector<std::string> arguments{std::move(lock.token).text(), std::to_string(kRunsAtOnce)};
    for (std::string& name : ended_statuses()) arguments.push_back(std::move(name));
    const auto reply =
        co_await redis_.script(scripts_.forget_runs, {std::move(lock.key)}, std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<std::int64_t>();
    co_return reply.value().integer_or(0);
}

Task<Outcome<std::vector<RunStore::FutureTimer>>> RunStore::future_timers() {
    const auto reply = co_await redis_.script(scripts_.future_timers, {std::string(keys::kDelayTimers)},
                                              {std::to_string(kTimersAtOnce)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::vector<FutureTimer>>();
    std::vector<FutureTimer> timers;
    if (const auto* elements = reply.value().array()) {
        for (std::size_t i = 0; i + 1 < elements->size(); i += 2)
            timers.push_back(
                {std::string((*elements)[i].text()), std::chrono::milliseconds((*elements)[i + 1].integer_or(0))});
    }
    co_return timers;
}

Task<Outcome<RunStore::Created>> RunStore::create(ChildRun run, std::string idempotency_key) {
    std::vector<std::string> names{keys::run_document(run.run)};
    if (!idempotency_key.empty()) names.push_back(keys::run_idempotency(idempotency_key));
    const auto reply = co_await redis_.script(
        scripts_.create_run, std::move(names),
        {std::move(run.run), std::move(run.workflow), std::move(run.org), std::move(run.document)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<Created>();
    co_return Created{reply.value().at(0).text() == "ok", std::string(reply.value().at(1).text())};
}

Task<Outcome<bool>> RunStore::ask(std::string run, std::string what) {
    std::string document = keys::run_document(run);
    const auto reply =
        co_await redis_.script(scripts_.ask_run, {std::move(document)}, {std::move(run), std::move(what)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

Task<Outcome<bool>> RunStore::put_definition(std::string workflow, std::string org, std::string document) {
    std::string key = keys::workflow_definition(workflow);
    const auto reply = co_await redis_.script(scripts_.put_definition, {std::move(key)},
                                              {std::move(workflow), std::move(org), std::move(document)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return reply.value().integer_or(0) == 1;
}

}  // namespace lockstep::engine
