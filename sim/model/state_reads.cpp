#include "sim/model/state_reads.h"

#include <algorithm>

namespace lockstep::sim {

StateReads::Reader& StateReads::at(fakes::NodeId node) {
    const auto found = std::ranges::find(readers_, node, &Reader::node);
    return found != readers_.end() ? *found : readers_.emplace_back(Reader{.node = node});
}

void StateReads::executed(fakes::NodeId node, CallKind kind) {
    // The changes that it made to the lock were told just before.
    Reader& reader = at(node);
    if (reader.given != Given::by_present_call) return;
    reader.given = Given::by_call;
    reader.given_by = kind;
}

void StateReads::lock_changed_hands() {
    for (Reader& reader : readers_) reader.holds = false;
}

void StateReads::finish_call(Reader& reader, CallKind kind) {
    const auto call = std::ranges::find(reader.in_flight, kind);
    if (call != reader.in_flight.end()) reader.in_flight.erase(call);
}

bool StateReads::answered(fakes::NodeId node, const Reply& reply, EventNumber event) {
    Reader& reader = at(node);
    if (reply.for_lock) finish_call(reader, reply.kind);
    const bool failed = reply.outcome != fakes::EventOutcome::applied || reply.is_error;
    const bool may_be_of_another = reply.outcome == fakes::EventOutcome::not_applied ||
                                   std::ranges::find(reader.in_flight, reply.kind) != reader.in_flight.end();
    const bool is_of_given =
        reader.given == Given::by_present_call || (reader.given == Given::by_call && reader.given_by == reply.kind);
    const bool given = is_of_given && !(failed && may_be_of_another);
    if (given) reader.given = Given::nothing;
    if (failed) {
        if (reader.holds) return false;
        reader.unread = event;
        return true;
    }
    if (given || !reply.for_lock) reader.unread = 0;
    if (given) reader.holds = true;
    return false;
}

void StateReads::node_down(fakes::NodeId node) {
    for (Reader& reader : readers_)
        if (reader.node == node) reader.in_flight.clear();
}

EventNumber StateReads::unread_since(fakes::NodeId node) const {
    const auto found = std::ranges::find(readers_, node, &Reader::node);
    return found == readers_.end() ? 0 : found->unread;
}

}  // namespace lockstep::sim
