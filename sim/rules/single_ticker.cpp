// Never two replicas tick in one lock window. A tick is what reads a range of an index of jobs or runs, or of the timers of delays, by a
// command that names the tick lock. Nor is a tick lock in the way of other replicas for longer than its window.
//
// A ticker extends the lock while it ticks: whatever the reconciler reads, it reads within a third of the lock's life, and what
// calls take, after the last grant; judged until anything is disturbed, and of locks that live for ten seconds. And a replica that
// has asked for the lock and was not given it ends no job any more: a TIMEOUT that is written under no lock of its job is a tick's.
// What it counts the lock's life from is when it asked, not when the answer came: it begins no TIMEOUT later than a third of
// that life after it asked last, or than the answer.
//
// Redis counts the window, by its own clock: one that jumped, or goes fast, may end it early.
#include <algorithm>
#include <string_view>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/tick_windows.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

namespace {

/// One call for the lock, and one that came before it.
constexpr engine::Duration kCallsOfATick = std::chrono::seconds{1};
constexpr engine::Duration kExtensionJudgedFrom = std::chrono::seconds{10};

/// How much of another replica's window is left; none where that one has not ticked.
engine::Duration left_of_the_window(const TickLock& lock, const Observed& observed, engine::Duration window) {
    const TickLock::Tick& last = lock.last;
    if (!last.replica.valid() || last.replica == observed.node || last.granted.event == 0) return {};
    return last.granted.at + window - observed.at;
}

void ticks_alone(const Ticked& tick, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const TickLock& lock = tick.lock;
    const engine::Duration window = spec::window_of(lock.kind, tunables);
    const engine::Duration left = left_of_the_window(lock, tick, window);
    verdict.require(left <= spec::tolerance(window), lock.last.event,
                    "it ticks under {} while the window of another replica's tick lasts {} ms more", lock.key,
                    engine::to_millis(left));
    const bool extends = lock.kind == TickLock::Kind::reconciler && window >= kExtensionJudgedFrom;
    if (!extends || model.disturbed() || lock.granted_to != tick.node || lock.clock_is_off) return;
    const engine::Duration age = tick.at - lock.granted.at;
    verdict.require(age <= spec::third_of(window) + kCallsOfATick + spec::tolerance(window), lock.granted.event,
                    "it ticks under {}, which it was granted {} ms ago for {} ms and has not extended since", lock.key,
                    engine::to_millis(age), engine::to_millis(window));
}

void is_held_no_longer(const TickLockReached& reached, Verdict& verdict, const engine::Tunables& tunables) {
    const TickLock& lock = reached.lock;
    const engine::Duration window = spec::window_of(lock.kind, tunables);
    verdict.exercised(left_of_the_window(lock, reached, window) > engine::Duration{});
    const engine::Duration age = reached.at - lock.granted.at;
    verdict.require(!lock.held || lock.clock_is_off || age <= window + spec::tolerance(window), lock.granted.event,
                    "{} was granted for {} ms, and is still held {} ms later", lock.key, engine::to_millis(window),
                    engine::to_millis(age));
}

void ends_jobs_in_its_window(const StateChanged& change, const Model& model, Verdict& verdict,
                             const engine::Tunables& tunables) {
    const bool as_its_worker_reported = change.lock.is_known && change.lock.holder == change.node;
    if (change.to != State::timeout || !is_scheduler(change.node) || as_its_worker_reported) return;
    const TickHold* hold = model.tick_hold(change.node);
    if (hold == nullptr) return;
    verdict.require(hold->refused == 0, hold->refused,
                    "it is ended by a tick, and the replica has been told since that another one holds the lock of the "
                    "reconciler");
    const std::vector<RecordCall>& calls = change.job->record_calls;
    const auto call = std::ranges::find(calls, change.node, &RecordCall::replica);
    if (call == calls.end() || !hold->is_known || call->begun <= hold->granted_answered) return;
    const engine::Duration third = spec::third_of(spec::window_of(TickLock::Kind::reconciler, tunables));
    const engine::Duration age = call->begun - hold->granted_asked;
    verdict.require(age <= spec::by_the_slowest_clock(third), hold->granted,
                    "it is ended by a tick that has asked for the lock of the reconciler {} ms before, and its third "
                    "lasts {} ms",
                    engine::to_millis(age), engine::to_millis(third));
}

}  // namespace

void single_ticker(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const Ticked& tick, const Model& model, Verdict& verdict) {
        ticks_alone(tick, model, verdict, tunables);
    });
    rules.add([&tunables](const TickLockReached& reached, const Model&, Verdict& verdict) {
        is_held_no_longer(reached, verdict, tunables);
    });
    rules.add<Ticked>([&tunables](const StateChanged& change, const Model& model, Verdict& verdict) {
        ends_jobs_in_its_window(change, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
