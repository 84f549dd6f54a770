// The lock of a job, as Redis has it. A holder is a token: two handlers of one replica are two.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// How a command is bound to a lock. `unseen`: the words of the command are not known.
enum class LockUse : std::uint8_t { unseen, no_token, present_token, former_token };

struct JobLock {
    struct Grant {
        fakes::NodeId node;
        Since since;
        Since taken;
    };
    fakes::NodeId holder;             // invalid: none
    std::string token;                // of the holder; empty: none
    std::vector<std::string> former;  // that it had before, the latest last
    EventNumber changed = 0;          // when the holder last became another, or none
    EventNumber taken = 0;            // last
    bool is_known = true;             // false: Redis lost data, and the lock was not taken since
    std::vector<Grant> grants;        // the last of each replica, by taking and renewing
    fakes::NodeId unreleased_by;      // took it last, and it was not released since: it may have run out
    fakes::NodeId ran_out_under;      // held it when it ran out, and did nothing about the job since

    void take(fakes::NodeId node, std::string_view by_token, Since since);
    Grant& renew(fakes::NodeId node, Since since);
    /// Given back, or run out.
    void leave(EventNumber event);
    /// Event 0: never, and so below.
    [[nodiscard]] Since granted_to(fakes::NodeId node) const;
    /// The same, without renewals.
    [[nodiscard]] Since taken_by(fakes::NodeId node) const;
    [[nodiscard]] LockUse use_by(std::span<const std::string_view> command) const;
};

}  // namespace lockstep::sim
