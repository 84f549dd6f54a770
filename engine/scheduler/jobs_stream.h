// What a scheduler knows of the stream that carries jobs to workers, and how it looks for a message there.
//
// 1. A number in the stream means something only to the server process that told of it: another one may have lost its power,
//    and gives out again the numbers of what it had not synced (D-15).
// 2. A search is answered by one process from its first read to its last, or comes to nothing.
// 3. Where no number of that process is known, a search begins at the first message that is not older than the message can
//    be, found by bisection over the times at which messages were stored. The clocks of Redis and NATS may lie apart by
//    Tunables::stream_clock_margin; if it is more, such a search may miss the message. That is why "not found" is certain
//    only where it began at a number.
// 4. A stream with a limit on its messages or bytes refuses what is too much, or drops what is old, and subscribers have had it
//    all the same, and so does that of a cluster whose servers have no quorum or do not reach each other. What such a stream does
//    not hold may have been sent: "not found" is never certain there.
#pragma once

#include <optional>
#include <string>

#include "engine/config/mechanisms.h"
#include "engine/config/tunables.h"
#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"

namespace lockstep::engine {

struct StreamPlace {
    StreamSequence sequence;
    std::string server;  // the process that told of it; empty = nobody knows which, and the number is worth nothing
};

/// A message of whose fate nobody was told.
struct SoughtMessage {
    std::string subject;
    std::string id;
    StreamPlace floor;      // it stands above this
    WallTime not_before{};  // by Redis' clock it was not sent before
};

struct Sighting {
    bool found = false;
    bool certain = false;  // where it was not found: there is none, whatever clocks say
    std::string server;    // whose word that is
};

class JobsStream {
public:
    /// All arguments outlive the object.
    JobsStream(Bus& bus, Clock& clock, Log& log, const Tunables& tunables, const Mechanisms& mechanisms)
        : bus_(bus), clock_(clock), log_(log), tunables_(tunables), mechanisms_(mechanisms) {}

    /// A place that whatever is published from now on will stand above, if the process at the other end of the connection
    /// stores it. Asks that process only if it has told nothing yet.
    [[nodiscard]] Task<Outcome<StreamPlace>> end(MonoTime deadline);
    /// `server` has given out this number; empty = nobody knows who has.
    void note_stored(StreamSequence sequence, const std::string& server);
    /// Nothing when that could not be learnt. REQUIRES: a subject and an id: without one, any message would do. One round trip for each message on its subject since, one more where it is not
    /// found, and where there is no number to begin at, as many more as the length of the stream has binary digits.
    [[nodiscard]] Task<std::optional<Sighting>> look_for(SoughtMessage sought);

private:
    [[nodiscard]] bool good_for(const StreamPlace& place, const std::string& server) const;
    /// The first number whose message was not stored before `time`.
    [[nodiscard]] Task<std::optional<StreamSequence>> first_since(WallTime time, std::string server);
    /// As Bus::read_stream, and *not applied* when it is not that process' word.
    [[nodiscard]] Task<Outcome<std::optional<StoredMessage>>> read(std::string subject, StreamSequence from,
                                                                   std::string server);
    [[nodiscard]] bool speaks_to(const std::string& server) const { return bus_.connection().server == server; }
    [[nodiscard]] MonoTime deadline() const { return clock_.in(tunables_.store_op_timeout); }

    Bus& bus_;
    Clock& clock_;
    Log& log_;
    const Tunables& tunables_;
    const Mechanisms& mechanisms_;
    StreamPlace end_;
};

}  // namespace lockstep::engine
