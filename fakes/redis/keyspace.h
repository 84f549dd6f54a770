// The keys of a simulated server: values, expiries, and the only way to change them, so that every change is observed.
//
// 1. No container is empty and no key is past its expiry while a command runs: `expire_due` is called before each.
// 2. Time is the server's wall clock in milliseconds; a key is gone once the clock has passed its expiry.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fakes/by_text.h"
#include "fakes/redis/observer.h"
#include "fakes/redis/value.h"

namespace lockstep::fakes::redis {

class Keyspace {
public:
    struct Entry {
        Value value;
        std::int64_t expires_at = kNever;
    };
    using Node = std::pair<const std::string, Entry>;

    Keyspace() = default;
    Keyspace(const Keyspace&) = delete;
    Keyspace& operator=(const Keyspace&) = delete;

    [[nodiscard]] Node* find(std::string_view key);
    [[nodiscard]] const Entry* find(std::string_view key) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    /// All keys, sorted.
    [[nodiscard]] std::vector<std::string_view> keys() const;
    /// Some key of each position in the order of SCAN after `cursor`, at most `count`, and the next cursor (0 = the end).
    [[nodiscard]] std::pair<std::vector<std::string_view>, std::uint64_t> scan(std::uint64_t cursor,
                                                                               std::size_t count) const;

    /// A new key with an empty container; something must be put in at once. REQUIRES: no such key.
    template <class Container>
    Node& create(std::string_view key) {
        return insert(key, Entry{Container(), kNever});
    }

    /// Replaces whatever the key holds.
    void set_string(std::string_view key, std::string value, std::int64_t expires_at);
    /// True when the field is new.
    bool hash_set(Node& hash, std::string_view field, std::string_view value);
    /// The `..._remove` calls drop a key that becomes empty, and `node` with it: true then.
    bool hash_remove(Node& hash, std::string_view field);
    void list_insert(Node& list, std::size_t index, std::string_view value);
    bool list_remove(Node& list, std::size_t index);
    /// True when the member is new.
    bool set_add(Node& set, std::string_view member);
    bool set_remove(Node& set, std::string_view member);
    void zset_set(Node& zset, std::string_view member, double score);
    bool zset_remove(Node& zset, std::string_view member);
    void set_expiry(Node& node, std::int64_t expires_at);
    void remove(Node& node, Removal why = Removal::deleted);
    void clear();

    /// Puts a key back as it was, for undoing its removal.
    void put_back(std::string_view key, Entry entry);

    /// Removes the keys whose expiry the clock has passed.
    void expire_due(std::int64_t now_ms) {
        if (!expiries_.empty() && expiries_.begin()->first < now_ms) expire(now_ms);
    }
    /// The earliest expiry; empty when no key has one.
    [[nodiscard]] std::optional<std::int64_t> next_expiry() const;

    /// Changes are told on behalf of this node from now on.
    void act_for(NodeId client) { client_ = client; }
    [[nodiscard]] NodeId acting() const { return client_; }
    /// For whoever runs commands: see KeyspaceObserver.
    void tell_command(NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
        for (KeyspaceObserver* observer : told_of(KeyspaceChange::command)) observer->command(client, words, now_ms);
    }
    void tell_listed(std::string_view key) { tell(KeyspaceChange::zset_listed, &KeyspaceObserver::zset_listed, key); }
    /// Is told what its class overrides, in the order in which observers were added. It must outlive the keyspace.
    template <std::derived_from<KeyspaceObserver> Observer>
        requires std::is_final_v<Observer>
    void add_observer(Observer& observer) {
        add_observer(observer, changes_heard_by<Observer>());
    }
    /// For whoever does not know of which class it is.
    void add_observer(KeyspaceObserver& observer, const KeyspaceChanges& changes) {
        for (std::size_t change = 0; change < kKeyspaceChanges; ++change)
            if (changes[change]) observers_[change].push_back(&observer);
    }

    /// All that there is, unobserved: of a server that has a twin for a while.
    class Content {
        friend class Keyspace;
        ByText<Entry> entries_;
        std::set<std::pair<std::int64_t, std::string_view>> expiries_;
    };
    [[nodiscard]] Content copy() const;
    void exchange(Content& other);

    /// Runs `rewrite`, which may change anything unobserved, and then tells the observers that all is different.
    template <class Rewrite>
    void restore(Rewrite rewrite) {
        for (KeyspaceObserver* observer : told_of(KeyspaceChange::losing)) observer->losing(*this);
        Observers observers;
        observers.swap(observers_);
        rewrite();
        observers.swap(observers_);
        for (KeyspaceObserver* observer : told_of(KeyspaceChange::restored)) observer->restored(*this);
    }

private:
    Node& insert(std::string_view key, Entry entry);
    void index_expiry(Node& node, std::int64_t expires_at);
    bool drop_if_empty(Node& node);
    void expire(std::int64_t now_ms);

    using Observers = std::array<std::vector<KeyspaceObserver*>, kKeyspaceChanges>;

    [[nodiscard]] const std::vector<KeyspaceObserver*>& told_of(KeyspaceChange change) const {
        return observers_[static_cast<std::size_t>(change)];
    }
    template <class... Parameters, class... Arguments>
    void tell(KeyspaceChange change, void (KeyspaceObserver::*what)(NodeId, Parameters...),
              const Arguments&... arguments) {
        for (KeyspaceObserver* observer : told_of(change)) (observer->*what)(client_, arguments...);
    }

    // Never iterated without sorting: its order is not a function of the content.
    ByText<Entry> entries_;
    std::set<std::pair<std::int64_t, std::string_view>> expiries_;  // views the keys of `entries_`
    Observers observers_;                                           // by what they are told of
    NodeId client_;
};

}  // namespace lockstep::fakes::redis
