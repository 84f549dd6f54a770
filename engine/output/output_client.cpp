#include "engine/output/output_client.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/output/redaction.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// A worker may report a moment before its output can be read (wire.md 7.2).
constexpr int kLooks = 6;
constexpr Duration kPauseBetweenLooks = std::chrono::milliseconds{100};
/// Storing the same bytes under the same key again is harmless, and giving up costs the job its output.
constexpr int kStoreTries = 3;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

tl::unexpected<OutputFailure> failed(std::string detail) {
    return tl::make_unexpected(OutputFailure{OutputFailure::Cause::failed, std::move(detail)});
}

std::string tenant_of(const cap::JobRequest& request) { return std::string(wire::trim(wire::tenant_of(request))); }

void withhold(OutputVerdict& verdict, std::string_view why) {
    verdict.decision = OutputDecision::quarantine;
    verdict.reason +=
        fmt::format("{}(a sanitised output is not available: {})", verdict.reason.empty() ? "" : " ", why);
}

}  // namespace

OutputPolicyClient::OutputPolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Metrics& metrics, Log& log,
                                       LargeContent& room, const Tunables& tunables, const StoreScripts& scripts,
                                       const Mechanisms& mechanisms)
    : kernel_(kernel),
      redis_(redis),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      room_(room),
      tunables_(tunables),
      circuit_(CircuitBreaker::Service::output, redis, clock, log, tunables, scripts, mechanisms) {}

Task<OutputPolicyClient::Answer> OutputPolicyClient::check_metadata(const cap::JobResult& result,
                                                                    const cap::JobRequest& request,
                                                                    std::optional<CircuitGlimpse> glimpse) {
    const MonoTime began = clock_.monotonic();
    auto answer = co_await ask(question_about_output(result, request), result.job_id() + "/quick",
                               tunables_.output_meta_timeout, std::move(glimpse));
    const Duration took = clock_.monotonic() - began;
    metrics_.observe(Metric::output_check_latency, seconds(took), {request.topic(), "sync"});
    if (answer) {
        answer->took = took;
        answer->phase = OutputPhase::sync;
        answer->original_ptr = result.result_ptr();
    }
    co_return answer;
}

Task<OutputPolicyClient::Answer> OutputPolicyClient::check_content(const cap::JobResult& result,
                                                                   const cap::JobRequest& request, OutputPhase phase,
                                                                   Duration limit, Crowd::Place place) {
    const MonoTime began = clock_.monotonic();
    auto glimpse = co_await circuit_.look();
    if (glimpse && circuit_.is_open(*glimpse)) co_return circuit_open();
    auto content = co_await load(result.result_ptr(), kSmallContent);
    if (content && content->cut_off()) {
        if (!place) place = room_.enter(tenant_of(request));
        if (!place)
            co_return tl::make_unexpected(
                OutputFailure{OutputFailure::Cause::no_room, "too much large content of the tenant is being judged"});
        content = co_await load(result.result_ptr(), kOutputBytesMax);
    }
    if (!content) co_return tl::make_unexpected(content.error());
    cap_output::OutputCheckRequest question = question_about_output(result, request);
    attach_content(question, result.result_ptr(), *content);
    auto answer = co_await ask(std::move(question), result.job_id() + "/content", limit, std::move(glimpse));
    if (answer) {
        answer->phase = phase;
        answer->original_ptr = result.result_ptr();
        if (content->cut_off()) note_cut_off(*answer, *content, JobId(result.job_id()), request.topic());
        if (answer->decision == OutputDecision::redact && answer->redacted_ptr.empty())
            co_await replace(*answer, result, *content);
        answer->took = clock_.monotonic() - began;
    }
    const std::string_view label = phase == OutputPhase::async ? "async" : "sync_redact";
    metrics_.observe(Metric::output_check_latency, seconds(clock_.monotonic() - began), {request.topic(), label});
    co_return answer;
}

Task<Crowd::Place> OutputPolicyClient::room(const cap::JobRequest& request, MonoTime deadline, WallTime since) {
    co_return co_await room_.wait(tenant_of(request), deadline, since);
}

Task<OutputPolicyClient::Answer> OutputPolicyClient::ask(cap_output::OutputCheckRequest question, std::string asker,
                                                         Duration limit, std::optional<CircuitGlimpse> glimpse) {
    std::optional<CircuitBreaker::Leave> leave = co_await circuit_.ask_leave(std::move(asker), std::move(glimpse));
    if (!leave) co_return circuit_open();
    const std::string job = question.job_id();
    const std::string topic = question.topic();
    const MonoTime began = clock_.monotonic();
    // Reading the store does not use up the time for it: a store that is slow would count as a kernel that fails.
    const auto answer = co_await kernel_.check_output(std::move(question), began + limit);
    const bool is_its_own = recent_.note({.job = job,
                                          .began = began,
                                          .ended = clock_.monotonic(),
                                          .limit = limit,
                                          .failure = answer ? nullptr : &answer.error()});
    if (!answer) {
        // A probe has to say how it went: others wait for that.
        if (!is_its_own || leave->is_probe()) co_await circuit_.failed(std::move(*leave));
        log_.event(LogLevel::warn, "output policy unavailable",
                   {{"job_id", job}, {"status", answer.error().code}, {"error", answer.error().message}});
        const bool late = answer.error().out_of_time();
        co_return tl::make_unexpected(OutputFailure{late ? OutputFailure::Cause::timeout : OutputFailure::Cause::failed,
                                                    fmt::format("output policy error: {}", answer.error().message)});
    }
    metrics_.observe(Metric::output_eval_duration, seconds(clock_.monotonic() - began), {topic});
    co_await circuit_.succeeded(std::move(*leave));
    auto verdict = verdict_from(*answer);
    if (!verdict) {
        metrics_.add(Metric::unknown_decisions, {"output"});
        const int decision = answer->decision();
        log_.event(LogLevel::error, "output policy decided what this version does not know",
                   {{"job_id", job}, {"decision", decision}});
        co_return failed(fmt::format("output policy decided {}, which this version does not know", decision));
    }
    co_return std::move(*verdict);
}

void OutputPolicyClient::note_cut_off(OutputVerdict& verdict, const OutputContent& content, const JobId& job,
                                      const std::string& topic) {
    verdict.scanned_bytes = static_cast<std::int64_t>(content.bytes.size());
    verdict.output_bytes = content.size;
    // Into the reason as well: records, letters and audit events carry it, and some readers show nothing else.
    verdict.reason += fmt::format("{}(partial: the first {} of {} bytes were scanned)",
                                  verdict.reason.empty() ? "" : " ", verdict.scanned_bytes, verdict.output_bytes);
    metrics_.add(Metric::output_scanned_in_part, {topic});
    log_.reached("output_scanned_in_part");
    log_.event(LogLevel::warn, "output scanned in part: it is too long to be sent to policy",
               {{"job_id", job}, {"scanned_bytes", verdict.scanned_bytes}, {"output_bytes", verdict.output_bytes}});
}

OutputPolicyClient::Answer OutputPolicyClient::circuit_open() {
    log_.reached("output_circuit_open");
    return tl::make_unexpected(OutputFailure{OutputFailure::Cause::circuit_open, "output policy circuit open"});
}

Task<OutputPolicyClient::Loaded> OutputPolicyClient::load(std::string pointer, std::size_t most) {
    if (wire::trim(pointer).empty()) co_return OutputContent{};
    const std::string key(wire::key_of_pointer(pointer));
    if (key.empty()) co_return failed("the result pointer names no key of the store");
    const std::string last = fmt::format("{}", most - 1);
    for (int look = 1;; ++look) {
        std::vector<RedisCommand> reads{{"EXISTS", key}, {"STRLEN", key}, {"GETRANGE", key, "0", last}};
        const auto replies = co_await redis_.pipeline(std::move(reads), clock_.in(tunables_.store_op_timeout));
        if (!replies.applied()) co_return failed(fmt::format("output not read: {}", replies.failure().detail));
        const std::vector<RedisValue>& values = replies.value();
        for (const RedisValue& value : values) {
            if (value.error() != nullptr) co_return failed(fmt::format("output not read: {}", value.error()->text));
        }
        if (values.at(0).integer_or(0) == 1) {
            OutputContent content{std::string(values.at(2).text()), 0};
            content.size = std::max(values.at(1).integer_or(0), static_cast<std::int64_t>(content.bytes.size()));
            co_return content;
        }
        if (look >= kLooks) co_return OutputContent{};
        co_await clock_.sleep(kPauseBetweenLooks);
    }
}

Task<void> OutputPolicyClient::replace(OutputVerdict& verdict, const cap::JobResult& result,
                                       const OutputContent& content) {
    if (content.bytes.empty()) {
        log_.reached("nothing_to_redact");
        withhold(verdict, "there is no output to be found");
        co_return;
    }
    std::string text = redacted(content.bytes, verdict.findings, content.cut_off());
    std::string key = redaction_key(result.result_ptr(), JobId(result.job_id()), text);
    const bool stored = co_await store(key, std::move(text));
    if (!stored) {
        log_.reached("redaction_not_stored");
        withhold(verdict, "it could not be stored");
        co_return;
    }
    verdict.redacted_ptr = "redis://" + key;
}

Task<bool> OutputPolicyClient::store(std::string key, std::string content) {
    for (int tries = 0; tries < kStoreTries; ++tries) {
        if (tries > 0) co_await clock_.sleep(kPauseBetweenLooks);
        RedisCommand set{"SET", key, content, "PX", fmt::format("{}", to_millis(tunables_.data_ttl))};
        const auto stored = co_await redis_.command(std::move(set), clock_.in(tunables_.store_op_timeout));
        if (stored.applied()) co_return true;
    }
    co_return false;
}

}  // namespace lockstep::engine
