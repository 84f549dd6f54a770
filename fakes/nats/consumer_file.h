// ConsumerFile: what a durable consumer has on disk, and so what a server that starts again knows of it. The server
// keeps it by rules of its own beside those in memory, and a restart shows where the two differ:
//
//   - a message is kept with the time at which it was *published*, not delivered, in whole seconds; so after a restart
//     what is older than the ack wait is redelivered at the first check, however recently it was delivered;
//   - a message given up after its last delivery is still in the file, and pending again after a restart;
//   - an acknowledgement whose number in the order of deliveries lies below the file's floor is not written, and the floor
//     follows the last delivery of each message: an acknowledged message may be delivered again.
//
// Changes can be taken back to a moment, for a server that was killed before it had written them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "engine/runtime/time.h"

namespace lockstep::fakes {

class ConsumerFile {
public:
    struct Pending {
        std::uint64_t delivery_sequence = 0;  // of its last delivery
        engine::MonoTime since;               // when its ack wait began, as far as the file knows
    };
    struct Contents {
        std::map<std::uint64_t, Pending> pending;  // by stream sequence
        std::map<std::uint64_t, int> redelivered;  // how often more than once
        std::uint64_t floor_stream = 0;            // everything up to here is settled
        std::uint64_t floor_delivery = 0;
        std::uint64_t last_stream = 0;  // the last message that has ever been delivered
        std::uint64_t last_delivery = 0;
    };

    /// `keep_changes_for` bounds how far back `lose_after` may be asked to go.
    explicit ConsumerFile(engine::Duration keep_changes_for) : keep_changes_for_(keep_changes_for) {}

    /// A delivery, or a new start of the ack wait (with the message's first delivery sequence).
    void delivered(std::uint64_t sequence, std::uint64_t delivery_sequence, int count, engine::MonoTime since,
                   engine::MonoTime now);
    /// An acknowledgement or a term.
    void settled(std::uint64_t sequence, std::uint64_t delivery_sequence, engine::MonoTime now);

    /// Takes back every change made after `written`.
    void lose_after(engine::MonoTime written);

    /// As a server reads it that starts.
    [[nodiscard]] Contents read() const;

private:
    struct Change {
        engine::MonoTime at;
        std::uint64_t sequence = 0;
        std::optional<Pending> pending;  // as it was before, like the rest
        std::optional<int> redelivered;
        std::uint64_t floor_stream = 0;
        std::uint64_t floor_delivery = 0;
        std::uint64_t last_stream = 0;
        std::uint64_t last_delivery = 0;
    };

    void note(std::uint64_t sequence, engine::MonoTime now);
    void move_floor(std::uint64_t sequence, std::uint64_t delivery_sequence);

    const engine::Duration keep_changes_for_;
    Contents contents_;
    std::deque<Change> changes_;
};

}  // namespace lockstep::fakes
