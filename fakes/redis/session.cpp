#include "fakes/redis/session.h"

#include <algorithm>

namespace lockstep::fakes::redis {

void Watches::add(std::string_view key, Session& session) { watchers_[std::string(key)].push_back(&session); }

void Watches::remove(std::string_view key, Session& session) {
    const auto found = watchers_.find(key);
    if (found == watchers_.end()) return;
    std::erase(found->second, &session);
    if (found->second.empty()) watchers_.erase(found);
}

void Watches::doom_watchers(std::string_view key) {
    const auto found = watchers_.find(key);
    if (found == watchers_.end()) return;
    for (Session* session : found->second) session->conflict = true;
}

void Session::watch(std::string_view key) {
    if (std::find(watched_.begin(), watched_.end(), key) != watched_.end()) return;
    watched_.emplace_back(key);
    watches_.add(key, *this);
}

void Session::unwatch() {
    for (const std::string& key : watched_) watches_.remove(key, *this);
    watched_.clear();
    conflict = false;
}

void Session::forget_transaction() {
    queueing = refused = false;
    queue.clear();
    unwatch();
}

}  // namespace lockstep::fakes::redis
