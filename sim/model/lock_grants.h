// Locks of all kinds, by key: who holds each, and since when its holder wants to be rid of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/model/job_keys.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// Whether a lock is of one job or run, whose handler releases it. The others are kept, or taken again and again.
[[nodiscard]] constexpr bool is_released(std::string_view lock) { return is_job_lock(lock) || is_run_lock(lock); }

/// A lock is to be released: its holder called for that, or got no reply that it has it.
struct ReleaseAsked {
    fakes::NodeId by;  // invalid: none is to be
    Since since;
    bool is_unconfirmed = false;
};

struct LockGrant {
    std::string_view key;
    fakes::NodeId holder;  // invalid: none
    Since taken;
    EventNumber changed = 0;    // when it was last taken or renewed; 0: never
    std::string token;          // empty: it is not held
    std::int64_t life_ms = 0;   // of a job's lock
    bool is_confirmed = false;  // its holder has a reply that it has it
    ReleaseAsked release;

    /// Calls of one replica for it that were not answered.
    struct Calls {
        fakes::NodeId replica;
        std::string words;  // of the last
        int open = 0;
        bool several = false;
    };
    std::vector<Calls> calls;
};

class LockGrants {
public:
    struct Change {
        std::string_view key;  // valid as long as this
        fakes::NodeId holder;  // before it, and so below
        Since taken;
        ReleaseAsked asked;
    };
    /// A lock was taken, renewed, released or expired.
    Change changed(const fakes::Event& event, Since now);
    /// A call of Redis whose first key is a lock.
    void called(const fakes::Event& event, Since now);
    void lives_for(std::string_view key, std::int64_t milliseconds) { of(key).life_ms = milliseconds; }
    void node_down(fakes::NodeId node);

    /// Null: there never was such a lock.
    [[nodiscard]] const LockGrant* find(std::string_view key) const;
    /// Every lock that there was, or that was asked for.
    [[nodiscard]] const std::deque<LockGrant>& all() const { return locks_; }

private:
    [[nodiscard]] LockGrant& of(std::string_view key);
    static void answered(LockGrant& lock, const fakes::Event& answer, Since now);

    NameNumbers keys_;
    std::deque<LockGrant> locks_;  // by number - 1
};

}  // namespace lockstep::sim
