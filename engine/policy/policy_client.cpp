#include "engine/policy/policy_client.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/sha256.h"
#include "engine/wire/subjects.h"
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

void attach_input(cap::PolicyCheckRequest& question, const cap::JobRequest& request, const std::string& input,
                  std::int64_t size) {
    if (input.empty()) return;
    question.set_input_size_bytes(size);
    question.set_input_content(input);
    const auto type = request.labels().find("content_type");
    if (type != request.labels().end()) question.set_input_content_type(type->second);
}

}  // namespace

PolicyClient::PolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Log& log, LargeContent& room,
                           const Tunables& tunables, const StoreScripts& scripts, const Mechanisms& mechanisms)
    : kernel_(kernel),
      redis_(redis),
      clock_(clock),
      log_(log),
      room_(room),
      tunables_(tunables),
      circuit_(CircuitBreaker::Service::input, redis, clock, log, tunables, scripts, mechanisms) {}

Task<SafetyDecision> PolicyClient::check(const cap::JobRequest& request, std::optional<CircuitGlimpse> glimpse,
                                         WallTime since) {
    std::optional<CircuitBreaker::Leave> leave = co_await circuit_.ask_leave(request.job_id(), std::move(glimpse));
    if (!leave) co_return SafetyDecision(Decision::unavailable, "safety kernel circuit open");
    cap::PolicyCheckRequest question = question_about(request);
    Input input;
    Crowd::Place place;  // until policy has answered
    if (const std::string key(wire::key_of_pointer(request.context_ptr())); !key.empty()) {
        input = co_await load_input(key, kSmallContent);
        if (input.bytes.size() >= kSmallContent) {
            input = {};
            place = co_await room_.wait(question.tenant(), clock_.in(kRoomPatience), since);
            // A probe has to say how it went.
            if (!place && !leave->is_probe()) {
                SafetyDecision none(Decision::unavailable, "too much large content of the tenant is being judged");
                none.crowded_out = true;
                co_return none;
            }
            input = co_await load_input(key, kInputBytesMax);
        }
        attach_input(question, request, input.bytes, input.size);
    }
    const MonoTime began = clock_.monotonic();
    auto answer = co_await kernel_.check(std::move(question), began + tunables_.safety_timeout);
    const bool is_its_own = recent_.note({.job = request.job_id(),
                                          .began = began,
                                          .ended = clock_.monotonic(),
                                          .limit = tunables_.safety_timeout,
                                          .failure = answer ? nullptr : &answer.error()});
    if (!answer) {
        // A probe has to say how it went: others wait for that.
        const bool own_timeout = is_its_own && !leave->is_probe();
        if (!own_timeout) co_await circuit_.failed(std::move(*leave));
        log_.event(LogLevel::warn, "safety kernel unavailable",
                   {{"job_id", request.job_id()}, {"status", answer.error().code}, {"error", answer.error().message}});
        SafetyDecision none(Decision::unavailable, fmt::format("safety kernel error: {}", answer.error().message));
        none.input = input.seen;
        none.own_timeout = own_timeout;
        co_return none;
    }
    co_await circuit_.succeeded(std::move(*leave));
    SafetyDecision decision = decision_from(std::move(*answer));
    decision.input = input.seen;
    if (decision.approval_required || wire::is_approval_gate(request.topic())) decision.input_hash = input.hash();
    co_return decision;
}

std::string PolicyClient::Input::hash() const {
    switch (seen) {
        case InputSeen::unread: return {};
        case InputSeen::missing: return std::string(kNoInputFound);
        case InputSeen::yes: break;
    }
    if (bytes.empty()) return {};  // there is no pointer to a key
    return fmt::format("{}:{}", wire::sha256_hex(bytes), size);
}

Task<std::optional<std::string>> PolicyClient::input_hash(std::string context_ptr) {
    const std::string key(wire::key_of_pointer(context_ptr));
    if (key.empty()) co_return std::string{};
    const Input input = co_await load_input(key, kInputBytesMax);
    if (input.seen == InputSeen::unread) co_return std::nullopt;
    co_return input.hash();
}

Task<PolicyClient::Input> PolicyClient::load_input(std::string key, std::size_t most) {
    const MonoTime deadline = clock_.in(kInputTimeout);
    // However large it is: no more of it than policy is shown comes into this process.
    RedisCommand read{"GETRANGE", key, "0", fmt::format("{}", most - 1)};
    auto reply = co_await redis_.command(std::move(read), deadline);
    if (!reply.applied()) co_return not_loaded(key, reply.failure().detail);
    std::string bytes(reply.value().text());
    if (bytes.empty()) co_return Input{{}, 0, InputSeen::missing};
    auto size = static_cast<std::int64_t>(bytes.size());
    if (bytes.size() >= kInputBytesMax) {
        RedisCommand measure{"STRLEN", key};
        const auto length = co_await redis_.command(std::move(measure), deadline);
        if (!length.applied()) co_return not_loaded(key, length.failure().detail);
        size = std::max(size, length.value().integer_or(0));
    }
    co_return Input{std::move(bytes), size, InputSeen::yes};
}

PolicyClient::Input PolicyClient::not_loaded(const std::string& key, const std::string& error) const {
    log_.event(LogLevel::warn, "job input not loaded", {{"key", key}, {"error", error}});
    // What stands there is no text, or is not for a scheduler to read: asking again changes nothing about it.
    const bool for_good = error.starts_with("WRONGTYPE") || error.starts_with("NOPERM");
    return {{}, 0, for_good ? InputSeen::missing : InputSeen::unread};
}

}  // namespace lockstep::engine
