// While nothing is disturbed, nothing is delivered, locked, tried or sent twice (engine/delivery-semantics.md; redis-schema.md 5, wire.md
// 4 and 4.1, D-03: work in progress is signalled).
//
// 1. A message that a replica has is not delivered again before that replica has requeued it: it signals that it is at work, well within
//    the ack wait. A replica that had it before, and was frozen with it, may requeue it as well; and a word that a link has held up may
//    reach the server after a later delivery has left it: then one more is due. A second arrival that carries the same count is a copy
//    that the link has made, one that carries a lower one was held up on its way, and one that carries a count higher by more than one
//    says that others had it in between.
// 2. No lock of a job runs out under a replica: a handler at work renews it, and releases it when it is done. A disturbance shortly
//    before the lock was taken excuses it, too: a call that its replica has given up may still take the lock, after the release
//    that was sent behind it on another connection, and then no handler knows that it is held.
//    Neither does the lock of a rollback or that of the snapshot.
// 3. A message is not requeued for the delay of a store or a bus that did not answer, unless a call of its replica got none or an error, or
//    that delay is what is left of another one that its job has been given.
// 4. Nor for the delay of a job that another handles, unless another has been at the job since it was delivered: another message
//    about it that is not settled, its lock held by others or by a call that the replica has given up, or a state that another has
//    written. A job whose state is `pending_age` old may be handled by the same replica already, which replays it.
// 5. A job is DISPATCHED once. It goes back to SCHEDULED only where its dispatch could not be sent, or its worker had fallen
//    silent.
// 6. Policy is asked about a job once for each occasion (Job::occasions); a job that waits beyond `pending_age` is tried once more for each
//    such span; and once more for each time that something went wrong since it was submitted with a server, the links or a replica that
//    handled it (Weather::mishaps), and for each `retry_delay_publish` while NATS or a link is away. Each tick may ask about a job that an
//    operator has approved and that still waits for it: half of what the operator wrote is missing. Not about a compensation:
//    a rollback asks about it as well, and asks again when another has taken it over (saga_exact).
// 7. No message is requeued for no time at all but by a replica that is asked to end: every other reason has its delay.
// 8. No connection to Redis or NATS breaks.
// 9. Each heartbeat reaches every replica (heartbeats_heard.h).
//
// "Undisturbed" is said of those whom the rule concerns, from when it began (weather.h): the replica that has the message or the
// lock, with Redis, NATS and the links. A disturbance elsewhere excuses nothing, and one that is over excuses nothing that begins
// later: so waste is bounded by the disturbances, too. A job of which Redis has lost anything is not judged any more.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "sim/model/capacity_keys.h"
#include "sim/rules/calm_rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using engine::to_millis;

/// The last heartbeat of a worker may still be on its way.
constexpr Duration kHeartbeatOnItsWay = std::chrono::seconds{1};
/// Who finds out late that a connection was dead has done so by then, or has made up for what it missed.
constexpr Duration kLastingCalm = std::chrono::seconds{30};
constexpr Duration kHeartbeatsMadeUp = std::chrono::seconds{5};

void no_connection_breaks(const ConnectionBroken& broken, const Model& model, Verdict& verdict) {
    if (by_user(broken.node)) return;
    verdict.exercised();
    verdict.cite("engine/delivery-semantics.md#while-redis-is-away-or-slow, 2");
    verdict.require(!model.weather().clear_for(broken.node, broken.at - kLastingCalm), 0,
                    "its connection to {} breaks, and nothing has disturbed either of them for {} ms",
                    broken.server == Topology::kRedis ? "Redis" : "NATS", to_millis(kLastingCalm));
}

void all_hear_heartbeats(const HeartbeatMissed& missed, const Model& model, Verdict& verdict) {
    verdict.cite("engine/wire/wire.md 2.1");
    verdict.require(!model.weather().clear_for(missed.node, missed.taken.at - kHeartbeatsMadeUp), missed.taken.event,
                    "it has heard heartbeats and not this one, which NATS took at {} ms, and nothing has disturbed "
                    "either of them: heartbeats are for every replica",
                    to_millis(missed.taken.at.time_since_epoch()));
}

/// Until when each replica was last about to publish a compensation.
using LastUndone = std::map<fakes::NodeId, Time>;

void no_lock_runs_out(const LockEnded& lock, const Model& model, Verdict& verdict, const LastUndone& undoing,
                      const engine::Tunables& tunables) {
    // A tick keeps its lock to the end of its window (single_ticker).
    if (is_tick_lock(lock.key) || is_run_tick_lock(lock.key) || lock.key == kCapacityTick) return;
    verdict.exercised();
    const bool is_unknown =
        !lock.holder.valid() || (lock.job != nullptr && (!lock.job->lock.is_known || is_partly_lost(*lock.job)));
    if (!lock.has_run_out || lock.is_lost || is_unknown || by_user(lock.holder)) return;
    // A rollback that takes all its time ends in the midst of an undoing: it can be told apart from one that has been left.
    const auto last = undoing.find(lock.holder);
    if (is_rollback_lock(lock.key) && last != undoing.end() &&
        lock.at - last->second < tunables.publish_timeout + tunables.store_op_timeout)
        return;
    const Time since = lock.taken.at - 2 * tunables.store_op_timeout;
    // A rollback asks policy under its lock.
    const bool is_undisturbed = model.weather().clear_for(lock.holder, since) &&
                                (lock.job != nullptr || model.weather().clear_at(Topology::kKernel, since));
    verdict.cite("engine/store/redis-schema.md 5");
    verdict.require(!is_undisturbed, lock.taken.event,
                    "{} runs out {} ms after it was taken, and nothing has disturbed its holder",
                    lock.job != nullptr ? "its lock" : lock.key, to_millis(lock.at - lock.taken.at));
}

/// Whether a replica hears the worker all the time since then.
bool is_heard(const Announced& worker, Time since, const StateChanged& change, const Model& model,
              const engine::Tunables& tunables) {
    const Time said = change.at - worker.last < kHeartbeatOnItsWay ? worker.before : worker.last;
    return worker.node.valid() && said + tunables.worker_ttl / 2 >= change.at &&
           model.weather().clear_at(worker.node, since - tunables.worker_ttl) &&
           model.weather().clear_for(change.node, since - tunables.worker_ttl);
}

/// Which replica dispatched each job last, and since when it had been at it.
struct LastDispatch {
    fakes::NodeId by;
    Time begun = kBeforeAll;
    WorkerNumber worker = 0;
};

void is_dispatched_once(const StateChanged& change, const Model& model, Verdict& verdict, LastDispatch& last,
                        const engine::Tunables& tunables) {
    if (change.to == State::dispatched) {
        verdict.exercised();
        const bool is_locked = change.lock.holder == change.node;
        last = {change.node, is_locked ? change.job->lock.taken_by(change.node).at : change.at,
                change.job->dispatch.worker};
        return;
    }
    if (change.in_hash != State::dispatched || change.to != State::scheduled || by_user(change.node)) return;
    if (is_partly_lost(*change.job) || change.node != last.by || !model.weather().clear_for(change.node, last.begun))
        return;
    const WorkerNumber worker = last.worker;  // its record names none by now
    verdict.cite("engine/wire/wire.md 8.4");
    verdict.require(!is_heard(model.announced(worker), last.begun, change, model, tunables), 0,
                    "its dispatch to {} is taken back, and neither that worker nor its replica was disturbed",
                    model.name_of(worker));
}

/// What policy was asked about a job.
struct Questions {
    Time submitted = kBeforeAll;          // its first message came
    std::vector<fakes::NodeId> replicas;  // that have handled it
    std::int64_t asked = 0;
    std::int64_t without_bus = 0;  // after a delay for which NATS or a link was disturbed
    EventNumber last = 0;
    Time last_at = kBeforeAll;
    bool is_compensation = false;
};

void policy_is_not_asked_again(const PolicyAsked& asked, const Model& model, Verdict& verdict, Questions& known,
                               const engine::Tunables& tunables) {
    const Job& job = *asked.job;
    const bool is_half_approved = job.state() == State::approval_required && job.causes.of(Asked::approve).called;
    if (is_partly_lost(job) || is_half_approved || known.is_compensation || known.submitted == kBeforeAll) return;
    verdict.exercised();
    ++known.asked;
    const bool has_waited = known.last != 0 && asked.at - known.last_at >= tunables.retry_delay_publish / 2;
    if (has_waited && !model.weather().bus_clear_at(known.last_at)) ++known.without_bus;
    const std::int64_t replays =
        tunables.pending_age > Duration{} ? (asked.at - known.submitted) / tunables.pending_age : 0;
    const std::int64_t mishaps = model.weather().mishaps(known.replicas, known.submitted);
    const std::int64_t allowed = asked.job->occasions + replays + mishaps + known.without_bus;
    verdict.cite("engine/wire/wire.md 8.1");
    verdict.require(known.asked <= allowed, known.last,
                    "policy is asked about it {} times, and there were {} occasions to, {} times that something "
                    "went wrong among them",
                    known.asked, allowed, mishaps);
    known.last = asked.event;
    known.last_at = asked.at;
}

void note_handler(fakes::NodeId replica, Questions& known) {
    if (std::ranges::count(known.replicas, replica) == 0) known.replicas.push_back(replica);
}

void note_submission(const Delivered& delivered, Questions& known) {
    known.is_compensation |= delivered.is_of_rollback;
    if (known.submitted != kBeforeAll) return;
    known.submitted = delivered.at;
}

template <class Value>
Value& of(std::vector<Value>& by_job, const Job& job) {
    const auto number = static_cast<std::size_t>(job.number);
    if (number >= by_job.size()) by_job.resize(number + 1);
    return by_job[number];
}

}  // namespace

void calm_weather(Rules& rules, const engine::Tunables& tunables) {
    struct State {
        LastUndone undoing;
        std::vector<LastDispatch> dispatches;
        std::vector<Questions> questions;
    };
    const auto state = std::make_shared<State>();
    messages_come_once(rules, tunables);
    rules.add(no_connection_breaks);
    rules.add(all_hear_heartbeats);
    rules.add([state](const CompensationSent& sent, const Model&, Verdict&) { state->undoing[sent.node] = sent.at; });
    rules.add<NodeChanged>([state, &tunables](const LockEnded& lock, const Model& model, Verdict& verdict) {
        no_lock_runs_out(lock, model, verdict, state->undoing, tunables);
    });
    rules.add<NodeChanged>([state, &tunables](const StateChanged& change, const Model& model, Verdict& verdict) {
        is_dispatched_once(change, model, verdict, of(state->dispatches, *change.job), tunables);
    });
    rules.add([state](const Delivered& delivered, const Model&, Verdict&) {
        if (!delivered.is_submission || delivered.job == nullptr) return;
        note_handler(delivered.node, of(state->questions, *delivered.job));
        note_submission(delivered, of(state->questions, *delivered.job));
    });
    rules.add([state](const LockGranted& granted, const Model&, Verdict&) {
        if (!granted.is_renewed && granted.job != nullptr && is_job_lock(granted.key))
            note_handler(granted.node, of(state->questions, *granted.job));
    });
    rules.add([state, &tunables](const PolicyAsked& asked, const Model& model, Verdict& verdict) {
        Questions& known = of(state->questions, *asked.job);
        // About a job that was never submitted only a rollback asks.
        if (known.submitted == kBeforeAll) state->undoing[asked.node] = asked.at + tunables.safety_timeout;
        note_handler(asked.node, known);
        policy_is_not_asked_again(asked, model, verdict, known, tunables);
    });
}

}  // namespace lockstep::sim::rules
