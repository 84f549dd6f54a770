// What a server that loses its latest writes would have to undo: the inverse of every change of the last moments, in
// order. It lets a restart or a failover go back to what was on disk, or had reached the replica, without a copy of the
// data while nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "engine/runtime/time.h"
#include "fakes/redis/keyspace.h"
#include "fakes/redis/observer.h"

namespace lockstep::fakes::redis {

class UndoJournal final : public KeyspaceObserver {
public:
    /// Changes from here on happen at `now`; those before `horizon` can no longer be undone.
    void advance(engine::MonoTime now, engine::MonoTime horizon);
    /// Undoes every change after `instant`. REQUIRES: not before the horizon.
    void roll_back(Keyspace& keys, engine::MonoTime instant);
    void clear() { undos_.clear(); }
    [[nodiscard]] std::size_t size() const { return undos_.size(); }

    void string_set(NodeId, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(NodeId, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(NodeId, std::string_view key, std::string_view field, std::string_view before) override;
    void list_inserted(NodeId, std::string_view key, std::size_t index, std::string_view value) override;
    void list_removed(NodeId, std::string_view key, std::size_t index, std::string_view value) override;
    void set_added(NodeId, std::string_view key, std::string_view member) override;
    void set_removed(NodeId, std::string_view key, std::string_view member) override;
    void zset_set(NodeId, std::string_view key, std::string_view member, const double* before, double after) override;
    void zset_removed(NodeId, std::string_view key, std::string_view member, double before) override;
    void expiry_set(NodeId, std::string_view key, std::int64_t before, std::int64_t after) override;
    void key_removed(NodeId, std::string_view key, Removal why, const Value& last, std::int64_t expires_at) override;

private:
    using Undo = std::function<void(Keyspace&)>;
    struct Record {
        engine::MonoTime at;
        Undo undo;
    };
    void record(Undo undo) { undos_.push_back({now_, std::move(undo)}); }

    engine::MonoTime now_{};
    std::deque<Record> undos_;
};

}  // namespace lockstep::fakes::redis
