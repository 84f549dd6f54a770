#include "prod/ctl/submit.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/runtime/invariant.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/span.h"
#include "engine/runtime/wait.h"
#include "engine/store/job_fields.h"
#include "engine/store/keys.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "prod/ctl/document.h"
#include "prod/ctl/jobs.h"
#include "prod/ctl/scripts/record_submission.lua.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;
using engine::OutcomeKind;

constexpr const char* kSender = "api-gateway";
constexpr std::size_t kWindow = 256;  // submissions under way at once
constexpr int kAttempts = 3;

cap::JobRequest request_of(const SubmitOptions& options, const std::string& id) {
    cap::JobRequest request;
    request.set_job_id(id);
    request.set_topic(options.topic);
    request.set_priority(static_cast<cap::JobPriority>(options.priority));
    request.set_context_ptr("redis://ctx:" + id);
    request.set_tenant_id(options.tenant);
    request.set_principal_id(options.principal);
    for (const auto& [key, value] : options.labels) (*request.mutable_labels())[key] = value;
    for (const auto& [key, value] : options.env) (*request.mutable_env())[key] = value;
    (*request.mutable_env())["tenant_id"] = options.tenant;
    if (options.budget.count() > 0) request.mutable_budget()->set_deadline_ms(engine::to_millis(options.budget));
    cap::JobMetadata& meta = *request.mutable_meta();
    meta.set_tenant_id(options.tenant);
    meta.set_idempotency_key(options.idempotency_key);
    meta.set_capability(options.capability);
    for (const auto& word : options.required) meta.add_requires_(word);
    for (const auto& word : options.risk_tags) meta.add_risk_tags(word);
    request.set_workflow_id(options.workflow);
    if (auto compensation = wire::from_json<cap::Compensation>(options.compensation))
        *request.mutable_compensation() = std::move(*compensation);
    return request;
}

class Submission {
public:
    Submission(Session& session, const SubmitOptions& options)
        : session_(session), options_(options), window_(kWindow) {}

    /// Nothing wrong: empty. The job that was there before, under its id or its idempotency key, goes to `existing`.
    engine::Task<std::string> submit_one(std::string id, std::string& existing);
    engine::Task<void> submit_in_window(std::string id, engine::Semaphore::Permit permit);
    engine::Task<int> submit_many(std::string prefix);

private:
    struct Known {
        std::string state;  // empty: it was not known
        std::string trace;
    };

    [[nodiscard]] std::vector<engine::RedisCommand> gateway_writes(const cap::JobRequest& request,
                                                                   const std::string& trace);
    /// Writes it down, unless the job is known already: then `known` says in which state and under which trace id.
    engine::Task<std::string> record(const cap::JobRequest& request, Known& known);
    engine::Task<std::string> reserve(const cap::JobRequest& request, std::string& existing);

    Session& session_;
    const SubmitOptions& options_;
    engine::Semaphore window_;
    std::int64_t submitted_ = 0;
    std::int64_t failed_ = 0;
    std::string first_failure_;
};

std::vector<engine::RedisCommand> Submission::gateway_writes(const cap::JobRequest& request, const std::string& trace) {
    const auto& tunables = session_.settings().tunables;
    const std::string& id = request.job_id();
    const std::string now = std::to_string(engine::to_unix_micros(session_.clock().now()));
    const std::string ttl = std::to_string(engine::to_millis(tunables.job_meta_ttl));
    const std::string data_ttl = std::to_string(engine::to_millis(tunables.data_ttl));
    const std::string meta = engine::keys::job_meta(engine::JobId(id));
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"SET", "ctx:" + id, options_.payload, "PX", data_ttl});
    if (options_.publish_only) return commands;
    commands.push_back({"HSET", meta, "state", "PENDING", "updated_at", now, "attempts", "0"});
    commands.push_back({"SET", "job:state:" + id, "PENDING", "PX", ttl});
    commands.push_back({"ZADD", engine::keys::state_index(engine::JobState::pending), now, id});
    commands.push_back({"ZADD", "job:recent", now, id});
    commands.push_back({"ZREMRANGEBYRANK", "job:recent", "0", "-1001"});
    commands.push_back({"RPUSH", "job:events:" + id, now + "|PENDING"});
    commands.push_back({"SADD", "trace:" + trace, id});
    engine::RedisCommand fields{"HSET", meta, "trace_id", trace};
    for (auto& word : engine::job_meta_fields(request)) fields.push_back(std::move(word));
    commands.push_back(std::move(fields));
    commands.push_back({"PEXPIRE", meta, ttl});
    commands.push_back({"SET", "job:req:" + id, wire::to_json(request, wire::Unpopulated::emit), "PX", ttl});
    if (const engine::Duration budget = wire::deadline_of(request); budget > engine::Duration{0}) {
        const std::string deadline = std::to_string(engine::to_unix_micros(session_.clock().now() + budget));
        commands.push_back({"HSET", meta, "deadline_unix", deadline});
        commands.push_back({"ZADD", std::string(engine::keys::kDeadlines), deadline, id});
    }
    return commands;
}

engine::Task<std::string> Submission::record(const cap::JobRequest& request, Known& known) {
    const std::string& id = request.job_id();
    auto writes = gateway_writes(request, known.trace);
    engine::Outcome<engine::RedisValue> reply = engine::NotApplied{};
    if (options_.publish_only) {
        reply = co_await session_.redis().command(std::move(writes.front()), session_.deadline());
    } else {
        static const engine::RedisScript kScript(
            "record_submission", std::string(engine::scripts::kCommon) + std::string(scripts::kRecordSubmission));
        std::vector<std::string> keys{engine::keys::job_meta(engine::JobId(id))};
        std::vector<std::string> arguments{id};
        for (engine::RedisCommand& command : writes) {
            arguments.push_back(std::to_string(command.size()));
            std::ranges::move(command, std::back_inserter(arguments));
        }
        reply = co_await session_.redis().script(kScript, std::move(keys), std::move(arguments), session_.deadline());
    }
    if (!reply.applied()) co_return fmt::format("job {} not written to Redis: {}", id, reply.failure().detail);
    if (reply.value().error() != nullptr)
        co_return fmt::format("job {} not written to Redis: {}", id, reply.value().error()->text);
    if (options_.publish_only || reply.value().at(0).text().empty()) co_return std::string();
    known.state = reply.value().at(0).text();
    if (const auto trace = reply.value().at(1).text(); !trace.empty()) known.trace = trace;
    co_return std::string();
}

engine::Task<std::string> Submission::reserve(const cap::JobRequest& request, std::string& existing) {
    const std::string key = engine::idempotency_key_of(request);
    constexpr const char* kLife = "7776000";  // 90 days, as the protocol keeps them
    engine::RedisCommand set{"SET", key, request.job_id(), "NX", "EX", kLife};
    const auto reserved = co_await session_.redis().command(std::move(set), session_.deadline());
    if (!reserved.applied()) co_return reserved.failure().detail;
    if (!reserved.value().is_nil()) co_return std::string();
    engine::RedisCommand get{"GET", key};
    const auto holder = co_await session_.redis().command(std::move(get), session_.deadline());
    if (!holder.applied()) co_return holder.failure().detail;
    existing = holder.value().text();
    co_return std::string();
}

engine::Task<std::string> Submission::submit_one(std::string id, std::string& existing) {
    cap::JobRequest request = request_of(options_, id);
    if (const auto wrong = wire::rejection(request)) co_return *wrong;
    if (!options_.idempotency_key.empty()) {
        std::string trouble = co_await reserve(request, existing);
        if (!trouble.empty()) co_return trouble;
        // Whoever reserved it for this very job may have died before anything else was written.
        if (existing == id) existing.clear();
        if (!existing.empty()) co_return std::string();
    }
    Known known{.state = {}, .trace = options_.trace.empty() ? session_.entropy().uuid() : options_.trace};
    if (std::string trouble = co_await record(request, known); !trouble.empty()) co_return trouble;
    if (!known.state.empty()) existing = id;
    // Whoever submitted it may have died before it was published; once somebody has it in hand, there is nothing left to do.
    if (!known.state.empty() && known.state != to_string(engine::JobState::pending)) co_return std::string();

    const auto packet = wire::make_packet(std::move(request), known.trace, kSender, session_.clock().now());
    const std::string subject(wire::kSubjectSubmit);
    const std::string message_id = wire::message_id(packet, subject);
    const std::string bytes = wire::serialise(packet);
    std::string detail;
    // Again when it is not known whether it arrived: the scheduler knows a job by its id and takes it up once.
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const auto sent = co_await session_.bus().publish(subject, bytes, message_id, session_.deadline());
        if (sent.applied()) co_return std::string();
        detail = sent.failure().detail;
        co_await session_.clock().sleep(std::chrono::milliseconds(300));
    }
    co_return fmt::format("job {} not published: {}", id, detail);
}

engine::Task<void> Submission::submit_in_window(std::string id, engine::Semaphore::Permit permit) {
    std::string existing;
    std::string trouble = co_await submit_one(std::move(id), existing);
    if (trouble.empty()) {
        ++submitted_;
    } else {
        ++failed_;
        if (first_failure_.empty()) first_failure_ = std::move(trouble);
    }
    permit.release();
}

engine::Task<int> Submission::submit_many(std::string prefix) {
    const auto start = session_.clock().monotonic();
    engine::Scope scope(session_.loop());
    for (std::int64_t i = 0; i < options_.count; ++i) {
        if (options_.rate > 0) {
            const auto due =
                start + engine::bounded(std::chrono::duration<double>(static_cast<double>(i) / options_.rate));
            if (const auto early = due - session_.clock().monotonic(); early.count() > 0)
                co_await session_.clock().sleep(early);
        }
        auto permit = co_await window_.acquire();
        scope.spawn(submit_in_window(fmt::format("{}-{}", prefix, i), std::move(permit)));
    }
    co_await scope.join();
    const double seconds = static_cast<double>((session_.clock().monotonic() - start).count()) / 1e9;
    if (options_.json)
        fmt::print("{}",
                   document_line(
                       {{"submitted", submitted_}, {"failed", failed_}, {"seconds", seconds}, {"id_prefix", prefix}}));
    else
        fmt::print("{} jobs submitted in {:.2f} s ({:.0f}/s), ids {}-0 to {}-{}\n", submitted_, seconds,
                   static_cast<double>(submitted_) / std::max(seconds, 1e-9), prefix, prefix, options_.count - 1);
    if (failed_ == 0) co_return kDone;
    co_return complain(kFailed, fmt::format("{} jobs were not submitted; the first: {}", failed_, first_failure_));
}

}  // namespace

std::string mistake_in(const SubmitOptions& options) {
    if (options.compensation.empty()) return {};
    const auto compensation = wire::from_json<cap::Compensation>(options.compensation);
    if (!compensation)
        return fmt::format("--compensation: expected a CAP Compensation as JSON: {}", compensation.error().detail);
    if (compensation->topic().empty()) return "--compensation: expected a \"topic\": what kind of job undoes this one";
    return options.workflow.empty()
               ? "--compensation: only a step of a workflow is rolled back; name it with --workflow"
               : "";
}

engine::Task<int> submit(Session& session, SubmitOptions options) {
    PRECONDITION(mistake_in(options).empty(), "{}", mistake_in(options));
    Submission submission(session, options);
    const std::string id = options.id.empty() ? session.entropy().uuid() : options.id;
    if (options.count != 1) co_return co_await submission.submit_many(id);

    std::string existing;
    const std::string trouble = co_await submission.submit_one(id, existing);
    if (!trouble.empty()) co_return complain(kFailed, trouble);
    const std::string& job = existing.empty() ? id : existing;
    if (options.quiet) co_return kDone;
    if (!options.wait) {
        if (options.json)
            fmt::print("{}", document_line({{"job_id", job}, {"existing", !existing.empty()}}));
        else
            fmt::print("{}{}\n", job,
                       existing.empty() ? ""
                       : job == id      ? " (submitted earlier under this id)"
                                        : " (submitted earlier under this idempotency key)");
        co_return kDone;
    }
    StatusOptions status{.jobs = {job}, .wait = true, .wait_limit = options.wait_limit, .json = options.json};
    co_return co_await show_status(session, std::move(status));
}

}  // namespace lockstep::prod
