// What an observer of the keyspace is told: every change that a command, a script or the clock makes, one call each, in the
// order in which they happen. Rules, the undo journal and WATCH live on it.
//
// 1. `client` is the node whose command made the change; not valid when the clock or the fault plan did.
// 2. A call comes after the change, and its views and pointers are valid during the call only.
// 3. Writing a value again is told like any write (before == after). A container is removed, as a key, once its last
//    element has been.
// 4. An observer must not touch the keyspace.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fakes/event.h"
#include "fakes/redis/value.h"

namespace lockstep::fakes::redis {

class Keyspace;

/// "Does not expire", where an expiry in milliseconds since the Unix epoch stands.
inline constexpr std::int64_t kNever = -1;

enum class Removal : std::uint8_t { deleted, expired, evicted };

class KeyspaceObserver {
public:
    virtual ~KeyspaceObserver() = default;

    /// A client's command begins, or a script with all that it calls: what is told until the next one comes of it. The words
    /// live as long as it runs; none at all: it is over. `now_ms`: by the server's clock, milliseconds since the Unix epoch.
    virtual void command(NodeId /*client*/, std::span<const std::string_view> /*words*/, std::int64_t /*now_ms*/) {}
    /// A range of a sorted set was read by score, whether the key exists or not.
    virtual void zset_listed(NodeId /*client*/, std::string_view /*key*/) {}

    /// `before` is null for a new key. A SET that carries a TTL is one call: `expires_at` is the new expiry.
    virtual void string_set(NodeId /*client*/, std::string_view /*key*/, const std::string* /*before*/,
                            std::string_view /*after*/, std::int64_t /*expires_before*/, std::int64_t /*expires_at*/) {}
    virtual void hash_set(NodeId /*client*/, std::string_view /*key*/, std::string_view /*field*/,
                          const std::string* /*before*/, std::string_view /*after*/) {}
    virtual void hash_removed(NodeId /*client*/, std::string_view /*key*/, std::string_view /*field*/,
                              std::string_view /*before*/) {}
    /// `index` 0 is the head; a push at the tail has the length before it.
    virtual void list_inserted(NodeId /*client*/, std::string_view /*key*/, std::size_t /*index*/,
                               std::string_view /*value*/) {}
    virtual void list_removed(NodeId /*client*/, std::string_view /*key*/, std::size_t /*index*/,
                              std::string_view /*value*/) {}
    virtual void set_added(NodeId /*client*/, std::string_view /*key*/, std::string_view /*member*/) {}
    virtual void set_removed(NodeId /*client*/, std::string_view /*key*/, std::string_view /*member*/) {}
    /// A new member (`before` null) or a new score.
    virtual void zset_set(NodeId /*client*/, std::string_view /*key*/, std::string_view /*member*/,
                          const double* /*before*/, double /*after*/) {}
    virtual void zset_removed(NodeId /*client*/, std::string_view /*key*/, std::string_view /*member*/,
                              double /*before*/) {}
    /// EXPIRE, PERSIST and the like on an existing key.
    virtual void expiry_set(NodeId /*client*/, std::string_view /*key*/, std::int64_t /*before*/,
                            std::int64_t /*after*/) {}
    /// The whole key is gone; `last` is what it held.
    virtual void key_removed(NodeId /*client*/, std::string_view /*key*/, Removal /*why*/, const Value& /*last*/,
                             std::int64_t /*expires_at*/) {}
    /// Data is about to be lost: what was there until now. `restored` follows.
    virtual void losing(const Keyspace& /*before*/) {}
    /// Data was lost (restart, failover): the content is another one now, without a call for each difference.
    virtual void restored(const Keyspace& /*now*/) {}
};

/// What an observer can be told, one for each function above.
enum class KeyspaceChange : std::uint8_t {
    command,
    zset_listed,
    string_set,
    hash_set,
    hash_removed,
    list_inserted,
    list_removed,
    set_added,
    set_removed,
    zset_set,
    zset_removed,
    expiry_set,
    key_removed,
    losing,
    restored,
};
inline constexpr std::size_t kKeyspaceChanges = static_cast<std::size_t>(KeyspaceChange::restored) + 1;
using KeyspaceChanges = std::array<bool, kKeyspaceChanges>;  // by KeyspaceChange

/// What a class of observers is to be told: what it overrides. REQUIRES: the class of the object itself, not one that it
/// derives from.
template <std::derived_from<KeyspaceObserver> Observer>
[[nodiscard]] consteval KeyspaceChanges changes_heard_by() {
    using Base = KeyspaceObserver;
    const auto overrides = []<class Own, class Inherited>(Own, Inherited) { return !std::same_as<Own, Inherited>; };
    // In the order of the enumeration.
    return {overrides(&Observer::command, &Base::command),
            overrides(&Observer::zset_listed, &Base::zset_listed),
            overrides(&Observer::string_set, &Base::string_set),
            overrides(&Observer::hash_set, &Base::hash_set),
            overrides(&Observer::hash_removed, &Base::hash_removed),
            overrides(&Observer::list_inserted, &Base::list_inserted),
            overrides(&Observer::list_removed, &Base::list_removed),
            overrides(&Observer::set_added, &Base::set_added),
            overrides(&Observer::set_removed, &Base::set_removed),
            overrides(&Observer::zset_set, &Base::zset_set),
            overrides(&Observer::zset_removed, &Base::zset_removed),
            overrides(&Observer::expiry_set, &Base::expiry_set),
            overrides(&Observer::key_removed, &Base::key_removed),
            overrides(&Observer::losing, &Base::losing),
            overrides(&Observer::restored, &Base::restored)};
}

}  // namespace lockstep::fakes::redis
