#include "fakes/gateway/job_records.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/validation.h"
#include "fakes/gateway/record_fields.h"
#include "fakes/gateway/scripts/gateway_cancel.lua.h"
#include "fakes/gateway/scripts/gateway_set_state.lua.h"
#include "fakes/gateway/scripts/gateway_unlock.lua.h"

namespace lockstep::fakes {
namespace {

using engine::Done;
using engine::RedisCommand;
using engine::RedisValue;

/// The gateway's budget for one store call.
constexpr engine::Duration kPatience = std::chrono::seconds{2};

std::string text(std::chrono::seconds span) { return fmt::format("{}", span.count()); }

/// The column of the transition table: from which states the target can be reached.
std::string sources_of(std::string_view target) {
    if (target == "PENDING") return " ABSENT APPROVAL_REQUIRED ";
    if (target == "APPROVAL_REQUIRED") return " ABSENT PENDING ";
    if (target == "DENIED") return " PENDING APPROVAL_REQUIRED SCHEDULED ";
    if (target == "FAILED") return " ABSENT PENDING APPROVAL_REQUIRED SCHEDULED DISPATCHED RUNNING ";
    return " ";
}

std::vector<std::string> state_keys(const std::string& job) {
    return {records::meta_key(job), "job:state:" + job, "job:result_ptr:" + job};
}

engine::Outcome<JobRecords::Transition> transition(const engine::Outcome<RedisValue>& reply) {
    if (!reply.applied()) return reply.failure_as<JobRecords::Transition>();
    return JobRecords::Transition{reply.value().at(0).integer_or(0) == 1, std::string(reply.value().at(1).text())};
}

}  // namespace

JobRecords::JobRecords(World& world, NodeId node, engine::Executor& executor, engine::Redis& redis,
                       RecordLifetimes lifetimes)
    : world_(world),
      node_(node),
      executor_(executor),
      redis_(redis),
      lifetimes_(lifetimes),
      set_state_("gateway_set_state", scripts::kGatewaySetState),
      cancel_("gateway_cancel", scripts::kGatewayCancel),
      unlock_("gateway_unlock", scripts::kGatewayUnlock) {}

engine::MonoTime JobRecords::deadline() const { return executor_.monotonic() + kPatience; }

std::string JobRecords::now() const { return records::micros(world_.wall(node_)); }

engine::Task<engine::Outcome<std::vector<RedisValue>>> JobRecords::all(std::vector<RedisCommand> commands) {
    auto replies = co_await redis_.pipeline(std::move(commands), deadline());
    if (!replies.applied()) co_return replies;
    for (const RedisValue& reply : replies.value()) {
        if (const auto* error = reply.error()) {
            co_return engine::Unknown{{engine::FailureCause::refused, error->text}, 0};
        }
    }
    co_return replies;
}

engine::Task<JobRecords::Outcome> JobRecords::done(std::vector<RedisCommand> commands) {
    const auto replies = co_await all(std::move(commands));
    if (!replies.applied()) co_return replies.failure_as<Done>();
    co_return Done{};
}

engine::Task<engine::Outcome<std::string>> JobRecords::reserve(cap::JobRequest request) {
    const std::string key = records::idempotency_key(request);
    if (key.empty()) co_return request.job_id();
    std::vector<RedisCommand> commands{
        {"SET", key, request.job_id(), "NX", "EX", text(lifetimes_.idempotency)},
        {"GET", key},
    };
    const auto replies = co_await all(std::move(commands));
    if (!replies.applied()) co_return replies.failure_as<std::string>();
    co_return std::string(replies.value()[1].text());
}

engine::Task<JobRecords::Outcome> JobRecords::write_context(std::string job, std::string body) {
    std::vector<RedisCommand> commands{{"SET", "ctx:" + job, std::move(body), "EX", text(lifetimes_.data)}};
    return done(std::move(commands));
}

engine::Task<engine::Outcome<JobRecords::Transition>> JobRecords::set_state(std::string job, std::string target) {
    std::vector<std::string> arguments{job, target, now(), text(lifetimes_.metadata), sources_of(target)};
    const auto reply = co_await redis_.script(set_state_, state_keys(job), std::move(arguments), deadline());
    co_return transition(reply);
}

engine::Task<JobRecords::Outcome> JobRecords::write_details(cap::JobRequest request, std::string trace_id) {
    const std::string& job = request.job_id();
    const std::string meta = records::meta_key(job);
    const std::string ttl = text(lifetimes_.metadata);
    std::vector<RedisCommand> details{records::set_meta(request), {"EXPIRE", meta, ttl}};
    if (const engine::Duration budget = engine::wire::deadline_of(request); budget > engine::Duration{0}) {
        const std::string due = records::micros(world_.wall(node_) + budget);
        details.push_back({"HSET", meta, "deadline_unix", due});
        details.push_back({"ZADD", "job:deadline", due, job});
    }
    std::vector<std::vector<RedisCommand>> steps;
    steps.push_back({{"HSET", meta, "topic", request.topic()}});
    steps.push_back({{"HSET", meta, "tenant", records::tenant_field(request)}});
    steps.push_back({{"SADD", "trace:" + trace_id, job}, {"HSET", meta, "trace_id", trace_id}, {"EXPIRE", meta, ttl}});
    steps.push_back(std::move(details));
    for (auto& step : steps) {
        const Outcome written = co_await done(std::move(step));
        if (!written.applied()) co_return written;
    }
    co_return co_await write_request(std::move(request));
}

engine::Task<JobRecords::Outcome> JobRecords::write_request(cap::JobRequest request) {
    std::vector<RedisCommand> commands{{"SET", records::request_key(request.job_id()),
                                        engine::wire::to_json(request, engine::wire::Unpopulated::emit), "EX",
                                        text(lifetimes_.metadata)}};
    return done(std::move(commands));
}

engine::Task<engine::Outcome<JobRecords::Transition>> JobRecords::cancel(std::string job) {
    std::vector<std::string> arguments{job, now(), text(lifetimes_.metadata)};
    const auto reply = co_await redis_.script(cancel_, state_keys(job), std::move(arguments), deadline());
    co_return transition(reply);
}

engine::Task<engine::Outcome<bool>> JobRecords::lock(std::string job, std::string token, engine::Duration ttl) {
    RedisCommand command{"SET", records::lock_key(job), token, "NX", "PX", fmt::format("{}", engine::to_millis(ttl))};
    const auto reply = co_await redis_.command(std::move(command), deadline());
    if (!reply.applied()) co_return reply.failure_as<bool>();
    co_return !reply.value().is_nil();
}

engine::Task<JobRecords::Outcome> JobRecords::unlock(std::string job, std::string token) {
    std::vector<std::string> keys{records::lock_key(job)};
    std::vector<std::string> arguments{std::move(token)};
    const auto reply = co_await redis_.script(unlock_, std::move(keys), std::move(arguments), deadline());
    if (!reply.applied()) co_return reply.failure_as<Done>();
    co_return Done{};
}

engine::Task<engine::Outcome<JobRecords::Stored>> JobRecords::read(std::string job) {
    std::vector<RedisCommand> commands{
        {"HMGET", records::meta_key(job), "state", "trace_id", "safety_decision", "safety_approval_required",
         "safety_job_hash", "safety_snapshot", "approval_by", "topic"},
        {"GET", records::request_key(job)},
    };
    const auto replies = co_await all(std::move(commands));
    if (!replies.applied()) co_return replies.failure_as<Stored>();
    const auto field = [&replies](std::size_t index) { return std::string(replies.value()[0].at(index).text()); };
    Stored stored{field(0), field(1), field(2), field(3), field(4), field(5), field(6), field(7), {}};
    stored.request_json = std::string(replies.value()[1].text());
    co_return stored;
}

engine::Task<JobRecords::Outcome> JobRecords::write_fields(std::string job, std::vector<std::string> fields) {
    RedisCommand command{"HSET", records::meta_key(job)};
    for (auto& text_of_field : fields) command.push_back(std::move(text_of_field));
    std::vector<RedisCommand> commands;
    commands.push_back(std::move(command));
    return done(std::move(commands));
}

engine::Task<JobRecords::Outcome> JobRecords::write_dead_letter(cap::JobResult letter, std::string topic,
                                                                std::string last_state) {
    const engine::WallTime at = world_.wall(node_);
    const std::string& job = letter.job_id();
    const nlohmann::json entry{{"job_id", job},
                               {"topic", topic},
                               {"status", cap::JobStatus_Name(letter.status())},
                               {"reason", letter.error_message()},
                               {"reason_code", letter.error_code()},
                               {"last_state", last_state},
                               {"created_at", records::rfc3339(at)}};
    const std::string second = fmt::format("{}", engine::to_unix_micros(at) / 1'000'000);
    std::vector<RedisCommand> commands{
        {"SET", "dlq:entry:" + job, engine::wire::json_text(entry), "EX", text(lifetimes_.dead_letter)},
        {"ZADD", "dlq:index", second, job}};
    return done(std::move(commands));
}

}  // namespace lockstep::fakes
