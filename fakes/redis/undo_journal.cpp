#include "fakes/redis/undo_journal.h"

#include <optional>

namespace lockstep::fakes::redis {

namespace {

/// The key as it must be now, while the changes after it are being undone.
Keyspace::Node& node(Keyspace& keys, const std::string& key) { return *keys.find(key); }

/// A container that the undone change had emptied has gone with its key.
template <class Container>
Keyspace::Node& node_or_new(Keyspace& keys, const std::string& key) {
    Keyspace::Node* existing = keys.find(key);
    return existing != nullptr ? *existing : keys.create<Container>(key);
}

}  // namespace

void UndoJournal::advance(engine::MonoTime now, engine::MonoTime horizon) {
    now_ = now;
    while (!undos_.empty() && undos_.front().at < horizon) undos_.pop_front();
}

void UndoJournal::roll_back(Keyspace& keys, engine::MonoTime instant) {
    while (!undos_.empty() && undos_.back().at > instant) {
        undos_.back().undo(keys);
        undos_.pop_back();
    }
}

void UndoJournal::string_set(NodeId, std::string_view key, const std::string* before, std::string_view,
                             std::int64_t expires_before, std::int64_t) {
    std::string name(key);
    if (before == nullptr) {
        record([name = std::move(name)](Keyspace& keys) { keys.remove(node(keys, name)); });
        return;
    }
    record([name = std::move(name), value = *before, expires_before](Keyspace& keys) {
        keys.set_string(name, value, expires_before);
    });
}

void UndoJournal::hash_set(NodeId, std::string_view key, std::string_view field, const std::string* before,
                           std::string_view) {
    std::string name(key);
    std::string changed(field);
    if (before == nullptr) {
        record([name = std::move(name), changed = std::move(changed)](Keyspace& keys) {
            keys.hash_remove(node(keys, name), changed);
        });
        return;
    }
    record([name = std::move(name), changed = std::move(changed), value = *before](Keyspace& keys) {
        keys.hash_set(node(keys, name), changed, value);
    });
}

void UndoJournal::hash_removed(NodeId, std::string_view key, std::string_view field, std::string_view before) {
    record([name = std::string(key), removed = std::string(field), value = std::string(before)](Keyspace& keys) {
        keys.hash_set(node_or_new<Hash>(keys, name), removed, value);
    });
}

void UndoJournal::list_inserted(NodeId, std::string_view key, std::size_t index, std::string_view) {
    record([name = std::string(key), index](Keyspace& keys) { keys.list_remove(node(keys, name), index); });
}

void UndoJournal::list_removed(NodeId, std::string_view key, std::size_t index, std::string_view value) {
    record([name = std::string(key), index, removed = std::string(value)](Keyspace& keys) {
        keys.list_insert(node_or_new<List>(keys, name), index, removed);
    });
}

void UndoJournal::set_added(NodeId, std::string_view key, std::string_view member) {
    record([name = std::string(key), added = std::string(member)](Keyspace& keys) {
        keys.set_remove(node(keys, name), added);
    });
}

void UndoJournal::set_removed(NodeId, std::string_view key, std::string_view member) {
    record([name = std::string(key), removed = std::string(member)](Keyspace& keys) {
        keys.set_add(node_or_new<Set>(keys, name), removed);
    });
}

void UndoJournal::zset_set(NodeId, std::string_view key, std::string_view member, const double* before, double) {
    const std::optional<double> score = before != nullptr ? std::optional(*before) : std::nullopt;
    record([name = std::string(key), changed = std::string(member), score](Keyspace& keys) {
        if (score) {
            keys.zset_set(node(keys, name), changed, *score);
        } else {
            keys.zset_remove(node(keys, name), changed);
        }
    });
}

void UndoJournal::zset_removed(NodeId, std::string_view key, std::string_view member, double before) {
    record([name = std::string(key), removed = std::string(member), before](Keyspace& keys) {
        keys.zset_set(node_or_new<SortedSet>(keys, name), removed, before);
    });
}

void UndoJournal::expiry_set(NodeId, std::string_view key, std::int64_t before, std::int64_t) {
    record([name = std::string(key), before](Keyspace& keys) { keys.set_expiry(node(keys, name), before); });
}

void UndoJournal::key_removed(NodeId, std::string_view key, Removal, const Value& last, std::int64_t expires_at) {
    record([name = std::string(key), value = last, expires_at](Keyspace& keys) {
        keys.put_back(name, {value, expires_at});
    });
}

}  // namespace lockstep::fakes::redis
