#include "engine/policy/policy_client.h"

#include <fmt/core.h>

#include "engine/wire/input_pointer.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// Most of a job's input that a check carries (wire.md 7.1).
constexpr std::size_t kInputBytesMax = 2'097'152;
/// Time for loading it. Together with the two seconds of the call this stays within the guard of three (wire.md 7.1);
/// it is not taken from the call's own time, or a store that is slow would count as a kernel that fails.
constexpr Duration kInputTimeout = std::chrono::seconds{1};
static_assert(kInputTimeout + kDefaultTunables.safety_timeout <= std::chrono::seconds{3});

cap::PolicyCheckRequest question_about(const cap::JobRequest& request) {
    cap::PolicyCheckRequest question;
    question.set_job_id(request.job_id());
    question.set_topic(request.topic());
    question.set_tenant(std::string(wire::tenant_of(request)));
    question.set_priority(request.priority());
    question.set_principal_id(request.principal_id());
    question.set_memory_id(request.memory_id());
    *question.mutable_labels() = request.labels();
    if (request.has_budget()) *question.mutable_budget() = request.budget();
    if (request.has_meta()) *question.mutable_meta() = request.meta();
    const auto config = request.env().find("CORDUM_EFFECTIVE_CONFIG");
    if (config != request.env().end()) question.set_effective_config(config->second);
    return question;
}

void attach_input(cap::PolicyCheckRequest& question, const cap::JobRequest& request, std::string input) {
    if (input.empty()) return;
    question.set_input_size_bytes(static_cast<std::int64_t>(input.size()));
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
    question.set_input_content(std::move(input));
    const auto type = request.labels().find("content_type");
    if (type != request.labels().end()) question.set_input_content_type(type->second);
}

}  // namespace

PolicyClient::PolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Log& log, const Tunables& tunables,
                           const StoreScripts& scripts, const Mechanisms& mechanisms)
    : kernel_(kernel),
      redis_(redis),
      clock_(clock),
      log_(log),
      tunables_(tunables),
      circuit_(CircuitBreaker::Service::input, redis, clock, log, tunables, scripts, mechanisms) {}

Task<SafetyDecision> PolicyClient::check(const cap::JobRequest& request, std::optional<CircuitGlimpse> glimpse) {
    std::optional<CircuitBreaker::Leave> leave = co_await circuit_.ask_leave(request.job_id(), std::move(glimpse));
    if (!leave) co_return SafetyDecision(Decision::unavailable, "safety kernel circuit open");
    cap::PolicyCheckRequest question = question_about(request);
    InputSeen seen = InputSeen::yes;
    if (const std::string key(wire::input_key(request.context_ptr())); !key.empty()) {
        Input input = co_await load_input(key, clock_.in(kInputTimeout));
        seen = input.seen;
        attach_input(question, request, std::move(input.bytes));
    }
    auto answer = co_await kernel_.check(std::move(question), clock_.in(tunables_.safety_timeout));
    if (!answer) {
        co_await circuit_.failed(std::move(*leave));
        log_.event(LogLevel::warn, "safety kernel unavailable",
                   {{"job_id", request.job_id()}, {"status", answer.error().code}, {"error", answer.error().message}});
        SafetyDecision none(Decision::unavailable, fmt::format("safety kernel error: {}", answer.error().message));
        none.input = seen;
        co_return none;
    }
    co_await circuit_.succeeded(std::move(*leave));
    SafetyDecision decision = decision_from(std::move(*answer));
    decision.input = seen;
    co_return decision;
}

Task<PolicyClient::Input> PolicyClient::load_input(std::string key, MonoTime deadline) {
    RedisCommand get{"GET", key};
    auto reply = co_await redis_.command(std::move(get), deadline);
    if (!reply.applied()) {
        const std::string& error = reply.failure().detail;
        log_.event(LogLevel::warn, "job input not loaded", {{"key", key}, {"error", error}});
        // What stands there is no text, or is not for a scheduler to read: asking again changes nothing about it.
        const bool for_good = error.starts_with("WRONGTYPE") || error.starts_with("NOPERM");
        co_return Input{{}, for_good ? InputSeen::missing : InputSeen::unread};
    }
    std::string bytes(reply.value().text());
    const InputSeen seen = bytes.empty() ? InputSeen::missing : InputSeen::yes;
    co_return Input{std::move(bytes), seen};
}

}  // namespace lockstep::engine
