// What the model makes of handlers that choose workers for jobs, and of what their replicas count for each worker.
#include <algorithm>
#include <utility>

#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

Choosing* Model::choosing(Job& job, fakes::NodeId replica) {
    const auto found = std::ranges::find(job.choosing, replica, &Choosing::replica);
    return found == job.choosing.end() ? nullptr : &*found;
}

/// It took the lock, or policy answered it.
void Model::may_choose(const Event& event, Job& job, Since since) {
    Choosing* known = choosing(job, event.node);
    if (event.kind != EventKind::lock_acquired) {
        if (known != nullptr)
            known->since = since;
        else
            job.choosing.push_back({.replica = event.node, .since = since});
        return;
    }
    const std::size_t token = event.name.empty() ? 0 : std::hash<std::string_view>{}(event.name);
    // A handler whose lock was lost acquires it once more, and goes on with what it has chosen.
    const bool goes_on = known != nullptr && token != 0 && known->token == token;
    if (!goes_on) {
        choose_no_more(job, event.node, since, true);
        known = &job.choosing.emplace_back(Choosing{.replica = event.node, .since = since, .token = token});
        known->begun = known->called = since.event;
        known->is_undecided = !is_final(job.state()) && !is_out(job.state());
        known->kept_free = job.kept_free;
    }
    if (!is_scheduler(event.node) || std::exchange(known->is_held, true)) return;
    replica(event.node).handled.push_back(&job);
}

/// `knows`: it released the lock; else it may choose for some time yet.
void Model::choose_no_more(Job& job, fakes::NodeId node, Since lost, bool knows) {
    Choosing* known = choosing(job, node);
    if (known == nullptr) return;
    if (std::exchange(known->is_held, false)) {
        std::erase(replica(node).handled, &job);
        if (known->is_undecided) replica(node).traffic.may_have_chosen(known->since.event, lost, knows);
    }
    if (knows) std::erase_if(job.choosing, [node](const Choosing& one) { return one.replica == node; });
}

Choice Model::choice_of(const Job& job, const Choosing& choosing) const {
    Choice choice{.from = choosing.since.event,
                  .to = std::max(choosing.since.event, choosing.called),
                  .from_at = choosing.since.at,
                  .acquired = choosing.begun,
                  .made = clock_.present(),
                  .undecided = {}};
    for (const Job* other : at(choosing.replica).handled) {
        if (other == &job) continue;
        const auto& its = *std::ranges::find(other->choosing, choosing.replica, &Choosing::replica);
        if (its.is_undecided && its.since.event <= choice.to) choice.undecided.push_back(its.since.event);
    }
    return choice;
}

void Model::choose(fakes::NodeId node, Job& job, std::string_view worker) {
    Choosing* known = choosing(job, node);
    if (known == nullptr) return;
    WorkerChosen& fact = note(WorkerChosen{}, node, &job, clock_.present());
    fact.worker = job.dispatch.worker;
    fact.since = known->since;
    if (!known->is_held || worker.empty()) return;
    fact.choice = choice_of(job, *known);
    fact.number = ++known->choices;
    fact.begun = known->begun;
    fact.is_kept_free = known->kept_free == fact.worker || job.kept_free == fact.worker;
    for (const auto& [taken_back, event] : known->taken_back)
        if (taken_back == fact.worker) fact.taken_back = event;
    if (known->choices > 1 && is_written_by_scheduler(node)) change_of(job).is_chosen_again = true;
    known->is_undecided = false;
    // No report of a worker is good for longer. A replica may be frozen before it counts.
    constexpr engine::Duration kFrozen = std::chrono::minutes{10};
    ReplicaTraffic& traffic = replica(node).traffic;
    traffic.forget_before(clock_.told_at() - 3 * liveness_times_.worker_ttl - kFrozen);
    traffic.chosen(fact.worker, &job, fact.since.event, {upcoming(), clock_.told_at()});
}

void Model::take_choice_back(fakes::NodeId node, Job& job, std::string_view worker) {
    if (!is_scheduler(node)) return;
    const WorkerNumber number = worker_names_.find(worker);
    const auto taken_back = replica(node).traffic.doubt(number, &job);
    Choosing* known = choosing(job, node);
    if (known == nullptr || !known->is_held || !taken_back || taken_back->is_sent) return;
    known->taken_back.emplace_back(number, taken_back->last.event);
    known->since = {upcoming(), clock_.told_at()};
    known->is_undecided = true;
}

void Model::note_not_sent(fakes::NodeId node, Job& job, std::string_view cause) {
    const Choosing* known = choosing(job, node);
    if (known == nullptr || !known->is_held) return;
    NotSent& fact = note(NotSent{}, node, &job, clock_.present());
    fact.cause = cause;
    fact.choice = choice_of(job, *known);
    fact.was_refused = known->refused != 0;
}

/// A call of Redis about the job, which has a kind, or a question to policy.
void Model::follow_choice(const Event& call, Job& job, StateReads::CallKind kind) {
    if (!is_scheduler(call.node)) return;
    Choosing* known = choosing(job, call.node);
    if (call.when == When::before && known != nullptr) known->called = clock_.present();
    if (call.when == When::before || call.kind != EventKind::redis) return;
    const bool is_answered = call.when == When::answered;
    if (ReplicaTraffic& traffic = replica(call.node).traffic; traffic.has_uncounted()) {
        if (is_answered)
            traffic.answered(&job, kind, call.outcome == EventOutcome::applied, clock_.told_at());
        else
            traffic.recorded(&job, kind, call_times_.is_open(call.node, job.number, kind));
    }
    // After a pause it hears of a refusal long afterwards.
    if (is_answered && known != nullptr && known->refused != 0) note_refused(call.node, job, known->refused);
}

/// A publish of the job for the worker, or on its topic.
void Model::follow_traffic(const Event& event, Job& job, WorkerNumber worker) {
    if (!is_scheduler(event.node)) return;
    ReplicaTraffic& traffic = replica(event.node).traffic;
    if (event.when == When::answered && event.outcome != EventOutcome::applied) traffic.doubt(worker, &job);
    if (event.when != When::before) return;
    if (worker != 0) return traffic.sent(worker, &job);
    const Choosing* known = choosing(job, event.node);
    if (known == nullptr || !known->is_held) return;
    SentOnTopic& fact = note(SentOnTopic{}, event.node, &job, clock_.present());
    fact.subject = event.subject;
    fact.choice = choice_of(job, *known);
}

void Model::note_refused(fakes::NodeId node, Job& job, WorkerNumber worker) {
    if (!is_scheduler(node)) return;
    std::vector<Time>& full = replica(node).full;
    if (worker >= full.size()) full.resize(worker + 1, kBeforeAll);
    full[worker] = clock_.told_at();
    if (Choosing* known = choosing(job, node)) known->refused = worker;
}

}  // namespace lockstep::sim
