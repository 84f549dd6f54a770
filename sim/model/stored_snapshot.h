// The worker snapshot that is stored in Redis, and the lock of its writer.
#pragma once

#include <chrono>
#include <optional>

#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

struct StoredSnapshot {
    SnapshotText text;
    /// Since the Unix epoch, by the clock of Redis; nothing: it is lost, or a fault changed it.
    std::optional<std::chrono::milliseconds> expires_at;
    Since changed;          // written, lost or changed by a fault
    EventNumber lost = 0;   // when it was last lost or changed by a fault
    bool is_fresh = false;  // it was by the present command, whose event is still to come

    fakes::NodeId writer;           // last; invalid: none yet
    std::chrono::seconds latest{};  // the `captured_at` of what was written last, unless Redis lost data since

    fakes::NodeId lock_holder;  // invalid: none, or unknown
    Time unlocked{};            // when it was given back or ran out last
    Since locked;               // event 0: not
    int locks_lost = 0;         // that ran out since the last write
    Time failed{};              // when a call of who holds its lock got no answer, or was not carried out, last

    /// When what Redis has was written; nothing: unknown.
    [[nodiscard]] std::optional<Time> written() const { return expires_at ? std::optional(changed.at) : std::nullopt; }
    void lose(EventNumber event) {
        lost = event;
        text = {};
        expires_at.reset();
        is_fresh = true;
    }
};

}  // namespace lockstep::sim
