#include "sim/model/results.h"

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/validation.h"

namespace lockstep::sim {

State state_asked_for(const cap::JobResult& result) {
    if (engine::wire::rejection(result)) return State::absent;
    switch (result.status()) {
        case cap::JOB_STATUS_SUCCEEDED: return State::succeeded;
        case cap::JOB_STATUS_CANCELLED: return State::cancelled;
        case cap::JOB_STATUS_TIMEOUT: return State::timeout;
        case cap::JOB_STATUS_DENIED:
        case cap::JOB_STATUS_UNSPECIFIED:
        case cap::JOB_STATUS_PENDING:
        case cap::JOB_STATUS_SCHEDULED:
        case cap::JOB_STATUS_DISPATCHED:
        case cap::JOB_STATUS_RUNNING: return State::absent;
        default: return State::failed;
    }
}

void WorkerResults::stored(Sequence sequence, Since now, State asks_for, WorkerNumber worker) {
    std::erase_if(deliveries_, [sequence](const Delivery& old) { return old.sequence == sequence; });
    stored_.insert(std::ranges::upper_bound(stored_, sequence, {}, &Stored::sequence),
                   {.sequence = sequence, .since = now, .asks_for = asks_for, .worker = worker});
}

void WorkerResults::sent_by(WorkerNumber worker) {
    if (std::ranges::find(senders_, worker) == senders_.end()) senders_.push_back(worker);
}

void WorkerResults::delivered(fakes::NodeId node, Sequence sequence, Since now) {
    const auto of_node = [node](const Delivery& delivery) { return delivery.node == node; };
    const auto beside = static_cast<std::size_t>(std::ranges::count_if(deliveries_, of_node));
    // Of those that come at one instant any may be handled first.
    for (Delivery& other : deliveries_)
        if (of_node(other) && other.since.at == now.at) other.beside = std::max(other.beside, beside);
    std::erase_if(deliveries_, [&](const Delivery& other) { return of_node(other) && other.sequence == sequence; });
    deliveries_.push_back({node, sequence, now, beside});
}

void WorkerResults::requeued(fakes::NodeId node, Sequence sequence, engine::Duration delay, bool is_out, Since now) {
    const auto delivery = std::ranges::find_if(
        deliveries_, [&](const Delivery& one) { return one.node == node && one.sequence == sequence; });
    if (delivery == deliveries_.end()) return;
    const auto answer = std::ranges::find(answers_, node, &Answer::node);
    const auto stored = std::ranges::find(stored_, sequence, &Stored::sequence);
    const bool asked = answer != answers_.end() && answer->event > delivery->since.event;
    if (asked && stored != stored_.end()) stored->requeues.push_back({now, delay, delivery->beside, is_out});
    deliveries_.erase(delivery);
}

void WorkerResults::settled(Sequence sequence) {
    std::erase_if(stored_, [sequence](const Stored& stored) { return stored.sequence == sequence; });
    std::erase_if(deliveries_, [sequence](const Delivery& delivery) { return delivery.sequence == sequence; });
}

void WorkerResults::noted(Sequence sequence, Since now) {
    const auto stored = std::ranges::find(stored_, sequence, &Stored::sequence);
    if (stored != stored_.end()) stored->noted = now;
}

void WorkerResults::lock_answered(fakes::NodeId node, EventNumber event) {
    const auto answer = std::ranges::find(answers_, node, &Answer::node);
    if (answer == answers_.end())
        answers_.push_back({node, event});
    else
        answer->event = event;
}

void WorkerResults::node_down(fakes::NodeId node) {
    std::erase_if(deliveries_, [node](const Delivery& delivery) { return delivery.node == node; });
}

void WorkerResults::hash_lost() {
    for (Stored& stored : stored_) {
        stored.noted = {};
        stored.requeues.clear();
    }
}

EventNumber WorkerResults::delivered_at(fakes::NodeId node, Sequence sequence) const {
    const auto found = std::ranges::find_if(
        deliveries_, [&](const Delivery& one) { return one.node == node && one.sequence == sequence; });
    return found == deliveries_.end() ? 0 : found->since.event;
}

}  // namespace lockstep::sim
