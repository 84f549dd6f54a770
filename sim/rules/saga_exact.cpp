// A rollback submits each recorded compensation of its own run once, the last recorded first, none lost, none twice; one that policy
// denies is used up. No failure undoes what jobs of another tenant did, whatever runs and workflows are called
// (engine/delivery-semantics.md, "Steps that are undone").
//
// 1. A job that succeeds has its compensation recorded, once and as sim/spec/undoing.h says, and no other job has; nor has a compensation.
// 2. A compensation is taken off a stack under the lock of that very stack: `saga:<workflow>:lock` for `saga:<workflow>:stack`, and
//    `lockstep:saga:lock:<run>` for `lockstep:saga:<run>`.
// 3. A rollback is owed once a job has ended FAILED after a fatal result of its worker was received. Nothing is submitted in its name after
//    the shorter of its limit and the life of its lock. Where jobs name no run, only what was recorded before the failure is owed.
// 4. At the end what is owed was submitted and has ended, or policy denies it. What no submission could look like is kept aside, with a dead
//    letter; so is what others have recorded, once saga_entry_max_age has passed since a rollback came across it.
//
// Excused are sagas of which Redis has lost something of a stack or a job, or that were being rolled back when it was restored.
#include <algorithm>

#include "engine/wire/messages.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/undoing.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using engine::to_millis;

std::string_view name_of(const Job* job) { return job == nullptr ? std::string_view{} : job->name; }

void is_recorded_as_due(const CompensationRecorded& fact, const Model&, Verdict& verdict) {
    if (fact.recorded == nullptr || fact.recorded->request == nullptr) return;
    verdict.require(!fact.is_second, 0, "its compensation was recorded a second time in the saga {}",
                    fact.recorded->saga->name);
    const cap::JobRequest* undone = fact.job == nullptr ? nullptr : fact.job->request.latest();
    if (!is_scheduler(fact.node) || undone == nullptr || !undone->has_compensation()) return;
    if (!belongs_to_workflow(*undone)) return;
    verdict.exercised();
    const bool undoes_one = is_marked_as_compensation(*undone);
    verdict.cite("engine/wire/wire.md 10");
    verdict.require(!undoes_one, 0, "it is a compensation, and another one is recorded for it");
    const std::string wrong = undoes_one ? std::string{} : spec::misrecorded(*fact.recorded->request, *undone);
    verdict.require(wrong.empty(), 0, "its compensation is recorded otherwise: {}", wrong);
}

void is_taken_under_its_lock(const CompensationTaken& taken, const Model&, Verdict& verdict) {
    verdict.cite("engine/store/redis-schema.md 5");
    verdict.require(taken.is_locked || !is_scheduler(taken.node), taken.recorded->event,
                    "its compensation is taken off {} without {}", taken.recorded->stack->key, taken.lock);
}

void is_submitted_as_recorded(const CompensationSent& sent, Verdict& verdict) {
    const SagaEntry& recorded = *sent.recorded;
    verdict.cite("engine/wire/wire.md 10");
    const std::string wrong =
        recorded.request == nullptr ? std::string{} : spec::missubmitted(*sent.request, *recorded.request);
    verdict.require(wrong.empty(), recorded.event, "its compensation is submitted otherwise: {}", wrong);
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 3");
    verdict.require(!sent.was_denied || recorded.submitted != nullptr, 0, "it is undone by {}, which policy had denied",
                    sent.by->name);
}

/// What comes next is what was recorded last, but for what was recorded after the look at the stack.
void is_the_last_recorded(const CompensationStored& stored, Verdict& verdict) {
    const SagaEntry& recorded = *stored.recorded;
    for (const SagaEntry& other : stored.saga->recorded) {
        const bool was_above = !other.is_taken && other.order > recorded.order && other.order < stored.looked;
        verdict.require(!was_above || other.submitted != nullptr, other.event,
                        "it is undone before {}, which succeeded later", name_of(other.undoes));
    }
}

void is_due(const CompensationStored& stored, const Model&, Verdict& verdict) {
    verdict.exercised();
    const Saga& saga = *stored.saga;
    const std::string_view by = stored.by->name;
    verdict.require(saga.may_roll_back, 0, "it is undone by {}, and no job of the saga {} failed fatally", by,
                    saga.name);
    if (!saga.may_roll_back) return;
    const SagaEntry* recorded = stored.recorded;
    verdict.require(recorded != nullptr, 0, "it is undone by {}, which was not recorded", by);
    if (recorded == nullptr) return;
    const bool has_failed = saga.is_run || saga.is_under_way || recorded->order <= saga.ended;
    verdict.require(has_failed, 0, "it is undone by {}, and nothing of the saga {} has failed since its last rollback",
                    by, saga.name);
    verdict.require(stored.before == nullptr || stored.before == stored.by, stored.stored_before,
                    "it is undone by {}, and before that by {}", by, name_of(stored.before));
    is_the_last_recorded(stored, verdict);
}

void comes_to_its_end(const SagaEntry& recorded, Verdict& verdict) {
    const Saga& saga = *recorded.saga;
    const Job* undone = recorded.undoes;
    verdict.about(undone);
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 5");
    verdict.require(!recorded.is_taken || recorded.request != nullptr || recorded.is_kept, recorded.event,
                    "a compensation that cannot be used was taken off {}, and is not kept", recorded.stack->key);
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 1");
    verdict.require(!recorded.is_taken || recorded.is_done(), recorded.event,
                    "its compensation was taken off the saga {} and never published", saga.name);
    verdict.require(recorded.is_taken || !saga.owes(recorded), recorded.event,
                    "its compensation is still on the stack of the saga {}, which failed", saga.name);
    if (recorded.request == nullptr || undone == nullptr || undone->undoing.has_succeeded) return;
    const cap::JobRequest* request = undone->request.latest();
    if (request == nullptr || !belongs_to_workflow(*request)) return;
    // The worker of one whose pointer is refused has done the work all the same.
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone");
    verdict.require(undone->letter.first_code == "invalid_result_pointer", recorded.event,
                    "its compensation was recorded although it did not succeed");
}

void all_is_undone(const AllAtRest&, const Model& model, Verdict& verdict) {
    for (const auto& [name, saga] : model.sagas().by_name)
        for (const SagaEntry& recorded : saga.recorded)
            if (!saga.is_lost) comes_to_its_end(recorded, verdict);
    for (const auto& [number, one] : model.sagas().compensations) {
        const State end = one.job->in_hash == State::absent ? one.job->undoing.last : one.job->in_hash;
        verdict.about(one.job);
        verdict.require(!one.is_open(), 0, "this compensation was published, and at the end it is {}",
                        end == State::absent ? "unknown" : to_string(end));
    }
}

void was_recorded(const AtRest& rest, const Model&, Verdict& verdict) {
    const auto& [last, has_succeeded, kept_aside, due_in] = rest.job->undoing;
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 5");
    verdict.require(kept_aside == 0 || !rest.job->letter.first_code.empty(), kept_aside,
                    "lockstep:saga:unreadable:{0} is kept, and there was never a dead letter {0}", rest.job->name);
    if (due_in == nullptr || due_in->is_lost) return;
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone");
    verdict.require(std::ranges::count(due_in->recorded, rest.job, &SagaEntry::undoes) > 0, 0,
                    "it succeeded, and its compensation was not recorded in the saga {}", due_in->name);
}

}  // namespace

void saga_exact(Rules& rules, const engine::Tunables& tunables) {
    rules.add(is_recorded_as_due);
    rules.add(is_taken_under_its_lock);
    rules.add([&tunables](const CompensationSent& sent, const Model&, Verdict& verdict) {
        if (sent.recorded == nullptr || sent.recorded->saga->is_lost) return;
        is_submitted_as_recorded(sent, verdict);
        if (!sent.rollback) return;
        // The first one may take the life of the lock.
        const Duration limit = sent.rollback->has_submitted
                                   ? std::min(tunables.saga_rollback_timeout, tunables.saga_lock_ttl)
                                   : tunables.saga_lock_ttl;
        verdict.cite("engine/wire/wire.md 10");
        const Duration passed = sent.at - sent.rollback->begun;
        verdict.require(spec::by_the_fastest_clock(passed) <= limit, sent.recorded->event,
                        "its compensation is submitted {} ms after its rollback was begun, which may last {} ms",
                        to_millis(passed), to_millis(limit));
    });
    rules.add([&tunables](const CompensationTooOld& old, const Model& model, Verdict& verdict) {
        if (model.clocks_jumped()) return;
        verdict.exercised();
        verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 4");
        verdict.require(
            old.met_for >= spec::by_the_fastest_clock(tunables.saga_entry_max_age), old.recorded->event,
            "its compensation is taken off {} for its age, and a rollback has first come across it {} ms ago",
            old.recorded->stack->key, to_millis(old.met_for));
    });
    rules.add(is_due);
    rules.add(was_recorded);
    rules.add<CompensationSent, PolicyAsked>(all_is_undone);
}

}  // namespace lockstep::sim::rules
