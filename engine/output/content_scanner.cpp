#include "engine/output/content_scanner.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "engine/announce/output_audit.h"
#include "engine/output/output_gate.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/timeout.h"
#include "engine/store/lock_wait.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

/// Scans at work at once. Each may hold an output of two megabytes twice.
constexpr std::size_t kSlots = 32;
/// Scans that wait in this replica. The ones beyond are found by their marks.
constexpr std::size_t kWaitingMax = 1'000;
/// Tries of the check, and of recording its verdict, with these pauses between them (wire.md 9.1).
constexpr std::array<Duration, 2> kPauses{std::chrono::seconds{1}, std::chrono::seconds{2}};
static_assert(kPauses.size() + 1 == 3, "three tries are promised");
/// Between the further tries of recording a verdict that takes an output away.
constexpr Duration kPauseWhileStoreIsAway = std::chrono::seconds{5};
/// How often a replica looks for what others have left.
constexpr Duration kSweepInterval = std::chrono::seconds{10};
constexpr std::int64_t kSweepPage = 100;
/// Beyond the check itself: waiting for a slot, for room and for the job's lock, and recording.
constexpr Duration kHoldBeyondCheck = std::chrono::seconds{15};
// Else another replica begins the same scan while this one is recorded.
static_assert(kHoldBeyondCheck >= kDefaultTunables.lock_wait + 2 * kDefaultTunables.store_op_timeout);
/// An open circuit is asked again this often. It takes few probes at a time, so a scan may have to come back several times.
constexpr Duration kPauseWhileCircuitIsOpen = std::chrono::seconds{5};

}  // namespace

ContentScanner::ContentScanner(const Context& context, JobStore& store, Leases& leases, OutputPolicyClient& policy,
                               DeadLetters& dead_letters)
    : context_(context),
      store_(store),
      leases_(leases),
      policy_(policy),
      dead_letters_(dead_letters),
      slots_(kSlots),
      scans_(context.ports.executor) {}

ScanMark ContentScanner::mark(const cap::JobResult& result) const { return {wire::to_json(result), hold()}; }

void ContentScanner::begin(Result result, Request request) {
    PRECONDITION(result != nullptr, "one more scan than {} is of nothing", scans_.size());
    if (context_.stopping || scans_.size() >= kWaitingMax) return;
    if (!scanning_.insert(JobId(result->job_id())).second) return;
    scans_.spawn(scan(std::move(result), std::move(request)));
}

Task<void> ContentScanner::run() {
    while (true) {
        if (context_.tunables.output_policy_enabled) co_await take_up_left_ones();
        co_await context_.ports.clock.sleep(kSweepInterval);
    }
}

Task<void> ContentScanner::take_up_left_ones() {
    auto left = co_await store_.claim_scans(hold(), kSweepPage);
    if (!left.applied()) co_return;
    for (const PendingScan& pending : left.value()) {
        auto result = wire::from_json<cap::JobResult>(pending.result_json);
        auto request = wire::from_json<cap::JobRequest>(pending.request_json);
        // One that is not readable is judged all the same: by the fail mode.
        auto reported = std::make_shared<cap::JobResult>(result ? std::move(*result) : cap::JobResult{});
        reported->set_job_id(pending.job.text());
        Request stored = request ? std::make_shared<const cap::JobRequest>(std::move(*request)) : nullptr;
        context_.ports.log.reached("left_scan_taken_up");
        begin(std::move(reported), result ? std::move(stored) : nullptr);
    }
}

Task<void> ContentScanner::scan(Result result, Request request) {
    /// Membership in `scanning_`, left however this coroutine ends.
    struct Scanning {
        std::set<JobId>& jobs;
        JobId job;
        ~Scanning() { jobs.erase(job); }
    } const scanning{scanning_, JobId(result->job_id())};

    const std::string topic = request ? request->topic() : "unknown";
    const std::optional<Judgement> judgement = co_await judge(result, std::move(request));
    if (!judgement) co_return;
    // A word against the output must not get lost: another replica, which cannot reach policy, may let it pass meanwhile.
    const bool weighs = judgement->verdict && judgement->verdict->decision != OutputDecision::allow &&
                        context_.mechanisms.on(Mechanism::withheld_retry);
    Alarm alarm;
    for (std::size_t tries = 0;; ++tries) {
        const bool settled = co_await settle(scanning.job, topic, *judgement);
        if (settled) co_return;
        const bool persists = tries >= kPauses.size();
        if (persists) co_await raise_alarm(alarm, scanning.job, topic, *judgement);
        if (persists && !weighs) break;
        const bool go_on = co_await pause(persists ? kPauseWhileStoreIsAway : kPauses[tries]);
        if (!go_on) break;
    }
    co_await raise_alarm(alarm, scanning.job, topic, *judgement);
    context_.ports.log.reached("scan_not_recorded");
    context_.ports.log.event(LogLevel::error, "verdict on an output not recorded, it will be scanned again",
                             {{"job_id", scanning.job}});
}

Task<std::optional<ContentScanner::Judgement>> ContentScanner::judge(Result result, Request request) {
    if (!request) co_return without_answer(*result, "unknown", "its request or its result cannot be read any more");
    OutputFailure failure;
    // Time for the circuit to close, even if its first probes fail.
    const MonoTime circuit_closed_by =
        context_.ports.clock.in(2 * context_.tunables.circuit_open_for + kPauseWhileCircuitIsOpen);
    const WallTime since = context_.ports.clock.now();
    const MonoTime room_by = context_.ports.clock.in(kHoldBeyondCheck);
    Crowd::Place place;
    std::size_t tries = 0;
    while (true) {
        {
            const auto slot = co_await slots_.acquire();
            if (context_.stopping) co_return std::nullopt;
            auto answer = co_await policy_.check_content(*result, *request, OutputPhase::async,
                                                         context_.tunables.output_content_timeout, std::move(place));
            if (answer) co_return with_rest(std::move(*answer), JobId(result->job_id()), request->topic());
            failure = std::move(answer.error());
        }
        if (failure.cause == OutputFailure::Cause::no_room) {
            place = co_await wait_for_room(request, since, room_by);
            if (place) continue;
            context_.ports.log.reached("scan_left_to_its_mark");
            co_return std::nullopt;
        }
        if (failure.cause == OutputFailure::Cause::timeout)
            context_.ports.metrics.add(Metric::output_policy_async_timeout, {request->topic()});
        Duration until_next = kPauseWhileCircuitIsOpen;
        if (failure.cause == OutputFailure::Cause::circuit_open) {
            if (context_.ports.clock.monotonic() >= circuit_closed_by) break;
        } else {
            if (tries >= kPauses.size()) break;
            until_next = kPauses[tries++];
        }
        const bool go_on = co_await pause(until_next);
        if (!go_on) co_return std::nullopt;
    }
    co_return without_answer(*result, request->topic(), std::move(failure.detail));
}

Task<Crowd::Place> ContentScanner::wait_for_room(Request request, WallTime since, MonoTime until) {
    while (!context_.stopping && context_.ports.clock.monotonic() < until) {
        Crowd::Place place = co_await policy_.room(*request, until, since);
        if (place) co_return place;
        // As many as may do so wait already.
        const bool go_on = co_await pause(kPauses.front());
        if (!go_on) break;
    }
    co_return Crowd::Place{};
}

ContentScanner::Judgement ContentScanner::without_answer(const cap::JobResult& result, const std::string& topic,
                                                         std::string reason) const {
    context_.ports.metrics.add(Metric::output_policy_skipped, {topic});
    const bool closed = context_.tunables.output_policy_fail_mode == "closed";
    context_.ports.log.reached(closed ? "output_withheld_unseen" : "output_passed_unseen");
    context_.ports.log.event(LogLevel::warn, "output not scanned",
                             {{"job_id", result.job_id()}, {"reason", reason}, {"withheld", closed}});
    if (!closed) return {};
    OutputVerdict verdict;
    verdict.decision = OutputDecision::quarantine;
    verdict.reason = fmt::format("output policy gave no verdict, and it fails closed: {}", reason);
    verdict.original_ptr = result.result_ptr();
    verdict.phase = OutputPhase::async;
    return {std::move(verdict)};
}

ContentScanner::Judgement ContentScanner::with_rest(OutputVerdict verdict, const JobId& job,
                                                    const std::string& topic) const {
    const bool closed = context_.tunables.output_policy_fail_mode == "closed";
    if (!verdict.partial() || verdict.decision != OutputDecision::allow || !closed) return {std::move(verdict)};
    context_.ports.metrics.add(Metric::output_policy_skipped, {topic});
    context_.ports.log.reached("output_withheld_unseen");
    context_.ports.log.event(LogLevel::warn,
                             "output withheld: its end cannot be scanned, and output policy fails closed",
                             {{"job_id", job}, {"output_bytes", verdict.output_bytes}});
    verdict.decision = OutputDecision::quarantine;
    verdict.reason += "; the rest has no verdict, and output policy fails closed";
    return {std::move(verdict)};
}

Task<void> ContentScanner::raise_alarm(Alarm& alarm, JobId job, std::string topic, Judgement judgement) {
    if (!judgement.verdict || !judgement.verdict->withheld() || alarm.told) co_return;
    const std::string& reason = judgement.verdict->reason;
    if (!std::exchange(alarm.counted, true)) {
        context_.ports.metrics.add(Metric::output_quarantine_failed, {topic});
        context_.ports.log.reached("quarantine_failed");
        context_.ports.log.event(LogLevel::error,
                                 "output to be withheld stays readable: the store does not take the verdict",
                                 {{"job_id", job}, {"reason", reason}});
    }
    DeadLetter letter{std::move(job).text(), std::move(topic), cap::JOB_STATUS_FAILED,
                      fmt::format("its output is to be withheld and stays readable, since the store does not take the "
                                  "verdict, which will be tried again: {}",
                                  reason),
                      std::string(kCodeQuarantineFailed)};
    alarm.told = co_await dead_letters_.tell_meanwhile(std::move(letter));
}

Task<bool> ContentScanner::settle(JobId job, std::string topic, Judgement judgement) {
    JobLease lease(leases_.ports(), job, Token(context_.ports.entropy.uuid()));
    const auto taken = co_await wait_for_lock(context_, store_, lease, [&] { return store_.take_lock(lease); });
    if (!taken.applied() || !taken.value()) {
        co_await lease.release();
        co_return false;
    }
    Commit commit;
    commit.release_lock = true;
    commit.end_scan = true;
    const std::optional<OutputVerdict>& verdict = judgement.verdict;
    if (verdict) commit.output_record = output_record(*verdict);
    if (verdict && verdict->withheld()) {
        commit.walk = {JobState::output_quarantined};
        commit.dead_letter =
            DeadLetter{job.text(), topic, cap::JOB_STATUS_DENIED, verdict->reason, std::string(kCodeQuarantinedAsync)};
        commit.fields.emplace_back("failure_reason", verdict->reason);
    } else if (verdict && verdict->decision == OutputDecision::redact) {
        commit.result_ptr = verdict->redacted_ptr;
        commit.replaces_ptr = verdict->original_ptr;
    }
    const std::optional<DeadLetter> letter = commit.dead_letter;
    const auto settled = co_await store_.commit(lease, std::move(commit));
    co_await lease.release();
    if (!settled.applied()) co_return false;
    switch (settled.value().kind) {
        case Committed::Kind::lost: co_return false;
        case Committed::Kind::refused:
            // Another scan was faster, or the job is withheld already.
            context_.ports.log.reached("scan_settled_by_another");
            co_return true;
        case Committed::Kind::ok: break;
    }
    if (!verdict) co_return true;
    count_verdict(context_, *verdict, topic);
    if (letter) {
        context_.ports.log.event(LogLevel::warn, "output withheld after its success",
                                 {{"job_id", job}, {"reason", verdict->reason}});
        co_await dead_letters_.announce(*letter);
    } else if (verdict->decision == OutputDecision::redact || verdict->partial()) {
        co_await audit_passed(context_, job, topic, verdict->reason);
    }
    co_return true;
}

Task<bool> ContentScanner::pause(Duration duration) {
    const bool stopping = co_await stopping_.wait_until(context_.ports.clock.in(duration));
    co_return !stopping && !context_.stopping;
}

Duration ContentScanner::hold() const { return context_.tunables.output_content_timeout + kHoldBeyondCheck; }

Task<void> ContentScanner::drain(MonoTime deadline) {
    PRECONDITION(context_.stopping, "new work would go on being begun");
    stopping_.set();
    policy_.send_away();
    const auto finished = co_await with_deadline(context_.ports.executor, deadline, [](Scope& scope) -> Task<bool> {
        co_await scope.join();
        co_return true;
    }(scans_));
    if (!finished) {
        context_.ports.log.reached("scan_left_to_its_mark");
        scans_.cancel();
    }
}

}  // namespace lockstep::engine
