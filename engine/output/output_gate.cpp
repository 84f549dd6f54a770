#include "engine/output/output_gate.h"

#include "engine/config/context.h"
#include "engine/output/output_client.h"
#include "engine/store/job_store.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"

namespace lockstep::engine {

namespace {

/// Of the content check that makes a replacement while the job's lock is held (wire.md 7.2).
constexpr Duration kRedactionLimit = std::chrono::seconds{5};
// What comes of it is committed under that lock.
static_assert(kRoomPatience + kRedactionLimit + kDefaultTunables.output_meta_timeout +
                  kDefaultTunables.store_op_timeout <
              kDefaultTunables.job_lock_ttl);

OutputVerdict withheld_unseen(const cap::JobResult& result) {
    OutputVerdict verdict;
    verdict.decision = OutputDecision::quarantine;
    verdict.reason = "output policy could not be asked, and it fails closed: the job's request cannot be read any more";
    verdict.original_ptr = result.result_ptr();
    return verdict;
}

std::optional<CircuitGlimpse> circuit_of(const OutputPolicyClient& policy, const JobFacts& facts) {
    if (facts.read_along.size() < policy.circuit_keys().size()) return std::nullopt;
    return CircuitGlimpse{RedisValue(facts.read_along[0]).integer_or(0), facts.read_along[1]};
}

}  // namespace

Task<OutputPassage> OutputGate::judge(const cap::JobResult& result, const JobFacts& facts) {
    OutputPassage passage;
    if (!context_.tunables.output_policy_enabled) {
        skip(facts.topic);
        co_return passage;
    }
    auto request = wire::from_json<cap::JobRequest>(facts.stored_request);
    if (!request) {
        // Policy judges a job by its request, and this one's has been evicted or cannot be read.
        const bool closed = context_.tunables.output_policy_fail_mode == "closed";
        context_.ports.log.reached("output_without_request");
        context_.ports.log.event(
            LogLevel::warn, "output not checked: the job's request is missing",
            {{"job_id", result.job_id()}, {"error", request.error().detail}, {"withheld", closed}});
        skip(facts.topic);
        if (closed) {
            passage.verdict = withheld_unseen(result);
            count_verdict(context_, *passage.verdict, facts.topic);
        }
        co_return passage;
    }
    passage.to_scan = std::make_shared<const cap::JobRequest>(std::move(*request));
    auto quick = co_await policy_.check_metadata(result, *passage.to_scan, circuit_of(policy_, facts));
    if (!quick) {
        context_.ports.log.reached("output_check_skipped");
        skip(facts.topic);
        co_return passage;
    }
    context_.ports.metrics.add(Metric::output_policy_checked, {facts.topic});
    OutputVerdict verdict = std::move(*quick);
    if (verdict.decision == OutputDecision::redact && verdict.redacted_ptr.empty()) {
        auto redacted = co_await redact(std::move(verdict), result, *passage.to_scan);
        if (!redacted) {
            passage.no_room = true;
            co_return passage;
        }
        verdict = std::move(*redacted);
    }
    count_verdict(context_, verdict, facts.topic);
    // What is withheld needs no scan, what was redacted has had it, and what lies elsewhere is not read here.
    if (verdict.decision != OutputDecision::allow || wire::leads_elsewhere(result.result_ptr()))
        passage.to_scan = nullptr;
    passage.verdict = std::move(verdict);
    co_return passage;
}

Task<std::optional<OutputVerdict>> OutputGate::redact(OutputVerdict quick, const cap::JobResult& result,
                                                      const cap::JobRequest& request) {
    const Duration limit = std::min(kRedactionLimit, context_.tunables.output_content_timeout);
    const auto has_no_room = [](const OutputPolicyClient::Answer& answer) {
        return !answer && answer.error().cause == OutputFailure::Cause::no_room;
    };
    auto thorough = co_await policy_.check_content(result, request, OutputPhase::sync, limit, {});
    if (has_no_room(thorough)) {
        Clock& clock = context_.ports.clock;
        Crowd::Place place = co_await policy_.room(request, clock.in(kRoomPatience), clock.now());
        thorough = co_await policy_.check_content(result, request, OutputPhase::sync, limit, std::move(place));
    }
    if (has_no_room(thorough)) co_return std::nullopt;
    if (thorough && (thorough->withheld() || !thorough->redacted_ptr.empty())) co_return std::move(*thorough);
    context_.ports.log.reached("redaction_impossible");
    quick.decision = OutputDecision::quarantine;
    quick.reason += quick.reason.empty() ? "" : " ";
    quick.reason += "(a sanitised output is not available)";
    co_return quick;
}

void OutputGate::skip(const std::string& topic) { context_.ports.metrics.add(Metric::output_policy_skipped, {topic}); }

void count_verdict(const Context& context, const OutputVerdict& verdict, const std::string& topic) {
    Metrics& metrics = context.ports.metrics;
    metrics.add(Metric::output_evaluations, {topic});
    if (verdict.withheld()) {
        metrics.add(Metric::output_policy_quarantined, {topic});
        metrics.add(Metric::output_denials, {topic});
    }
    if (verdict.decision == OutputDecision::redact) metrics.add(Metric::output_redactions, {topic});
}

}  // namespace lockstep::engine
