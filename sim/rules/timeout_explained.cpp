// A job that a worker had, or could have had, while its replica was alive and its servers answered does not wait for its limit to end it.
// So a TIMEOUT always has a cause that can be named (engine/delivery-semantics.md, "To a submitter", 3, and "How a job can still run twice,
// or end unsent").
//
// 1. A job that is committed DISPATCHED becomes RUNNING, ends, or is taken back within the longest time that the calls on the way may take.
//    What excuses it: from when its handler took its lock until then the replica, Redis, NATS or a link was disturbed, a call of the
//    replica got no answer in time, or the stream refused the message (each is a row of that table; for the lock of a frozen replica see
//    wire.md 8.4).
// 2. By then the worker that its hash names has the message, whatever the job's state: it subscribes on core NATS, so only its own absence,
//    NATS or the sender keeps it from it. What excuses it: besides the above, a worker that was down, frozen, cut off, or has not
//    announced itself since it came up or lost a connection. A job that goes out on its topic has no such worker.
// 3. A job that times out while it is PENDING or SCHEDULED was tried shortly before, as far as nothing was disturbed and only a few jobs
//    waited. One that waits for a slot is for slot_used.
// 4. Always: a replica that has the answer that a dispatch is in the stream keeps the job's message until the job is RUNNING or has ended,
//    and requeues it where that cannot be recorded. So it does not acknowledge the only message about a job that it sent itself and that
//    is DISPATCHED. What excuses it: that the replica has died since, and with it the answer, or NATS the stream's end; that the message
//    has been delivered so often that it is given up ("Messages that cannot be handled", 2); or that it had been processed before, when the
//    job was left waiting for a slot, and comes again since NATS has not got its acknowledgement.
// 5. Where NATS was away while a dispatch was being published, and the stream has it all the same, it is looked for: the job is RUNNING
//    or has ended once publish_resend_limit has passed, if NATS was back in time for that, and nothing has disturbed the replica or Redis. A result that a replica has had in hand
//    by then ends the search: that result ends the job, be it an ack wait later.
//
// Whether the limit had passed is for job_history, whether a result should have been waited for is for stored_result_wins.
#include <algorithm>

#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/dispatch_times.h"
#include "sim/spec/giving_up.h"

namespace lockstep::sim::rules {

namespace {

using engine::to_millis;

/// From when NATS is back until every replica has found that out.
constexpr engine::Duration kUntilReconnected = std::chrono::seconds{10};

/// A dispatch that is judged later, with the job as it was then.
struct Watched {
    Observed about;
    Passage then;
    std::uint32_t begun = 0;

    /// No other dispatch has followed, and no loss.
    [[nodiscard]] bool is_latest() const {
        return about.job->passage.dispatches == then.dispatches && about.job->calling_off.begun == begun;
    }
};

/// 1 and 2
void goes_its_way(const Watched& watched, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const Job& job = *watched.about.job;
    const Time begun = watched.then.tried.at;
    // The call that took its lock may have waited for a connection; the lock is good from when that was made.
    const Time asked = begun - tunables.store_op_timeout;
    if (!watched.is_latest() || !is_out(job.in_hash) || !model.weather().clear_for(watched.about.node, asked)) return;
    verdict.exercised();
    const std::int64_t time = to_millis(spec::until_running(tunables));
    verdict.require(job.in_hash != State::dispatched, watched.about.event,
                    "it has been DISPATCHED for {} ms and is not RUNNING, and nothing has disturbed its replica, Redis "
                    "or NATS: only its limit will end it",
                    time);
    if (job.in_hash == State::dispatched) return;
    const Announced worker = model.announced(job.dispatch.worker);
    const bool could_get_it =
        worker.node.valid() && worker.since < begun && model.weather().clear_at(worker.node, begun);
    verdict.require(
        !could_get_it || job.passage.arrived >= begun, watched.about.event,
        "it has been sent to {} for {} ms, which has not got it, and nothing has disturbed that worker, the "
        "sender or NATS: only its limit will end it",
        model.name_of(job.dispatch.worker), time);
}

/// 5
void is_found(const Watched& watched, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const Job& job = *watched.about.job;
    const Time begun = watched.then.tried.at;
    const Outages& outages = model.outages();
    if (!watched.is_latest() || job.in_hash != State::dispatched || !job.passage.in_stream || outages.is_unsure())
        return;
    const auto was_in_hand = [](const WorkerResults::Stored& result) { return result.noted.event != 0; };
    if (std::ranges::any_of(job.results.unsettled(), was_in_hand)) return;
    if (!outages.only_nats(watched.about.node, begun) || !model.weather().clear_at(Topology::kRedis, begun)) return;
    if (outages.nats_fails() || outages.nats() + kUntilReconnected > begun + tunables.publish_resend_limit) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 8.4");
    verdict.require(
        false, watched.about.event,
        "the stream has its dispatch, NATS has been back for long enough to look for it within {} ms, and it "
        "is not RUNNING: only its result or its limit will end it",
        to_millis(tunables.publish_resend_limit));
}

/// 3
void was_tried(const StateChanged& change, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    constexpr int kFewJobs = 5;
    const Job& job = *change.job;
    const Since tried = job.passage.tried;
    if (job.passage.queued || tried.event == 0 || model.jobs_waiting() + 1 > kFewJobs) return;
    if (!model.weather().clear_everywhere(tried.at)) return;
    // Whose message is gone is tried again only by the replayer, for which the limit need not wait.
    const Time cut = model.outages().power_cut();
    if (cut != kBeforeAll && job.submission.stored_at <= cut) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 4.1");
    verdict.require(change.at - tried.at <= spec::between_tries(tunables), tried.event,
                    "it timed out while it was {}, it was not tried for {} ms, and nothing was disturbed",
                    to_string(change.in_hash), to_millis(change.at - tried.at));
}

void on_change(const StateChanged& change, const Model& model, Verdict& told, const engine::Tunables& tunables) {
    const Job& job = *change.job;
    if (change.to == State::timeout && !by_user(change.node) && is_waiting(change.in_hash))
        was_tried(change, model, told, tunables);
    told.exercised(change.in_hash == State::dispatched && change.to == State::running &&
                   model.weather().clear_for(change.node, job.passage.tried.at));
    if (change.to != State::dispatched || job.passage.tried_by != change.node) return;
    const Watched watched{change, job.passage, job.calling_off.begun};
    told.expect_by(change.at + spec::until_found(tunables),
                   [=, &tunables](const Model& now, Verdict& verdict) { is_found(watched, now, verdict, tunables); });
    told.expect_by(change.at + spec::until_running(tunables), [=, &tunables](const Model& now, Verdict& verdict) {
        goes_its_way(watched, now, verdict, tunables);
    });
}

/// 4
void keeps_its_message(const SubmissionSettled& settled, Verdict& verdict, const engine::Tunables& tunables) {
    const Job& job = *settled.job;
    if (!settled.was_only_one || !settled.node.valid() || job.passage.stored_by != settled.node) return;
    if (settled.given_up_at >= spec::first_given_up(tunables.bus_max_deliver)) return;
    if (settled.processed != 0 && settled.processed < job.passage.tried.event) return;
    verdict.exercised(!is_final(job.in_hash));
    verdict.cite("engine/wire/wire.md 8.4");
    verdict.require(job.in_hash != State::dispatched || job.dispatch.worker == 0, job.passage.tried.event,
                    "its message is acknowledged by the replica that sent it and knows that the dispatch is in the "
                    "stream, and it is still DISPATCHED: only its result or its limit will end it");
}

}  // namespace

void timeout_explained(Rules& rules, const engine::Tunables& tunables) {
    rules.add<NodeChanged>([&tunables](const StateChanged& change, const Model& model, Verdict& verdict) {
        on_change(change, model, verdict, tunables);
    });
    rules.add([&tunables](const SubmissionSettled& settled, const Model&, Verdict& verdict) {
        keeps_its_message(settled, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
