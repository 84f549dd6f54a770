#include "engine/scheduler/jobs_stream.h"

#include <algorithm>

#include "engine/bus/stream_search.h"
#include "engine/runtime/invariant.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

NotApplied other_server() { return NotApplied{{FailureCause::disconnected, "the server is another one meanwhile"}}; }

}  // namespace

Task<Outcome<StreamPlace>> JobsStream::end(MonoTime deadline) {
    const BusConnection asked = bus_.connection();
    if (asked.connected && good_for(end_, asked.server)) co_return end_;
    const auto state = co_await bus_.stream_state(std::string(wire::kStreamJobs), deadline);
    if (!state.applied()) co_return state.failure_as<StreamPlace>();
    if (!speaks_to(asked.server)) co_return other_server();
    if (!end_.server.empty()) log_.reached("stream_end_learnt_anew");
    end_ = {state.value().last_sequence, asked.server};
    co_return end_;
}

void JobsStream::note_stored(StreamSequence sequence, const std::string& server) {
    if (server.empty() || server != end_.server) return;
    end_.sequence = std::max(end_.sequence, sequence);
}

bool JobsStream::good_for(const StreamPlace& place, const std::string& server) const {
    if (place.server.empty()) return false;
    return place.server == server || !mechanisms_.on(Mechanism::floor_same_server);
}

Task<std::optional<Sighting>> JobsStream::look_for(SoughtMessage sought) {
    PRECONDITION(!sought.subject.empty() && !sought.id.empty(), "'{}' is looked for on '{}'", sought.id,
                 sought.subject);
    Sighting sighting;
    sighting.server = bus_.connection().server;
    sighting.certain = good_for(sought.floor, sighting.server);
    StreamSequence from = sought.floor.sequence.next();
    if (!sighting.certain) {
        log_.reached("stream_searched_by_time");
        const auto first = co_await first_since(sought.not_before - tunables_.stream_clock_margin, sighting.server);
        if (!first) co_return std::nullopt;
        from = *first;
    }
    while (true) {
        const auto next = co_await read(sought.subject, from, sighting.server);
        if (!next.applied()) co_return std::nullopt;
        if (!next.value()) {
            const auto state = co_await bus_.stream_state(std::string(wire::kStreamJobs), deadline());
            if (!state.applied() || !speaks_to(sighting.server)) co_return std::nullopt;
            if (state.value().limited || state.value().clustered) sighting.certain = false;
            co_return sighting;
        }
        sighting.found = next.value()->message_id == sought.id;
        if (sighting.found) co_return sighting;
        from = next.value()->sequence.next();
    }
}

Task<std::optional<StreamSequence>> JobsStream::first_since(WallTime time, std::string server) {
    const auto state = co_await bus_.stream_state(std::string(wire::kStreamJobs), deadline());
    if (!state.applied() || !speaks_to(server)) co_return std::nullopt;
    co_return co_await engine::first_since(state.value(), time,
                                           [this, server](StreamSequence from) { return read({}, from, server); });
}

Task<Outcome<std::optional<StoredMessage>>> JobsStream::read(std::string subject, StreamSequence from,
                                                             std::string server) {
    if (!speaks_to(server)) co_return other_server();
    auto found = co_await bus_.read_stream(std::string(wire::kStreamJobs), std::move(subject), from, deadline());
    if (found.applied() && !speaks_to(server)) co_return other_server();
    co_return found;
}

}  // namespace lockstep::engine
