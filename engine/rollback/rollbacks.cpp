#include "engine/rollback/rollbacks.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/invariant.h"
#include "engine/runtime/timeout.h"
#include "engine/saga/compensation.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// A rollback that its first replica left is noticed within this time. Long against a step, short against the lock's life.
constexpr Duration kResumeInterval = std::chrono::seconds{10};
static_assert(kResumeInterval > kDefaultTunables.safety_timeout + kDefaultTunables.publish_timeout &&
              kResumeInterval < kDefaultTunables.saga_lock_ttl);
/// Rollbacks that one replica resumes at once; one with a hung kernel takes its whole time.
constexpr std::size_t kResumedMax = 16;
constexpr std::int64_t kResumePage = 64;
/// Looks for stacks that are to live on, at most this far apart, and so that several fall into the half of a life that is left then.
constexpr Duration kKeepInterval = std::chrono::hours{1};
constexpr int kKeepLooks = 8;
constexpr std::int64_t kKeepPage = 256;

}  // namespace

Rollbacks::Rollbacks(const Context& context, SagaStore& sagas, Leases& leases, PolicyClient& policy,
                     DeadLetters& dead_letters)
    : context_(context),
      sagas_(sagas),
      leases_(leases),
      policy_(policy),
      dead_letters_(dead_letters),
      work_(context.ports.executor) {}

void Rollbacks::start(const SagaName& saga) {
    if (context_.stopping || at_work_.contains(saga.text())) return;
    const bool locked = context_.mechanisms.on(Mechanism::saga_lock);
    at_work_.insert(saga.text());
    count_active();
    work_.spawn(roll_back(saga, locked ? Token(context_.ports.entropy.uuid()) : Token{}));
}

Task<void> Rollbacks::run() {
    while (true) {
        co_await context_.ports.clock.sleep(kResumeInterval);
        const auto owed = co_await sagas_.pending(kResumePage);
        if (!owed.applied()) continue;
        for (const SagaName& saga : owed.value()) {
            if (at_work_.size() >= kResumedMax) break;
            start(saga);
        }
    }
}

Task<void> Rollbacks::keep_recorded() {
    while (true) {
        auto looked_at = co_await sagas_.keep_recorded(kKeepPage);
        while (looked_at.applied() && looked_at.value() == kKeepPage)
            looked_at = co_await sagas_.keep_recorded(kKeepPage);
        co_await context_.ports.clock.sleep(std::min(kKeepInterval, context_.tunables.job_meta_ttl / kKeepLooks));
    }
}

Task<void> Rollbacks::roll_back(SagaName saga, Token token) {
    const Tunables& tunables = context_.tunables;
    Lease lease(leases_.ports(), saga.lock(), std::move(token),
                {.life = tunables.saga_lock_ttl, .answer_within = tunables.store_op_timeout}, {saga.in_hand(), {}});
    const MonoTime began = context_.ports.clock.monotonic();
    const Duration limit = std::min(tunables.saga_rollback_timeout, tunables.saga_lock_ttl);
    INVARIANT(limit <= lease.terms().life, "saga {} is rolled back for {} ns under a lock of {} ns", saga.text(),
              limit.count(), lease.terms().life.count());
    const bool has_begun = co_await work_off(saga, lease, {began + limit, began + lease.terms().life});
    at_work_.erase(saga.text());
    count_active();
    if (!has_begun) co_return;
    context_.ports.metrics.observe(Metric::saga_rollback_duration,
                                   std::chrono::duration<double>(context_.ports.clock.monotonic() - began).count());
}

Task<bool> Rollbacks::work_off(const SagaName& saga, Lease& lease, TimeLimits limits) {
    // However long the lock and policy take, one entry is dealt with.
    MonoTime until = limits.of_the_first;
    auto step = co_await sagas_.begin(saga, lease);
    const bool has_begun = step.applied() && step.value().kind == SagaStep::Kind::entry;
    const LostHandlings lost = step.applied() ? step.value().lost : LostHandlings{};
    // It takes long, so that only one that is to be alone is in the room.
    Room::Place place;
    const bool alone = lost.beside_others >= kLostUntilAlone;
    if (alone) place = co_await context_.room->enter();
    const HandlingStart start = co_await start_handling(context_, lease, place, lost);
    if (start == HandlingStart::not_now) {
        co_await lease.release();
        co_return has_begun;
    }
    // What its last rollbacks were at when they were lost is the first entry.
    bool is_set_aside = start == HandlingStart::set_aside;
    while (step.applied() && step.value().kind == SagaStep::Kind::entry) {
        const std::string entry = step.value().entry;
        DealtWith done{entry, std::nullopt};
        const bool of_others = step.value().of_others;
        const auto job = is_set_aside ? std::nullopt : compensation_job(saga, entry);
        // What intake refuses would be gone without a trace once it is published.
        const auto refusal = is_set_aside ? letter_of_lost({}, {}).reason
                             : job        ? wire::rejection(*job)
                                          : std::optional<std::string>("it cannot be read");
        if (of_others) {
            done.letter = letter_of_others(saga, entry);
        } else if (!refusal) {
            const Undone undone = co_await undo(*job, until);
            if (undone == Undone::stopped) break;
        } else {
            done.letter = letter_for(saga, entry, *refusal);
        }
        until = limits.of_all;
        const auto letter = done.letter;
        step = co_await sagas_.next(saga, lease, std::move(done));
        if (letter && step.applied() && step.value().kind != SagaStep::Kind::lost)
            co_await dead_letters_.announce(*letter);
        is_set_aside = false;
        // Whoever waits has its turn between two entries.
        if (alone) break;
    }
    if (step.applied()) {
        switch (step.value().kind) {
            case SagaStep::Kind::over: co_return has_begun;
            case SagaStep::Kind::busy: context_.ports.log.reached("rollback_found_busy"); co_return has_begun;
            case SagaStep::Kind::lost: context_.ports.log.reached("rollback_lost_lock"); co_return has_begun;
            case SagaStep::Kind::entry: break;
        }
    }
    context_.ports.log.reached("rollback_left_to_resume");
    const std::string why = step.applied() ? "out of time" : step.failure().detail;
    context_.ports.log.event(LogLevel::warn, "rollback interrupted, will be resumed",
                             {{"saga", saga.text()}, {"error", why}});
    co_await lease.release();
    co_return has_begun;
}

Task<Rollbacks::Undone> Rollbacks::undo(const cap::JobRequest& job, MonoTime until) {
    const auto out_of_time = [&] { return context_.stopping || context_.ports.clock.monotonic() >= until; };
    if (out_of_time()) co_return Undone::stopped;
    const SafetyDecision decision = co_await policy_.check(job);
    if (out_of_time()) co_return Undone::stopped;
    if (decision.decision == Decision::deny && !decision.unknown_value) {
        context_.ports.log.reached("compensation_denied");
        context_.ports.log.event(
            LogLevel::warn, "compensation skipped: policy denies it",
            {{"job_id", job.job_id()}, {"undoes", job.parent_job_id()}, {"reason", decision.reason}});
        co_return Undone::dealt_with;
    }
    const bool published = co_await publish(job);
    co_return published ? Undone::dealt_with : Undone::stopped;
}

Task<bool> Rollbacks::publish(const cap::JobRequest& job) {
    const std::string subject(wire::kSubjectSubmit);
    const auto packet = wire::make_packet(job, job.job_id(), kSagaSender, context_.ports.clock.now());
    const auto published =
        co_await context_.ports.bus.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                            context_.ports.clock.in(context_.tunables.publish_timeout));
    // Also where nobody knows whether it is in the stream: published again it is the same job.
    if (!published.applied()) {
        context_.ports.metrics.add(Metric::saga_compensation_failed);
        context_.ports.log.event(LogLevel::error, "compensation not published",
                                 {{"job_id", job.job_id()}, {"error", published.failure().detail}});
        co_return false;
    }
    context_.ports.metrics.add(Metric::saga_compensation_dispatched);
    co_return true;
}

DeadLetter Rollbacks::letter_for(const SagaName& saga, const std::string& entry, const std::string& refusal) {
    context_.ports.metrics.add(Metric::saga_unmarshal_errors);
    const std::string id = "saga-unmarshal-" + compensation_uuid(saga, entry);
    context_.ports.log.event(LogLevel::error, "recorded compensation not usable",
                             {{"saga", saga.text()}, {"id", id}, {"reason", refusal}});
    return {id,
            {},
            cap::JOB_STATUS_FAILED_FATAL,
            fmt::format("a compensation of {} bytes, recorded for saga {}, is not usable: {}; it is kept in "
                        "lockstep:saga:unreadable:{}",
                        entry.size(), saga.text(), refusal, id),
            std::string(kSagaUnmarshalFailed)};
}

DeadLetter Rollbacks::letter_of_others(const SagaName& saga, const std::string& entry) {
    context_.ports.log.reached("saga_entry_expired");
    const std::string id = "saga-expired-" + compensation_uuid(saga, entry);
    context_.ports.log.event(LogLevel::warn, "recorded compensation of another tenant taken off a shared stack",
                             {{"stack", saga.stack()}, {"id", id}});
    return {
        id,
        {},
        cap::JOB_STATUS_FAILED_FATAL,
        fmt::format("a compensation of {} bytes, which no rollback of its own tenant has come for, has stood on {} for "
                    "longer than saga_entry_max_age; it is kept in lockstep:saga:unreadable:{}",
                    entry.size(), saga.stack(), id),
        std::string(kSagaEntryExpired)};
}

void Rollbacks::count_active() {
    context_.ports.metrics.set(Metric::saga_active, static_cast<double>(at_work_.size()));
}

Task<void> Rollbacks::drain(MonoTime deadline) {
    PRECONDITION(context_.stopping, "new work would go on being begun");
    const auto finished = co_await with_deadline(context_.ports.executor, deadline, [](Scope& scope) -> Task<bool> {
        co_await scope.join();
        co_return true;
    }(work_));
    if (finished) co_return;
    work_.cancel();
    at_work_.clear();
}

}  // namespace lockstep::engine
