#include "fakes/redis/keyspace_events.h"

#include <algorithm>

namespace lockstep::fakes::redis {

namespace {

constexpr std::string_view kJobHash = "job:meta:";
constexpr std::string_view kJobLock = "cordum:scheduler:job:";
constexpr std::string_view kJobPrefixes[] = {
    kJobHash,         kJobLock,     "job:state:",      "job:req:", "job:events:",
    "job:decisions:", "dlq:entry:", "job:result_ptr:", "ctx:",     "res:"};

}  // namespace

std::vector<std::string> default_lock_keys() {
    return {"cordum:scheduler:job:",
            "cordum:reconciler:",
            "cordum:replayer:",
            "cordum:scheduler:snapshot:writer",
            "cordum:workflow-engine:reconciler:",
            "cordum:wf:run:lock:",
            "cordum:wf:delay:poller",
            "saga:*:lock",
            "lockstep:saga:lock:"};
}

std::string_view job_of_key(std::string_view key) {
    for (const std::string_view prefix : kJobPrefixes) {
        // Most prefixes differ in the letter before their last one, which is sooner looked at.
        const std::size_t letter = prefix.size() - 2;
        if (key.size() > letter && key[letter] == prefix[letter] && key.starts_with(prefix))
            return key.substr(prefix.size());
    }
    return {};
}

KeyspaceEvents::KeyspaceEvents(Trace& trace, NodeId server, const std::vector<std::string>& lock_keys)
    : trace_(trace), server_(server) {
    for (const std::string& pattern : lock_keys) {
        const std::size_t star = std::min(pattern.find('*'), pattern.size());
        patterns_.push_back({pattern.substr(0, star), star < pattern.size() ? pattern.substr(star + 1) : ""});
    }
}

bool KeyspaceEvents::is_lock(std::string_view key) const {
    return std::any_of(patterns_.begin(), patterns_.end(), [key](const Pattern& pattern) {
        return key.size() >= pattern.prefix.size() + pattern.suffix.size() && key.starts_with(pattern.prefix) &&
               key.ends_with(pattern.suffix);
    });
}

void KeyspaceEvents::tell(EventKind kind, NodeId node, std::string_view key, const Lock& lock, bool flag) {
    Event event;
    event.kind = kind;
    event.node = node;
    event.peer = lock.holder;
    event.key = key;
    event.name = lock.token;
    event.flag = flag;
    event.number = lock.expires_at;
    if (key.starts_with(kJobLock)) event.job = key.substr(kJobLock.size());
    trace_.emit(event);
}

void KeyspaceEvents::string_set(NodeId client, std::string_view key, const std::string* before, std::string_view after,
                                std::int64_t, std::int64_t expires_at) {
    if (!is_lock(key)) return;
    const bool renewed = before != nullptr && *before == after;
    Lock& lock = locks_[std::string(key)];
    lock.token = after;
    lock.expires_at = expires_at;
    if (!renewed) lock.holder = client;
    tell(renewed ? EventKind::lock_renewed : EventKind::lock_acquired, client, key, Lock(lock));
}

void KeyspaceEvents::hash_set(NodeId client, std::string_view key, std::string_view field, const std::string* before,
                              std::string_view after) {
    if (field != "state" || !key.starts_with(kJobHash)) return;
    Event event;
    event.kind = EventKind::state;
    event.node = client;
    event.key = key;
    event.job = key.substr(kJobHash.size());
    if (before != nullptr) event.from = *before;
    event.to = after;
    trace_.emit(event);
}

void KeyspaceEvents::expiry_set(NodeId client, std::string_view key, std::int64_t, std::int64_t after) {
    const auto found = locks_.find(key);
    if (found == locks_.end()) return;
    found->second.expires_at = after;
    tell(EventKind::lock_renewed, client, key, Lock(found->second));
}

void KeyspaceEvents::key_removed(NodeId client, std::string_view key, Removal why, const Value&, std::int64_t) {
    auto gone = locks_.extract(std::string(key));
    if (gone.empty()) return;
    if (why == Removal::deleted) {
        tell(EventKind::lock_released, client, key, gone.mapped());
    } else {
        tell(EventKind::lock_expired, server_, key, gone.mapped(), why == Removal::evicted);
    }
}

void KeyspaceEvents::restored(const Keyspace& now) {
    std::map<std::string, Lock, std::less<>> before;
    before.swap(locks_);
    for (const std::string_view key : now.keys()) {
        const Keyspace::Entry& entry = *now.find(key);
        const auto* token = std::get_if<std::string>(&entry.value);
        if (token == nullptr || !is_lock(key)) continue;
        const auto known = before.find(key);
        const bool same = known != before.end() && known->second.token == *token;
        Lock& lock = locks_[std::string(key)];
        lock = Lock{*token, same ? known->second.holder : NodeId{}, entry.expires_at};
        const auto found_again = same ? lost_.end() : lost_.find(*token);
        if (found_again != lost_.end()) lock.holder = found_again->second;
    }
    for (const auto& [key, lock] : before) {
        const auto kept = locks_.find(key);
        if (kept == locks_.end() || kept->second.token != lock.token) {
            lost_.insert_or_assign(lock.token, lock.holder);
            tell(EventKind::lock_expired, server_, key, lock, true);
        }
    }
    for (const auto& [key, lock] : locks_)
        if (lost_.erase(lock.token) > 0 && lock.holder.valid())
            tell(EventKind::lock_acquired, lock.holder, key, Lock(lock), true);
}

}  // namespace lockstep::fakes::redis
