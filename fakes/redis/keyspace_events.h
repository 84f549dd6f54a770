// Tells the trace what changed in the keys that every observer of the system cares about: who holds which lock, and the
// states of jobs. Changes made inside scripts are told like any other.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "fakes/redis/observer.h"
#include "fakes/world.h"

namespace lockstep::fakes::redis {

/// Which string keys are locks: a prefix, or a pattern with one `*` in its middle.
[[nodiscard]] std::vector<std::string> default_lock_keys();

/// The job that a key belongs to by its name; empty for other keys.
[[nodiscard]] std::string_view job_of_key(std::string_view key);

/// Events, with node = whose command did it:
/// - lock_acquired (a lock key gets a token that it did not have), lock_renewed (same token, or another expiry),
///   lock_released (deleted): key, name = token, job, number = expiry in Unix milliseconds, peer = who acquired it.
///   A lock that was lost with its data and is found again with them is acquired by whoever had it: flag.
/// - lock_expired: node = the server. flag = the lock was lost with the data of a restart or failover, or evicted.
/// - state: the field `state` of `job:meta:<job>` was written: job, from (empty: none), to. A rewrite has from == to.
class KeyspaceEvents final : public KeyspaceObserver {
public:
    KeyspaceEvents(Trace& trace, NodeId server, const std::vector<std::string>& lock_keys);

    void string_set(NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void expiry_set(NodeId client, std::string_view key, std::int64_t before, std::int64_t after) override;
    void key_removed(NodeId client, std::string_view key, Removal why, const Value& last,
                     std::int64_t expires_at) override;
    void restored(const Keyspace& now) override;

private:
    struct Pattern {
        std::string prefix;
        std::string suffix;
    };
    struct Lock {
        std::string token;
        NodeId holder;
        std::int64_t expires_at = kNever;
    };

    [[nodiscard]] bool is_lock(std::string_view key) const;
    void tell(EventKind kind, NodeId node, std::string_view key, const Lock& lock, bool flag = false);

    Trace& trace_;
    const NodeId server_;
    std::vector<Pattern> patterns_;
    std::map<std::string, Lock, std::less<>> locks_;   // those that exist
    std::map<std::string, NodeId, std::less<>> lost_;  // with data: who had acquired what token
};

}  // namespace lockstep::fakes::redis
