// What a server remembers of one connection: its open transaction and the keys it watches.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/redis.h"
#include "fakes/event.h"
#include "fakes/redis/observer.h"

namespace lockstep::fakes::redis {

class Session;

/// Which sessions watch which keys. A change of a watched key dooms their next EXEC.
class Watches final : public KeyspaceObserver {
public:
    void add(std::string_view key, Session& session);
    void remove(std::string_view key, Session& session);

    /// The key counts as changed.
    void touch(std::string_view key) {
        if (!watchers_.empty()) doom_watchers(key);
    }

    void string_set(NodeId, std::string_view key, const std::string*, std::string_view, std::int64_t,
                    std::int64_t) override {
        touch(key);
    }
    void hash_set(NodeId, std::string_view key, std::string_view, const std::string*, std::string_view) override {
        touch(key);
    }
    void hash_removed(NodeId, std::string_view key, std::string_view, std::string_view) override { touch(key); }
    void list_inserted(NodeId, std::string_view key, std::size_t, std::string_view) override { touch(key); }
    void list_removed(NodeId, std::string_view key, std::size_t, std::string_view) override { touch(key); }
    void set_added(NodeId, std::string_view key, std::string_view) override { touch(key); }
    void set_removed(NodeId, std::string_view key, std::string_view) override { touch(key); }
    void zset_set(NodeId, std::string_view key, std::string_view, const double*, double) override { touch(key); }
    void zset_removed(NodeId, std::string_view key, std::string_view, double) override { touch(key); }
    void expiry_set(NodeId, std::string_view key, std::int64_t, std::int64_t) override { touch(key); }
    void key_removed(NodeId, std::string_view key, Removal, const Value&, std::int64_t) override { touch(key); }

private:
    void doom_watchers(std::string_view key);

    std::map<std::string, std::vector<Session*>, std::less<>> watchers_;
};

class Session {
public:
    /// `watches` must outlive the session; `client` is the node at the other end.
    Session(Watches& watches, NodeId client) : watches_(watches), client_(client) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { unwatch(); }

    [[nodiscard]] NodeId client() const { return client_; }

    void watch(std::string_view key);
    void unwatch();

    /// The transaction between MULTI and EXEC.
    bool queueing = false;
    bool refused = false;   // a command could not be queued: EXEC will be refused
    bool conflict = false;  // a watched key has changed: EXEC will do nothing
    std::vector<engine::RedisCommand> queue;

    /// Ends the transaction, whatever came of it.
    void forget_transaction();

private:
    Watches& watches_;
    NodeId client_;
    std::vector<std::string> watched_;
};

}  // namespace lockstep::fakes::redis
